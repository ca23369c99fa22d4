/* SPDX-License-Identifier: MIT
 *
 * Which tasks of a workload wait for which.
 *
 * Tasks are gone through in the order of their numbers. Of each piece of data two groups are known: the newest, of
 * tasks that do not wait for each other (readers, commuters, reducers, or one writer), and the one before it. A task
 * that joins the newest group waits for the one before; any other waits for the newest, and begins a group of its own.
 * What an older group would add follows from that.
 */
#include "model/workload.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NOBODY = -1 };

/* Members are accesses by number, in lists through `next`. */
typedef struct front {
    ptrdiff_t newest, before; /* first of each group, or NOBODY */
    uint8_t mode;             /* of the newest group; 0: there is none */
    bool written;
} front;

typedef struct maker {
    const thrum_workload *workload;
    front *fronts;      /* by data */
    int *task_of;       /* by access */
    ptrdiff_t *next;    /* by access: the next one in its group */
    size_t *given;      /* by task: where the edges that were given begin in `sorted`; tasks + 1 */
    size_t *sorted;     /* numbers of edges that were given, by the task that waits */
    int *marked;        /* by task: the last task that was found to wait for it, plus 1 */
    int *before;        /* whom tasks wait for, one task after the other */
    size_t *first;      /* by task: where they begin; tasks + 1 */
    size_t count, room; /* of `before` */
    bool backward;      /* some task waits for one with a higher number */
} maker;

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "no memory for the order of the workload's tasks");
}

/* "FILE:LINE: ", or "" where it was not read from a file. */
static const char *place_of(const thrum_workload *workload, int line, char text[THRUM__WL_TEXT])
{
    text[0] = '\0';
    if (line)
        snprintf(text, THRUM__WL_TEXT, "%.70s:%d: ", workload->path ? workload->path : "the text", line);
    return text;
}

/* ---- Whom a task waits for --------------------------------------------------------------------------------------- */

static int wait_for(maker *m, int task, int before)
{
    if (m->marked[before] == task + 1 || before == task)
        return 0;
    if (!thrum__wl_grow((void **)&m->before, &m->room, m->count, 1, sizeof *m->before))
        return no_memory();
    m->marked[before] = task + 1;
    m->before[m->count++] = before;
    m->backward |= before > task;
    return 0;
}

static int wait_for_group(maker *m, int task, ptrdiff_t member)
{
    int err = 0;
    for (; member != NOBODY && !err; member = m->next[member])
        err = wait_for(m, task, m->task_of[member]);
    return err;
}

static bool is_shared(enum thrum_mode mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_COMMUTE || mode == THRUM_MODE_REDUX;
}

static bool needs_content(enum thrum_mode mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
}

static int never_written(const thrum_workload *workload, int task, int data)
{
    char place[THRUM__WL_TEXT], one[THRUM__WL_TEXT], other[THRUM__WL_TEXT];
    return thrum__fault(THRUM_EDATA,
                        "%stask %s reads data %s, but nothing was written to it before: a task with a lower number "
                        "must write it, or it is `written` in the beginning",
                        place_of(workload, workload->tasks[task].line, place), thrum__wl_task_text(workload, task, one),
                        thrum__wl_data_text(workload, data, other));
}

static int order_access(maker *m, int task, size_t number)
{
    const thrum_workload_access *access = &m->workload->accesses[number];
    front *front = &m->fronts[access->data];
    if (access->mode == THRUM_MODE_SCRATCH)
        return 0;
    if (needs_content(access->mode) && !front->written)
        return never_written(m->workload, task, access->data);
    bool joins = front->mode == access->mode && is_shared(access->mode);
    int err = wait_for_group(m, task, joins ? front->before : front->newest);
    if (!joins) {
        front->before = front->newest;
        front->newest = NOBODY;
        front->mode = (uint8_t)access->mode;
    }
    m->task_of[number] = task;
    m->next[number] = front->newest;
    front->newest = (ptrdiff_t)number;
    front->written |= access->mode != THRUM_MODE_R;
    return err;
}

static int order_task(maker *m, int task)
{
    const thrum__wl_task *t = &m->workload->tasks[task];
    int err = 0;
    m->first[task] = m->count;
    for (int i = 0; i < t->count && !err; i++)
        err = order_access(m, task, t->first + (size_t)i);
    for (size_t i = m->given[task]; i < m->given[task + 1] && !err; i++)
        err = wait_for(m, task, m->workload->edges[m->sorted[i]].before);
    return err;
}

