/* SPDX-License-Identifier: MIT
 *
 * What a policy must not do: pop a job twice, or one that it was never given, or for a worker that cannot run it; keep
 * jobs and give them to nobody.
 *
 * All jobs that were pushed and have not ended are in a table by address, so that what a policy gives can be looked up
 * before it is touched. A policy that has broken its contract is *dismissed*: it is not called any more (it may have
 * pointers to jobs that are gone), the jobs that it had fail, and so do all that come later.
 *
 * When does a policy keep jobs? When some are queued, none is in hand, and all places are idle. Since a policy may have
 * woken the wrong one, all places are then called once more. If again nobody gets one and none has been pushed since,
 * it is so. Whoever makes this state true looks for it: the last place that becomes idle, and a push that wakes nobody.
 * A place is not idle while a kernel of its waits for others, and may pop again when that ends: so a policy that keeps
 * just what such a kernel waits for is not found out.
 */
#include "exec/place_int.h"

#include "base/alloc.h"

#include <stdio.h>

/* ---- The table --------------------------------------------------------------------------------------------------- */

static size_t slot_of(const thrum__places *places, const void *address)
{
    uint64_t x = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 32) & (places->table_size - 1);
}

static void put(thrum__places *places, placing *p)
{
    placing **slot = &places->table[slot_of(places, p)];
    p->next_in_table = *slot;
    *slot = p;
}

/* Without memory the lists in it become longer. */
static void grow(thrum__places *places)
{
    size_t old_size = places->table_size, size = 2 * old_size;
    placing **old = places->table, **table = thrum__zalloc(size * sizeof *table);
    if (!table)
        return;
    places->table = table;
    places->table_size = size;
    for (size_t i = 0; i < old_size; i++)
        for (placing *p = old[i], *next; p; p = next) {
            next = p->next_in_table;
            put(places, p);
        }
    thrum__free(old);
}

void thrum__table_put(thrum__places *places, placing *p)
{
    if (++places->table_count > places->table_size)
        grow(places);
    put(places, p);
}

static placing **find(const thrum__places *places, const void *address)
{
    placing **slot = &places->table[slot_of(places, address)];
    while (*slot && *slot != address)
        slot = &(*slot)->next_in_table;
    return slot;
}

void thrum__table_remove(thrum__places *places, placing *p)
{
    placing **slot = find(places, p);
    thrum__assert(*slot);
    *slot = p->next_in_table;
    places->table_count--;
}

bool thrum__table_has(const thrum__places *places, const thrum_job *job)
{
    return *find(places, job) != NULL;
}

placing *thrum__table_take_queued(thrum__places *places)
{
    placing *taken = NULL;
    for (size_t i = 0; i < places->table_size; i++)
        for (placing **slot = &places->table[i]; *slot;) {
            placing *p = *slot;
            if (p->state != PLACING_QUEUED) {
                slot = &p->next_in_table;
                continue;
            }
            *slot = p->next_in_table;
            places->table_count--;
            p->state = PLACING_OUT;
            p->next = taken;
            taken = p;
        }
    places->queued = 0;
    return taken;
}

/* ---- Popping ----------------------------------------------------------------------------------------------------- */

static const char *place_name(const place *pl, char text[120])
{
    if (pl->device)
        snprintf(text, 120, "worker %d, which is %s", pl->shown->worker, pl->device->info.name);
    else
        snprintf(text, 120, "worker %d, which is a processor", pl->shown->worker);
    return text;
}

placing *thrum__contract_check(place *pl, thrum_job *job)
{
    thrum__places *places = pl->all;
    const char *name = places->policy->name;
    char text[120];
    placing *p = *find(places, job);
    if (!p)
        snprintf(places->verdict, sizeof places->verdict,
                 "policy '%s' gave %s, a task that was never pushed, or has been popped before and has ended", name,
                 place_name(pl, text));
    else if (p->state != PLACING_QUEUED)
        snprintf(places->verdict, sizeof places->verdict, "policy '%s' popped task '%s' twice", name, p->shown.name);
    else if (!thrum__place_can_run(pl, p))
        snprintf(places->verdict, sizeof places->verdict, "policy '%s' popped task '%s' for %s and cannot run it", name,
                 p->shown.name, place_name(pl, text));
    else
        return p;
    places->dismissed = true;
    return NULL;
}

/* ---- Keeping ----------------------------------------------------------------------------------------------------- */

static const placing *first_queued(const thrum__places *places)
{
    const placing *first = NULL;
    for (size_t i = 0; i < places->table_size; i++)
        for (const placing *p = places->table[i]; p; p = p->next_in_table)
            if (p->state == PLACING_QUEUED && (!first || p->shown.number < first->shown.number))
                first = p;
    return first;
}

static void dismiss_keeper(thrum__places *places)
{
    uint32_t count = places->queued;
    snprintf(places->verdict, sizeof places->verdict,
             "policy '%s' keeps %u task%s, the first '%s', and gives %s to no worker", places->policy->name, count,
             count == 1 ? "" : "s", first_queued(places)->shown.name, count == 1 ? "it" : "them");
    places->dismissed = true;
}

void thrum__contract_look(thrum__places *places)
{
    thrum__policy_lock(places);
    bool kept = places->queued > 0 && places->taken == 0 && !places->dismissed &&
                atomic_load_explicit(&places->busy, memory_order_seq_cst) == 0;
    if (kept && places->last_call) {
        dismiss_keeper(places);
    } else if (kept) {
        places->last_call = true;
        for (int i = 0; i < places->count; i++)
            thrum__place_wake_locked(&places->place[i]);
    }
    thrum__policy_unlock(places);
}

void thrum__contract_carry_out(thrum__places *places)
{
    thrum__lock_take(&places->policy_lock);
    placing *queued = thrum__table_take_queued(places);
    thrum__lock_give(&places->policy_lock);
    while (queued) {
        placing *p = queued;
        queued = p->next;
        thrum__placing_fail(p, THRUM_EPOLICY, "%s", places->verdict);
        thrum__placing_end(places, p);
    }
}
