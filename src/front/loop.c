/* SPDX-License-Identifier: MIT
 *
 * A call of a loop: which rule it goes by, what is known of it, memory for its workers. How they take chunks is in
 * loop_take.c.
 */
#include "front/loop_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "exec/inside.h"
#include "front/algorithm_int.h"

#include <string.h>

/* ---- Which rule -------------------------------------------------------------------------------------------------- */

int thrum__schedule_option_check(const char *value)
{
    thrum_technique technique;
    size_t least;
    return thrum_schedule_parse(value, &technique, &least);
}

static thrum_loop_facts facts_of(const thrum_loop *job, uint32_t places)
{
    return (thrum_loop_facts){.iterations = job->hi - job->lo,
                              .workers = places,
                              .least = job->least,
                              .mean = job->mean,
                              .deviation = job->deviation,
                              .cost = job->cost,
                              .weights = job->weights,
                              .alpha = job->alpha,
                              .stages = job->stages,
                              .bound = job->bound,
                              .seed = job->seed};
}

static bool lacks_facts(thrum_technique technique, const thrum_loop_facts *facts)
{
    unsigned needs = thrum_technique_needs(technique);
    return ((needs & THRUM_NEEDS_MEAN) && facts->mean == 0) ||
           ((needs & THRUM_NEEDS_DEVIATION) && facts->mean == 0 && facts->deviation == 0) ||
           ((needs & THRUM_NEEDS_COST) && facts->cost == 0);
}

/* FSC divides by sigma and h and by the logarithm of p: where these are measured and come out as zero, one worker's
 * share, or FAC2, is as good. */
static bool is_degenerate(thrum_technique technique, const thrum_loop_facts *facts)
{
    return technique == THRUM_FSC && (facts->deviation == 0 || facts->cost == 0);
}

/* A chunk that is worth handing out: that costs a twentieth of it. A measured deviation holds whatever else went on in
 * the machine, and rules that trust it may come to hand out tiny iterations one by one. */
static uint64_t worthwhile(const thrum_loop_facts *facts)
{
    double size = facts->cost / (0.05 * facts->mean), most = (double)(facts->iterations / facts->workers);
    return size < 1 ? 1 : size < most ? (uint64_t)size : (uint64_t)most + 1;
}

/* Measured facts for a rule that needs some and was given none; FAC2 while nothing is known. */
static void measure_facts(struct loop *loop, thrum_loop_facts *facts)
{
    thrum_loop_facts known = {.iterations = facts->iterations, .workers = facts->workers};
    loop->measures = loop->site != NULL;
    if (loop->site && thrum__site_facts(loop->site, &known)) {
        if (facts->mean == 0 && facts->deviation == 0)
            facts->deviation = known.deviation;
        if (facts->mean == 0)
            facts->mean = known.mean;
        if (facts->cost == 0)
            facts->cost = known.cost;
        if (facts->least == 0)
            facts->least = worthwhile(&known);
    }
    if (lacks_facts(loop->technique, facts) || is_degenerate(loop->technique, facts))
        loop->technique = THRUM_FAC2;
}