/* ---- Memory of the maker ----------------------------------------------------------------------------------------- */

static void *array_of(size_t count, size_t size)
{
    return thrum__alloc((count + 1) * size);
}

static bool begin(maker *m, const thrum_workload *workload)
{
    size_t tasks = (size_t)workload->task_count, accesses = workload->access_count;
    *m = (maker){.workload = workload};
    m->fronts = array_of((size_t)workload->data_count, sizeof *m->fronts);
    m->task_of = array_of(accesses, sizeof *m->task_of);
    m->next = array_of(accesses, sizeof *m->next);
    m->given = thrum__zalloc((tasks + 2) * sizeof *m->given);
    m->sorted = array_of(workload->edge_count, sizeof *m->sorted);
    m->marked = thrum__zalloc((tasks + 1) * sizeof *m->marked);
    m->first = array_of(tasks, sizeof *m->first);
    if (!m->fronts || !m->task_of || !m->next || !m->given || !m->sorted || !m->marked || !m->first)
        return false;
    for (int i = 0; i < workload->data_count; i++)
        m->fronts[i] = (front){.newest = NOBODY, .before = NOBODY, .written = workload->data[i].written};
    return true;
}

static void end(maker *m)
{
    thrum__free(m->fronts);
    thrum__free(m->task_of);
    thrum__free(m->next);
    thrum__free(m->given);
    thrum__free(m->sorted);
    thrum__free(m->marked);
    thrum__free(m->before);
    thrum__free(m->first);
}

/* Counted two places further on, so that filling in leaves each beginning where it belongs. */
static void sort_given(maker *m)
{
    const thrum_workload *workload = m->workload;
    for (size_t i = 0; i < workload->edge_count; i++)
        m->given[workload->edges[i].after + 2]++;
    for (int i = 0; i < workload->task_count; i++)
        m->given[i + 2] += m->given[i + 1];
    for (size_t i = 0; i < workload->edge_count; i++)
        m->sorted[m->given[workload->edges[i].after + 1]++] = i;
}

/* ---- Lists of those who wait ------------------------------------------------------------------------------------- */

/* Tasks come in the order of their numbers, so each list is in that order. */
static int turn_around(const maker *m, thrum__wl_order *order)
{
    int tasks = m->workload->task_count;
    *order = (thrum__wl_order){.first = thrum__zalloc(((size_t)tasks + 2) * sizeof *order->first),
                               .after = array_of(m->count, sizeof *order->after),
                               .waits = array_of((size_t)tasks, sizeof *order->waits),
                               .sequence = array_of((size_t)tasks, sizeof *order->sequence)};
    if (!order->first || !order->after || !order->waits || !order->sequence)
        return no_memory();
    for (size_t i = 0; i < m->count; i++)
        order->first[m->before[i] + 2]++;
    for (int i = 0; i < tasks; i++)
        order->first[i + 2] += order->first[i + 1];
    for (int task = 0; task < tasks; task++) {
        order->waits[task] = (int)(m->first[task + 1] - m->first[task]);
        for (size_t i = m->first[task]; i < m->first[task + 1]; i++)
            order->after[order->first[m->before[i] + 1]++] = task;
    }
    return 0;
}

/* ---- The sequence ------------------------------------------------------------------------------------------------ */

