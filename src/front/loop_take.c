/* SPDX-License-Identifier: MIT
 *
 * How an executor's workers take the chunks of a loop. The rules themselves are in sched/.
 *
 * A loop with p workers spawns p - 1 functions beside the calling one, and each of the p that gets to run is a *part*:
 * it takes chunks until none are left. Parts that come late find nothing and go; nobody waits for a worker that is busy
 * elsewhere. A part has a *place*, one of p, whose number is what the rules call a worker: the number of its executor's
 * worker, if that place is free, so that weights and blocks stay with the same cores from loop to loop.
 *
 * How chunks are taken, by the order of the rule (sched/loop.h):
 *   BY_NUMBER  one addition to a counter of requests, and a look into a table of sizes, made beforehand
 *   BY_REST    one compare-and-swap of what is left
 *   BY_STATE   the schedule itself, under a lock
 *   BY_OWNER   blocks, one for each place, which parts claim whole; a part fills its range (conc/range.h) with its
 *              block and takes from there without atomic operations; with nothing left to claim it steals from others'
 *              ranges.
 *              SS goes this way too, in steps of one.
 */
#include "front/loop_int.h"

#include "exec/inside.h"
#include "front/algorithm_int.h"
#include "sys/clock.h"
#include "sys/topology.h"

#include <sched.h>

/* ---- One chunk --------------------------------------------------------------------------------------------------- */

/* The first chunk's value is the part's, further ones are added to it. */
static void reduce_chunk(part *p, uint64_t lo, uint64_t hi)
{
    const thrum_loop *job = p->loop->job;
    p->loop->job->map(job->lo + lo, job->lo + hi, p->has_value ? p->spare : p->value, job->ctx);
    if (p->has_value)
        job->combine(p->value, p->spare, job->ctx);
    p->has_value = true;
}

static inline void plain_chunk(part *p, uint64_t lo, uint64_t hi)
{
    const thrum_loop *job = p->loop->job;
    if (job->body)
        job->body(job->lo + lo, job->lo + hi, job->ctx);
    else
        reduce_chunk(p, lo, hi);
}

/* What the deviation is estimated from are *pieces* of about so many seconds, parts of chunks or several chunks
 * together. In what is shorter one would see the clock's own cost, and take it for a property of the iterations; over
 * longer times everything drifts, and since sigma follows from a piece's mean times the root of its length, that would
 * count for more than it is. */
static const double PIECE_SECONDS = 10e-6;

static void note_piece(part *p, uint64_t iterations, double seconds)
{
    thrum__measured *m = &p->measured;
    m->iterations += iterations;
    m->time += seconds;
    p->piece_iterations += iterations;
    p->piece_time += seconds;
    if (p->piece_time < PIECE_SECONDS)
        return;
    m->pieces++;
    m->piece_iterations += p->piece_iterations;
    m->piece_time += p->piece_time;
    m->piece_squares += p->piece_time * p->piece_time / (double)p->piece_iterations;
    p->piece_iterations = 0;
    p->piece_time = 0;
}

static double timed_body(part *p, uint64_t lo, uint64_t hi)
{
    int64_t begin = p->last_end;
    plain_chunk(p, lo, hi);
    p->last_end = thrum__now();
    return (double)(p->last_end - begin) * 1e-9;
}

/* What is left behind a piece is not less than the least size of a chunk, for the next one to be one. */
static uint64_t piece_end(const part *p, uint64_t lo, uint64_t hi)
{
    uint64_t left = hi - lo;
    return left < p->piece || left - p->piece < p->loop->least ? hi : lo + p->piece;
}

/* For the site: piece by piece, each twice as long as the one before until they are long enough. To the body a piece is
 * a chunk, so none begins once the run has failed. */
static double chunk_in_pieces(part *p, uint64_t lo, uint64_t hi)
{
    double sum = 0;
    p->measured.chunks++;
    p->measured.cost += p->cost;
    while (lo < hi && !thrum__scope_failed(p->scope)) {
        uint64_t end = piece_end(p, lo, hi);
        double seconds = timed_body(p, lo, end);
        note_piece(p, end - lo, seconds);
        if (end - lo == p->piece && seconds < PIECE_SECONDS)
            p->piece *= 2;
        else if (seconds > 3 * PIECE_SECONDS && p->piece / 2 >= p->loop->least)
            p->piece /= 2;
        sum += seconds;
        lo = end;
    }
    return sum;
}

/* With a look at the clock before and after; what lies between two chunks is the cost of handing out. Returns the
 * seconds. */