/* Resolves AUTO and RUNTIME and what has to be measured. */
static int choose(struct loop *loop, const char *what, thrum_loop_facts *facts)
{
    const thrum_loop *job = loop->job;
    loop->technique = job->schedule;
    if (loop->technique == THRUM_RUNTIME) {
        size_t least;
        if (thrum_schedule_parse(thrum__option_text(THRUM__OPT_SCHEDULE), &loop->technique, &least))
            return THRUM_EINVAL;
        if (least)
            facts->least = least;
    }
    loop->least = facts->least ? facts->least : 1;
    loop->weighs = (loop->technique == THRUM_WF || loop->technique == THRUM_AWF) && !facts->weights;
    bool lacks = loop->technique < THRUM_TECHNIQUES && lacks_facts(loop->technique, facts);
    if (loop->technique == THRUM_AUTO || loop->weighs || lacks)
        loop->site = thrum__site_of(job, loop->places);
    if (loop->technique == THRUM_AUTO) {
        loop->picked = loop->site != NULL;
        loop->technique = loop->site ? thrum__site_pick(loop->site) : THRUM_STEAL;
    }
    if (lacks)
        measure_facts(loop, facts);
    loop->weighs &= loop->site != NULL;
    loop->measures |= loop->weighs;
    if (loop->technique == THRUM_FSC && loop->places == 1)
        loop->technique = THRUM_STAT;
    return thrum__rule_of(loop->technique)
               ? 0
               : thrum__fault(THRUM_EINVAL, "%s: there is no technique number %d", what, (int)loop->technique);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Counts, or hands out, places for arrays one behind the other, each at a whole cache line. */
struct cutter {
    char *base; /* NULL: only counts */
    size_t used;
};

static void *cut(struct cutter *cutter, size_t count, size_t size)
{
    void *place = cutter->base ? cutter->base + cutter->used : NULL;
    cutter->used += (count * size + 63) / 64 * 64;
    return place;
}

static thrum__loop_worker *cut_arrays(struct loop *loop, struct cutter *cutter)
{
    size_t p = loop->places;
    thrum__loop_worker *workers = NULL;
    if (loop->order >= THRUM__BY_STATE || loop->measures)
        loop->taken = cut(cutter, p, sizeof *loop->taken);
    if (loop->order == THRUM__BY_OWNER && loop->steals)
        loop->ranges = cut(cutter, p, sizeof *loop->ranges);
    if (loop->measures)
        loop->measured = cut(cutter, p, sizeof *loop->measured);
    if (loop->weighs)
        loop->weights = cut(cutter, p, sizeof *loop->weights);
    if (!loop->job->body) {
        loop->has_value = cut(cutter, p, sizeof *loop->has_value);
        loop->values = cut(cutter, p, 2 * loop->value_room);
    }
    if (loop->order >= THRUM__BY_STATE)
        workers = cut(cutter, p, sizeof *workers);
    return workers;
}

/* Sets up the arrays; *workers gets the schedule's. */
static int make_room(struct loop *loop, const char *what, thrum__loop_worker **workers)
{
    struct cutter count = {NULL, 0}, cutter = {loop->room, 0};
    if (!loop->job->body && loop->job->size > PTRDIFF_MAX / 4 / loop->places)
        return thrum__fault(THRUM_ENOMEM, "%s: a value of %zu bytes for each worker is more than there are addresses",
                            what, loop->job->size);
    loop->value_room = (loop->job->size + 63) / 64 * 64;
    cut_arrays(loop, &count);
    if (count.used > sizeof loop->room) {
        loop->heap = thrum__alloc(count.used + 63);
        if (!loop->heap)
            return thrum__fault(THRUM_ENOMEM, "%s: no memory for a loop of %u workers", what, loop->places);
        cutter.base = (char *)loop->heap + (-(uintptr_t)loop->heap & 63);
    }
    *workers = cut_arrays(loop, &cutter);
    return 0;
}

static void clear_arrays(struct loop *loop)
{
    for (uint32_t i = 0; i < loop->places; i++) {
        if (loop->taken)
            atomic_init(&loop->taken[i], 0);
        if (loop->ranges)
            thrum__range_init(&loop->ranges[i]);
        if (loop->measured)
            loop->measured[i] = (thrum__measured){0};
        if (loop->has_value)
            loop->has_value[i] = 0;
    }
}

/* ---- A call ------------------------------------------------------------------------------------------------------ */

static int check(const thrum_loop *job, const char *what)
{
    if (!job)
        return thrum__fault(THRUM_EINVAL, "%s: the loop is NULL", what);
    if (job->hi < job->lo)
        return thrum__fault(THRUM_EINVAL, "%s: the loop goes from %zu to %zu, which is less", what, job->lo, job->hi);
    if (job->hi - job->lo > INT64_MAX)
        return thrum__fault(THRUM_EINVAL, "%s: the loop has %zu iterations, but 2^63 - 1 is the most", what,
                            job->hi - job->lo);
    if (job->body)
        return 0;
    if (!job->map)
        return thrum__check_pointer(what, NULL, "the body");
    if (!job->combine)
        return thrum__check_pointer(what, NULL, "the operator that combines values");
    if (job->size == 0)
        return thrum__fault(THRUM_EINVAL, "%s: the size of a value is 0", what);
    return thrum__check_pointer(what, job->result, "the result");
}

static int check_weights(const thrum_loop *job, const char *what, uint32_t places)
{
    if (!job->weights || job->weight_count == places)
        return 0;
    return thrum__fault(THRUM_EINVAL, "%s: there are %zu weights, but %u workers", what, job->weight_count, places);
}

/* SS is taken from blocks in steps of one: cheaper than a counter, and any worker still gets any iteration. Sizes that
 * would take a longer table than there is room for are worked out under the lock. */
static enum thrum__loop_order order_of(thrum_technique technique)
{
    return technique == THRUM_SS ? THRUM__BY_OWNER : thrum__rule_of(technique)->order;
}

static int begin_schedule(struct loop *loop, const char *what, thrum_loop_facts *facts)
{
    thrum__loop_worker *workers = NULL;
    int err = make_room(loop, what, &workers);
    if (err)
        return err;
    clear_arrays(loop);
    if (loop->weights) {
        thrum__site_weights(loop->site, loop->weights);
        facts->weights = loop->weights;
    }
    return thrum__schedule_begin(&loop->schedule, loop->technique, facts, workers);
}

static int begin_taking(struct loop *loop)
{
    uint64_t first = 0;
    loop->grain = loop->schedule.facts.least < loop->n ? loop->schedule.facts.least : loop->n;
    if (loop->order == THRUM__BY_NUMBER)
        loop->row_count = thrum__loop_rows(&loop->schedule, loop->rows, THRUM__LOOP_ROWS);
    if (loop->order == THRUM__BY_REST)
        first = loop->n;
    atomic_init(&loop->next, first);
    atomic_init(&loop->entered, 0);
    atomic_init(&loop->moving, 0);
    atomic_init(&loop->lock.state, 0);
    return loop->order != THRUM__BY_NUMBER || loop->row_count > 0;
}

/* Everything up to the point where workers can take chunks. */
static int prepare(struct loop *loop, const thrum_loop *job, const char *what)
{
    loop->job = job;
    loop->n = job->hi - job->lo;
    loop->places = thrum__team_size(job->executor);
    if (!loop->places)
        return thrum__last_code();
    thrum_loop_facts facts = facts_of(job, loop->places);
    int err = check_weights(job, what, loop->places);
    if (!err)
        err = choose(loop, what, &facts);
    if (err)
        return err;
    loop->order = order_of(loop->technique);
    loop->steals = loop->technique != THRUM_STAT;
    loop->timed = loop->picked || loop->order == THRUM__BY_STATE;
    err = begin_schedule(loop, what, &facts);
    if (!err && !begin_taking(loop)) {
        thrum__free(loop->heap);
        loop->heap = NULL;
        loop->order = THRUM__BY_STATE;
        err = begin_schedule(loop, what, &facts);
    }
    return err;
}

static void learn(const struct loop *loop)
{
    thrum__measured all = {0};
    if (loop->picked)
        thrum__site_learn_time(loop->site, loop->technique, (double)(loop->ended - loop->begun) / (double)loop->n);
    if (!loop->measures)
        return;
    for (uint32_t i = 0; i < loop->places; i++)
        thrum__measured_add(&all, &loop->measured[i]);
    thrum__site_learn(loop->site, &all, loop->weights ? loop->measured : NULL);
}

static void init(struct loop *loop)
{
    memset(loop, 0, offsetof(struct loop, rows));
    loop->taken = NULL;
    loop->ranges = NULL;
    loop->measured = NULL;
    loop->weights = NULL;
    loop->values = NULL;
    loop->has_value = NULL;
    loop->heap = NULL;
}

static int run_job(const thrum_loop *job, const char *what)
{
    struct loop loop;
    int err = check(job, what);
    if (err || job->lo == job->hi)
        return err;
    init(&loop);
    err = prepare(&loop, job, what);
    if (!err)
        err = thrum__job_perform(job->executor, 0, thrum__loop_take_all, &loop);
    if (!err)
        learn(&loop);
    thrum__free(loop.heap);
    return err;
}

int thrum_loop_run(const thrum_loop *job)
{
    return run_job(job, "thrum_for");
}

/* ---- A task ------------------------------------------------------------------------------------------------------ */

static void run_task(thrum_scope *scope, void *arg)
{
    int err = run_job(arg, "thrum_for_task_new");
    if (err)
        thrum__root_fail(scope->root, err, thrum__last_fault());
}

thrum_task *thrum_loop_task_new(thrum_graph *graph, const thrum_loop *loop)
{
    const char *what = "thrum_for_task_new";
    thrum_loop copy = {0};
    int err = check(loop, what);
    if (!err)
        copy = *loop;
    copy.executor = NULL;
    return thrum__scope_task_copy(graph, what, err, run_task, &copy, sizeof copy);
}
