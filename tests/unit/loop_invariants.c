/* SPDX-License-Identifier: MIT
 *
 * What holds for every loop schedule, whatever n, p, mu, sigma, h, weights and times are: each iteration is handed out
 * once, sizes are within their bounds, batches are of equal chunks, and what several threads go by (rows, sizes by the
 * rest) is what one gets who asks. Settings come from seeds: STRESS_SEED=... replays one.
 */
#include "random.h"
#include "stress.h"

#include "sched/loop.h"

#include <math.h>

enum { MOST_CHUNKS = 4000, MOST_WORKERS = 300 };

static struct stress stress;

static double random_real(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Of any order of magnitude between the two. */
static double random_scale(struct random *random, double lowest, double highest)
{
    return lowest * pow(highest / lowest, random_real(random));
}

static void random_weights(struct random *random, double *weights, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += weights[i] = random_scale(random, 0.01, 1);
    for (uint32_t i = 0; i < count; i++)
        weights[i] *= count / sum;
}

/* n has any number of bits; the least size keeps chunks countable where n is large. */
static thrum_loop_facts random_facts(struct random *random, double *weights)
{
    thrum_loop_facts facts = {0};
    facts.iterations = random_next(random) >> random_between(random, 1, 63);
    facts.workers = (uint32_t)random_between(random, 1, random_chance(random, 50) ? 8 : MOST_WORKERS);
    if (facts.iterations > MOST_CHUNKS)
        facts.least = facts.iterations / MOST_CHUNKS + random_between(random, 1, 5);
    else if (random_chance(random, 30))
        facts.least = random_below(random, 20);
    facts.mean = random_scale(random, 1e-9, 1e6);
    facts.deviation = facts.mean * random_scale(random, 1e-3, 30);
    facts.cost = facts.mean * random_scale(random, 1e-3, 1e3);
    if (random_chance(random, 50)) {
        random_weights(random, weights, facts.workers);
        facts.weights = weights;
    }
    facts.alpha = random_chance(random, 50) ? 0 : random_real(random) * 3;
    facts.stages = (uint32_t)random_below(random, 10);
    facts.bound = random_chance(random, 50) ? 0 : random_next(random) >> random_below(random, 64);
    facts.seed = random_next(random);
    facts.nearest = random_chance(random, 50);
    return facts;
}

struct record {
    thrum_chunk chunks[MOST_CHUNKS + 1];
    size_t count;
};

/* Random workers ask at random times for chunks that take random times, some of which are 0. */
static void hand_out(const struct stress_course *course, thrum_schedule *schedule, struct record *record)
{
    struct random random = random_new(course->seed);
    uint32_t workers = schedule->facts.workers, none = 0;
    uint64_t left = schedule->facts.iterations, least = schedule->facts.least;
    bool owner = schedule->rule->order == THRUM__BY_OWNER;
    double now = 0;
    record->count = 0;
    for (uint32_t worker = 0; none < workers;
         worker = owner ? (worker + 1) % workers : (uint32_t)random_below(&random, workers)) {
        thrum_chunk chunk;
        now += schedule->facts.mean * random_real(&random);
        if (!thrum_schedule_next(schedule, worker, now, &chunk)) {
            none++;
            continue;
        }
        none = 0;
        stress_check(course, record->count <= MOST_CHUNKS);
        stress_check(course, chunk.size >= 1 && chunk.size <= left);
        stress_check(course, owner || chunk.begin == schedule->facts.iterations - left);
        stress_check(course, owner || chunk.size >= (least < left ? least : left));
        record->chunks[record->count++] = chunk;
        left -= chunk.size;
        double time = random_chance(&random, 10) ? 0 : (double)chunk.size * schedule->facts.mean * random_real(&random);
        thrum_schedule_finished(schedule, worker, chunk.size, time, schedule->facts.cost);
        stress_check(course, schedule->left == left);
    }
    stress_check(course, left == 0);
}

static int by_begin(const void *a, const void *b)
{
    const thrum_chunk *one = a, *other = b;
    return (one->begin > other->begin) - (one->begin < other->begin);
}

static void check_that_nothing_is_left_out(const struct stress_course *course, const struct record *record, uint64_t n)
{
    static thrum_chunk sorted[MOST_CHUNKS + 1];
    uint64_t next = 0;
    memcpy(sorted, record->chunks, record->count * sizeof sorted[0]);
    qsort(sorted, record->count, sizeof sorted[0], by_begin);
    for (size_t i = 0; i < record->count; i++) {
        stress_check(course, sorted[i].begin == next);
        next += sorted[i].size;
    }
    stress_check(course, next == n);
}

static void check_rows(const struct stress_course *course, thrum_schedule *schedule, const struct record *record)
{
    static thrum__loop_row rows[MOST_CHUNKS + 1];
    uint32_t count = thrum__loop_rows(schedule, rows, MOST_CHUNKS + 1), row = 0;
    stress_check(course, count > 0 || record->count == 0);
    stress_check(course, count == 0 || thrum__loop_rows(schedule, rows, count) == count);
    stress_check(course, count < 2 || thrum__loop_rows(schedule, rows, count - 1) == 0);
    thrum__loop_rows(schedule, rows, count);
    for (size_t i = 0; i < record->count; i++) {
        row += row + 1 < count && rows[row + 1].first == i;
        uint64_t begin = rows[row].begin + (i - rows[row].first) * rows[row].size;
        stress_check(course, record->chunks[i].begin == begin);
        stress_check(course, record->chunks[i].size == rows[row].size || i + 1 == record->count);
        stress_check(course, record->chunks[i].size <= rows[row].size);
    }
    stress_check(course, count == 0 || row == count - 1);
}

static void check_sizes_by_rest(const struct stress_course *course, const thrum_schedule *schedule,
                                const struct record *record)
{
    uint64_t left = schedule->facts.iterations;
    for (size_t i = 0; i < record->count; i++) {
        stress_check(course, thrum__size_of_rest(schedule, left) == record->chunks[i].size);
        left -= record->chunks[i].size;
    }
}

static bool has_batches(thrum_technique technique)
{
    return technique == THRUM_FAC || technique == THRUM_FAC2 || technique == THRUM_TFSS || technique == THRUM_FISS ||
           technique == THRUM_VISS;
}

static void check_batches(const struct stress_course *course, const struct record *record, uint32_t workers)
{
    for (size_t i = 1; i + 1 < record->count; i++)
        stress_check(course, i % workers == 0 || record->chunks[i].size == record->chunks[i - 1].size);
}

static void check_technique(const struct stress_course *course, thrum_technique technique,
                            const thrum_loop_facts *facts)
{
    static struct record first, second;
    thrum_schedule *schedule = thrum_schedule_new(technique, facts);
    stress_check(course, schedule != NULL);
    if (technique == THRUM_STEAL && facts->iterations > MOST_CHUNKS) /* stealing makes small chunks besides */
        schedule->facts.least *= 4;
    hand_out(course, schedule, &first);
    check_that_nothing_is_left_out(course, &first, facts->iterations);
    thrum_schedule_restart(schedule);
    if (schedule->rule->order == THRUM__BY_NUMBER)
        check_rows(course, schedule, &first);
    if (schedule->rule->order == THRUM__BY_REST)
        check_sizes_by_rest(course, schedule, &first);
    if (has_batches(technique))
        check_batches(course, &first, facts->workers);
    hand_out(course, schedule, &second);
    stress_check(course, first.count == second.count);
    stress_check(course, memcmp(first.chunks, second.chunks, first.count * sizeof first.chunks[0]) == 0);
    thrum_schedule_free(schedule);
}

static void check_all_settings(thrum_technique from, thrum_technique until)
{
    static double weights[MOST_WORKERS];
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum_loop_facts facts = random_facts(&random, weights);
        for (int t = from; t <= (int)until; t++)
            if (t != THRUM_FSC || facts.workers > 1) /* which FSC divides by the logarithm of */
                check_technique(&course, (thrum_technique)t, &facts);
    }
    stress_report(&course, "settings");
}

