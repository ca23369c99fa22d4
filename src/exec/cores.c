/* SPDX-License-Identifier: MIT
 *
 * Who is on which core.
 *
 * The system decides where threads run, and mostly does well. But a worker that is woken may be put onto the core of
 * the very thread that has woken it, or of another worker, though a core is idle (Linux does not look far for an idle
 * one where all were busy a moment ago), and is left there until somebody's time slice has ended: some milliseconds, in
 * which one of the two waits for the other. A run of a third of a second loses a hundredth by each time that this
 * happens.
 *
 * So the threads of an executor say where they are: for each core there is a count of those who are at work there.
 * Whoever takes up work and finds somebody else on its core goes to one on which there is nobody; and whoever wakes a
 * worker that fell asleep on a core which has been taken since, sends it to such a core. Nobody is bound by that:
 * afterwards it may run where it might before.
 *
 * Roles
 *   A worker marks the core where it is (`cpu`) and takes the mark away when it sleeps or parks. Whoever wakes it marks
 *   it again, on its behalf: only one does, and the worker does not run meanwhile. A thread that inserts into a stream
 *   is marked as its feeder.
 *
 * All of it is a hint: marks are wrong when the system has moved somebody, nothing depends on them, and all is relaxed.
 * It is off (there are no cores in the map) where there are more workers than cores, or one worker, or workers are
 * bound to cores anyway.
 */
#include "exec/exec_int.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static void mark(worker *w, int cpu)
{
    core_map *map = &w->domain->map;
    if (w->cpu == cpu)
        return;
    if (w->cpu >= 0)
        atomic_fetch_sub_explicit(&map->busy[w->cpu], 1, memory_order_relaxed);
    if (cpu >= 0)
        atomic_fetch_add_explicit(&map->busy[cpu], 1, memory_order_relaxed);
    w->cpu = cpu;
}

static int here(void)
{
    int cpu = sched_getcpu();
    return cpu < CPU_SETSIZE ? cpu : -1;
}

static int busy(const core_map *map, int cpu)
{
    return cpu < 0 ? 0 : atomic_load_explicit(&map->busy[cpu], memory_order_relaxed);
}

/* A core of those where nobody is; not `but`. The next ones come first: neighbours in number are mostly neighbours in
 * the machine. */
static int find_free(const core_map *map, const cpu_set_t *of, int but)
{
    for (int i = 1; i <= map->end; i++) {
        int cpu = (but + i) % map->end;
        if (cpu != but && busy(map, cpu) == 0 && CPU_ISSET((size_t)cpu, of))
            return cpu;
    }
    return -1;
}

static bool only_on(pid_t thread, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    return sched_setaffinity(thread, sizeof one, &one) == 0;
}

/* ---- At work ----------------------------------------------------------------------------------------------------- */

void thrum__core_mark(worker *w)
{
    if (w->domain->map.end > 0)
        mark(w, here());
}

static void go_elsewhere(worker *w)
{
    cpu_set_t allowed;
    if (thrum__crowded(w->domain) || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    int cpu = find_free(&w->domain->map, &allowed, w->cpu);
    if (cpu < 0)
        return;
    mark(w, cpu);
    if (only_on(0, cpu))
        sched_setaffinity(0, sizeof allowed, &allowed);
}

void thrum__core_take(worker *w)
{
    thrum__core_mark(w);
    if (__builtin_expect(busy(&w->domain->map, w->cpu) > 1, 0))
        go_elsewhere(w);
}

void thrum__core_leave(worker *w)
{
    mark(w, -1);
}

/* ---- Sleeping and waking ----------------------------------------------------------------------------------------- */

void thrum__core_sleep(worker *w)
{
    mark(w, -1);
    if (w->domain->map.end == 0)
        return;
    w->slept_on = here();
    if (w->system_id == 0)
        w->system_id = (pid_t)syscall(SYS_gettid);
}

static bool send_to(worker *sleeper, int but)
{
    if (sched_getaffinity(sleeper->system_id, sizeof sleeper->allowed, &sleeper->allowed) != 0)
        return false;
    int cpu = find_free(&sleeper->domain->map, &sleeper->allowed, but);
    if (cpu < 0 || !only_on(sleeper->system_id, cpu))
        return false;
    mark(sleeper, cpu);
    return true;
}

/* The system wakes it where it fell asleep if that core is idle. */
void thrum__core_wake(worker *sleeper)
{
    const core_map *map = &sleeper->domain->map;
    if (map->end == 0 || sleeper->system_id == 0 || sleeper == thrum__self)
        return;
    int waker = here(), slept_on = sleeper->slept_on;
    bool free_there = slept_on != waker && busy(map, slept_on) == 0;
    sleeper->sent = !free_there && !thrum__crowded(sleeper->domain) && send_to(sleeper, waker);
    if (!sleeper->sent)
        mark(sleeper, slept_on);
}

void thrum__core_woken(worker *w)
{
    if (w->sent)
        sched_setaffinity(0, sizeof w->allowed, &w->allowed);
    w->sent = false;
    thrum__core_take(w);
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

/* Whoever has fewer workers than cores shares them with others, of whom nothing is known here; but is spread all the
 * same. */
void thrum__core_map_set(domain *d, bool known)
{
    cpu_set_t allowed;
    d->map.end = 0;
    if (!known || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed))
            d->map.end = cpu + 1;
}
