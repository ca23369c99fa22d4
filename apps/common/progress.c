/* SPDX-License-Identifier: MIT
 *
 * How far a run is: a thread looks now and then at what the executor has counted, and the run itself is not disturbed.
 */
#include "measure.h"

#include "tools/common.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct app_progress {
    const struct app *app;
    const thrum_executor *ex;
    uint64_t before;
    double begun;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended; /* with the lock */
};

static uint64_t tasks_so_far(const struct app *app, const thrum_executor *ex)
{
    struct app_counts counts;
    uint64_t tasks = app_counts_take(&counts, ex, app_setup_steals(app->setup)) ? app_counts_tasks(&counts) : 0;
    app_counts_drop(&counts);
    return tasks;
}

static void show(const struct app_progress *progress)
{
    char text[80];
    double seconds = tool_now() - progress->begun;
    uint64_t done = tasks_so_far(progress->app, progress->ex) - progress->before;
    if (done && progress->app->tasks)
        snprintf(text, sizeof text, "%s: %" PRIu64 " of %" PRIu64 " tasks, %.0f s", progress->app->verb, done,
                 progress->app->tasks, seconds);
    else
        snprintf(text, sizeof text, "%s: %.0f s", progress->app->verb, seconds);
    fprintf(stderr, "\r%-79s", text);
}

static void *watch(void *arg)
{
    struct app_progress *progress = arg;
    bool shown = false;
    pthread_mutex_lock(&progress->lock);
    while (!progress->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += shown ? 1 : 2;
        if (pthread_cond_timedwait(&progress->changed, &progress->lock, &until) != 0 && !progress->ended) {
            show(progress);
            shown = true;
        }
    }
    pthread_mutex_unlock(&progress->lock);
    if (shown)
        fprintf(stderr, "\r%79s\r", "");
    return NULL;
}

struct app_progress *app_progress_begin(const struct app *app, const thrum_executor *ex)
{
    struct app_progress *progress = isatty(STDERR_FILENO) ? calloc(1, sizeof *progress) : NULL;
    if (!progress)
        return NULL;
    progress->app = app;
    progress->ex = ex;
    progress->before = tasks_so_far(app, ex);
    progress->begun = tool_now();
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->changed, NULL);
    if (pthread_create(&progress->thread, NULL, watch, progress) == 0)
        return progress;
    free(progress);
    return NULL;
}

void app_progress_end(struct app_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
}
