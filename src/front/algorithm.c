/* SPDX-License-Identifier: MIT
 *
 * How algorithms are called, checked and cut into pieces.
 */
#include "front/algorithm_int.h"

#include "base/alloc.h"
#include "exec/inside.h"

#include <string.h>

int thrum__job_perform(thrum_executor *ex, int err, thrum_scope_fn *fn, const void *job)
{
    void *arg = (void *)(uintptr_t)job; /* never written to */
    if (err)
        return err;
    if (!thrum__inside(ex))
        return thrum_scope_run(ex, fn, arg);
    thrum_scope scope;
    thrum_scope_open_on(&scope, ex);
    if (!thrum__scope_failed(&scope))
        fn(&scope, arg);
    return thrum_join(&scope);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

int thrum__check_pointer(const char *what, const void *pointer, const char *name)
{
    return pointer ? 0 : thrum__fault(THRUM_EINVAL, "%s: %s is NULL", what, name);
}

int thrum__check_array(const char *what, const void *array, const char *name, size_t n, size_t size)
{
    if (size == 0)
        return thrum__fault(THRUM_EINVAL, "%s: the size of an element of %s is 0", what, name);
    if (n > PTRDIFF_MAX / size)
        return thrum__fault(THRUM_EINVAL, "%s: %s has %zu elements of %zu bytes, more than there are addresses", what,
                            name, n, size);
    if (n && !array)
        return thrum__fault(THRUM_EINVAL, "%s: %s is NULL, but should have %zu elements", what, name, n);
    return 0;
}

int thrum__check_apart(const char *what, const void *a, const char *a_name, size_t a_bytes, const void *b,
                       const char *b_name, size_t b_bytes)
{
    uintptr_t a_begin = (uintptr_t)a, b_begin = (uintptr_t)b;
    if (a_bytes && b_bytes && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes)
        return thrum__fault(THRUM_EINVAL, "%s: %s and %s overlap", what, a_name, b_name);
    return 0;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

enum { PIECES = 1024, DEPTH = 64 };

thrum__pieces thrum__pieces_of(size_t n, size_t grain)
{
    if (!grain)
        grain = n / PIECES + (n % PIECES != 0);
    return (thrum__pieces){n, grain ? grain : 1};
}

struct span {
    const thrum__walk *walk;
    size_t first, last;
};

static void walk_scope(thrum_scope *up, void *arg)
{
    const struct span *span = arg;
    thrum__walk_pieces(up, span->walk, span->first, span->last);
}

/* Spawns the right half, then the right half of the left one, and so on, and does the first piece itself. So thieves
 * take large parts, from the end, and the owner goes through its own in their order. */
void thrum__walk_pieces(thrum_scope *up, const thrum__walk *walk, size_t first, size_t last)
{
    struct span right[DEPTH];
    size_t spawned = 0;
    thrum_scope scope;
    if (first == last)
        return;
    thrum_scope_open(&scope, up);
    while (last - first > 1) {
        size_t middle = first + (last - first) / 2;
        right[spawned] = (struct span){walk, middle, last};
        thrum_spawn(&scope, walk_scope, &right[spawned]);
        spawned++;
        last = middle;
    }
    if (!thrum__scope_failed(&scope))
        walk->leaf(&scope, walk, first);
    thrum_join(&scope);
    while (walk->combine && spawned-- > 0 && !thrum__scope_failed(up))
        walk->combine(walk, first, right[spawned].first);
}

/* ---- Partial results --------------------------------------------------------------------------------------------- */

char *thrum__partials_take(thrum__partials *partials, thrum_scope *scope, const char *what, size_t count, size_t size)
{
    partials->heap = NULL;
    if (count <= sizeof partials->room / size)
        return partials->room;
    partials->heap = count <= PTRDIFF_MAX / size ? thrum__alloc(count * size) : NULL;
    if (!partials->heap) {
        thrum__fault(THRUM_ENOMEM, "%s: no memory for the results of %zu pieces of %zu bytes each", what, count, size);
        thrum__root_fail(scope->root, THRUM_ENOMEM, thrum__last_fault());
    }
    return partials->heap;
}

void thrum__partials_drop(thrum__partials *partials)
{
    thrum__free(partials->heap);
}
