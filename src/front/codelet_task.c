/* SPDX-License-Identifier: MIT
 *
 * Codelets as tasks of graphs. Where the executor steals, such a task is a plain one: it calls the kernel on data at
 * home. Where there is a policy, it is an event task: the job goes to the policy, and the task has completed when the
 * job has ended.
 */
#include "front/codelet_task.h"

#include "base/alloc.h"
#include "exec/inside.h"
#include "exec/place.h"
#include "model/reduction.h"

#include <string.h>

enum { FEW = 16, ALIGN = 16 };

/* Records begin in the middle of ALIGN bytes, arguments behind them at a multiple. */
static size_t head_bytes(uint32_t count)
{
    return (sizeof(thrum__codelet_task) + count * sizeof(uintptr_t)) / ALIGN * ALIGN + ALIGN / 2;
}

static const void *arg_of(const thrum__codelet_task *task)
{
    return task->arg_bytes ? (const char *)task + head_bytes(task->count) : NULL;
}

static thrum__codelet_rest *rest_of(const thrum__codelet_task *task)
{
    return thrum__kept_rest(task);
}

/* A task may run on any executor; its handles belong to one. */
static bool belongs_here(const thrum__codelet_task *task)
{
    if (__builtin_expect(!task->space || thrum__inside(task->space->ex), 1))
        return true;
    thrum_fail(THRUM_EINVAL, "task '%s' runs on another executor than that of its handles",
               task->codelet ? task->codelet->name : "fetch");
    return false;
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

/* The task's own name, which is with what runs seldom need. */
static const char *name_of(const thrum__codelet_task *task)
{
    const char *name = rest_of(task)->name;
    return name ? name : task->codelet ? task->codelet->name : "fetch";
}

static bool is_cut(const thrum_data *data)
{
    return atomic_load_explicit(&data->cut_now, memory_order_relaxed);
}

/* What a recording has put together again is not looked at: a run that failed may have left it cut. Nor is SCRATCH,
 * which has no order, and shares nothing but the shape. */
static const char *why_unusable(const thrum_data *data)
{
    if (is_cut(data) && data->in_parts)
        return "is partitioned; use its parts, or unpartition it";
    if (__atomic_load_n(&data->dissolved, __ATOMIC_RELAXED) && !is_cut(data->whole))
        return "is a part of a partition that has ended";
    return NULL;
}

static bool refuse(const thrum__codelet_task *task, const thrum_data *data, const char *why)
{
    char room[THRUM__DATA_TEXT];
    thrum_fail(THRUM_EDATA, "task '%s': %s %s", name_of(task), thrum__data_text(data, room), why);
    return true;
}

/* Of FETCH, whose first use is the whole: it cuts it into the others, which have nothing that would be brought, or puts
 * them together. */
static bool refuses_cut(const thrum__codelet_task *task)
{
    thrum_data *whole = thrum__used_data(task, 0);
    bool cuts = thrum__used_mode(task, 1) == THRUM_MODE_W;
    if (cuts && is_cut(whole) && whole->in_parts)
        return refuse(task, whole, "is partitioned already; unpartition it first");
    atomic_store_explicit(&whole->cut_now, cuts, memory_order_relaxed);
    return false;
}

static __attribute__((noinline)) bool refuses_parts(const thrum__codelet_task *task)
{
    if (task->kind == THRUM__JOB_FETCH)
        return refuses_cut(task);
    for (uint32_t i = 0; task->kind == THRUM__JOB_CODELET && i < task->count; i++) {
        const thrum_data *data = thrum__used_data(task, i);
        const char *why = thrum__used_mode(task, i) == THRUM_MODE_SCRATCH ? NULL : why_unusable(data);
        if (why)
            return refuse(task, data, why);
    }
    return false;
}

/* A task was made when its handles could be used; what has been partitioned or put together since, by flows or in runs
 * before this one, is seen now. Then the task has failed: true. */
static inline bool fails_by_parts(const thrum__codelet_task *task)
{
    bool may = task->space && atomic_load_explicit(&task->space->was_cut, memory_order_relaxed);
    return __builtin_expect(may, 0) && refuses_parts(task);
}

/* ---- Where the executor steals ----------------------------------------------------------------------------------- */

static int refuse_unread(const thrum__codelet_task *task, const thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    thrum_fail(THRUM_EDATA, "task '%s': %s is read, but nothing was written to it before", task->codelet->name,
               thrum__data_text(data, room));
    return THRUM_EDATA;
}

/* Access number `i`, where it is not just the memory that the handle has at home. */
static __attribute__((noinline)) int buffer_apart(const thrum__codelet_task *task, uint32_t i, thrum_buffer *buffer)
{
    thrum_data *data = thrum__used_data(task, i);
    enum thrum_mode mode = thrum__used_mode(task, i);
    /* In this order: in other modes another task may be giving it memory just now. */
    if ((mode == THRUM_MODE_R || mode == THRUM_MODE_RW) && !data->home.ptr)
        return refuse_unread(task, data);
    return thrum__buffer_apart(data, mode, buffer);
}

static void leave_home(const thrum__codelet_task *task, const thrum_buffer *buffers, uint32_t count)
{
    while (count-- > 0)
        thrum__buffer_leave_home(thrum__used_mode(task, count), &buffers[count]);
}

static void call_at_home(const thrum__codelet_task *task, thrum_buffer *buffers)
{
    bool apart = false;
    for (uint32_t i = 0; i < task->count; i++) {
        const thrum_data *data = thrum__used_data(task, i);
        if (__builtin_expect(thrum__is_at_home(data, thrum__used_mode(task, i)), 1)) {
            buffers[i] = data->home;
            continue;
        }
        apart = true;
        if (buffer_apart(task, i, &buffers[i])) {
            leave_home(task, buffers, i);
            return;
        }
    }
    task->codelet->cpu(buffers, arg_of(task));
    if (apart)
        leave_home(task, buffers, task->count);
}

static void call_with_many(const thrum__codelet_task *task)
{
    thrum_buffer *buffers = thrum__alloc(task->count * sizeof *buffers);
    if (buffers)
        call_at_home(task, buffers);
    else
        thrum_fail(THRUM_ENOMEM, "task '%s': no memory for its accesses", task->codelet->name);
    thrum__free(buffers);
}

static __attribute__((noinline)) void run_other_kind(const thrum__codelet_task *task)
{
    thrum_data *data = thrum__used_data(task, 0);
    if (task->kind == THRUM__JOB_JOIN) {
        thrum__reduction_reset(data->reduction);
        data->reduction->begun_by_graph = true;
    } else if (task->kind == THRUM__JOB_COMBINE) {
        thrum__combine_at_home(data, task->first_content);
    }
}

static void run_at_home(void *arg)
{
    const thrum__codelet_task *task = arg;
    thrum_buffer few[FEW];
    if (!belongs_here(task) || fails_by_parts(task))
        return;
    if (__builtin_expect(task->kind != THRUM__JOB_CODELET, 0))
        run_other_kind(task);
    else if (task->count > FEW)
        call_with_many(task);
    else
        call_at_home(task, few);
}

/* It has been pinned to a worker who may run it, if not all may. But its pin may have been changed since, and so may
 * the number of workers. */
static void run_where_allowed(void *arg)
{
    const thrum__codelet_task *task = arg;
    if (!belongs_here(task))
        return;
    if (thrum__codelet_runs_here(task->space, task->codelet, arg_of(task)))
        run_at_home(arg);
    else
        thrum_fail(THRUM_EINVAL, "task '%s' came to worker %d, which its can_run refuses; was it pinned anew?",
                   task->codelet->name, thrum_worker_index());
}

/* ---- Where there is a policy ------------------------------------------------------------------------------------- */

/* A firing of such a task; freed when it has ended. */
typedef struct firing {
    thrum__job_owner owner;
    thrum_event event;
    _Alignas(16) char job[]; /* a thrum__job, its accesses, the engine's part */
} firing;

static void firing_ended(thrum__job *job)
{
    firing *f = (firing *)((char *)job->owner - offsetof(firing, owner));
    thrum_event event = f->event;
    thrum__free(f);
    thrum_event_release(event);
}

static void fill_job(thrum__job *job, const thrum__codelet_task *task)
{
    const thrum__codelet_rest *rest = rest_of(task);
    job->codelet = task->codelet;
    job->count = task->count;
    job->kind = task->kind;
    job->has_rest = true;
    *thrum__job_rest_of(job) = (thrum__job_rest){.arg = (void *)(uintptr_t)arg_of(task),
                                                 .name = rest->name,
                                                 .priority = rest->priority,
                                                 .bucket = rest->bucket,
                                                 .worker = task->worker};
    job->first_content = task->first_content;
    for (uint32_t i = 0; i < task->count; i++) {
        job->access[i].data = thrum__used_data(task, i);
        job->access[i].mode = (uint8_t)thrum__used_mode(task, i);
        job->access[i].number = i;
    }
}

static firing *firing_new(const thrum__codelet_task *task, thrum_event event)
{
    size_t job_bytes = thrum__job_head(task->count);
    firing *f = thrum__zalloc_aligned(sizeof *f + job_bytes + thrum__placing_bytes(task->space->places, task->count));
    if (!f)
        return NULL;
    thrum__job *job = (thrum__job *)f->job;
    f->owner = (thrum__job_owner){.ex = task->space->ex, .root = thrum__root_now(), .ended = firing_ended};
    f->event = event;
    job->owner = &f->owner;
    fill_job(job, task);
    thrum__placing_init(job, f->job + job_bytes);
    return f;
}

static void run_placed(thrum_event event, void *arg)
{
    const thrum__codelet_task *task = arg;
    bool may = belongs_here(task) && !fails_by_parts(task);
    firing *f = may ? firing_new(task, event) : NULL;
    if (f) {
        thrum__place_push(task->space->places, (thrum__job *)f->job);
        return;
    }
    if (may)
        thrum_fail(THRUM_ENOMEM, "task '%s': no memory to run it", name_of(task));
    thrum_event_release(event);
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */

/* Acquire and release: whoever lets go of a part last comes after all that others did with it. */
static void count_use(thrum_data *data, int by)
{
    uint32_t before = atomic_fetch_add_explicit(&data->in_graphs, (uint32_t)by, memory_order_acq_rel);
    if (by > 0 || before != 1 || !data->of_graphs)
        return;
    if (data->replicas)
        thrum__replicas_free(data->space->places, data);
    thrum__data_retire(data);
}

/* Handles that a graph names cannot be unregistered. */
static void count_uses(void *bytes, int by)
{
    const thrum__codelet_task *task = bytes;
    const thrum__codelet_rest *rest = rest_of(task);
    for (uint32_t i = 0; i < task->count; i++) {
        count_use(thrum__used_data(task, i), by);
        count_use(rest->named[i], by);
    }
}

static thrum__codelet_task *record_new(thrum_graph *graph, const thrum__codelet_plan *plan)
{
    static const thrum__terms_of_job none = {.bucket = THRUM_NO_BUCKET, .worker = -1, .pin = -1};
    const thrum__terms_of_job *terms = plan->terms ? plan->terms : &none;
    size_t arg_bytes = terms->arg ? terms->arg->bytes : 0;
    thrum__codelet_task *task =
        thrum__graph_keep_room(graph, head_bytes(plan->count) + arg_bytes,
                               sizeof(thrum__codelet_rest) + plan->count * sizeof(thrum_data *), count_uses);
    if (!task)
        return NULL;
    *task = (thrum__codelet_task){.codelet = plan->codelet,
                                  .space = plan->space,
                                  .worker = terms->worker,
                                  .count = plan->count,
                                  .arg_bytes = (uint32_t)arg_bytes,
                                  .kind = (uint8_t)plan->kind,
                                  .first_content = plan->first_content};
    thrum__codelet_rest *rest = rest_of(task);
    *rest = (thrum__codelet_rest){.name = terms->name, .priority = terms->priority, .bucket = terms->bucket};
    for (uint32_t i = 0; i < plan->count; i++) {
        task->use[i] = (uintptr_t)plan->uses[i].data | (uintptr_t)plan->uses[i].mode;
        rest->named[i] = plan->uses[i].named;
    }
    if (arg_bytes)
        memcpy((char *)task + head_bytes(plan->count), terms->arg->ptr, arg_bytes);
    count_uses(task, 1);
    return task;
}

static void set_terms(thrum_task *task, const thrum__codelet_plan *plan, bool placed)
{
    const thrum__terms_of_job *terms = plan->terms;
    const char *name = terms && terms->name ? terms->name : plan->codelet ? plan->codelet->name : NULL;
    if (name)
        thrum_task_set_name(task, name);
    if (!terms || placed)
        return;
    if (terms->priority)
        thrum_task_set_priority(task, terms->priority > 0 ? THRUM_HIGH : THRUM_LOW);
    if (terms->pin >= 0)
        thrum_task_pin_worker(task, terms->pin);
}

/* Whoever combines is asked for nothing but an implementation. */
static thrum_fn *home_function(const thrum__codelet_plan *plan)
{
    bool asks = plan->kind == THRUM__JOB_CODELET && plan->codelet->can_run;
    return asks ? run_where_allowed : run_at_home;
}

thrum_task *thrum__codelet_task_add(thrum_graph *graph, const thrum__codelet_plan *plan, const char *what)
{
    bool placed = plan->space && plan->space->places && plan->kind != THRUM__JOB_JOIN;
    thrum__codelet_task *record = record_new(graph, plan);
    if (!record) {
        thrum__graph_fail_memory(graph, what);
        return NULL;
    }
    thrum_task *task =
        placed ? thrum_event_task_new(graph, run_placed, record) : thrum_task_new(graph, home_function(plan), record);
    if (task)
        set_terms(task, plan, placed);
    return task;
}

/* Without data it is not known yet whose workers it will be. */
static int find_worker(thrum__space *space, const thrum_codelet *codelet, thrum__terms_of_job *terms)
{
    if (space)
        return thrum__find_worker(space, codelet, terms, "thrum_codelet_task");
    terms->pin = terms->worker;
    if (!codelet->cpu)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_codelet_task: codelet '%s' has no implementation for processors, and a task without "
                            "data runs on those",
                            codelet->name);
    if (codelet->can_run)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_codelet_task: codelet '%s' has a can_run, which is asked about the workers of the "
                            "executor that data belongs to; give the task an access",
                            codelet->name);
    return 0;
}

