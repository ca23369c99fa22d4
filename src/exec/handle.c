/* SPDX-License-Identifier: MIT
 *
 * Handles: submitted functions, waiting, callbacks, and how something ends.
 *
 * Who may touch a handle: it has holders (the user until release, the executor until it has ended), and the last one to
 * drop it frees it. `pending` counts what must end before it has ended; whoever lowers it to zero ends it.
 *
 * The end, in this order: the graph's queue moves on (so that a waiter may free the graph), callbacks are called, `done`
 * is set, waiters are woken, the executor is told, and the next run of the graph begins. Setting `done` is a release; reading it in thrum_wait and thrum_done
 * is an acquire: what the tasks wrote is there for whoever waited.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <limits.h>
#include <sched.h>

/* ---- Making and dropping ------------------------------------------------------------------------------------------ */

static void handle_init(thrum_handle *handle, thrum_executor *ex, enum handle_work work)
{
    handle->object.kind = THRUM__KIND_HANDLE;
    handle->object.root.run = handle;
    handle->object.root.attention = ex->watched ? THRUM__WATCHED : 0;
    handle->root = &handle->object.root;
    handle->ex = ex;
    handle->work = work;
    handle->last_callback = &handle->callbacks;
    atomic_store_explicit(&handle->holders, 2, memory_order_relaxed);
    atomic_store_explicit(&handle->pending, 1, memory_order_relaxed);
}

thrum_handle *thrum__handle_new(thrum_executor *ex, enum handle_work work)
{
    thrum_handle *handle = thrum__zalloc(sizeof *handle);
    if (!handle) {
        thrum__fault(THRUM_ENOMEM, "no memory for a handle");
        return NULL;
    }
    handle_init(handle, ex, work);
    thrum__outstanding_raise(ex);
    return handle;
}

/* Relaxed stores: whoever else comes to see the handle does so through the graph's word or the run's strands. */
static void borrowed_reset(thrum_handle *handle)
{
    atomic_store_explicit(&handle->done, GOING, memory_order_relaxed);
    atomic_store_explicit(&handle->ender, NULL, memory_order_relaxed);
    atomic_store_explicit(&handle->awaited_from, NULL, memory_order_relaxed);
    thrum__free(handle->object.root.message);
    handle->object.root.message = NULL;
    handle->object.root.code = 0;
}

thrum_handle *thrum__handle_borrow(worker *w)
{
    thrum_handle *handle = w->kept_handle;
    w->kept_handle = NULL;
    if (!handle && !(handle = thrum__zalloc(sizeof *handle))) {
        thrum__fault(THRUM_ENOMEM, "no memory for a handle");
        return NULL;
    }
    borrowed_reset(handle);
    handle_init(handle, w->ex, WORK_GRAPH);
    handle->borrowed = true;
    return handle;
}

static void handle_free(thrum_handle *handle)
{
    if (!handle)
        return;
    thrum__free(handle->object.root.message);
    handle->object.kind = 0;
    thrum__free(handle);
}

void thrum__handle_return(worker *w, thrum_handle *handle)
{
    if (!w->kept_handle)
        w->kept_handle = handle;
    else
        handle_free(handle);
}

/* Release and acquire: whatever each holder did with it happens before it is freed. */
void thrum__handle_drop(thrum_handle *handle)
{
    if (handle && atomic_fetch_sub_explicit(&handle->holders, 1, memory_order_acq_rel) == 1)
        handle_free(handle);
}

void thrum__handle_abandon(thrum_handle *handle)
{
    thrum_executor *ex = handle->ex;
    handle_free(handle);
    thrum__outstanding_lower(ex);
}

void thrum_release(thrum_handle *handle)
{
    thrum__handle_drop(handle);
}

bool thrum__is_done(const thrum_handle *handle)
{
    return atomic_load_explicit(&handle->done, memory_order_acquire) == DONE;
}

