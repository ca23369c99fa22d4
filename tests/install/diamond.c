/* SPDX-License-Identifier: MIT
 *
 * A user's program: four tasks in a diamond, each of which notes when it ran.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int clock_now;

static void note(void *when)
{
    *(int *)when = atomic_fetch_add(&clock_now, 1) + 1;
}

int main(void)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR, THRUM_VERSION_PATCH);
    if (strcmp(version, thrum_version()) != 0) {
        fprintf(stderr, "diamond: the headers are of %s, the library is %s\n", version, thrum_version());
        return 1;
    }

    int when[4] = {0};
    thrum_graph *graph = thrum_graph_new("diamond");
    thrum_task *task[4];
    for (int i = 0; i < 4; i++)
        task[i] = thrum_task_new(graph, note, &when[i]);
    thrum_precede(task[0], task[1], task[2]);
    thrum_succeed(task[3], task[1], task[2]);
    int error = thrum_run(NULL, graph);
    if (error)
        fprintf(stderr, "diamond: %s\n", thrum_message(graph));
    thrum_graph_free(graph);

    int right = when[0] == 1 && when[1] + when[2] == 5 && when[3] == 4;
    if (!right)
        fprintf(stderr, "diamond: the tasks ran as %d %d %d %d\n", when[0], when[1], when[2], when[3]);
    return error || !right;
}
