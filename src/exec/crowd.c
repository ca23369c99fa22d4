/* SPDX-License-Identifier: MIT
 *
 * Whether others want the cores too.
 *
 * Two workers in a run of small tasks cost more than one: counters become shared, and lines go from core to core. That
 * pays while the second worker has a core that nobody else wants. Where other processes want it as much, the executor
 * gets no more of the machine's time for it that is worth what it costs; so tasks that are small but long enough to be
 * shared on a quiet machine are then left to the worker that has them (door.c).
 *
 * How it is known: a worker that begins a run which will take a while asks the system how much of its core it has had,
 * and asks again when it leaves it. If it was never blocked but had to wait for its core for more than a quarter of the
 * time, there is a crowd: somebody as important as this thread runs beside it. (Threads of less importance, by nice,
 * take far less.) Then there is held to be a crowd for CROWDED_NS. In a crowd workers stay out of each other's way, so
 * it may not be felt any more: when that time is over it is found out anew.
 *
 * All of it is a hint: nothing goes wrong if it is mistaken, and everything here is relaxed.
 */
#include "exec/exec_int.h"

#include "sys/clock.h"

enum { LONG_RUN_NS = 500000, CROWDED_NS = 100000000, STOPPED_NS = 50000000 };

void thrum__crowd_begin(worker *w, const thrum__run *run)
{
    const thrum_graph *graph = run->handle->graph;
    if (w->domain->life.limit == 1 || graph->task_ns * (int64_t)thrum__task_count(graph) < LONG_RUN_NS)
        return;
    w->use_began = run->began;
    w->use = thrum__core_use_now();
}

/* Whoever was away for long was stopped, by a debugger or a signal. */
static bool had_to_wait(const thrum__core_use *before, const thrum__core_use *after, int64_t elapsed)
{
    int64_t waited = elapsed - (after->ns - before->ns);
    return after->blocked == before->blocked && after->put_aside != before->put_aside && waited > elapsed / 4 &&
           waited < STOPPED_NS;
}

void thrum__crowd_end(worker *w, const thrum__run *run)
{
    if (run->began == 0 || w->use_began != run->began)
        return;
    w->use_began = 0;
    int64_t now = thrum__now(), elapsed = now - run->began;
    if (elapsed < LONG_RUN_NS)
        return;
    thrum__core_use after = thrum__core_use_now();
    if (had_to_wait(&w->use, &after, elapsed))
        atomic_store_explicit(&w->domain->crowded_until, now + CROWDED_NS, memory_order_relaxed);
}

bool thrum__crowd_lasts(domain *d)
{
    int64_t until = atomic_load_explicit(&d->crowded_until, memory_order_relaxed);
    if (thrum__now() < until)
        return true;
    atomic_store_explicit(&d->crowded_until, 0, memory_order_relaxed);
    return false;
}