bool thrum_done(const thrum_handle *handle)
{
    return handle && thrum__is_done(handle);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------- */

/* Calls the callbacks, also those that are attached meanwhile, and sets `done` when there are no more. */
static void call_back_and_finish(thrum_handle *handle)
{
    uint32_t before;
    atomic_store_explicit(&handle->ender, &thrum__self, memory_order_relaxed);
    for (;;) {
        thrum__lock_take(&handle->lock);
        callback *first = handle->callbacks;
        handle->callbacks = NULL;
        handle->last_callback = &handle->callbacks;
        if (!first)
            before = atomic_exchange_explicit(&handle->done, DONE, memory_order_acq_rel);
        thrum__lock_give(&handle->lock);
        if (!first)
            break;
        while (first) {
            callback *next = first->next;
            first->fn(first->arg);
            thrum__free(first);
            first = next;
        }
    }
    if (before == AWAITED)
        thrum__futex_wake(&handle->done, INT_MAX);
}

/* The exchange is the last touch: the borrower may use the handle anew at once. (A futex call names an address only.) */
static thrum_handle *end_borrowed(thrum_handle *handle)
{
    thrum_handle *next = thrum__graph_end_run(handle);
    if (atomic_exchange_explicit(&handle->done, DONE, memory_order_acq_rel) == AWAITED)
        thrum__futex_wake(&handle->done, INT_MAX);
    return next;
}

/* One handle's end; returns the next run of the same graph, which is to begin. */
static thrum_handle *end_one(thrum_handle *handle)
{
    if (handle->borrowed)
        return end_borrowed(handle);
    thrum_executor *ex = handle->ex;
    thrum_handle *owner = handle->owner;
    thrum_handle *next = handle->graph ? thrum__graph_end_run(handle) : NULL;
    int code = thrum__root_code(&handle->object.root);
    if (code && handle->quiet && handle->root == &handle->object.root)
        thrum__root_fail(&ex->object.root, code, thrum__root_text(&handle->object.root));
    call_back_and_finish(handle);
    thrum__handle_drop(handle);
    if (owner)
        thrum__handle_lower(owner);
    thrum__outstanding_lower(ex);
    return next;
}

/* Runs without anything to do end where they would begin: in a loop, for there may be many. */
void thrum__handle_end(thrum_handle *handle)
{
    do
        handle = end_one(handle);
    while (handle && !thrum__run_begin_queued(handle));
}

/* When one is left, it is the caller's: only what is pending adds to it. So no read-modify-write is needed then, and the
 * acquire pairs with the releases of those that ended before. */
bool thrum__pending_lower(thrum_handle *handle)
{
    return atomic_load_explicit(&handle->pending, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&handle->pending, 1, memory_order_acq_rel) == 1;
}

void thrum__handle_lower(thrum_handle *handle)
{
    if (!thrum__pending_lower(handle))
        return;
    if (atomic_load_explicit(&handle->run, memory_order_relaxed))
        thrum__run_detached_ended(handle);
    else
        thrum__handle_end(handle);
}

int thrum_then(thrum_handle *handle, thrum_fn *fn, void *arg)
{
    if (!handle || !fn)
        return thrum__fault(THRUM_EINVAL, "thrum_then: the %s is NULL", handle ? "function" : "handle");
    callback *c = thrum__alloc(sizeof *c);
    if (!c)
        return thrum__fault(THRUM_ENOMEM, "thrum_then: no memory for the callback");
    *c = (callback){NULL, fn, arg};
    thrum__lock_take(&handle->lock);
    bool late = thrum__is_done(handle);
    if (!late) {
        atomic_store_explicit(&handle->has_callbacks, true, memory_order_relaxed);
        *handle->last_callback = c;
        handle->last_callback = &c->next;
    }
    thrum__lock_give(&handle->lock);
    if (late) {
        thrum__free(c);
        fn(arg);
    }
    return 0;
}

/* ---- Functions ---------------------------------------------------------------------------------------------------- */

static void call_function(worker *w, thrum_handle *handle)
{
    uint32_t attention = __atomic_load_n(&handle->root->attention, __ATOMIC_RELAXED);
    watch watch;
    if (thrum__is_cancelled(attention))
        return;
    if (thrum__is_watched(attention))
        thrum__watch_begin(w, &watch, NULL, -2);
    if (handle->work == WORK_SCOPE)
        thrum__call_scope(w, handle->root, handle->fn.scope, handle->arg);
    else
        handle->fn.plain(handle->arg);
    if (thrum__is_watched(attention))
        thrum__watch_end(w, &watch);
}

void thrum__handle_call(worker *w, thrum_handle *handle)
{
    thrum__root *outer = w->root;
    w->root = handle->root;
    call_function(w, handle);
    w->root = outer;
    if (handle->frees_arg)
        thrum__free(handle->arg);
}

void thrum__handle_run(worker *w, thrum_handle *handle)
{
    thrum__handle_call(w, handle);
    thrum__handle_lower(handle);
}

bool thrum__handle_ends_quietly(const thrum_handle *handle)
{
    /* Relaxed: a callback that is attached at this moment is called all the same. */
    return !handle->owner && !atomic_load_explicit(&handle->has_callbacks, memory_order_relaxed);
}

/* A function waits in the domain's queue until a worker or a waiter takes it out, under the lock: that decides who runs
 * it. */
void thrum__queue_put(domain *d, thrum_handle *handle)
{
    thrum__lock_take(&d->lock);
    handle->next = NULL;
    handle->previous = d->first ? d->first->previous : handle;
    if (d->first)
        d->first->previous->next = handle;
    else
        d->first = handle;
    d->first->previous = handle;
    atomic_store_explicit(&handle->queued, 1, memory_order_relaxed);
    /* Sequentially consistent, as is the change of the life cycle's word by whoever goes to sleep: either this thread
     * sees the sleeper, or the sleeper sees this. */
    atomic_fetch_add_explicit(&d->waiting, 1, memory_order_seq_cst);
    thrum__parker *sleeper = thrum__wake_later_locked(d);
    thrum__lock_give(&d->lock);
    if (sleeper)
        thrum__unpark(sleeper);
}

static void unlink_locked(domain *d, thrum_handle *handle)
{
    if (handle->next)
        handle->next->previous = handle->previous;
    else
        d->first->previous = handle->previous;
    if (d->first == handle)
        d->first = handle->next;
    else
        handle->previous->next = handle->next;
    handle->next = NULL;
    atomic_store_explicit(&handle->queued, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&d->waiting, 1, memory_order_relaxed);
}

/* The oldest in the queue; of those detached in `owner` if that is not NULL. */
thrum_handle *thrum__queue_take(domain *d, const thrum_handle *owner)
{
    if (atomic_load_explicit(&d->waiting, memory_order_relaxed) == 0)
        return NULL;
    thrum__lock_take(&d->lock);
    thrum_handle *handle = d->first;
    while (handle && owner && handle->owner != owner)
        handle = handle->next;
    if (handle)
        unlink_locked(d, handle);
    thrum__lock_give(&d->lock);
    return handle;
}

/* This very one, if it is still there. The first look needs no order: whoever put it there did so before the caller had
 * the handle. */
static bool queue_take_this(domain *d, thrum_handle *handle)
{
    if (!atomic_load_explicit(&handle->queued, memory_order_relaxed))
        return false;
    thrum__lock_take(&d->lock);
    bool there = atomic_load_explicit(&handle->queued, memory_order_relaxed);
    if (there)
        unlink_locked(d, handle);
    thrum__lock_give(&d->lock);
    return there;
}

static thrum_handle *submit(thrum_executor *ex, thrum_fn *fn, void *arg, const char *what)
{
    if (!fn) {
        thrum__fault(THRUM_EINVAL, "%s: the function is NULL", what);
        return NULL;
    }
    ex = thrum__executor_or_default(ex);
    if (!ex || thrum__executor_usable(ex, what))
        return NULL;
    thrum_handle *handle = thrum__handle_new(ex, WORK_FN);
    if (!handle)
        return NULL;
    handle->fn.plain = fn;
    handle->arg = arg;
    return handle;
}

thrum_handle *thrum_submit(thrum_executor *ex, thrum_fn *fn, void *arg)
{
    thrum_handle *handle = submit(ex, fn, arg, "thrum_submit");
    if (handle)
        thrum__queue_put(&handle->ex->cpu, handle);
    return handle;
}

int thrum_async(thrum_executor *ex, thrum_fn *fn, void *arg)
{
    thrum_handle *handle = submit(ex, fn, arg, "thrum_async");
    if (!handle)
        return thrum__last_code();
    handle->quiet = true;
    thrum__queue_put(&handle->ex->cpu, handle);
    thrum__handle_drop(handle);
    return 0;
}

int thrum_scope_run(thrum_executor *ex, thrum_scope_fn *fn, void *arg)
{
    if (!fn)
        return thrum__fault(THRUM_EINVAL, "thrum_scope_run: the function is NULL");
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_scope_run") : thrum__last_code();
    if (err)
        return err;
    thrum_handle *handle = thrum__handle_new(ex, WORK_SCOPE);
    if (!handle)
        return thrum__last_code();
    handle->fn.scope = fn;
    handle->arg = arg;
    worker *self = thrum__self;
    bool inside = self && self->ex == ex;
    thrum__note_awaited(handle, self);
    worker *w = inside ? self : ex->callers_help ? thrum__guest_enter(ex, false) : NULL;
    if (w) {
        thrum__handle_run(w, handle);
        thrum__wait_as(w, handle, inside);
    } else {
        thrum__queue_put(&ex->cpu, handle);
    }
    if (w && !inside)
        thrum__guest_leave(w);
    err = thrum_wait(handle);
    thrum__handle_drop(handle);
    return err;
}

/* ---- Waiting ------------------------------------------------------------------------------------------------------ */

static bool find_function(worker *w, thrum_handle *handle, found *f)
{
    bool own = queue_take_this(w->domain, handle);
    thrum_handle *function = own ? handle : thrum__queue_take(w->domain, handle);
    *f = (found){.kind = FOUND_FUNCTION, .handle = function};
    return function != NULL;
}

/* Something of what the handle stands for. Where there are no threads, a waiter outside tasks does whatever there is. */
static bool find_for(worker *w, thrum_handle *handle, bool in_task, found *f)
{
    if (handle->work == WORK_GRAPH) {
        /* A run of the same graph: this one or, while this one is queued, the one that it waits for. The graph's address
         * is compared and not followed: it may be gone, if this run has ended and only its callbacks go on. */
        thrum__run *run = atomic_load_explicit(&handle->run, memory_order_acquire);
        if (thrum__run_join_open(w->domain, handle->graph, f) || (run && thrum__find_in(w, run, f)))
            return true;
    }
    return find_function(w, handle, f) || (w->ex->threadless && !in_task && thrum__find(w, f));
}

/* Sleeps until the handle is done or, where there are no threads, until there may be something to do. */
static void sleep_on(thrum_handle *handle, int64_t timeout_ns)
{
    uint32_t seen = GOING;
    if (atomic_compare_exchange_strong_explicit(&handle->done, &seen, AWAITED, memory_order_acquire,
                                                memory_order_acquire) ||
        seen == AWAITED)
        thrum__futex_wait(&handle->done, AWAITED, timeout_ns);
}

enum { LOOKS_PER_CLOCK = 16, THREADLESS_NAP_NS = 1000000 };

/* Looks a while, in the hope that it is about to end: a switch of threads costs more. Soon it offers its core to others
 * between looks: the thread that it waits for may be waiting for that. */
static bool spin_on(const thrum_handle *handle, int64_t ns)
{
    int64_t begin = thrum__now(), now = begin;
    while (now - begin < ns) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (thrum__is_done(handle))
                return true;
            thrum__relax();
        }
        now = thrum__now();
        if (now - begin > THRUM__POLITE_NS)
            sched_yield();
    }
    return false;
}

