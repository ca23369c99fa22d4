/* SPDX-License-Identifier: MIT
 *
 * Handles: submitted functions, waiting, callbacks, and how something ends.
 *
 * Who may touch a handle: the user until release, the executor until it has ended; whoever comes second frees it. Both
 * say so in `state`, each by one step. `pending` counts what must end before it has ended; whoever lowers it to zero
 * ends it.
 *
 * The end, in this order: the graph's queue moves on (so that a waiter may free the graph), callbacks are called, DONE
 * is set, waiters are woken, the executor is told, and the next run of the graph begins. Setting DONE is a release;
 * reading it in thrum_wait and thrum_done is an acquire: what the tasks wrote is there for whoever waited. After
 * setting it the ender does not touch the handle, unless it is the one to free it.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "exec/place.h"
#include "sys/clock.h"

#include <limits.h>
#include <sched.h>

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Each thread keeps some handles that it freed for the next ones that it makes: a thread that submits and waits again
 * and again uses the same memory, which the worker's core has in its cache. */
enum { KEPT_MOST = 16 };

static _Thread_local struct {
    thrum_handle *first; /* linked by `next` */
    int count;
    bool at_exit; /* they will be freed when the thread ends */
} kept;

static pthread_key_t kept_key;
static bool has_kept_key;

static void free_kept(void *unused)
{
    (void)unused;
    while (kept.first) {
        thrum_handle *next = kept.first->next;
        thrum__free(kept.first);
        kept.first = next;
    }
    kept.count = KEPT_MOST; /* other destructors may still release handles: those are freed */
}

void thrum__handles_init(void)
{
    has_kept_key = pthread_key_create(&kept_key, free_kept) == 0;
}

/* For programs that unload the library while threads live. */
static __attribute__((destructor)) void forget_key(void)
{
    if (has_kept_key)
        pthread_key_delete(kept_key);
}

static bool may_keep(void)
{
    if (!kept.at_exit)
        kept.at_exit = has_kept_key && pthread_setspecific(kept_key, &kept) == 0;
    return kept.at_exit && kept.count < KEPT_MOST;
}

static void handle_free(thrum_handle *handle)
{
    if (handle->object.root.message)
        thrum__root_clear(&handle->object.root);
    handle->object.kind = 0;
    if (!may_keep()) {
        thrum__free(handle);
        return;
    }
    handle->next = kept.first;
    kept.first = handle;
    kept.count++;
}

static thrum_handle *handle_alloc(void)
{
    thrum_handle *handle = kept.first;
    if (handle) {
        kept.first = handle->next;
        kept.count--;
    } else if (!(handle = thrum__zalloc_aligned(sizeof *handle))) {
        thrum__fault(THRUM_ENOMEM, "no memory for a handle");
    }
    return handle;
}

/* ---- Making and releasing ---------------------------------------------------------------------------------------- */

/* Everything but what is as it was after the end of the handle that this memory was before, which is as in zeroed
 * memory: no callbacks, the lock free, in no queue. Relaxed: whoever else comes to see the handle does so through a
 * queue, the graph's word or the run's strands. */
static void handle_init(thrum_handle *handle, thrum_executor *ex, enum handle_work work, worker *borrower)
{
    handle->object = (thrum__object){
        THRUM__KIND_HANDLE, {.attention = ex->watched ? THRUM__WATCHED : 0, .code = 0, .message = NULL, .run = handle}};
    atomic_store_explicit(&handle->state, 0, memory_order_relaxed);
    atomic_store_explicit(&handle->pending, 1, memory_order_relaxed);
    handle->work = (uint8_t)work;
    handle->quiet = handle->frees_arg = false;
    handle->root = &handle->object.root;
    handle->ex = ex;
    handle->borrower = borrower;
    handle->owner = NULL;
    handle->graph = NULL;
    handle->parent = NULL;
    handle->context = NULL;
    handle->iteration = handle->firings = 0;
    atomic_store_explicit(&handle->run, NULL, memory_order_relaxed);
    atomic_store_explicit(&handle->ender, NULL, memory_order_relaxed);
    atomic_store_explicit(&handle->awaited_from, NULL, memory_order_relaxed);
}

