/* SPDX-License-Identifier: MIT
 *
 * Runs of a simulated loop by the SimGrid engine (simgrid.h): it is handed the schedule and the stream of times of each
 * run.
 */
#include "loop_int.h"

#include "base/fault.h"
#include "simgrid.h"

struct hand_over {
    const thrum_loop_sim *sim;
    const thrum__loop_setting *setting;
    thrum_schedule *schedule;
    thrum__stream stream;
    thrum__loop_run *runs;
    uint64_t done;
};

static thrum_schedule *begin_run(void *ctx, uint64_t number)
{
    struct hand_over *over = ctx;
    over->stream = thrum__loop_run_begin(over->setting, over->schedule, number);
    return over->schedule;
}

static double draw_chunk(void *ctx, const thrum_chunk *chunk)
{
    struct hand_over *over = ctx;
    return thrum__times_sum(&over->setting->times, &over->stream, chunk->begin, chunk->size);
}

static int take_run(void *ctx, const thrum__simgrid_run *run)
{
    struct hand_over *over = ctx;
    const thrum_loop_sim *sim = over->sim;
    over->runs[run->run] = (thrum__loop_run){.makespan = run->makespan, .work = run->work, .chunks = run->chunks};
    over->done++;
    if (sim->progress && sim->progress(over->done, over->setting->runs, sim->ctx))
        return thrum__fault(THRUM_ECANCELLED, "the simulation was stopped after %llu of %llu runs",
                            (unsigned long long)over->done, (unsigned long long)over->setting->runs);
    return 0;
}

int thrum__loop_simgrid(const thrum_loop_sim *sim, const thrum__loop_setting *setting, uint32_t processes,
                        thrum__loop_run *runs)
{
    struct hand_over over = {.sim = sim, .setting = setting, .runs = runs};
    over.schedule = thrum_schedule_new(setting->technique, &setting->facts);
    if (!over.schedule)
        return thrum__last_code();
    thrum__simgrid_job job = {
        .workers = setting->facts.workers,
        .delay = setting->delay,
        .cost = setting->facts.cost,
        .speeds = sim->speeds,
        .perturbations = sim->perturbations,
        .perturbation_count = sim->perturbation_count,
        .runs = setting->runs,
        .processes = processes,
        .begin = begin_run,
        .draw = draw_chunk,
        .done = take_run,
        .ctx = &over,
    };
    int error = thrum__simgrid_simulate(&job);
    thrum_schedule_free(over.schedule);
    return error;
}
