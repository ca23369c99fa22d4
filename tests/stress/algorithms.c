/* SPDX-License-Identifier: MIT
 *
 * Every algorithm against a plain loop, with random sizes, element sizes, grains and kinds of input.
 *
 * An element is a key of four bytes, of few or many values, and a number of bytes that are made from its place in the
 * input; so one can see whether equal elements kept their order, and whether an element is still in one piece.
 */
#include "random.h"
#include "stress.h"

enum { EXECUTORS = 3, LARGEST = 300000 };

static struct stress stress;
static thrum_executor *executors[EXECUTORS];

struct setting {
    struct random random;
    thrum_executor *ex;
    size_t n, size, grain;
    uint32_t values; /* how many different keys there are */
};

static size_t random_count(struct random *random)
{
    static const size_t bounds[] = {2, 10, 100, 5000, 70000, LARGEST};
    return random_below(random, bounds[random_below(random, COUNT_OF(bounds))] + 1);
}

static struct setting random_setting(uint64_t seed)
{
    static const size_t sizes[] = {4, 4, 8, 16, 5, 12, 31, 40, 300};
    struct setting s = {.random = random_new(seed)};
    s.ex = executors[random_below(&s.random, EXECUTORS)];
    s.n = random_count(&s.random);
    s.size = sizes[random_below(&s.random, COUNT_OF(sizes))];
    if (s.size > 40)
        s.n /= 20;
    s.grain = random_chance(&s.random, 60) ? 0 : random_between(&s.random, 1 + s.n / 5000, s.n + 3);
    s.values = random_chance(&s.random, 50) ? 1 + (uint32_t)random_below(&s.random, 50) : UINT32_MAX;
    return s;
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

static uint32_t key_at(const unsigned char *element)
{
    uint32_t key;
    memcpy(&key, element, sizeof key);
    return key;
}

static int compare_keys(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    uint32_t x = key_at(a), y = key_at(b);
    return (x > y) - (x < y);
}

static void make_element(unsigned char *element, size_t size, uint32_t key, size_t place)
{
    memcpy(element, &key, sizeof key);
    for (size_t i = sizeof key; i < size; i++)
        element[i] = (unsigned char)(place >> (i % 3 * 8));
}

static unsigned char *make_elements(struct setting *s, size_t n)
{
    unsigned char *elements = malloc(n * s->size + 1);
    unsigned order = (unsigned)random_below(&s->random, 4); /* random (twice), ascending, descending */
    for (size_t i = 0; i < n; i++) {
        uint32_t key = (uint32_t)(random_next(&s->random) % s->values);
        if (order >= 2)
            key = (uint32_t)(order == 2 ? i : n - i) / 3;
        make_element(elements + i * s->size, s->size, key, i);
    }
    return elements;
}

/* The oracle: sorts places, by key and then by place. */
static const unsigned char *oracle_elements;
static size_t oracle_size;

static int compare_places(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    uint32_t p = key_at(oracle_elements + x * oracle_size), q = key_at(oracle_elements + y * oracle_size);
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static unsigned char *sorted_copy(const unsigned char *elements, size_t n, size_t size)
{
    size_t *places = malloc(n * sizeof *places + 1);
    unsigned char *sorted = malloc(n * size + 1);
    for (size_t i = 0; i < n; i++)
        places[i] = i;
    oracle_elements = elements;
    oracle_size = size;
    if (n)
        qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0; i < n; i++)
        memcpy(sorted + i * size, elements + places[i] * size, size);
    free(places);
    return sorted;
}

TEST(sort_is_stable_and_right)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        unsigned char *elements = make_elements(&s, s.n), *expected = sorted_copy(elements, s.n, s.size);
        stress_check(&course, thrum_sort(s.ex, elements, s.n, s.size, compare_keys, NULL) == 0);
        stress_check(&course, memcmp(elements, expected, s.n * s.size) == 0);
        free(elements);
        free(expected);
    }
    stress_report(&course, "arrays sorted");
}