static int check(const thrum_codelet *codelet, thrum__space *space, thrum__terms_of_job *terms,
                 const thrum__access *access)
{
    for (uint32_t i = 0; i < terms->accesses; i++) {
        if (access[i].mode == THRUM_MODE_REDUX || access[i].mode == THRUM_MODE_COMMUTE)
            return thrum__fault(THRUM_EDATA, "thrum_codelet_task of '%s': access %u is %s, which is for flows",
                                codelet->name, i, access[i].mode == THRUM_MODE_REDUX ? "REDUX" : "COMMUTE");
        int err = thrum__parts_check(codelet, access[i].data, (enum thrum_mode)access[i].mode, "thrum_codelet_task");
        if (err)
            return err;
    }
    return find_worker(space, codelet, terms);
}

static thrum__space *space_of(const thrum_item *items, size_t count)
{
    for (size_t i = 0; items && i < count; i++) {
        const thrum_data *data = items[i].ptr;
        if (items[i].kind >= THRUM_MODE_R && items[i].kind <= THRUM_MODE_COMMUTE && data)
            return data->space;
    }
    return NULL;
}

static thrum_task *add(thrum_graph *graph, const thrum_codelet *codelet, const thrum_item *items, size_t count,
                       thrum__access *access, thrum__use *uses)
{
    thrum__terms_of_job terms;
    thrum__space *space = space_of(items, count);
    int err = thrum__items_read(space, codelet, items, count, "thrum_codelet_task", &terms, access);
    if (!err)
        err = thrum__items_check_pairs(codelet, access, terms.accesses, "thrum_codelet_task");
    if (!err)
        err = check(codelet, space, &terms, access);
    if (err) {
        thrum__graph_keep_error(graph, err);
        return NULL;
    }
    for (uint32_t i = 0; i < terms.accesses; i++)
        uses[i] = (thrum__use){access[i].data, access[i].data, (enum thrum_mode)access[i].mode};
    return thrum__codelet_task_add(
        graph,
        &(thrum__codelet_plan){
            .codelet = codelet, .space = space, .terms = &terms, .uses = uses, .count = terms.accesses},
        "thrum_codelet_task");
}

