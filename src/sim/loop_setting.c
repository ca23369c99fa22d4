/* SPDX-License-Identifier: MIT
 *
 * What all runs of a simulated loop share: checked, and worked out once.
 */
#include "loop_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>

/* More different chunks than these are not put into a table: it would not stay in a core's cache. */
enum { MOST_ROWS = 1 << 14 };

enum { RUNS = 1000 };

static int check_sim(const thrum_loop_sim *sim)
{
    if (!sim)
        return thrum__fault(THRUM_EINVAL, "thrum_loop_simulate is given no simulation: NULL");
    if (sim->model != THRUM_MODEL_HAGERUP && sim->model != THRUM_MODEL_MSG)
        return thrum__fault(THRUM_EINVAL, "%d is no model of what handing out costs", (int)sim->model);
    if (sim->engine != THRUM_ENGINE_NATIVE && sim->engine != THRUM_ENGINE_SIMGRID)
        return thrum__fault(THRUM_EINVAL, "%d is no engine of the simulator", (int)sim->engine);
    if (sim->facts.workers > THRUM__EVENT_PLACES)
        return thrum__fault(THRUM_ELIMIT, "%u workers are more than the simulator has places for: %u",
                            sim->facts.workers, (unsigned)THRUM__EVENT_PLACES);
    if (sim->perturbation_count && !sim->perturbations)
        return thrum__fault(THRUM_EINVAL, "%zu perturbations are announced, and the list of them is NULL",
                            sim->perturbation_count);
    return 0;
}

static bool can_be_listed(const thrum__rule *rule, thrum_technique technique)
{
    if (technique == THRUM_RND) /* each run has sizes of its own */
        return false;
    return rule->order == THRUM__BY_NUMBER || rule->order == THRUM__BY_REST;
}

/* Turns the rows of the schedule into rows that can be drawn from; the last chunk, if it is shorter, is a row of its
 * own. */
static uint32_t fill_rows(thrum__sim_row *rows, const thrum__times *times, const thrum__loop_row *from, uint32_t count,
                          uint64_t n)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = i + 1 < count ? from[i + 1].begin : n, size = from[i].size;
        rows[i] = (thrum__sim_row){(end - from[i].begin) / size, thrum__sum_of(times, from[i].begin, size)};
    }
    uint64_t last = count - 1, left = n - from[last].begin - rows[last].chunks * from[last].size;
    if (left)
        rows[count++] = (thrum__sim_row){1, thrum__sum_of(times, n - left, left)};
    return count;
}

/* Without memory, and where there are too many rows, runs ask the schedule instead. */
static void list_rows(thrum__loop_setting *setting, const thrum_schedule *schedule)
{
    thrum__loop_row *rows = thrum__alloc(MOST_ROWS * sizeof *rows);
    uint32_t count = rows ? thrum__loop_rows(schedule, rows, MOST_ROWS) : 0;
    if (count)
        setting->rows = thrum__alloc((count + (size_t)1) * sizeof *setting->rows);
    if (setting->rows)
        setting->row_count = fill_rows(setting->rows, &setting->times, rows, count, setting->facts.iterations);
    thrum__free(rows);
}

/* Makes a schedule, which also tells whether the facts are right. */
static int try_schedule(thrum__loop_setting *setting)
{
    thrum_schedule *schedule = thrum_schedule_new(setting->technique, &setting->facts);
    if (!schedule)
        return thrum__last_code();
    if (can_be_listed(schedule->rule, setting->technique))
        list_rows(setting, schedule);
    thrum_schedule_free(schedule);
    return 0;
}

static thrum_loop_facts complete_facts(const thrum_loop_facts *given, const thrum__times *times)
{
    thrum_loop_facts facts = *given;
    if (facts.mean == 0)
        facts.mean = times->mean;
    if (facts.deviation == 0)
        facts.deviation = times->deviation;
    return facts;
}

int thrum__loop_setting_begin(thrum__loop_setting *setting, const thrum_loop_sim *sim)
{
    *setting = (thrum__loop_setting){0};
    int error = check_sim(sim);
    if (!error)
        error = thrum__times_begin(&setting->times, sim->times);
    if (error)
        return error;
    setting->technique = sim->technique;
    setting->facts = complete_facts(&sim->facts, &setting->times);
    setting->model = sim->model;
    setting->seed = sim->seed;
    setting->runs = sim->runs ? sim->runs : RUNS;
    setting->delay = sim->model == THRUM_MODEL_HAGERUP ? sim->facts.cost : 0;
    setting->needs = thrum_technique_needs(sim->technique);
    error = try_schedule(setting);
    if (!error)
        error = thrum__speeds_begin(&setting->speeds, setting->facts.workers, sim->speeds, sim->perturbations,
                                    sim->perturbation_count);
    if (error)
        thrum__loop_setting_end(setting);
    return error;
}

void thrum__loop_setting_end(thrum__loop_setting *setting)
{
    thrum__times_end(&setting->times);
    thrum__speeds_end(&setting->speeds);
    thrum__free(setting->rows);
    setting->rows = NULL;
}

double thrum__loop_wasted(const thrum__loop_setting *setting, const thrum__loop_run *run)
{
    double p = setting->facts.workers, idle = run->makespan - run->work / p;
    return setting->model == THRUM_MODEL_MSG ? idle + setting->facts.cost * (double)run->chunks / p : idle;
}

thrum__stream thrum__loop_run_begin(const thrum__loop_setting *setting, thrum_schedule *schedule, uint64_t number)
{
    if (schedule) {
        /* RND alone looks at it: other sizes in each run. */
        schedule->facts.seed = thrum__stream_of(setting->facts.seed ^ ~setting->seed, number).state;
        thrum_schedule_restart(schedule);
    }
    return thrum__stream_of(setting->seed, number);
}
