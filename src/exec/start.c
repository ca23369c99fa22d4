/* SPDX-License-Identifier: MIT
 *
 * Starting runs: the pool of runs, how one begins, and the calls by which users start them.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "exec/place.h"

#include <limits.h>

/* ---- The pool of runs -------------------------------------------------------------------------------------------- */

static thrum__run *run_new(thrum_executor *ex)
{
    if (ex->run_count == RUN_MOST)
        return NULL;
    thrum__run *run = thrum__zalloc_aligned(sizeof *run);
    if (!run)
        return NULL;
    run->tag = (uint64_t)ex->run_count << RUN_SHIFT;
    /* The release is for thieves that read a number from a slot which is being written (thrum__steal_task). */
    atomic_store_explicit(&ex->runs[ex->run_count++], run, memory_order_release);
    return run;
}

thrum__run *thrum__run_take(worker *w, thrum_executor *ex)
{
    if (w && w->kept_run) {
        thrum__run *kept = w->kept_run;
        w->kept_run = NULL;
        return kept;
    }
    thrum__lock_take(&ex->lock);
    thrum__run *run = ex->free_runs;
    if (run)
        ex->free_runs = run->next_free;
    else
        run = run_new(ex);
    thrum__lock_give(&ex->lock);
    return run;
}

static void run_give(thrum_executor *ex, thrum__run *run)
{
    thrum__lock_take(&ex->lock);
    run->next_free = ex->free_runs;
    ex->free_runs = run;
    thrum__lock_give(&ex->lock);
}

