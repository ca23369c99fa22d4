/* SPDX-License-Identifier: MIT
 *
 * Loops: n iterations, cut into chunks by a rule, on all workers.
 *
 *     static void scale(size_t lo, size_t hi, void *ctx)
 *     {
 *         for (size_t i = lo; i < hi; i++)
 *             ((double *)ctx)[i] *= 2;
 *     }
 *
 *     thrum_for(NULL, 0, n, scale, array);
 *     thrum_for(NULL, 0, n, scale, array, .schedule = THRUM_FAC2, .least = 16);
 *
 * schedule.h lists the rules. Without one it is THRUM_STEAL: each worker begins with a block of its own, and whoever
 * has none left takes half of what another one has; that is never far from the best. THRUM_AUTO tries rules out, over
 * repeated executions of the loop, and keeps to the fastest. THRUM_RUNTIME takes what the environment says
 * (THRUM_SCHEDULE=fac2,16).
 *
 * A loop may be called anywhere: outside tasks, in tasks, in the body of another loop. Called in a task of the
 * executor, or in any task with NULL, it takes part in the calling task, as algorithms do (algorithm.h): its errors are
 * the task's run's. Loops know nothing of each other: any number may run at once, nested or side by side, each with a
 * schedule of its own. The p of the rules is the number of the executor's workers (in a task of another domain: of that
 * domain's).
 *
 * **What is measured.** Rules that need the mean, the deviation or the cost of handing out a chunk are given them, or
 * they are measured, in earlier executions of the same loop; the first one goes by FAC2, and so does any loop whose
 * iterations have taken no time at all so far. The weights of WF and AWF are measured in the same way. "The same loop"
 * is the place of the call in the source, unless `site` names it; with another body or another number of workers it is
 * another one. 4096 such places are kept.
 *
 * **How chunks are taken.** STEAL, STAT and SS: from the worker's own block, without a read-modify-write; who has none
 * left comes and takes half of what is left of another's (SS: so any idle worker gets any iteration that has not begun;
 * STAT: whole blocks that nobody has begun). Rules whose sizes follow from the number of the request or from what is
 * left take one atomic operation a chunk. WF, AWF, AF and BOLD take a short lock.
 *
 * **Errors.** 0 or the first error: hi < lo, no body, numbers that make no sense, a technique that is none, weights
 * whose sum is not the number of workers. A body fails with `thrum_fail`: chunks that have not begun are left out. A
 * loop without iterations is none to do, and no error.
 */
#ifndef THRUM_LOOP_H
#define THRUM_LOOP_H

#include <thrum/algorithm.h>
#include <thrum/schedule.h>

THRUM_BEGIN_C

typedef struct thrum_loop {
    thrum_executor *executor; /* NULL: the default one */
    size_t lo, hi;            /* iterations lo <= i < hi */
    thrum_each_fn *body;      /* called for a chunk: body(lo, hi, ctx) */
    void *ctx;

    thrum_technique schedule;
    size_t least;           /* the least size of a chunk; 0: the rule's own */
    double mean, deviation; /* of an iteration's time, in seconds; mean 0: measured, and with it a deviation of 0 */
    double cost;            /* of handing out a chunk, in seconds; 0: measured */
    const double *weights;  /* WF, AWF: of the workers in the order of their numbers, with p as sum; NULL: measured */
    size_t weight_count;
    double alpha;     /* TAP */
    uint32_t stages;  /* FISS */
    size_t bound;     /* RND */
    uint64_t seed;    /* RND */
    const char *site; /* names the loop for what is measured; a text that lives on; NULL: the place in the source */

    /* Reductions: see thrum_for_reduce. */
    thrum_map_fn *map;
    thrum_combine_fn *combine;
    void *result;
    size_t size;

    const char *here_; /* filled in by the macros */
} thrum_loop;