TEST(blocks_and_equal_sizes_leave_nothing_out)
{
    check_all_settings(THRUM_STEAL, THRUM_MFSC);
}

TEST(guided_sizes_and_batches_leave_nothing_out)
{
    check_all_settings(THRUM_GSS, THRUM_TFSS);
}

TEST(sizes_that_follow_measurements_leave_nothing_out)
{
    check_all_settings(THRUM_BOLD, THRUM_MAF);
}

TEST(the_other_sizes_leave_nothing_out)
{
    check_all_settings(THRUM_FISS, THRUM_RND);
}

/* TSS keeps its step exactly: ceil(f - i delta), in numbers wide enough. */
TEST(sizes_of_tss_are_exact)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum_loop_facts facts = {.iterations = random_next(&random) >> random_between(&random, 1, 63),
                                  .workers = (uint32_t)random_between(&random, 1, 200)};
        thrum_schedule *schedule = thrum_schedule_new(THRUM_TSS, &facts);
        uint64_t f = facts.iterations / (2 * facts.workers) + (facts.iterations % (2 * facts.workers) != 0);
        uint64_t chunks = 2 * facts.iterations / (f + 1) + (2 * facts.iterations % (f + 1) != 0);
        __extension__ unsigned __int128 i = 0;
        thrum_chunk chunk;
        while (thrum_schedule_next(schedule, 0, 0, &chunk)) {
            uint64_t down = chunks > 1 ? (uint64_t)(i * (f - 1) / (chunks - 1)) : 0;
            stress_check(&course, chunk.size == f - down || schedule->left == 0);
            i++;
        }
        stress_check(&course, i <= chunks);
        thrum_schedule_free(schedule);
    }
}

/* Sums over workers are kept up to date by differences; they must be what summing up gives, however times jump
 * about. */
TEST(weights_of_awf_always_sum_up)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        uint32_t p = (uint32_t)random_between(&random, 1, 50);
        thrum_loop_facts facts = {.iterations = UINT64_C(1) << 40, .workers = p};
        thrum_schedule *schedule = thrum_schedule_new(THRUM_AWF_C, &facts);
        for (int i = 0; i < 1000; i++) {
            double time = random_chance(&random, 20) ? 0 : random_scale(&random, 1e-30, 1e30);
            thrum_schedule_finished(schedule, (uint32_t)random_below(&random, p), 1 + random_below(&random, 1000), time,
                                    0);
        }
        double sum = 0;
        for (uint32_t worker = 0; worker < p; worker++) {
            thrum_schedule copy = *schedule;
            copy.left = UINT64_C(2000000) * p; /* the weight is the size in millionths */
            sum += (double)schedule->rule->size(&copy, copy.left, worker, 0) / 1e6;
        }
        stress_check(&course, fabs(sum - p) < 1e-5 * p);
        thrum_schedule_free(schedule);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_equal_sizes_leave_nothing_out),
        cmocka_unit_test(guided_sizes_and_batches_leave_nothing_out),
        cmocka_unit_test(sizes_that_follow_measurements_leave_nothing_out),
        cmocka_unit_test(the_other_sizes_leave_nothing_out),
        cmocka_unit_test(sizes_of_tss_are_exact),
        cmocka_unit_test(weights_of_awf_always_sum_up),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    stress = stress_begin(argv[0], 0.2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
