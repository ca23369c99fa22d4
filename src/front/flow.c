/* SPDX-License-Identifier: MIT
 *
 * Flows: inserting tasks, and waiting for them. Order is model/order.h's, running flow_run.c's and exec/stream.h's.
 *
 * Inserting holds the space's lock, one for all handles of an executor: so that tasks which are inserted by several threads at
 * once are behind each other in the same order on all handles. It is not held while anything runs or waits.
 */
#include "front/flow_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "exec/inside.h"
#include "exec/place.h"
#include "sys/clock.h"

#include <string.h>

/* ---- Errors ------------------------------------------------------------------------------------------------------- */

int thrum__flow_error(const thrum_flow *flow)
{
    return flow->code ? flow->code : flow->begun ? thrum__root_code(flow->owner.root) : 0;
}

int thrum__flow_fail(thrum_flow *flow, int code)
{
    if (!flow->code)
        flow->code = code;
    thrum__root_fail(&flow->object.root, code, thrum__last_fault());
    if (flow->begun)
        thrum__root_fail(flow->owner.root, code, thrum__last_fault());
    return code;
}

/* ---- Making ------------------------------------------------------------------------------------------------------- */

static thrum_flow *flow_alloc(thrum_executor *ex, const char *what)
{
    ex = thrum__usable_or_default(ex, what);
    thrum_flow *flow = ex ? thrum__zalloc(sizeof *flow) : NULL;
    if (ex && !flow)
        thrum__fault(THRUM_ENOMEM, "%s: no memory", what);
    if (!flow)
        return NULL;
    flow->object.kind = THRUM__KIND_FLOW;
    flow->space = thrum__space_of(ex);
    flow->owner.ex = ex;
    flow->owner.ended = thrum__flow_ended;
    flow->window = (size_t)thrum__option_number(THRUM__OPT_WINDOW);
    return flow;
}

thrum_flow *thrum_flow_new(thrum_executor *ex)
{
    thrum_flow *flow = flow_alloc(ex, "thrum_flow_new");
    if (!flow)
        return NULL;
    flow->stream = thrum__stream_new(flow->owner.ex);
    if (!flow->stream) {
        thrum__fault(THRUM_ENOMEM, "thrum_flow_new: no memory");
        thrum__free(flow);
        return NULL;
    }
    return flow;
}

int thrum__flow_begin(thrum_flow *flow)
{
    int err = flow->begun ? 0 : thrum__stream_begin(flow->stream, &flow->owner);
    if (!err)
        flow->begun = true;
    return err;
}

int thrum_flow_set_window(thrum_flow *flow, size_t tasks)
{
    if (!flow)
        return thrum__fault(THRUM_EINVAL, "thrum_flow_set_window: the flow is NULL");
    if (tasks < 2)
        return thrum__fault(THRUM_EINVAL, "thrum_flow_set_window: a window of %zu tasks, but it needs at least 2", tasks);
    flow->window = tasks;
    return 0;
}

uint64_t thrum_flow_count(const thrum_flow *flow)
{
    return flow ? flow->count : 0;
}

/* ---- The window --------------------------------------------------------------------------------------------------- */

enum { LOOKS = 100, NAP_NS = 50000 };

/* Until there is room again: half of the window, so that this is not needed at every insertion. */
static void wait_for_room(thrum_flow *flow)
{
    size_t enough = flow->window - flow->window / 2;
    for (int looks = 0;; looks++) {
        thrum__store_look(&flow->store);
        if (flow->store.open < enough)
            return;
        if (thrum__stream_help(flow->stream))
            looks = 0;
        else if (looks > LOOKS)
            thrum__sleep_ns(NAP_NS);
        else
            thrum__relax();
    }
}

/* ---- Inserting ---------------------------------------------------------------------------------------------------- */

static void hold(thrum__job *job)
{
    if (!job->holds_strand)
        thrum__stream_hold(job);
}

bool thrum__flow_order(thrum_flow *flow, thrum__job *job)
{
    thrum__order_init(job);
    if (flow->space->places || job->commutes)
        hold(job);
    return thrum__order_insert_telling(job, hold);
}

static void job_init(thrum_flow *flow, thrum__job *job, enum thrum__job_kind kind, uint32_t accesses)
{
    job->task.fn.plain = thrum__flow_run;
    job->task.arg = job;
    job->task.next = 0;
    job->task.strong = 0;
    job->codelet = NULL;
    job->owner = &flow->owner;
    job->arg = NULL;
    job->name = NULL;
    job->priority = job->bucket = 0;
    job->worker = -1;
    job->count = accesses;
    job->kind = (uint8_t)kind;
    job->holds_strand = job->commutes = job->first_content = false;
    job->placing = NULL;
}

static size_t placing_bytes(const thrum_flow *flow, uint32_t accesses)
{
    return flow->space->places ? (thrum__placing_bytes(flow->space->places, accesses) + 15) / 16 * 16 : 0;
}

static char *tail_of(thrum__job *job)
{
    return (char *)job + (sizeof *job + job->count * sizeof(thrum__access) + 15) / 16 * 16;
}