/* What the macros below call. */
THRUM_API int thrum_loop_run(const thrum_loop *loop);
/* The loop as a task of a graph; `executor` does not count. The struct is copied, what it points to must live as long
 * as the graph may run. NULL on failure, and the graph keeps the error. */
THRUM_API thrum_task *thrum_loop_task_new(thrum_graph *graph, const thrum_loop *loop);

#define THRUM__TEXT(x) #x
#define THRUM__LINE(x) THRUM__TEXT(x)
#define THRUM__HERE __FILE__ ":" THRUM__LINE(__LINE__)

#ifndef __cplusplus

/* thrum_for(executor, lo, hi, body, ctx [, .schedule = ...] [, .least = ...] ...) */
#define thrum_for(...) thrum_loop_run(&(thrum_loop){__VA_ARGS__, .here_ = THRUM__HERE})

/* thrum_for_task_new(graph, lo, hi, body, ctx [, .schedule = ...] ...) */
#define thrum_for_task_new(graph, ...)                                                                                 \
    thrum_loop_task_new((graph), &(thrum_loop){NULL, __VA_ARGS__, .here_ = THRUM__HERE})

/* thrum_for_reduce(executor, lo, hi, map, combine, ctx, result, size [, .schedule = ...] ...) map(lo, hi, into, ctx)
 * writes what a chunk amounts to; combine(into, from, ctx) adds one to another; in the end all of it is added to
 * *result, a value of `size` bytes. Chunks are combined in the order in which they happen to be done, so the operator
 * must be commutative too, and sums of floating-point numbers may differ in their last digits from run to run;
 * thrum_transform_reduce (algorithm.h) gives the same each time. */
#define thrum_for_reduce(executor_, lo_, hi_, map_, combine_, ctx_, result_, ...)                                      \
    thrum_loop_run(&(thrum_loop){.executor = (executor_),                                                              \
                                 .lo = (lo_),                                                                          \
                                 .hi = (hi_),                                                                          \
                                 .ctx = (ctx_),                                                                        \
                                 .map = (map_),                                                                        \
                                 .combine = (combine_),                                                                \
                                 .result = (result_),                                                                  \
                                 .size = __VA_ARGS__,                                                                  \
                                 .here_ = THRUM__HERE})

#endif /* __cplusplus */

THRUM_END_C

#ifdef __cplusplus

/* The same for C++, where options are set in a thrum_loop: `thrum_loop o = {}; o.schedule = THRUM_FAC2;`. The place in
 * the source is then known by the body alone. */
inline int thrum_for(thrum_executor *executor, size_t lo, size_t hi, thrum_each_fn *body, void *ctx,
                     thrum_loop options = thrum_loop())
{
    options.executor = executor;
    options.lo = lo;
    options.hi = hi;
    options.body = body;
    options.ctx = ctx;
    return thrum_loop_run(&options);
}

inline int thrum_for(thrum_executor *executor, size_t lo, size_t hi, thrum_each_fn *body, void *ctx,
                     thrum_technique schedule)
{
    thrum_loop options = thrum_loop();
    options.schedule = schedule;
    return thrum_for(executor, lo, hi, body, ctx, options);
}

inline int thrum_for_reduce(thrum_executor *executor, size_t lo, size_t hi, thrum_map_fn *map,
                            thrum_combine_fn *combine, void *ctx, void *result, size_t size,
                            thrum_loop options = thrum_loop())
{
    options.map = map;
    options.combine = combine;
    options.result = result;
    options.size = size;
    return thrum_for(executor, lo, hi, NULL, ctx, options);
}

inline thrum_task *thrum_for_task_new(thrum_graph *graph, size_t lo, size_t hi, thrum_each_fn *body, void *ctx,
                                      thrum_loop options = thrum_loop())
{
    options.lo = lo;
    options.hi = hi;
    options.body = body;
    options.ctx = ctx;
    return thrum_loop_task_new(graph, &options);
}

#endif

#endif
