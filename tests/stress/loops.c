/* SPDX-License-Identifier: MIT
 *
 * Random loops against counting: each iteration is done exactly once, whatever the technique, the executor, the sizes,
 * how loops are nested and what fails.
 */
#include "executors.h"
#include "random.h"
#include "stress.h"

static struct stress stress;

enum { LARGEST = 20000, DEPTH = 3 };

/* A loop of some depth: an iteration is counted, or is a loop itself. */
struct nest {
    const struct shape *shape;
    int depth;
    atomic_uchar *seen; /* by iteration, at the innermost depth */
};

struct shape {
    int depth;
    size_t sizes[DEPTH];
    thrum_technique techniques[DEPTH];
    size_t least[DEPTH];
    uint64_t seed;
    bool slow;         /* iterations take different times */
    size_t fails_from; /* iterations from this one on fail; SIZE_MAX: none */
    atomic_int errors;
};

static void spin(unsigned steps)
{
    for (volatile unsigned i = 0; i < steps; i++) {
    }
}

static int run_nest(thrum_executor *ex, struct shape *shape, int depth, atomic_uchar *seen);

static size_t inner_size(const struct shape *shape, int depth)
{
    size_t size = 1;
    for (int d = depth + 1; d < shape->depth; d++)
        size *= shape->sizes[d];
    return size;
}

static void iterate(size_t lo, size_t hi, void *ctx)
{
    const struct nest *nest = ctx;
    struct shape *shape = (struct shape *)(uintptr_t)nest->shape;
    size_t stride = inner_size(shape, nest->depth);
    for (size_t i = lo; i < hi; i++) {
        if (nest->depth + 1 < shape->depth) {
            if (run_nest(NULL, shape, nest->depth + 1, nest->seen + i * stride))
                atomic_fetch_add(&shape->errors, 1);
            continue;
        }
        atomic_fetch_add_explicit(&nest->seen[i], 1, memory_order_relaxed);
        if (shape->slow)
            spin((unsigned)(i * 7919 % 64));
        if (i >= shape->fails_from)
            thrum_fail(99, "iteration %zu fails", i);
    }
}

static int run_nest(thrum_executor *ex, struct shape *shape, int depth, atomic_uchar *seen)
{
    struct nest nest = {shape, depth, seen};
    return thrum_for(ex, 0, shape->sizes[depth], iterate, &nest, .schedule = shape->techniques[depth],
                     .least = shape->least[depth], .seed = shape->seed);
}

static thrum_technique random_technique(struct random *random)
{
    uint64_t t = random_below(random, THRUM_TECHNIQUES + 1);
    return t == THRUM_TECHNIQUES ? THRUM_AUTO : (thrum_technique)t;
}

static void random_shape(struct random *random, struct shape *shape)
{
    static const size_t most[DEPTH + 1][DEPTH] = {{0}, {LARGEST}, {60, 300}, {12, 20, 60}};
    *shape = (struct shape){.depth = (int)random_between(random, 1, DEPTH), .fails_from = SIZE_MAX};
    for (int d = 0; d < shape->depth; d++) {
        shape->sizes[d] = random_below(random, most[shape->depth][d] + 1);
        shape->techniques[d] = random_technique(random);
        shape->least[d] = random_chance(random, 70) ? 0 : random_between(random, 1, 50);
    }
    shape->seed = random_next(random);
    shape->slow = random_chance(random, 50);
}

TEST(each_iteration_is_done_once)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct shape shape;
        random_shape(&random, &shape);
        thrum_executor *ex = executor_kept(random_below(&random, EXECUTOR_KINDS));
        size_t total = shape.sizes[0] * inner_size(&shape, 0);
        atomic_uchar *seen = calloc(total + 1, 1);
        stress_check(&course, run_nest(ex, &shape, 0, seen) == 0);
        stress_check(&course, atomic_load(&shape.errors) == 0);
        for (size_t i = 0; i < total; i++)
            stress_check(&course, seen[i] == 1);
        free(seen);
    }
    stress_report(&course, "loops");
}

TEST(after_a_failure_nothing_is_done_twice)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct shape shape;
        random_shape(&random, &shape);
        shape.fails_from = random_below(&random, shape.sizes[shape.depth - 1] + 1);
        thrum_executor *ex = executor_kept(random_below(&random, EXECUTOR_KINDS));
        size_t total = shape.sizes[0] * inner_size(&shape, 0);
        bool fails = total > 0 && shape.fails_from < shape.sizes[shape.depth - 1];
        atomic_uchar *seen = calloc(total + 1, 1);
        stress_check(&course, run_nest(ex, &shape, 0, seen) == (fails ? 99 : 0));
        for (size_t i = 0; i < total; i++)
            stress_check(&course, seen[i] <= 1);
        free(seen);
    }
    stress_report(&course, "failing loops");
}

/* ---- Side by side ------------------------------------------------------------------------------------------------ */

enum { SIDES = 6 };

struct side {
    thrum_executor *ex;
    struct shape shape;
    atomic_uchar *seen;
    int err;
};

static void run_side(void *arg)
{
    struct side *side = arg;
    side->err = run_nest(side->ex, &side->shape, 0, side->seen);
}

TEST(loops_side_by_side_are_independent)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum_executor *ex = executor_kept(random_below(&random, EXECUTOR_KINDS));
        struct side sides[SIDES];
        thrum_handle *handles[SIDES];
        for (int i = 0; i < SIDES; i++) {
            random_shape(&random, &sides[i].shape);
            sides[i].ex = ex;
            sides[i].seen = calloc(sides[i].shape.sizes[0] * inner_size(&sides[i].shape, 0) + 1, 1);
            handles[i] = thrum_submit(ex, run_side, &sides[i]);
        }
        for (int i = 0; i < SIDES; i++) {
            size_t total = sides[i].shape.sizes[0] * inner_size(&sides[i].shape, 0);
            stress_check(&course, thrum_wait(handles[i]) == 0 && sides[i].err == 0);
            thrum_release(handles[i]);
            for (size_t j = 0; j < total; j++)
                stress_check(&course, sides[i].seen[j] == 1);
            free(sides[i].seen);
        }
    }
    stress_report(&course, "loops side by side");
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static void sum_indices(size_t lo, size_t hi, void *into, void *ctx)
{
    (void)ctx;
    uint64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += i * i;
    *(uint64_t *)into = sum;
}

static void add(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(uint64_t *)into += *(const uint64_t *)from;
}

TEST(reductions_take_each_iteration_in_once)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum_executor *ex = executor_kept(random_below(&random, EXECUTOR_KINDS));
        size_t lo = random_below(&random, 1000), hi = lo + random_below(&random, LARGEST);
        uint64_t sum = course.seed, expected;
        sum_indices(lo, hi, &expected, NULL);
        stress_check(&course, thrum_for_reduce(ex, lo, hi, sum_indices, add, NULL, &sum, sizeof sum,
                                               .schedule = random_technique(&random)) == 0);
        stress_check(&course, sum == course.seed + expected);
    }
    stress_report(&course, "reducing loops");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_iteration_is_done_once),
        cmocka_unit_test(after_a_failure_nothing_is_done_twice),
        cmocka_unit_test(loops_side_by_side_are_independent),
        cmocka_unit_test(reductions_take_each_iteration_in_once),
    };
    stress = stress_begin(argv[0], 1.0);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    executors_free_kept();
    return failed;
}
