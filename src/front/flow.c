/* SPDX-License-Identifier: MIT
 *
 * Flows: inserting tasks, and waiting for them. Order is model/order.h's, running flow_run.c's and exec/stream.h's.
 *
 * Inserting holds the space's lock, one for all handles of an executor: so that tasks which are inserted by several
 * threads at once are behind each other in the same order on all handles. It is not held while anything runs or waits.
 */
#include "front/flow_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "exec/inside.h"
#include "exec/place.h"
#include "front/fetch.h"
#include "model/reduction.h"
#include "sys/clock.h"

#include <string.h>

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

int thrum__flow_error(const thrum_flow *flow)
{
    int code = flow->code ? flow->code : flow->begun ? thrum__root_code(flow->owner.root) : 0;
    if (__builtin_expect(code, 0))
        thrum__fault(code, "%s", thrum__root_text(flow->code ? &flow->object.root : flow->owner.root));
    return code;
}

/* The first one counts. The sentence of an earlier one, which has been told by a wait, goes. */
int thrum__flow_fail(thrum_flow *flow, int code)
{
    if (flow->code || (flow->begun && thrum__root_code(flow->owner.root)))
        return code;
    flow->code = code;
    thrum__root_clear(&flow->object.root);
    thrum__root_fail(&flow->object.root, code, thrum__last_fault());
    if (flow->begun)
        thrum__root_fail(flow->owner.root, code, thrum__last_fault());
    return code;
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

#ifdef THRUM_CHECKS
enum { LIGHTEN_EACH = 8, AHEAD_PER_WORKER = 8, AHEAD_STEP = 4 }; /* so that short tests come there too */
#else
enum { LIGHTEN_EACH = 64, AHEAD_PER_WORKER = 128, AHEAD_STEP = 64 };
#endif

/* Whoever inserts is so far ahead of those who run jobs that it does better to run some too. The fewer are open, the
 * closer they are run to the order of insertion, and to what is in the caches (docs/benchmarking.md); but everybody
 * should find some. */
static size_t ahead_of(const thrum_flow *flow)
{
    size_t ahead = (size_t)thrum_executor_workers(flow->owner.ex) * AHEAD_PER_WORKER;
    return ahead < flow->window ? ahead : flow->window;
}

/* How many may be open until make_room is called. */
static void set_room(thrum_flow *flow, size_t at_least)
{
    size_t room = ahead_of(flow);
    if (room < at_least)
        room = at_least;
    flow->room = room < flow->window ? room : flow->window;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

thrum_flow *thrum__flow_alloc(thrum_executor *ex, const char *what)
{
    thrum__space *space = thrum__executor_space(ex, what);
    thrum_flow *flow = space ? thrum__zalloc_aligned(sizeof *flow) : NULL;
    if (space && !flow)
        thrum__fault(THRUM_ENOMEM, "%s: no memory", what);
    if (!flow)
        return NULL;
    flow->object.kind = THRUM__KIND_FLOW;
    flow->space = space;
    flow->owner.ex = space->ex;
    flow->owner.ended = thrum__flow_ended;
    flow->window = (size_t)thrum__option_number(THRUM__OPT_WINDOW);
    set_room(flow, 0);
    return flow;
}

thrum_flow *thrum_flow_new(thrum_executor *ex)
{
    thrum_flow *flow = thrum__flow_alloc(ex, "thrum_flow_new");
    if (!flow)
        return NULL;
    if (thrum__place_on_device(flow->space->places)) {
        thrum__fault(THRUM_EDEADLOCK,
                     "thrum_flow_new: a kernel on a device cannot have a flow of its executor: it holds memory "
                     "there while it waits");
        thrum__free(flow);
        return NULL;
    }
    flow->stream = thrum__stream_new(flow->owner.ex);
    if (!flow->stream) {
        thrum__fault(THRUM_ENOMEM, "thrum_flow_new: no memory");
        thrum__free(flow);
        return NULL;
    }
    flow->runs_at_once = thrum__stream_runs_at_once(flow->stream);
    return flow;
}

int thrum__flow_begin(thrum_flow *flow)
{
    int err = flow->begun ? 0 : thrum__stream_begin(flow->stream, &flow->owner);
    if (!err && !flow->begun) {
        flow->begun = true;
        set_room(flow, 0);
    }
    return err;
}

int thrum_flow_set_window(thrum_flow *flow, size_t tasks)
{
    if (!flow)
        return thrum__fault(THRUM_EINVAL, "thrum_flow_set_window: the flow is NULL");
    if (tasks < 2)
        return thrum__fault(THRUM_EINVAL, "thrum_flow_set_window: a window of %zu tasks, but it needs at least 2",
                            tasks);
    flow->window = tasks;
    set_room(flow, 0);
    return 0;
}

uint64_t thrum_flow_count(const thrum_flow *flow)
{
    return flow ? flow->count : 0;
}

/* ---- The window -------------------------------------------------------------------------------------------------- */

enum { LOOKS = 100, NAP_NS = 50000, NAP_MOST_NS = 2000000 };
enum { PLAIN_MOST = 64 }; /* accesses that are read in one pass */

/* Whoever naps and looks takes a core from a worker each time. So it naps for nearly as long as it had to wait the last
 * time, and then a little at a time. */
static void nap(const thrum_flow *flow, int64_t waited)
{
    int64_t rest = flow->wait_ns * 7 / 8 - waited, little = waited / 8;
    int64_t ns = rest > little ? rest : little;
    thrum__stream_nap(flow->stream, ns < NAP_NS ? NAP_NS : ns > NAP_MOST_NS ? NAP_MOST_NS : ns);
}

/* Until there is room again: half of the window, so that this is not needed at every insertion. */
static void wait_for_room(thrum_flow *flow)
{
    size_t enough = flow->window - flow->window / 2;
    int64_t since = thrum__now();
    for (int looks = 0;; looks++) {
        thrum__store_look(&flow->store);
        if (flow->store.open < enough)
            break;
        if (thrum__stream_help(flow->stream))
            looks = 0;
        else if (looks > LOOKS)
            nap(flow, thrum__now() - since);
        else
            thrum__relax();
    }
    flow->wait_ns = (flow->wait_ns + thrum__now() - since) / 2;
    thrum__stream_waited(flow->stream);
}

/* Runs jobs, as far as there are some to run. */
static void work_off(thrum_flow *flow)
{
    size_t ahead = ahead_of(flow), enough = ahead - ahead / 4, workers = (size_t)thrum_executor_workers(flow->owner.ex);
    do
        thrum__store_look(&flow->store);
    while (flow->store.open >= enough &&
           thrum__stream_work_some(flow->stream, (flow->store.open - enough) / workers + 1) > 0);
}

/* If all that are open wait for those that run, some more are inserted, among which there may be others. */
static __attribute__((noinline)) void make_room(thrum_flow *flow)
{
    work_off(flow);
    if (flow->store.open >= flow->window)
        wait_for_room(flow);
    set_room(flow, flow->store.open + AHEAD_STEP);
}

/* Until all jobs have ended, as long as some do: one of them may wait for what this thread does next. */
static bool wait_for_rest(thrum_flow *flow)
{
    uint64_t seen = thrum__stream_progress(flow->stream);
    for (int64_t since = thrum__now();; thrum__stream_nap(flow->stream, NAP_NS)) {
        thrum__store_look(&flow->store);
        if (flow->store.open == 0)
            return true;
        uint64_t progress = thrum__stream_progress(flow->stream);
        int64_t now = thrum__now();
        if (progress != seen)
            since = now;
        else if (now - since > thrum__stream_patience(flow->stream))
            return false;
        seen = progress;
    }
}

static void lighten(thrum_flow *flow, uint32_t accesses)
{
    if (thrum__stream_lighten(flow->stream, accesses, LIGHTEN_EACH))
        thrum__stream_caught_up(flow->stream, wait_for_rest(flow));
    thrum__store_may_rest(&flow->store);
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

static void hold(thrum__job *job)
{
    if (!job->holds_strand)
        thrum__stream_hold(job);
}

static void job_init(thrum_flow *flow, thrum__job *job, enum thrum__job_kind kind, uint32_t accesses)
{
    job->task.fn.plain = thrum__flow_run;
    job->task.arg = job;
    job->task.strong = 0;
    job->codelet = NULL;
    job->owner = &flow->owner;
    job->count = accesses;
    job->kind = (uint8_t)kind;
    job->traits = 0;
    job->holds_strand = false;
}

static void rest_init(thrum__job *job)
{
    *thrum__job_rest_of(job) = (thrum__job_rest){.bucket = THRUM_NO_BUCKET, .worker = -1};
    job->has_rest = true;
}

static size_t placing_bytes(const thrum_flow *flow, uint32_t accesses)
{
    return flow->space->places ? (thrum__placing_bytes(flow->space->places, accesses) + 15) / 16 * 16 : 0;
}

static char *tail_of(thrum__job *job)
{
    return (char *)job + thrum__job_head(job->count);
}

/* The engine's part comes first behind the accesses, then the argument. */
void thrum__flow_commit(thrum_flow *flow, thrum__job *job, const thrum_item *arg)
{
    size_t placing = placing_bytes(flow, job->count), bytes = arg ? arg->bytes : 0;
    char *tail = tail_of(job);
    if (arg)
        thrum__job_rest_of(job)->arg = memcpy(tail + placing, arg->ptr, bytes);
    if (placing)
        thrum__placing_init(job, tail);
    thrum__store_commit(&flow->store, job, thrum__job_bytes(job->count, placing + bytes));
}

thrum__job *thrum__flow_job(thrum_flow *flow, enum thrum__job_kind kind, size_t accesses)
{
    size_t bytes = thrum__job_bytes(accesses, placing_bytes(flow, (uint32_t)accesses));
    thrum__job *job = thrum__store_reserve(&flow->store, bytes);
    if (!job) {
        thrum__fault(THRUM_ENOMEM, "no memory for a task of a flow");
        return NULL;
    }
    job_init(flow, job, kind, (uint32_t)accesses);
    rest_init(job);
    return job;
}

/* Ready jobs are let go when the lock has been given back, the oldest first. */
static void add_ready(thrum_flow *flow, thrum__job *job)
{
    thrum__job_rest_of(job)->next = NULL;
    if (flow->ready)
        thrum__job_rest_of(flow->last_ready)->next = job;
    else
        flow->ready = job;
    flow->last_ready = job;
}

void thrum__flow_order(thrum_flow *flow, thrum__job *job)
{
    thrum__order_init(job);
    if (flow->space->places || job->commutes)
        hold(job);
    if (thrum__order_insert(job, hold))
        add_ready(flow, job);
}

void thrum__flow_unlock(thrum_flow *flow)
{
    thrum__job *job = flow->ready;
    flow->ready = NULL;
    thrum__favour_give(&flow->space->lock, flow->entered);
    while (job) {
        thrum__job *next = thrum__job_rest_of(job)->next;
        thrum__flow_ready_at_once(flow, job);
        job = next;
    }
}

int thrum__flow_close_group(thrum_flow *flow, thrum_data *data, enum thrum_mode mode)
{
    enum thrum__closing closing = thrum__order_closing(&data->front, mode);
    if (closing == THRUM__CLOSE_NOTHING)
        return 0;
    bool combines = closing == THRUM__CLOSE_COMBINE;
    thrum__job *job = thrum__flow_job(flow, combines ? THRUM__JOB_COMBINE : THRUM__JOB_JOIN, 1);
    if (!job)
        return THRUM_ENOMEM;
    job->codelet = combines ? data->reduction->combine : NULL;
    job->first_content = combines && data->reduced_unwritten;
    job->access[0].data = data;
    job->access[0].mode = THRUM_MODE_RW;
    thrum__flow_commit(flow, job, NULL);
    thrum__flow_order(flow, job);
    return 0;
}

static bool is_access(const thrum_item *item)
{
    return item->kind >= THRUM_MODE_R && item->kind <= THRUM_MODE_COMMUTE;
}

static bool needs_closing(const thrum__access *access, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (__builtin_expect(!thrum__order_closes_nothing(&access[i].data->front, (enum thrum_mode)access[i].mode),
                             0) &&
            thrum__order_closing(&access[i].data->front, access[i].mode) != THRUM__CLOSE_NOTHING)
            return true;
    return false;
}

static int close_groups(thrum_flow *flow, const thrum_item *items, size_t count)
{
    int err = 0;
    for (size_t i = 0; i < count && !err; i++)
        if (is_access(&items[i]))
            err = thrum__flow_close_group(flow, (thrum_data *)(uintptr_t)items[i].ptr, (enum thrum_mode)items[i].kind);
    return err;
}

/* Of handles that nobody wrote before: whoever combines has to begin with the neutral element. */
static void note_reductions(thrum_flow *flow, const thrum__job *job)
{
    flow->reduces = true;
    for (uint32_t i = 0; i < job->count; i++) {
        thrum_data *data = job->access[i].data;
        if (job->access[i].mode != THRUM_MODE_REDUX)
            continue;
        if (data->front.group != THRUM_MODE_REDUX)
            data->reduced_unwritten = !data->front.written;
        if (data->reduction->begun_by_graph) { /* which has ended, and nothing of flows has been under way since */
            thrum__reduction_reset(data->reduction);
            data->reduction->begun_by_graph = false;
        }
        data->reducer = flow;
    }
}

/* Where all data is at home, memory is made when the first task that writes it is inserted: so workers just use it. */
static int check_accesses(const thrum_flow *flow, const thrum_codelet *codelet, const thrum__access *access,
                          uint32_t count)
{
    bool at_home = !flow->space->places, twice = false;
    uint32_t stamp = ++flow->space->stamp;
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++) {
        thrum_data *data = access[i].data;
        if (__builtin_expect(!thrum__access_is_plain(data), 0))
            err = thrum__access_check(codelet, data, (enum thrum_mode)access[i].mode, "thrum_insert");
        if (!err && at_home && access[i].mode != THRUM_MODE_SCRATCH)
            err = thrum__data_make_home(data);
        twice |= data->stamp == stamp;
        data->stamp = stamp;
    }
    return err || !twice ? err : thrum__items_check_pairs(codelet, access, count, "thrum_insert");
}

static void add_job(thrum_flow *flow, thrum__job *job, const thrum_codelet *codelet, const thrum__terms_of_job *terms)
{
    job_init(flow, job, THRUM__JOB_CODELET, terms->accesses);
    rest_init(job);
    job->codelet = codelet;
    thrum__job_rest *rest = thrum__job_rest_of(job);
    rest->name = terms->name;
    rest->priority = terms->priority;
    rest->bucket = terms->bucket;
    rest->worker = terms->pin;
    job->commutes = terms->commutes;
    thrum__flow_commit(flow, job, terms->arg);
    if (terms->reduces)
        note_reductions(flow, job);
    flow->count++;
    thrum__flow_order(flow, job);
}

static size_t arg_bytes(const thrum_item *items, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; items && i < count; i++)
        if (items[i].kind == THRUM_ITEM_ARG && items[i].bytes <= THRUM__ARG_MOST)
            bytes += items[i].bytes;
    return bytes;
}

/* Whether an access of a task without policy reads or writes a usable handle, and nothing that was inserted before
 * forbids it. */
static inline bool is_allowed(const thrum__space *space, const thrum_data *data, uint32_t mode)
{
    return mode - THRUM_MODE_R <= THRUM_MODE_RW - THRUM_MODE_R && data &&
           atomic_load_explicit(&data->kind, memory_order_relaxed) == THRUM__DATA_LIVE && data->space == space &&
           thrum__access_is_plain(data);
}

/* Whether it needs no second look: there is memory, too, and it closes no group. */
static bool is_plain(const thrum__space *space, const thrum_data *data, uint32_t mode)
{
    return is_allowed(space, data, mode) && thrum__order_closes_nothing(&data->front, (enum thrum_mode)mode) &&
           __atomic_load_n(&data->home.ptr, __ATOMIC_ACQUIRE);
}

/* What it will look at of the handles, and what the kernel will be given unless it runs at once: all at the same time,
 * and while the lock is taken. */
static inline void prefetch_handles(const thrum_item *items, size_t count, bool at_once)
{
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(items[i].ptr, 1);
        if (!at_once)
            __builtin_prefetch((const void *)((uintptr_t)items[i].ptr + offsetof(thrum_data, home)), 0);
    }
}