void thrum__run_recycle(worker *w, thrum_executor *ex, thrum__run *run)
{
    if (w && !w->kept_run)
        w->kept_run = run;
    else
        run_give(ex, run);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* What will be run by one worker is taken in as few portions as if there were no other. */
static size_t divisor_for(const domain *d, const thrum_graph *graph)
{
    int workers = d->life.limit < d->most ? d->life.limit : d->most;
    return 4 * (size_t)(thrum__is_short(graph) ? 1 : workers);
}

/* A run without a worker to begin it: all its sources are published, and the token is its only strand. From then on it
 * may end at any moment, and the executor with it, so what is needed later is read before. */
void thrum__run_begin_published(thrum__run *run, thrum_executor *ex)
{
    _Atomic uint32_t *state = &run->handle->state;
    bool threadless = ex->threadless;
    run->has_token = true;
    atomic_store_explicit(&run->cursor, 0, memory_order_relaxed);
    atomic_store_explicit(&run->sharing, RUN_SHARED, memory_order_relaxed);
    thrum__run_publish(&ex->cpu, run, 1);
    /* Where there are no threads, whoever sleeps in a wait for it must do it. */
    if (threadless)
        thrum__futex_wake(state, INT_MAX);
}

void thrum__run_detached_ended(thrum_handle *handle)
{
    thrum__run *run = atomic_load_explicit(&handle->run, memory_order_relaxed);
    if (thrum__run_goes_on(handle))
        thrum__run_begin_published(run, handle->ex);
    else
        thrum__run_end(NULL, run);
}

/* Takes every task to the slow path. */
static const uint32_t always = UINT32_C(0x80000000);

void thrum__run_init(thrum__run *run, thrum_handle *handle)
{
    run->handle = handle;
    run->root = handle->root;
    run->lanes = handle->firings ? handle->graph->lanes : NULL;
    run->attention = run->lanes ? &always : &run->root->attention;
    run->sources = handle->graph->sources;
    run->count = handle->graph->source_count;
    run->divisor = divisor_for(&handle->ex->cpu, handle->graph);
    run->careful = thrum__has_priorities(handle->graph);
    run->stream = false;
    atomic_store_explicit(&handle->run, run, memory_order_release);
}

void thrum__run_begin(thrum_handle *handle, worker *w)
{
    thrum_executor *ex = handle->ex;
    thrum__run *run = thrum__run_take(w, ex);
    if (!run) {
        thrum__root_fail(handle->root, THRUM_ENOMEM, "no memory to start a run, or 65535 are under way");
        thrum__handle_lower(handle);
        return;
    }
    thrum__run_init(run, handle);
    if (run->lanes)
        thrum__lanes_begin(handle->graph);
    if (!w) {
        thrum__run_begin_published(run, ex);
        return;
    }
    thrum__run_whole(w, run);
}

/* How often: n times, or until a function says that it is enough. */
struct times {
    uint64_t n;
    thrum_until_fn *until;
    void *arg, *context;
    uint64_t firings; /* with n = 1: pipelined, that many iterations */
};

static void set_times(thrum_handle *handle, struct times times)
{
    handle->left = times.n;
    handle->fn.until = times.until;
    handle->arg = times.arg;
    handle->context = times.context;
    handle->firings = times.firings;
}

/* A handle at work on the graph, or queued for it. With *now the caller begins it. */
static int start(thrum_graph *graph, thrum_handle *handle, struct times times, bool *now)
{
    handle->graph = graph;
    set_times(handle, times);
    int err = handle->ex->trace ? thrum__watch_hold_names(handle->ex, graph) : 0;
    if (!err)
        err = thrum__graph_enqueue(handle, now);
    if (err)
        handle->graph = NULL;
    return err;
}

/* ---- Starting runs ----------------------------------------------------------------------------------------------- */

int thrum__may_run_here(const thrum_handle *handle)
{
    return handle->graph->terms ? thrum__terms_check(handle->graph, handle->ex->workers_in, handle->ex->domains) : 0;
}

/* A run that was cancelled while it was queued calls nothing of the user's any more. */
static bool has_nothing_to_do(const thrum_handle *handle)
{
    if (handle->left == 0 || handle->graph->source_count == 0)
        return true;
    int err = thrum__may_run_here(handle);
    if (err)
        thrum__root_fail(handle->root, err, thrum__last_fault());
    if (thrum__is_cancelled(__atomic_load_n(&handle->root->attention, __ATOMIC_RELAXED)))
        return true;
    return handle->fn.until && handle->fn.until(handle->arg);
}

bool thrum__run_begin_queued(thrum_handle *handle)
{
    if (has_nothing_to_do(handle))
        return false;
    thrum__run_begin(handle, NULL);
    return true;
}

static void begin(thrum_handle *handle, worker *w)
{
    if (has_nothing_to_do(handle))
        thrum__handle_lower(handle);
    else
        thrum__run_begin(handle, w);
}

/* Runs begin at home: a worker of another domain leaves that to others, and waits. */
static worker *beginner(worker *w)
{
    return w->at_home ? w : NULL;
}

void thrum__run_inside(worker *w, thrum_graph *graph, thrum__root *root, bool open)
{
    bool now = false;
    if (thrum__fails_too_deep(w, root))
        return;
    thrum_handle *handle = thrum__handle_borrow(w);
    if (handle) {
        handle->root = root;
        handle->iteration = thrum_iteration();
    }
    if (!handle || start(graph, handle, (struct times){.n = 1}, &now)) {
        thrum__root_fail(root, thrum__last_code(), thrum__last_fault());
    } else {
        thrum__note_awaited(handle, w);
        if (now)
            begin(handle, beginner(w));
        if (open)
            thrum__wait_open_as(w, handle, true);
        else
            thrum__wait_as(w, handle, true);
    }
    thrum__handle_return(w, handle);
}

/* Checks common to all ways of starting; *ex becomes the default one if it is NULL. */
static int may_start(thrum_executor **ex, thrum_graph *graph, const char *what)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "%s: the graph is NULL", what);
    *ex = thrum__executor_or_default(*ex);
    int err = *ex ? thrum__executor_usable(*ex, what) : thrum__last_code();
    if (err)
        thrum__graph_keep_message(graph, thrum__last_fault());
    return err;
}

