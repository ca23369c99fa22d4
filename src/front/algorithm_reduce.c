/* SPDX-License-Identifier: MIT
 *
 * Reduce, transform-reduce, minimum and maximum: each piece gives a partial result, and partial results are combined in
 * the tree in which the pieces were split, which depends on their number only.
 */
#include "front/algorithm_int.h"

#include <string.h>

/* ---- A reduction of any kind ------------------------------------------------------------------------------------- */

struct reduction;

/* One kind: how a piece becomes a partial result, and how a result takes another one in that comes behind it. */
typedef void piece_fn(const struct reduction *job, const thrum_scope *scope, size_t begin, size_t end, void *into);
typedef void take_fn(const struct reduction *job, void *into, const void *from);

struct reduction {
    const char *what;
    thrum__pieces pieces;
    size_t size; /* of a result */
    void *result;
    piece_fn *piece;
    take_fn *take;
    const char *in; /* reduce, minimum, maximum */
    size_t in_size;
    size_t block; /* reduce: elements that the operator is handed at once; 0: whole pieces */
    thrum_fold_fn *fold;
    thrum_map_fn *map; /* transform-reduce */
    thrum_combine_fn *combine;
    thrum_compare_fn *compare; /* minimum, maximum */
    bool largest;
    void *ctx;
};

struct reduction_walk {
    thrum__walk walk;
    const struct reduction *job;
    char *partials;
};

static void reduction_leaf(thrum_scope *scope, const thrum__walk *walk, size_t piece)
{
    const struct reduction_walk *w = (const struct reduction_walk *)walk;
    const struct reduction *job = w->job;
    job->piece(job, scope, thrum__piece_begin(job->pieces, piece), thrum__piece_end(job->pieces, piece),
               w->partials + piece * job->size);
}

static void reduction_combine(const thrum__walk *walk, size_t left, size_t right)
{
    const struct reduction_walk *w = (const struct reduction_walk *)walk;
    const struct reduction *job = w->job;
    job->take(job, w->partials + left * job->size, w->partials + right * job->size);
}

static void reduction_run(thrum_scope *scope, void *arg)
{
    const struct reduction *job = arg;
    size_t count = thrum__piece_count(job->pieces);
    thrum__partials memory;
    struct reduction_walk walk = {{reduction_leaf, reduction_combine}, job, NULL};
    if (count == 0)
        return;
    walk.partials = thrum__partials_take(&memory, scope, job->what, count, job->size);
    if (!walk.partials)
        return;
    thrum__walk_pieces(scope, &walk.walk, 0, count);
    if (!thrum__scope_failed(scope))
        job->take(job, job->result, walk.partials);
    thrum__partials_drop(&memory);
}

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

/* An array that no cache holds is gone through in blocks, and while the operator is at one of them, a later one is on
 * its way from memory. By itself a core asks for less at a time than the memory could give: a sum of doubles gains a
 * tenth. Both sizes were found by trying (docs/benchmarking.md); where they begin depends on n and the size of an
 * element only. */
enum { LARGE_BYTES = 32 << 20, BLOCK_BYTES = 1024, AHEAD_BYTES = 8192, LINE_BYTES = 64 };

static size_t block_of(size_t n, size_t size, size_t grain)
{
    bool small = size > 0 && size <= LINE_BYTES;
    return grain == 0 && small && n > LARGE_BYTES / size ? BLOCK_BYTES / size : 0;
}

/* Beyond the end of the array too: a prefetch touches nothing. */
static inline void fetch_ahead(const char *block)
{
    for (size_t line = 0; line < BLOCK_BYTES; line += LINE_BYTES)
        __builtin_prefetch((const char *)((uintptr_t)block + AHEAD_BYTES + line));
}

static void fold_blocks(const struct reduction *job, const thrum_scope *scope, size_t begin, size_t end, void *into)
{
    while (begin < end && !thrum__scope_failed(scope)) {
        const char *block = job->in + begin * job->size;
        size_t count = end - begin < job->block ? end - begin : job->block;
        fetch_ahead(block);
        job->fold(into, block, count, job->ctx);
        begin += count;
    }
}

