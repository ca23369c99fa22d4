/* SPDX-License-Identifier: MIT
 *
 * One run of a simulated loop, by the native engine.
 *
 * Each worker has one event under way: the moment at which it asks for a chunk. All ask at the time 0, in the order of
 * their numbers; the chunk that is handed out keeps the worker until it asks again. Where sizes follow from the number
 * of the request, times are drawn many at a time and then handed to whoever asks first: the order of drawing is the
 * same.
 *
 * Each step of a run waits for the one before: who asks next follows from when the last chunk ends. So a few runs are
 * done side by side, step by step in turns, and the processor works on several chains at the same time. They share
 * nothing.
 */
#include "loop_int.h"

#include "base/alloc.h"
#include "base/fault.h"

int thrum__desk_begin(thrum__desk *desk, const thrum__loop_setting *setting)
{
    *desk = (thrum__desk){.setting = setting};
    int error = thrum__events_begin(&desk->events, setting->facts.workers);
    if (!error && !setting->rows) {
        desk->schedule = thrum_schedule_new(setting->technique, &setting->facts);
        error = desk->schedule ? 0 : thrum__last_code();
    }
    if (!error && (setting->needs & THRUM_NEEDS_TIMES)) {
        desk->under_way = thrum__alloc(setting->facts.workers * sizeof *desk->under_way);
        if (!desk->under_way)
            error = thrum__fault(THRUM_ENOMEM, "there is no memory for %u simulated workers", setting->facts.workers);
    }
    if (error)
        thrum__desk_end(desk);
    return error;
}

void thrum__desk_end(thrum__desk *desk)
{
    thrum__events_end(&desk->events);
    thrum_schedule_free(desk->schedule);
    thrum__free(desk->under_way);
    *desk = (thrum__desk){0};
}

/* The first who asks gets a chunk that takes `work` at speed 1. How long it is at the chunk. */
static inline double hand_out(thrum__desk *desk, double work)
{
    const thrum__loop_setting *setting = desk->setting;
    double begin = thrum__events_first_time(&desk->events) + setting->delay, end = begin + work;
    if (setting->speeds.all)
        end = thrum__speeds_done(&setting->speeds, (uint32_t)thrum__events_first_payload(&desk->events), begin, work);
    thrum__events_again(&desk->events, end);
    desk->run.makespan = end > desk->run.makespan ? end : desk->run.makespan;
    desk->run.work += work;
    desk->run.chunks++;
    return end - begin;
}

/* ---- Chunks from a list ------------------------------------------------------------------------------------------ */

enum { AT_ONCE = 64 };

/* Draws the times of `count` chunks of the row. */
static void draw_works(thrum__desk *desk, thrum__sum *sum, double *works, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, sum->begin += sum->count)
        works[i] = thrum__sum_draw(&desk->setting->times, sum, &desk->stream);
}

static void run_row(thrum__desk *desks, uint32_t lanes, const thrum__sim_row *row)
{
    double works[THRUM__DESK_LANES][AT_ONCE];
    thrum__sum sum = row->sum; /* moves on from chunk to chunk, for files */
    for (uint64_t left = row->chunks; left > 0;) {
        uint64_t count = left < AT_ONCE ? left : AT_ONCE, begin = sum.begin;
        for (uint32_t lane = 0; lane < lanes; lane++) {
            sum.begin = begin;
            draw_works(&desks[lane], &sum, works[lane], count);
        }
        for (uint64_t i = 0; i < count; i++)
            for (uint32_t lane = 0; lane < lanes; lane++)
                hand_out(&desks[lane], works[lane][i]);
        left -= count;
    }
}

/* ---- Chunks from a schedule -------------------------------------------------------------------------------------- */

static void tell_finished(thrum__desk *desk, uint32_t worker)
{
    const thrum__desk_chunk *chunk = &desk->under_way[worker];
    if (chunk->size)
        thrum_schedule_finished(desk->schedule, worker, chunk->size, chunk->time, desk->setting->facts.cost);
}

static void ask_schedule(thrum__desk *desk)
{
    uint64_t worker = thrum__events_first_payload(&desk->events);
    double now = thrum__events_first_time(&desk->events);
    bool learns = desk->under_way != NULL;
    thrum_chunk chunk;
    if (learns)
        tell_finished(desk, (uint32_t)worker);
    if (!thrum__schedule_next(desk->schedule, (uint32_t)worker, now, &chunk)) {
        thrum__events_take(&desk->events, &now, &worker);
        return;
    }
    double time = hand_out(desk, thrum__times_sum(&desk->setting->times, &desk->stream, chunk.begin, chunk.size));
    if (learns)
        desk->under_way[worker] = (thrum__desk_chunk){chunk.size, time};
}

static bool goes_on(const thrum__desk *desk)
{
    return desk->schedule->left > 0 && desk->events.count > 0;
}

/* All as long as all go on, and then those that still do. */
static void run_schedules(thrum__desk *desks, uint32_t lanes)
{
    for (bool all = true; all;)
        for (uint32_t lane = 0; lane < lanes; lane++) {
            if (goes_on(&desks[lane]))
                ask_schedule(&desks[lane]);
            else
                all = false;
        }
    for (uint32_t lane = 0; lane < lanes; lane++)
        while (goes_on(&desks[lane]))
            ask_schedule(&desks[lane]);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void begin_run(thrum__desk *desk, uint64_t number)
{
    uint32_t workers = desk->setting->facts.workers;
    desk->stream = thrum__loop_run_begin(desk->setting, desk->schedule, number);
    desk->run = (thrum__loop_run){0};
    thrum__events_reset(&desk->events, workers);
    for (uint32_t i = 0; desk->under_way && i < workers; i++)
        desk->under_way[i].size = 0;
}

void thrum__desks_run(thrum__desk *desks, uint32_t lanes, uint64_t first)
{
    const thrum__loop_setting *setting = desks->setting;
    for (uint32_t lane = 0; lane < lanes; lane++)
        begin_run(&desks[lane], first + lane);
    if (setting->rows)
        for (uint32_t i = 0; i < setting->row_count; i++)
            run_row(desks, lanes, &setting->rows[i]);
    else
        run_schedules(desks, lanes);
}
