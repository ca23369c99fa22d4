/* SPDX-License-Identifier: MIT
 *
 * Scans. Where a piece begins is known when all pieces before it have been summed up, so a piece is gone over twice:
 * once to sum it up and once to write it. Doing the first for the whole array before the second would fetch it from
 * memory twice. So the array is gone through in *blocks* of a few pieces, which stay in the caches between the two:
 *
 *   1. one after the other, what comes before each piece of the block is added up;
 *   2. all at the same time, each piece of the block is written, and its counterpart in the next block summed up.
 *
 * All of it depends on n, grain and the size of an element only, so results are the same whoever works.
 */
#include "front/algorithm_int.h"

#include "sys/park.h"

#include <string.h>

enum { PIECE_BYTES = 1 << 15, BLOCK_PIECES = 64 };
enum { STRIP_BYTES = 1 << 10, AHEAD_BYTES = 1 << 13, LINE_BYTES = 64 };

struct scan {
    const char *what;
    thrum__pieces pieces;
    const char *in;
    char *out;
    size_t size;
    size_t
        strip; /* elements that an operator is handed at once: a piece, or less if nobody asked for pieces of a size */
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

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

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

/* What is left of a piece that is gone through in strips. */
struct strips {
    size_t begin, end;
};

static struct strips strips_of(const struct scan *job, size_t piece, bool exists)
{
    if (!exists)
        return (struct strips){0, 0};
    return (struct strips){thrum__piece_begin(job->pieces, piece), thrum__piece_end(job->pieces, piece)};
}

static inline struct strips next_strip(const struct scan *job, struct strips *left)
{
    struct strips strip = *left;
    if (strip.end - strip.begin > job->strip)
        strip.end = strip.begin + job->strip;
    left->begin = strip.end;
    return strip;
}

static void write_strip(const struct scan_walk *w, size_t position, struct strips strip)
{
    const struct scan *job = w->job;
    const char *in = job->in + strip.begin * job->size;
    char *out = job->out + strip.begin * job->size;
    for (size_t line = 0; line < STRIP_BYTES; line += LINE_BYTES)
        thrum__fetch_to_write((const char *)((uintptr_t)out + AHEAD_BYTES + line));
    if (job->scan)
        job->scan(slot(w, w->carries, position), in, out, strip.end - strip.begin, job->ctx);
    else
        write_by_element(job, slot(w, w->carries, position), slot(w, w->spare, position), strip.begin, strip.end);
}

static void sum_strip(const struct scan_walk *w, size_t position, struct strips strip)
{
    const struct scan *job = w->job;
    const char *in = job->in + strip.begin * job->size;
    for (size_t line = 0; line < STRIP_BYTES; line += LINE_BYTES)
        __builtin_prefetch((const char *)((uintptr_t)in + AHEAD_BYTES + line));
    job->fold(slot(w, w->sums, position), in, strip.end - strip.begin, job->ctx);
}

/* Writing waits for one addition after the other, summing up waits for the memory: so they take turns, strip by strip,
 * and while one waits, what the other needs next is on its way. */
static void block_leaf(thrum_scope *scope, const thrum__walk *walk, size_t position)
{
    const struct scan_walk *w = (const struct scan_walk *)walk;
    const struct scan *job = w->job;
    struct strips write = strips_of(job, w->first + position, position < w->count);
    struct strips sum = strips_of(job, w->first + w->count + position, position < w->next_count);
    (void)scope;
    if (sum.begin < sum.end) {
        memcpy(slot(w, w->sums, position), job->in + sum.begin * job->size, job->size);
        sum.begin++;
    }
    while (write.begin < write.end || sum.begin < sum.end) {
        if (write.begin < write.end)
            write_strip(w, position, next_strip(job, &write));
        if (sum.begin < sum.end)
            sum_strip(w, position, next_strip(job, &sum));
    }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

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

/* ---- Calls and tasks --------------------------------------------------------------------------------------------- */

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
    size_t strip = grain;
    if (!grain) {
        grain = size && size < PIECE_BYTES ? PIECE_BYTES / size : 1;
        strip = size && size < STRIP_BYTES ? STRIP_BYTES / size : 1;
    }
    return (struct scan){.what = what,
                         .pieces = thrum__pieces_of(n, grain),
                         .in = in,
                         .out = out,
                         .size = size,
                         .strip = strip,
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