/* Partial results begin with the piece's first element, so that no neutral element is needed. */
static void fold_piece(const struct reduction *job, const thrum_scope *scope, size_t begin, size_t end, void *into)
{
    const char *first = job->in + begin * job->size;
    memcpy(into, first, job->size);
    if (job->block)
        fold_blocks(job, scope, begin + 1, end, into);
    else if (end - begin > 1)
        job->fold(into, first + job->size, end - begin - 1, job->ctx);
}

static void fold_take(const struct reduction *job, void *into, const void *from)
{
    job->fold(into, from, 1, job->ctx);
}

static int reduce_check(const struct reduction *job)
{
    int err = thrum__check_array(job->what, job->in, "the input", job->pieces.n, job->size);
    if (!err)
        err = thrum__check_pointer(job->what, job->result, "the result");
    if (!err && !job->fold)
        err = thrum__check_pointer(job->what, NULL, "the operator");
    return err;
}

static struct reduction reduce_job(const char *what, const void *in, size_t n, size_t size, size_t grain, void *result,
                                   thrum_fold_fn *fold, void *ctx)
{
    return (struct reduction){.what = what,
                              .pieces = thrum__pieces_of(n, grain),
                              .size = size,
                              .result = result,
                              .piece = fold_piece,
                              .take = fold_take,
                              .in = in,
                              .block = block_of(n, size, grain),
                              .fold = fold,
                              .ctx = ctx};
}

int thrum_reduce(thrum_executor *ex, const void *in, size_t n, size_t size, size_t grain, void *result,
                 thrum_fold_fn *fold, void *ctx)
{
    struct reduction job = reduce_job("thrum_reduce", in, n, size, grain, result, fold, ctx);
    return thrum__job_perform(ex, reduce_check(&job), reduction_run, &job);
}

thrum_task *thrum_reduce_task_new(thrum_graph *graph, const void *in, size_t n, size_t size, size_t grain, void *result,
                                  thrum_fold_fn *fold, void *ctx)
{
    struct reduction job = reduce_job("thrum_reduce_task_new", in, n, size, grain, result, fold, ctx);
    return thrum__scope_task_copy(graph, job.what, reduce_check(&job), reduction_run, &job, sizeof job);
}

/* ---- transform-reduce -------------------------------------------------------------------------------------------- */

static void map_piece(const struct reduction *job, const thrum_scope *scope, size_t begin, size_t end, void *into)
{
    (void)scope;
    job->map(begin, end, into, job->ctx);
}

static void map_take(const struct reduction *job, void *into, const void *from)
{
    job->combine(into, from, job->ctx);
}

static int transform_reduce_check(const struct reduction *job)
{
    int err = job->size ? 0 : thrum__fault(THRUM_EINVAL, "%s: the size of a value is 0", job->what);
    if (!err)
        err = thrum__check_pointer(job->what, job->result, "the result");
    if (!err && !job->map)
        err = thrum__check_pointer(job->what, NULL, "the operator that makes a value");
    if (!err && !job->combine)
        err = thrum__check_pointer(job->what, NULL, "the operator that combines values");
    return err;
}

static struct reduction transform_reduce_job(const char *what, size_t n, size_t grain, void *result, size_t size,
                                             thrum_map_fn *map, thrum_combine_fn *combine, void *ctx)
{
    return (struct reduction){.what = what,
                              .pieces = thrum__pieces_of(n, grain),
                              .size = size,
                              .result = result,
                              .piece = map_piece,
                              .take = map_take,
                              .map = map,
                              .combine = combine,
                              .ctx = ctx};
}

int thrum_transform_reduce(thrum_executor *ex, size_t n, size_t grain, void *result, size_t size, thrum_map_fn *map,
                           thrum_combine_fn *combine, void *ctx)
{
    struct reduction job = transform_reduce_job("thrum_transform_reduce", n, grain, result, size, map, combine, ctx);
    return thrum__job_perform(ex, transform_reduce_check(&job), reduction_run, &job);
}

