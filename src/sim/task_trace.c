/* SPDX-License-Identifier: MIT
 *
 * The trace of a simulated run, which looks like that of an executor: tasks by worker, copies by way between nodes.
 */
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "trace/chrome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Noting copies ----------------------------------------------------------------------------------------------- */

static void put_copy(task_run *run, trace_copy copy)
{
    if (run->trace_copy_count == run->trace_copy_room) {
        size_t room = run->trace_copy_room ? 2 * run->trace_copy_room : 256;
        trace_copy *larger = thrum__alloc(room * sizeof *larger);
        if (!larger) {
            run_fail(run, thrum__fault(THRUM_ENOMEM, "no memory for %zu copies in a trace", room));
            return;
        }
        if (run->trace_copy_count)
            memcpy(larger, run->trace_copies, run->trace_copy_count * sizeof *larger);
        thrum__free(run->trace_copies);
        run->trace_copies = larger;
        run->trace_copy_room = room;
    }
    run->trace_copies[run->trace_copy_count++] = copy;
    run->links[copy.road].trace_events++;
}

/* As exec/copies.c: its turn was when those before it had ended. */
void thrum__sim_trace_copy(task_run *run, const transfer *t)
{
    int number = t->from * run->world.nodes + t->to;
    road *l = &run->links[number];
    put_copy(run, (trace_copy){t->piece, number, t->reason, fmax(t->begin, l->free_since), run_now(run)});
    l->free_since = run_now(run);
}

void thrum__sim_trace_thrown_out(task_run *run, const piece *p, int node)
{
    int number = node * run->world.nodes + run->nodes[node].home;
    put_copy(run, (trace_copy){(int)(p - run->pieces), number, THRUM__THROWN_OUT, run_now(run), run_now(run)});
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Of workers first, then those of roads. */
typedef struct trace {
    thrum__ring *rings;
    thrum__track *tracks;
    thrum__link_track *links;
    size_t ring_count, link_count;
    char (*names)[64]; /* of devices */
    char *data_names;  /* DATA_NAME for each piece */
} trace;
enum { DATA_NAME = 48 };

static void trace_drop(trace *trace)
{
    for (size_t i = 0; trace->rings && i < trace->ring_count; i++)
        if (trace->rings[i].events)
            thrum__ring_fini(&trace->rings[i]);
    thrum__free(trace->rings);
    thrum__free(trace->tracks);
    thrum__free(trace->links);
    thrum__free(trace->names);
    thrum__free(trace->data_names);
}

/* As executors name them: cores have no domain, and each device is one. */
static void name_track(const task_run *run, trace *trace, int number)
{
    const thrum__site *site = &run->layout.workers[number], *before = number > 0 ? site - 1 : NULL;
    bool same = before && before->core_of == site->core_of;
    char *name = trace->names[number];
    if (site->core_of >= 0)
        snprintf(name, sizeof trace->names[0], "%.40s %d", run->layout.machine->kinds[site->kind].name, site->core_of);
    trace->tracks[number] = (thrum__track){.domain = name,
                                           .kind = "worker",
                                           .index = same ? trace->tracks[number - 1].index + 1 : 0,
                                           .number = number,
                                           .ring = &trace->rings[number],
                                           .stats = run->workers[number].counts};
}

static int link_begin(const task_run *run, trace *trace, int number)
{
    int nodes = run->world.nodes, behind = run->world.workers + (int)trace->link_count;
    thrum__ring *ring = &trace->rings[behind];
    if (run->links[number].trace_events == 0)
        return 0;
    trace->links[trace->link_count++] = (thrum__link_track){number / nodes, number % nodes, behind, ring};
    return thrum__ring_init(ring, run->links[number].trace_events);
}

static size_t count_roads(const task_run *run)
{
    size_t count = 0;
    for (int i = 0; i < run->world.nodes * run->world.nodes; i++)
        count += run->links[i].trace_events > 0;
    return count;
}

static int trace_begin(const task_run *run, trace *trace)
{
    size_t workers = (size_t)run->world.workers, roads = count_roads(run);
    bool failed = false;
    trace->ring_count = workers + roads;
    trace->rings = thrum__zalloc(trace->ring_count * sizeof *trace->rings);
    trace->tracks = thrum__zalloc(workers * sizeof *trace->tracks);
    trace->links = thrum__zalloc((roads + 1) * sizeof *trace->links);
    trace->names = thrum__zalloc(workers * sizeof *trace->names);
    trace->data_names = thrum__zalloc((size_t)run->workload->data_count * DATA_NAME + 1);
    if (!trace->rings || !trace->tracks || !trace->links || !trace->names || !trace->data_names)
        return THRUM_ENOMEM;
    for (int i = 0; i < run->world.workers; i++) {
        uint64_t tasks = run->workers[i].stats.tasks;
        failed |= thrum__ring_init(&trace->rings[i], tasks ? tasks : 1) != 0;
        name_track(run, trace, i);
    }
    for (int i = 0; i < run->world.nodes * run->world.nodes; i++)
        failed |= link_begin(run, trace, i) != 0;
    return failed ? THRUM_ENOMEM : 0;
}

static int64_t nanoseconds(double seconds)
{
    return (int64_t)llround(seconds * 1e9);
}

static thrum__ring *ring_of_road(const task_run *run, const trace *trace, int number)
{
    size_t i = 0;
    while (trace->links[i].from * run->world.nodes + trace->links[i].to != number)
        i++;
    return &trace->rings[trace->links[i].number];
}

static const char *name_of_data(const task_run *run, const trace *trace, int piece)
{
    char *name = trace->data_names + (size_t)piece * DATA_NAME;
    if (run->workload->data[piece].name)
        return run->workload->data[piece].name;
    snprintf(name, DATA_NAME, "data %d", piece);
    return name;
}

static void trace_fill_copies(const task_run *run, const trace *trace)
{
    for (size_t i = 0; i < run->trace_copy_count; i++) {
        const trace_copy *copy = &run->trace_copies[i];
        thrum__event event = {nanoseconds(copy->begin), nanoseconds(copy->end), name_of_data(run, trace, copy->piece),
                              thrum__copy_number(run->pieces[copy->piece].bytes, copy->what)};
        thrum__ring_put(ring_of_road(run, trace, copy->road), &event);
    }
}

static void trace_fill(const task_run *run, const trace *trace)
{
    for (int i = 0; i < run->done; i++) {
        const task *t = &run->tasks[run->trace_order[i]];
        thrum__event event = {nanoseconds(t->begin), nanoseconds(run->trace_end[i]), t->shown.name, THRUM__EVENT_JOB};
        thrum__ring_put(&trace->rings[t->worker], &event);
    }
}

int thrum__sim_trace_write(const task_run *run)
{
    trace trace = {0};
    int err = trace_begin(run, &trace);
    if (err)
        thrum__fault(err, "no memory to write the trace '%s'", run->sim->trace);
    else {
        trace_fill(run, &trace);
        trace_fill_copies(run, &trace);
        err = thrum__chrome_write(run->sim->trace, &(thrum__trace){.tracks = trace.tracks,
                                                                   .links = trace.links,
                                                                   .track_count = (size_t)run->world.workers,
                                                                   .link_count = trace.link_count});
    }
    trace_drop(&trace);
    return err;
}
