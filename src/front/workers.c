/* SPDX-License-Identifier: MIT
 *
 * Which workers can run a codelet: asked when its task is made. Where there is a policy it finds one of them later
 * (exec/place.h). Where workers steal, a task that its can_run does not let everybody run is pinned to one who may, in
 * turn: so thieves, and threads that help, never get it.
 *
 * Who has no number among the executor's own workers (a thread that inserts or waits, a stand-in) may do what all of
 * those may. Where there are none it is the caller who does the work, as number 0.
 */
#include "front/flow_int.h"

#include "exec/inside.h"
#include "exec/place.h"

static int asked_count(const thrum__space *space)
{
    int own = thrum__own_workers(space->ex);
    return own > 0 ? own : 1;
}

/* -1: the caller is none of the executor's own workers. */
static int own_number(const thrum__space *space)
{
    int here = thrum__inside(space->ex) ? thrum_worker_index() : -1;
    return here < thrum__own_workers(space->ex) ? here : -1;
}

static bool accepts(const thrum_codelet *codelet, const void *arg, int worker)
{
    return codelet->can_run(&(thrum_place){.worker = worker, .arch = THRUM_ARCH_CPU, .device = -1}, arg);
}

/* How many of them it accepts; `*found` is the one with this number among those, or the last one. */
static int find_accepted(const thrum_codelet *codelet, const void *arg, int workers, int number, int *found)
{
    int count = 0;
    for (int worker = 0; worker < workers && count <= number; worker++)
        if (accepts(codelet, arg, worker)) {
            *found = worker;
            count++;
        }
    return count;
}

static int refuse_all(const thrum_codelet *codelet, const char *what)
{
    return thrum__fault(THRUM_EINVAL, "%s: codelet '%s': its can_run refuses every worker of this executor", what,
                        codelet->name);
}

static int ask_one(const thrum_codelet *codelet, const void *arg, int worker, const char *what)
{
    if (accepts(codelet, arg, worker))
        return 0;
    return thrum__fault(THRUM_EINVAL, "%s: codelet '%s' is to run on worker %d, which its can_run refuses", what,
                        codelet->name, worker);
}

/* Relaxed: it only makes them take turns. */
static int next_turn(thrum__space *space)
{
    return (int)(atomic_fetch_add_explicit(&space->turn, 1, memory_order_relaxed) & INT32_MAX);
}

/* A worker that makes a task may be going to wait for it, and so may the others for theirs: what it may do itself it is
 * given, or they would all wait for each other. */
static int ask_all(thrum__space *space, const thrum_codelet *codelet, thrum__terms_of_job *terms, const char *what)
{
    const void *arg = terms->arg ? terms->arg->ptr : NULL;
    int workers = asked_count(space), found = -1;
    int accepted = find_accepted(codelet, arg, workers, workers, &found);
    if (accepted == 0)
        return refuse_all(codelet, what);
    if (accepted == workers)
        return 0;
    int here = own_number(space);
    if (here >= 0 && accepts(codelet, arg, here))
        found = here;
    else
        find_accepted(codelet, arg, workers, next_turn(space) % accepted, &found);
    terms->pin = found;
    return 0;
}

static int check_worker(const thrum__space *space, const thrum_codelet *codelet, int worker, const char *what)
{
    int workers = thrum__own_workers(space->ex);
    if (worker < workers)
        return 0;
    if (workers == 0)
        return thrum__fault(THRUM_EINVAL, "%s of '%s': worker %d, but the executor has no threads", what, codelet->name,
                            worker);
    return thrum__fault(THRUM_EINVAL, "%s of '%s': worker %d, but the executor has those from 0 to %d", what,
                        codelet->name, worker, workers - 1);
}

int thrum__find_worker(thrum__space *space, const thrum_codelet *codelet, thrum__terms_of_job *terms, const char *what)
{
    const void *arg = terms->arg ? terms->arg->ptr : NULL;
    terms->pin = terms->worker;
    if (space->places)
        return thrum__places_can_run(space->places, codelet, arg, terms->worker);
    if (!codelet->cpu)
        return thrum__fault(THRUM_EINVAL,
                            "%s: codelet '%s' has no implementation for processors, and the executor has nothing else",
                            what, codelet->name);
    int err = terms->worker < 0 ? 0 : check_worker(space, codelet, terms->worker, what);
    if (err || !codelet->can_run)
        return err;
    return terms->worker < 0 ? ask_all(space, codelet, terms, what) : ask_one(codelet, arg, terms->worker, what);
}

bool thrum__codelet_runs_here(const thrum__space *space, const thrum_codelet *codelet, const void *arg)
{
    int workers = asked_count(space), here = own_number(space), found;
    if (here >= 0)
        return accepts(codelet, arg, here);
    return find_accepted(codelet, arg, workers, workers, &found) == workers;
}