/* The most common insertion in one pass: nothing but plain accesses, of different handles. False: to be looked at more
 * closely. */
static bool read_plain(const thrum_flow *flow, thrum__job *job, const thrum_item *items, size_t count)
{
    thrum__space *space = flow->space;
    uint32_t stamp = ++space->stamp;
    for (uint32_t i = 0; i < count; i++) {
        thrum_data *data = (thrum_data *)(uintptr_t)items[i].ptr;
        if (!is_plain(space, data, items[i].kind) || data->stamp == stamp)
            return false;
        data->stamp = stamp;
        job->access[i].data = data;
        job->access[i].mode = (uint8_t)items[i].kind;
        thrum__order_init_access(job, i);
    }
    return true;
}

/* ---- Fleeting jobs ----------------------------------------------------------------------------------------------- */

/* The thread whose flow it is runs the job, and does nothing with the flow meanwhile but by the lock. */
void thrum__fleeting_record(thrum__space *space)
{
    thrum__job *job = space->fleeting;
    space->fleeting = NULL;
    thrum__store_commit(&thrum__flow_of(job)->store, job, thrum__job_bytes(job->count, 0));
    thrum__order_init(job);
    thrum__order_insert_plain(job, NULL); /* it is ready, being at work */
}

static bool is_near(thrum_data *data)
{
    if (data->near)
        return true;
    data->near = data->layout == THRUM__CSR ? NULL : __atomic_load_n(&data->home.ptr, __ATOMIC_ACQUIRE);
    return data->near != NULL;
}

