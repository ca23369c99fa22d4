/* SPDX-License-Identifier: MIT
 *
 * Workloads: making and measuring them. Everything is in arrays, by number.
 */
#include "model/workload.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned all_archs = (1u << THRUM_ARCHS) - 1;

/* ---- The whole --------------------------------------------------------------------------------------------------- */

thrum_workload *thrum_workload_new(const char *name)
{
    thrum_workload *workload = thrum__zalloc(sizeof *workload);
    if (workload)
        workload->name = thrum__copy_text(name ? name : "");
    if (workload && workload->name)
        return workload;
    thrum__free(workload);
    thrum__fault(THRUM_ENOMEM, "thrum_workload_new: no memory");
    return NULL;
}

void thrum_workload_free(thrum_workload *workload)
{
    if (!workload)
        return;
    for (int i = 0; i < workload->codelet_count; i++)
        thrum__free(workload->codelets[i].name);
    for (int i = 0; i < workload->data_count; i++)
        thrum__free(workload->data[i].name);
    for (int i = 0; i < workload->task_count; i++)
        thrum__free(workload->tasks[i].name);
    thrum__free(workload->codelets);
    thrum__free(workload->data);
    thrum__free(workload->tasks);
    thrum__free(workload->accesses);
    thrum__free(workload->edges);
    thrum__free(workload->name);
    thrum__free(workload->path);
    thrum__free(workload);
}

const char *thrum_workload_name(const thrum_workload *workload)
{
    return workload ? workload->name : "";
}

bool thrum__wl_grow(void **array, size_t *room, size_t count, size_t more, size_t size)
{
    if (count + more <= *room)
        return true;
    size_t wanted = *room ? 2 * *room : 16;
    while (wanted < count + more)
        wanted *= 2;
    void *larger = thrum__alloc(wanted * size);
    if (!larger)
        return false;
    if (count)
        memcpy(larger, *array, count * size);
    thrum__free(*array);
    *array = larger;
    *room = wanted;
    return true;
}

/* ---- Words for messages ------------------------------------------------------------------------------------------ */

static const char *task_name(const thrum_workload *workload, int task)
{
    const thrum__wl_task *t = &workload->tasks[task];
    return t->name ? t->name : workload->codelets[t->codelet].name;
}

const char *thrum__wl_task_text(const thrum_workload *workload, int task, char text[THRUM__WL_TEXT])
{
    snprintf(text, THRUM__WL_TEXT, "%d '%.40s'", task, task_name(workload, task));
    return text;
}

const char *thrum__wl_data_text(const thrum_workload *workload, int data, char text[THRUM__WL_TEXT])
{
    const char *name = workload->data[data].name;
    int used = snprintf(text, THRUM__WL_TEXT, "%d", data);
    if (name)
        snprintf(text + used, (size_t)(THRUM__WL_TEXT - used), " '%.40s'", name);
    return text;
}

static const char *mode_name(enum thrum_mode mode)
{
    static const char *const names[] = {"", "R", "W", "RW", "SCRATCH", "REDUX", "COMMUTE"};
    return names[mode];
}

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "no memory for the workload");
}

static int no_workload(const char *what)
{
    return thrum__fault(THRUM_EINVAL, "%s: the workload is NULL", what);
}

static int too_many(const char *things)
{
    return thrum__fault(THRUM_ELIMIT, "more than %d %s", INT_MAX - 1, things);
}

/* ---- Codelets and data ------------------------------------------------------------------------------------------- */

static int find_codelet(const thrum_workload *workload, const char *name, unsigned archs)
{
    for (int i = workload->codelet_count; i-- > 0;)
        if (workload->codelets[i].archs == archs && strcmp(workload->codelets[i].name, name) == 0)
            return i;
    return -1;
}

int thrum_workload_add_codelet(thrum_workload *workload, const char *name, unsigned archs)
{
    if (!workload)
        return no_workload("thrum_workload_add_codelet");
    if (!name || !*name)
        return thrum__fault(THRUM_EINVAL, "a codelet without a name");
    if (!archs || archs & ~all_archs)
        return thrum__fault(THRUM_EINVAL, "codelet '%s': 0x%x is no set of kinds of workers; each is a bit, 1 << arch",
                            name, archs);
    int found = find_codelet(workload, name, archs);
    if (found >= 0)
        return found;
    char *copy = thrum__copy_text(name);
    if (!copy || !thrum__wl_grow((void **)&workload->codelets, &workload->codelet_room, (size_t)workload->codelet_count,
                                 1, sizeof *workload->codelets)) {
        thrum__free(copy);
        return no_memory();
    }
    workload->codelets[workload->codelet_count] = (thrum__wl_codelet){copy, archs};
    return workload->codelet_count++;
}

