/* SPDX-License-Identifier: MIT
 *
 * Freezing: successor lists in the order of adding, their flags, counters and sources; thawing and freezing again.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "model/graph.h"
#include "random.h"

static void freeze(thrum_graph *graph)
{
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_true(thrum__graph_check(graph));
}

/* The successors' words of a frozen task; returns how many. */
static size_t words_of(const thrum_task *task, uintptr_t *words, size_t room)
{
    uintptr_t one;
    size_t count = 0;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
        assert_true(count < room);
        words[count++] = *word;
    }
    return count;
}

/* A word without the hints that only make runs faster. */
static uintptr_t plain(uintptr_t word)
{
    return (uintptr_t)thrum__word_task(word) | (word & (THRUM__ONE | THRUM__LAST | THRUM__SOLE));
}

static void make_tasks(thrum_graph *graph, thrum_task **tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_non_null(tasks[i] = thrum_task_new(graph, do_nothing, NULL));
}

TEST(a_task_without_successors_has_no_list)
{
    thrum_graph *graph = thrum_graph_new("lonely");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    freeze(graph);
    assert_int_equal(task->next, 0);
    assert_int_equal(graph->list_words, 0);
    assert_int_equal(graph->source_count, 1);
    thrum_graph_free(graph);
}

TEST(an_empty_graph_freezes)
{
    thrum_graph *graph = thrum_graph_new("empty");
    freeze(graph);
    assert_int_equal(graph->source_count, 0);
    thrum_graph_free(graph);
}

TEST(a_single_successor_is_a_word_in_the_record)
{
    thrum_graph *graph = thrum_graph_new("chain");
    thrum_task *t[3];
    make_tasks(graph, t, 3);
    thrum_edge(t[0], t[1]);
    thrum_edge(t[1], t[2]);
    freeze(graph);
    for (int i = 0; i < 2; i++)
        assert_int_equal(plain(t[i]->next), (uintptr_t)t[i + 1] | THRUM__ONE | THRUM__LAST | THRUM__SOLE);
    assert_int_equal(graph->list_words, 0);
    assert_int_equal(graph->source_count, 1);
    thrum_graph_free(graph);
}

TEST(a_word_is_sole_exactly_when_its_task_has_one_predecessor)
{
    thrum_graph *graph = thrum_graph_new("diamond");
    thrum_task *t[4];
    make_tasks(graph, t, 4);
    thrum_precede(t[0], t[1], t[2]);
    thrum_succeed(t[3], t[1], t[2]);
    freeze(graph);
    uintptr_t words[4];
    assert_int_equal(words_of(t[0], words, 4), 2);
    assert_int_equal(plain(words[0]), (uintptr_t)t[1] | THRUM__SOLE);
    assert_int_equal(plain(words[1]), (uintptr_t)t[2] | THRUM__SOLE | THRUM__LAST);
    for (int i = 1; i <= 2; i++)
        assert_int_equal(plain(t[i]->next), (uintptr_t)t[3] | THRUM__ONE | THRUM__LAST);
    assert_int_equal(t[3]->strong & THRUM__STRONG_MASK, 2);
    assert_int_equal(atomic_load(&t[3]->pending), 2);
    thrum_graph_free(graph);
}

TEST(an_edge_that_is_added_twice_counts_twice)
{
    thrum_graph *graph = thrum_graph_new("double");
    thrum_task *t[2];
    make_tasks(graph, t, 2);
    thrum_edge(t[0], t[1]);
    thrum_edge(t[0], t[1]);
    freeze(graph);
    uintptr_t words[2];
    assert_int_equal(words_of(t[0], words, 2), 2);
    assert_int_equal(plain(words[0]), (uintptr_t)t[1]);
    assert_int_equal(plain(words[1]), (uintptr_t)t[1] | THRUM__LAST);
    assert_int_equal(atomic_load(&t[1]->pending), 2);
    thrum_graph_free(graph);
}

TEST(a_scope_task_keeps_its_kind_beside_the_count)
{
    thrum_graph *graph = thrum_graph_new("kinds");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL);
    thrum_task *b = thrum_scope_task_new(graph, count_up_in_scope, NULL);
    thrum_edge(a, b);
    freeze(graph);
    assert_int_equal(b->strong, THRUM__IS_SCOPE | 1);
    assert_int_equal(atomic_load(&b->pending), 1);
    assert_int_equal(thrum_task_set(b, do_nothing, NULL), 0);
    assert_int_equal(b->strong, 1);
    assert_int_equal(thrum_task_set_scope(a, count_up_in_scope, NULL), 0);
    assert_int_equal(a->strong, THRUM__IS_SCOPE);
    assert_true(thrum__graph_check(graph));
    thrum_graph_free(graph);
}

