/* SPDX-License-Identifier: MIT
 *
 * thrum's own engine of the task simulator (engine.h): exact, and fast enough for millions of tasks.
 *
 * The queue of events has a place for each core and one for each device; what ends there next is moved when something
 * changes. A device that k kernels share goes on 1/k as fast for each of them. So it has a clock of its own that runs
 * at that speed, on which a kernel's end never changes: only the device's next end has to be worked out anew.
 *
 * A copy that has its lines has a place until its latency is over. Then it has a *share* of its channels, and with all
 * others that have one it is in one place of the queue, that of the first to end. When one of them comes or goes, the
 * shares of all may change: they are worked out before the clock moves on, so once for all that happens at one time. A
 * copy whose share stays keeps its end, to the last digit.
 */
#include "sim/engine.h"
#include "sim/events.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <thrum/error.h>

#include <assert.h>
#include <math.h>
#include <string.h>

enum { NONE = -1 };

/* What a worker of a device runs, or a core. */
typedef struct kernel {
    struct kernel *next; /* on the device: by end, then by number */
    uint64_t ticket, number;
    double end; /* on the device's clock */
} kernel;

typedef struct device {
    kernel *first;
    int count;
    double clock, since; /* what it showed, and when */
} device;

/* One copy, from being asked for to its end. */
typedef struct copy {
    const thrum__way *way;
    uint64_t ticket, number;
    double bytes;
    int blocked;               /* lines of its way at whose head it is not */
    int next[THRUM__WAY_MOST]; /* behind it in the line of the way's channel, or NONE; [0]: among those that are free */
} copy;

/* One that has begun. */
typedef struct flow {
    const thrum__way *way;
    int copy;
    double left, since; /* bytes that were left, and when; from then on: */
    double rate, end;
    double fair; /* the rate that it should have; negative while that is not known */
} flow;

/* A channel, while shares are worked out. */
typedef struct share {
    double capacity; /* that nobody has yet */
    int users;       /* who have no rate yet */
    int first, last,
        used; /* all users, in `members`; `used`: the channel in this place of the list of those that are */
} share;

typedef struct line {
    int first, last; /* copies, or NONE */
} line;

struct thrum__engine {
    const thrum__layout *layout;
    thrum__events events;
    uint64_t number;
    kernel *kernels; /* by worker */
    uint64_t timer;  /* the ticket of the one that runs */
    device *devices;
    line *lines; /* by channel */
    copy *copies;
    int copy_room, free_copy;
    flow *flows;
    int *free_flows, *sharing; /* the last `flow_room - flow_count`; those with a share, the oldest first */
    int flow_room, flow_count, sharing_count;
    int line_count, lineless; /* channels that are lines; copies under way that have none */
    int timer_place;          /* in the queue, behind those of workers and devices */
    int sharing_place;        /* behind it; those of flows follow */
    bool changed;             /* some have come or gone since shares were worked out */
    share *shares;            /* by channel */
    int *members;             /* flows, channel by channel */
};

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static void engine_close(thrum__engine *e)
{
    if (!e)
        return;
    thrum__events_end(&e->events);
    thrum__free(e->kernels);
    thrum__free(e->devices);
    thrum__free(e->lines);
    thrum__free(e->copies);
    thrum__free(e->flows);
    thrum__free(e->free_flows);
    thrum__free(e->sharing);
    thrum__free(e->shares);
    thrum__free(e->members);
    thrum__free(e);
}

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "no memory to simulate a machine");
}

/* A larger array with the same content; the old one is freed. False: nothing has changed. */
static bool enlarge(void *array, size_t element, size_t old, size_t room)
{
    void **place = array, *larger = thrum__zalloc(room * element);
    if (!larger)
        return false;
    if (old)
        memcpy(larger, *place, old * element);
    thrum__free(*place);
    *place = larger;
    return true;
}

