/* SPDX-License-Identifier: MIT
 *
 * One graph over three groups of workers: a thread that reads, the processor cores that compute, a thread that writes.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { BLOCKS = 16, LENGTH = 1000 };

struct block {
    int number;
    double values[LENGTH], sum;
};

static int reads_elsewhere, written; /* no atomics: the domains of one worker run one task at a time */
static double total;

static void read_block(void *arg)
{
    struct block *block = arg;
    reads_elsewhere += thrum_domain_index() != 0; /* 0 is the processor cores */
    for (int i = 0; i < LENGTH; i++)
        block->values[i] = block->number;
}

static void compute(void *arg)
{
    struct block *block = arg;
    for (int i = 0; i < LENGTH; i++)
        block->sum += block->values[i];
}

static void write_block(void *arg)
{
    const struct block *block = arg;
    total += block->sum;
    written++;
}

int main(void)
{
    static struct block blocks[BLOCKS];
    const thrum_domain_config domains[] = {{"reader", 1}, {"writer", 1}};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.domains = domains, .domain_count = 2});
    if (!ex) {
        fprintf(stderr, "%s\n", thrum_message(NULL));
        return 1;
    }
    int reader = thrum_executor_domain(ex, "reader"), writer = thrum_executor_domain(ex, "writer");
    thrum_graph *g = thrum_graph_new("blocks");
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].number = i;
        thrum_task *in = thrum_task_new(g, read_block, &blocks[i]), *work = thrum_task_new(g, compute, &blocks[i]);
        thrum_task *out = thrum_task_new(g, write_block, &blocks[i]);
        thrum_precede(in, work);
        thrum_precede(work, out);
        thrum_task_pin_domain(in, reader);
        thrum_task_pin_domain(out, writer);
    }
    int err = thrum_run(ex, g);
    if (err)
        fprintf(stderr, "%s\n", thrum_message(g));
    printf("%d domains, %d blocks written, their sum is %g\n", thrum_executor_domains(ex), written, total);
    thrum_graph_free(g);
    thrum_executor_free(ex);
    return err != 0 || written != BLOCKS || reads_elsewhere != BLOCKS || total != 1000.0 * BLOCKS * (BLOCKS - 1) / 2;
}