/* Two arrays, sorted, merged; the oracle sorts them one behind the other, which is the same if both are stable. */
TEST(merge_is_stable_and_right)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        size_t left = random_below(&s.random, s.n + 1), bytes = s.n * s.size;
        unsigned char *elements = make_elements(&s, s.n);
        unsigned char *a = sorted_copy(elements, left, s.size);
        unsigned char *b = sorted_copy(elements + left * s.size, s.n - left, s.size);
        unsigned char *out = malloc(bytes + 1), *expected = sorted_copy(elements, s.n, s.size);
        stress_check(&course, thrum_merge(s.ex, a, left, b, s.n - left, out, s.size, compare_keys, NULL) == 0);
        stress_check(&course, memcmp(out, expected, bytes) == 0);
        free(elements);
        free(expected);
        free(out);
        free(a);
        free(b);
    }
    stress_report(&course, "pairs of arrays merged");
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* Random bits of a random kind: all of them, few values, few low bits, few high bits, one far off. */
static uint64_t random_bits(struct random *random, unsigned kind)
{
    uint64_t x = random_next(random);
    switch (kind) {
    case 0:
        return x;
    case 1:
        return x % 5;
    case 2:
        return x >> 44;
    case 3:
        return x & UINT64_C(0xfff0000fff000000);
    default:
        return random_chance(random, 1) ? x : x % 1000;
    }
}

static int by_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int by_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* As the header has it: numbers, -0.0 before 0.0; then NaNs, positive ones first, by their bits. */
static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    int64_t p, q;
    memcpy(&p, &x, sizeof p);
    memcpy(&q, &y, sizeof q);
    if (x != x || y != y) {
        if ((x != x) != (y != y))
            return x != x ? 1 : -1;
        return (p < 0) != (q < 0) ? (p < 0 ? 1 : -1) : ((p > q) - (p < q)) * (p < 0 ? -1 : 1);
    }
    if (x != y)
        return x > y ? 1 : -1;
    return (p >= 0) - (q >= 0);
}

static void check_numbers(struct stress_course *course, struct setting *s, unsigned type)
{
    size_t size = type == 0 ? sizeof(int32_t) : sizeof(int64_t);
    unsigned kind = (unsigned)random_below(&s->random, 5);
    unsigned char *numbers = malloc(s->n * size + 1), *expected = malloc(s->n * size + 1);
    for (size_t i = 0; i < s->n; i++) {
        uint64_t bits = random_bits(&s->random, kind);
        memcpy(numbers + i * size, &bits, size);
    }
    memcpy(expected, numbers, s->n * size);
    if (s->n)
        qsort(expected, s->n, size, type == 0 ? by_int32 : type == 1 ? by_int64 : by_double);
    int err = type == 0   ? thrum_sort_int32(s->ex, (int32_t *)(void *)numbers, s->n)
              : type == 1 ? thrum_sort_int64(s->ex, (int64_t *)(void *)numbers, s->n)
                          : thrum_sort_double(s->ex, (double *)(void *)numbers, s->n);
    stress_check(course, err == 0);
    stress_check(course, memcmp(numbers, expected, s->n * size) == 0);
    free(numbers);
    free(expected);
}

TEST(numbers_are_sorted)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        check_numbers(&course, &s, (unsigned)random_below(&s.random, 3));
    }
    stress_report(&course, "arrays of numbers sorted");
}

/* ---- Reduce and scan: polynomials in a value, modulo 2^32, which is associative and not commutative -------------- */

struct step {
    uint32_t factor, summand;
};

static struct step after(struct step a, struct step b)
{
    return (struct step){a.factor * b.factor, a.summand * b.factor + b.summand};
}

static void fold_steps(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        *(struct step *)into = after(*(struct step *)into, ((const struct step *)elements)[i]);
}

static void scan_inclusive(void *carry, const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        ((struct step *)out)[i] = *(struct step *)carry = after(*(struct step *)carry, ((const struct step *)in)[i]);
}

static void scan_exclusive(void *carry, const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        struct step here = *(struct step *)carry;
        *(struct step *)carry = after(here, ((const struct step *)in)[i]);
        ((struct step *)out)[i] = here;
    }
}

static struct step *random_steps(struct random *random, size_t n)
{
    struct step *steps = malloc(n * sizeof *steps + 1);
    for (size_t i = 0; i < n; i++)
        steps[i] = (struct step){(uint32_t)random_next(random) | 1, (uint32_t)random_next(random)};
    return steps;
}

static bool same_step(struct step a, struct step b)
{
    return a.factor == b.factor && a.summand == b.summand;
}

static void map_steps(size_t lo, size_t hi, void *into, void *ctx)
{
    *(struct step *)into = (struct step){1, 0};
    fold_steps(into, (struct step *)ctx + lo, hi - lo, NULL);
}

static void combine_steps(void *into, const void *from, void *ctx)
{
    fold_steps(into, from, 1, ctx);
}