thrum_handle *thrum__handle_uncounted(thrum_executor *ex, enum handle_work work)
{
    thrum_handle *handle = handle_alloc();
    if (handle)
        handle_init(handle, ex, work, NULL);
    return handle;
}

thrum_handle *thrum__handle_new(thrum_executor *ex, enum handle_work work)
{
    thrum_handle *handle = thrum__handle_uncounted(ex, work);
    if (handle)
        thrum__count_start(ex);
    return handle;
}

thrum_handle *thrum__handle_borrow(worker *w)
{
    thrum_handle *handle = handle_alloc();
    if (!handle)
        return NULL;
    handle_init(handle, w->ex, WORK_GRAPH, w);
    return handle;
}

void thrum__handle_return(worker *w, thrum_handle *handle)
{
    (void)w;
    if (handle)
        handle_free(handle);
}

void thrum__handle_leave_alone(thrum_handle *handle)
{
    atomic_store_explicit(&handle->state, RELEASED, memory_order_relaxed);
}

void thrum__handle_abandon(thrum_handle *handle)
{
    thrum_executor *ex = handle->ex;
    handle_free(handle);
    thrum__count_end(ex);
}

/* Release, with the acquire of whoever ends it: what the user did with it happens before it is freed there. */
void thrum_release(thrum_handle *handle)
{
    if (handle &&
        (thrum__is_done(handle) || (atomic_fetch_or_explicit(&handle->state, RELEASED, memory_order_acq_rel) & DONE)))
        handle_free(handle);
}

bool thrum__is_done(const thrum_handle *handle)
{
    return atomic_load_explicit(&handle->state, memory_order_acquire) & DONE;
}

