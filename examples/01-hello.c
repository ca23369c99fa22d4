/* SPDX-License-Identifier: MIT
 *
 * A graph of four tasks: A before B and C, D after both.   cc 01-hello.c $(pkg-config --cflags --libs thrum)
 */
#include <thrum/thrum.h>

#include <stdio.h>

static void say(void *word)
{
    puts(word);
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("diamond");
    thrum_task *a = thrum_task_new(g, say, "A"), *b = thrum_task_new(g, say, "B");
    thrum_task *c = thrum_task_new(g, say, "C"), *d = thrum_task_new(g, say, "D");
    thrum_precede(a, b, c);       /* A before B and C */
    thrum_succeed(d, b, c);       /* D after both */
    int err = thrum_run(NULL, g); /* NULL: the default executor, a worker per usable core */
    if (err)
        fprintf(stderr, "hello: %s\n", thrum_message(g));
    thrum_graph_free(g);
    return err != 0;
}
