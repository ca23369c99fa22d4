/* SPDX-License-Identifier: MIT
 *
 * Recording: a flow whose tasks become tasks of a graph. Order is found out as in model/order.h, but between tasks of
 * the graph, and once: fronts are the recording's own, kept by handle, and edges are the graph's.
 *
 * Commuting tasks are recorded as writers in the order of insertion, which is one of the orders that they allow.
 */
#include "front/codelet_task.h"

#include "base/alloc.h"
#include "exec/place.h"
#include "model/reduction.h"

#include <string.h>

/* The newest tasks that use a handle. */
typedef struct recorded_front {
    thrum_data *data;
    thrum_task *last;
    thrum_task **members;
    size_t count, room;
    uint8_t group; /* THRUM_MODE_R or THRUM_MODE_REDUX; 0: none */
    bool written, first_content;
} recorded_front;

typedef struct thrum__recording {
    thrum_graph *graph;
    recorded_front *fronts; /* a hash table by handle; a power of two */
    size_t room, count;
} recording;

/* ---- Fronts ------------------------------------------------------------------------------------------------------ */

static recorded_front *slot_of(recorded_front *fronts, size_t room, const thrum_data *data)
{
    size_t at = ((uintptr_t)data >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (at &= room - 1; fronts[at].data && fronts[at].data != data; at = (at + 1) & (room - 1))
        ;
    return &fronts[at];
}

static bool grow(recording *r)
{
    size_t room = r->room ? 2 * r->room : 64;
    recorded_front *fronts = thrum__zalloc(room * sizeof *fronts);
    if (!fronts)
        return false;
    for (size_t i = 0; i < r->room; i++)
        if (r->fronts[i].data)
            *slot_of(fronts, room, r->fronts[i].data) = r->fronts[i];
    thrum__free(r->fronts);
    r->fronts = fronts;
    r->room = room;
    return true;
}

/* NULL without memory. */
static recorded_front *front_of(recording *r, thrum_data *data)
{
    if (2 * (r->count + 1) > r->room && !grow(r))
        return NULL;
    recorded_front *front = slot_of(r->fronts, r->room, data);
    if (!front->data) {
        *front = (recorded_front){.data = data, .written = data->front.written};
        data->recorded = true;
        r->count++;
    }
    return front;
}

static bool add_member(recorded_front *front, thrum_task *task, enum thrum_mode group)
{
    if (front->count == front->room) {
        size_t room = front->room ? 2 * front->room : 8;
        thrum_task **members = thrum__alloc(room * sizeof(thrum_task *));
        if (!members)
            return false;
        if (front->count)
            memcpy(members, front->members, front->count * sizeof(thrum_task *));
        thrum__free(front->members);
        front->members = members;
        front->room = room;
    }
    front->members[front->count++] = task;
    front->group = (uint8_t)group;
    return true;
}

/* The task comes behind all that is there, and is the last from now on. */
static void become_last(recorded_front *front, thrum_task *task)
{
    if (front->count)
        thrum_edges_in(task, front->members, front->count);
    else if (front->last)
        thrum_edge(front->last, task);
    front->last = task;
    front->count = 0;
    front->group = 0;
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "no memory to record a task");
}

/* Before a group of reducers comes a task that makes its copies begin anew: those of a run that failed were not
 * combined. */
static int begin_reduction(recording *r, recorded_front *front)
{
    thrum__use use = {front->data, front->data, THRUM_MODE_SCRATCH};
    thrum_task *task = thrum__codelet_task_add(
        r->graph,
        &(thrum__codelet_plan){.space = front->data->space, .uses = &use, .count = 1, .kind = THRUM__JOB_JOIN},
        "thrum_insert");
    if (!task)
        return thrum__last_code();
    become_last(front, task);
    front->first_content = !front->written;
    return 0;
}

static int combine_group(recording *r, recorded_front *front)
{
    thrum__use use = {front->data, front->data, THRUM_MODE_RW};
    thrum_task *task = thrum__codelet_task_add(r->graph,
                                               &(thrum__codelet_plan){.codelet = front->data->reduction->combine,
                                                                      .space = front->data->space,
                                                                      .uses = &use,
                                                                      .count = 1,
                                                                      .kind = THRUM__JOB_COMBINE,
                                                                      .first_content = front->first_content},
                                               "thrum_insert");
    if (!task)
        return thrum__last_code();
    become_last(front, task);
    return 0;
}

/* What comes between the group and an access of another kind. A group of reducers always has a task before and behind
 * it, so that edges are as many as tasks and not as many as pairs. */
static int close_group(recording *r, recorded_front *front, enum thrum_mode mode)
{
    int err = 0;
    if (mode == THRUM_MODE_SCRATCH || (front->group == mode && mode == THRUM_MODE_REDUX))
        return 0;
    if (front->group == THRUM_MODE_REDUX)
        err = combine_group(r, front);
    return !err && mode == THRUM_MODE_REDUX ? begin_reduction(r, front) : err;
}