bool thrum_done(const thrum_handle *handle)
{
    return handle && thrum__is_done(handle);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* Calls those that are attached so far. CALLBACKS is set and cleared under the lock, where the list changes. */
static void call_back(thrum_handle *handle)
{
    atomic_store_explicit(&handle->ender, &thrum__self, memory_order_relaxed);
    thrum__lock_take(&handle->lock);
    callback *first = handle->callbacks;
    handle->callbacks = NULL;
    atomic_fetch_and_explicit(&handle->state, ~(uint32_t)CALLBACKS, memory_order_relaxed);
    thrum__lock_give(&handle->lock);
    while (first) {
        callback *next = first->next;
        first->fn(first->arg);
        thrum__free(first);
        first = next;
    }
}

/* Calls the callbacks, also those that are attached meanwhile, and sets DONE when there are no more: returns what was
 * set besides. A handle that ends in the worker that borrowed it is known to nobody else. */
static uint32_t finish(thrum_handle *handle)
{
    uint32_t seen = atomic_load_explicit(&handle->state, memory_order_relaxed);
    if (handle->work == WORK_GRAPH && handle->borrower && handle->borrower == thrum__self) {
        atomic_store_explicit(&handle->state, DONE, memory_order_relaxed);
        return 0;
    }
    for (;;) {
        if (seen & CALLBACKS) {
            call_back(handle);
            seen = atomic_load_explicit(&handle->state, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&handle->state, &seen, seen | DONE, memory_order_acq_rel,
                                                         memory_order_relaxed)) {
            return seen;
        }
    }
}

/* The executor of a function is that of the worker which ends it: its second line is not touched. */
static thrum_executor *executor_of_ending(const thrum_handle *handle)
{
    return handle->work == WORK_FN ? thrum__self->ex : handle->ex;
}

/* One handle's end; returns the next run of the same graph, which is to begin. */
static thrum_handle *end_one(thrum_handle *handle)
{
    bool is_function = handle->work == WORK_FN;
    thrum_executor *ex = executor_of_ending(handle);
    bool counted = is_function || (!handle->borrower && handle->work != WORK_STREAM);
    thrum_handle *owner = is_function ? NULL : handle->owner;
    thrum_handle *next = handle->work == WORK_GRAPH ? thrum__graph_end_run(handle) : NULL;
    int code = thrum__root_code(&handle->object.root);
    if (code && handle->quiet)
        thrum__root_fail(&ex->object.root, code, thrum__root_text(&handle->object.root));
    _Atomic uint32_t *state = &handle->state;
    uint32_t before = finish(handle);
    if (before & AWAITED)
        thrum__futex_wake(state, INT_MAX); /* names an address and touches nothing */
    if (before & RELEASED)
        handle_free(handle);
    if (owner)
        thrum__handle_lower(owner);
    if (counted)
        thrum__count_end(ex);
    return next;
}

/* Runs without anything to do end where they would begin: in a loop, for there may be many. */
void thrum__handle_end(thrum_handle *handle)
{
    do
        handle = end_one(handle);
    while (handle && !thrum__run_begin_queued(handle));
}

/* Acquire and release: what each of the two did happens before what the second one does next. If that is the other one,
 * the handle may be gone by now. */
bool thrum__module_end(thrum_handle *handle)
{
    thrum_handle *next = thrum__graph_end_run(handle);
    bool left = atomic_exchange_explicit(&handle->module, MODULE_ENDED, memory_order_acq_rel) == MODULE_LEFT;
    if (next && !thrum__run_begin_queued(next))
        thrum__handle_end(next);
    return left;
}

/* When one is left, it is the caller's: only what is pending adds to it. So no read-modify-write is needed then, and
 * the acquire pairs with the releases of those that ended before. */
bool thrum__pending_lower(thrum_handle *handle)
{
    return atomic_load_explicit(&handle->pending, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&handle->pending, 1, memory_order_acq_rel) == 1;
}

void thrum__handle_lower(thrum_handle *handle)
{
    if (!thrum__pending_lower(handle))
        return;
    if (handle->work == WORK_GRAPH && atomic_load_explicit(&handle->run, memory_order_relaxed))
        thrum__run_detached_ended(handle);
    else
        thrum__handle_end(handle);
}

/* Has whoever ends the handle come by the lock before it sets DONE, as if there were callbacks. False: it has set
 * it. */
static bool keep_from_ending_locked(thrum_handle *handle)
{
    uint32_t seen = atomic_load_explicit(&handle->state, memory_order_acquire);
    while (!(seen & DONE) && !atomic_compare_exchange_weak_explicit(&handle->state, &seen, seen | CALLBACKS,
                                                                    memory_order_acquire, memory_order_acquire))
        ;
    return !(seen & DONE);
}

void thrum__attach(thrum_handle *handle, callback *c)
{
    thrum__lock_take(&handle->lock);
    bool late = !keep_from_ending_locked(handle);
    if (!late) {
        if (handle->callbacks)
            handle->last_callback->next = c;
        else
            handle->callbacks = c;
        handle->last_callback = c;
    }
    thrum__lock_give(&handle->lock);
    if (late) {
        thrum_fn *fn = c->fn;
        void *arg = c->arg;
        thrum__free(c);
        fn(arg);
    }
}

int thrum_then(thrum_handle *handle, thrum_fn *fn, void *arg)
{
    if (!handle || !fn)
        return thrum__fault(THRUM_EINVAL, "thrum_then: the %s is NULL", handle ? "function" : "handle");
    callback *c = thrum__alloc(sizeof *c);
    if (!c)
        return thrum__fault(THRUM_ENOMEM, "thrum_then: no memory for the callback");
    *c = (callback){NULL, fn, arg};
    thrum__attach(handle, c);
    return 0;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static void call_function(worker *w, thrum_handle *handle, thrum__root *root)
{
    uint32_t attention = __atomic_load_n(&root->attention, __ATOMIC_RELAXED);
    watch watch;
    if (thrum__is_cancelled(attention))
        return;
    if (thrum__is_watched(attention))
        thrum__watch_begin(w, &watch, NULL, -2);
    if (handle->work == WORK_SCOPE)
        thrum__call_scope(w, root, handle->fn.scope, handle->arg);
    else
        handle->fn.plain(handle->arg);
    if (thrum__is_watched(attention))
        thrum__watch_end(w, &watch);
}

void thrum__handle_call(worker *w, thrum_handle *handle)
{
    thrum__root *outer = w->root;
    w->root = handle->work == WORK_FN ? &handle->object.root : handle->root;
    call_function(w, handle, w->root);
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
    return handle->work == WORK_FN && !(atomic_load_explicit(&handle->state, memory_order_relaxed) & CALLBACKS);
}

/* ---- The hand-over ----------------------------------------------------------------------------------------------- */

/* A worker that searches in vain stands at the domain's hand-over, one at a time, and is given the next function
 * without a lock, a waking or a look at the life cycle: it is bound to take it, since it looks there before it does
 * anything else. The word: 0, nobody stands there; STANDS, somebody does; else the handle that it is given. Changes:
 *
 *   0 -> STANDS        a searching worker                    handle -> STANDS   a waiter that takes its own back
 *   STANDS -> handle   whoever submits                       STANDS, handle -> 0   the worker that stands there
 *
 * Giving is a release and taking an acquire: the function's fields are there. Whoever submits does not touch the domain
 * after giving: the function may have ended, and the executor with it. */
enum { STANDS = 1 };

void thrum__stand(worker *w)
{
    domain *d = w->domain;
    uintptr_t nobody = 0;
    if (!w->at_home || w->stands || atomic_load_explicit(&d->handover, memory_order_relaxed) != 0)
        return;
    if (atomic_load_explicit(&d->move_asked, memory_order_relaxed)) {
        atomic_store_explicit(&d->move_asked, false, memory_order_relaxed);
        thrum__change_cpu();
    }
    atomic_store_explicit(&d->stander_cpu, sched_getcpu(), memory_order_relaxed);
    w->stands = atomic_compare_exchange_strong_explicit(&d->handover, &nobody, STANDS, memory_order_relaxed,
                                                        memory_order_relaxed);
}

bool thrum__stand_down(worker *w, found *f)
{
    if (!w->stands)
        return false;
    w->stands = false;
    uintptr_t word = atomic_exchange_explicit(&w->domain->handover, 0, memory_order_acquire);
    if (word == STANDS)
        return false;
    *f = (found){.kind = FOUND_FUNCTION, .handle = (thrum_handle *)word};
    return true;
}

bool thrum__handed(worker *w, found *f)
{
    if (!w->stands)
        return false;
    uintptr_t word = atomic_load_explicit(&w->domain->handover, memory_order_relaxed);
    if (word == STANDS)
        return false;
    thrum__fetch_to_write((void *)word);
    return thrum__stand_down(w, f);
}

/* Only while nothing is queued: what one thread submits begins in that order. */
static bool hand_over(domain *d, thrum_handle *handle)
{
    uintptr_t stands = STANDS;
    return atomic_load_explicit(&d->handover, memory_order_relaxed) == STANDS &&
           atomic_load_explicit(&d->waiting, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&d->handover, &stands, (uintptr_t)handle, memory_order_release,
                                                   memory_order_relaxed);
}

static bool take_back(domain *d, thrum_handle *handle)
{
    uintptr_t word = (uintptr_t)handle;
    return atomic_load_explicit(&d->handover, memory_order_relaxed) == word &&
           atomic_compare_exchange_strong_explicit(&d->handover, &word, STANDS, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */

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
    worker *sleeper = thrum__wake_later_locked(d);
    thrum__lock_give(&d->lock);
    if (sleeper)
        thrum__wake_sleeper(sleeper);
}

/* The worker still counts as searching: if it is the last one, it looks for more work when it ends that. */
void thrum__stand_down_busy(worker *w)
{
    found handed;
    if (thrum__stand_down(w, &handed))
        thrum__queue_put(w->domain, handed.handle);
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
    if (take_back(d, handle))
        return true;
    if (!atomic_load_explicit(&handle->queued, memory_order_relaxed))
        return false;
    thrum__lock_take(&d->lock);
    bool there = atomic_load_explicit(&handle->queued, memory_order_relaxed);
    if (there)
        unlink_locked(d, handle);
    thrum__lock_give(&d->lock);
    return there;
}

thrum_handle *thrum__function_new(thrum_executor *ex, thrum_fn *fn, void *arg, const char *what)
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

/* Not for detached functions: those are looked for by their owner. */
void thrum__hand_over_or_queue(thrum_executor *ex, thrum_handle *handle)
{
    if (!hand_over(&ex->cpu, handle))
        thrum__queue_put(&ex->cpu, handle);
}

thrum_handle *thrum_submit(thrum_executor *ex, thrum_fn *fn, void *arg)
{
    thrum_handle *handle = thrum__function_new(ex, fn, arg, "thrum_submit");
    if (handle)
        thrum__hand_over_or_queue(handle->ex, handle);
    return handle;
}

int thrum_async(thrum_executor *ex, thrum_fn *fn, void *arg)
{
    thrum_handle *handle = thrum__function_new(ex, fn, arg, "thrum_async");
    if (!handle)
        return thrum__last_code();
    handle->quiet = true;
    thrum__handle_leave_alone(handle);
    thrum__hand_over_or_queue(handle->ex, handle);
    return 0;
}

int thrum_scope_run(thrum_executor *ex, thrum_scope_fn *fn, void *arg)
{
    if (!fn)
        return thrum__fault(THRUM_EINVAL, "thrum_scope_run: the function is NULL");
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_scope_run") : thrum__last_code();
    if (!err && thrum__self && thrum__stack_spent(thrum__self))
        err = thrum__too_deep();
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
        thrum__hand_over_or_queue(ex, handle);
    }
    if (w && !inside)
        thrum__guest_leave(w);
    err = thrum_wait(handle);
    thrum_release(handle);
    return err;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Submitted functions are queued at home, detached ones where they were spawned. */
static bool find_function(worker *w, thrum_handle *handle, found *f)
{
    bool own = w->at_home && queue_take_this(w->domain, handle);
    thrum_handle *function = own ? handle : thrum__queue_take(w->domain, handle);
    *f = (found){.kind = FOUND_FUNCTION, .handle = function};
    return function != NULL;
}

/* Something of what the handle stands for; `any`: or, failing that, of anything else. */
static bool find_for(worker *w, thrum_handle *handle, bool any, found *f)
{
    if (handle->work == WORK_GRAPH || handle->work == WORK_STREAM) {
        thrum__run *run = atomic_load_explicit(&handle->run, memory_order_acquire);
        if (thrum__run_join_open(w->domain, handle, f) || (run && thrum__find_in(w, run, f)))
            return true;
        if (thrum__post_take_own(w, handle, f))
            return true;
        for (int level = 0; level < POST_LEVELS; level++)
            if (thrum__post_take(w->domain, (enum post_level)level, handle, f))
                return true;
    }
    return find_function(w, handle, f) || (any && thrum__find(w, f));
}

/* Sleeps until the handle is done or there may be something to do: where there are no threads, or for this very worker
 * (post.c). Who finds POKED takes it away and looks again; so must a worker for which something was posted, for whoever
 * took it away may have been another. */
static void sleep_on(thrum_handle *handle, worker *w, int64_t timeout_ns)
{
    uint32_t seen = atomic_fetch_or_explicit(&handle->state, AWAITED, memory_order_acquire);
    if (seen & POKED)
        atomic_fetch_and_explicit(&handle->state, ~(uint32_t)POKED, memory_order_acq_rel);
    else if (!(seen & DONE) && !(w && thrum__has_own_posts(w, handle)))
        thrum__futex_wait(&handle->state, seen | AWAITED, timeout_ns);
}

enum { LOOKS_PER_CLOCK = 16, THREADLESS_NAP_NS = 1000000, PLACE_NAP_NS = 200000 };

/* A function that nobody fetches although a worker stands there: the worker waits for this very core. The system may
 * leave two threads that both look on one core for long, though another is idle; so the worker is asked to move. */
static void ask_to_move(const thrum_handle *handle)
{
    domain *d = &handle->ex->cpu;
    if (atomic_load_explicit(&d->handover, memory_order_relaxed) == (uintptr_t)handle &&
        atomic_load_explicit(&d->stander_cpu, memory_order_relaxed) == sched_getcpu())
        atomic_store_explicit(&d->move_asked, true, memory_order_relaxed);
}

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
        if (now - begin > THRUM__POLITE_NS) {
            ask_to_move(handle);
            sched_yield();
        }
    }
    return false;
}

/* Without threads others do not wake it; and a policy calls the place of a worker, which cannot know where that
 * waits. */
static int64_t nap_for(const worker *w)
{
    if (w->ex->threadless)
        return THREADLESS_NAP_NS;
    return w->ex->space.places && w->kind == WORKER_OWN ? PLACE_NAP_NS : -1;
}

static void sleep_in_wait(thrum_handle *handle, worker *w)
{
    thrum__places *places = w->ex->space.places;
    thrum__pause before = {0};
    if (places)
        before = thrum__place_pause(places, handle->root);
    thrum__step_aside(w);
    sleep_on(handle, w, nap_for(w));
    thrum__step_back(w);
    thrum__place_resume(&before);
}

/* Where there are no threads, a waiter outside tasks does whatever there is. With `open` any waiter does, but on top of
 * a task only as far as thrum__help_with_any allows. */
static void wait_helping(worker *w, thrum_handle *handle, bool in_task, bool open)
{
    bool any = w->ex->threadless && !in_task;
    int64_t looking_since = 0;
    found f;
    open |= w->ex->threadless && handle->work == WORK_STREAM; /* what a flow waits for may be another one's */
    while (!thrum__is_done(handle)) {
        thrum__sources_poll(w->ex);
        if (find_for(w, handle, any, &f)) {
            thrum__perform(w, &f);
            looking_since = 0;
            continue;
        }
        if (open && thrum__help_with_any(w)) {
            looking_since = 0;
            continue;
        }
        /* Jobs that a policy has put aside for this worker run here and nowhere else; what is awaited may be among
         * them. */
        if (w->ex->space.places && thrum__place_help(w->ex->space.places)) {
            looking_since = 0;
            continue;
        }
        int64_t now = thrum__now();
        if (!looking_since)
            looking_since = now;
        /* Where what others keep to themselves may be something that is looked for here. */
        if ((handle->work == WORK_GRAPH || handle->work == WORK_STREAM || any || open) &&
            thrum__door_look(w, now) == LOOK_SHOWN)
            continue;
        if (now - looking_since < thrum__spin_ns(w->domain)) {
            spin_on(handle, 200);
            if (now - looking_since > THRUM__POLITE_NS)
                sched_yield();
            continue;
        }
        sleep_in_wait(handle, w);
        looking_since = 0;
    }
}

bool thrum__find_for(worker *w, thrum_handle *handle, found *f)
{
    return find_for(w, handle, false, f);
}

bool thrum__help_once(worker *w, thrum_handle *handle, bool in_task)
{
    bool any = w->ex->threadless && !in_task;
    found f;
    if (!find_for(w, handle, any, &f))
        return (w->ex->threadless && in_task && thrum__help_with_any(w)) ||
               thrum__door_look(w, thrum__now()) == LOOK_SHOWN;
    thrum__perform(w, &f);
    return true;
}

void thrum__wait_as(worker *w, thrum_handle *handle, bool in_task)
{
    wait_helping(w, handle, in_task, false);
}

void thrum__wait_open_as(worker *w, thrum_handle *handle, bool in_task)
{
    wait_helping(w, handle, in_task, true);
}

/* The calling thread may be a worker of another executor, which must not do without it. */
static void sleep_outside(thrum_handle *handle)
{
    worker *self = thrum__self;
    if (self)
        thrum__step_aside(self);
    sleep_on(handle, NULL, handle->ex->threadless ? THREADLESS_NAP_NS : -1);
    if (self)
        thrum__step_back(self);
}

static void wait_outside(thrum_handle *handle, bool open)
{
    thrum_executor *ex = handle->ex;
    while (!thrum__is_done(handle)) {
        worker *guest = ex->callers_help ? thrum__guest_enter(ex, false) : NULL;
        if (guest) {
            wait_helping(guest, handle, false, open);
            thrum__guest_leave(guest);
        } else if (!spin_on(handle, thrum__spin_ns(&ex->cpu))) {
            sleep_outside(handle);
        }
    }
}

static bool calls_back(const thrum_handle *handle)
{
    return atomic_load_explicit(&handle->ender, memory_order_relaxed) == &thrum__self;
}

/* Whether the handle can only end after the task: it is the task's own, or that of a task which waits for the task's,
 * and so on. A handle in this chain is not done while the one before it is not, so the chain is there to walk. */
static bool ends_after(const thrum__root *root, const thrum_handle *handle)
{
    const thrum_handle *at = root ? root->run : NULL;
    while (at && at != handle)
        at = atomic_load_explicit(&at->awaited_from, memory_order_acquire);
    return at == handle;
}

/* After the calling task, or after one beneath it on the stack. */
static bool waits_for_itself(const worker *self, const thrum_handle *handle)
{
    if (!self)
        return false;
    bool itself = ends_after(self->root, handle);
    for (const beneath *task = self->beneath; task && !itself; task = task->outer)
        itself = ends_after(task->root, handle);
    return itself;
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

int thrum_cancel(thrum_handle *handle)
{
    if (!handle)
        return thrum__fault(THRUM_EINVAL, "thrum_cancel: the handle is NULL");
    thrum__lock_take(&handle->lock);
    if (keep_from_ending_locked(handle)) /* or a wait could return before its outcome changes */
        thrum__root_fail(&handle->object.root, THRUM_ECANCELLED, "it was cancelled");
    thrum__lock_give(&handle->lock);
    return 0;
}

/* In a task of another executor: does what there is at home, as long as there is something, and waits then. */
static void wait_elsewhere(worker *self, thrum_handle *handle, bool open)
{
    while (open && !thrum__is_done(handle) && thrum__help_with_any(self))
        ;
    wait_outside(handle, open);
}

/* Not for oneself. */
int thrum__may_wait(const worker *self, const thrum_handle *handle, const char *what)
{
    int err = thrum__executor_usable(handle->ex, what);
    if (err)
        return err;
    if (calls_back(handle))
        return thrum__fault(THRUM_EDEADLOCK, "%s: a callback cannot wait for the run or function that called it", what);
    if (self && thrum__place_on_device(handle->ex->space.places))
        return thrum__fault(THRUM_EDEADLOCK, "%s: a kernel on a device cannot wait for tasks of the same executor",
                            what);
    if (waits_for_itself(self, handle))
        return thrum__fault(THRUM_EDEADLOCK, "%s: a task of %s%s%s cannot wait for it to end", what,
                            handle->graph                 ? "a run of graph '"
                            : handle->work == WORK_STREAM ? "a flow"
                                                          : "a submitted function",
                            handle->graph ? handle->graph->names->graph : "", handle->graph ? "'" : "");
    return 0;
}

static int wait_for(thrum_handle *handle, bool open, const char *what)
{
    if (!handle)
        return thrum__fault(THRUM_EINVAL, "%s: the handle is NULL", what);
    if (thrum__is_done(handle))
        return thrum__handle_outcome(handle);
    worker *self = thrum__self;
    int err = thrum__may_wait(self, handle, what);
    if (err)
        return err;
    thrum__note_awaited(handle, self);
    if (self && self->ex == handle->ex)
        wait_helping(self, handle, self->root != NULL, open);
    else if (self && self->root)
        wait_elsewhere(self, handle, open);
    else
        wait_outside(handle, open);
    return thrum__handle_outcome(handle);
}

int thrum_wait(thrum_handle *handle)
{
    return wait_for(handle, false, "thrum_wait");
}

int thrum_wait_open(thrum_handle *handle)
{
    return wait_for(handle, true, "thrum_wait_open");
}
