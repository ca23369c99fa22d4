/* SPDX-License-Identifier: MIT
 *
 * Scans. Where a piece begins is known when all pieces before it have been summed up, so a piece is gone over twice: once
 * to sum it up and once to write it. Doing the first for the whole array before the second would fetch it from memory
 * twice. So the array is gone through in *blocks* of a few pieces, which stay in the caches between the two:
 *
 *   1. one after the other, what comes before each piece of the block is added up;
 *   2. all at the same time, each piece of the block is written, and its counterpart in the next block summed up.
 *
 * All of it depends on n, grain and the size of an element only, so results are the same whoever works.
 */
#include "front/algorithm_int.h"

#include <string.h>

enum { PIECE_BYTES = 1 << 15, BLOCK_PIECES = 64 };

struct scan {
    const char *what;
    thrum__pieces pieces;
    const char *in;
    char *out;
    size_t size;
    void *total;
    thrum_fold_fn *fold;
    thrum_scan_fn *scan;
    bool inclusive;
    void *ctx;
};

/* The pieces of a block are counted from its first one: their *position*. */
struct scan_walk {
    thrum__walk walk;
    const struct scan *job;
    size_t first, count; /* the block that is written */
    size_t next_count;   /* pieces of the block behind it, which is summed up */
    char *sums;          /* what each piece of the block that comes next amounts to */
    char *carries;       /* what comes before each piece; the one behind the last is for the next block's first */
    char *spare;         /* one element for each piece */
};

static char *slot(const struct scan_walk *w, char *slots, size_t position)
{
    return slots + position * w->job->size;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------- */

/* For those who have no operator for a range. */
static void write_by_element(const struct scan *job, char *carry, char *spare, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const char *in = job->in + i * job->size;
        memcpy(spare, carry, job->size);
        job->fold(carry, in, 1, job->ctx);
        memcpy(job->out + i * job->size, job->inclusive ? carry : spare, job->size);
    }
}

static void write_piece(const struct scan_walk *w, size_t position)
{
    const struct scan *job = w->job;
    size_t begin = thrum__piece_begin(job->pieces, w->first + position);
    size_t end = thrum__piece_end(job->pieces, w->first + position);
    char *carry = slot(w, w->carries, position);
    if (job->scan)
        job->scan(carry, job->in + begin * job->size, job->out + begin * job->size, end - begin, job->ctx);
    else
        write_by_element(job, carry, slot(w, w->spare, position), begin, end);
}

static void sum_piece(const struct scan_walk *w, size_t position)
{
    const struct scan *job = w->job;
    size_t piece = w->first + w->count + position;
    size_t begin = thrum__piece_begin(job->pieces, piece), end = thrum__piece_end(job->pieces, piece);
    const char *first = job->in + begin * job->size;
    memcpy(slot(w, w->sums, position), first, job->size);
    if (end - begin > 1)
        job->fold(slot(w, w->sums, position), first + job->size, end - begin - 1, job->ctx);
}

