/* SPDX-License-Identifier: MIT
 *
 * The loop simulator (thrum/sim.h): runs spread over an executor, and what they give summed up.
 *
 * Which runs are done together, and in which order their results are added, follows from the number of runs alone
 * (thrum_transform_reduce), so the result does not depend on the number of workers or on who was faster.
 */
#include "loop_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/options.h"

#include <thrum/algorithm.h>

#include <math.h>
#include <stdatomic.h>

/* ---- Results of many runs ---------------------------------------------------------------------------------------- */

/* Mean and sum of squared distances from it are kept anew with each number (Welford), not taken from sums of squares,
 * which would cancel. */
struct tally {
    double count, mean, squares, min, max;
    double chunks, makespan; /* means */
};

static void tally_add(struct tally *tally, double wasted, const thrum__loop_run *run)
{
    double off = wasted - tally->mean;
    tally->count++;
    tally->mean += off / tally->count;
    tally->squares += off * (wasted - tally->mean);
    tally->min = tally->count == 1 || wasted < tally->min ? wasted : tally->min;
    tally->max = tally->count == 1 || wasted > tally->max ? wasted : tally->max;
    tally->chunks += ((double)run->chunks - tally->chunks) / tally->count;
    tally->makespan += (run->makespan - tally->makespan) / tally->count;
}

static void tally_combine(void *into, const void *from, void *ctx)
{
    struct tally *a = into;
    const struct tally *b = from;
    (void)ctx;
    if (a->count == 0) {
        *a = *b;
        return;
    }
    double count = a->count + b->count, share = b->count / count, off = b->mean - a->mean;
    a->squares += b->squares + off * off * a->count * share;
    a->mean += off * share;
    a->chunks += (b->chunks - a->chunks) * share;
    a->makespan += (b->makespan - a->makespan) * share;
    a->min = b->min < a->min ? b->min : a->min;
    a->max = b->max > a->max ? b->max : a->max;
    a->count = count;
}

static thrum_loop_sim_result tally_result(const struct tally *tally)
{
    double deviation = tally->count > 1 ? sqrt(tally->squares / (tally->count - 1)) : 0;
    return (thrum_loop_sim_result){
        .mean = tally->mean,
        .standard_error = deviation / sqrt(tally->count),
        .deviation = deviation,
        .min = tally->min,
        .max = tally->max,
        .chunks = tally->chunks,
        .makespan = tally->makespan,
    };
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

struct simulation {
    const thrum_loop_sim *sim;
    thrum__loop_setting setting;
    _Atomic uint64_t done; /* runs; for `progress` alone, so its order with anything else does not matter */
};

static void report(struct simulation *simulation, uint64_t count)
{
    const thrum_loop_sim *sim = simulation->sim;
    uint64_t done = atomic_fetch_add_explicit(&simulation->done, count, memory_order_relaxed) + count;
    if (sim->progress && sim->progress(done, simulation->setting.runs, sim->ctx))
        thrum_fail(THRUM_ECANCELLED, "the simulation was stopped after %llu of %llu runs", (unsigned long long)done,
                   (unsigned long long)simulation->setting.runs);
}

static void note(const struct simulation *simulation, struct tally *tally, size_t number, const thrum__loop_run *run)
{
    double wasted = thrum__loop_wasted(&simulation->setting, run);
    tally_add(tally, wasted, run);
    if (simulation->sim->wasted_times)
        simulation->sim->wasted_times[number] = wasted;
}

static int begin_desks(thrum__desk *desks, uint32_t lanes, const thrum__loop_setting *setting)
{
    for (uint32_t lane = 0; lane < lanes; lane++) {
        int error = thrum__desk_begin(&desks[lane], setting);
        if (error) {
            while (lane > 0)
                thrum__desk_end(&desks[--lane]);
            return error;
        }
    }
    return 0;
}

static void run_some(size_t lo, size_t hi, void *into, void *ctx)
{
    struct simulation *simulation = ctx;
    struct tally *tally = into;
    uint32_t lanes = hi - lo < THRUM__DESK_LANES ? (uint32_t)(hi - lo) : THRUM__DESK_LANES;
    thrum__desk desks[THRUM__DESK_LANES];
    *tally = (struct tally){0};
    int error = begin_desks(desks, lanes, &simulation->setting);
    if (error) {
        thrum_fail(error, "%s", thrum_message(NULL));
        return;
    }
    for (size_t i = lo; i < hi; i += lanes) {
        uint32_t count = hi - i < lanes ? (uint32_t)(hi - i) : lanes;
        thrum__desks_run(desks, count, i);
        for (uint32_t lane = 0; lane < count; lane++)
            note(simulation, tally, i + lane, &desks[lane].run);
    }
    for (uint32_t lane = 0; lane < lanes; lane++)
        thrum__desk_end(&desks[lane]);
    report(simulation, hi - lo);
}

/* So many runs are one piece: as many pieces as occupy all workers evenly, and no fewer runs than go side by side,
 * unless there are so few that workers would have nothing to do. */
static size_t piece_of(uint64_t runs)
{
    enum { PIECES = 512, FEW = 256 };
    size_t piece = (size_t)(runs / PIECES);
    if (runs < FEW)
        return 1;
    return piece > THRUM__DESK_LANES ? piece : THRUM__DESK_LANES;
}

/* As many processes at a time as the executor has workers. The default one would have as many as this says; it is not
 * made for the sake of a number, since its threads would just be starting when the first process forks, and not every
 * allocator can bear that. */
static uint32_t processes_for(thrum_executor *ex)
{
    thrum_machine_info machine;
    int64_t asked = ex ? thrum_executor_workers(ex) : thrum__option_number(THRUM__OPT_WORKERS);
    if (asked < 0)
        asked = thrum_machine_get(&machine) == 0 ? machine.usable : 1;
    return asked > 0 ? (uint32_t)asked : 1;
}

static int run_all_by_simgrid(thrum_executor *ex, const struct simulation *simulation, struct tally *tally)
{
    size_t count = simulation->setting.runs;
    thrum__loop_run *runs = count <= SIZE_MAX / sizeof *runs ? thrum__alloc(count * sizeof *runs) : NULL;
    if (!runs)
        return thrum__fault(THRUM_ENOMEM, "there is no memory for the results of %zu runs", count);
    int error = thrum__loop_simgrid(simulation->sim, &simulation->setting, processes_for(ex), runs);
    for (size_t i = 0; !error && i < count; i++)
        note(simulation, tally, i, &runs[i]);
    thrum__free(runs);
    return error;
}

int thrum_loop_simulate(thrum_executor *ex, const thrum_loop_sim *sim, thrum_loop_sim_result *result)
{
    struct simulation simulation = {.sim = sim};
    struct tally tally = {0};
    if (!result)
        return thrum__fault(THRUM_EINVAL, "thrum_loop_simulate has no place for the result: NULL");
    int error = thrum__loop_setting_begin(&simulation.setting, sim);
    if (error)
        return error;
    if (sim->engine == THRUM_ENGINE_SIMGRID)
        error = run_all_by_simgrid(ex, &simulation, &tally);
    else
        error = thrum_transform_reduce(ex, simulation.setting.runs, piece_of(simulation.setting.runs), &tally,
                                       sizeof tally, run_some, tally_combine, &simulation);
    thrum__loop_setting_end(&simulation.setting);
    if (!error)
        *result = tally_result(&tally);
    return error;
}