/* A heap of tasks that are ready, the one with the smallest number on top. */
static void heap_add(int *heap, int count, int task)
{
    int at = count;
    for (; at > 0 && heap[(at - 1) / 2] > task; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = task;
}

static int heap_take(int *heap, int count)
{
    int top = heap[0], last = heap[count - 1], at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* How many tasks come into the sequence; those in a circle, and those behind one, do not. `missing` has what they wait
 * for still. */
static int put_in_sequence(thrum__wl_order *order, int tasks, int *missing, int *heap)
{
    int ready = 0, done = 0;
    memcpy(missing, order->waits, (size_t)tasks * sizeof *missing);
    for (int i = 0; i < tasks; i++)
        if (missing[i] == 0)
            heap_add(heap, ready++, i);
    while (ready > 0) {
        int task = heap_take(heap, ready--);
        order->sequence[done++] = task;
        for (size_t e = order->first[task]; e < order->first[task + 1]; e++)
            if (--missing[order->after[e]] == 0)
                heap_add(heap, ready++, order->after[e]);
    }
    return done;
}

/* One that the task waits for and that is in a circle, or behind one, too. */
static int stuck_before(const maker *m, const int *missing, int task)
{
    for (size_t i = m->first[task]; i < m->first[task + 1]; i++)
        if (missing[m->before[i]] > 0)
            return m->before[i];
    return NOBODY;
}

/* The line of an edge that was given from one to the other; 0: there is none. */
static int line_of_edge(const maker *m, int before, int after)
{
    for (size_t i = m->given[after]; i < m->given[after + 1]; i++)
        if (m->workload->edges[m->sorted[i]].before == before)
            return m->workload->edges[m->sorted[i]].line;
    return 0;
}

/* "task 1 'a' waits for task 2 'b', that for task 1 'a'": the circle in which `start` is; where it is long, a part of
 * it. */
static void describe_circle(const maker *m, const int *missing, int start, char *text, size_t size)
{
    enum { NAMED = 4 };
    char one[THRUM__WL_TEXT];
    int at = start, length = 0;
    size_t used = 0;
    do {
        if (length <= NAMED)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     length == 0   ? "task "
                                     : length == 1 ? " waits for task "
                                                   : ", that for task ",
                                     length < NAMED ? thrum__wl_task_text(m->workload, at, one) : "...");
        length++;
        at = stuck_before(m, missing, at);
    } while (at != start);
    snprintf(text + used, size - used, "%s%s", length == 1 ? " waits for task " : ", that for task ",
             thrum__wl_task_text(m->workload, start, one));
}

/* A line of an edge of the circle that was given; there is one, because accesses lead from lower to higher numbers. */
static int line_in_circle(const maker *m, const int *missing, int start)
{
    int at = start, line = 0;
    do {
        int before = stuck_before(m, missing, at);
        line = line_of_edge(m, before, at);
        at = before;
    } while (!line && at != start);
    return line;
}

/* Whoever is stuck waits for one that is stuck: going that way, some task comes a second time. `seen` is free to
 * use. */
static int circle_error(const maker *m, const int *missing, int *seen)
{
    char text[8 * (THRUM__WL_TEXT + 16)], place[THRUM__WL_TEXT];
    int start = 0;
    memset(seen, 0, (size_t)m->workload->task_count * sizeof *seen);
    while (missing[start] == 0)
        start++;
    for (; !seen[start]; start = stuck_before(m, missing, start))
        seen[start] = 1;
    describe_circle(m, missing, start, text, sizeof text);
    return thrum__fault(THRUM_ECYCLE, "%sworkload '%s' has tasks that wait for each other: %s",
                        place_of(m->workload, line_in_circle(m, missing, start), place), m->workload->name, text);
}

static int make_sequence(const maker *m, thrum__wl_order *order)
{
    int tasks = m->workload->task_count, err = 0;
    if (!m->backward) {
        for (int i = 0; i < tasks; i++)
            order->sequence[i] = i;
        return 0;
    }
    int *missing = array_of((size_t)tasks, sizeof *missing), *heap = array_of((size_t)tasks, sizeof *heap);
    if (!missing || !heap)
        err = no_memory();
    else if (put_in_sequence(order, tasks, missing, heap) < tasks)
        err = circle_error(m, missing, heap);
    thrum__free(missing);
    thrum__free(heap);
    return err;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int make(maker *m, thrum__wl_order *order)
{
    int tasks = m->workload->task_count, err = 0;
    sort_given(m);
    for (int task = 0; task < tasks && !err; task++)
        err = order_task(m, task);
    m->first[tasks] = m->count;
    if (!err)
        err = turn_around(m, order);
    return err ? err : make_sequence(m, order);
}

int thrum__wl_order_make(const thrum_workload *workload, thrum__wl_order *order)
{
    maker m;
    *order = (thrum__wl_order){0};
    int err = begin(&m, workload) ? make(&m, order) : no_memory();
    end(&m);
    if (err)
        thrum__wl_order_drop(order);
    return err;
}

void thrum__wl_order_drop(thrum__wl_order *order)
{
    thrum__free(order->first);
    thrum__free(order->after);
    thrum__free(order->waits);
    thrum__free(order->sequence);
    *order = (thrum__wl_order){0};
}
