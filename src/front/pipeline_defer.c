/* SPDX-License-Identifier: MIT
 *
 * Tokens that are put off. Not on the way of a pipeline that puts none off: there is one look at `notes` for each
 * token.
 */
#include "front/pipeline_int.h"

#include "base/alloc.h"

typedef thrum__note note;

/* One token waits for another, in whose list this is. */
typedef struct thrum__wait {
    note *who;
    struct thrum__wait *next;
} wait;

enum { FEWEST_BUCKETS = 16 };

/* ---- Notes by token ---------------------------------------------------------------------------------------------- */

static note **bucket_of(const thrum__deferrals *d, uint64_t token)
{
    uint64_t mixed = token * UINT64_C(0x9e3779b97f4a7c15);
    return &d->buckets[(mixed >> 32) & (d->bucket_count - 1)];
}

static note *find(const thrum__deferrals *d, uint64_t token)
{
    note *at = d->notes ? *bucket_of(d, token) : NULL;
    while (at && at->token != token)
        at = at->next_in_bucket;
    return at;
}

static void insert(thrum__deferrals *d, note *n)
{
    note **bucket = bucket_of(d, n->token);
    n->next_in_bucket = *bucket;
    *bucket = n;
}

static bool make_room(thrum__deferrals *d)
{
    if (d->notes < d->bucket_count)
        return true;
    thrum__deferrals larger = *d;
    larger.bucket_count = d->bucket_count ? 2 * d->bucket_count : FEWEST_BUCKETS;
    larger.buckets = thrum__zalloc(larger.bucket_count * sizeof *larger.buckets);
    if (!larger.buckets)
        return false;
    for (size_t i = 0; i < d->bucket_count; i++)
        for (note *at = d->buckets[i], *next; at; at = next) {
            next = at->next_in_bucket;
            insert(&larger, at);
        }
    thrum__free(d->buckets);
    *d = larger;
    return true;
}

static note *find_or_make(thrum__deferrals *d, uint64_t token)
{
    note *n = find(d, token);
    if (n || !make_room(d))
        return n;
    n = thrum__zalloc(sizeof *n);
    if (!n)
        return NULL;
    n->token = token;
    n->state = THRUM__NOTE_COMING;
    n->last = &n->first;
    insert(d, n);
    d->notes++;
    return n;
}

static void free_note(note *n)
{
    for (wait *at = n->first, *next; at; at = next) {
        next = at->next;
        thrum__free(at);
    }
    thrum__free(n);
}

static void remove_note(thrum__deferrals *d, note *n)
{
    note **at = bucket_of(d, n->token);
    while (*at != n)
        at = &(*at)->next_in_bucket;
    *at = n->next_in_bucket;
    d->notes--;
    free_note(n);
}

void thrum__deferrals_clear(thrum__deferrals *d)
{
    for (size_t i = 0; i < d->bucket_count; i++)
        for (note *at = d->buckets[i], *next; at; at = next) {
            next = at->next_in_bucket;
            free_note(at);
        }
    thrum__free(d->buckets);
    *d = (thrum__deferrals){0};
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Notes that a walk has still to visit are linked by next_in_walk; one that has been put there has the walk's
 * number. */
static void visit_later(note *n, uint64_t walk, note **todo)
{
    if (n->walk == walk)
        return;
    n->walk = walk;
    n->next_in_walk = *todo;
    *todo = n;
}

/* Whether `who` waits for `whom`, directly or not. Looked for only if somebody waits for the one and the other waits
 * for somebody: so in a long chain of tokens, each put off until the next or the one before, nothing is walked. */
static bool waits_for(thrum__deferrals *d, const note *who, note *whom)
{
    if (!who || !whom || who->state != THRUM__NOTE_WAITING || !whom->first)
        return false;
    note *todo = NULL;
    visit_later(whom, ++d->walks, &todo);
    while (todo) {
        const note *at = todo;
        todo = at->next_in_walk;
        for (const wait *w = at->first; w; w = w->next) {
            if (w->who == who)
                return true;
            visit_later(w->who, d->walks, &todo);
        }
    }
    return false;
}

static void begin_to_wait(thrum__deferrals *d, note *n)
{
    if (n->state == THRUM__NOTE_WAITING)
        return;
    n->state = THRUM__NOTE_WAITING;
    n->deferrals++;
    d->waiting++;
}

int thrum__deferrals_add(thrum__deferrals *d, uint64_t token, uint64_t other, uint64_t next)
{
    note *whom = find(d, other);
    if (other < next && !whom)
        return 0;
    if (waits_for(d, whom, find(d, token)))
        return THRUM_ECYCLE;
    note *who = find_or_make(d, token);
    whom = who ? find_or_make(d, other) : NULL;
    wait *w = whom ? thrum__alloc(sizeof *w) : NULL;
    if (!w)
        return THRUM_ENOMEM;
    *w = (wait){.who = who};
    *whom->last = w;
    whom->last = &w->next;
    who->missing++;
    begin_to_wait(d, who);
    return 1;
}

static void set_free(thrum__deferrals *d, note *n)
{
    n->state = THRUM__NOTE_FREE;
    n->next_free = NULL;
    if (!d->free_first)
        d->free_last = &d->free_first;
    *d->free_last = n;
    d->free_last = &n->next_free;
    d->waiting--;
}

void thrum__deferrals_passed(thrum__deferrals *d, uint64_t token)
{
    note *n = find(d, token);
    if (!n)
        return;
    for (const wait *w = n->first; w; w = w->next)
        if (--w->who->missing == 0)
            set_free(d, w->who);
    remove_note(d, n);
}

int thrum__deferrals_dropped(thrum__deferrals *d, uint64_t token)
{
    note *n = find_or_make(d, token);
    if (!n)
        return THRUM_ENOMEM;
    n->state = THRUM__NOTE_DROPPED;
    return 0;
}

bool thrum__deferrals_take(thrum__deferrals *d, uint64_t *token, uint32_t *deferrals)
{
    note *n = d->free_first;
    if (!n)
        return false;
    d->free_first = n->next_free;
    n->state = THRUM__NOTE_COMING;
    *token = n->token;
    *deferrals = n->deferrals;
    return true;
}

bool thrum__deferrals_in_vain(const thrum__deferrals *d, uint64_t *token, uint64_t *other)
{
    bool found = false;
    for (size_t i = 0; i < d->bucket_count; i++)
        for (const note *at = d->buckets[i]; at; at = at->next_in_bucket) {
            bool comes = at->state == THRUM__NOTE_WAITING || at->state == THRUM__NOTE_FREE;
            for (const wait *w = comes ? NULL : at->first; w; w = w->next)
                if (!found || w->who->token < *token) {
                    found = true;
                    *token = w->who->token;
                    *other = at->token;
                }
        }
    return found;
}
