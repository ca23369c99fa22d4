/* SPDX-License-Identifier: MIT
 *
 * A graph is built once and run as often as wanted: once, n times, or in the background with a handle that can be
 * waited for and that calls a function at the end.
 */
#include <thrum/thrum.h>

#include <stdio.h>

static void grow(void *money)
{
    *(double *)money *= 1.01;
}

static void spend(void *money)
{
    *(double *)money -= 1;
}

static void tell(void *ended)
{
    *(int *)ended = 1;
}

int main(void)
{
    double money = 100;
    int ended = 0;
    thrum_graph *g = thrum_graph_new("month");
    thrum_precede(thrum_task_new(g, grow, &money), thrum_task_new(g, spend, &money));

    int err = thrum_run(NULL, g); /* one month */
    if (!err)
        err = thrum_run_n(NULL, g, 11); /* the rest of the year */

    thrum_handle *next_year = thrum_start_n(NULL, g, 12); /* goes on while this thread does something else */
    if (!next_year) {
        fprintf(stderr, "rerun: %s\n", thrum_message(NULL));
        return 1;
    }
    thrum_then(next_year, tell, &ended); /* called before waiting returns */
    int later = thrum_wait(next_year);
    thrum_release(next_year);

    printf("after 24 months: %.6f\n", money); /* one percent of 100 is what is spent */
    thrum_graph_free(g);
    return err != 0 || later != 0 || !ended || money < 99.999999 || money > 100.000001;
}
