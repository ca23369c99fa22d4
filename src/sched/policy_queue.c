/* SPDX-License-Identifier: MIT */
#include "sched/policy_queue.h"

#include "base/alloc.h"
#include "base/fault.h"

/* ---- Lists -------------------------------------------------------------------------------------------------------- */

static thrum_job *before(const thrum_job *job)
{
    return (thrum_job *)(intptr_t)job->mark;
}

static void set_before(thrum_job *job, thrum_job *previous)
{
    job->mark = (int64_t)(intptr_t)previous;
}

void thrum__list_prepend(thrum__list *list, thrum_job *job)
{
    job->link = list->first;
    set_before(job, NULL);
    if (list->first)
        set_before(list->first, job);
    else
        list->last = job;
    list->first = job;
    list->count++;
}

void thrum__list_append(thrum__list *list, thrum_job *job)
{
    job->link = NULL;
    set_before(job, list->last);
    if (list->last)
        list->last->link = job;
    else
        list->first = job;
    list->last = job;
    list->count++;
}

void thrum__list_remove(thrum__list *list, thrum_job *job)
{
    thrum_job *previous = before(job);
    if (previous)
        previous->link = job->link;
    else
        list->first = job->link;
    if (job->link)
        set_before(job->link, previous);
    else
        list->last = previous;
    list->count--;
}

thrum_job *thrum__list_first_for(const thrum__list *list, const thrum_world *world, int worker)
{
    thrum_job *job = list->first;
    while (job && !world->can_run(world, job, worker))
        job = job->link;
    return job;
}

thrum_job *thrum__list_last_for(const thrum__list *list, const thrum_world *world, int worker)
{
    thrum_job *job = list->last;
    while (job && !world->can_run(world, job, worker))
        job = before(job);
    return job;
}

/* ---- Shelves of lists --------------------------------------------------------------------------------------------- */

thrum_job *thrum__shelf_take(thrum__shelf *shelf, const thrum_world *world, int worker)
{
    thrum_job *oldest = NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        if (!(set & 1u << world->place[worker].arch))
            continue;
        thrum_job *job = thrum__list_first_for(&shelf->of[set], world, worker);
        if (job && (!oldest || job->number < oldest->number))
            oldest = job;
    }
    if (oldest)
        thrum__list_remove(&shelf->of[thrum__arch_set(oldest)], oldest);
    return oldest;
}

/* ---- Idlers ------------------------------------------------------------------------------------------------------- */

int thrum__idlers_begin(thrum__idlers *idlers, const thrum_world *world)
{
    idlers->idle = thrum__zalloc((size_t)world->workers * sizeof *idlers->idle);
    if (!idlers->idle)
        return thrum__fault(THRUM_ENOMEM, "no memory for a policy's notes on %d workers", world->workers);
    for (int worker = 0; worker < world->workers; worker++)
        thrum__idlers_note(idlers, worker, true);
    return 0;
}

void thrum__idlers_end(thrum__idlers *idlers)
{
    thrum__free(idlers->idle);
    idlers->idle = NULL;
}

void thrum__idlers_note(thrum__idlers *idlers, int worker, bool idle)
{
    idlers->count += idle - idlers->idle[worker];
    idlers->idle[worker] = idle;
}

bool thrum__idlers_wake(thrum__idlers *idlers, const thrum_world *world, int worker)
{
    if (!idlers->idle[worker])
        return false;
    thrum__idlers_note(idlers, worker, false);
    world->wake(world, worker);
    return true;
}

bool thrum__idlers_wake_for(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job)
{
    for (int i = 0; idlers->count && i < world->workers; i++) {
        int worker = (idlers->next + i) % world->workers;
        if (idlers->idle[worker] && world->can_run(world, job, worker)) {
            idlers->next = (worker + 1) % world->workers;
            return thrum__idlers_wake(idlers, world, worker);
        }
    }
    return false;
}

void thrum__idlers_wake_for_shelf(thrum__idlers *idlers, const thrum_world *world, const thrum__shelf *shelf)
{
    for (unsigned set = 1; idlers->count && set < THRUM__ARCH_SETS; set++)
        if (shelf->of[set].first)
            thrum__idlers_wake_for(idlers, world, shelf->of[set].first);
}