static thrum_handle *start_times(thrum_executor *ex, thrum_graph *graph, struct times times)
{
    bool now = false;
    if (may_start(&ex, graph, "thrum_start"))
        return NULL;
    thrum_handle *handle = thrum__handle_new(ex, WORK_GRAPH);
    if (!handle)
        return NULL;
    if (start(graph, handle, times, &now)) {
        thrum__handle_abandon(handle);
        return NULL;
    }
    if (now)
        begin(handle, NULL);
    return handle;
}

thrum_handle *thrum_start_n(thrum_executor *ex, thrum_graph *graph, uint64_t n)
{
    return start_times(ex, graph, (struct times){.n = n});
}

thrum_handle *thrum_start_until(thrum_executor *ex, thrum_graph *graph, thrum_until_fn *done, void *arg)
{
    if (!done) {
        thrum__fault(THRUM_EINVAL, "thrum_start_until: the function is NULL");
        return NULL;
    }
    return start_times(ex, graph, (struct times){.n = 1, .until = done, .arg = arg});
}

thrum_handle *thrum_start(thrum_executor *ex, thrum_graph *graph)
{
    return thrum_start_n(ex, graph, 1);
}

static int runs_itself_error(const thrum_graph *graph)
{
    return thrum__fault(THRUM_EDEADLOCK, "thrum_run: a task of graph '%s' cannot run that graph and wait for it",
                        graph->names->graph);
}

/* Whether a run of the graph is under way that can only end after the task: its own, its parents', or one that
 * waits. */
static bool is_part_of(const thrum__root *root, const thrum__run *run, const thrum_graph *graph)
{
    if (!root || !root->run)
        return false;
    for (; run; run = run->handle->parent)
        if (run->handle->graph == graph)
            return true;
    const thrum_handle *at = root->run;
    for (; at; at = atomic_load_explicit(&at->awaited_from, memory_order_acquire))
        if (at->graph == graph)
            return true;
    return false;
}

/* A task that runs its own graph, or that of a task beneath it, would wait for a run that is queued behind its own. */
static int runs_itself(const worker *self, const thrum_graph *graph)
{
    if (!self)
        return 0;
    if (is_part_of(self->root, self->run, graph))
        return runs_itself_error(graph);
    for (const beneath *task = self->beneath; task; task = task->outer)
        if (is_part_of(task->root, task->run, graph))
            return runs_itself_error(graph);
    return 0;
}

/* A graph of one task that is no module is a call: there is nothing to share and nobody can join, so it needs no
 * run. */
static bool is_one_call(const thrum_graph *graph, struct times times)
{
    return times.n == 1 && !times.until && !times.firings && graph->source_count == 1 && !graph->sources &&
           thrum__is_call(graph);
}

static thrum_handle *single_handle(worker *guest)
{
    if (!guest->single)
        guest->single = thrum__handle_borrow(guest);
    return guest->single;
}

/* For a thread outside, with a handle that its guest keeps for this: a graph of one task is done in as few steps as can
 * be while nothing goes wrong, nothing is detached, and nobody is queued behind. False: the graph is not ready to be
 * run at once, and nothing was done. The graph is looked at only when it is this run's. */
static bool run_at_hand(worker *guest, thrum_graph *graph, struct times times, int *err)
{
    thrum_handle *handle = single_handle(guest);
    if (!handle)
        return false;
    handle->graph = graph;
    if (!thrum__graph_try_begin(handle))
        return false;
    bool one_call = is_one_call(graph, times);
    handle->context = times.context;
    if (one_call) {
        thrum__call_only_task(guest, handle);
        /* The acquire pairs with the releases of detached functions that have ended: what they failed with is seen. */
        if (atomic_load_explicit(&handle->pending, memory_order_acquire) == 1 &&
            __atomic_load_n(&handle->object.root.attention, __ATOMIC_RELAXED) == 0 && thrum__graph_try_end(handle)) {
            *err = 0;
            return true;
        }
    }
    guest->single = NULL;
    set_times(handle, times);
    if (one_call)
        thrum__handle_lower(handle);
    else
        begin(handle, guest);
    thrum__wait_as(guest, handle, false);
    *err = thrum__handle_outcome(handle);
    thrum__handle_return(guest, handle);
    return true;
}

