/* SPDX-License-Identifier: MIT
 *
 * Random programs on data against a sequential oracle: thousands of seeds, each replayable. See data_programs.h.
 */
#include "data_programs.h"
#include "exec/stream.h"
#include "stress.h"

#include <pthread.h>

static struct stress stress;

enum { PROGRAMS_LEAST = 2000 }; /* of each test, where no sanitizer slows them down: five seconds or so */

static const thrum_config stealing[] = {
    {.threadless = true},
    {.workers = 1},
    {.workers = 2},
    {.workers = 3},
    {.workers = 4},
    {.workers = 1, .callers = THRUM_CALLERS_BLOCK},
    {.workers = 2, .callers = THRUM_CALLERS_BLOCK},
};

struct setting {
    thrum_config config;
    thrum_executor *kept;
};

/* One of each is made when first asked for and kept; now and then one is made for a program alone. */
static thrum_executor *take_executor(struct setting *setting, bool own)
{
    if (!own && setting->kept)
        return setting->kept;
    thrum_executor *ex = thrum_executor_new(&setting->config);
    if (!ex)
        print_error("no executor: %s\n", thrum_message(NULL));
    assert_non_null(ex);
    if (!own)
        setting->kept = ex;
    return ex;
}

struct follower {
    struct data_program *program;
    uint64_t seed;
    thrum_executor *ex;
    bool threadless, fails;
};

static void *follow(void *arg)
{
    struct follower *follower = arg;
    program_run(follower->program, follower->seed, follower->ex, follower->threadless, follower->fails);
    return NULL;
}

static void check_program(struct stress_course *course, const struct data_program *program,
                          const struct setting *setting)
{
    if (!program->wrong)
        return;
    print_error("%d workers%s%s, policy %s, devices %s\n", setting->config.workers,
                setting->config.threadless ? ", threadless" : "",
                setting->config.callers == THRUM_CALLERS_BLOCK ? ", callers block" : "",
                setting->config.policy ? setting->config.policy : "none",
                setting->config.devices ? setting->config.devices : "none");
    stress_fail(course, program->sentence);
}

/* One program, or two at once by two threads on handles of their own; in one of three where workers steal, in the order
 * of insertion. */
static void trial(struct stress_course *course, struct setting *settings, size_t count)
{
    static struct data_program programs[2];
    static int64_t long_ns;
    struct random random = random_new(course->seed);
    struct setting *setting = &settings[random_below(&random, count)];
    bool own = random_chance(&random, 5), two = random_chance(&random, 15);
    long_ns = long_ns ? long_ns : thrum__stream_long_ns;
    thrum__stream_long_ns = random_chance(&random, 33) ? 0 : long_ns;
    thrum_executor *ex = take_executor(setting, own);
    struct follower other = {&programs[1], random_next(&random), ex, setting->config.threadless,
                             random_chance(&random, 15)};
    pthread_t thread;
    if (two)
        pthread_create(&thread, NULL, follow, &other);
    program_run(&programs[0], random_next(&random), ex, setting->config.threadless, random_chance(&random, 15));
    if (two)
        pthread_join(thread, NULL);
    for (int i = 0; i <= two; i++)
        check_program(course, &programs[i], setting);
    if (own)
        stress_check(course, thrum_executor_free(ex) == 0);
}

struct sums {
    uint64_t programs;
    uint64_t tasks, evictions; /* on devices */
};

static void add_up(const thrum_executor *ex, struct sums *sums)
{
    thrum_node_stats node;
    thrum_place_stats place;
    for (int i = 1; ex && i < thrum_executor_nodes(ex); i++)
        sums->evictions += thrum_executor_node(ex, i, &node) == 0 ? node.evictions : 0;
    for (int i = 0; ex && i < thrum_executor_places(ex); i++)
        if (thrum_executor_place(ex, i, &place) == 0 && place.place.device >= 0)
            sums->tasks += place.tasks;
}

static void all_trials(struct setting *settings, size_t count, struct sums *sums)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course))
        trial(&course, settings, count);
    for (size_t i = 0; i < count; i++) {
        add_up(settings[i].kept, sums);
        assert_int_equal(thrum_executor_free(settings[i].kept), 0);
    }
    sums->programs = course.round;
    stress_report(&course, "programs");
    assert_true(course.round >= stress.least);
}

TEST(random_programs_compute_what_the_oracle_says_where_workers_steal)
{
    static struct setting settings[COUNT_OF(stealing)];
    for (size_t i = 0; i < COUNT_OF(stealing); i++)
        settings[i] = (struct setting){.config = stealing[i]};
    all_trials(settings, COUNT_OF(stealing), &(struct sums){0});
}

/* Processors only, and with devices whose memories hold some of the handles. */
static const char *const devices[] = {
    "cpu:2",
    "cpu:1,emu:1;memory=1KiB;latency=1us",
    "cpu:2,emu:2;memory=768B;latency=0us",
    "cpu:2,emu:1;memory=1MiB;workers=2;latency=0us",
    "cpu:1,emu:3;memory=1536B;latency=2us",
};

TEST(random_programs_compute_what_the_oracle_says_with_policies_and_devices)
{
    static struct setting settings[100];
    const thrum_policy *policy;
    size_t count = 0;
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        for (size_t d = 0; d < COUNT_OF(devices) && count < COUNT_OF(settings); d++)
            settings[count++] = (struct setting){.config = {.policy = policy->name, .devices = devices[d]}};
    struct sums sums = {0};
    all_trials(settings, count, &sums);
    print_message("           %" PRIu64 " tasks on devices, %" PRIu64 " replicas thrown out\n", sums.tasks,
                  sums.evictions);
    assert_true(sums.programs < 300 || stress.one_seed || (sums.tasks > 0 && sums.evictions > 0));
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_compute_what_the_oracle_says_where_workers_steal),
        cmocka_unit_test(random_programs_compute_what_the_oracle_says_with_policies_and_devices),
    };
    setenv("THRUM_MODELS", "off", 1); /* every shape would be kept */
    stress = stress_begin(argv[0], 4);
    stress_insist(&stress, PROGRAMS_LEAST);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
