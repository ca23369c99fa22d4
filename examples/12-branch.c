/* SPDX-License-Identifier: MIT
 *
 * If and else inside a graph. A condition's value names the successor that runs next: 0 is the one whose edge was added
 * first. The other branch does not run at all.
 */
#include <thrum/thrum.h>

#include <stdio.h>

static int temperature, heated, cooled;

static void measure(void *arg)
{
    (void)arg;
    temperature = 12;
}

static int is_warm(void *arg)
{
    (void)arg;
    return temperature < 20 ? 0 : 1; /* 0: heat, 1: cool */
}

static void heat(void *arg)
{
    (void)arg;
    heated++;
    printf("%d degrees: heat\n", temperature);
}

static void cool(void *arg)
{
    (void)arg;
    cooled++;
    printf("%d degrees: cool\n", temperature);
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("branch");
    thrum_task *first = thrum_task_new(g, measure, NULL);
    thrum_task *warm = thrum_condition_new(g, is_warm, NULL);
    thrum_task *heating = thrum_task_new(g, heat, NULL), *cooling = thrum_task_new(g, cool, NULL);
    thrum_precede(first, warm);
    thrum_precede(warm, heating, cooling); /* the order counts */

    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "branch: %s\n", thrum_message(g));
    thrum_graph_free(g);
    return err != 0 || heated != 1 || cooled != 0;
}
