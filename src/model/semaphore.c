/* SPDX-License-Identifier: MIT
 *
 * Semaphores: making and freeing them, and the lists of tasks.
 */
#include "model/semaphore.h"

#include "base/alloc.h"
#include "model/graph_int.h"

#include <string.h>

thrum__lock thrum__semaphores_lock;
thrum_semaphore *thrum__semaphores;

/* ---- Their lives ------------------------------------------------------------------------------------------------- */

static void register_new(thrum_semaphore *semaphore)
{
    thrum__lock_take(&thrum__semaphores_lock);
    semaphore->next = thrum__semaphores;
    if (semaphore->next)
        semaphore->next->previous = semaphore;
    thrum__semaphores = semaphore;
    thrum__lock_give(&thrum__semaphores_lock);
}

static void unregister(const thrum_semaphore *semaphore)
{
    thrum__lock_take(&thrum__semaphores_lock);
    if (semaphore->next)
        semaphore->next->previous = semaphore->previous;
    if (semaphore->previous)
        semaphore->previous->next = semaphore->next;
    else
        thrum__semaphores = semaphore->next;
    thrum__lock_give(&thrum__semaphores_lock);
}

/* Acquire and release: whatever was done with it happens before it is freed. */
static void drop(thrum_semaphore *semaphore)
{
    if (atomic_fetch_sub_explicit(&semaphore->references, 1, memory_order_acq_rel) != 1)
        return;
    unregister(semaphore);
    thrum__free(semaphore->name);
    thrum__free(semaphore);
}

thrum_semaphore *thrum_semaphore_new(const char *name, uint64_t tokens)
{
    const char *label = name ? name : "";
    if (tokens == 0) {
        thrum__fault(THRUM_EINVAL,
                     "thrum_semaphore_new: semaphore '%s' would have no tokens, and nobody could have one", label);
        return NULL;
    }
    thrum_semaphore *semaphore = thrum__zalloc(sizeof *semaphore);
    if (!semaphore || !(semaphore->name = thrum__copy_text(label))) {
        thrum__free(semaphore);
        thrum__fault(THRUM_ENOMEM, "thrum_semaphore_new: no memory for semaphore '%s'", label);
        return NULL;
    }
    semaphore->tokens = tokens;
    atomic_init(&semaphore->free, tokens);
    atomic_init(&semaphore->references, 1);
    register_new(semaphore);
    return semaphore;
}

static bool is_awaited_locked(const thrum_semaphore *semaphore)
{
    for (int level = 0; level < THRUM__WAITING_LEVELS; level++)
        if (semaphore->waiting[level].first)
            return true;
    return false;
}

int thrum_semaphore_free(thrum_semaphore *semaphore)
{
    if (!semaphore)
        return 0;
    thrum__lock_take(&semaphore->lock);
    uint64_t held = semaphore->tokens - atomic_load_explicit(&semaphore->free, memory_order_relaxed);
    bool awaited = is_awaited_locked(semaphore);
    thrum__lock_give(&semaphore->lock);
    if (held)
        return thrum__fault(THRUM_EBUSY, "thrum_semaphore_free: %llu of the %llu tokens of semaphore '%s' are in use",
                            (unsigned long long)held, (unsigned long long)semaphore->tokens, semaphore->name);
    if (awaited)
        return thrum__fault(THRUM_EBUSY, "thrum_semaphore_free: tasks wait for semaphore '%s'", semaphore->name);
    drop(semaphore);
    return 0;
}