thrum_task *thrum_codelet_task_items(thrum_graph *graph, const thrum_codelet *codelet, const thrum_item *items,
                                     size_t count)
{
    if (!graph) {
        thrum__fault(THRUM_EINVAL, "thrum_codelet_task: the graph is NULL");
        return NULL;
    }
    if (thrum__graph_idle(graph, "thrum_codelet_task"))
        return NULL;
    thrum__access *access = thrum__alloc((count + 1) * (sizeof *access + sizeof(thrum__use)));
    if (!access) {
        thrum__graph_fail_memory(graph, "thrum_codelet_task");
        return NULL;
    }
    thrum_task *task = add(graph, codelet, items, count, access, (thrum__use *)(access + count + 1));
    thrum__free(access);
    return task;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

const thrum__codelet_task *thrum__codelet_task_of(const thrum_task *task)
{
    uint32_t kind = thrum__kind_of(task);
    bool placed = kind == THRUM__IS_EVENT && task->fn.event == run_placed;
    /* Plain tasks with terms have the sign bit. */
    bool at_home =
        (kind == 0 || kind == THRUM__SLOW) && (task->fn.plain == run_at_home || task->fn.plain == run_where_allowed);
    return placed || at_home ? task->arg : NULL;
}

const void *thrum__codelet_task_arg(const thrum__codelet_task *task)
{
    return arg_of(task);
}

const thrum__codelet_rest *thrum__codelet_task_rest(const thrum__codelet_task *task)
{
    return rest_of(task);
}

/* ---- Binding ----------------------------------------------------------------------------------------------------- */

struct binding {
    const thrum_data *named;
    thrum_data *data;
    size_t found, partitions, reductions, writes;
};

static void bind_uses(void *bytes, void *arg)
{
    thrum__codelet_task *task = bytes;
    struct binding *binding = arg;
    for (uint32_t i = 0; i < task->count; i++) {
        if (rest_of(task)->named[i] != binding->named)
            continue;
        count_use(binding->data, 1);
        count_use(thrum__used_data(task, i), -1);
        task->use[i] = (uintptr_t)binding->data | (uintptr_t)thrum__used_mode(task, i);
        binding->found++;
    }
}

/* Parts lie in the memory of what was cut; and not every handle can be reduced into. */
static void look_at_uses(void *bytes, void *arg)
{
    const thrum__codelet_task *task = bytes;
    struct binding *binding = arg;
    for (uint32_t i = 0; i < task->count; i++) {
        if (rest_of(task)->named[i] != binding->named)
            continue;
        binding->partitions += task->kind == THRUM__JOB_FETCH;
        binding->reductions += thrum__used_mode(task, i) == THRUM_MODE_REDUX;
        binding->writes += thrum__used_mode(task, i) == THRUM_MODE_W || thrum__used_mode(task, i) == THRUM_MODE_RW;
    }
}

static int check_uses(thrum_graph *graph, const thrum_data *recorded, const thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    struct binding found = {.named = recorded};
    thrum__graph_each_kept(graph, count_uses, look_at_uses, &found);
    if (found.partitions)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_bind: the graph partitions %s, which cannot be exchanged",
                            thrum__data_text(recorded, room));
    if (found.reductions && !data->reduction)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_graph_bind: the graph reduces into what was recorded, but %s has no reduction",
                            thrum__data_text(data, room));
    if (found.writes && data->overlaps)
        return thrum__fault(THRUM_EDATA,
                            "thrum_graph_bind: the graph writes what was recorded, but %s is a part with a shadow, "
                            "which can only be read",
                            thrum__data_text(data, room));
    return 0;
}