static double measured_chunk(part *p, uint64_t lo, uint64_t hi)
{
    int64_t begin = thrum__now();
    p->cost = p->last_end ? (double)(begin - p->last_end) * 1e-9 : 0;
    p->last_end = begin;
    return p->loop->measures ? chunk_in_pieces(p, lo, hi) : timed_body(p, lo, hi);
}

static inline void do_chunk(part *p, uint64_t lo, uint64_t hi)
{
    if (p->loop->measures)
        measured_chunk(p, lo, hi);
    else
        plain_chunk(p, lo, hi);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* Relaxed: a place carries no data but itself. */
static bool claim(struct loop *loop, uint32_t place)
{
    _Atomic uint8_t *taken = &loop->taken[place];
    return !atomic_load_explicit(taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(taken, 1, memory_order_relaxed);
}

/* A place that nobody has, `wanted` if possible; p if there is none. */
static uint32_t claim_any(struct loop *loop, uint32_t wanted)
{
    uint32_t p = loop->places;
    for (uint32_t i = 0; i < p; i++) {
        uint32_t place = wanted + i < p ? wanted + i : wanted + i - p;
        if (claim(loop, place))
            return place;
    }
    return p;
}

/* ---- By number, by rest, by state -------------------------------------------------------------------------------- */

/* A part's requests have rising numbers, so rows are looked for from the last one on. */
static void take_by_number(part *p)
{
    struct loop *loop = p->loop;
    uint32_t row = 0;
    while (!thrum__scope_failed(p->scope)) {
        uint64_t number = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
        while (row + 1 < loop->row_count && loop->rows[row + 1].first <= number)
            row++;
        const thrum__loop_row *r = &loop->rows[row];
        uint64_t before = number - r->first;
        if (before > (loop->n - r->begin) / r->size) /* far beyond the end: the product may not be representable */
            return;
        uint64_t begin = r->begin + before * r->size;
        if (begin >= loop->n)
            return;
        do_chunk(p, begin, loop->n - begin < r->size ? loop->n : begin + r->size);
    }
}

static void take_by_rest(part *p)
{
    struct loop *loop = p->loop;
    uint64_t left = atomic_load_explicit(&loop->next, memory_order_relaxed);
    while (left && !thrum__scope_failed(p->scope)) {
        uint64_t size = thrum__size_of_rest(&loop->schedule, left);
        if (!atomic_compare_exchange_weak_explicit(&loop->next, &left, left - size, memory_order_relaxed,
                                                   memory_order_relaxed))
            continue;
        do_chunk(p, loop->n - left, loop->n - left + size);
        left = atomic_load_explicit(&loop->next, memory_order_relaxed);
    }
}

static double seconds_since(int64_t begin)
{
    return (double)(thrum__now() - begin) * 1e-9;
}

static void take_by_state(part *p)
{
    struct loop *loop = p->loop;
    uint64_t done = 0;
    double seconds = 0;
    while (!thrum__scope_failed(p->scope)) {
        thrum_chunk chunk;
        double now = seconds_since(loop->begun);
        thrum__lock_take(&loop->lock);
        if (done)
            thrum_schedule_finished(&loop->schedule, p->place, done, seconds, p->cost);
        bool more = thrum_schedule_next(&loop->schedule, p->place, now, &chunk);
        thrum__lock_give(&loop->lock);
        if (!more)
            return;
        seconds = measured_chunk(p, chunk.begin, chunk.begin + chunk.size);
        done = chunk.size;
    }
}

/* ---- By owner ---------------------------------------------------------------------------------------------------- */

/* Chunks without measuring, of which there may be as many as iterations: what is needed is at hand in local
 * variables. */
static void work_off_bodies(part *p, thrum__range *range)
{
    const thrum_loop *job = p->loop->job;
    const uint32_t *attention = &p->scope->root->attention;
    const uint64_t grain = p->loop->grain;
    const size_t first = job->lo;
    thrum_each_fn *body = job->body;
    void *ctx = job->ctx;
    /* Relaxed: as in thrum__scope_failed. */
    while (!thrum__is_cancelled(__atomic_load_n(attention, __ATOMIC_RELAXED))) {
        thrum__span span = thrum__range_take_owner(range, grain);
        if (span.lo == span.hi)
            return;
        body(first + span.lo, first + span.hi, ctx);
    }
}

static void work_off(part *p, thrum__range *range)
{
    struct loop *loop = p->loop;
    if (loop->job->body && !loop->measures) {
        work_off_bodies(p, range);
        return;
    }
    while (!thrum__scope_failed(p->scope)) {
        thrum__span span = thrum__range_take_owner(range, loop->grain);
        if (span.lo == span.hi)
            return;
        do_chunk(p, span.lo, span.hi);
    }
}

/* The range of another part with the most left; NULL if all are empty. */
static thrum__range *richest(const part *p)
{
    struct loop *loop = p->loop;
    thrum__range *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < loop->places; i++) {
        uint64_t left = i == p->number ? 0 : thrum__range_left(&loop->ranges[i]);
        if (left > most) {
            most = left;
            best = &loop->ranges[i];
        }
    }
    return best;
}

/* Fills the part's range with half of another's. `moving` is above zero from before iterations disappear from one range
 * until they are in the other; acquire and release, so that who sees it at zero sees where they have gone. */
static bool steal_some(part *p, thrum__range *victim)
{
    struct loop *loop = p->loop;
    atomic_fetch_add_explicit(&loop->moving, 1, memory_order_acq_rel);
    thrum__span stolen = thrum__range_steal(victim);
    if (stolen.lo < stolen.hi)
        thrum__range_fill_owner(&loop->ranges[p->number], stolen.lo, stolen.hi);
    atomic_fetch_sub_explicit(&loop->moving, 1, memory_order_acq_rel);
    return stolen.lo < stolen.hi;
}

static void steal_and_work(part *p)
{
    struct loop *loop = p->loop;
    while (!thrum__scope_failed(p->scope)) {
        bool quiet = atomic_load_explicit(&loop->moving, memory_order_acquire) == 0;
        thrum__range *victim = richest(p);
        if (victim && steal_some(p, victim))
            work_off(p, &loop->ranges[p->number]);
        else if (!victim && quiet)
            return;
        else
            thrum__relax();
    }
}

static void take_by_owner(part *p)
{
    struct loop *loop = p->loop;
    thrum__range *range = &loop->ranges[p->number];
    uint32_t place = p->place;
    for (; place < loop->places && !thrum__scope_failed(p->scope); place = claim_any(loop, place)) {
        thrum_chunk block = thrum__block(loop->n, loop->places, place);
        if (!loop->steals) {
            if (block.size)
                do_chunk(p, block.begin, block.begin + block.size);
            continue;
        }
        thrum__range_fill_owner(range, block.begin, block.begin + block.size);
        work_off(p, range);
    }
    if (loop->steals)
        steal_and_work(p);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

/* A worker that is woken may be put onto the very core that the caller works on, and left there for whole loops, if a
 * process of less importance keeps the other cores from being idle. */
static void leave_callers_core(const struct loop *loop, const part *p)
{
    if (p->scope->worker != loop->caller && loop->caller_cpu >= 0 && sched_getcpu() == loop->caller_cpu)
        thrum__change_cpu();
}

static void take_part(thrum_scope *scope, void *arg)
{
    static void (*const take[])(part *) = {
        [THRUM__BY_NUMBER] = take_by_number,
        [THRUM__BY_REST] = take_by_rest,
        [THRUM__BY_STATE] = take_by_state,
        [THRUM__BY_OWNER] = take_by_owner,
    };
    struct loop *loop = arg;
    part p = {.loop = loop, .scope = scope, .piece = loop->least};
    p.number = atomic_fetch_add_explicit(&loop->entered, 1, memory_order_relaxed);
    p.place = loop->taken ? claim_any(loop, thrum__team_index() % loop->places) : p.number;
    if (loop->values) {
        p.value = loop->values + 2 * p.number * loop->value_room;
        p.spare = p.value + loop->value_room;
    }
    leave_callers_core(loop, &p);
    take[loop->order](&p);
    if (loop->measured && p.place < loop->places)
        loop->measured[p.place] = p.measured;
    if (loop->has_value)
        loop->has_value[p.number] = p.has_value;
}

static void combine_values(const struct loop *loop)
{
    const thrum_loop *job = loop->job;
    for (uint32_t i = 0; i < loop->places; i++)
        if (loop->has_value[i])
            job->combine(job->result, loop->values + 2 * i * loop->value_room, job->ctx);
}

void thrum__loop_take_all(thrum_scope *scope, void *arg)
{
    struct loop *loop = arg;
    uint32_t parts = loop->n < loop->places ? (uint32_t)loop->n : loop->places;
    loop->begun = loop->timed ? thrum__now() : 0;
    loop->caller = scope->worker;
    loop->caller_cpu = parts > 1 ? sched_getcpu() : -1;
    for (uint32_t i = 1; i < parts; i++)
        thrum_spawn(scope, take_part, loop);
    take_part(scope, loop);
    int err = thrum_join(scope);
    loop->ended = loop->timed ? thrum__now() : 0;
    if (!err && loop->values)
        combine_values(loop);
}
