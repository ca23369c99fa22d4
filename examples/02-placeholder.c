/* SPDX-License-Identifier: MIT
 *
 * Placeholders: tasks made before it is known what they will do. Here the end of the graph is made first and its work
 * is set last; a placeholder that never gets any is a meeting point.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { PARTS = 8 };

static long parts[PARTS], total;

static void square(void *part)
{
    long *p = part;
    *p = (p - parts) * (p - parts);
}

static void add_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < PARTS; i++)
        total += parts[i];
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("placeholder");
    thrum_task *sum = thrum_placeholder_new(g);
    thrum_task *all_there = thrum_placeholder_new(g); /* stays without work: everybody meets here */
    thrum_precede(all_there, sum);
    for (int i = 0; i < PARTS; i++)
        thrum_precede(thrum_task_new(g, square, &parts[i]), all_there);
    thrum_task_set(sum, add_up, NULL);
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "placeholder: %s\n", thrum_message(g));
    printf("0 + 1 + 4 + ... + 49 = %ld\n", total);
    thrum_graph_free(g);
    return err != 0 || total != 140;
}
