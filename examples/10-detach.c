/* SPDX-License-Identifier: MIT
 *
 * Detached tasks: `notice` does not wait for the letters it sends off, and the tasks after it do not either. The run
 * does: when it has ended, all letters have been written.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>

enum { LETTERS = 20 };

static atomic_int written;

static void write_letter(thrum_scope *scope, void *arg)
{
    (void)scope;
    atomic_fetch_add(&written, *(const int *)arg);
}

static void notice(thrum_scope *scope, void *arg)
{
    (void)arg;
    thrum_scope_detach(scope); /* from here on: joined at the end of the run, not at the end of this task */
    for (int i = 1; i <= LETTERS; i++)
        thrum_spawn_copy(scope, write_letter, &i, sizeof i); /* a copy, because `i` will be gone by then */
}

static void go_on(void *arg)
{
    *(int *)arg = 1;
}

int main(void)
{
    int went_on = 0;
    thrum_graph *g = thrum_graph_new("detach");
    thrum_precede(thrum_scope_task_new(g, notice, NULL), thrum_task_new(g, go_on, &went_on));
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "detach: %s\n", thrum_message(g));
    printf("the letters add up to %d\n", (int)written);
    thrum_graph_free(g);
    return err != 0 || !went_on || written != LETTERS * (LETTERS + 1) / 2;
}
