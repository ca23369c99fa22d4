/* SPDX-License-Identifier: MIT
 *
 * Workloads of graphs whose tasks run codelets.
 */
#include "front/codelet_task.h"

#include "base/alloc.h"
#include "model/reduction.h"
#include "model/workload.h"
#include "sched/perf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Numbers of handles and codelets by address: a hash table, a power of two. */
typedef struct addresses {
    struct address {
        const void *address; /* NULL: free */
        int number;
        bool used; /* of data: its content has been used or written */
    } * slots;
    size_t room, count;
} addresses;

typedef struct pair {
    int before, after;
} pair;

typedef struct maker {
    thrum_workload *workload;
    bool measured;
    int err;
    const thrum_task **tasks; /* of the graph, by number */
    int count;
    pair *edges; /* of the graph, by numbers of tasks there */
    size_t edge_count, edge_room;
    bool backward;
    int *number; /* of each task in the workload */
    addresses data, codelets;
    thrum_workload_access *accesses; /* of the task at hand, */
    thrum_buffer *buffers;           /* and what they look like; */
    size_t room;                     /* of both */
} maker;

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "thrum_workload_of_graph: no memory");
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static struct address *slot_of(struct address *slots, size_t room, const void *address)
{
    size_t at = ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (at &= room - 1; slots[at].address && slots[at].address != address; at = (at + 1) & (room - 1))
        ;
    return &slots[at];
}

static bool grow(addresses *all)
{
    size_t room = all->room ? 2 * all->room : 64;
    struct address *slots = thrum__zalloc(room * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < all->room; i++)
        if (all->slots[i].address)
            *slot_of(slots, room, all->slots[i].address) = all->slots[i];
    thrum__free(all->slots);
    all->slots = slots;
    all->room = room;
    return true;
}

/* Where the address is; its number is -1 if it is new. NULL without memory. */
static struct address *entry_of(addresses *all, const void *address)
{
    if (2 * (all->count + 1) > all->room && !grow(all))
        return NULL;
    struct address *entry = slot_of(all->slots, all->room, address);
    if (!entry->address) {
        *entry = (struct address){.address = address, .number = -1};
        all->count++;
    }
    return entry;
}

/* ---- The graph's tasks and edges --------------------------------------------------------------------------------- */

static int refuse(const thrum_task *task, const char *kind, const char *why)
{
    const char *name = thrum_task_name(task);
    return thrum__fault(THRUM_EINVAL, "thrum_workload_of_graph: task %lld%s%s%s is a %s: %s",
                        (long long)thrum_task_number(task), *name ? " '" : "", name, *name ? "'" : "", kind, why);
}

static int take_edges(maker *m, const thrum_task *task, const thrum_task *const *successors, size_t count)
{
    int number = (int)thrum_task_number(task);
    if (thrum__is_condition(task))
        return refuse(task, "condition", "what it chooses is known at run time only");
    if (thrum__kind_of(task) == THRUM__IS_MODULE)
        return refuse(task, "module", "the tasks of its graph are not here");
    if (!thrum__wl_grow((void **)&m->edges, &m->edge_room, m->edge_count, count, sizeof *m->edges))
        return no_memory();
    m->tasks[number] = task;
    for (size_t i = 0; i < count; i++) {
        int after = (int)thrum_task_number(successors[i]);
        m->edges[m->edge_count++] = (pair){number, after};
        m->backward |= after < number;
    }
    return 0;
}

static void visit(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    maker *m = arg;
    if (!m->err)
        m->err = take_edges(m, task, successors, count);
}

/* ---- An order ---------------------------------------------------------------------------------------------------- */

/* The order that the edges alone give, by a workload that has nothing else. */
static int order_by_edges(const maker *m, thrum__wl_order *order)
{
    thrum_workload *bare = thrum_workload_new("");
    int err = bare ? 0 : THRUM_ENOMEM, codelet = bare ? thrum_workload_add_codelet(bare, "task", 1) : 0;
    if (codelet < 0)
        err = codelet;
    for (int i = 0; i < m->count && !err; i++) {
        int number = thrum_workload_add_task(bare, &(thrum_workload_task){.bucket = -1, .worker = -1});
        err = number < 0 ? number : 0;
    }
    for (size_t i = 0; i < m->edge_count && !err; i++)
        err = thrum_workload_add_edge(bare, m->edges[i].before, m->edges[i].after);
    if (!err)
        err = thrum__wl_order_make(bare, order);
    thrum_workload_free(bare);
    return err;
}