static bool names(const thrum__job *job, uint32_t count, const thrum_data *data)
{
    for (uint32_t i = 0; i < count; i++)
        if (job->access[i].data == data)
            return true;
    return false;
}

/* Field by field: a compound literal would be written in pieces and copied in larger ones, which waits for those to be
 * in the cache. */
static inline void fill_near(thrum_buffer *buffer, thrum_data *data)
{
    const thrum__form *form = data->form;
    buffer->ptr = data->near;
    buffer->elem = form->elem;
    buffer->extent = form->extent;
    buffer->stride = form->stride;
    buffer->dims = form->dims;
    buffer->node = 0;
    buffer->row_start = NULL;
    buffer->columns = NULL;
    buffer->data = data;
}

/* Nothing but plain accesses of different handles, with nothing in front of them. It only looks at the handles: what is
 * written to has to go back to memory. */
static inline bool read_fleeting(const thrum__space *space, thrum__job *job, const thrum_item *items, size_t count,
                                 thrum_buffer *buffers)
{
    for (uint32_t i = 0; i < count; i++) {
        thrum_data *data = (thrum_data *)(uintptr_t)items[i].ptr;
        if (!is_allowed(space, data, items[i].kind) || !thrum__order_is_idle(&data->front) || !is_near(data) ||
            names(job, i, data))
            return false;
        job->access[i].data = data;
        job->access[i].mode = (uint8_t)items[i].kind;
        fill_near(&buffers[i], data);
    }
    return true;
}

