/* SPDX-License-Identifier: MIT
 *
 * The master-worker form: workers ask for chunks by messages, the master answers, and workers execute.
 *
 * SimGrid delivers messages of the same moment in an order of its own. The master therefore takes in all requests of a
 * moment before it answers any, and answers them in the order in which the chunks were handed out that they come after.
 * They are all there when no message waits: executions that end at the same date end in the same step of SimGrid, and
 * their workers have put their messages before the master, which receives them one step later, runs again. A worker
 * whose chunk takes no time comes back while the master answers others, with the largest number of all, and takes its
 * place behind them.
 */
#include "module.h"
#include "platform.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdio.h>
#include <stdlib.h>

/* A worker, and the message that it sends: itself. Actors take turns, so they may read what others wrote. */
struct worker {
    uint32_t number;
    sg_host_t host;
    sg_mailbox_t mailbox;
    /* Written by the master: */
    uint64_t order; /* of its chunk: p and how many were handed out before; before the first chunk its number */
    thrum_chunk chunk;
    double work; /* draw() of the chunk */
    /* Written by the worker: */
    double time; /* that the chunk took */
};

/* All of it is written once, before actors start, or by the master. */
static struct {
    const thrum__simgrid_job *job;
    const thrum__simgrid_thrum *thrum;
    thrum_schedule *schedule;
    thrum__simgrid_run *result;
    sg_host_t *hosts;
    struct worker *workers;
    struct worker **waiting; /* a heap by `order`: requests that are not answered yet */
    uint32_t waiting_count, working;
    uint64_t orders;
    sg_mailbox_t mailbox;
} machine;

static const char master_name[] = "master";

/* The worker will be done with its chunk at this date at the latest, unless its speed changes. */
static void reach_end_of(const struct worker *worker)
{
    double share = sg_host_get_available_speed(worker->host);
    if (share > THRUM__NO_SPEED)
        thrum__platform_reach(simgrid_get_clock() + machine.job->delay +
                              worker->work / (share * sg_host_get_speed(worker->host)));
}

static void speed_changed(const_sg_host_t host)
{
    const struct worker *worker = sg_host_get_data(host);
    if (worker)
        reach_end_of(worker);
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

static void work(int argc, char *argv[])
{
    (void)argc, (void)argv;
    struct worker *self = sg_actor_self_get_data();
    for (;;) {
        sg_mailbox_put(machine.mailbox, self, 0);
        sg_mailbox_get(self->mailbox);
        if (self->chunk.size == 0)
            return;
        if (machine.job->delay > 0)
            sg_actor_sleep_for(machine.job->delay);
        double begin = simgrid_get_clock();
        sg_actor_execute(self->work);
        self->time = simgrid_get_clock() - begin;
    }
}

/* ---- The master -------------------------------------------------------------------------------------------------- */

static void swap(uint32_t a, uint32_t b)
{
    struct worker *worker = machine.waiting[a];
    machine.waiting[a] = machine.waiting[b];
    machine.waiting[b] = worker;
}

static bool is_before(uint32_t a, uint32_t b)
{
    return machine.waiting[a]->order < machine.waiting[b]->order;
}

static void wait_in_line(struct worker *worker)
{
    uint32_t at = machine.waiting_count++;
    machine.waiting[at] = worker;
    for (; at > 0 && is_before(at, (at - 1) / 2); at = (at - 1) / 2)
        swap(at, (at - 1) / 2);
}

static struct worker *first_in_line(void)
{
    struct worker *first = machine.waiting[0];
    machine.waiting[0] = machine.waiting[--machine.waiting_count];
    for (uint32_t at = 0, child; (child = 2 * at + 1) < machine.waiting_count; at = child) {
        child += child + 1 < machine.waiting_count && is_before(child + 1, child);
        if (!is_before(child, at))
            break;
        swap(at, child);
    }
    return first;
}

static void receive(void)
{
    wait_in_line(sg_mailbox_get(machine.mailbox));
}

static bool more_to_receive(void)
{
    return sg_mailbox_listen(master_name) != 0;
}

static void hand_out(struct worker *worker)
{
    worker->order = machine.orders++;
    worker->work = machine.job->draw(machine.job->ctx, &worker->chunk);
    machine.result->work += worker->work;
    machine.result->chunks++;
    reach_end_of(worker);
}

static void answer(struct worker *worker)
{
    double now = simgrid_get_clock();
    if (worker->chunk.size > 0)
        machine.thrum->finished(machine.schedule, worker->number, worker->chunk.size, worker->time, machine.job->cost);
    if (machine.thrum->next(machine.schedule, worker->number, now, &worker->chunk)) {
        hand_out(worker);
    } else {
        worker->chunk.size = 0;
        machine.working--;
        machine.result->makespan = now;
    }
    sg_mailbox_put(worker->mailbox, worker, 0);
}

static void lead(int argc, char *argv[])
{
    (void)argc, (void)argv;
    while (machine.working > 0) {
        if (machine.waiting_count == 0)
            receive();
        while (more_to_receive())
            receive();
        answer(first_in_line());
    }
}

/* ---- The module -------------------------------------------------------------------------------------------------- */

/* Memory is never freed: the process ends with the run. */
static void *array_of(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

static void prepare(const thrum__simgrid_job *job)
{
    machine.hosts = array_of((size_t)job->workers + 1, sizeof *machine.hosts);
    machine.workers = array_of(job->workers, sizeof *machine.workers);
    machine.waiting = array_of(job->workers, sizeof(struct worker *));
    thrum__platform_build(job, machine.hosts, speed_changed);
    machine.mailbox = sg_mailbox_by_name(master_name);
}

static void start(const char *name, sg_host_t host, xbt_main_func_t code, void *data)
{
    sg_actor_t actor = sg_actor_init(name, host);
    sg_actor_set_data(actor, data);
    sg_actor_start_(actor, code, 0, NULL);
}

static void start_worker(uint32_t number)
{
    struct worker *worker = &machine.workers[number];
    char name[24];
    snprintf(name, sizeof name, "worker%u", (unsigned)number);
    worker->number = number;
    worker->order = number;
    worker->host = machine.hosts[number];
    sg_host_set_data(worker->host, worker);
    worker->mailbox = sg_mailbox_by_name(name);
    start(name, worker->host, work, worker);
}

static void run(const thrum__simgrid_job *job, const thrum__simgrid_thrum *thrum, thrum_schedule *schedule,
                thrum__simgrid_run *result)
{
    machine.job = job;
    machine.thrum = thrum;
    machine.schedule = schedule;
    machine.result = result;
    machine.working = job->workers;
    machine.orders = job->workers;
    for (uint32_t i = 0; i < job->workers; i++)
        start_worker(i);
    start(master_name, machine.hosts[job->workers], lead, NULL);
    simgrid_run();
    if (machine.working > 0)
        abort(); /* SimGrid has found that nothing can happen any more, and has said so */
}

THRUM_API extern const thrum__simgrid_module thrum_simgrid_module;
const thrum__simgrid_module thrum_simgrid_module = {THRUM__SIMGRID_VERSION, prepare, run, thrum__tasks_simulate};