static int enlarge_events(thrum__engine *e, int places)
{
    thrum__events larger, *old = &e->events;
    int err = thrum__events_begin(&larger, (uint32_t)places);
    if (err)
        return err;
    for (uint32_t place = 0; place < old->room; place++)
        thrum__events_play(&larger, place,
                           (thrum__event_key){old->times[old->room + place], old->tickets[old->room + place]});
    larger.now = old->now;
    thrum__events_end(old);
    *old = larger;
    return 0;
}

static int enlarge_flows(thrum__engine *e, int room)
{
    size_t old = (size_t)e->flow_room;
    int places = e->sharing_place + 1 + room;
    if (places > (int)e->events.room && enlarge_events(e, places))
        return THRUM_ENOMEM;
    if (!enlarge(&e->flows, sizeof *e->flows, old, (size_t)room) ||
        !enlarge(&e->free_flows, sizeof *e->free_flows, old, (size_t)room) ||
        !enlarge(&e->sharing, sizeof *e->sharing, old, (size_t)room) ||
        !enlarge(&e->members, THRUM__WAY_MOST * sizeof *e->members, 0, (size_t)room))
        return no_memory();
    for (int i = e->flow_room; i < room; i++)
        e->free_flows[i] = i;
    e->flow_room = room;
    return 0;
}

static int enlarge_copies(thrum__engine *e)
{
    int old = e->copy_room, room = old ? 2 * old : 64;
    if (!enlarge(&e->copies, sizeof *e->copies, (size_t)old, (size_t)room))
        return no_memory();
    for (int i = room; i-- > old;) {
        e->copies[i].next[0] = e->free_copy;
        e->free_copy = i;
    }
    e->copy_room = room;
    return 0;
}

static int engine_begin(thrum__engine *e, const thrum__layout *layout)
{
    size_t channels = (size_t)layout->channel_count + 1;
    e->layout = layout;
    e->free_copy = NONE;
    e->timer_place = layout->worker_count + layout->device_count;
    e->sharing_place = e->timer_place + 1;
    e->kernels = thrum__zalloc(((size_t)layout->worker_count + 1) * sizeof *e->kernels);
    e->devices = thrum__zalloc(((size_t)layout->device_count + 1) * sizeof *e->devices);
    e->lines = thrum__zalloc(channels * sizeof *e->lines);
    e->shares = thrum__zalloc(channels * sizeof *e->shares);
    if (!e->kernels || !e->devices || !e->lines || !e->shares)
        return no_memory();
    for (int i = 0; i < layout->channel_count; i++) {
        e->lines[i] = (line){NONE, NONE};
        e->line_count += layout->channels[i].line;
    }
    int err = thrum__events_begin(&e->events, (uint32_t)(e->sharing_place + e->line_count + 2));
    return err ? err : enlarge_flows(e, e->line_count + 1);
}

static thrum__engine *engine_open(const thrum__layout *layout)
{
    thrum__engine *e = thrum__zalloc(sizeof *e);
    if (!e) {
        no_memory();
        return NULL;
    }
    if (engine_begin(e, layout) == 0)
        return e;
    engine_close(e);
    return NULL;
}

