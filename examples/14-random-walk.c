/* SPDX-License-Identifier: MIT
 *
 * Control flow that chance decides. Three conditions in a row toss a coin each: heads leads on, tails back to the first
 * one. So the walk ends after three heads in a row, which takes eight attempts on average, and 14 tosses.
 */
#include <thrum/thrum.h>

#include <stdint.h>
#include <stdio.h>

enum { WALKS = 100000 };

static long attempts, tosses, ended;

static int toss(void *arg)
{
    static uint32_t state = 2463534242; /* the conditions come one after the other, so they may share it */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    attempts += arg != NULL;
    tosses++;
    return (int)(state >> 31);
}

static void end(void *arg)
{
    (void)arg;
    ended++;
}

int main(void)
{
    thrum_graph *g = thrum_graph_new("walk");
    thrum_task *begin = thrum_placeholder_new(g);
    thrum_task *first = thrum_condition_new(g, toss, "the first"), *second = thrum_condition_new(g, toss, NULL);
    thrum_task *third = thrum_condition_new(g, toss, NULL), *stop = thrum_task_new(g, end, NULL);
    thrum_precede(begin, first);
    thrum_precede(first, second, first); /* a condition may name itself */
    thrum_precede(second, third, first);
    thrum_precede(third, stop, first);

    int err = thrum_run_n(NULL, g, WALKS);
    if (err)
        fprintf(stderr, "random-walk: %s\n", thrum_message(g));
    double mean = (double)attempts / WALKS;
    printf("%.2f attempts and %.2f tosses on average\n", mean, (double)tosses / WALKS);
    thrum_graph_free(g);
    return err != 0 || ended != WALKS || mean < 7.8 || mean > 8.2;
}