static void block_leaf(thrum_scope *scope, const thrum__walk *walk, size_t position)
{
    const struct scan_walk *w = (const struct scan_walk *)walk;
    (void)scope;
    if (position < w->count)
        write_piece(w, position);
    if (position < w->next_count)
        sum_piece(w, position);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------- */

/* The block that was summed up becomes the one to be written. */
static void next_block(struct scan_walk *w)
{
    const struct scan *job = w->job;
    size_t pieces = thrum__piece_count(job->pieces);
    w->first += w->count;
    w->count = w->next_count;
    size_t left = pieces - w->first - w->count;
    w->next_count = left < BLOCK_PIECES ? left : BLOCK_PIECES;
    for (size_t i = 0; i < w->count; i++) {
        memcpy(slot(w, w->carries, i + 1), slot(w, w->carries, i), job->size);
        job->fold(slot(w, w->carries, i + 1), slot(w, w->sums, i), 1, job->ctx);
    }
}

/* The first block to be written is an empty one before all others. */
static void scan_blocks(thrum_scope *scope, struct scan_walk *w)
{
    for (next_block(w); w->count || w->next_count; next_block(w)) {
        thrum__walk_pieces(scope, &w->walk, 0, w->count > w->next_count ? w->count : w->next_count);
        if (thrum__scope_failed(scope))
            return;
        memcpy(w->carries, slot(w, w->carries, w->count), w->job->size);
    }
    memcpy(w->job->total, w->carries, w->job->size);
}

static void scan_run(thrum_scope *scope, void *arg)
{
    const struct scan *job = arg;
    thrum__partials memory;
    char *slots = thrum__partials_take(&memory, scope, job->what, 3 * BLOCK_PIECES + 1, job->size);
    if (!slots)
        return;
    struct scan_walk w = {.walk = {block_leaf, NULL}, .job = job, .carries = slots};
    w.sums = slot(&w, slots, BLOCK_PIECES + 1);
    w.spare = slot(&w, w.sums, BLOCK_PIECES);
    memcpy(w.carries, job->total, job->size);
    scan_blocks(scope, &w);
    thrum__partials_drop(&memory);
}

/* ---- Calls and tasks ---------------------------------------------------------------------------------------------- */

static int scan_check(const struct scan *job)
{
    size_t n = job->pieces.n;
    int err = thrum__check_array(job->what, job->in, "the input", n, job->size);
    if (!err)
        err = thrum__check_array(job->what, job->out, "the output", n, job->size);
    if (!err)
        err = thrum__check_pointer(job->what, job->total, "the total");
    if (!err && !job->fold)
        err = thrum__check_pointer(job->what, NULL, "the operator");
    if (!err && job->in != job->out)
        err = thrum__check_apart(job->what, job->in, "the input", n * job->size, job->out, "the output", n * job->size);
    return err;
}

static struct scan scan_job(const char *what, bool inclusive, const void *in, void *out, size_t n, size_t size,
                            size_t grain, void *total, thrum_fold_fn *fold, thrum_scan_fn *scan, void *ctx)
{
    if (!grain)
        grain = size && size < PIECE_BYTES ? PIECE_BYTES / size : 1;
    return (struct scan){.what = what,
                         .pieces = thrum__pieces_of(n, grain),
                         .in = in,
                         .out = out,
                         .size = size,
                         .total = total,
                         .fold = fold,
                         .scan = scan,
                         .inclusive = inclusive,
                         .ctx = ctx};
}

int thrum_inclusive_scan(thrum_executor *ex, const void *in, void *out, size_t n, size_t size, size_t grain,
                         void *total, thrum_fold_fn *fold, thrum_scan_fn *scan, void *ctx)
{
    struct scan job = scan_job("thrum_inclusive_scan", true, in, out, n, size, grain, total, fold, scan, ctx);
    return thrum__job_perform(ex, scan_check(&job), scan_run, &job);
}

int thrum_exclusive_scan(thrum_executor *ex, const void *in, void *out, size_t n, size_t size, size_t grain,
                         void *total, thrum_fold_fn *fold, thrum_scan_fn *scan, void *ctx)
{
    struct scan job = scan_job("thrum_exclusive_scan", false, in, out, n, size, grain, total, fold, scan, ctx);
    return thrum__job_perform(ex, scan_check(&job), scan_run, &job);
}

thrum_task *thrum_inclusive_scan_task_new(thrum_graph *graph, const void *in, void *out, size_t n, size_t size,
                                          size_t grain, void *total, thrum_fold_fn *fold, thrum_scan_fn *scan,
                                          void *ctx)
{
    const char *what = "thrum_inclusive_scan_task_new";
    struct scan job = scan_job(what, true, in, out, n, size, grain, total, fold, scan, ctx);
    return thrum__scope_task_copy(graph, what, scan_check(&job), scan_run, &job, sizeof job);
}

thrum_task *thrum_exclusive_scan_task_new(thrum_graph *graph, const void *in, void *out, size_t n, size_t size,
                                          size_t grain, void *total, thrum_fold_fn *fold, thrum_scan_fn *scan,
                                          void *ctx)
{
    const char *what = "thrum_exclusive_scan_task_new";
    struct scan job = scan_job(what, false, in, out, n, size, grain, total, fold, scan, ctx);
    return thrum__scope_task_copy(graph, what, scan_check(&job), scan_run, &job, sizeof job);
}