static int order_access(recorded_front *front, thrum_task *task, enum thrum_mode mode)
{
    if (mode == THRUM_MODE_SCRATCH)
        return 0;
    if (mode != THRUM_MODE_R && mode != THRUM_MODE_REDUX) {
        become_last(front, task);
    } else {
        if (front->last && front->last != task)
            thrum_edge(front->last, task);
        if (!add_member(front, task, mode))
            return no_memory();
    }
    front->written |= mode != THRUM_MODE_R;
    return 0;
}

static int check_access(const thrum_codelet *codelet, const recorded_front *front, enum thrum_mode mode)
{
    char room[THRUM__DATA_TEXT];
    const thrum_data *data = front->data;
    bool reads = mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
    if (reads && !front->written)
        return thrum__fault(THRUM_EDATA, "thrum_insert of '%s': %s is read, but nothing was written to it before",
                            codelet->name, thrum__data_text(data, room));
    if (data->parts || data->dissolved)
        return thrum__fault(THRUM_EDATA, "thrum_insert of '%s': %s is %s", codelet->name, thrum__data_text(data, room),
                            data->parts ? "partitioned; use its parts, or unpartition it"
                                        : "a part of a partition that has ended");
    if (data->overlaps && mode != THRUM_MODE_R && mode != THRUM_MODE_SCRATCH)
        return thrum__fault(THRUM_EDATA,
                            "thrum_insert of '%s': %s is a part with a shadow: it can be read, but not written",
                            codelet->name, thrum__data_text(data, room));
    return 0;
}

static int prepare_fronts(recording *r, const thrum_codelet *codelet, const thrum__use *uses, uint32_t count)
{
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++) {
        recorded_front *front = front_of(r, uses[i].data);
        err = front ? check_access(codelet, front, uses[i].mode) : no_memory();
        if (!err)
            err = close_group(r, front, uses[i].mode);
    }
    return err;
}

static int order(recording *r, thrum_task *task, const thrum__use *uses, uint32_t count)
{
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++)
        err = order_access(slot_of(r->fronts, r->room, uses[i].data), task, uses[i].mode);
    return err;
}

static int insert(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count,
                  thrum__access *access, thrum__use *uses)
{
    recording *r = flow->recording;
    thrum__terms_of_job terms;
    int err = thrum__items_read(flow->space, codelet, items, count, "thrum_insert", &terms, access);
    if (!err)
        err = thrum__items_check_pairs(codelet, access, terms.accesses, "thrum_insert");
    if (!err)
        err = thrum__find_worker(flow->space, codelet, &terms, "thrum_insert");
    if (err)
        return err;
    for (uint32_t i = 0; i < terms.accesses; i++) {
        enum thrum_mode mode = (enum thrum_mode)access[i].mode;
        uses[i] = (thrum__use){access[i].data, access[i].data, mode == THRUM_MODE_COMMUTE ? THRUM_MODE_RW : mode};
    }
    if ((err = prepare_fronts(r, codelet, uses, terms.accesses)))
        return err;
    thrum_task *task = thrum__codelet_task_add(
        r->graph,
        &(thrum__codelet_plan){
            .codelet = codelet, .space = flow->space, .terms = &terms, .uses = uses, .count = terms.accesses},
        "thrum_insert");
    if (!task)
        return thrum__last_code();
    flow->count++;
    return order(r, task, uses, terms.accesses);
}

