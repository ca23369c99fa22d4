/* SPDX-License-Identifier: MIT
 *
 * Terms of special tasks: building, copying, and what freezing makes of them.
 */
#include "model/terms.h"

#include "base/alloc.h"
#include "model/graph_int.h"
#include "model/semaphore.h"

#include <stdio.h>
#include <string.h>

/* ---- The table --------------------------------------------------------------------------------------------------- */

thrum__terms_table *thrum__terms_table_of(thrum_graph *graph)
{
    if (!graph->terms)
        graph->terms = thrum__zalloc(sizeof *graph->terms);
    return graph->terms;
}

static int table_reserve(thrum_graph *graph, size_t number)
{
    thrum__terms_table *table = thrum__terms_table_of(graph);
    if (!table)
        return THRUM_ENOMEM;
    if (number < table->capacity)
        return 0;
    size_t capacity = table->capacity * 2 > number + 1 ? table->capacity * 2 : number + 16;
    thrum__terms **of = thrum__zalloc(capacity * sizeof *of);
    if (!of)
        return THRUM_ENOMEM;
    if (table->capacity)
        memcpy(of, table->of, table->capacity * sizeof *of);
    thrum__free(table->of);
    table->of = of;
    table->capacity = capacity;
    return 0;
}

static thrum__terms *terms_new(thrum_task *task)
{
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    size_t number = (size_t)thrum_task_number(task);
    thrum__terms *terms = table_reserve(graph, number) ? NULL : thrum__zalloc(sizeof *terms);
    if (!terms)
        return NULL;
    terms->worker = -1;
    terms->post.task = task;
    graph->terms->of[number] = terms;
    task->strong |= THRUM__SPECIAL | THRUM__SLOW;
    return terms;
}

thrum__terms *thrum__terms_change(thrum_task *task, const char *what)
{
    if (!task) {
        thrum__fault(THRUM_EINVAL, "%s: a task is NULL; was it made in a graph that had failed?", what);
        return NULL;
    }
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    if (thrum__graph_open(graph, what))
        return NULL;
    thrum__terms *terms = thrum__is_special(task) ? thrum__terms_of(task) : terms_new(task);
    if (!terms)
        thrum__graph_fail(graph, THRUM_ENOMEM, "%s: no memory for a task of graph '%s'", what, graph->names->graph);
    return terms;
}

void thrum__terms_drop(thrum_graph *graph)
{
    if (!graph->terms)
        return;
    for (size_t i = 0; i < graph->terms->capacity; i++) {
        if (graph->terms->of[i])
            thrum__demands_drop(graph->terms->of[i]);
        thrum__free(graph->terms->of[i]);
    }
    thrum__uses_drop(graph->terms);
    thrum__free(graph->terms->of);
    thrum__free(graph->terms);
    graph->terms = NULL;
}

int thrum__terms_copy(const thrum_task *task, thrum_task *copy)
{
    if (!thrum__is_special(task))
        return 0;
    const thrum__terms *from = thrum__terms_of(task);
    thrum__terms *to = terms_new(copy);
    if (!to)
        return THRUM_ENOMEM;
    to->priority = from->priority;
    to->worker = from->worker;
    to->domain = from->domain;
    return thrum__demands_copy(from, to);
}

/* ---- Freezing ---------------------------------------------------------------------------------------------------- */

static bool has_special_successor(const thrum_task *task)
{
    uintptr_t one;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        if (thrum__is_special(thrum__word_task(*word)))
            return true;
    return false;
}

/* Whoever runs a task in another domain must be able to send home what comes behind it. */
static int give_terms_behind(const thrum_task *task)
{
    uintptr_t one;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
        thrum_task *successor = thrum__word_task(*word);
        if (!thrum__is_special(successor) && !terms_new(successor))
            return THRUM_ENOMEM;
    }
    return 0;
}

static int give_terms(const thrum_graph *graph)
{
    int err = 0;
    for (thrum_task *t = thrum__task_first(graph); t && !err; t = thrum__task_after(graph, t))
        if (thrum__is_special(t) && thrum__terms_of(t)->domain > 0)
            err = give_terms_behind(t);
    return err;
}

static void note_terms(thrum__terms_table *table, const thrum_task *task)
{
    const thrum__terms *terms = thrum__terms_of(task);
    table->priorities |= terms->priority != THRUM_NORMAL;
    if (terms->domain < THRUM__DOMAINS_MOST && terms->worker > table->most[terms->domain].worker) {
        table->most[terms->domain].worker = terms->worker;
        table->most[terms->domain].at = task;
    }
    if (terms->domain > table->most_domain) {
        table->most_domain = terms->domain;
        table->at_domain = task;
    }
}

static int priority_of(const thrum_task *task)
{
    return thrum__is_special(task) ? thrum__terms_of(task)->priority : THRUM_NORMAL;
}