enum { LINE = 64, LINES_AHEAD = 4 };

/* The first cache lines of what the kernel is about to touch: they come while it is being called, and for the next ones
 * the processor sees by itself where it goes. */
static inline void fetch_beginnings(const thrum_buffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes = buffers[i].dims > 0 ? buffers[i].elem * buffers[i].extent[0] : buffers[i].elem;
        for (size_t at = 0; at < bytes && at < LINES_AHEAD * LINE; at += LINE)
            __builtin_prefetch((const char *)buffers[i].ptr + at);
    }
}

/* Whether it still is fleeting: then nobody knows of it, and it has ended. */
static inline bool fleets(thrum__space *space, const thrum__job *job)
{
    bool entered = thrum__favour_take(&space->lock), still = space->fleeting == job;
    if (still)
        space->fleeting = NULL;
    thrum__favour_give(&space->lock, entered);
    return still;
}

/* It cannot be run here and now: it is a job as any other. */
static __attribute__((noinline, cold)) void put_fleeting(thrum_flow *flow, thrum__job *job)
{
    bool entered = thrum__favour_take(&flow->space->lock);
    thrum__fleeting_settle(flow->space);
    thrum__favour_give(&flow->space->lock, entered);
    thrum__stream_put_plain(flow->stream, job);
}

