/* SPDX-License-Identifier: MIT
 *
 * Algorithms whose pieces have nothing to do with each other: for-each, transform, fill; and find-if, whose pieces only
 * tell each other how far they need not look.
 */
#include "front/algorithm_int.h"

#include <stdatomic.h>
#include <string.h>

/* ---- for-each ---------------------------------------------------------------------------------------------------- */

struct each {
    thrum__walk walk;
    thrum__pieces pieces;
    thrum_each_fn *body;
    void *ctx;
};

static void each_leaf(thrum_scope *scope, const thrum__walk *walk, size_t piece)
{
    (void)scope;
    const struct each *job = (const struct each *)walk;
    job->body(thrum__piece_begin(job->pieces, piece), thrum__piece_end(job->pieces, piece), job->ctx);
}

static void each_run(thrum_scope *scope, void *arg)
{
    const struct each *job = arg;
    thrum__walk_pieces(scope, &job->walk, 0, thrum__piece_count(job->pieces));
}

static int each_job(struct each *job, const char *what, size_t n, size_t grain, thrum_each_fn *body, void *ctx)
{
    *job = (struct each){{each_leaf, NULL}, thrum__pieces_of(n, grain), body, ctx};
    return body ? 0 : thrum__check_pointer(what, NULL, "the body");
}

int thrum_for_each(thrum_executor *ex, size_t n, size_t grain, thrum_each_fn *body, void *ctx)
{
    struct each job;
    int err = each_job(&job, "thrum_for_each", n, grain, body, ctx);
    return thrum__job_perform(ex, err, each_run, &job);
}

thrum_task *thrum_for_each_task_new(thrum_graph *graph, size_t n, size_t grain, thrum_each_fn *body, void *ctx)
{
    struct each job;
    int err = each_job(&job, "thrum_for_each_task_new", n, grain, body, ctx);
    return thrum__scope_task_copy(graph, "thrum_for_each_task_new", err, each_run, &job, sizeof job);
}

/* ---- transform --------------------------------------------------------------------------------------------------- */

struct transform {
    thrum__walk walk;
    thrum__pieces pieces;
    const char *in;
    char *out;
    size_t in_size, out_size;
    thrum_transform_fn *op;
    void *ctx;
};

static void transform_leaf(thrum_scope *scope, const thrum__walk *walk, size_t piece)
{
    (void)scope;
    const struct transform *job = (const struct transform *)walk;
    size_t begin = thrum__piece_begin(job->pieces, piece), end = thrum__piece_end(job->pieces, piece);
    job->op(job->in + begin * job->in_size, job->out + begin * job->out_size, end - begin, job->ctx);
}

static void transform_run(thrum_scope *scope, void *arg)
{
    const struct transform *job = arg;
    thrum__walk_pieces(scope, &job->walk, 0, thrum__piece_count(job->pieces));
}

static int transform_check(const struct transform *job, const char *what)
{
    size_t n = job->pieces.n;
    int err = thrum__check_array(what, job->in, "the input", n, job->in_size);
    if (!err)
        err = thrum__check_array(what, job->out, "the output", n, job->out_size);
    if (!err && !job->op)
        err = thrum__check_pointer(what, NULL, "the operator");
    bool same = job->in == job->out && job->in_size == job->out_size;
    if (!err && !same)
        err =
            thrum__check_apart(what, job->in, "the input", n * job->in_size, job->out, "the output", n * job->out_size);
    return err;
}

int thrum_transform(thrum_executor *ex, const void *in, size_t in_size, void *out, size_t out_size, size_t n,
                    size_t grain, thrum_transform_fn *op, void *ctx)
{
    struct transform job = {{transform_leaf, NULL}, thrum__pieces_of(n, grain), in, out, in_size, out_size, op, ctx};
    return thrum__job_perform(ex, transform_check(&job, "thrum_transform"), transform_run, &job);
}

thrum_task *thrum_transform_task_new(thrum_graph *graph, const void *in, size_t in_size, void *out, size_t out_size,
                                     size_t n, size_t grain, thrum_transform_fn *op, void *ctx)
{
    const char *what = "thrum_transform_task_new";
    struct transform job = {{transform_leaf, NULL}, thrum__pieces_of(n, grain), in, out, in_size, out_size, op, ctx};
    return thrum__scope_task_copy(graph, what, transform_check(&job, what), transform_run, &job, sizeof job);
}

/* ---- fill -------------------------------------------------------------------------------------------------------- */

enum { FILL_BYTES = 1 << 18, FILL_PATTERN = 1 << 12 };

struct fill {
    thrum__walk walk;
    thrum__pieces pieces;
    char *out;
    size_t size;
    const void *value;
};

