// SPDX-License-Identifier: MIT
//
// The same from C++, with spawned functions through the header's inline ones.
#define THRUM_INLINE
#include <thrum/thrum.h>

#include <atomic>
#include <cstdio>

static std::atomic<int> ran;

static void count(void *)
{
    ran++;
}

static void count_spawned(thrum_scope *, void *)
{
    ran++;
}

static void spawn_two(thrum_scope *scope, void *)
{
    thrum_spawn(scope, count_spawned, nullptr);
    thrum_spawn(scope, count_spawned, nullptr);
}

int main()
{
    thrum_graph *graph = thrum_graph_new("diamond");
    thrum_task *first = thrum_task_new(graph, count, nullptr);
    thrum_task *left = thrum_task_new(graph, count, nullptr);
    thrum_task *right = thrum_scope_task_new(graph, spawn_two, nullptr);
    thrum_precede(first, left, right);
    int error = thrum_run(nullptr, graph);
    thrum_graph_free(graph);
    if (error || ran != 4)
        std::fprintf(stderr, "diamond: error %d, %d of 4 functions ran\n", error, ran.load());
    return error || ran != 4;
}