thrum_task *thrum_transform_reduce_task_new(thrum_graph *graph, size_t n, size_t grain, void *result, size_t size,
                                            thrum_map_fn *map, thrum_combine_fn *combine, void *ctx)
{
    struct reduction job =
        transform_reduce_job("thrum_transform_reduce_task_new", n, grain, result, size, map, combine, ctx);
    return thrum__scope_task_copy(graph, job.what, transform_reduce_check(&job), reduction_run, &job, sizeof job);
}

/* ---- minimum and maximum ----------------------------------------------------------------------------------------- */

/* Whether the element at `b`, which lies behind the one at `a`, is to be taken instead of it. */
static bool is_better(const struct reduction *job, size_t a, size_t b)
{
    const char *left = job->in + a * job->in_size, *right = job->in + b * job->in_size;
    return job->largest ? job->compare(left, right, job->ctx) < 0 : job->compare(right, left, job->ctx) < 0;
}

static void extreme_piece(const struct reduction *job, const thrum_scope *scope, size_t begin, size_t end, void *into)
{
    (void)scope;
    size_t best = begin;
    for (size_t i = begin + 1; i < end; i++)
        if (is_better(job, best, i))
            best = i;
    memcpy(into, &best, sizeof best);
}

/* The result is not a value to begin with here: taken for the first time, it is overwritten. */
static void extreme_take(const struct reduction *job, void *into, const void *from)
{
    size_t best, other;
    memcpy(&other, from, sizeof other);
    memcpy(&best, into, sizeof best);
    if (into == job->result || is_better(job, best, other))
        memcpy(into, &other, sizeof other);
}

static void extreme_run(thrum_scope *scope, void *arg)
{
    const struct reduction *job = arg;
    if (job->pieces.n == 0)
        *(size_t *)job->result = 0;
    reduction_run(scope, arg);
}

static int extreme_check(const struct reduction *job)
{
    int err = thrum__check_array(job->what, job->in, "the input", job->pieces.n, job->in_size);
    if (!err && !job->compare)
        err = thrum__check_pointer(job->what, NULL, "the comparison");
    return err ? err : thrum__check_pointer(job->what, job->result, "the index");
}

static struct reduction extreme_job(const char *what, bool largest, const void *in, size_t n, size_t size,
                                    thrum_compare_fn *compare, void *ctx, size_t *index)
{
    return (struct reduction){.what = what,
                              .pieces = thrum__pieces_of(n, 0),
                              .size = sizeof *index,
                              .result = index,
                              .piece = extreme_piece,
                              .take = extreme_take,
                              .in = in,
                              .in_size = size,
                              .compare = compare,
                              .largest = largest,
                              .ctx = ctx};
}

int thrum_min_element(thrum_executor *ex, const void *in, size_t n, size_t size, thrum_compare_fn *compare, void *ctx,
                      size_t *index)
{
    struct reduction job = extreme_job("thrum_min_element", false, in, n, size, compare, ctx, index);
    return thrum__job_perform(ex, extreme_check(&job), extreme_run, &job);
}

int thrum_max_element(thrum_executor *ex, const void *in, size_t n, size_t size, thrum_compare_fn *compare, void *ctx,
                      size_t *index)
{
    struct reduction job = extreme_job("thrum_max_element", true, in, n, size, compare, ctx, index);
    return thrum__job_perform(ex, extreme_check(&job), extreme_run, &job);
}

thrum_task *thrum_min_element_task_new(thrum_graph *graph, const void *in, size_t n, size_t size,
                                       thrum_compare_fn *compare, void *ctx, size_t *index)
{
    struct reduction job = extreme_job("thrum_min_element_task_new", false, in, n, size, compare, ctx, index);
    return thrum__scope_task_copy(graph, job.what, extreme_check(&job), extreme_run, &job, sizeof job);
}

thrum_task *thrum_max_element_task_new(thrum_graph *graph, const void *in, size_t n, size_t size,
                                       thrum_compare_fn *compare, void *ctx, size_t *index)
{
    struct reduction job = extreme_job("thrum_max_element_task_new", true, in, n, size, compare, ctx, index);
    return thrum__scope_task_copy(graph, job.what, extreme_check(&job), extreme_run, &job, sizeof job);
}
