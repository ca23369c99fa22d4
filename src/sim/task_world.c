/* SPDX-License-Identifier: MIT
 *
 * What a policy sees of the simulated machine, and what it must not do: what exec/world.c and exec/contract.c are for
 * executors.
 *
 * Workers of one device share it. What a policy is told of how long a task takes there is what it takes while all of
 * them are at work, as a model would have measured it.
 */
#include "sim/task_int.h"

#include "base/fault.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>

static task_run *of(const thrum_world *world)
{
    return (task_run *)(uintptr_t)world;
}

static task *task_of(const thrum_job *job)
{
    return (task *)(uintptr_t)job;
}

static bool is_worker(const thrum_world *world, int number)
{
    return number >= 0 && number < world->workers;
}

static bool is_node(const thrum_world *world, int number)
{
    return number >= 0 && number < world->nodes;
}

static double now(const thrum_world *world)
{
    return run_now(of(world));
}

static uint64_t random_bits(const thrum_world *world)
{
    uint64_t *state = &of(world)->random;
    uint64_t high = thrum__random(state);
    return high << 32 | thrum__random(state);
}

/* ---- Who can run what, and how long it takes --------------------------------------------------------------------- */

bool thrum__sim_can_run(const task_run *run, const task *t, int number)
{
    return t->kinds >> run->workers[number].kind & 1 && (t->pin < 0 || t->pin == number);
}

static bool can_run(const thrum_world *world, const thrum_job *job, int number)
{
    return is_worker(world, number) && thrum__sim_can_run(of(world), task_of(job), number);
}

