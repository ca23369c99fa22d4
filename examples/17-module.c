/* SPDX-License-Identifier: MIT
 *
 * A graph as a task of another, run for several data sets at once: modules, contexts and clones.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { SIGNALS = 3, LENGTH = 1000 };

struct signal {
    double samples[LENGTH], sum;
};

static void generate(void *arg)
{
    (void)arg;
    struct signal *signal = thrum_context(); /* what this run was started with */
    for (int i = 0; i < LENGTH; i++)
        signal->samples[i] = i % 10;
}

static void halve(void *arg)
{
    (void)arg;
    struct signal *signal = thrum_context();
    for (int i = 0; i < LENGTH; i++)
        signal->samples[i] /= 2;
}

static void add_up(void *arg)
{
    (void)arg;
    struct signal *signal = thrum_context();
    for (int i = 0; i < LENGTH; i++)
        signal->sum += signal->samples[i];
}

/* Two steps that belong together, and a graph that uses them between two others. */
static thrum_graph *make_filter(void)
{
    thrum_graph *g = thrum_graph_new("filter");
    thrum_precede(thrum_task_new(g, halve, NULL), thrum_task_new(g, halve, NULL));
    return g;
}

static thrum_graph *make_chain(thrum_graph *filter)
{
    thrum_graph *g = thrum_graph_new("chain");
    thrum_task *first = thrum_task_new(g, generate, NULL), *last = thrum_task_new(g, add_up, NULL);
    thrum_task *module = thrum_module_new(g, filter);
    thrum_precede(first, module);
    thrum_precede(module, last);
    return g;
}

int main(void)
{
    static struct signal signals[SIGNALS];
    thrum_graph *filters[SIGNALS], *chains[SIGNALS];
    thrum_handle *runs[SIGNALS];
    int wrong = 0;
    filters[0] = make_filter();
    for (int i = 1; i < SIGNALS; i++)
        filters[i] = thrum_graph_clone(filters[0]); /* one graph cannot run twice at the same time: a copy can */
    for (int i = 0; i < SIGNALS; i++) {
        chains[i] = make_chain(filters[i]);
        runs[i] = thrum_start_with(NULL, chains[i], &signals[i]);
    }
    for (int i = 0; i < SIGNALS; i++) {
        wrong |= thrum_wait(runs[i]) != 0 || signals[i].sum != 1125;
        printf("signal %d: %g\n", i, signals[i].sum);
        thrum_release(runs[i]);
        thrum_graph_free(chains[i]);
        thrum_graph_free(filters[i]);
    }
    return wrong;
}
