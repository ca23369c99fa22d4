/* SPDX-License-Identifier: MIT
 *
 * Medians and resident memory.
 */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, by_size);
    return count % 2 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

/* smaps_rollup walks the page tables. The counters behind statm are kept per processor and lag by up to a megabyte,
 * which would be a byte per task here. */
double bench_resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double kilobytes = -1;
    while (file && kilobytes < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "Rss:", 4) == 0)
            kilobytes = atof(line + 4);
    if (file)
        fclose(file);
    if (kilobytes < 0)
        bench_bad("/proc/self/smaps_rollup cannot be read");
    return kilobytes * 1024;
}

double bench_in_child(double (*measure)(void *arg), void *arg)
{
    int ends[2];
    double result = 0;
    if (pipe(ends) != 0) {
        bench_bad("no pipe for a child process");
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        result = measure(arg);
        _exit(bench_is_bad() || write(ends[1], &result, sizeof result) != sizeof result);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &result, sizeof result) != sizeof result)
        bench_bad("the measurement failed in a child process, or no child could be started");
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return result;
}