TEST(reductions_are_right)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        struct step *steps = random_steps(&s.random, s.n), expected = {3, 5}, result = expected, other = expected;
        fold_steps(&expected, steps, s.n, NULL);
        stress_check(&course, thrum_reduce(s.ex, steps, s.n, sizeof *steps, s.grain, &result, fold_steps, NULL) == 0);
        stress_check(&course, same_step(result, expected));
        stress_check(&course, thrum_transform_reduce(s.ex, s.n, s.grain, &other, sizeof other, map_steps, combine_steps,
                                                     steps) == 0);
        stress_check(&course, same_step(other, expected));
        free(steps);
    }
    stress_report(&course, "reductions");
}

TEST(scans_are_right)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        bool inclusive = random_chance(&s.random, 50), by_range = random_chance(&s.random, 70);
        bool in_place = random_chance(&s.random, 30);
        thrum_scan_fn *scan = inclusive ? scan_inclusive : scan_exclusive;
        struct step *steps = random_steps(&s.random, s.n), carry = {3, 5}, total = carry;
        struct step *expected = malloc(s.n * sizeof *steps + 1);
        struct step *out = in_place ? steps : malloc(s.n * sizeof *steps + 1);
        scan(&carry, steps, expected, s.n, NULL);
        int err = (inclusive ? thrum_inclusive_scan : thrum_exclusive_scan)(
            s.ex, steps, out, s.n, sizeof *steps, s.grain, &total, fold_steps, by_range ? scan : NULL, NULL);
        stress_check(&course, err == 0);
        stress_check(&course, memcmp(out, expected, s.n * sizeof *out) == 0);
        stress_check(&course, same_step(total, carry));
        free(expected);
        free(steps);
        if (!in_place)
            free(out);
    }
    stress_report(&course, "scans");
}

/* ---- The others -------------------------------------------------------------------------------------------------- */

struct sought {
    const unsigned char *elements;
    size_t size;
    uint32_t key;
};

static size_t find_key(size_t lo, size_t hi, void *ctx)
{
    const struct sought *sought = ctx;
    while (lo < hi && key_at(sought->elements + lo * sought->size) != sought->key)
        lo++;
    return lo;
}

static void check_extremes(struct stress_course *course, const struct setting *s, const unsigned char *elements)
{
    size_t lowest = 0, highest = 0, index = 99;
    for (size_t i = 1; i < s->n; i++) {
        uint32_t key = key_at(elements + i * s->size);
        if (key < key_at(elements + lowest * s->size))
            lowest = i;
        if (key > key_at(elements + highest * s->size))
            highest = i;
    }
    stress_check(course, thrum_min_element(s->ex, elements, s->n, s->size, compare_keys, NULL, &index) == 0);
    stress_check(course, index == lowest);
    stress_check(course, thrum_max_element(s->ex, elements, s->n, s->size, compare_keys, NULL, &index) == 0);
    stress_check(course, index == highest);
}

static void copy_elements(const void *in, void *out, size_t count, void *ctx)
{
    memcpy(out, in, count * *(size_t *)ctx);
}

TEST(finding_filling_and_transforming_are_right)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct setting s = random_setting(course.seed);
        unsigned char *elements = make_elements(&s, s.n), *copy = malloc(s.n * s.size + 1), value[300];
        struct sought sought = {elements, s.size, (uint32_t)random_below(&s.random, 60)};
        size_t expected = find_key(0, s.n, &sought), index = 99;
        stress_check(&course, thrum_find_if(s.ex, s.n, s.grain, find_key, &sought, &index) == 0);
        stress_check(&course, index == expected);
        check_extremes(&course, &s, elements);
        stress_check(&course,
                     thrum_transform(s.ex, elements, s.size, copy, s.size, s.n, s.grain, copy_elements, &s.size) == 0);
        stress_check(&course, memcmp(copy, elements, s.n * s.size) == 0);
        make_element(value, s.size, 77, course.seed);
        stress_check(&course, thrum_fill(s.ex, copy, s.n, s.size, value) == 0);
        for (size_t i = 0; i < s.n; i++)
            stress_check(&course, memcmp(copy + i * s.size, value, s.size) == 0);
        free(elements);
        free(copy);
    }
    stress_report(&course, "arrays");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_is_stable_and_right), cmocka_unit_test(merge_is_stable_and_right),
        cmocka_unit_test(numbers_are_sorted),       cmocka_unit_test(reductions_are_right),
        cmocka_unit_test(scans_are_right),          cmocka_unit_test(finding_filling_and_transforming_are_right),
    };
    static const int workers[EXECUTORS] = {1, 2, 5};
    stress = stress_begin(argv[0], 1.0);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (int i = 0; i < EXECUTORS; i++)
        executors[i] = thrum_executor_new(&(thrum_config){.workers = workers[i]});
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < EXECUTORS; i++)
        failed |= thrum_executor_free(executors[i]);
    return failed != 0;
}