/* Where there are no edges, all tasks are sources, and there is no list of them yet. */
static int list_sources(thrum_graph *graph, thrum_task **to)
{
    if (graph->sources) {
        memcpy(to, graph->sources, graph->source_count * sizeof *to);
        return 0;
    }
    graph->sources = thrum__array((graph->source_count + 1) * sizeof *graph->sources);
    if (!graph->sources)
        return THRUM_ENOMEM;
    for (thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
        *to++ = t;
    return 0;
}

static int order_sources(thrum_graph *graph)
{
    thrum_task **all = thrum__alloc((graph->source_count + 1) * sizeof *all);
    if (!all || list_sources(graph, all)) {
        thrum__free(all);
        return THRUM_ENOMEM;
    }
    thrum_task **to = graph->sources;
    for (int priority = THRUM_HIGH; priority >= THRUM_LOW; priority--)
        for (size_t i = 0; i < graph->source_count; i++)
            if (priority_of(all[i]) == priority)
                *to++ = all[i];
    thrum__free(all);
    return 0;
}

int thrum__terms_lay_out(thrum_graph *graph)
{
    thrum__terms_table *table = graph->terms;
    if (!table)
        return 0;
    table->priorities = false;
    table->most_domain = 0;
    for (int d = 0; d < THRUM__DOMAINS_MOST; d++)
        table->most[d].worker = -1;
    int err = give_terms(graph);
    for (thrum_task *t = thrum__task_first(graph); t && !err; t = thrum__task_after(graph, t)) {
        if (t->next && !(t->next & THRUM__ONE) && has_special_successor(t))
            t->next = (t->next & ~(uintptr_t)THRUM__SOLE) | THRUM__SPECIAL_IN;
        if (thrum__is_special(t))
            note_terms(table, t);
    }
    if (!err && table->priorities)
        err = order_sources(graph);
    if (!err)
        return 0;
    return thrum__fault(THRUM_ENOMEM, "thrum_graph_freeze: no memory to lay out graph '%s'", graph->names->graph);
}

static int no_such_worker(const thrum_graph *graph, int domain, int workers)
{
    char room[80], where[40] = "the executor";
    if (domain > 0)
        snprintf(where, sizeof where, "domain %d of the executor", domain);
    return thrum__fault(THRUM_EINVAL, "%s of graph '%s' is pinned to worker %d, but %s has %d worker%s, from 0 on",
                        thrum__task_label(graph->terms->most[domain].at, room, sizeof room), graph->names->graph,
                        graph->terms->most[domain].worker, where, workers, workers == 1 ? "" : "s");
}

int thrum__terms_check(const thrum_graph *graph, const int *workers, int domains)
{
    const thrum__terms_table *table = graph->terms;
    char room[80];
    if (!table)
        return 0;
    if (table->most_domain >= domains)
        return thrum__fault(THRUM_EINVAL,
                            "%s of graph '%s' is pinned to domain %d, but the executor has %d domain%s, from 0 on",
                            thrum__task_label(table->at_domain, room, sizeof room), graph->names->graph,
                            table->most_domain, domains, domains == 1 ? "" : "s");
    for (int d = 0; d <= table->most_domain; d++)
        if (table->most[d].worker >= workers[d])
            return no_such_worker(graph, d, workers[d]);
    return 0;
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */

int thrum_task_set_priority(thrum_task *task, enum thrum_priority priority)
{
    thrum__terms *terms = thrum__terms_change(task, "thrum_task_set_priority");
    if (!terms)
        return thrum__last_code();
    if (priority < THRUM_LOW || priority > THRUM_HIGH)
        return thrum__graph_fail(thrum__chunk_of(task)->graph, THRUM_EINVAL,
                                 "thrum_task_set_priority: %d is not one of enum thrum_priority", (int)priority);
    terms->priority = (int8_t)priority;
    return 0;
}

static int wrong_place(const thrum_task *task, const char *what, int place, int least)
{
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    char room[80];
    const char *label = thrum__task_label(task, room, sizeof room);
    if (place < least)
        return thrum__graph_fail(graph, THRUM_EINVAL, "%s: %s cannot be pinned to %d; numbers begin with 0%s", what,
                                 label, place, least < 0 ? ", and -1 means any" : "");
    if (thrum__kind_of(task) == THRUM__IS_MODULE)
        return thrum__graph_fail(graph, THRUM_EINVAL, "%s: %s is a module; pin the tasks of its graph instead", what,
                                 label);
    return 0;
}

int thrum_task_pin_worker(thrum_task *task, int worker)
{
    thrum__terms *terms = thrum__terms_change(task, "thrum_task_pin_worker");
    int err = terms ? wrong_place(task, "thrum_task_pin_worker", worker, -1) : thrum__last_code();
    if (err)
        return err;
    terms->worker = worker;
    return 0;
}

int thrum_task_pin_domain(thrum_task *task, int domain)
{
    thrum__terms *terms = thrum__terms_change(task, "thrum_task_pin_domain");
    int err = terms ? wrong_place(task, "thrum_task_pin_domain", domain, 0) : thrum__last_code();
    if (err)
        return err;
    terms->domain = domain;
    return 0;
}