int thrum__record_insert(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count)
{
    int err = thrum__flow_error(flow);
    if (err)
        return err;
    thrum__access *access = thrum__alloc((count + 1) * (sizeof *access + sizeof(thrum__use)));
    err = access ? insert(flow, codelet, items, count, access, (thrum__use *)(access + count + 1)) : no_memory();
    thrum__free(access);
    return err ? thrum__flow_fail(flow, err) : 0;
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

/* A task that brings the whole and its parts home. */
static thrum_task *fetch_task(recording *r, const thrum_data *data, enum thrum_mode whole, enum thrum_mode part)
{
    thrum__use *uses = thrum__alloc((data->part_count + 1) * sizeof *uses);
    if (!uses) {
        no_memory();
        return NULL;
    }
    uses[0] = (thrum__use){(thrum_data *)(uintptr_t)data, (thrum_data *)(uintptr_t)data, whole};
    for (size_t i = 0; i < data->part_count; i++)
        uses[i + 1] = (thrum__use){data->parts[i], data->parts[i], part};
    thrum_task *task = thrum__codelet_task_add(
        r->graph,
        &(thrum__codelet_plan){
            .space = data->space, .uses = uses, .count = (uint32_t)data->part_count + 1, .kind = THRUM__JOB_FETCH},
        "thrum_partition");
    thrum__free(uses);
    return task;
}

static int cut(thrum_data *data, const thrum_cut *how)
{
    char room[THRUM__DATA_TEXT];
    if (data->parts || data->dissolved)
        return thrum__fault(THRUM_EDATA, "thrum_partition: %s %s", thrum__data_text(data, room),
                            data->parts ? "is partitioned already; unpartition it first"
                                        : "is a part of a partition that has ended");
    if (!how)
        return thrum__fault(THRUM_EINVAL, "thrum_partition: the cut is NULL");
    int err = thrum__data_cut(data, how, "thrum_partition");
    for (size_t i = 0; data->space->places && i < data->part_count && !err; i++)
        err = thrum__replicas_new(data->space->places, data->parts[i], true);
    return err;
}

int thrum__record_partition(thrum_flow *flow, thrum_data *data, const thrum_cut *how)
{
    recording *r = flow->recording;
    int err = cut(data, how);
    if (err)
        return err;
    recorded_front *front = front_of(r, data);
    if (!front)
        return no_memory();
    if ((err = close_group(r, front, THRUM_MODE_RW)))
        return err;
    bool written = front->written;
    thrum_task *task = fetch_task(r, data, written ? THRUM_MODE_RW : THRUM_MODE_W, THRUM_MODE_W);
    if (!task)
        return thrum__last_code();
    become_last(front, task);
    for (size_t i = 0; i < data->part_count; i++) {
        recorded_front *part = front_of(r, data->parts[i]);
        if (!part)
            return no_memory();
        part->last = task;
        part->written = written;
    }
    return 0;
}

static int refuse_unpartition(const thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    if (!data->parts)
        return thrum__fault(THRUM_EDATA, "thrum_unpartition: %s is not partitioned", thrum__data_text(data, room));
    for (size_t i = 0; i < data->part_count; i++)
        if (data->parts[i]->parts)
            return thrum__fault(THRUM_EDATA, "thrum_unpartition: part %zu of %s is partitioned itself", i,
                                thrum__data_text(data, room));
    return 0;
}

/* The parts are the graph's from now on, which names them in the task that ends them: thrum__codelet_task_add. */
int thrum__record_unpartition(thrum_flow *flow, thrum_data *data)
{
    recording *r = flow->recording;
    int err = refuse_unpartition(data);
    bool written = true;
    for (size_t i = 0; i < data->part_count && !err; i++) {
        recorded_front *part = front_of(r, data->parts[i]);
        err = part ? close_group(r, part, THRUM_MODE_RW) : no_memory();
        written &= part && part->written;
    }
    if (err)
        return err;
    thrum_task *task = fetch_task(r, data, THRUM_MODE_W, THRUM_MODE_RW);
    recorded_front *front = task ? front_of(r, data) : NULL;
    if (!front)
        return no_memory();
    for (size_t i = 0; i < data->part_count; i++) {
        become_last(slot_of(r->fronts, r->room, data->parts[i]), task);
        data->parts[i]->of_graphs = true;
        /* Relaxed: a graph that uses it may run meanwhile, to which it is a part until the task above has run. */
        __atomic_store_n(&data->parts[i]->dissolved, true, __ATOMIC_RELAXED);
    }
    become_last(front, task);
    front->written = written;
    thrum_data **parts = data->parts;
    thrum__data_uncut(data, true);
    thrum__data_parts_free(parts);
    return 0;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

thrum_flow *thrum_flow_record(thrum_executor *ex, thrum_graph *graph)
{
    if (!graph) {
        thrum__fault(THRUM_EINVAL, "thrum_flow_record: the graph is NULL");
        return NULL;
    }
    if (thrum__graph_idle(graph, "thrum_flow_record"))
        return NULL;
    thrum_flow *flow = thrum__flow_alloc(ex, "thrum_flow_record");
    recording *r = flow ? thrum__zalloc(sizeof *r) : NULL;
    if (flow && !r) {
        thrum__fault(THRUM_ENOMEM, "thrum_flow_record: no memory");
        thrum__free(flow);
    }
    if (!r)
        return NULL;
    r->graph = graph;
    flow->recording = r;
    return flow;
}

/* Reductions that nothing came behind are put together at the end of the graph. What the graph writes has content from
 * now on: it is going to run before anything else uses it. */
int thrum__record_end(thrum_flow *flow)
{
    recording *r = flow->recording;
    int err = 0;
    for (size_t i = 0; i < r->room; i++) {
        recorded_front *front = &r->fronts[i];
        if (!front->data)
            continue;
        if (front->group == THRUM_MODE_REDUX && !err && !flow->code)
            err = combine_group(r, front);
        if (!front->data->dissolved)
            front->data->front.written |= front->written;
        front->data->recorded = false;
        thrum__free(front->members);
    }
    thrum__free(r->fronts);
    thrum__free(r);
    flow->recording = NULL;
    return err ? thrum__flow_fail(flow, err) : 0;
}