static double engine_now(const thrum__engine *e)
{
    return e->events.now;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* The device's clock is brought up to now. */
static void device_advance(const thrum__engine *e, device *d)
{
    if (d->count > 0)
        d->clock += (e->events.now - d->since) / d->count;
    else
        d->clock = 0;
    d->since = e->events.now;
}

static void device_put_event(thrum__engine *e, const device *d)
{
    uint64_t place = (uint64_t)e->layout->worker_count + (uint64_t)(d - e->devices);
    if (!d->first) {
        thrum__events_remove(&e->events, place);
        return;
    }
    double left = (d->first->end - d->clock) * d->count; /* by rounding it may be below 0 */
    thrum__events_put(&e->events, place, d->since + (left > 0 ? left : 0), d->first->number);
}

static void device_begin(thrum__engine *e, device *d, kernel *k, double seconds)
{
    kernel **at = &d->first;
    device_advance(e, d);
    k->end = d->clock + seconds;
    while (*at && (*at)->end <= k->end)
        at = &(*at)->next;
    k->next = *at;
    *at = k;
    d->count++;
    device_put_event(e, d);
}

static uint64_t device_end(thrum__engine *e, device *d)
{
    const kernel *k = d->first;
    d->clock = k->end;
    d->since = e->events.now;
    d->first = k->next;
    d->count--;
    device_put_event(e, d);
    return k->ticket;
}

static int engine_kernel(thrum__engine *e, int worker, double seconds, uint64_t ticket)
{
    kernel *k = &e->kernels[worker];
    int of = e->layout->workers[worker].core_of;
    k->ticket = ticket;
    k->number = e->number++;
    if (of >= 0)
        device_begin(e, &e->devices[of], k, seconds);
    else
        thrum__events_put(&e->events, (uint64_t)worker, e->events.now + seconds, k->number);
    return 0;
}

static uint64_t core_end(thrum__engine *e, uint64_t worker)
{
    thrum__events_remove(&e->events, worker);
    return e->kernels[worker].ticket;
}

/* ---- The timer --------------------------------------------------------------------------------------------------- */

static int engine_timer(thrum__engine *e, double seconds, uint64_t ticket)
{
    e->timer = ticket;
    thrum__events_put(&e->events, (uint64_t)e->timer_place, e->events.now + seconds, e->number++);
    return 0;
}

static uint64_t timer_end(thrum__engine *e)
{
    thrum__events_remove(&e->events, (uint64_t)e->timer_place);
    return e->timer;
}

/* ---- Shares of channels ------------------------------------------------------------------------------------------ */

static flow *sharing(const thrum__engine *e, int number)
{
    return &e->flows[e->sharing[number]];
}

/* Counts the users of all channels; returns how many channels have some. Those are listed in `used`. */
static int count_users(thrum__engine *e)
{
    int used = 0, members = 0;
    for (int i = 0; i < e->sharing_count; i++) {
        const thrum__way *way = sharing(e, i)->way;
        for (int j = 0; j < way->count; j++)
            if (e->shares[way->channel[j]].users++ == 0)
                e->shares[used++].used = way->channel[j];
    }
    for (int i = 0; i < used; i++) {
        share *s = &e->shares[e->shares[i].used];
        s->capacity = e->layout->channels[e->shares[i].used].bandwidth;
        s->first = s->last = members;
        members += s->users;
    }
    return used;
}

/* Notes who the users are; returns how many have no rate yet. Without a channel there is no limit. */
static int list_users(thrum__engine *e)
{
    int open = 0;
    for (int i = 0; i < e->sharing_count; i++) {
        flow *f = sharing(e, i);
        f->fair = f->way->count ? -1 : INFINITY;
        open += f->way->count > 0;
        for (int j = 0; j < f->way->count; j++)
            e->members[e->shares[f->way->channel[j]].last++] = e->sharing[i];
    }
    return open;
}

static void set_fair(thrum__engine *e, flow *f, double rate)
{
    f->fair = rate;
    for (int j = 0; j < f->way->count; j++) {
        share *s = &e->shares[f->way->channel[j]];
        s->users--;
        if (!isinf(rate))
            s->capacity = s->capacity > rate ? s->capacity - rate : 0;
    }
}

/* Takes channels off the list whose users all have a rate; returns what the tightest of the others has for each. */
static double find_tightest(thrum__engine *e, int *used)
{
    double least = INFINITY;
    int kept = 0;
    for (int i = 0; i < *used; i++) {
        int channel = e->shares[i].used;
        const share *s = &e->shares[channel];
        if (s->users == 0)
            continue;
        double each = s->capacity / s->users;
        least = each < least ? each : least;
        e->shares[kept++].used = channel;
    }
    *used = kept;
    return least;
}

/* Max-min fairness: who is bound by the tightest channel has an equal share of it, and for the others the rest remains.
 * Channels that are equally tight but for rounding count as equal. */
static void find_fair_rates(thrum__engine *e)
{
    int used = count_users(e), open = list_users(e);
    while (open > 0) {
        double least = find_tightest(e, &used);
        for (int i = 0; i < used; i++) {
            const share *s = &e->shares[e->shares[i].used];
            if (s->users == 0 || s->capacity / s->users > least * (1 + 1e-12))
                continue;
            for (int j = s->first; j < s->last; j++)
                if (e->flows[e->members[j]].fair < 0) {
                    set_fair(e, &e->flows[e->members[j]], least);
                    open--;
                }
        }
    }
}

static void change_rate(const thrum__engine *e, flow *f)
{
    double now = e->events.now;
    if (f->fair == f->rate)
        return;
    f->left = isinf(f->rate) ? 0 : fmax(f->left - f->rate * (now - f->since), 0);
    f->rate = f->fair;
    f->since = now;
    f->end = now + (f->left > 0 ? f->left / f->rate : 0);
}

/* The first to end, the oldest of several. There are some. */
static flow *first_to_end(const thrum__engine *e)
{
    flow *first = sharing(e, 0);
    for (int i = 1; i < e->sharing_count; i++) {
        flow *f = sharing(e, i);
        if (f->end < first->end || (f->end == first->end && e->copies[f->copy].number < e->copies[first->copy].number))
            first = f;
    }
    return first;
}

static void put_first_end(thrum__engine *e)
{
    const flow *first = e->sharing_count ? first_to_end(e) : NULL;
    if (first && !isinf(first->end))
        thrum__events_put(&e->events, (uint64_t)e->sharing_place, first->end, e->copies[first->copy].number);
    else
        thrum__events_remove(&e->events, (uint64_t)e->sharing_place);
}

static void share_channels(thrum__engine *e)
{
    e->changed = false;
    find_fair_rates(e);
    for (int i = 0; i < e->sharing_count; i++)
        change_rate(e, sharing(e, i));
    put_first_end(e);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static uint64_t place_of(const thrum__engine *e, const flow *f)
{
    return (uint64_t)(e->sharing_place + 1 + (f - e->flows));
}

/* It has all of its lines. */
static void flow_begin(thrum__engine *e, int number)
{
    const copy *c = &e->copies[number];
    assert(e->flow_count < e->flow_room);
    flow *f = &e->flows[e->free_flows[e->flow_count++]];
    *f = (flow){.way = c->way, .copy = number, .left = c->bytes};
    thrum__events_put(&e->events, place_of(e, f), e->events.now + c->way->latency, c->number);
}

/* It is through with its latency. If nothing limits it, it ends now: that is in order with all else that does. */
static void flow_share(thrum__engine *e, flow *f)
{
    f->since = e->events.now;
    f->end = f->left > 0 && f->way->count > 0 ? INFINITY : e->events.now;
    thrum__events_remove(&e->events, place_of(e, f));
    e->sharing[e->sharing_count++] = (int)(f - e->flows);
    e->changed = true;
    if (!isinf(f->end))
        put_first_end(e);
}

static int *next_in(const thrum__engine *e, int number, int channel)
{
    copy *c = &e->copies[number];
    int i = 0;
    while (c->way->channel[i] != channel)
        i++;
    return &c->next[i];
}

static void line_enter(const thrum__engine *e, int channel, int number)
{
    line *l = &e->lines[channel];
    *next_in(e, number, channel) = NONE;
    if (l->first == NONE)
        l->first = number;
    else
        *next_in(e, l->last, channel) = number;
    e->copies[number].blocked += l->first != number;
    l->last = number;
}

/* The first leaves; who is next may have all of its lines now. */
static void line_leave(thrum__engine *e, int channel)
{
    line *l = &e->lines[channel];
    l->first = *next_in(e, l->first, channel);
    if (l->first != NONE && --e->copies[l->first].blocked == 0)
        flow_begin(e, l->first);
}

static bool is_line(const thrum__engine *e, int channel)
{
    return e->layout->channels[channel].line;
}

static bool has_line(const thrum__engine *e, const thrum__way *way)
{
    int i = 0;
    while (i < way->count && !is_line(e, way->channel[i]))
        i++;
    return i < way->count;
}

/* Each that has begun and has a line is alone on it: so there is room for the end of one to begin another. */
static int reserve_flow(thrum__engine *e, const thrum__way *way)
{
    int lineless = e->lineless + !has_line(e, way);
    int err = e->line_count + lineless > e->flow_room ? enlarge_flows(e, 2 * e->flow_room) : 0;
    if (!err)
        e->lineless = lineless;
    return err;
}

static int engine_copy(thrum__engine *e, int from, int to, double bytes, uint64_t ticket)
{
    const thrum__way *way = &e->layout->ways[from * e->layout->node_count + to];
    int err = e->free_copy == NONE ? enlarge_copies(e) : 0;
    if (!err)
        err = reserve_flow(e, way);
    if (err)
        return err;
    int number = e->free_copy;
    copy *c = &e->copies[number];
    e->free_copy = c->next[0];
    *c = (copy){.way = way, .ticket = ticket, .number = e->number++, .bytes = bytes};
    for (int i = 0; i < way->count; i++)
        if (is_line(e, way->channel[i]))
            line_enter(e, way->channel[i], number);
    if (c->blocked == 0)
        flow_begin(e, number);
    return 0;
}

static void stop_sharing(thrum__engine *e, const flow *f)
{
    int i = 0;
    while (e->sharing[i] != (int)(f - e->flows))
        i++;
    memmove(&e->sharing[i], &e->sharing[i + 1], (size_t)(--e->sharing_count - i) * sizeof *e->sharing);
}

static uint64_t flow_end(thrum__engine *e, const flow *f)
{
    int number = f->copy;
    copy *c = &e->copies[number];
    stop_sharing(e, f);
    e->free_flows[--e->flow_count] = (int)(f - e->flows);
    e->lineless -= !has_line(e, c->way);
    for (int i = 0; i < c->way->count; i++)
        if (is_line(e, c->way->channel[i]))
            line_leave(e, c->way->channel[i]);
    c->next[0] = e->free_copy;
    e->free_copy = number;
    e->changed = true;
    put_first_end(e); /* another one may end at the same time */
    return c->ticket;
}

/* ---- The clock --------------------------------------------------------------------------------------------------- */

/* Shares are worked out when all that happens now has happened. */
static bool find_next(thrum__engine *e)
{
    bool any = thrum__events_any(&e->events);
    if (!e->changed || (any && thrum__events_first_time(&e->events) <= e->events.now))
        return any;
    share_channels(e);
    return thrum__events_any(&e->events);
}

static bool engine_next(thrum__engine *e, uint64_t *ticket)
{
    int workers = e->layout->worker_count;
    while (find_next(e)) {
        int place = (int)thrum__events_first_place(&e->events);
        e->events.now = thrum__events_first_time(&e->events);
        if (place > e->sharing_place) {
            flow_share(e, &e->flows[place - e->sharing_place - 1]);
            continue;
        }
        *ticket = place == e->sharing_place ? flow_end(e, first_to_end(e))
                  : place == e->timer_place ? timer_end(e)
                  : place >= workers        ? device_end(e, &e->devices[place - workers])
                                            : core_end(e, (uint64_t)place);
        return true;
    }
    return false;
}

const thrum__engine_ops thrum__engine_native = {
    .name = "native",
    .open = engine_open,
    .close = engine_close,
    .now = engine_now,
    .kernel = engine_kernel,
    .copy = engine_copy,
    .timer = engine_timer,
    .next = engine_next,
};