TEST(sources_are_in_the_order_of_creation)
{
    enum { TASKS = THRUM__CHUNK_PLACES + 5000 };
    static thrum_task *t[TASKS];
    thrum_graph *graph = thrum_graph_new("sources");
    make_tasks(graph, t, TASKS);
    for (size_t i = 0; i + 1 < TASKS; i += 2)
        thrum_edge(t[i], t[i + 1]);
    freeze(graph);
    assert_int_equal(graph->source_count, TASKS / 2);
    for (size_t i = 0; i < TASKS / 2; i++)
        assert_ptr_equal(graph->sources[i], t[2 * i]);
    thrum_graph_free(graph);
}

/* ---- Random graphs against a table of edges ---------------------------------------------------------------------- */

enum { MOST_TASKS = THRUM__CHUNK_PLACES + 10000, MOST_EDGES = 2 * MOST_TASKS };

struct reference {
    thrum_graph *graph;
    size_t task_count, edge_count;
    thrum_task *tasks[MOST_TASKS];
    uint32_t from[MOST_EDGES], to[MOST_EDGES];
};

static struct reference *reference_new(const char *name)
{
    static struct reference reference;
    reference.graph = thrum_graph_new(name);
    reference.task_count = reference.edge_count = 0;
    return &reference;
}

static void grow(struct reference *r, struct random *random, size_t tasks, size_t edges)
{
    make_tasks(r->graph, r->tasks + r->task_count, tasks);
    r->task_count += tasks;
    for (size_t i = 0; i < edges; i++) {
        uint32_t a = (uint32_t)random_below(random, r->task_count), b = (uint32_t)random_below(random, r->task_count);
        if (a == b)
            continue;
        r->from[r->edge_count] = a < b ? a : b;
        r->to[r->edge_count] = a < b ? b : a;
        assert_int_equal(thrum_edge(r->tasks[a < b ? a : b], r->tasks[a < b ? b : a]), 0);
        r->edge_count++;
    }
}

/* Every task has the successors of the table in the order of adding, and as many predecessors. */
static void expect_like_reference(const struct reference *r)
{
    static const uintptr_t *cursors[MOST_TASKS];
    static uintptr_t ones[MOST_TASKS];
    static uint32_t predecessors[MOST_TASKS];
    for (size_t i = 0; i < r->task_count; i++) {
        cursors[i] = thrum__successors(r->tasks[i], &ones[i]);
        predecessors[i] = 0;
    }
    for (size_t e = 0; e < r->edge_count; e++)
        predecessors[r->to[e]]++;
    for (size_t e = 0; e < r->edge_count; e++) {
        const uintptr_t **cursor = &cursors[r->from[e]];
        assert_non_null(*cursor);
        assert_ptr_equal(thrum__word_task(**cursor), r->tasks[r->to[e]]);
        assert_int_equal((**cursor & THRUM__SOLE) != 0, predecessors[r->to[e]] == 1);
        *cursor = **cursor & THRUM__LAST ? NULL : *cursor + 1;
    }
    for (size_t i = 0; i < r->task_count; i++) {
        assert_null(cursors[i]);
        assert_int_equal(r->tasks[i]->strong & THRUM__STRONG_MASK, predecessors[i]);
    }
}

static void freeze_and_thaw_and_grow(struct random *random, size_t tasks, size_t edges)
{
    struct reference *r = reference_new("random");
    grow(r, random, tasks, edges);
    freeze(r->graph);
    expect_like_reference(r);
    assert_int_equal(thrum_graph_thaw(r->graph), 0);
    freeze(r->graph);
    expect_like_reference(r);
    grow(r, random, random_below(random, 5000), random_below(random, 5000));
    freeze(r->graph);
    expect_like_reference(r);
    thrum_graph_free(r->graph);
}

TEST(successors_are_in_the_order_of_adding_also_after_thawing)
{
    struct random random = random_new(7);
    for (int round = 0; round < 5; round++)
        freeze_and_thaw_and_grow(&random, 10 + random_below(&random, 2500), random_below(&random, 6000));
    for (int round = 0; round < 2; round++)
        freeze_and_thaw_and_grow(&random, THRUM__CHUNK_PLACES + random_below(&random, 5000), THRUM__CHUNK_PLACES);
}

