/* SPDX-License-Identifier: MIT
 *
 * Modules: a graph that runs as a task of another.
 *
 * The worker that comes to the module's task begins the module's graph, as a run of its own whose errors are the
 * parent's, and works on it. If that run has ended by then, the worker goes on behind the task as behind any other. If
 * others are still at it, the worker leaves; the module keeps a strand in the parent's run, and whoever ends the
 * module's run goes on with it (work in run.c). Who of the two came last is decided by an exchange of handle->module.
 */
#include "exec/exec_int.h"

thrum_handle *thrum__outermost_handle(const thrum__run *run)
{
    while (run->handle->parent)
        run = run->handle->parent;
    return run->handle;
}

bool thrum__is_part_of(const thrum__run *run, const thrum_handle *handle)
{
    while (run && run->handle != handle)
        run = run->handle->parent;
    return run != NULL;
}

/* As many modules are begun one inside of the other on one stack; deeper ones are for whoever finds them. */
enum { DEEPEST = 50 };

static int fail_module(thrum__run *run, const thrum_task *task, int err)
{
    char room[80];
    if (err == THRUM_EBUSY)
        thrum__fault(err, "module %s of graph '%s' cannot run graph '%s', which is running already",
                     thrum__task_label(task, room, sizeof room), run->handle->graph->names->graph,
                     ((thrum_graph *)task->arg)->names->graph);
    thrum__root_fail(run->root, err, thrum__last_fault());
    return err;
}

/* A handle that has claimed the module's graph, with a run for it; or the parent's run has failed. */
static thrum__run *prepare_module(worker *w, thrum__run *run, thrum_task *task)
{
    thrum_executor *ex = w->ex;
    thrum_handle *handle = thrum__handle_borrow(w);
    if (!handle) {
        fail_module(run, task, THRUM_ENOMEM);
        return NULL;
    }
    handle->root = run->root;
    handle->graph = task->arg;
    handle->left = 1;
    handle->iteration = thrum__iteration_of(run, task);
    handle->fn.until = NULL;
    handle->parent = run;
    handle->module_task = task;
    atomic_store_explicit(&handle->module, MODULE_GOING, memory_order_relaxed);
    int err = ex->trace ? thrum__watch_hold_names(ex, handle->graph) : 0;
    if (!err)
        err = thrum__graph_claim(handle);
    if (!err && (err = thrum__may_run_here(handle)))
        thrum__module_end(handle);
    thrum__run *nested = err ? NULL : thrum__run_take(w, ex);
    if (nested) {
        thrum__run_init(nested, handle);
        return nested;
    }
    if (!err) {
        err = thrum__fault(THRUM_ENOMEM, "no memory to start a run, or 65535 are under way");
        thrum__module_end(handle);
    }
    fail_module(run, task, err);
    thrum__handle_return(w, handle);
    return NULL;
}

bool thrum__module_run(worker *w, thrum__run *run, thrum_task *task)
{
    thrum__run *nested = prepare_module(w, run, task);
    if (!nested)
        return true;
    thrum_handle *handle = nested->handle;
    if (handle->graph->source_count == 0) {
        thrum__run_end(w, nested);
    } else if (w->depth == DEEPEST) {
        thrum__keep_strand(w, run);
        atomic_store_explicit(&handle->module, MODULE_LEFT, memory_order_relaxed);
        thrum__run_begin_published(nested, w->ex);
        return false;
    } else {
        w->depth++;
        thrum__run_whole(w, nested);
        w->depth--;
    }
    if (atomic_load_explicit(&handle->module, memory_order_acquire) != MODULE_ENDED) {
        thrum__keep_strand(w, run);
        if (atomic_exchange_explicit(&handle->module, MODULE_LEFT, memory_order_acq_rel) != MODULE_ENDED)
            return false;
        atomic_fetch_sub_explicit(&run->strands, 1, memory_order_relaxed); /* its own is still there */
    }
    thrum__handle_return(w, handle);
    return true;
}
