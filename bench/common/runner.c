/* SPDX-License-Identifier: MIT
 *
 * The main loop of every runner; see runner.h for what it reads and answers.
 */
#include "runner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bench_work *all_works;
static char bad_reason[256];
static double second; /* NAN: the pass has told none */

static struct {
    bench_work *work;
    int workers;
    uint32_t shrink;
    void *state;
} opened;

void bench_register(bench_work *works, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        works[i].next = all_works;
        all_works = &works[i];
    }
}

void bench_bad(const char *format, ...)
{
    if (bad_reason[0])
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(bad_reason, sizeof bad_reason, format, list);
    va_end(list);
}

int bench_is_bad(void)
{
    return bad_reason[0] != '\0';
}

void bench_second(double value)
{
    second = value;
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        printf("bad no memory for %zu times %zu bytes\n", count, size);
        exit(1);
    }
    return memory;
}

static bench_work *find_work(const char *name)
{
    bench_work *work = all_works;
    while (work && strcmp(work->name, name) != 0)
        work = work->next;
    return work;
}

static void drop(void)
{
    if (opened.state)
        opened.work->close(opened.state);
    opened.state = NULL;
}

static int open_work(bench_work *work, int workers, uint32_t shrink)
{
    if (opened.state && opened.work == work && opened.workers == workers && opened.shrink == shrink)
        return 0;
    drop();
    bench_request request = {work->variant, workers, shrink};
    opened.work = work;
    opened.workers = workers;
    opened.shrink = shrink;
    opened.state = work->open(&request);
    return opened.state ? 0 : -1;
}

static void answer_pass(const char *name, int workers, uint32_t shrink)
{
    bench_work *work = find_work(name);
    if (!work) {
        puts("none");
        return;
    }
    bad_reason[0] = '\0';
    second = NAN;
    double result = 0;
    if (open_work(work, workers, shrink) == 0)
        result = work->pass(opened.state);
    else
        bench_bad("%s could not be opened", name);
    if (bench_is_bad())
        printf("bad %s\n", bad_reason);
    else if (isnan(second))
        printf("ok %.4f\n", result);
    else
        printf("ok %.4f %.6g\n", result, second);
}

static void answer(const char *line)
{
    char name[64];
    int workers = 0;
    unsigned shrink = 1;
    int fields = sscanf(line, "%63s %d %u", name, &workers, &shrink);
    if (fields == 1 && strcmp(name, "about") == 0) {
        printf("about %s\n", bench_about());
    } else if (fields == 1 && strcmp(name, "drop") == 0) {
        drop();
        puts("ok 0");
    } else if (fields < 2 || workers < 1 || shrink < 1) {
        puts("bad request: expected \"WORK WORKERS [SHRINK]\", \"about\" or \"drop\"");
    } else {
        answer_pass(name, workers, shrink);
    }
    fflush(stdout);
}

int main(void)
{
    char line[128];
    while (fgets(line, sizeof line, stdin))
        answer(line);
    drop();
    return 0;
}