TEST(a_long_log_of_edges_keeps_its_order)
{
    enum { WIDE = 100000 };
    thrum_graph *graph = thrum_graph_new("fan");
    thrum_task *hub = thrum_task_new(graph, do_nothing, NULL);
    static thrum_task *leaves[WIDE];
    make_tasks(graph, leaves, WIDE);
    assert_int_equal(thrum_edges_out(hub, leaves, WIDE), 0);
    for (int round = 0; round < 2; round++) {
        freeze(graph);
        uintptr_t one;
        const uintptr_t *word = thrum__successors(hub, &one);
        for (size_t i = 0; i < WIDE; i++)
            assert_int_equal(plain(word[i]), (uintptr_t)leaves[i] | THRUM__SOLE | (i + 1 == WIDE ? THRUM__LAST : 0));
        assert_int_equal(thrum_graph_thaw(graph), 0);
    }
    thrum_graph_free(graph);
}

/* Around the numbers at which a byte, or half of one, is full. */
TEST(many_predecessors_and_successors_are_counted)
{
    static const size_t counts[] = {1, 2, 127, 128, 129, 255, 256, 257, 383, 384, 385, 511, 512, 513, 20000};
    static thrum_task *t[20000];
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        thrum_graph *graph = thrum_graph_new("hub");
        thrum_task *first = thrum_task_new(graph, do_nothing, NULL);
        make_tasks(graph, t, counts[c]);
        thrum_task *last = thrum_task_new(graph, do_nothing, NULL);
        assert_int_equal(thrum_edges_out(first, t, counts[c]), 0);
        assert_int_equal(thrum_edges_in(last, t, counts[c]), 0);
        for (int round = 0; round < 2; round++) {
            freeze(graph);
            assert_int_equal(last->strong, counts[c]);
            assert_int_equal(graph->list_words, counts[c] > 1 ? counts[c] : 0);
            assert_int_equal((t[0]->next & THRUM__SOLE) != 0, counts[c] == 1);
            assert_int_equal(graph->source_count, 1);
            assert_int_equal(thrum_graph_thaw(graph), 0);
        }
        thrum_graph_free(graph);
    }
}

TEST(a_freeze_without_memory_can_be_tried_again)
{
    thrum_graph *graph = thrum_graph_new("poor");
    thrum_task *hub = thrum_task_new(graph, do_nothing, NULL), *t[300];
    make_tasks(graph, t, 300);
    thrum_task *end = thrum_task_new(graph, do_nothing, NULL);
    thrum_edges_out(hub, t, 300);
    thrum_edges_in(end, t, 300);
    int err = THRUM_ENOMEM, failed = 0;
    for (long n = 0; err == THRUM_ENOMEM; n++) {
        thrum__alloc_fail_after(n);
        err = thrum_graph_freeze(graph);
        thrum__alloc_fail_after(-1);
        failed += err != 0;
    }
    assert_int_equal(err, 0);
    assert_true(failed >= 4);
    assert_true(thrum__graph_check(graph));
    assert_int_equal(end->strong, 300);
    thrum_graph_free(graph);
}

TEST(a_graph_in_memory_that_another_one_had_is_like_new)
{
    enum { TASKS = 4 * THRUM__CHUNK_PLACES };
    static thrum_task *t[TASKS];
    for (int round = 0; round < 3; round++) {
        thrum_graph *graph = thrum_graph_new("reuse");
        make_tasks(graph, t, TASKS);
        for (size_t i = 0; i < TASKS; i++) {
            assert_int_equal(t[i]->next, 0);
            assert_int_equal(t[i]->strong, 0);
            assert_int_equal(t[i]->pending, 0);
        }
        for (size_t i = 3; i < TASKS; i++)
            assert_int_equal(thrum_edge(t[i / 3], t[i]), 0);
        freeze(graph);
        thrum_graph_free(graph);
    }
}

TEST(freezing_again_and_thawing_again_change_nothing)
{
    thrum_graph *graph = thrum_graph_new("again");
    thrum_task *t[3];
    make_tasks(graph, t, 3);
    thrum_precede(t[0], t[1], t[2]);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    freeze(graph);
    const uintptr_t *list = graph->list;
    freeze(graph);
    assert_ptr_equal(graph->list, list);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(graph->edges, 2);
    freeze(graph);
    assert_int_equal(graph->edges, 2);
    thrum_graph_free(graph);
}

