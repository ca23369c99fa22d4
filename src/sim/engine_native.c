/* SPDX-License-Identifier: MIT
 *
 * thrum's own engine of the task simulator (engine.h): exact, and fast enough for millions of tasks.
 *
 * The queue of events has a place for each core, one for each device and one for each copy that has begun; what ends there next is
 * moved when something changes. A device that k kernels share goes on 1/k as fast for each of them. So it has a clock of its own
 * that runs at that speed, on which a kernel's end never changes: only the device's next end has to be worked out anew. The shares
 * of copies change for all that are under way, and so they are all worked out, but those whose share stays keep their ends, to the
 * last digit.
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
    int copy;
    bool sharing; /* it is through with the latency */
    double left;  /* bytes, at the time `since` */
    double rate, since, fair;
} flow;

typedef struct line {
    int first, last; /* copies, or NONE */
} line;

struct thrum__engine {
    const thrum__layout *layout;
    thrum__events events;
    uint64_t number;
    kernel *kernels; /* by worker */
    device *devices;
    line *lines; /* by channel */
    copy *copies;
    int copy_room, free_copy;
    flow *flows;
    int *free_flows, *sharing; /* the last `flow_room - flow_count`; those with a share */
    int flow_room, flow_count, sharing_count;
    int line_count, lineless; /* channels that are lines; copies under way that have none */
    int places;               /* of workers and devices; those of flows follow */
    double *capacity;         /* by channel, while shares are worked out */
    int *users;
};

/* ---- Opening and closing -------------------------------------------------------------------------------------------- */

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
    thrum__free(e->capacity);
    thrum__free(e->users);
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
    if (e->places + room > (int)e->events.room && enlarge_events(e, e->places + room))
        return THRUM_ENOMEM;
    if (!enlarge(&e->flows, sizeof *e->flows, old, (size_t)room) ||
        !enlarge(&e->free_flows, sizeof *e->free_flows, old, (size_t)room) ||
        !enlarge(&e->sharing, sizeof *e->sharing, old, (size_t)room))
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
    e->places = layout->worker_count + layout->device_count;
    e->kernels = thrum__zalloc(((size_t)layout->worker_count + 1) * sizeof *e->kernels);
    e->devices = thrum__zalloc(((size_t)layout->device_count + 1) * sizeof *e->devices);
    e->lines = thrum__zalloc(channels * sizeof *e->lines);
    e->capacity = thrum__zalloc(channels * sizeof *e->capacity);
    e->users = thrum__zalloc(channels * sizeof *e->users);
    if (!e->kernels || !e->devices || !e->lines || !e->capacity || !e->users)
        return no_memory();
    for (int i = 0; i < layout->channel_count; i++) {
        e->lines[i] = (line){NONE, NONE};
        e->line_count += layout->channels[i].line;
    }
    int err = thrum__events_begin(&e->events, (uint32_t)(e->places + e->line_count + 1));
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

/* ---- Kernels --------------------------------------------------------------------------------------------------------- */

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

/* ---- Shares of channels ----------------------------------------------------------------------------------------------- */

static const thrum__way *way_of(const thrum__engine *e, const flow *f)
{
    return e->copies[f->copy].way;
}

static double fair_share(const thrum__engine *e, const thrum__way *way)
{
    double least = INFINITY;
    for (int i = 0; i < way->count; i++)
        least = fmin(least, e->capacity[way->channel[i]] / e->users[way->channel[i]]);
    return least;
}

static void count_users(thrum__engine *e)
{
    for (int i = 0; i < e->sharing_count; i++) {
        const thrum__way *way = way_of(e, &e->flows[e->sharing[i]]);
        for (int j = 0; j < way->count; j++) {
            e->capacity[way->channel[j]] = e->layout->channels[way->channel[j]].bandwidth;
            e->users[way->channel[j]] = 0;
        }
    }
    for (int i = 0; i < e->sharing_count; i++) {
        flow *f = &e->flows[e->sharing[i]];
        const thrum__way *way = way_of(e, f);
        f->fair = -1;
        for (int j = 0; j < way->count; j++)
            e->users[way->channel[j]]++;
    }
}

