/* SPDX-License-Identifier: MIT
 *
 * Errors: a task that fails, and a graph that cannot run. Both come back as a code and a sentence.
 */
#include <thrum/thrum.h>

#include <stdio.h>
#include <string.h>

enum { NOT_A_NUMBER = 42 }; /* a code of one's own is positive */

static int used_bad_data;

static void load(void *arg)
{
    (void)arg;
    thrum_fail(NOT_A_NUMBER, "line %d is not a number", 17);
}

static void use(void *arg)
{
    (void)arg;
    used_bad_data = 1;
}

/* The first failure cancels the run: what has not started will not start. */
static int failing_task(void)
{
    thrum_graph *g = thrum_graph_new("load and use");
    thrum_precede(thrum_task_new(g, load, NULL), thrum_task_new(g, use, NULL));
    int err = thrum_run(NULL, g);
    printf("run: %d, \"%s\"\n", err, thrum_message(g));
    int right = err == NOT_A_NUMBER && !used_bad_data && strstr(thrum_message(g), "line 17 is not a number");
    thrum_graph_free(g);
    return right;
}

/* No building call is checked: the graph keeps its first error, and running it returns that. */
static int cycle(void)
{
    thrum_graph *g = thrum_graph_new("chicken and egg");
    thrum_task *farm = thrum_task_new(g, use, NULL);
    thrum_task *chicken = thrum_task_new(g, use, NULL), *egg = thrum_task_new(g, use, NULL);
    thrum_task_set_name(farm, "farm");
    thrum_task_set_name(chicken, "chicken");
    thrum_task_set_name(egg, "egg");
    thrum_precede(farm, chicken);
    thrum_precede(chicken, egg);
    thrum_precede(egg, chicken);
    int err = thrum_run(NULL, g);
    printf("%s: \"%s\"\n", thrum_error_name(err), thrum_message(g));
    int right = err == THRUM_ECYCLE && strstr(thrum_message(g), "chicken") && strstr(thrum_message(g), "egg");
    thrum_graph_free(g);
    return right;
}

int main(void)
{
    int right = failing_task();
    right &= cycle();
    return !right;
}