TEST(a_new_edge_thaws_a_frozen_graph)
{
    thrum_graph *graph = thrum_graph_new("more");
    thrum_task *t[3];
    make_tasks(graph, t, 3);
    thrum_edge(t[0], t[1]);
    freeze(graph);
    assert_int_equal(thrum_edge(t[0], t[2]), 0);
    freeze(graph);
    uintptr_t words[3];
    assert_int_equal(words_of(t[0], words, 3), 2);
    assert_ptr_equal(thrum__word_task(words[0]), t[1]);
    assert_ptr_equal(thrum__word_task(words[1]), t[2]);
    assert_int_equal(graph->source_count, 1);
    thrum_graph_free(graph);
}

TEST(the_check_of_a_frozen_graph_notices_damage)
{
    thrum_graph *graph = thrum_graph_new("damaged");
    thrum_task *t[4];
    make_tasks(graph, t, 4);
    thrum_precede(t[0], t[1], t[2]);
    thrum_succeed(t[3], t[1], t[2]);
    freeze(graph);
    atomic_store(&t[3]->pending, 1);
    assert_false(thrum__graph_check(graph));
    atomic_store(&t[3]->pending, 2);
    graph->list[0] ^= THRUM__SOLE;
    assert_false(thrum__graph_check(graph));
    graph->list[0] ^= THRUM__SOLE;
    graph->sources[0] = t[1];
    assert_false(thrum__graph_check(graph));
    graph->sources[0] = t[0];
    assert_true(thrum__graph_check(graph));
    thrum_graph_free(graph);
}

TEST(a_run_leaves_the_counters_as_it_found_them)
{
    struct random random = random_new(11);
    struct reference *r = reference_new("run");
    grow(r, &random, 3000, 9000);
    thrum_executor *ex = executor_with(3);
    for (int round = 0; round < 20; round++) {
        assert_int_equal(thrum_run(ex, r->graph), 0);
        assert_true(thrum__graph_check(r->graph));
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(r->graph);
}

static void fail_now(void *arg)
{
    (void)arg;
    thrum_fail(-77, "on purpose");
}

TEST(a_run_that_failed_leaves_the_counters_as_it_found_them)
{
    struct random random = random_new(12);
    struct reference *r = reference_new("failing");
    grow(r, &random, 3000, 9000);
    assert_int_equal(thrum_task_set(r->tasks[1], fail_now, NULL), 0);
    thrum_executor *ex = executor_with(3);
    for (int round = 0; round < 5; round++) {
        assert_int_equal(thrum_run(ex, r->graph), -77);
        assert_true(thrum__graph_check(r->graph));
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(r->graph);
}

TEST(freezing_without_memory_can_be_tried_again)
{
    thrum_graph *graph = thrum_graph_new("poor");
    thrum_task *t[3];
    make_tasks(graph, t, 3);
    thrum_precede(t[0], t[1], t[2]);
    for (long allowed = 0;; allowed++) {
        assert_true(allowed < 100);
        thrum__alloc_fail_after(allowed);
        int err = thrum_graph_freeze(graph);
        thrum__alloc_fail_after(-1);
        if (!err)
            break;
        assert_error(err, THRUM_ENOMEM, "poor");
        assert_null(graph->list);
    }
    assert_true(thrum__graph_check(graph));
    assert_int_equal(graph->edges, 2);
    thrum_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_without_successors_has_no_list),
        cmocka_unit_test(an_empty_graph_freezes),
        cmocka_unit_test(a_single_successor_is_a_word_in_the_record),
        cmocka_unit_test(a_word_is_sole_exactly_when_its_task_has_one_predecessor),
        cmocka_unit_test(an_edge_that_is_added_twice_counts_twice),
        cmocka_unit_test(a_scope_task_keeps_its_kind_beside_the_count),
        cmocka_unit_test(sources_are_in_the_order_of_creation),
        cmocka_unit_test(successors_are_in_the_order_of_adding_also_after_thawing),
        cmocka_unit_test(a_long_log_of_edges_keeps_its_order),
        cmocka_unit_test(many_predecessors_and_successors_are_counted),
        cmocka_unit_test(a_freeze_without_memory_can_be_tried_again),
        cmocka_unit_test(a_graph_in_memory_that_another_one_had_is_like_new),
        cmocka_unit_test(freezing_again_and_thawing_again_change_nothing),
        cmocka_unit_test(a_new_edge_thaws_a_frozen_graph),
        cmocka_unit_test(the_check_of_a_frozen_graph_notices_damage),
        cmocka_unit_test(a_run_leaves_the_counters_as_it_found_them),
        cmocka_unit_test(a_run_that_failed_leaves_the_counters_as_it_found_them),
        cmocka_unit_test(freezing_without_memory_can_be_tried_again),
    };
    return RUN_TESTS(tests, 60);
}
