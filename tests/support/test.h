/* SPDX-License-Identifier: MIT
 *
 * What every test program includes first: cmocka, thrum, and the few words that all tests share.
 *
 * A failing cmocka assertion jumps out of the test function, so it may be used only in the thread that runs the test,
 * never in a task. Tasks note what they saw in plain or atomic variables; the test looks at them after the wait.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thrum/thrum.h>

#include "watchdog.h"

/* ThreadSanitizer slows tasks down tenfold and more, so what tests sheer size is smaller with it, and some things it
 * cannot follow at all. */
#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREAD 1
#endif
#endif
#ifndef SANITIZED_THREAD
#define SANITIZED_THREAD 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS 1
#endif
#endif
#ifndef SANITIZED_ADDRESS
#define SANITIZED_ADDRESS 0
#endif

/* A child has the locks of its parent's memory as they were when it was made. The C library takes and gives back its
 * own around a fork; the sanitizers do not, and a child that needs one which another thread had waits for ever. So
 * where threads allocate while one of them forks, and the child allocates, there is nothing to test with them. */
#define FORK_AMID_ALLOCATIONS (!SANITIZED_THREAD && !SANITIZED_ADDRESS)

/* cmocka catches crashes and jumps out of the test, which cannot work when another thread than the test's own crashed.
 * So each test puts back the handlers that were there before: a crash ends the program, or a sanitizer reports it. */
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
static struct sigaction crash_handlers[sizeof crash_signals / sizeof crash_signals[0]];

__attribute__((constructor)) static void crash_handlers_remember(void)
{
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
        sigaction(crash_signals[i], NULL, &crash_handlers[i]);
}

static inline void crash_handlers_put_back(void)
{
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
        sigaction(crash_signals[i], &crash_handlers[i], NULL);
}

/* A test: its name is a sentence. */
#define TEST(sentence)                                                                                                 \
    static void sentence##_body(void);                                                                                 \
    static void sentence(void **state __attribute__((unused)))                                                         \
    {                                                                                                                  \
        crash_handlers_put_back();                                                                                     \
        sentence##_body();                                                                                             \
    }                                                                                                                  \
    static void sentence##_body(void)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Asserts that `text` contains `part`, and shows both where it does not. */
#define assert_contains(text, part) assert_contains_at((text), (part), __FILE__, __LINE__)

static inline void assert_contains_at(const char *text, const char *part, const char *file, int line)
{
    if (!text || !strstr(text, part)) {
        print_error("\"%s\" does not contain \"%s\"\n", text ? text : "(null)", part);
        _fail(file, line);
    }
}

/* Asserts an error code and that the sentence of the calling thread names the thing. */
#define assert_error(code, expected, part)                                                                             \
    do {                                                                                                               \
        assert_int_equal((code), (expected));                                                                          \
        assert_contains(thrum_message(NULL), part);                                                                    \
    } while (0)

/* Runs the tests of the array `tests`; a program that takes longer than `seconds` has hung and is ended. */
#define RUN_TESTS(tests, seconds) (watchdog_start(seconds), cmocka_run_group_tests(tests, NULL, NULL))

#endif
