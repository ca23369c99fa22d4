/* SPDX-License-Identifier: MIT
 *
 * The graphs in the figures of Huang, Lin, Lin and Lin, "Taskflow: a lightweight parallel and heterogeneous task graph
 * computing system" (TPDS 2022), but for those with devices: listing 1, figures 1 to 6 and 10.
 */
#include "random.h"
#include "tasks.h"

/* Who ran, in which order; a task's argument is its entry. */
enum { MOST_ENTRIES = 1024 };

struct story {
    atomic_int length;
    const char *names[MOST_ENTRIES];
};

struct actor {
    struct story *story;
    const char *name;
};

static void play(void *arg)
{
    struct actor *actor = arg;
    int place = atomic_fetch_add_explicit(&actor->story->length, 1, memory_order_relaxed);
    if (place < MOST_ENTRIES)
        actor->story->names[place] = actor->name;
}

static int place_of(const struct story *story, const char *name)
{
    for (int i = 0; i < story->length; i++)
        if (strcmp(story->names[i], name) == 0)
            return i;
    return -1;
}

static int times_of(const struct story *story, const char *name)
{
    int count = 0;
    for (int i = 0; i < story->length; i++)
        count += strcmp(story->names[i], name) == 0;
    return count;
}

#define assert_before(story, a, b)                                                                                     \
    do {                                                                                                               \
        assert_true(place_of((story), (a)) >= 0);                                                                      \
        assert_true(place_of((story), (a)) < place_of((story), (b)));                                                  \
    } while (0)

static thrum_task *actor_task(thrum_graph *graph, struct actor *actor)
{
    thrum_task *task = thrum_task_new(graph, play, actor);
    thrum_task_set_name(task, actor->name);
    return task;
}

/* ---- Static and dynamic tasks ------------------------------------------------------------------------------------ */

TEST(listing_1_runs_a_first_and_d_last)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct story story = {0};
        struct actor actors[] = {{&story, "A"}, {&story, "B"}, {&story, "C"}, {&story, "D"}};
        thrum_graph *graph = thrum_graph_new("listing 1");
        thrum_task *task[4];
        for (int i = 0; i < 4; i++)
            task[i] = actor_task(graph, &actors[i]);
        thrum_precede(task[0], task[1], task[2]);
        thrum_succeed(task[3], task[1], task[2]);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(story.length, 4);
        assert_int_equal(place_of(&story, "A"), 0);
        assert_int_equal(place_of(&story, "D"), 3);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static struct actor inner_actors[4]; /* B itself, B1, B2, B3 */

static void play_b(thrum_scope *scope, void *arg)
{
    (void)arg;
    play(&inner_actors[0]);
    thrum_graph *graph = thrum_scope_graph(scope, "B");
    thrum_task *b1 = actor_task(graph, &inner_actors[1]), *b2 = actor_task(graph, &inner_actors[2]);
    thrum_succeed(actor_task(graph, &inner_actors[3]), b1, b2);
}