static inline void run_fleeting(thrum_flow *flow, thrum__job *job, const thrum_buffer *buffers)
{
    thrum__visit visit;
    if (__builtin_expect(!thrum__stream_visit(flow->stream, job, &visit), 0)) {
        put_fleeting(flow, job);
        return;
    }
    thrum__job_call(job, job->codelet->cpu, buffers);
    if (__builtin_expect(!fleets(flow->space, job), 0))
        thrum__flow_ended(job);
    thrum__stream_end_visit(flow->stream, &visit);
}

/* The insertion of a job that is run at once, with the space's lock, which is given back meanwhile. False: it is no
 * such job, and nothing has changed. Not inline: most insertions do not come here. */
static __attribute__((noinline)) bool insert_fleeting(thrum_flow *flow, thrum__job *job, const thrum_codelet *codelet,
                                                      const thrum_item *items, size_t count)
{
    thrum_buffer buffers[THRUM__PLAIN_MOST];
    if (!job || count > THRUM__PLAIN_MOST || !read_fleeting(flow->space, job, items, count, buffers))
        return false;
    fetch_beginnings(buffers, count);
    thrum__fetch_ahead(flow->stream, job, codelet, buffers, (uint32_t)count);
    job_init(flow, job, THRUM__JOB_CODELET, (uint32_t)count);
    job->task.fn.plain = thrum__flow_run_plain;
    job->codelet = codelet;
    flow->space->fleeting = job;
    flow->count++;
    thrum__favour_give(&flow->space->lock, flow->entered);
    run_fleeting(flow, job, buffers);
    return true;
}