static void take_share(const thrum__engine *e, const flow *f)
{
    const thrum__way *way = way_of(e, f);
    for (int j = 0; j < way->count; j++) {
        double *capacity = &e->capacity[way->channel[j]];
        *capacity = fmax(*capacity - f->fair, 0);
        e->users[way->channel[j]]--;
    }
}

/* Those that are bound by the channel with the least for each have it; for the others the rest remains. True: there are some left. */
static bool share_tightest(const thrum__engine *e)
{
    double least = INFINITY;
    int open = 0;
    for (int i = 0; i < e->sharing_count; i++) {
        const flow *f = &e->flows[e->sharing[i]];
        if (f->fair < 0)
            least = fmin(least, fair_share(e, way_of(e, f)));
    }
    for (int i = 0; i < e->sharing_count; i++) {
        flow *f = &e->flows[e->sharing[i]];
        bool bound = f->fair < 0 && (isinf(least) || fair_share(e, way_of(e, f)) <= least);
        open += f->fair < 0 && !bound;
        if (bound)
            f->fair = -2 - least; /* to be taken when all of this round are known */
    }
    for (int i = 0; i < e->sharing_count; i++) {
        flow *f = &e->flows[e->sharing[i]];
        if (f->fair > -2)
            continue;
        f->fair = least;
        if (!isinf(least))
            take_share(e, f);
    }
    return open > 0;
}

static void change_rate(thrum__engine *e, flow *f)
{
    double now = e->events.now;
    if (f->fair == f->rate)
        return;
    f->left = isinf(f->rate) ? 0 : fmax(f->left - f->rate * (now - f->since), 0);
    f->rate = f->fair;
    f->since = now;
    thrum__events_put(&e->events, (uint64_t)(e->places + (f - e->flows)), now + (f->left > 0 ? f->left / f->rate : 0),
                      e->copies[f->copy].number);
}

/* Max-min fairness: nobody could have more without somebody who has no more having less. */
static void share_channels(thrum__engine *e)
{
    count_users(e);
    while (e->sharing_count && share_tightest(e))
        ;
    for (int i = 0; i < e->sharing_count; i++)
        change_rate(e, &e->flows[e->sharing[i]]);
}

/* ---- Copies ---------------------------------------------------------------------------------------------------------------- */

/* It has all of its lines. */
static void flow_begin(thrum__engine *e, int number)
{
    const copy *c = &e->copies[number];
    assert(e->flow_count < e->flow_room);
    int place = e->free_flows[e->flow_count++];
    e->flows[place] = (flow){.copy = number, .left = c->bytes};
    thrum__events_put(&e->events, (uint64_t)(e->places + place), e->events.now + c->way->latency, c->number);
}

static void flow_share(thrum__engine *e, flow *f)
{
    f->sharing = true;
    f->since = e->events.now;
    e->sharing[e->sharing_count++] = (int)(f - e->flows);
    share_channels(e);
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
    thrum__events_remove(&e->events, (uint64_t)(e->places + (f - e->flows)));
    e->free_flows[--e->flow_count] = (int)(f - e->flows);
    e->lineless -= !has_line(e, c->way);
    for (int i = 0; i < c->way->count; i++)
        if (is_line(e, c->way->channel[i]))
            line_leave(e, c->way->channel[i]);
    c->next[0] = e->free_copy;
    e->free_copy = number;
    share_channels(e);
    return c->ticket;
}

/* ---- The clock ---------------------------------------------------------------------------------------------------------------- */

static bool engine_next(thrum__engine *e, uint64_t *ticket)
{
    uint64_t workers = (uint64_t)e->layout->worker_count;
    while (thrum__events_any(&e->events)) {
        uint64_t place = thrum__events_first_place(&e->events);
        e->events.now = thrum__events_first_time(&e->events);
        flow *f = place >= (uint64_t)e->places ? &e->flows[place - (uint64_t)e->places] : NULL;
        if (f && !f->sharing) {
            flow_share(e, f);
            continue;
        }
        *ticket = f                  ? flow_end(e, f)
                  : place >= workers ? device_end(e, &e->devices[place - workers])
                                     : core_end(e, place);
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
    .next = engine_next,
};
