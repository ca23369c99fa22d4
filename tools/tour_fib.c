/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: scopes, and what a spawn costs.
 */
#include "tour.h"

#include <thrum/thrum.h>

enum { FIB_N = 30, FIB_VALUE = 832040, FIB_SPAWNS = 1346268, FIB_PASSES = 5 };

struct fib {
    int n;
    long value;
};

static void fib(thrum_scope *up, void *arg)
{
    struct fib *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    struct fib x = {f->n - 1, 0}, y = {f->n - 2, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, fib, &x);
    fib(&scope, &y);
    thrum_join(&scope);
    f->value = x.value + y.value;
}

/* Through a pointer that the compiler cannot see through, or it would unfold the recursion. */
static void fib_plain(void *arg);
static void (*volatile plain_call)(void *arg) = fib_plain;

static void fib_plain(void *arg)
{
    struct fib *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    struct fib x = {f->n - 1, 0}, y = {f->n - 2, 0};
    plain_call(&x);
    plain_call(&y);
    f->value = x.value + y.value;
}

/* The best of a few passes, in seconds. -1 on a wrong result. */
static double time_fib(bool spawn)
{
    double best = 1e9;
    for (int pass = 0; pass < FIB_PASSES; pass++) {
        struct fib f = {FIB_N, 0};
        double begin = tool_now();
        if (!spawn)
            plain_call(&f);
        else if (thrum_scope_run(NULL, fib, &f) != 0)
            return tour_stop("fib failed: %s", thrum_message(NULL));
        double took = tool_now() - begin;
        if (f.value != FIB_VALUE)
            return tour_stop("fib(%d) gave %ld, not %d", FIB_N, f.value, FIB_VALUE);
        best = took < best ? took : best;
    }
    return best;
}

int tour_show_fib(struct page *page)
{
    char text[TOOL_TIME_SIZE];
    double plain = time_fib(false), spawned = time_fib(true);
    if (plain < 0 || spawned < 0)
        return -1;
    page_text(page,
              "Each call spawns one half and calls the other: `fib(%d)` spawns %d tasks that do next to nothing,"
              " so what is measured is the cost of spawning and joining.",
              FIB_N, FIB_SPAWNS);
    page_code(page, "struct fib x = {f->n - 1}, y = {f->n - 2};\n"
                    "thrum_scope scope;\n"
                    "thrum_scope_open(&scope, up);\n"
                    "thrum_spawn(&scope, fib, &x);     /* may run on another worker */\n"
                    "fib(&scope, &y);                  /* runs here */\n"
                    "thrum_join(&scope);               /* waits for x, and only for x */\n"
                    "f->value = x.value + y.value;\n");
    page_facts_open(page);
    page_fact(page, "fib(30)", "%d", FIB_VALUE);
    page_fact(page, "with spawns, on all workers", "%s", tool_time(spawned, text));
    page_fact(page, "with plain calls, on one", "%s", tool_time(plain, text));
    page_fact(page, "per spawn", "%.2f ns", 1e9 * spawned / FIB_SPAWNS);
    page_fact(page, "per pair of plain calls", "%.2f ns", 1e9 * plain / FIB_SPAWNS);
    page_facts_close(page);
    page_text(page,
              "Best of %d passes on %d workers. Run it alone: `build/examples/04-fib`; against other runtimes: `thrum "
              "bench`.",
              FIB_PASSES, thrum_executor_workers(NULL));
    return 0;
}