TEST(figure_1_joins_what_b_spawns_before_d)
{
    static const char *const names[] = {"B", "B1", "B2", "B3"};
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct story story = {0};
        struct actor actors[] = {{&story, "A"}, {&story, "C"}, {&story, "D"}};
        for (int i = 0; i < 4; i++)
            inner_actors[i] = (struct actor){&story, names[i]};
        thrum_graph *graph = thrum_graph_new("figure 1");
        thrum_task *a = actor_task(graph, &actors[0]), *c = actor_task(graph, &actors[1]);
        thrum_task *d = actor_task(graph, &actors[2]), *b = thrum_scope_task_new(graph, play_b, NULL);
        thrum_precede(a, b, c);
        thrum_succeed(d, b, c);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(story.length, 7);
        assert_int_equal(place_of(&story, "A"), 0);
        assert_before(&story, "B", "B1");
        assert_before(&story, "B", "B2");
        assert_before(&story, "B1", "B3");
        assert_before(&story, "B2", "B3");
        assert_int_equal(place_of(&story, "D"), 6);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static struct actor d_actors[3]; /* D itself, D1, D2 */

static void play_d(thrum_scope *scope, void *arg)
{
    (void)arg;
    play(&d_actors[0]);
    thrum_graph *graph = thrum_scope_graph(scope, "D");
    thrum_task *d1 = actor_task(graph, &d_actors[1]), *d2 = actor_task(graph, &d_actors[2]);
    thrum_precede(d1, d2);
}

TEST(figure_2_composes_a_graph_of_another_one)
{
    static const char *const order[] = {"C", "D", "D1", "D2", "A", "B"};
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct story story = {0};
        struct actor actors[] = {{&story, "A"}, {&story, "B"}, {&story, "C"}};
        for (int i = 0; i < 3; i++)
            d_actors[i] = (struct actor){&story, order[i + 1]};
        thrum_graph *first = thrum_graph_new("taskflow 1"), *second = thrum_graph_new("taskflow 2");
        thrum_task *a = actor_task(first, &actors[0]), *b = actor_task(first, &actors[1]);
        thrum_precede(a, b);
        thrum_task *c = actor_task(second, &actors[2]), *d = thrum_scope_task_new(second, play_d, NULL);
        thrum_precede(d, thrum_module_new(second, first));
        thrum_precede(c, d);
        assert_int_equal(thrum_run(ex, second), 0);
        assert_int_equal(story.length, 6);
        for (int i = 0; i < 6; i++)
            assert_string_equal(story.names[i], order[i]);
        assert_int_equal(thrum_graph_free(second), 0);
        assert_int_equal(thrum_graph_free(first), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Conditions -------------------------------------------------------------------------------------------------- */

static int number_in(void *number)
{
    return *(int *)number;
}

TEST(figure_3_goes_on_with_yes_or_with_no)
{
    for (int answer = 0; answer < 2; answer++) {
        struct story story = {0};
        struct actor actors[] = {{&story, "init"}, {&story, "yes"}, {&story, "no"}};
        thrum_graph *graph = thrum_graph_new("figure 3");
        thrum_task *init = actor_task(graph, &actors[0]), *yes = actor_task(graph, &actors[1]);
        thrum_task *no = actor_task(graph, &actors[2]), *cond = thrum_condition_new(graph, number_in, &answer);
        thrum_succeed(cond, init);
        thrum_precede(cond, yes, no);
        assert_int_equal(thrum_run(NULL, graph), 0);
        assert_int_equal(story.length, 2);
        assert_before(&story, "init", answer == 0 ? "yes" : "no");
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

static void set_to_zero(void *number)
{
    *(int *)number = 0;
}

static int is_hundred(void *number)
{
    return *(int *)number < 100 ? 0 : 1;
}

TEST(figure_4_goes_round_a_hundred_times_with_four_tasks)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        int i = 7, done = 0;
        thrum_graph *graph = thrum_graph_new("figure 4");
        thrum_task *init = thrum_task_new(graph, set_to_zero, &i), *body = thrum_task_new(graph, plain_count_up, &i);
        thrum_task *cond = thrum_condition_new(graph, is_hundred, &i);
        thrum_precede(init, body);
        thrum_precede(body, cond);
        thrum_precede(cond, body, thrum_task_new(graph, plain_count_up, &done));
        assert_string_equal(thrum_graph_warning(graph), "");
        for (int run = 1; run <= 10; run++) {
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(i, 100);
            assert_int_equal(done, run);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Three conditions in a row; each goes on with a probability of 1/2, or back to F1. */
struct walk {
    struct random *random;
    uint64_t asked;
};

static int toss(void *arg)
{
    struct walk *walk = arg;
    walk->asked++;
    return (int)(random_next(walk->random) >> 63);
}

/* From F1 to stop takes three tosses in a row that go well, which has a probability of 1/8 at each beginning: so F1 is
 * asked eight times on average (geometric; variance 56), F2 four times, F3 twice. That eight is the paper's number; all
 * three together are asked 14 times on average (variance 142).
 *
 * The means of 200,000 runs have standard deviations of 0.0168 and 0.0267. The bounds are six of them: with a random
 * seed a right program would fail once in 500 million times for each; with the fixed one it always does or never. */
TEST(figure_5_asks_the_first_condition_eight_times_on_average)
{
    enum { RUNS = 200000 };
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct random random = random_new(20220101);
        struct walk f[3] = {{&random, 0}, {&random, 0}, {&random, 0}};
        int begun = 0, stopped = 0;
        thrum_graph *graph = thrum_graph_new("figure 5");
        thrum_task *init = thrum_task_new(graph, plain_count_up, &begun);
        thrum_task *f1 = thrum_condition_new(graph, toss, &f[0]), *f2 = thrum_condition_new(graph, toss, &f[1]);
        thrum_task *f3 = thrum_condition_new(graph, toss, &f[2]);
        thrum_task *stop = thrum_task_new(graph, plain_count_up, &stopped);
        thrum_precede(init, f1);
        thrum_precede(f1, f2, f1);
        thrum_precede(f2, f3, f1);
        thrum_precede(f3, stop, f1);
        assert_string_equal(thrum_graph_warning(graph), "");
        assert_int_equal(thrum_run_n(ex, graph, RUNS), 0);
        assert_int_equal(begun, RUNS);
        assert_int_equal(stopped, RUNS);
        double first = (double)f[0].asked / RUNS, all = (double)(f[0].asked + f[1].asked + f[2].asked) / RUNS;
        print_message("           F1 was asked %.3f times on average, all three %.3f times\n", first, all);
        assert_true(first > 8 - 0.101 && first < 8 + 0.101);
        assert_true(all > 14 - 0.160 && all < 14 + 0.160);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* A condition that also plays; it names 0 until it was asked `turns` times, then 1. */
struct turning {
    struct actor actor;
    int turns, asked;
};

static int turn(void *arg)
{
    struct turning *turning = arg;
    play(&turning->actor);
    if (++turning->asked < turning->turns)
        return 0;
    turning->asked = 0;
    return 1;
}

/* A before B and F. B, C and cond_1 are a loop that ends at E; cond_2 branches to G or H; H leads to cond_3, which
 * names itself until it goes on to L. The two halves have no order between them. */
TEST(figure_6_runs_blocks_of_control_flow_side_by_side)
{
    enum { RUNS = 20 };
    static const char *const names[] = {"A", "B", "C", "E", "F", "G", "H", "L"};
    enum { A, B, C, E, F, G, H, L, TASKS };
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct story story = {0};
        struct actor actors[TASKS];
        thrum_task *t[TASKS];
        thrum_graph *graph = thrum_graph_new("figure 6");
        for (int i = 0; i < TASKS; i++) {
            actors[i] = (struct actor){&story, names[i]};
            t[i] = actor_task(graph, &actors[i]);
        }
        struct turning turning[3] = {
            {{&story, "cond_1"}, 10, 0}, {{&story, "cond_2"}, 1, 0}, {{&story, "cond_3"}, 5, 0}};
        thrum_task *cond_1 = thrum_condition_new(graph, turn, &turning[0]);
        thrum_task *cond_2 = thrum_condition_new(graph, turn, &turning[1]);
        thrum_task *cond_3 = thrum_condition_new(graph, turn, &turning[2]);
        thrum_precede(t[A], t[B], t[F]);
        thrum_precede(t[B], t[C]);
        thrum_precede(t[C], cond_1);
        thrum_precede(cond_1, t[B], t[E]);
        thrum_precede(t[F], cond_2);
        thrum_precede(cond_2, t[G], t[H]);
        thrum_precede(t[H], cond_3);
        thrum_precede(cond_3, cond_3, t[L]);
        assert_string_equal(thrum_graph_warning(graph), "");
        for (int run = 0; run < RUNS; run++) {
            story.length = 0;
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(times_of(&story, "B"), 10);
            assert_int_equal(times_of(&story, "C"), 10);
            assert_int_equal(times_of(&story, "cond_1"), 10);
            assert_int_equal(times_of(&story, "E"), 1);
            assert_int_equal(times_of(&story, "G"), 0);
            assert_int_equal(times_of(&story, "H"), 1);
            assert_int_equal(times_of(&story, "cond_3"), 5);
            assert_int_equal(story.length, 1 + 30 + 1 + 2 + 1 + 5 + 1);
            assert_int_equal(place_of(&story, "A"), 0);
            assert_before(&story, "cond_1", "E");
            assert_before(&story, "F", "cond_2");
            assert_before(&story, "cond_2", "H");
            assert_before(&story, "cond_3", "L");
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Figure 10: pitfalls ----------------------------------------------------------------------------------------- */

TEST(figure_10_a_graph_without_a_source_is_refused_until_it_has_one)
{
    thrum_graph *graph = thrum_graph_new("pitfall 1");
    int answer = 2, b = 0, c = 0;
    thrum_task *a = thrum_condition_new(graph, number_in, &answer);
    thrum_task *to_b = thrum_task_new(graph, plain_count_up, &b), *to_c = thrum_task_new(graph, plain_count_up, &c);
    thrum_precede(a, a, to_b, to_c);
    assert_error(thrum_run(NULL, graph), THRUM_ENOSOURCE, "'pitfall 1'");
    assert_contains(thrum_message(graph), "no task that could start");
    thrum_precede(thrum_placeholder_new(graph), a); /* the task S */
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(b, 0);
    assert_int_equal(c, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* Into D lead a strong edge (from E) and a weak one (from the condition C): if C names D, there are two ways that each
 * run it. One worker does so one after the other. */
TEST(figure_10_a_strong_and_a_weak_way_into_one_task_run_it_twice)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("pitfall 2");
    int answer = 0, d = 0, f = 0;
    thrum_task *c = thrum_condition_new(graph, number_in, &answer), *e = thrum_placeholder_new(graph);
    thrum_task *to_d = thrum_task_new(graph, plain_count_up, &d), *to_f = thrum_task_new(graph, plain_count_up, &f);
    thrum_task_set_name(c, "C");
    thrum_task_set_name(to_d, "D");
    thrum_precede(c, to_d, to_f);
    thrum_precede(e, to_d);
    assert_contains(thrum_graph_warning(graph), "condition 'C' may name 'D'");
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(d, 2);
    assert_int_equal(f, 0);
    answer = 1;
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(d, 3);
    assert_int_equal(f, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The paper's own remark on figure 5: one more strong edge, from init to F2, makes two ways to F2. And two to F1, which
 * F2 may now name before the edge from init has been counted there: either may be what the sentence names. */
TEST(figure_5_with_an_edge_from_init_to_f2_is_warned_of)
{
    int answer = 0;
    thrum_graph *graph = thrum_graph_new("figure 5 and one edge");
    thrum_task *init = thrum_placeholder_new(graph), *stop = thrum_placeholder_new(graph);
    thrum_task *f1 = thrum_condition_new(graph, number_in, &answer),
               *f2 = thrum_condition_new(graph, number_in, &answer);
    thrum_task_set_name(f2, "F2");
    thrum_precede(init, f1);
    thrum_precede(f1, f2, f1);
    thrum_precede(f2, stop, f1);
    assert_string_equal(thrum_graph_warning(graph), "");
    thrum_precede(init, f2);
    assert_contains(thrum_graph_warning(graph), "'F2'");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(figure_10_a_task_between_makes_both_ways_strong)
{
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("pitfall 2, mended");
        int answer = 0, d = 0, f = 0;
        thrum_task *c = thrum_condition_new(graph, number_in, &answer), *e = thrum_placeholder_new(graph);
        thrum_task *to_d = thrum_task_new(graph, plain_count_up, &d);
        thrum_task *to_f = thrum_task_new(graph, plain_count_up, &f), *x = thrum_placeholder_new(graph);
        thrum_precede(c, x, to_f);
        thrum_succeed(to_d, e, x);
        assert_string_equal(thrum_graph_warning(graph), "");
        for (int run = 0; run < 100; run++) {
            answer = run % 2;
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(d, run / 2 + 1);
            assert_int_equal(f, (run + 1) / 2);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing_1_runs_a_first_and_d_last),
        cmocka_unit_test(figure_1_joins_what_b_spawns_before_d),
        cmocka_unit_test(figure_2_composes_a_graph_of_another_one),
        cmocka_unit_test(figure_3_goes_on_with_yes_or_with_no),
        cmocka_unit_test(figure_4_goes_round_a_hundred_times_with_four_tasks),
        cmocka_unit_test(figure_5_asks_the_first_condition_eight_times_on_average),
        cmocka_unit_test(figure_6_runs_blocks_of_control_flow_side_by_side),
        cmocka_unit_test(figure_10_a_graph_without_a_source_is_refused_until_it_has_one),
        cmocka_unit_test(figure_10_a_strong_and_a_weak_way_into_one_task_run_it_twice),
        cmocka_unit_test(figure_5_with_an_edge_from_init_to_f2_is_warned_of),
        cmocka_unit_test(figure_10_a_task_between_makes_both_ways_strong),
    };
    return RUN_TESTS(tests, 60);
}
