/* SPDX-License-Identifier: MIT
 *
 * Blocks of control flow that run side by side: one half of the graph loops while the other branches and then loops.
 * Nothing outside of the graph decides anything.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>

struct counter {
    const char *what;
    atomic_int count;
};

static struct counter work = {"work", 0}, finish = {"finish", 0}, small = {"small", 0}, large = {"large", 0},
                      clean = {"clean", 0};
static int size = 5;

static void count(void *arg)
{
    atomic_fetch_add(&((struct counter *)arg)->count, 1);
}

static int enough_work(void *arg)
{
    (void)arg;
    return atomic_load(&work.count) < 10 ? 0 : 1;
}

static int is_large(void *arg)
{
    (void)arg;
    return size > 3;
}

static int is_clean(void *arg)
{
    (void)arg;
    return --size > 0 ? 0 : 1;
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("side by side");
    thrum_task *begin = thrum_placeholder_new(g);

    /* One half: work, and work again until it is enough. */
    thrum_task *working = thrum_task_new(g, count, &work), *enough = thrum_condition_new(g, enough_work, NULL);
    thrum_precede(working, enough);
    thrum_precede(enough, working, thrum_task_new(g, count, &finish));

    /* The other half: branch; behind one branch a condition asks itself again and again. */
    thrum_task *which = thrum_condition_new(g, is_large, NULL), *branch = thrum_task_new(g, count, &large);
    thrum_task *shrink = thrum_condition_new(g, is_clean, NULL);
    thrum_precede(which, thrum_task_new(g, count, &small), branch);
    thrum_precede(branch, shrink);
    thrum_precede(shrink, shrink, thrum_task_new(g, count, &clean));

    thrum_precede(begin, working, which);
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "parallel-flow: %s\n", thrum_message(g));
    const struct counter *all[] = {&work, &finish, &small, &large, &clean};
    for (int i = 0; i < 5; i++)
        printf("%s: %d\n", all[i]->what, (int)all[i]->count);
    thrum_graph_free(g);
    return err != 0 || work.count != 10 || finish.count != 1 || small.count != 0 || large.count != 1 ||
           clean.count != 1;
}