/* Where what others keep to themselves may be something that find_for looks for. */
static bool may_look_behind_doors(const worker *w, const thrum_handle *handle, bool in_task)
{
    return handle->work == WORK_GRAPH || (w->ex->threadless && !in_task);
}

void thrum__wait_as(worker *w, thrum_handle *handle, bool in_task)
{
    int64_t looking_since = 0;
    found f;
    while (!thrum__is_done(handle)) {
        if (find_for(w, handle, in_task, &f)) {
            thrum__perform(w, &f);
            looking_since = 0;
            continue;
        }
        int64_t now = thrum__now();
        if (!looking_since)
            looking_since = now;
        if (may_look_behind_doors(w, handle, in_task) && thrum__door_look(w, now) == LOOK_SHOWN)
            continue;
        if (now - looking_since < w->domain->spin_ns) {
            spin_on(handle, 200);
            if (now - looking_since > THRUM__POLITE_NS)
                sched_yield();
            continue;
        }
        thrum__step_aside(w);
        sleep_on(handle, w->ex->threadless ? THREADLESS_NAP_NS : -1);
        thrum__step_back(w);
        looking_since = 0;
    }
}

/* The calling thread may be a worker of another executor, which must not do without it. */
static void sleep_outside(thrum_handle *handle)
{
    worker *self = thrum__self;
    if (self)
        thrum__step_aside(self);
    sleep_on(handle, handle->ex->threadless ? THREADLESS_NAP_NS : -1);
    if (self)
        thrum__step_back(self);
}

