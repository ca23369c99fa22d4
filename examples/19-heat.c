/* SPDX-License-Identifier: MIT
 *
 * Heat spreads over a plate: 1000 steps in blocks, with no barrier between the steps. A block goes on to its next step
 * as soon as its neighbours have done the one before, so fast parts of the plate are some steps ahead of slow ones.
 *
 * Two fields are enough: step i reads field i % 2 and writes field (i + 1) % 2. Step i of a block waits, by edges into
 * the next iteration, for step i - 1 of the block itself and of its four neighbours. So
 *   - what it reads is there: they have written field i % 2;
 *   - what it overwrites is read no more: they have read field (i - 1) % 2, which is field (i + 1) % 2, and step i
 *     reads the other one;
 *   - and nobody writes what it reads: a neighbour that is to write field i % 2 again is at step i + 1, which waits for
 *     this.
 */
#include <thrum/thrum.h>

#include <stdio.h>
#include <string.h>

enum { SIDE = 240, BLOCK = 60, ACROSS = SIDE / BLOCK, STEPS = 1000 };

struct field {
    double at[SIDE + 2][SIDE + 2]; /* with a rim that stays as it is */
};

static struct field fields[2], expected[2];

struct block {
    int row, column; /* of its first cell */
};

static void spread(struct field *plate, struct block b, uint64_t step)
{
    const struct field *from = &plate[step % 2];
    struct field *to = &plate[(step + 1) % 2];
    for (int i = b.row; i < b.row + BLOCK; i++)
        for (int j = b.column; j < b.column + BLOCK; j++) {
            double around = from->at[i - 1][j] + from->at[i + 1][j] + from->at[i][j - 1] + from->at[i][j + 1];
            to->at[i][j] = from->at[i][j] + 0.2 * (around - 4 * from->at[i][j]);
        }
}

static void step_block(void *arg)
{
    spread(fields, *(struct block *)arg, thrum_iteration());
}

/* Each waits for the other's step before. */
static void make_neighbours(thrum_task *a, thrum_task *b)
{
    thrum_precede_next(a, b);
    thrum_precede_next(b, a);
}

static thrum_graph *make_graph(struct block blocks[ACROSS][ACROSS])
{
    thrum_graph *g = thrum_graph_new("heat");
    thrum_task *tasks[ACROSS][ACROSS];
    for (int i = 0; i < ACROSS; i++)
        for (int j = 0; j < ACROSS; j++) {
            blocks[i][j] = (struct block){1 + i * BLOCK, 1 + j * BLOCK};
            tasks[i][j] = thrum_task_new(g, step_block, &blocks[i][j]);
            if (i > 0)
                make_neighbours(tasks[i - 1][j], tasks[i][j]);
            if (j > 0)
                make_neighbours(tasks[i][j - 1], tasks[i][j]);
        }
    return g;
}

static void heat_up(struct field *plate)
{
    for (int which = 0; which < 2; which++)
        for (int j = 0; j < SIDE + 2; j++)
            plate[which].at[0][j] = 100; /* the upper rim is hot */
}

int main(void)
{
    static struct block blocks[ACROSS][ACROSS];
    heat_up(fields);
    heat_up(expected);
    for (uint64_t step = 0; step < STEPS; step++) /* one step after the other, as the tasks should seem to */
        for (int i = 0; i < ACROSS * ACROSS; i++)
            spread(expected, (struct block){1 + i / ACROSS * BLOCK, 1 + i % ACROSS * BLOCK}, step);

    thrum_graph *g = make_graph(blocks);
    int err = thrum_run_pipelined(NULL, g, STEPS);
    if (err)
        fprintf(stderr, "heat: %s\n", thrum_message(g));
    int same = memcmp(fields, expected, sizeof fields) == 0; /* every bit */
    const struct field *last = &fields[STEPS % 2];
    printf("%.2f degrees next to the hot rim, %.2f thirty cells away; %s\n", last->at[1][SIDE / 2],
           last->at[30][SIDE / 2], same ? "the same as step by step" : "NOT the same as step by step");
    thrum_graph_free(g);
    return err != 0 || !same;
}
