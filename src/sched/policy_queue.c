/* SPDX-License-Identifier: MIT */
#include "sched/policy_queue.h"

#include "conc/pairing.h"

#include "base/alloc.h"
#include "base/fault.h"

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static thrum_job *before(const thrum_job *job)
{
    return (thrum_job *)(intptr_t)job->mark;
}

static void set_before(thrum_job *job, thrum_job *previous)
{
    job->mark = (int64_t)(intptr_t)previous;
}

static void count(thrum__list *list, const thrum_job *job, uint64_t one)
{
    unsigned set = thrum__arch_set(job);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        list->of_arch[arch] += set >> arch & 1 ? one : 0;
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
    count(list, job, 1);
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
    count(list, job, 1);
}

static void insert_behind(thrum__list *list, thrum_job *previous, thrum_job *job)
{
    job->link = previous->link;
    set_before(job, previous);
    set_before(job->link, job);
    previous->link = job;
    count(list, job, 1);
}

void thrum__list_add_by_priority(thrum__list *list, thrum_job *job)
{
    thrum_job *previous = list->last;
    if (!previous || previous->priority >= job->priority) {
        thrum__list_append(list, job);
        return;
    }
    if (list->first->priority < job->priority) {
        thrum__list_prepend(list, job);
        return;
    }
    while (previous->priority < job->priority)
        previous = before(previous);
    insert_behind(list, previous, job);
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
    count(list, job, UINT64_MAX);
}

thrum_job *thrum__list_first_for(const thrum__list *list, const thrum_world *world, int worker)
{
    thrum_job *job = list->of_arch[world->place[worker].arch] ? list->first : NULL;
    while (job && !world->can_run(world, job, worker))
        job = job->link;
    return job;
}

thrum_job *thrum__list_last_for(const thrum__list *list, const thrum_world *world, int worker)
{
    thrum_job *job = list->of_arch[world->place[worker].arch] ? list->last : NULL;
    while (job && !world->can_run(world, job, worker))
        job = before(job);
    return job;
}

/* ---- Heaps ------------------------------------------------------------------------------------------------------- */

static thrum_job *child(const thrum_job *job)
{
    return (thrum_job *)(intptr_t)job->mark;
}

static void set_child(thrum_job *job, thrum_job *first)
{
    job->mark = (int64_t)(intptr_t)first;
}

static bool sooner(const thrum__heap *heap, const thrum_job *a, const thrum_job *b)
{
    return heap->by_age ? thrum__older(a, b) : thrum__more_urgent(a, b);
}

THRUM__PAIRING(pairing, thrum_job, link, child, set_child, const thrum__heap *, sooner)

void thrum__heap_add(thrum__heap *heap, thrum_job *job)
{
    heap->top = pairing_add(heap, heap->top, job);
}

thrum_job *thrum__heap_take(thrum__heap *heap)
{
    thrum_job *job = heap->top;
    if (job)
        heap->top = pairing_rest(heap, job);
    return job;
}

static thrum_job *take_for(thrum__heap *heap, const thrum_world *world, int worker)
{
    thrum_job *skipped = NULL, *job;
    while ((job = thrum__heap_take(heap)) && !world->can_run(world, job, worker)) {
        job->link = skipped;
        skipped = job;
    }
    while (skipped) {
        thrum_job *next = skipped->link;
        thrum__heap_add(heap, skipped);
        skipped = next;
    }
    return job;
}

/* ---- Shelves ----------------------------------------------------------------------------------------------------- */

thrum_job *thrum__shelf_take_for(thrum__shelf *shelf, const thrum_world *world, int worker)
{
    thrum_job *oldest = NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        thrum_job *job = thrum__list_first_for(&shelf->of[set], world, worker);
        if (job && (!oldest || thrum__older(job, oldest)))
            oldest = job;
    }
    if (oldest)
        thrum__list_remove(&shelf->of[thrum__arch_set(oldest)], oldest);
    return oldest;
}

/* The best of each set of architectures with the worker's in it; all but the best of those go back. */
thrum_job *thrum__heaps_take_for(thrum__heaps *heaps, const thrum_world *world, int worker)
{
    thrum_job *best = NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        thrum__heap *heap = &heaps->of[set];
        if (!(set >> world->place[worker].arch & 1) || !heap->top || (best && sooner(heap, best, heap->top)))
            continue;
        thrum_job *job = take_for(heap, world, worker), *loser = best;
        if (job && (!best || sooner(heap, job, best)))
            best = job;
        else
            loser = job;
        if (loser)
            thrum__heaps_add(heaps, loser);
    }
    return best;
}

/* ---- Idlers ------------------------------------------------------------------------------------------------------ */

static void set_idle(thrum__idlers *idlers, int worker, bool idle)
{
    idlers->count += idle - idlers->of[worker].idle;
    idlers->of[worker].idle = idle;
}

int thrum__idlers_begin(thrum__idlers *idlers, const thrum_world *world)
{
    idlers->of = thrum__zalloc((size_t)world->workers * sizeof *idlers->of);
    if (!idlers->of)
        return thrum__fault(THRUM_ENOMEM, "no memory for a policy's notes on %d workers", world->workers);
    for (int worker = 0; worker < world->workers; worker++)
        set_idle(idlers, worker, true);
    return 0;
}

void thrum__idlers_end(thrum__idlers *idlers)
{
    thrum__free(idlers->of);
}

void thrum__idlers_popped(thrum__idlers *idlers, int worker, const thrum_job *job)
{
    idlers->of[worker].in_hands += job != NULL;
    set_idle(idlers, worker, !job);
}

void thrum__idlers_done(thrum__idlers *idlers, int worker)
{
    idlers->of[worker].in_hands--;
}

int thrum__idlers_find(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job)
{
    int found = THRUM_ANY_WORKER;
    for (int i = 0; idlers->count && i < world->workers; i++) {
        int worker = (idlers->next + i) % world->workers;
        const thrum__idler *idler = &idlers->of[worker];
        if (!idler->idle || (idler->in_hands && found != THRUM_ANY_WORKER) || !world->can_run(world, job, worker))
            continue;
        found = worker;
        if (!idler->in_hands)
            break;
    }
    return found;
}

bool thrum__idlers_wake(thrum__idlers *idlers, const thrum_world *world, int worker)
{
    if (!idlers->of[worker].idle)
        return false;
    set_idle(idlers, worker, false);
    idlers->next = (worker + 1) % world->workers;
    world->wake(world, worker);
    return true;
}

bool thrum__idlers_wake_for(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job)
{
    int worker = thrum__idlers_find(idlers, world, job);
    return worker != THRUM_ANY_WORKER && thrum__idlers_wake(idlers, world, worker);
}

void thrum__idlers_wake_for_shelf(thrum__idlers *idlers, const thrum_world *world, const thrum__shelf *shelf)
{
    for (unsigned set = 1; idlers->count && set < THRUM__ARCH_SETS; set++)
        if (shelf->of[set].first)
            thrum__idlers_wake_for(idlers, world, shelf->of[set].first);
}

void thrum__idlers_wake_for_heaps(thrum__idlers *idlers, const thrum_world *world, const thrum__heaps *heaps)
{
    for (unsigned set = 1; idlers->count && set < THRUM__ARCH_SETS; set++)
        if (heaps->of[set].top)
            thrum__idlers_wake_for(idlers, world, heaps->of[set].top);
}