/* NOT_PLAIN: it has to be looked at more closely, and nothing has changed. PLAIN_GONE: it has been run, and the lock
 * given back. */
enum plain_outcome { NOT_PLAIN, PLAIN_WAITS, PLAIN_READY, PLAIN_GONE };

static enum plain_outcome insert_plain(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items,
                                       size_t count, thrum__job **inserted)
{
    if (flow->space->places || !codelet || !codelet->name || !codelet->cpu || codelet->can_run || !items ||
        count > PLAIN_MOST)
        return NOT_PLAIN;
    while (count > 0 && items[count - 1].kind == THRUM_ITEM_NONE)
        count--;
    size_t bytes = thrum__job_bytes(count, 0);
    thrum__job *job = thrum__store_reserve(&flow->store, bytes);
    *inserted = job;
    if (__builtin_expect(*flow->runs_at_once, 0) && insert_fleeting(flow, job, codelet, items, count))
        return PLAIN_GONE;
    if (!job || !read_plain(flow, job, items, count))
        return NOT_PLAIN;
    job_init(flow, job, THRUM__JOB_CODELET, (uint32_t)count);
    if (count <= THRUM__PLAIN_MOST)
        job->task.fn.plain = thrum__flow_run_plain;
    job->codelet = codelet;
    thrum__store_commit(&flow->store, job, bytes);
    flow->count++;
    thrum__order_init_job(job);
    return thrum__order_insert_plain(job, hold) ? PLAIN_READY : PLAIN_WAITS;
}

/* A job that has been run already, and ended, in the thread that inserted it. While its handles, and the job, are in
 * the core's first cache it costs little to forget it; and then the next one, which gets its memory, is there as well.
 * Only where the lock is free. */
static __attribute__((noinline)) void take_back(thrum_flow *flow, thrum__job *job)
{
    if (!thrum__favour_enter(&flow->space->lock))
        return;
    thrum__order_forget_newest(job);
    thrum__store_take_back(&flow->store, job);
    thrum__favour_leave(&flow->space->lock);
}

static inline void put_plain(thrum_flow *flow, thrum__job *job)
{
    if (__builtin_expect(*flow->runs_at_once, 0) && thrum__stream_run(flow->stream, job))
        take_back(flow, job);
    else
        thrum__stream_put_plain(flow->stream, job);
}

/* All that can go wrong does so before anything changes, but for groups that were closed, which does no harm. The items
 * are read into the place that the job will have. */
static int insert_locked(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count)
{
    thrum__terms_of_job terms;
    size_t tail = placing_bytes(flow, (uint32_t)count) + arg_bytes(items, count);
    thrum__job *job = thrum__store_reserve(&flow->store, thrum__job_bytes(count, tail));
    if (!job)
        return thrum__fault(THRUM_ENOMEM, "thrum_insert: no memory for a task");
    int err = thrum__items_read(flow->space, codelet, items, count, "thrum_insert", &terms, job->access);
    if (!err)
        err = thrum__find_worker(flow->space, codelet, &terms, "thrum_insert");
    if (!err)
        err = check_accesses(flow, codelet, job->access, terms.accesses);
    if (err)
        return err;
    if (__builtin_expect(needs_closing(job->access, terms.accesses), 0)) {
        err = close_groups(flow, items, count);
        return err ? err : insert_locked(flow, codelet, items, count);
    }
    add_job(flow, job, codelet, &terms);
    return 0;
}

static int enter_first(thrum_flow *flow)
{
    int err = thrum__flow_error(flow);
    if (!err && !flow->begun && (err = thrum__flow_begin(flow)))
        thrum__flow_fail(flow, err);
    return err;
}

