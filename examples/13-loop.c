/* SPDX-License-Identifier: MIT
 *
 * A loop inside a graph: a condition leads back to a task that has run. Four tasks find the square root of two by
 * Newton's steps, as many as it takes.
 */
#include <thrum/thrum.h>

#include <math.h>
#include <stdio.h>

struct root {
    double x, change;
    int steps;
};

static void begin(void *arg)
{
    *(struct root *)arg = (struct root){.x = 1};
}

static void improve(void *arg)
{
    struct root *r = arg;
    double better = (r->x + 2 / r->x) / 2;
    r->change = fabs(better - r->x);
    r->x = better;
    r->steps++;
}

static int is_near(void *arg)
{
    return ((struct root *)arg)->change > 1e-12 ? 0 : 1; /* 0: again */
}

static void print_root(void *arg)
{
    struct root *r = arg;
    printf("%.12f after %d steps\n", r->x, r->steps);
}

int main(void)
{
    struct root root;
    thrum_graph *g = thrum_graph_new("loop");
    thrum_task *first = thrum_task_new(g, begin, &root), *body = thrum_task_new(g, improve, &root);
    thrum_task *near = thrum_condition_new(g, is_near, &root), *last = thrum_task_new(g, print_root, &root);
    thrum_precede(first, body);
    thrum_precede(body, near);
    thrum_precede(near, body, last); /* 0: back to the body; 1: on */

    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "loop: %s\n", thrum_message(g));
    thrum_graph_free(g);
    return err != 0 || fabs(root.x - sqrt(2)) > 1e-12 || root.steps > 10;
}
