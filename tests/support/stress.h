/* SPDX-License-Identifier: MIT
 *
 * How long a stress test runs and with which seeds, from the environment:
 *
 *     STRESS_SECONDS  how long each test goes on; fractions are allowed
 *     STRESS_FIRST    the first seed, 0 if it is not set; the others follow
 *     STRESS_SEED     only this seed: replays a failure
 *     STRESS_ROUNDS   at most so many rounds; with STRESS_SEED, how often the seed is tried
 *     STRESS_PATIENCE seconds that a round may take before it hangs; 0: as long as it likes
 *
 * An argument of the program picks tests by name; it may contain *.
 * (The names do not begin with THRUM_, because the library refuses variables of that kind that it does not know.)
 */
#ifndef TESTS_SUPPORT_STRESS_H
#define TESTS_SUPPORT_STRESS_H

#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

struct stress {
    const char *program; /* as it is started, for the replay command */
    double seconds;      /* for each test */
    uint64_t first_seed;
    uint64_t rounds;
    uint64_t least;    /* rounds that a test has, however long they take */
    uint64_t patience; /* seconds */
    bool one_seed;     /* replaying: every round has the first seed */
    bool told;         /* the environment says how long, or which seed */
};

/* The course of one test: while (stress_next(&course)) try course.seed. */
struct stress_course {
    const struct stress *stress;
    double deadline;
    double alive; /* when the watchdog was last told so */
    uint64_t round, seed;
};

static inline double stress_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void stress_refuse(const char *name, const char *text)
{
    fprintf(stderr, "%s is \"%s\", but must be a number that is not negative\n", name, text);
    exit(2);
}

static inline bool stress_read_number(const char *name, uint64_t *value)
{
    const char *text = getenv(name);
    if (!text)
        return false;
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    if (errno || end == text || *end || strchr(text, '-'))
        stress_refuse(name, text);
    return true;
}

static inline bool stress_read_seconds(double *seconds)
{
    const char *text = getenv("STRESS_SECONDS");
    if (!text)
        return false;
    char *end;
    *seconds = strtod(text, &end);
    if (end == text || *end || !(*seconds >= 0))
        stress_refuse("STRESS_SECONDS", text);
    return true;
}

/* Reads the environment and starts the watchdog. */
static inline struct stress stress_begin(const char *program, double default_seconds)
{
    struct stress stress = {.program = program, .seconds = default_seconds, .rounds = UINT64_MAX, .patience = 60};
    bool timed = stress_read_seconds(&stress.seconds);
    bool counted = stress_read_number("STRESS_ROUNDS", &stress.rounds);
    stress_read_number("STRESS_FIRST", &stress.first_seed);
    stress.one_seed = stress_read_number("STRESS_SEED", &stress.first_seed);
    stress.told = timed || counted || stress.one_seed;
    if (stress.one_seed && !counted && !timed)
        stress.rounds = 1000;
    stress_read_number("STRESS_PATIENCE", &stress.patience);
    watchdog_start((unsigned)stress.patience);
    return stress;
}

/* Each test is to have so many rounds, also if they take longer than its seconds. Not where the environment says
 * otherwise, and not with a sanitizer, under which they take too long. */
static inline void stress_insist(struct stress *stress, uint64_t rounds)
{
    if (!stress->told && !SANITIZED_THREAD && !SANITIZED_ADDRESS)
        stress->least = rounds;
}

static inline struct stress_course stress_course(const struct stress *stress)
{
    double now = stress_now();
    return (struct stress_course){
        .stress = stress, .deadline = now + stress->seconds, .alive = now, .seed = stress->first_seed};
}

/* Puts the watchdog off, though not in each of a million rounds. */
static inline void stress_say_alive(struct stress_course *course, double now)
{
    if (course->round && now < course->alive + 0.2)
        return;
    course->alive = now;
    watchdog_put_off((unsigned)course->stress->patience);
}

/* The command that repeats the present round. */
static inline const char *stress_replay(const struct stress_course *course, char *buffer, size_t size)
{
    snprintf(buffer, size, "To replay: STRESS_SEED=%" PRIu64 " %s", course->seed, course->stress->program);
    return buffer;
}

static inline bool stress_next(struct stress_course *course)
{
    double now = stress_now();
    stress_say_alive(course, now);
    bool late = course->round && course->round >= course->stress->least && now > course->deadline;
    if (late || course->round == course->stress->rounds)
        return false;
    course->seed = course->stress->first_seed + (course->stress->one_seed ? 0 : course->round);
    course->round++;
    stress_replay(course, watchdog_hint, sizeof watchdog_hint);
    return true;
}

/* Fails the test with a sentence, the seed and the replay command. */
static inline void stress_fail(const struct stress_course *course, const char *sentence)
{
    char replay[256];
    print_error("seed %" PRIu64 ": %s\n%s\n", course->seed, sentence, stress_replay(course, replay, sizeof replay));
    fail();
}

#define stress_check(course, condition)                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            stress_fail((course), "not so: " #condition);                                                              \
    } while (0)

static inline void stress_report(const struct stress_course *course, const char *what)
{
    print_message("           %" PRIu64 " %s\n", course->round, what);
}

#endif
