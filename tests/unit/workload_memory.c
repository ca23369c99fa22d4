/* SPDX-License-Identifier: MIT
 *
 * Workloads without memory: made by rule, written, read, and of graphs.
 */
#include "scarcity.h"

#include <unistd.h>

static char path[32];

static enum outcome generate(void)
{
    thrum_workload_size size = {0};
    thrum_workload *w = thrum_workload_generate("fft;points=8;device=0.5");
    int err = w ? thrum_workload_measure(w, &size) : THRUM_ENOMEM;
    thrum_workload_free(w);
    return outcome_of(err, size.tasks == 32);
}

static thrum_workload *named(void)
{
    thrum_workload *w = thrum_workload_new("named");
    thrum_workload_add_codelet(w, "work", 1);
    for (int i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof name, "A%d", i);
        thrum_workload_add_data(w, name, 8, true);
        thrum_workload_add_task(w, &(thrum_workload_task){.name = name,
                                                          .bucket = -1,
                                                          .worker = -1,
                                                          .access = &(thrum_workload_access){i, THRUM_MODE_RW},
                                                          .access_count = 1});
    }
    return w;
}

static thrum_workload *to_write;

static enum outcome write_it(void)
{
    return outcome_of(thrum_workload_write(to_write, path), true);
}

static enum outcome read_it(void)
{
    thrum_workload_size size = {0};
    thrum_workload *w = thrum_workload_read(path);
    int err = w ? thrum_workload_measure(w, &size) : THRUM_ENOMEM;
    thrum_workload_free(w);
    return outcome_of(err, size.tasks == 70 && size.data == 70);
}

static void nothing(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
}

static const thrum_codelet codelet = {.name = "nothing", .cpu = nothing};
static thrum_graph *graph;

static enum outcome take_graph(void)
{
    thrum_workload_size size = {0};
    thrum_workload *w = thrum_workload_of_graph(graph, true);
    int err = w ? thrum_workload_measure(w, &size) : THRUM_ENOMEM;
    thrum_workload_free(w);
    return outcome_of(err, size.tasks == 40 && size.edges == 20);
}

TEST(making_by_rule_without_memory_is_an_error)
{
    exhaust(generate);
}

TEST(writing_and_reading_without_memory_is_an_error)
{
    strcpy(path, "workload-memory-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    to_write = named();
    exhaust(write_it);
    exhaust(read_it);
    thrum_workload_free(to_write);
    unlink(path);
}

TEST(taking_a_graph_without_memory_is_an_error)
{
    double memory[40];
    thrum_data *data[40];
    thrum_task *tasks[40];
    graph = thrum_graph_new("graph");
    for (int i = 0; i < 40; i++) {
        data[i] = thrum_data_variable(ex, &memory[i], sizeof memory[i]);
        tasks[i] = thrum_codelet_task(graph, &codelet, THRUM_RW(data[i]));
        if (i % 2)
            thrum_edge(tasks[i], tasks[i - 1]); /* from younger to older, so that an order is looked for */
    }
    exhaust(take_graph);
    thrum_graph_free(graph);
    for (int i = 0; i < 40; i++)
        thrum_data_unregister(data[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_by_rule_without_memory_is_an_error),
        cmocka_unit_test(writing_and_reading_without_memory_is_an_error),
        cmocka_unit_test(taking_a_graph_without_memory_is_an_error),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