/* Copies what is there behind itself until there is a pattern of some size, then copies the pattern. */
static void fill_leaf(thrum_scope *scope, const thrum__walk *walk, size_t piece)
{
    (void)scope;
    const struct fill *job = (const struct fill *)walk;
    size_t begin = thrum__piece_begin(job->pieces, piece), end = thrum__piece_end(job->pieces, piece);
    char *out = job->out + begin * job->size;
    size_t bytes = (end - begin) * job->size, filled = job->size;
    if (job->size == 1) {
        memset(out, *(const unsigned char *)job->value, bytes);
        return;
    }
    memcpy(out, job->value, job->size);
    while (filled < bytes && filled < FILL_PATTERN) {
        size_t more = filled < bytes - filled ? filled : bytes - filled;
        memcpy(out + filled, out, more);
        filled += more;
    }
    for (size_t pattern = filled; filled < bytes; filled += pattern)
        memcpy(out + filled, out, pattern < bytes - filled ? pattern : bytes - filled);
}

static void fill_run(thrum_scope *scope, void *arg)
{
    const struct fill *job = arg;
    thrum__walk_pieces(scope, &job->walk, 0, thrum__piece_count(job->pieces));
}

static int fill_job(struct fill *job, const char *what, void *out, size_t n, size_t size, const void *value)
{
    int err = thrum__check_array(what, out, "the output", n, size);
    if (!err)
        err = thrum__check_pointer(what, value, "the value");
    if (!err)
        err = thrum__check_apart(what, out, "the output", n * size, value, "the value", size);
    size_t grain = size && size < FILL_BYTES ? FILL_BYTES / size : 1;
    *job = (struct fill){{fill_leaf, NULL}, thrum__pieces_of(n, grain), out, size, value};
    return err;
}

int thrum_fill(thrum_executor *ex, void *out, size_t n, size_t size, const void *value)
{
    struct fill job;
    int err = fill_job(&job, "thrum_fill", out, n, size, value);
    return thrum__job_perform(ex, err, fill_run, &job);
}

thrum_task *thrum_fill_task_new(thrum_graph *graph, void *out, size_t n, size_t size, const void *value)
{
    struct fill job;
    int err = fill_job(&job, "thrum_fill_task_new", out, n, size, value);
    return thrum__scope_task_copy(graph, "thrum_fill_task_new", err, fill_run, &job, sizeof job);
}

/* ---- find-if ----------------------------------------------------------------------------------------------------- */

struct find {
    thrum__pieces pieces;
    thrum_find_fn *find;
    void *ctx;
    size_t *index;
};

struct find_walk {
    thrum__walk walk;
    const struct find *job;
    _Atomic size_t *nearest; /* the lowest index found so far: nobody need look behind it */
};

/* Relaxed: `nearest` only ever falls, and a late look costs time and not the result; the join orders the last one. */
static void find_leaf(thrum_scope *scope, const thrum__walk *walk, size_t piece)
{
    (void)scope;
    const struct find_walk *w = (const struct find_walk *)walk;
    const struct find *job = w->job;
    size_t begin = thrum__piece_begin(job->pieces, piece), end = thrum__piece_end(job->pieces, piece);
    size_t nearest = atomic_load_explicit(w->nearest, memory_order_relaxed);
    if (begin >= nearest)
        return;
    size_t found = job->find(begin, end, job->ctx);
    while (found < end && found < nearest &&
           !atomic_compare_exchange_weak_explicit(w->nearest, &nearest, found, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static void find_run(thrum_scope *scope, void *arg)
{
    const struct find *job = arg;
    _Atomic size_t nearest = job->pieces.n;
    struct find_walk walk = {{find_leaf, NULL}, job, &nearest};
    thrum__walk_pieces(scope, &walk.walk, 0, thrum__piece_count(job->pieces));
    if (!thrum__scope_failed(scope))
        *job->index = atomic_load_explicit(&nearest, memory_order_relaxed);
}

static int find_job(struct find *job, const char *what, size_t n, size_t grain, thrum_find_fn *find, void *ctx,
                    size_t *index)
{
    *job = (struct find){thrum__pieces_of(n, grain), find, ctx, index};
    return find ? thrum__check_pointer(what, index, "the index") : thrum__check_pointer(what, NULL, "the operator");
}

int thrum_find_if(thrum_executor *ex, size_t n, size_t grain, thrum_find_fn *find, void *ctx, size_t *index)
{
    struct find job;
    int err = find_job(&job, "thrum_find_if", n, grain, find, ctx, index);
    return thrum__job_perform(ex, err, find_run, &job);
}

thrum_task *thrum_find_if_task_new(thrum_graph *graph, size_t n, size_t grain, thrum_find_fn *find, void *ctx,
                                   size_t *index)
{
    struct find job;
    int err = find_job(&job, "thrum_find_if_task_new", n, grain, find, ctx, index);
    return thrum__scope_task_copy(graph, "thrum_find_if_task_new", err, find_run, &job, sizeof job);
}