static inline int enter(thrum_flow *flow)
{
    int err = 0;
    if (__builtin_expect(flow->code || !flow->begun || thrum__root_code(flow->owner.root), 0) &&
        (err = enter_first(flow)))
        return err;
    if (__builtin_expect(flow->store.open >= flow->room, 0))
        make_room(flow);
    flow->entered = thrum__favour_take(&flow->space->lock);
    thrum__fleeting_settle(flow->space);
    return 0;
}

int thrum__flow_enter(thrum_flow *flow)
{
    return enter(flow);
}

int thrum_insert_items(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count)
{
    if (__builtin_expect(!flow, 0))
        return thrum__fault(THRUM_EINVAL, "thrum_insert: the flow is NULL");
    if (flow->recording)
        return thrum__record_insert(flow, codelet, items, count);
    if (items)
        prefetch_handles(items, count, *flow->runs_at_once);
    int err = enter(flow);
    if (err)
        return err;
    thrum__job *job;
    enum plain_outcome outcome = insert_plain(flow, codelet, items, count, &job);
    if (__builtin_expect(outcome == NOT_PLAIN, 0)) {
        err = insert_locked(flow, codelet, items, count);
        thrum__flow_unlock(flow);
    } else if (outcome != PLAIN_GONE) {
        thrum__favour_give(&flow->space->lock, flow->entered);
        if (outcome == PLAIN_READY)
            put_plain(flow, job);
    }
    if (__builtin_expect(err, 0))
        return thrum__flow_fail(flow, err);
    if (flow->count % LIGHTEN_EACH == 0)
        lighten(flow, (uint32_t)count);
    return 0;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void clear_jobs(thrum_flow *flow, bool all)
{
    bool entered = thrum__favour_take(&flow->space->lock);
    thrum__store_clear(&flow->store, all);
    thrum__favour_give(&flow->space->lock, entered);
}

/* Graphs, which do not know of groups, may use the handles when the flows have been waited for: so the flow that was
 * the last to reduce into one puts its copies together. */
static int close_reductions_locked(thrum_flow *flow)
{
    int err = 0;
    for (thrum_data *data = flow->space->first; data && !err; data = data->next)
        if (data->front.group == THRUM_MODE_REDUX && data->reducer == flow)
            err = thrum__flow_close_group(flow, data, THRUM_MODE_RW);
    return err;
}

static void close_reductions(thrum_flow *flow)
{
    if (!flow->reduces)
        return;
    flow->reduces = false;
    flow->entered = thrum__favour_take(&flow->space->lock);
    int err = close_reductions_locked(flow);
    thrum__flow_unlock(flow);
    if (err)
        thrum__flow_fail(flow, err);
}

static int wait_for_all(thrum_flow *flow, const char *what)
{
    if (!flow->begun)
        return 0;
    int err = thrum__stream_may_end(flow->stream, what);
    if (err)
        return err;
    close_reductions(flow);
    thrum__stream_end(flow->stream);
    flow->begun = false;
    clear_jobs(flow, false);
    err = thrum__stream_outcome(flow->stream);
    if (err && !flow->code) {
        thrum__root_clear(&flow->object.root);
        thrum__root_fail(&flow->object.root, err, thrum__last_fault());
        flow->code = err;
    }
    return 0;
}

int thrum_flow_wait(thrum_flow *flow)
{
    if (!flow)
        return thrum__fault(THRUM_EINVAL, "thrum_flow_wait: the flow is NULL");
    if (flow->recording)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_flow_wait: the flow records, and runs nothing; thrum_flow_free ends it");
    int err = wait_for_all(flow, "thrum_flow_wait");
    if (err)
        return err;
    int code = flow->code;
    flow->code = 0;
    return code ? thrum__fault(code, "%s", thrum__root_text(&flow->object.root)) : 0;
}

int thrum_flow_free(thrum_flow *flow)
{
    if (!flow)
        return 0;
    int err = flow->recording ? thrum__record_end(flow) : wait_for_all(flow, "thrum_flow_free");
    if (err == THRUM_EDEADLOCK)
        return err;
    int code = flow->code;
    if (code)
        thrum__fault(code, "%s", thrum__root_text(&flow->object.root));
    clear_jobs(flow, true);
    thrum__stream_free(flow->stream);
    thrum__root_clear(&flow->object.root);
    flow->object.kind = 0;
    thrum__free(flow);
    return code;
}