uint64_t thrum_semaphore_tokens(const thrum_semaphore *semaphore)
{
    return semaphore ? atomic_load_explicit(&semaphore->free, memory_order_relaxed) : 0;
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

void thrum__semaphores_before_fork(void)
{
    thrum__lock_take(&thrum__semaphores_lock);
}

void thrum__semaphores_in_parent(void)
{
    thrum__lock_give(&thrum__semaphores_lock);
}

/* Each may have been in the hands of a thread that the child does not have. */
void thrum__semaphores_in_child(void)
{
    for (thrum_semaphore *s = thrum__semaphores; s; s = s->next) {
        atomic_store_explicit(&s->lock.state, 0, memory_order_relaxed);
        atomic_store_explicit(&s->free, s->tokens, memory_order_relaxed);
        memset(s->waiting, 0, sizeof s->waiting);
    }
    thrum__lock_give(&thrum__semaphores_lock);
}

/* ---- A graph's uses ---------------------------------------------------------------------------------------------- */

static size_t slot_of(const thrum__terms_table *table, const thrum_semaphore *semaphore)
{
    size_t mask = table->use_capacity - 1;
    size_t at = (size_t)(((uintptr_t)semaphore >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (table->use_slots[at] && table->use_slots[at]->semaphore != semaphore)
        at = (at + 1) & mask;
    return at;
}

/* Room for one more: at most half of the slots are taken. */
static int reserve_slot(thrum__terms_table *table)
{
    if (2 * (table->use_count + 1) <= table->use_capacity)
        return 0;
    size_t capacity = table->use_capacity ? 2 * table->use_capacity : 8;
    thrum__use **slots = thrum__zalloc(capacity * sizeof *slots);
    if (!slots)
        return THRUM_ENOMEM;
    thrum__free(table->use_slots);
    table->use_slots = slots;
    table->use_capacity = capacity;
    for (thrum__use *use = table->uses; use; use = use->next)
        slots[slot_of(table, use->semaphore)] = use;
    return 0;
}

/* The graph's use of the semaphore; a new one if there is none yet. NULL without memory. */
static thrum__use *use_of(thrum__terms_table *table, thrum_semaphore *semaphore)
{
    if (reserve_slot(table))
        return NULL;
    thrum__use **slot = &table->use_slots[slot_of(table, semaphore)];
    if (*slot)
        return *slot;
    thrum__use *use = thrum__alloc(sizeof *use);
    if (!use)
        return NULL;
    *use = (thrum__use){.next = table->uses, .semaphore = semaphore};
    /* Relaxed: the caller has it from somebody who refers to it. */
    atomic_fetch_add_explicit(&semaphore->references, 1, memory_order_relaxed);
    table->uses = *slot = use;
    table->use_count++;
    return use;
}

void thrum__uses_drop(thrum__terms_table *table)
{
    while (table->uses) {
        thrum__use *use = table->uses;
        table->uses = use->next;
        drop(use->semaphore);
        thrum__free(use);
    }
    thrum__free(table->use_slots);
}

/* ---- A task's lists ---------------------------------------------------------------------------------------------- */

/* The line of the list that is about this use; a new one, of no tokens, if there is none yet. NULL without memory. */
static thrum__demand *demand_of(thrum__demand **list, size_t *count, thrum__use *use)
{
    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].use == use)
            return &(*list)[i];
    if ((*count & (*count - 1)) == 0) { /* room is for a power of two */
        thrum__demand *longer = thrum__alloc((*count ? 2 * *count : 1) * sizeof *longer);
        if (!longer)
            return NULL;
        if (*count)
            memcpy(longer, *list, *count * sizeof *longer);
        thrum__free(*list);
        *list = longer;
    }
    (*list)[*count] = (thrum__demand){.use = use};
    return &(*list)[(*count)++];
}

static int copy_list(thrum__terms_table *table, const thrum__demand *from, size_t length, thrum__demand **to,
                     size_t *count)
{
    for (size_t i = 0; i < length; i++) {
        thrum__use *use = use_of(table, from[i].use->semaphore);
        thrum__demand *demand = use ? demand_of(to, count, use) : NULL;
        if (!demand)
            return THRUM_ENOMEM;
        demand->count = from[i].count;
    }
    return 0;
}

int thrum__demands_copy(const thrum__terms *from, thrum__terms *to)
{
    thrum__terms_table *table = thrum__chunk_of(to->post.task)->graph->terms;
    int err = copy_list(table, from->acquires, from->acquire_count, &to->acquires, &to->acquire_count);
    return err ? err : copy_list(table, from->releases, from->release_count, &to->releases, &to->release_count);
}

void thrum__demands_drop(thrum__terms *terms)
{
    thrum__free(terms->acquires);
    thrum__free(terms->releases);
}

/* The terms of the task, and the graph's use of the semaphore: for the building call `what`. NULL: the error is
 * kept. */
static thrum__use *begin_listing(thrum_task *task, thrum_semaphore *semaphore, const char *what, thrum__terms **terms)
{
    char room[80];
    *terms = thrum__terms_change(task, what);
    if (!*terms)
        return NULL;
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    if (!semaphore) {
        thrum__graph_fail(graph, THRUM_EINVAL, "%s: the semaphore for %s is NULL", what,
                          thrum__task_label(task, room, sizeof room));
        return NULL;
    }
    return use_of(graph->terms, semaphore);
}

static int no_memory(const thrum_task *task, const char *what)
{
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    return thrum__graph_fail(graph, THRUM_ENOMEM, "%s: no memory for a task of graph '%s'", what, graph->names->graph);
}

static int add_one(thrum_task *task, thrum__demand *demand, const char *what)
{
    char room[80];
    const thrum_semaphore *semaphore = demand->use->semaphore;
    if (demand->count == semaphore->tokens)
        return thrum__graph_fail(thrum__chunk_of(task)->graph, THRUM_EINVAL,
                                 "%s: %s lists semaphore '%s' %llu times, but that has %llu token%s", what,
                                 thrum__task_label(task, room, sizeof room), semaphore->name,
                                 (unsigned long long)demand->count + 1, (unsigned long long)semaphore->tokens,
                                 semaphore->tokens == 1 ? "" : "s");
    demand->count++;
    return 0;
}

int thrum_task_acquire(thrum_task *task, thrum_semaphore *semaphore)
{
    static const char what[] = "thrum_task_acquire";
    thrum__terms *terms;
    thrum__use *use = begin_listing(task, semaphore, what, &terms);
    if (!terms || !semaphore)
        return thrum__last_code();
    thrum__demand *demand = use ? demand_of(&terms->acquires, &terms->acquire_count, use) : NULL;
    return demand ? add_one(task, demand, what) : no_memory(task, what);
}

int thrum_task_release(thrum_task *task, thrum_semaphore *semaphore)
{
    static const char what[] = "thrum_task_release";
    thrum__terms *terms;
    thrum__use *use = begin_listing(task, semaphore, what, &terms);
    if (!terms || !semaphore)
        return thrum__last_code();
    thrum__demand *demand = use ? demand_of(&terms->releases, &terms->release_count, use) : NULL;
    return demand ? add_one(task, demand, what) : no_memory(task, what);
}