/* With a worker to run it: nobody but this call ever sees the handle, so it is a borrowed one. */
static int run_as(worker *w, thrum_graph *graph, struct times times, const worker *from)
{
    bool now = false;
    thrum_handle *handle = thrum__handle_borrow(w);
    int err = handle ? start(graph, handle, times, &now) : thrum__last_code();
    if (!err) {
        thrum__note_awaited(handle, from);
        if (now && w->at_home && is_one_call(graph, times)) {
            thrum__call_only_task(w, handle);
            thrum__handle_lower(handle);
        } else if (now) {
            begin(handle, beginner(w));
        }
        thrum__wait_as(w, handle, from == w);
        err = thrum__handle_outcome(handle);
    }
    thrum__handle_return(w, handle);
    return err;
}

static int run_times(thrum_executor *ex, thrum_graph *graph, struct times times)
{
    worker *self = thrum__self;
    int err = may_start(&ex, graph, "thrum_run");
    if (err || (err = runs_itself(self, graph)))
        return err;
    if (__builtin_expect(ex->space.places && thrum__place_on_device(ex->space.places), 0))
        return thrum__fault(THRUM_EDEADLOCK,
                            "thrum_run: a kernel on a device cannot wait for tasks of the same executor");
    if (self && thrum__stack_spent(self))
        return thrum__too_deep();
    if (self && self->ex == ex)
        return run_as(self, graph, times, self);
    worker *guest = ex->callers_help ? thrum__guest_enter(ex, false) : NULL;
    if (guest) {
        if (self || ex->trace || times.firings || !run_at_hand(guest, graph, times, &err))
            err = run_as(guest, graph, times, self);
        thrum__guest_leave(guest);
        return err;
    }
    thrum_handle *handle = start_times(ex, graph, times);
    err = handle ? thrum_wait(handle) : thrum__last_code();
    thrum_release(handle);
    return err;
}

int thrum_run_n(thrum_executor *ex, thrum_graph *graph, uint64_t n)
{
    return run_times(ex, graph, (struct times){.n = n});
}

int thrum_run_until(thrum_executor *ex, thrum_graph *graph, thrum_until_fn *done, void *arg)
{
    if (!done)
        return thrum__fault(THRUM_EINVAL, "thrum_run_until: the function is NULL");
    return run_times(ex, graph, (struct times){.n = 1, .until = done, .arg = arg});
}

static struct times pipelined(uint64_t n)
{
    return (struct times){.n = n > 0, .firings = n};
}

int thrum_run_pipelined(thrum_executor *ex, thrum_graph *graph, uint64_t n)
{
    return run_times(ex, graph, pipelined(n));
}

thrum_handle *thrum_start_pipelined(thrum_executor *ex, thrum_graph *graph, uint64_t n)
{
    return start_times(ex, graph, pipelined(n));
}

int thrum_run_with(thrum_executor *ex, thrum_graph *graph, void *context)
{
    return run_times(ex, graph, (struct times){.n = 1, .context = context});
}

thrum_handle *thrum_start_with(thrum_executor *ex, thrum_graph *graph, void *context)
{
    return start_times(ex, graph, (struct times){.n = 1, .context = context});
}

void *thrum_context(void)
{
    const worker *self = thrum__self;
    const thrum_handle *handle = self && self->root ? self->root->run : NULL;
    return handle ? handle->context : NULL;
}

int thrum_run(thrum_executor *ex, thrum_graph *graph)
{
    return thrum_run_n(ex, graph, 1);
}