/* ---- Data and codelets ------------------------------------------------------------------------------------------- */

/* Data has content in the beginning if its content is what is used first. */
static int take_data(maker *m, const thrum_data *data, enum thrum_mode mode)
{
    struct address *entry = entry_of(&m->data, data);
    if (!entry)
        return no_memory();
    if (entry->number < 0)
        entry->number = thrum_workload_add_data(m->workload, thrum_data_name(data), thrum_data_bytes(data), false);
    if (entry->number < 0 || entry->used || mode == THRUM_MODE_SCRATCH)
        return entry->number;
    entry->used = true;
    m->workload->data[entry->number].written =
        mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
    return entry->number;
}

static unsigned archs_of(const thrum_codelet *codelet)
{
    return (codelet->cpu ? 1u << THRUM_ARCH_CPU : 0) | (codelet->emu ? 1u << THRUM_ARCH_EMU : 0);
}

static int take_codelet(maker *m, const thrum_codelet *codelet)
{
    struct address *entry = entry_of(&m->codelets, codelet);
    if (!entry)
        return no_memory();
    if (entry->number < 0)
        entry->number = thrum_workload_add_codelet(m->workload, codelet->name, archs_of(codelet));
    return entry->number;
}

static int take_plain(maker *m, const thrum_task *task)
{
    const char *name = thrum_task_name(task);
    return thrum_workload_add_codelet(m->workload, *name ? name : "task", 1u << THRUM_ARCH_CPU);
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static bool room_for(maker *m, size_t count)
{
    if (count <= m->room)
        return true;
    thrum__free(m->accesses);
    thrum__free(m->buffers);
    m->accesses = thrum__alloc(2 * count * sizeof *m->accesses);
    m->buffers = thrum__alloc(2 * count * sizeof *m->buffers);
    m->room = m->accesses && m->buffers ? 2 * count : 0;
    return m->room > 0;
}

/* Accesses of the task, what they look like, and the shape of all. 0 or an error. */
static int take_accesses(maker *m, const thrum__codelet_task *from, thrum_workload_task *task, thrum__perf_shape *shape)
{
    if (!room_for(m, from->count + 2))
        return no_memory();
    for (uint32_t i = 0; i < from->count; i++) {
        thrum_data *data = thrum__used_data(from, i);
        enum thrum_mode mode = thrum__used_mode(from, i);
        int number = take_data(m, data, mode);
        if (number < 0)
            return number;
        m->accesses[i] = (thrum_workload_access){number, mode};
        thrum__data_packed_buffer(data, NULL, 0, &m->buffers[i]);
        thrum__perf_shape_add(shape, thrum__data_footprint(data), thrum_data_bytes(data));
    }
    task->access = m->accesses;
    task->access_count = (int)from->count;
    return 0;
}

static void expect_seconds(const maker *m, const thrum_codelet *codelet, const thrum__perf_shape *shape, int count,
                           const void *arg, thrum_workload_task *task)
{
    for (int arch = 0; arch < THRUM_ARCHS && m->measured; arch++) {
        bool device = arch != THRUM_ARCH_CPU;
        thrum_place place = {.arch = (enum thrum_arch)arch, .node = device, .device = device ? 0 : -1};
        if (!(archs_of(codelet) & 1u << arch))
            continue;
        double seconds = thrum__perf_expect(codelet, &place, shape, m->buffers, count, arg);
        task->seconds[arch] = seconds > 0 ? seconds : 0;
    }
}

/* What its codelet says of it. A combination sees two of the same shape. */
static void take_work(const maker *m, const thrum__codelet_task *from, const thrum__perf_shape *shape,
                      thrum_workload_task *task)
{
    int count = (int)from->count;
    const void *arg = thrum__codelet_task_arg(from);
    if (from->kind == THRUM__JOB_COMBINE) {
        m->buffers[1] = m->buffers[0];
        count = 2;
    }
    task->work = from->codelet->work ? from->codelet->work(m->buffers, count, arg) : (double)shape->bytes;
    expect_seconds(m, from->codelet, shape, count, arg, task);
}

static int take_codelet_task(maker *m, const thrum_task *own, const thrum__codelet_task *from)
{
    const thrum__codelet_rest *rest = thrum__codelet_task_rest(from);
    thrum_workload_task task = {
        .name = rest->name, .priority = rest->priority, .bucket = rest->bucket, .worker = from->worker};
    thrum__perf_shape shape = {0};
    int err = take_accesses(m, from, &task, &shape);
    if (err)
        return err;
    task.codelet = from->codelet                    ? take_codelet(m, from->codelet)
                   : from->kind == THRUM__JOB_FETCH ? thrum_workload_add_codelet(m->workload, "fetch", 1)
                                                    : take_plain(m, own);
    if (task.codelet < 0)
        return task.codelet;
    if (from->codelet)
        take_work(m, from, &shape, &task);
    return thrum_workload_add_task(m->workload, &task);
}

static int take_task(maker *m, const thrum_task *task)
{
    const thrum__codelet_task *from = thrum__codelet_task_of(task);
    if (from)
        return take_codelet_task(m, task, from);
    int codelet = take_plain(m, task);
    if (codelet < 0)
        return codelet;
    return thrum_workload_add_task(m->workload,
                                   &(thrum_workload_task){.codelet = codelet, .bucket = THRUM_NO_BUCKET, .worker = -1});
}

/* ---- Edges that do not follow from accesses ---------------------------------------------------------------------- */

/* Each list of an order is sorted. */
static bool is_there(const thrum__wl_order *order, int before, int after)
{
    size_t from = order->first[before], to = order->first[before + 1];
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (order->after[middle] == after)
            return true;
        if (order->after[middle] < after)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

static int add_edges(maker *m)
{
    thrum__wl_order order;
    int err = thrum__wl_order_make(m->workload, &order);
    if (err)
        return err;
    for (size_t i = 0; i < m->edge_count && !err; i++) {
        int before = m->number[m->edges[i].before], after = m->number[m->edges[i].after];
        if (!is_there(&order, before, after))
            err = thrum_workload_add_edge(m->workload, before, after);
    }
    thrum__wl_order_drop(&order);
    return err;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int take_tasks(maker *m)
{
    thrum__wl_order order = {0};
    int err = m->backward ? order_by_edges(m, &order) : 0;
    for (int i = 0; i < m->count && !err; i++) {
        int task = m->backward ? order.sequence[i] : i, number = take_task(m, m->tasks[task]);
        m->number[task] = number;
        err = number < 0 ? number : 0;
    }
    thrum__wl_order_drop(&order);
    return err ? err : add_edges(m);
}

static int make(maker *m, thrum_graph *graph)
{
    int err = thrum_graph_freeze(graph);
    if (err)
        return err;
    uint64_t count = thrum__task_count(graph);
    if (count > INT_MAX - 1)
        return thrum__fault(THRUM_ELIMIT, "thrum_workload_of_graph: more than %d tasks", INT_MAX - 1);
    m->count = (int)count;
    m->tasks = thrum__alloc((count + 1) * sizeof *m->tasks);
    m->number = thrum__alloc((count + 1) * sizeof *m->number);
    if (!m->tasks || !m->number)
        return no_memory();
    err = thrum_graph_visit(graph, visit, m);
    if (!err)
        err = m->err;
    return err ? err : take_tasks(m);
}

thrum_workload *thrum_workload_of_graph(thrum_graph *graph, bool measured)
{
    if (!graph) {
        thrum__fault(THRUM_EINVAL, "thrum_workload_of_graph: the graph is NULL");
        return NULL;
    }
    maker m = {.workload = thrum_workload_new(graph->names->graph), .measured = measured};
    int err = m.workload ? make(&m, graph) : THRUM_ENOMEM;
    if (err) {
        thrum_workload_free(m.workload);
        m.workload = NULL;
    }
    thrum__free(m.tasks);
    thrum__free(m.number);
    thrum__free(m.edges);
    thrum__free(m.data.slots);
    thrum__free(m.codelets.slots);
    thrum__free(m.accesses);
    thrum__free(m.buffers);
    return m.workload;
}
