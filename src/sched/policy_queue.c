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

/* ---- Heaps -------------------------------------------------------------------------------------------------------- */

static thrum_job *child(const thrum_job *job)
{
    return (thrum_job *)(intptr_t)job->mark;
}

static void set_child(thrum_job *job, thrum_job *first)
{
    job->mark = (int64_t)(intptr_t)first;
}

/* Two heaps into one; neither is empty, and neither has siblings. */
static thrum_job *meld(thrum_job *a, thrum_job *b)
{
    thrum_job *upper = thrum__more_urgent(a, b) ? a : b, *lower = upper == a ? b : a;
    lower->link = child(upper);
    set_child(upper, lower);
    return upper;
}

/* Siblings into one heap: by pairs from the first to the last, then the pairs from the last to the first. */
static thrum_job *meld_all(thrum_job *siblings)
{
    thrum_job *pairs = NULL, *whole = NULL;
    while (siblings) {
        thrum_job *a = siblings, *b = a->link;
        siblings = b ? b->link : NULL;
        a->link = NULL;
        if (b) {
            b->link = NULL;
            a = meld(a, b);
        }
        a->link = pairs;
        pairs = a;
    }
    while (pairs) {
        thrum_job *pair = pairs;
        pairs = pair->link;
        pair->link = NULL;
        whole = whole ? meld(whole, pair) : pair;
    }
    return whole;
}

void thrum__heap_add(thrum__heap *heap, thrum_job *job)
{
    job->link = NULL;
    set_child(job, NULL);
    heap->top = heap->top ? meld(heap->top, job) : job;
}

thrum_job *thrum__heap_take(thrum__heap *heap)
{
    thrum_job *job = heap->top;
    if (job)
        heap->top = meld_all(child(job));
    return job;
}

thrum_job *thrum__heap_take_for(thrum__heap *heap, const thrum_world *world, int worker)
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

/* ---- Shelves ------------------------------------------------------------------------------------------------------ */

thrum_job *thrum__shelf_first_for(const thrum__shelf *shelf, const thrum_world *world, int worker)
{
    thrum_job *oldest = NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        thrum_job *job = thrum__list_first_for(&shelf->of[set], world, worker);
        if (job && (!oldest || job->number < oldest->number))
            oldest = job;
    }
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