static double seconds(const thrum_world *world, const thrum_job *job, int number)
{
    const task_run *run = of(world);
    if (!is_worker(world, number))
        return -1;
    size_t row = (size_t)(task_of(job) - run->tasks) * (size_t)run->kind_count;
    double expected = run->expected[row + (size_t)run->workers[number].kind];
    return isinf(expected) ? -1 : expected * run->sharers[number];
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

double thrum__sim_link_seconds(const task_run *run, int from, int to, double bytes)
{
    const road *l = &run->links[from * run->world.nodes + to];
    return l->latency + bytes * l->per_byte;
}

static double link_seconds(const thrum_world *world, int from, int to, size_t bytes)
{
    return is_node(world, from) && is_node(world, to) && from != to
               ? thrum__sim_link_seconds(of(world), from, to, (double)bytes)
               : 0;
}

static double bring_seconds(const task_run *run, const thrum_job_data *data, int to)
{
    const piece *p = (const piece *)(const void *)data->data;
    double least = -1;
    if (run_replica(run, p, to)->valid || run_replica(run, p, to)->arriving)
        return 0;
    for (int from = 0; from < run->world.nodes; from++) {
        if (!run_replica(run, p, from)->valid)
            continue;
        double seconds = thrum__sim_link_seconds(run, from, to, (double)data->bytes);
        least = least < 0 || seconds < least ? seconds : least;
    }
    return least < 0 ? 0 : least;
}

static double transfer_seconds(const thrum_world *world, const thrum_job *job, int number)
{
    double sum = 0;
    if (!is_node(world, number) || world->nodes == 1)
        return 0;
    for (int i = 0; i < job->data_count; i++) {
        enum thrum_mode mode = job->data[i].mode;
        if (mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE)
            sum += bring_seconds(of(world), &job->data[i], number);
    }
    return sum;
}

static uint64_t where(const thrum_world *world, const thrum_data *data)
{
    (void)world;
    return ((const piece *)(const void *)data)->where;
}

static bool is_on(const thrum_world *world, const thrum_data *data, int number)
{
    return is_node(world, number) && run_replica(of(world), (const piece *)(const void *)data, number)->valid;
}

/* The task that a policy means; NULL: it is none. */
static task *find(const task_run *run, const thrum_job *job)
{
    uintptr_t offset = (uintptr_t)job - (uintptr_t)run->tasks;
    bool is_one = offset % sizeof(task) == 0 && offset / sizeof(task) < (size_t)run->workload->task_count;
    return is_one ? task_of(job) : NULL;
}

static void prefetch(const thrum_world *world, thrum_job *job, int number)
{
    task_run *run = of(world);
    const task *t = find(run, job);
    if (is_node(world, number) && world->nodes > 1 && t && (t->state == TASK_QUEUED || t->state == TASK_TAKEN))
        thrum__sim_prefetch(run, t, number);
}

/* ---- Waking ------------------------------------------------------------------------------------------------------ */

/* One that was refused: all others pop again by themselves. While a task is pushed, one that can run it. */
static worker *some_idle(task_run *run)
{
    for (int i = 0; i < run->world.workers; i++) {
        worker *w = &run->workers[(run->next_any + i) % run->world.workers];
        if (!w->refused || (run->pushed && !thrum__sim_can_run(run, task_of(run->pushed), w->number)))
            continue;
        run->next_any = (w->number + 1) % run->world.workers;
        return w;
    }
    return NULL;
}

static bool is_ahead(const thrum_world *world, int number)
{
    return is_worker(world, number) && of(world)->workers[number].staged > 0;
}

static void wake(const thrum_world *world, int number)
{
    task_run *run = of(world);
    worker *w = number == THRUM_ANY_WORKER ? some_idle(run) : is_worker(world, number) ? &run->workers[number] : NULL;
    if (!w)
        return;
    w->refused = false;
    thrum__sim_call(run, w);
}

static void refuse(const thrum_world *world, const thrum_job *job, int code, const char *sentence)
{
    task_run *run = of(world);
    if (job && job == run->pushed && code != 0)
        run_fail(run, thrum__fault(code, "%s", sentence));
}

void thrum__sim_world_init(task_run *run)
{
    run->random = thrum__random_seed(run->sim->seed);
    run->world = (thrum_world){.workers = run->layout.worker_count,
                               .nodes = run->layout.node_count,
                               .place = run->layout.places,
                               .now = now,
                               .random = random_bits,
                               .can_run = can_run,
                               .seconds = seconds,
                               .transfer_seconds = transfer_seconds,
                               .is_on = is_on,
                               .where = where,
                               .link_seconds = link_seconds,
                               .is_ahead = is_ahead,
                               .prefetch = prefetch,
                               .wake = wake,
                               .refuse = refuse};
}

/* ---- The contract ------------------------------------------------------------------------------------------------ */

static const char *worker_name(const task_run *run, const worker *w, char text[120])
{
    char name[64] = "";
    thrum_machine_worker(run->layout.machine, w->number, NULL, name);
    snprintf(text, 120, "worker %d, which is %s,", w->number, name);
    return text;
}

task *thrum__sim_check_popped(task_run *run, const worker *w, const thrum_job *job)
{
    const char *name = run->policy->name;
    char text[120];
    task *t = find(run, job);
    if (!t || t->state == TASK_WAITS)
        run_fail(run, thrum__fault(THRUM_EPOLICY, "policy '%s' gave %s a task that was never pushed", name,
                                   worker_name(run, w, text)));
    else if (t->state != TASK_QUEUED)
        run_fail(run, thrum__fault(THRUM_EPOLICY, "policy '%s' popped task '%s' twice", name, t->shown.name));
    else if (!thrum__sim_can_run(run, t, w->number))
        run_fail(run, thrum__fault(THRUM_EPOLICY, "policy '%s' popped task '%s' for %s and cannot run it", name,
                                   t->shown.name, worker_name(run, w, text)));
    else
        return t;
    return NULL;
}

static const task *first_queued(const task_run *run)
{
    const task *first = NULL;
    for (int i = 0; i < run->workload->task_count; i++) {
        const task *t = &run->tasks[i];
        if (t->state == TASK_QUEUED && (!first || t->shown.number < first->shown.number))
            first = t;
    }
    return first;
}

void thrum__sim_keeps(task_run *run)
{
    const task *first = first_queued(run);
    uint32_t count = run->queued;
    if (first)
        run_fail(run,
                 thrum__fault(THRUM_EPOLICY, "policy '%s' keeps %u task%s, the first '%s', and gives %s to no worker",
                              run->policy->name, count, count == 1 ? "" : "s", first->shown.name,
                              count == 1 ? "it" : "them"));
    else
        run_fail(run, thrum__fault(THRUM_EPOLICY, "the simulation stands still after %d of %d tasks", run->done,
                                   run->workload->task_count));
}
