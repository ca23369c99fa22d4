/* SPDX-License-Identifier: MIT
 *
 * Task records: where they lie, their numbers and places across chunks, and reserving.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "model/graph.h"

enum { PER_CHUNK = THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD };

static thrum_graph *graph_of(int64_t tasks)
{
    thrum_graph *graph = thrum_graph_new("records");
    assert_non_null(graph);
    for (int64_t i = 0; i < tasks; i++)
        assert_non_null(thrum_task_new(graph, do_nothing, (void *)(intptr_t)i));
    return graph;
}

TEST(a_record_is_half_a_cache_line_and_does_not_cross_one)
{
    thrum_graph *graph = graph_of(100);
    for (thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
        assert_int_equal((uintptr_t)t % sizeof *t, 0);
    assert_int_equal(sizeof(thrum_task), 32);
    thrum_graph_free(graph);
}

TEST(a_chunk_is_full_of_tasks_behind_its_head)
{
    assert_true(THRUM__CHUNK_SHIFTS * sizeof(thrum__chunk) <= THRUM__CHUNK_HEAD * sizeof(thrum_task));
    thrum_graph *graph = graph_of(PER_CHUNK);
    assert_int_equal(graph->chunk_count, 1);
    assert_non_null(thrum_task_new(graph, do_nothing, NULL));
    assert_int_equal(graph->chunk_count, 2);
    thrum_graph_free(graph);
}

TEST(heads_of_neighbouring_chunks_are_a_line_apart_in_the_caches)
{
    thrum_graph *graph = thrum_graph_new("heads");
    assert_int_equal(thrum_graph_reserve(graph, 8 * PER_CHUNK), 0);
    for (int64_t i = 0; i < 8 * PER_CHUNK; i++)
        thrum_task_new(graph, do_nothing, NULL);
    for (uint32_t c = 1; c < graph->chunk_count; c++) {
        uintptr_t before = (uintptr_t)graph->chunks[c - 1] % THRUM__CHUNK_BYTES;
        uintptr_t here = (uintptr_t)graph->chunks[c] % THRUM__CHUNK_BYTES;
        assert_true(here == before + 64 || (here == 0 && before == (THRUM__CHUNK_SHIFTS - 1) * 64));
    }
    thrum_graph_free(graph);
}

TEST(numbers_count_on_across_chunks)
{
    enum { TASKS = 3 * PER_CHUNK + 5 };
    thrum_graph *graph = thrum_graph_new("numbers");
    static thrum_task *tasks[TASKS];
    for (int64_t i = 0; i < TASKS; i++) {
        tasks[i] = thrum_task_new(graph, do_nothing, &tasks[i]);
        assert_int_equal(thrum_task_number(tasks[i]), i);
        assert_int_equal(thrum__task_count(graph), i + 1);
    }
    for (int64_t i = 0; i < TASKS; i++) {
        assert_int_equal(thrum_task_number(tasks[i]), i);
        assert_ptr_equal(thrum__task_at(graph, thrum__place_of(tasks[i])), tasks[i]);
        assert_ptr_equal(thrum__chunk_of(tasks[i])->graph, graph);
        assert_ptr_equal(tasks[i]->arg, &tasks[i]);
    }
    assert_int_equal(graph->chunk_count, 4);
    thrum_graph_free(graph);
}

TEST(tasks_are_walked_in_the_order_of_creation)
{
    static const int64_t counts[] = {0, 1, PER_CHUNK - 1, PER_CHUNK, PER_CHUNK + 1, 2 * PER_CHUNK, 2 * PER_CHUNK + 1};
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        thrum_graph *graph = graph_of(counts[c]);
        int64_t number = 0;
        for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
            assert_int_equal((intptr_t)t->arg, number++);
        assert_int_equal(number, counts[c]);
        thrum_graph_free(graph);
    }
}

TEST(names_belong_to_their_tasks_across_chunks)
{
    thrum_graph *graph = graph_of(2 * PER_CHUNK);
    char name[32];
    for (thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
        if (thrum_task_number(t) % 7 == 0) {
            snprintf(name, sizeof name, "n%lld", (long long)thrum_task_number(t));
            assert_int_equal(thrum_task_set_name(t, name), 0);
        }
    for (thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t)) {
        snprintf(name, sizeof name, "n%lld", (long long)thrum_task_number(t));
        assert_string_equal(thrum_task_name(t), thrum_task_number(t) % 7 == 0 ? name : "");
    }
    thrum_graph_free(graph);
}

TEST(names_outlive_their_graph_while_somebody_holds_them)
{
    thrum_graph *graph = graph_of(3);
    thrum_task_set_name(thrum__task_after(graph, thrum__task_first(graph)), "middle");
    thrum__names *names = thrum__names_hold(graph->names);
    thrum_graph_free(graph);
    assert_string_equal(names->graph, "records");
    assert_string_equal(thrum__names_task(names, 1), "middle");
    assert_string_equal(thrum__names_task(names, 0), "");
    assert_string_equal(thrum__names_task(names, -1), "");
    assert_string_equal(thrum__names_task(names, 1000000), "");
    thrum__names_drop(names);
}

TEST(a_label_is_the_name_or_the_number)
{
    thrum_graph *graph = graph_of(2);
    char room[64];
    thrum_task *first = thrum__task_first(graph), *second = thrum__task_after(graph, first);
    thrum_task_set_name(first, "alpha");
    assert_contains(thrum__task_label(first, room, sizeof room), "'alpha'");
    assert_contains(thrum__task_label(second, room, sizeof room), "task 1");
    thrum_graph_free(graph);
}

TEST(reserved_tasks_ask_for_no_memory)
{
    static const uint64_t counts[] = {1, PER_CHUNK, PER_CHUNK + 1, 4 * PER_CHUNK + 3};
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        thrum_graph *graph = thrum_graph_new("reserved");
        assert_int_equal(thrum_graph_reserve(graph, counts[c]), 0);
        assert_int_equal(thrum__task_count(graph), 0);
        thrum__alloc_fail_after(0);
        uint64_t made = 0;
        while (made < counts[c] && thrum_task_new(graph, do_nothing, NULL))
            made++;
        thrum__alloc_fail_after(-1);
        assert_int_equal(made, counts[c]);
        assert_int_equal(thrum__task_count(graph), counts[c]);
        thrum_graph_free(graph);
    }
}

TEST(reserving_counts_from_what_is_there)
{
    thrum_graph *graph = graph_of(100);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(thrum_graph_reserve(graph, PER_CHUNK + 1000), 0);
        thrum__alloc_fail_after(0);
        int made = 0;
        while (made < PER_CHUNK + 1000 && thrum_task_new(graph, do_nothing, NULL))
            made++;
        thrum__alloc_fail_after(-1);
        assert_int_equal(made, PER_CHUNK + 1000);
    }
    assert_int_equal(thrum__task_count(graph), 100 + 3 * (PER_CHUNK + 1000));
    int64_t number = 0;
    for (thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
        assert_int_equal(thrum_task_number(t), number++);
    assert_int_equal(number, 100 + 3 * (PER_CHUNK + 1000));
    thrum_graph_free(graph);
}

TEST(reserving_too_much_is_an_error_that_stays)
{
    thrum_graph *graph = thrum_graph_new("huge");
    assert_error(thrum_graph_reserve(graph, UINT64_C(1) << 31), THRUM_ELIMIT, "2^31");
    assert_null(thrum_task_new(graph, do_nothing, NULL));
    assert_contains(thrum_message(graph), "huge");
    thrum_graph_free(graph);
    graph = thrum_graph_new("huge");
    assert_error(thrum_graph_reserve(graph, UINT64_MAX), THRUM_ELIMIT, "2^31");
    thrum_graph_free(graph);
}

TEST(reserving_without_memory_is_an_error)
{
    thrum_graph *graph = thrum_graph_new("poor");
    thrum__alloc_fail_after(0);
    int err = thrum_graph_reserve(graph, 10 * PER_CHUNK);
    thrum__alloc_fail_after(-1);
    assert_error(err, THRUM_ENOMEM, "poor");
    thrum_graph_free(graph);
}

TEST(a_task_without_memory_is_an_error_that_stays)
{
    thrum_graph *graph = graph_of(PER_CHUNK);
    while (graph->unused != graph->unused_end || graph->next != graph->end)
        assert_non_null(thrum_task_new(graph, do_nothing, NULL));
    uint64_t count = thrum__task_count(graph);
    thrum__alloc_fail_after(0);
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    thrum__alloc_fail_after(-1);
    assert_null(task);
    assert_contains(thrum_message(graph), "no memory");
    assert_int_equal(thrum__task_count(graph), count);
    assert_int_equal(thrum_graph_freeze(graph), THRUM_ENOMEM);
    thrum_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_half_a_cache_line_and_does_not_cross_one),
        cmocka_unit_test(a_chunk_is_full_of_tasks_behind_its_head),
        cmocka_unit_test(heads_of_neighbouring_chunks_are_a_line_apart_in_the_caches),
        cmocka_unit_test(numbers_count_on_across_chunks),
        cmocka_unit_test(tasks_are_walked_in_the_order_of_creation),
        cmocka_unit_test(names_belong_to_their_tasks_across_chunks),
        cmocka_unit_test(names_outlive_their_graph_while_somebody_holds_them),
        cmocka_unit_test(a_label_is_the_name_or_the_number),
        cmocka_unit_test(reserved_tasks_ask_for_no_memory),
        cmocka_unit_test(reserving_counts_from_what_is_there),
        cmocka_unit_test(reserving_too_much_is_an_error_that_stays),
        cmocka_unit_test(reserving_without_memory_is_an_error),
        cmocka_unit_test(a_task_without_memory_is_an_error_that_stays),
    };
    return RUN_TESTS(tests, 30);
}
