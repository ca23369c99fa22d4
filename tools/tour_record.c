/* SPDX-License-Identifier: MIT
 *
 * Runs of the tour that are recorded.
 */
#define _POSIX_C_SOURCE 200809L

#include "tour.h"

#include <stdlib.h>
#include <unistd.h>

static int run_recorded(thrum_config config, tour_run_fn *run, void *arg, const char *path)
{
    config.trace = path;
    thrum_executor *ex = thrum_executor_new(&config);
    if (!ex)
        return tour_stop("no executor: %s", thrum_message(NULL));
    int code = run(ex, arg);
    if (thrum_executor_free(ex) != 0)
        code = tour_stop("the trace was not written: %s", thrum_message(NULL));
    return code;
}

int tour_record(const thrum_config *config, tour_run_fn *run, void *arg, struct trace *trace)
{
    const char *folder = getenv("TMPDIR");
    char path[4096], why[600];
    snprintf(path, sizeof path, "%s/thrum-tour-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0)
        return tour_stop("cannot make a temporary file %s", path);
    close(file);
    int code = run_recorded(*config, run, arg, path);
    if (code == 0 && trace_read(path, trace, why, sizeof why) != 0)
        code = tour_stop("%s", why);
    unlink(path);
    return code;
}