static int check_binding(thrum_graph *graph, const thrum_data *recorded, const thrum_data *data)
{
    char one[THRUM__DATA_TEXT], other[THRUM__DATA_TEXT];
    int err = thrum__data_check(recorded, NULL, "thrum_graph_bind");
    if (!err)
        err = thrum__data_check(data, recorded->space, "thrum_graph_bind");
    if (err)
        return err;
    if (!thrum__data_alike(recorded, data))
        return thrum__fault(THRUM_EINVAL, "thrum_graph_bind: %s and %s differ in layout, extents or element size",
                            thrum__data_text(recorded, one), thrum__data_text(data, other));
    if (recorded->parts || data->parts)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_bind: %s is partitioned",
                            thrum__data_text(recorded->parts ? recorded : data, one));
    if (data->dissolved)
        return thrum__fault(THRUM_EDATA, "thrum_graph_bind: %s is a part of a partition that has ended",
                            thrum__data_text(data, one));
    err = thrum__graph_idle(graph, "thrum_graph_bind");
    return err || recorded == data ? err : check_uses(graph, recorded, data);
}

int thrum_graph_bind(thrum_graph *graph, thrum_data *recorded, thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_bind: the graph is NULL");
    int err = check_binding(graph, recorded, data);
    if (err)
        return err;
    struct binding binding = {.named = recorded, .data = data};
    thrum__graph_each_kept(graph, count_uses, bind_uses, &binding);
    if (binding.found == 0)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_bind: no task of the graph uses %s",
                            thrum__data_text(recorded, room));
    return 0;
}
