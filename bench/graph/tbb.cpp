/* SPDX-License-Identifier: MIT
 *
 * Graphs as oneTBB has them: continue nodes that are started by a message to each source.
 *
 * The main thread makes the graph and puts the messages, as oneTBB's documents show it; only for more workers than
 * there are processors the graph must be made inside of an arena of that size. Putting a million messages is
 * faster from inside of an explicit arena, by up to two: the work "independent-arena" does that, so that both are seen.
 */
#include "graph.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <vector>

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

struct bench_graph {
    const bench_shape *shape;
    const bench_cells *cells;
    tbb::global_control limit;
    tbb::task_arena arena;
    bool inside;
    std::unique_ptr<tbb::flow::graph> graph;
    std::vector<node *> nodes;
    std::vector<node *> ends; /* of the edges, two each: looked up before the adding is timed */

    bench_graph(const bench_shape *s, const bench_cells *c, int workers)
        : shape(s), cells(c), limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(workers)),
          arena(workers), inside(s->kind == BENCH_INDEPENDENT_ARENA), nodes(s->tasks), ends(2 * s->edge_count)
    {
    }
};

bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers)
{
    return new bench_graph(shape, cells, workers);
}

void bench_graph_add_tasks(bench_graph *g)
{
    auto make_graph = [g] { g->graph = std::make_unique<tbb::flow::graph>(); };
    if (g->inside || g->arena.max_concurrency() > tbb::info::default_concurrency())
        g->arena.execute(make_graph);
    else
        make_graph();
    bench_body *body = g->cells->body;
    for (uint32_t i = 0; i < g->cells->count; i++) {
        void *cell = bench_cell(g->cells, i);
        g->nodes[i] = new node(*g->graph, [body, cell](const continue_msg &) { body(cell); });
    }
    for (size_t i = 0; i < g->shape->edge_count; i++) {
        g->ends[2 * i] = g->nodes[g->shape->edges[i].before];
        g->ends[2 * i + 1] = g->nodes[g->shape->edges[i].after];
    }
}

void bench_graph_add_edges(bench_graph *g)
{
    for (size_t i = 0; i < g->shape->edge_count; i++)
        tbb::flow::make_edge(*g->ends[2 * i], *g->ends[2 * i + 1]);
}

void bench_graph_freeze(bench_graph *)
{
}

void bench_graph_run(bench_graph *g)
{
    auto start_and_wait = [g] {
        for (uint32_t i = 0; i < g->shape->source_count; i++)
            g->nodes[g->shape->sources[i]]->try_put(continue_msg());
        g->graph->wait_for_all();
    };
    if (g->inside)
        g->arena.execute(start_and_wait);
    else
        start_and_wait();
}

void bench_graph_destroy(bench_graph *g)
{
    for (node *n : g->nodes)
        delete n;
    g->graph.reset();
}

void bench_graph_free(bench_graph *g)
{
    delete g;
}

uint32_t bench_graph_divisor(const bench_rerun *)
{
    return 1;
}
