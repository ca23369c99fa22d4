/* SPDX-License-Identifier: MIT
 *
 * Algorithms over arrays: for-each, transform, fill, find, minimum and maximum, reduce, scan, merge, sort.
 *
 * Each exists twice. `thrum_sort(ex, ...)` does it on an executor (NULL: the default one) and waits; called in a task
 * of that executor, or in any task with NULL, it takes part in the calling task: its errors are the task's run's, and
 * if that run has failed already, nothing more is done. `thrum_sort_task_new(graph, ...)` adds one task to a graph,
 * which does it each time it runs; the arguments are copied, and what they point to must live as long as the graph may
 * run. A result that is also what to begin with (reduce, scan) goes on from run to run, unless a task before it sets
 * it.
 *
 * **Pieces.** An array is cut into pieces, and operators are handed whole pieces, never one element, since a loop over
 * a piece is what a compiler makes fast. Calls that are given an array hand out a place in it and a count; calls that
 * are given only `n` hand out indices, lo <= i < hi. Pieces are never empty. `grain` is how many elements a piece has
 * (the last one may have fewer); 0: as many as make 1024 pieces, and one at least. That suits bodies of any cost:
 * splitting takes some 20 microseconds altogether. An operator may be called in several threads at once, and may use
 * tasks itself. With a grain of 0, `thrum_reduce` hands out the pieces of an array of more than 32 MiB in blocks of a
 * kilobyte, and has memory bring later blocks meanwhile.
 *
 * **The same result each time.** Pieces and the tree in which partial results are combined depend on n, grain and the
 * size of an element, and on nothing else: not on the number of workers and not on who was faster. So sums of
 * floating-point numbers are the same, to the bit, from run to run and machine to machine.
 *
 * **Errors.** 0 or the first error. NULL where something is needed, an element size of 0, more elements than addresses
 * or arrays that overlap where they must not is THRUM_EINVAL, and nothing is touched; a task of a graph with such
 * arguments is an error of building, which the graph keeps. An operator fails with `thrum_fail`: pieces that have not
 * begun are left out then, the call returns the code, results (`result`, `total`, `index`) stay as they were, and what
 * output arrays hold is unspecified. Arrays of no elements may be NULL. Reduce and scan may fail with THRUM_ENOMEM.
 *
 * Operators may be handed copies of elements, which are aligned for any type that malloc is good for.
 */
#ifndef THRUM_ALGORITHM_H
#define THRUM_ALGORITHM_H

#include <thrum/graph.h>

THRUM_BEGIN_C

/* ---- Operators --------------------------------------------------------------------------------------------------- */

/* Does something for each i, lo <= i < hi. */
typedef void thrum_each_fn(size_t lo, size_t hi, void *ctx);

/* Writes out[i] made from in[i], for `count` elements. */
typedef void thrum_transform_fn(const void *in, void *out, size_t count, void *ctx);

/* *into = *into op elements[0] op ... op elements[count - 1]. The operator is associative; it need not be commutative:
 * elements come in their order. */
typedef void thrum_fold_fn(void *into, const void *elements, size_t count, void *ctx);

/* Writes to *into what the indices lo <= i < hi amount to; *into held nothing before. */
typedef void thrum_map_fn(size_t lo, size_t hi, void *into, void *ctx);

/* *into = *into op *from. */
typedef void thrum_combine_fn(void *into, const void *from, void *ctx);

/* Goes on with a scan over `count` elements, `carry` being what all elements before them amount to, and the same for
 * the next ones afterwards. Inclusive: out[i] = carry op in[0] op ... op in[i]; exclusive: without in[i]. `in` and
 * `out` may be the same. */
typedef void thrum_scan_fn(void *carry, const void *in, void *out, size_t count, void *ctx);

/* The first i in lo <= i < hi that is looked for; hi if there is none. */
typedef size_t thrum_find_fn(size_t lo, size_t hi, void *ctx);

/* Negative: *a comes before *b; positive: after; 0: neither. As for qsort, with a context. */
typedef int thrum_compare_fn(const void *a, const void *b, void *ctx);

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Calls body for 0 <= i < n, piece by piece. */
THRUM_API int thrum_for_each(thrum_executor *ex, size_t n, size_t grain, thrum_each_fn *body, void *ctx);

/* out[i] from in[i]. `out` may be `in` if the sizes are equal; otherwise they must not overlap. */
THRUM_API int thrum_transform(thrum_executor *ex, const void *in, size_t in_size, void *out, size_t out_size, size_t n,
                              size_t grain, thrum_transform_fn *op, void *ctx);

/* Copies *value to each element. */
THRUM_API int thrum_fill(thrum_executor *ex, void *out, size_t n, size_t size, const void *value);

/* *index = the lowest index that is looked for; n if there is none. Once one is found, pieces after it are not
 * begun. */
THRUM_API int thrum_find_if(thrum_executor *ex, size_t n, size_t grain, thrum_find_fn *find, void *ctx, size_t *index);

/* *index = the first of the smallest (of the largest) elements; 0 if n is 0. */
THRUM_API int thrum_min_element(thrum_executor *ex, const void *in, size_t n, size_t size, thrum_compare_fn *compare,
                                void *ctx, size_t *index);
THRUM_API int thrum_max_element(thrum_executor *ex, const void *in, size_t n, size_t size, thrum_compare_fn *compare,
                                void *ctx, size_t *index);

/* *result = *result op in[0] op ... op in[n - 1]: what `result` holds before is the value to begin with. */
THRUM_API int thrum_reduce(thrum_executor *ex, const void *in, size_t n, size_t size, size_t grain, void *result,
                           thrum_fold_fn *fold, void *ctx);