static void wait_outside(thrum_handle *handle)
{
    thrum_executor *ex = handle->ex;
    while (!thrum__is_done(handle)) {
        worker *guest = ex->callers_help ? thrum__guest_enter(ex, false) : NULL;
        if (guest) {
            thrum__wait_as(guest, handle, false);
            thrum__guest_leave(guest);
        } else if (!spin_on(handle, ex->cpu.spin_ns)) {
            sleep_outside(handle);
        }
    }
}

static bool calls_back(const thrum_handle *handle)
{
    return atomic_load_explicit(&handle->ender, memory_order_relaxed) == &thrum__self;
}

/* Whether the handle can only end after the calling task: it is the task's own, or that of a task which waits for the
 * task's, and so on. A handle in this chain is not done while the one before it is not, so the chain is there to walk. */
static bool waits_for_itself(const worker *self, const thrum_handle *handle)
{
    const thrum_handle *at = self && self->root ? self->root->run : NULL;
    while (at && at != handle)
        at = atomic_load_explicit(&at->awaited_from, memory_order_acquire);
    return at == handle;
}

void thrum__note_awaited(thrum_handle *handle, const worker *self)
{
    if (self && self->root && self->root->run && self->root->run != handle)
        atomic_store_explicit(&handle->awaited_from, self->root->run, memory_order_release);
}

