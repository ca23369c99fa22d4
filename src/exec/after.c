/* SPDX-License-Identifier: MIT
 *
 * Functions that are submitted once others have ended: a callback on each of those lowers a counter, and whoever brings
 * it to zero submits the function. All memory is there before the first callback is attached, so nothing can fail half
 * way.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"

struct after {
    _Atomic size_t missing; /* ends of others, and one for the call that sets it up */
    thrum_handle *handle;
};

/* Release, and acquire by the last: what the others did happens before the function. */
static void lower(void *arg)
{
    struct after *after = arg;
    if (atomic_fetch_sub_explicit(&after->missing, 1, memory_order_acq_rel) != 1)
        return;
    thrum_handle *handle = after->handle;
    thrum__free(after);
    thrum__hand_over_or_queue(handle->ex, handle);
}

static void free_callbacks(callback *first)
{
    while (first) {
        callback *next = first->next;
        thrum__free(first);
        first = next;
    }
}

static callback *new_callbacks(struct after *after, size_t count)
{
    callback *first = NULL;
    for (size_t i = 0; i < count; i++) {
        callback *c = thrum__alloc(sizeof *c);
        if (!c) {
            free_callbacks(first);
            return NULL;
        }
        *c = (callback){first, lower, after};
        first = c;
    }
    return first;
}

static int check_handles(thrum_handle *const *after, size_t count, const char *what)
{
    if (count && !after)
        return thrum__fault(THRUM_EINVAL, "%s: the list of handles is NULL", what);
    for (size_t i = 0; i < count; i++)
        if (!after[i])
            return thrum__fault(THRUM_EINVAL, "%s: handle %zu of %zu is NULL", what, i, count);
    return 0;
}

static void wait_for_all(struct after *after, callback *callbacks, thrum_handle *const *handles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        callback *c = callbacks;
        callbacks = c->next;
        c->next = NULL;
        thrum__attach(handles[i], c);
    }
    lower(after);
}

static thrum_handle *submit_after(thrum_executor *ex, thrum_fn *fn, void *arg, thrum_handle *const *handles,
                                  size_t count, bool quiet)
{
    const char *what = quiet ? "thrum_async_after" : "thrum_submit_after";
    thrum_handle *handle = check_handles(handles, count, what) ? NULL : thrum__function_new(ex, fn, arg, what);
    if (!handle)
        return NULL;
    struct after *after = thrum__alloc(sizeof *after);
    callback *callbacks = after ? new_callbacks(after, count) : NULL;
    if (!after || (count && !callbacks)) {
        thrum__free(after);
        thrum__handle_abandon(handle);
        thrum__fault(THRUM_ENOMEM, "%s: no memory to wait for %zu handles", what, count);
        return NULL;
    }
    after->handle = handle;
    atomic_init(&after->missing, count + 1);
    if (quiet) {
        handle->quiet = true;
        thrum__handle_leave_alone(handle);
    }
    wait_for_all(after, callbacks, handles, count);
    return handle;
}

thrum_handle *thrum_submit_after(thrum_executor *ex, thrum_fn *fn, void *arg, thrum_handle *const *after, size_t count)
{
    return submit_after(ex, fn, arg, after, count, false);
}

int thrum_async_after(thrum_executor *ex, thrum_fn *fn, void *arg, thrum_handle *const *after, size_t count)
{
    return submit_after(ex, fn, arg, after, count, true) ? 0 : thrum__last_code();
}
