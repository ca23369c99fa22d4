/* SPDX-License-Identifier: MIT
 *
 * The policy "steal": the executor's own work stealing (sim/steal.h) on the machine of a simulated run. Each kind of
 * workers is a domain; no data moves. A task that several kinds could run goes to the first of them: cores, if they
 * can.
 */
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sim/steal.h"

#include <string.h>

typedef struct stolen {
    task_run *run;
    int *domain_of_kind; /* -1: it has no workers */
    int *workers;        /* by domain */
    const char **names;  /* by domain: of kinds */
    int *numbers;        /* of workers: the machine's, by that of stealing, where they are domain by domain */
    int *domain;         /* by task */
    double *seconds;     /* by task */
    thrum__steal_worker *counts;
} stolen;

/* Nothing happens any more: results ask what time it is. */
static double time_of_end(const thrum__engine *engine)
{
    double end;
    memcpy(&end, engine, sizeof end);
    return end;
}

static const thrum__engine_ops stopped_clock = {.name = "stopped", .now = time_of_end};

static int allocate(stolen *s)
{
    size_t tasks = (size_t)s->run->workload->task_count + 1, kinds = (size_t)s->run->kind_count;
    size_t workers = (size_t)s->run->world.workers;
    s->domain_of_kind = thrum__zalloc(kinds * sizeof *s->domain_of_kind);
    s->workers = thrum__zalloc(kinds * sizeof *s->workers);
    s->names = thrum__zalloc(kinds * sizeof *s->names);
    s->numbers = thrum__zalloc(workers * sizeof *s->numbers);
    s->domain = thrum__zalloc(tasks * sizeof *s->domain);
    s->seconds = thrum__zalloc(tasks * sizeof *s->seconds);
    s->counts = thrum__zalloc(workers * sizeof *s->counts);
    if (s->domain_of_kind && s->workers && s->names && s->numbers && s->domain && s->seconds && s->counts)
        return 0;
    return thrum__fault(THRUM_ENOMEM, "no memory to simulate %d tasks", s->run->workload->task_count);
}

static void release(stolen *s)
{
    thrum__free(s->domain_of_kind);
    thrum__free(s->workers);
    thrum__free(s->names);
    thrum__free(s->numbers);
    thrum__free(s->domain);
    thrum__free(s->seconds);
    thrum__free(s->counts);
}

static int fill_domains(stolen *s)
{
    int domains = 0, next = 0;
    for (int k = 0; k < s->run->kind_count; k++) {
        s->domain_of_kind[k] = s->run->kinds[k].workers ? domains : -1;
        if (s->run->kinds[k].workers) {
            s->names[domains] = k ? s->run->layout.machine->kinds[k - 1].name : "cpu";
            s->workers[domains++] = s->run->kinds[k].workers;
        }
        for (int i = 0; i < s->run->world.workers; i++)
            if (s->run->workers[i].kind == k)
                s->numbers[next++] = i;
    }
    return domains;
}

/* Each worker of a device has its share of the device's speed, whether the others work or not. */
static int fill_task(stolen *s, int number)
{
    const task_run *run = s->run;
    const task *t = &run->tasks[number];
    int kind = __builtin_ctzll(t->kinds), sharers = 1;
    if (t->pin >= 0)
        return thrum__fault(THRUM_EINVAL,
                            "task '%s' may run on worker %d only, but 'steal' knows kinds of workers, not single ones",
                            t->shown.name, t->pin);
    if (kind > 0)
        sharers = run->kinds[kind].workers / run->kinds[kind].units;
    s->domain[number] = s->domain_of_kind[kind];
    s->seconds[number] = run->seconds[(size_t)number * (size_t)run->kind_count + (size_t)kind] * sharers;
    return 0;
}

static void note(void *ctx, int worker, int number, double begin, double end)
{
    stolen *s = ctx;
    task_run *run = s->run;
    task *t = &run->tasks[number];
    t->worker = s->numbers[worker];
    t->begin = begin;
    if (run->trace_order) {
        run->trace_order[run->done] = number;
        run->trace_end[run->done] = end;
    }
    run->done++;
}

static void fill_workers(const stolen *s, double makespan)
{
    for (int i = 0; i < s->run->world.workers; i++) {
        const thrum__steal_worker *counts = &s->counts[i];
        worker *w = &s->run->workers[s->numbers[i]];
        w->stats = (thrum_sim_worker){.tasks = counts->tasks,
                                      .refused = counts->wasted,
                                      .busy = counts->busy,
                                      .starved = makespan - counts->busy};
        w->counts = (thrum_worker_stats){.steals = counts->steals,
                                         .wasted_steals = counts->wasted,
                                         .sleeps = counts->sleeps,
                                         .wakes = counts->wakes};
    }
}

static int run_it(stolen *s, thrum__steal_setting setting, thrum__steal_result *result)
{
    task_run *run = s->run;
    int err = 0, domains = fill_domains(s);
    for (int i = 0; i < run->workload->task_count && !err; i++)
        err = fill_task(s, i);
    if (err)
        return err;
    err = thrum__steal_run(&(thrum__steal_job){.setting = setting,
                                               .order = &run->order,
                                               .tasks = run->workload->task_count,
                                               .domains = domains,
                                               .names = s->names,
                                               .workers = s->workers,
                                               .domain = s->domain,
                                               .seconds = s->seconds,
                                               .seed = run->sim->seed,
                                               .ran = note,
                                               .ctx = s},
                           result, s->counts);
    run->events = result->events;
    fill_workers(s, result->makespan);
    return err;
}

static thrum_sim_result *make_result(task_run *run, const thrum__steal_result *steal)
{
    double end = steal->makespan;
    run->ops = &stopped_clock;
    run->engine = (thrum__engine *)(void *)&end;
    thrum_sim_result *result = thrum__sim_result_make(run);
    run->engine = NULL;
    if (!result)
        return NULL;
    result->most_searching = steal->most_searching;
    result->steals = steal->steals;
    result->wasted_steals = steal->wasted;
    result->worst_waste = steal->worst_waste;
    return result;
}

int thrum__sim_steal(task_run *run, thrum_sim_result **result)
{
    const char *behind = strchr(run->sim->policy, ';');
    thrum__steal_setting setting;
    thrum__steal_result steal;
    stolen s = {.run = run};
    int err = thrum__steal_read(behind ? behind + 1 : "", &setting);
    if (!err)
        err = allocate(&s);
    if (!err)
        err = run_it(&s, setting, &steal);
    if (!err && run->sim->trace)
        err = thrum__sim_trace_write(run);
    if (!err) {
        *result = make_result(run, &steal);
        err = *result ? 0 : thrum__last_code();
    }
    release(&s);
    return err;
}
