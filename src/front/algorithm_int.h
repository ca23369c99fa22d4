/* SPDX-License-Identifier: MIT
 *
 * What the files of the algorithms share: how a call is checked and carried out, and how pieces are walked.
 *
 * An algorithm is a *job*: a struct of its arguments, and a scope function that does it. A call checks the arguments,
 * and performs the job in a scope; a task keeps a copy of the struct in its graph. A job is never written to, so a
 * graph can run again, and several pieces can read it at once.
 */
#ifndef THRUM_FRONT_ALGORITHM_INT_H
#define THRUM_FRONT_ALGORITHM_INT_H

#define THRUM_INLINE
#include <thrum/algorithm.h>

#include "base/fault.h"
#include "model/graph.h"

/* ---- Calls and tasks --------------------------------------------------------------------------------------------- */

/* Carries a job out and waits: as part of the calling task, if there is one and it is the executor's, else in a scope
 * on the executor. `err` is what checking the arguments gave. */
int thrum__job_perform(thrum_executor *ex, int err, thrum_scope_fn *fn, const void *job);

/* ---- Checks: 0, or THRUM_EINVAL with a sentence that begins with `what`, the name of the call -------------------- */

int thrum__check_pointer(const char *what, const void *pointer, const char *name);
/* An array of n elements: a size that is not 0, no more bytes than there are addresses, and NULL only if n is 0. */
int thrum__check_array(const char *what, const void *array, const char *name, size_t n, size_t size);
/* Two arrays of so many bytes that must not overlap. */
int thrum__check_apart(const char *what, const void *a, const char *a_name, size_t a_bytes, const void *b,
                       const char *b_name, size_t b_bytes);

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

typedef struct thrum__pieces {
    size_t n, grain;
} thrum__pieces;

/* For a grain of 0: 1024 pieces. */
thrum__pieces thrum__pieces_of(size_t n, size_t grain);

static inline size_t thrum__piece_count(thrum__pieces pieces)
{
    return pieces.n / pieces.grain + (pieces.n % pieces.grain != 0);
}

static inline size_t thrum__piece_begin(thrum__pieces pieces, size_t piece)
{
    return piece * pieces.grain;
}

static inline size_t thrum__piece_end(thrum__pieces pieces, size_t piece)
{
    size_t begin = piece * pieces.grain;
    return pieces.n - begin < pieces.grain ? pieces.n : begin + pieces.grain;
}

/* Calls leaf(scope, walk, piece) for each piece, in a scope to spawn in; and combine(walk, left, right), if there is
 * one, when all pieces from `left` up to `right` and all from `right` up to the end of a subtree are done; `left` and
 * `right` are the first pieces of the two. Walking puts this at the head of a struct of its own. */
typedef struct thrum__walk {
    void (*leaf)(thrum_scope *scope, const struct thrum__walk *walk, size_t piece);
    void (*combine)(const struct thrum__walk *walk, size_t left, size_t right);
} thrum__walk;

/* Returns when all of first <= piece < last are done, or the scope's run was cancelled. */
void thrum__walk_pieces(thrum_scope *scope, const thrum__walk *walk, size_t first, size_t last);

/* Whether the scope's run has failed: what has not begun is to be left out. */
static inline bool thrum__scope_failed(const thrum_scope *scope)
{
    /* Relaxed: a hint that may come late; whoever joins sees it in time. */
    return thrum__is_cancelled(__atomic_load_n(&scope->root->attention, __ATOMIC_RELAXED));
}

/* Memory for partial results: `room` if they fit, else from the heap. NULL: there is none, and the scope has failed
 * with a sentence that begins with `what`. */
typedef struct thrum__partials {
    _Alignas(16) char room[1024];
    char *heap;
} thrum__partials;

char *thrum__partials_take(thrum__partials *partials, thrum_scope *scope, const char *what, size_t count, size_t size);
void thrum__partials_drop(thrum__partials *partials);

#endif