int thrum__handle_outcome(const thrum_handle *handle)
{
    int code = thrum__root_code(&handle->object.root);
    return code ? thrum__fault(code, "%s", thrum__root_text(&handle->object.root)) : 0;
}

int thrum_wait(thrum_handle *handle)
{
    if (!handle)
        return thrum__fault(THRUM_EINVAL, "thrum_wait: the handle is NULL");
    if (thrum__is_done(handle))
        return thrum__handle_outcome(handle);
    worker *self = thrum__self;
    int err = thrum__executor_usable(handle->ex, "thrum_wait");
    if (err)
        return err;
    if (calls_back(handle))
        return thrum__fault(THRUM_EDEADLOCK,
                            "thrum_wait: a callback cannot wait for the run or function that called it");
    if (waits_for_itself(self, handle))
        return thrum__fault(THRUM_EDEADLOCK, "thrum_wait: a task of %s%s%s cannot wait for it to end",
                            handle->graph ? "a run of graph '" : "a submitted function",
                            handle->graph ? handle->graph->names->graph : "", handle->graph ? "'" : "");
    thrum__note_awaited(handle, self);
    if (self && self->ex == handle->ex)
        thrum__wait_as(self, handle, self->root != NULL);
    else
        wait_outside(handle);
    return thrum__handle_outcome(handle);
}
