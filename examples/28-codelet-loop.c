/* SPDX-License-Identifier: MIT
 *
 * Codelets in a graph with a loop: blocks of numbers are improved in parallel, wherever the executor puts them, until a
 * condition in the graph finds that they are good enough. No thread of the program takes part in the loop.
 */
#include <thrum/thrum.h>

#include <math.h>
#include <stdio.h>

enum { BLOCKS = 4, EACH = 1000 };

/* In main memory: `collect`, which processors run, writes it; the condition behind it reads it. */
static struct {
    double change;
    int turns;
} state;

/* Numbers come nearer to the square roots of 1, 2, 3, ...; the argument is how many there are before this block. */
static void improve(const thrum_buffer *b, const void *arg)
{
    double *x = b[0].ptr, largest = 0;
    for (size_t i = 0; i < b[0].extent[0]; i++) {
        double better = (x[i] + (double)(*(const size_t *)arg + i + 1) / x[i]) / 2;
        largest = fmax(largest, fabs(better - x[i]));
        x[i] = better;
    }
    *(double *)b[1].ptr = largest;
}

static void collect(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    state.change = 0;
    for (int i = 0; i < BLOCKS; i++)
        state.change = fmax(state.change, *(double *)b[i].ptr);
}

static int is_near(void *arg)
{
    (void)arg;
    state.turns++;
    return state.change > 1e-9 ? 0 : 1; /* 0: again */
}

static const thrum_codelet improve_codelet = {.name = "improve", .cpu = improve, .emu = improve};
static const thrum_codelet collect_codelet = {.name = "collect", .cpu = collect};

int main(void)
{
    static double x[BLOCKS][EACH];
    thrum_data *numbers[BLOCKS], *changes[BLOCKS];
    thrum_graph *g = thrum_graph_new("roots");
    thrum_task *begin = thrum_placeholder_new(g), *again = thrum_placeholder_new(g), *last = thrum_placeholder_new(g);
    thrum_task *near = thrum_condition_new(g, is_near, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        for (int j = 0; j < EACH; j++)
            x[i][j] = 1;
        numbers[i] = thrum_data_vector(NULL, x[i], EACH, sizeof(double));
        changes[i] = thrum_data_variable(NULL, NULL, sizeof(double));
    }
    thrum_task *all = thrum_codelet_task(g, &collect_codelet, THRUM_R(changes[0]), THRUM_R(changes[1]),
                                         THRUM_R(changes[2]), THRUM_R(changes[3]));
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t before = i * EACH;
        thrum_task *task =
            thrum_codelet_task(g, &improve_codelet, THRUM_RW(numbers[i]), THRUM_W(changes[i]), THRUM_ARG(before));
        thrum_precede(again, task);
        thrum_precede(task, all);
    }
    thrum_precede(begin, again);
    thrum_precede(all, near);
    thrum_precede(near, again, last); /* 0: back; 1: on */

    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "codelet-loop: %s\n", thrum_message(g));
    thrum_graph_free(g);
    for (int i = 0; i < BLOCKS; i++) {
        thrum_data_unregister(numbers[i]);
        thrum_data_unregister(changes[i]);
    }
    printf("the root of %d is %.9f, after %d turns\n", BLOCKS * EACH, x[BLOCKS - 1][EACH - 1], state.turns);
    return err != 0 || fabs(x[BLOCKS - 1][EACH - 1] - sqrt(BLOCKS * EACH)) > 1e-9;
}
