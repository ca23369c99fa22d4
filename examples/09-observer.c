/* SPDX-License-Identifier: MIT
 *
 * An observer is called around every task of an executor. This one counts the tasks and remembers the last name.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct census {
    atomic_int begun, ended;
    char last[32];
};

static void begin(void *context, const thrum_task_info *info)
{
    (void)info;
    atomic_fetch_add(&((struct census *)context)->begun, 1);
}

/* Several workers call this at once, but only one task is named "end", and it runs alone. */
static void end(void *context, const thrum_task_info *info)
{
    struct census *census = context;
    atomic_fetch_add(&census->ended, 1);
    if (strcmp(info->name, "end") == 0)
        snprintf(census->last, sizeof census->last, "%s of %s", info->name, info->graph);
}

static void nothing(void *arg)
{
    (void)arg;
}

int main(void)
{
    struct census census = {0};
    thrum_executor *ex = thrum_executor_new(NULL);
    thrum_graph *g = thrum_graph_new("fan");
    thrum_task *last = thrum_task_new(g, nothing, NULL);
    thrum_task_set_name(last, "end");
    for (int i = 0; i < 99; i++)
        thrum_precede(thrum_task_new(g, nothing, NULL), last);

    int err = ex ? thrum_executor_observe(ex, &(thrum_observer){.begin = begin, .end = end, .context = &census})
                 : THRUM_ENOMEM;
    if (!err)
        err = thrum_run(ex, g);
    if (err)
        fprintf(stderr, "observer: %s\n", thrum_message(NULL));
    printf("%d begun, %d ended, the last was %s\n", (int)census.begun, (int)census.ended, census.last);
    thrum_executor_free(ex);
    thrum_graph_free(g);
    return err != 0 || census.begun != 100 || census.ended != 100 || strcmp(census.last, "end of fan") != 0;
}
