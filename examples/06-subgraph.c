/* SPDX-License-Identifier: MIT
 *
 * A task that builds a graph while it runs. `plan` decides how many parts there are; the graph that it builds in its
 * scope runs before `plan` counts as done, so `report` sees all results.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { MOST = 100 };

static struct {
    int count;
    long part[MOST], sum;
} work;

static void compute(void *part)
{
    long *p = part;
    *p = p - work.part + 1;
}

static void add_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < work.count; i++)
        work.sum += work.part[i];
}

static void plan(thrum_scope *scope, void *arg)
{
    (void)arg;
    work.count = 10; /* as if it had been found out just now */
    thrum_graph *g = thrum_scope_graph(scope, "parts");
    thrum_task *sum = thrum_task_new(g, add_up, NULL);
    for (int i = 0; i < work.count; i++)
        thrum_precede(thrum_task_new(g, compute, &work.part[i]), sum);
    /* No run and no free: the scope does both. */
}

static void report(void *arg)
{
    (void)arg;
    printf("%d parts, sum %ld\n", work.count, work.sum);
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("outer");
    thrum_precede(thrum_scope_task_new(g, plan, NULL), thrum_task_new(g, report, NULL));
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "subgraph: %s\n", thrum_message(g));
    thrum_graph_free(g);
    return err != 0 || work.sum != 55;
}