/* The same of values that are made on the way: `map` makes the value of a piece, `combine` adds one piece's to that of
 * those before it. A value has `size` bytes. */
THRUM_API int thrum_transform_reduce(thrum_executor *ex, size_t n, size_t grain, void *result, size_t size,
                                     thrum_map_fn *map, thrum_combine_fn *combine, void *ctx);

/* out[i] = *total op in[0] op ... op in[i], or without in[i]; afterwards *total is what everything amounts to. `fold`
 * tells what a piece amounts to, `scan` writes it; where `scan` is NULL, `fold` is called for each element instead,
 * which is slower. `out` may be `in`; otherwise they must not overlap. A grain of 0 here means pieces that stay in a
 * core's cache; operators are then handed a kilobyte of them at a time, in turns, and memory brings what comes next
 * meanwhile. */
THRUM_API int thrum_inclusive_scan(thrum_executor *ex, const void *in, void *out, size_t n, size_t size, size_t grain,
                                   void *total, thrum_fold_fn *fold, thrum_scan_fn *scan, void *ctx);
THRUM_API int thrum_exclusive_scan(thrum_executor *ex, const void *in, void *out, size_t n, size_t size, size_t grain,
                                   void *total, thrum_fold_fn *fold, thrum_scan_fn *scan, void *ctx);

/* Merges two sorted arrays into `out`, which overlaps neither. Of elements that compare equal, those of `a` come first,
 * and each array's in their order. */
THRUM_API int thrum_merge(thrum_executor *ex, const void *a, size_t a_count, const void *b, size_t b_count, void *out,
                          size_t size, thrum_compare_fn *compare, void *ctx);

/* Sorts. Stable: elements that compare equal keep their order. Takes scratch memory as large as the array; where there
 * is none, sorts in place, which is slower. */
THRUM_API int thrum_sort(thrum_executor *ex, void *base, size_t n, size_t size, thrum_compare_fn *compare, void *ctx);

/* The same for numbers, in ascending order and several times faster. Doubles: -0.0 before 0.0, and NaNs after all
 * numbers, those without a sign first. */
THRUM_API int thrum_sort_int32(thrum_executor *ex, int32_t *base, size_t n);
THRUM_API int thrum_sort_int64(thrum_executor *ex, int64_t *base, size_t n);
THRUM_API int thrum_sort_double(thrum_executor *ex, double *base, size_t n);

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* The same as tasks of a graph. NULL on failure, and the graph keeps the error. */
THRUM_API thrum_task *thrum_for_each_task_new(thrum_graph *graph, size_t n, size_t grain, thrum_each_fn *body,
                                              void *ctx);
THRUM_API thrum_task *thrum_transform_task_new(thrum_graph *graph, const void *in, size_t in_size, void *out,
                                               size_t out_size, size_t n, size_t grain, thrum_transform_fn *op,
                                               void *ctx);
/* `value` is read when the task runs. */
THRUM_API thrum_task *thrum_fill_task_new(thrum_graph *graph, void *out, size_t n, size_t size, const void *value);
THRUM_API thrum_task *thrum_find_if_task_new(thrum_graph *graph, size_t n, size_t grain, thrum_find_fn *find, void *ctx,
                                             size_t *index);
THRUM_API thrum_task *thrum_min_element_task_new(thrum_graph *graph, const void *in, size_t n, size_t size,
                                                 thrum_compare_fn *compare, void *ctx, size_t *index);
THRUM_API thrum_task *thrum_max_element_task_new(thrum_graph *graph, const void *in, size_t n, size_t size,
                                                 thrum_compare_fn *compare, void *ctx, size_t *index);
THRUM_API thrum_task *thrum_reduce_task_new(thrum_graph *graph, const void *in, size_t n, size_t size, size_t grain,
                                            void *result, thrum_fold_fn *fold, void *ctx);
THRUM_API thrum_task *thrum_transform_reduce_task_new(thrum_graph *graph, size_t n, size_t grain, void *result,
                                                      size_t size, thrum_map_fn *map, thrum_combine_fn *combine,
                                                      void *ctx);
THRUM_API thrum_task *thrum_inclusive_scan_task_new(thrum_graph *graph, const void *in, void *out, size_t n,
                                                    size_t size, size_t grain, void *total, thrum_fold_fn *fold,
                                                    thrum_scan_fn *scan, void *ctx);
THRUM_API thrum_task *thrum_exclusive_scan_task_new(thrum_graph *graph, const void *in, void *out, size_t n,
                                                    size_t size, size_t grain, void *total, thrum_fold_fn *fold,
                                                    thrum_scan_fn *scan, void *ctx);
THRUM_API thrum_task *thrum_merge_task_new(thrum_graph *graph, const void *a, size_t a_count, const void *b,
                                           size_t b_count, void *out, size_t size, thrum_compare_fn *compare,
                                           void *ctx);
THRUM_API thrum_task *thrum_sort_task_new(thrum_graph *graph, void *base, size_t n, size_t size,
                                          thrum_compare_fn *compare, void *ctx);
THRUM_API thrum_task *thrum_sort_int32_task_new(thrum_graph *graph, int32_t *base, size_t n);
THRUM_API thrum_task *thrum_sort_int64_task_new(thrum_graph *graph, int64_t *base, size_t n);
THRUM_API thrum_task *thrum_sort_double_task_new(thrum_graph *graph, double *base, size_t n);

THRUM_END_C

#endif
