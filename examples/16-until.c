/* SPDX-License-Identifier: MIT
 *
 * How a run ends: when a function says that it is enough, or when somebody cancels it.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static atomic_int grains;

static void put_grain(void *arg)
{
    (void)arg;
    atomic_fetch_add(&grains, 1);
}

static bool is_heap(void *limit)
{
    return grains >= *(int *)limit; /* asked before each run, never while one is under way */
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

int main(void)
{
    int limit = 1000;
    thrum_graph *g = thrum_graph_new("heap");
    for (int i = 0; i < 8; i++)
        thrum_task_new(g, put_grain, NULL);

    int err = thrum_run_until(NULL, g, is_heap, &limit);
    printf("%d grains are a heap\n", (int)grains);
    bool right = err == 0 && grains == 1000;

    thrum_handle *h = thrum_start_until(NULL, g, never, NULL); /* would go on for ever */
    if (!h) {
        fprintf(stderr, "until: %s\n", thrum_message(NULL));
        return 1;
    }
    thrum_cancel(h);
    int code = thrum_wait(h); /* what runs comes to its end, nothing else begins */
    printf("%s: %s\n", thrum_error_name(code), thrum_message(h));
    thrum_release(h);
    thrum_graph_free(g);
    return !right || code != THRUM_ECANCELLED;
}