/* The engine's part comes first behind the accesses, then the argument. */
static void commit(thrum_flow *flow, thrum__job *job, const thrum_item *arg)
{
    size_t placing = placing_bytes(flow, job->count), bytes = arg ? arg->bytes : 0;
    char *tail = tail_of(job);
    if (arg) {
        job->arg = tail + placing;
        memcpy(job->arg, arg->ptr, bytes);
    }
    if (placing)
        thrum__placing_init(job, tail);
    thrum__store_commit(&flow->store, job, placing + bytes);
}

thrum__job *thrum__flow_job(thrum_flow *flow, enum thrum__job_kind kind, size_t accesses)
{
    thrum__job *job = thrum__store_reserve(&flow->store, accesses, placing_bytes(flow, (uint32_t)accesses));
    if (job)
        job_init(flow, job, kind, (uint32_t)accesses);
    else
        thrum__fault(THRUM_ENOMEM, "no memory for a task of a flow");
    return job;
}

int thrum__flow_close_group(thrum_flow *flow, thrum_data *data, enum thrum_mode mode)
{
    enum thrum__closing closing = thrum__order_closing(&data->front, mode);
    if (__builtin_expect(closing == THRUM__CLOSE_NOTHING, 1))
        return 0;
    bool combines = closing == THRUM__CLOSE_COMBINE;
    thrum__job *job = thrum__flow_job(flow, combines ? THRUM__JOB_COMBINE : THRUM__JOB_JOIN, 1);
    if (!job)
        return THRUM_ENOMEM;
    job->codelet = combines ? data->reduction->combine : NULL;
    job->first_content = combines && data->reduced_unwritten;
    job->access[0].data = data;
    job->access[0].mode = THRUM_MODE_RW;
    commit(flow, job, NULL);
    if (thrum__flow_order(flow, job))
        thrum__flow_ready_at_once(flow, job);
    return 0;
}

/* Everything that can go wrong does so before anything changes, but for closed groups, which does no harm. */
static int prepare_fronts(thrum_flow *flow, const thrum_codelet *codelet, const thrum__access *access, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int err = thrum__access_check(codelet, access[i].data, access[i].mode, "thrum_insert");
        if (err)
            return err;
    }
    for (uint32_t i = 0; i < count; i++) {
        int err = thrum__flow_close_group(flow, access[i].data, access[i].mode);
        if (err)
            return err;
    }
    return 0;
}

static bool needs_closing(const thrum__access *access, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (thrum__order_closing(&access[i].data->front, access[i].mode) != THRUM__CLOSE_NOTHING)
            return true;
    return false;
}

/* Of handles that nobody wrote before: whoever combines has to begin with the neutral element. */
static void note_reductions(const thrum__job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (job->access[i].mode == THRUM_MODE_REDUX && job->access[i].data->front.group != THRUM_MODE_REDUX)
            job->access[i].data->reduced_unwritten = !job->access[i].data->front.written;
}

static int check_implementation(const thrum_flow *flow, const thrum_codelet *codelet, const thrum__terms_of_job *terms)
{
    const thrum__places *places = flow->space->places;
    if (places)
        return thrum__places_can_run(places, codelet, terms->arg ? terms->arg->ptr : NULL, terms->worker);
    int workers = thrum_executor_workers(flow->owner.ex);
    if (!codelet->cpu)
        return thrum__fault(THRUM_EINVAL, "thrum_insert: codelet '%s' has no implementation for processors, and the executor "
                                          "has nothing else",
                            codelet->name);
    if (terms->worker >= workers)
        return thrum__fault(THRUM_EINVAL, "thrum_insert of '%s': worker %d, but the executor has those from 0 to %d",
                            codelet->name, terms->worker, workers - 1);
    return 0;
}

/* The items are read into the place that the job will have; a closing job takes that place, so then they are moved. */
static int insert_locked(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count,
                         thrum__job **ready)
{
    thrum__terms_of_job terms;
    size_t arg_most = 0;
    for (size_t i = 0; i < count; i++)
        arg_most += items[i].kind == THRUM_ITEM_ARG ? items[i].bytes : 0;
    size_t tail = placing_bytes(flow, (uint32_t)count) + arg_most;
    thrum__job *job = thrum__store_reserve(&flow->store, count, tail);
    if (!job)
        return thrum__fault(THRUM_ENOMEM, "thrum_insert: no memory for a task");
    int err = thrum__items_read(flow->space, codelet, items, count, "thrum_insert", &terms, job->access);
    if (!err)
        err = check_implementation(flow, codelet, &terms);
    if (err)
        return err;
    if (__builtin_expect(needs_closing(job->access, terms.accesses), 0)) {
        err = prepare_fronts_apart(flow, codelet, items, count);
        if (err)
            return err;
        return insert_locked(flow, codelet, items, count, ready);
    }
    for (uint32_t i = 0; i < terms.accesses; i++)
        if ((err = thrum__access_check(codelet, job->access[i].data, job->access[i].mode, "thrum_insert")))
            return err;
    job_init(flow, job, THRUM__JOB_CODELET, terms.accesses);
    job->codelet = codelet;
    job->name = terms.name;
    job->priority = terms.priority;
    job->bucket = terms.bucket;
    job->worker = terms.worker;
    job->commutes = terms.commutes;
    commit(flow, job, terms.arg);
    if (terms.reduces)
        note_reductions(job);
    flow->count++;
    *ready = thrum__flow_order(flow, job) ? job : NULL;
    return 0;
}