int thrum_workload_add_data(thrum_workload *workload, const char *name, size_t bytes, bool written)
{
    if (!workload)
        return no_workload("thrum_workload_add_data");
    if (workload->data_count == INT_MAX - 1)
        return too_many("pieces of data");
    char *copy = name && *name ? thrum__copy_text(name) : NULL;
    if ((name && *name && !copy) || !thrum__wl_grow((void **)&workload->data, &workload->data_room,
                                                    (size_t)workload->data_count, 1, sizeof *workload->data)) {
        thrum__free(copy);
        return no_memory();
    }
    workload->data[workload->data_count] = (thrum__wl_data){.name = copy, .bytes = bytes, .written = written};
    return workload->data_count++;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static bool is_amount(double number)
{
    return isfinite(number) && number >= 0;
}

static int check_numbers(const thrum_workload *workload, const thrum_workload_task *task)
{
    int number = workload->task_count;
    if (task->codelet < 0 || task->codelet >= workload->codelet_count)
        return thrum__fault(THRUM_EINVAL, "task %d: there is no codelet %d; there are %d", number, task->codelet,
                            workload->codelet_count);
    if (!is_amount(task->work))
        return thrum__fault(THRUM_EINVAL, "task %d: its work is %g; it must be a number that is not negative", number,
                            task->work);
    if (task->bucket < THRUM_NO_BUCKET)
        return thrum__fault(THRUM_EINVAL, "task %d: its bucket is %d; buckets are counted from 0, and %d is none",
                            number, task->bucket, THRUM_NO_BUCKET);
    if (task->worker < -1)
        return thrum__fault(THRUM_EINVAL, "task %d: its worker is %d; they are counted from 0, and -1 is any", number,
                            task->worker);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (!is_amount(task->seconds[arch]))
            return thrum__fault(THRUM_EINVAL,
                                "task %d: it takes %g seconds; that must be a number that is not negative", number,
                                task->seconds[arch]);
    return 0;
}

static int check_access(thrum_workload *workload, const thrum_workload_access *access)
{
    int number = workload->task_count;
    char text[THRUM__WL_TEXT];
    if (access->data < 0 || access->data >= workload->data_count)
        return thrum__fault(THRUM_EINVAL, "task %d: there is no data %d; there are %d", number, access->data,
                            workload->data_count);
    if (access->mode < THRUM_MODE_R || access->mode > THRUM_MODE_COMMUTE)
        return thrum__fault(THRUM_EINVAL, "task %d: %d is no mode of access", number, (int)access->mode);
    thrum__wl_data *data = &workload->data[access->data];
    if (access->mode == THRUM_MODE_SCRATCH)
        return 0;
    if (data->named_by == workload->calls && !(data->named_as == THRUM_MODE_R && access->mode == THRUM_MODE_R))
        return thrum__fault(THRUM_EDATA,
                            "task %d: data %s is used twice, as %s and as %s; name it once, with the mode that covers "
                            "both",
                            number, thrum__wl_data_text(workload, access->data, text),
                            mode_name((enum thrum_mode)data->named_as), mode_name(access->mode));
    data->named_by = workload->calls;
    data->named_as = (uint8_t)access->mode;
    return 0;
}

/* Calls are numbered from 1 on, so that data which nobody named is told apart. */
static void begin_call(thrum_workload *workload)
{
    if (++workload->calls)
        return;
    for (int i = 0; i < workload->data_count; i++)
        workload->data[i].named_by = 0;
    workload->calls = 1;
}

static int check_task(thrum_workload *workload, const thrum_workload_task *task)
{
    int err = check_numbers(workload, task);
    if (err)
        return err;
    if (task->access_count < 0 || (task->access_count && !task->access))
        return thrum__fault(THRUM_EINVAL, "task %d: %d accesses%s", workload->task_count, task->access_count,
                            task->access ? "" : ", but the list is NULL");
    begin_call(workload);
    for (int i = 0; i < task->access_count && !err; i++)
        err = check_access(workload, &task->access[i]);
    return err;
}

static bool room_for_task(thrum_workload *workload, size_t accesses)
{
    return thrum__wl_grow((void **)&workload->tasks, &workload->task_room, (size_t)workload->task_count, 1,
                          sizeof *workload->tasks) &&
           thrum__wl_grow((void **)&workload->accesses, &workload->access_room, workload->access_count, accesses,
                          sizeof *workload->accesses);
}

int thrum_workload_add_task(thrum_workload *workload, const thrum_workload_task *task)
{
    if (!workload)
        return no_workload("thrum_workload_add_task");
    if (!task)
        return thrum__fault(THRUM_EINVAL, "thrum_workload_add_task: the task is NULL");
    if (workload->task_count == INT_MAX - 1)
        return too_many("tasks");
    int err = check_task(workload, task);
    if (err)
        return err;
    size_t accesses = (size_t)task->access_count;
    char *name = task->name && *task->name ? thrum__copy_text(task->name) : NULL;
    if ((task->name && *task->name && !name) || !room_for_task(workload, accesses)) {
        thrum__free(name);
        return no_memory();
    }
    thrum__wl_task *t = &workload->tasks[workload->task_count];
    *t = (thrum__wl_task){.name = name,
                          .codelet = task->codelet,
                          .priority = task->priority,
                          .bucket = task->bucket,
                          .worker = task->worker,
                          .work = task->work,
                          .first = workload->access_count,
                          .count = task->access_count};
    memcpy(t->seconds, task->seconds, sizeof t->seconds);
    if (accesses)
        memcpy(workload->accesses + workload->access_count, task->access, accesses * sizeof *task->access);
    workload->access_count += accesses;
    return workload->task_count++;
}

int thrum_workload_add_edge(thrum_workload *workload, int before, int after)
{
    if (!workload)
        return no_workload("thrum_workload_add_edge");
    for (int i = 0; i < 2; i++) {
        int task = i ? after : before;
        if (task < 0 || task >= workload->task_count)
            return thrum__fault(THRUM_EINVAL, "an edge from task %d to task %d: there is no task %d; there are %d",
                                before, after, task, workload->task_count);
    }
    if (before == after)
        return thrum__fault(THRUM_EINVAL, "an edge from task %d to itself: it would wait for ever", before);
    if (!thrum__wl_grow((void **)&workload->edges, &workload->edge_room, workload->edge_count, 1,
                        sizeof *workload->edges))
        return no_memory();
    workload->edges[workload->edge_count++] = (thrum__wl_edge){.before = before, .after = after};
    return 0;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

int thrum_workload_check(const thrum_workload *workload)
{
    thrum__wl_order order;
    if (!workload)
        return no_workload("thrum_workload_check");
    int err = thrum__wl_order_make(workload, &order);
    if (!err)
        thrum__wl_order_drop(&order);
    return err;
}

/* Tasks on the longest path; `depth` has room for all. */
static int longest_path(const thrum_workload *workload, const thrum__wl_order *order, int *depth)
{
    int longest = 0;
    memset(depth, 0, (size_t)workload->task_count * sizeof *depth);
    for (int i = 0; i < workload->task_count; i++) {
        int task = order->sequence[i], own = ++depth[task];
        longest = own > longest ? own : longest;
        for (size_t e = order->first[task]; e < order->first[task + 1]; e++)
            if (depth[order->after[e]] < own)
                depth[order->after[e]] = own;
    }
    return longest;
}

int thrum_workload_measure(const thrum_workload *workload, thrum_workload_size *size)
{
    thrum__wl_order order;
    if (!workload || !size)
        return thrum__fault(THRUM_EINVAL, "thrum_workload_measure: the %s is NULL", workload ? "size" : "workload");
    int err = thrum__wl_order_make(workload, &order);
    if (err)
        return err;
    int *depth = thrum__alloc(((size_t)workload->task_count + 1) * sizeof *depth);
    if (depth) {
        *size = (thrum_workload_size){.codelets = workload->codelet_count,
                                      .data = workload->data_count,
                                      .tasks = workload->task_count,
                                      .edges = order.first[workload->task_count],
                                      .accesses = workload->access_count,
                                      .depth = longest_path(workload, &order, depth)};
        for (int i = 0; i < workload->task_count; i++)
            size->work += workload->tasks[i].work;
        for (int i = 0; i < workload->data_count; i++)
            size->bytes += (double)workload->data[i].bytes;
    } else {
        err = no_memory();
    }
    thrum__free(depth);
    thrum__wl_order_drop(&order);
    return err;
}
