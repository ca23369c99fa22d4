/* SPDX-License-Identifier: MIT
 *
 * Events: tasks that are complete when something outside has happened.
 *
 * Three alarms are set, each by an event task; the tasks behind them run when their alarm goes off, and the last one
 * when all have. One source tells of all of them. Meanwhile the workers are free, and the processor is idle.
 */
#define _GNU_SOURCE
#include <thrum/thrum.h>

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { ALARMS = 3 };

struct alarm_clock {
    const char *name;
    int milliseconds, fd;
    _Atomic bool set;
    thrum_event event;
};

static struct alarm_clock clocks[ALARMS] = {{.name = "late", .milliseconds = 90},
                                            {.name = "early", .milliseconds = 30},
                                            {.name = "in between", .milliseconds = 60}};
static int bell; /* an eventfd by which a wait is ended */

/* The event task: starts what is to happen, and returns. */
static void set_alarm(thrum_event event, void *arg)
{
    struct alarm_clock *clock = arg;
    struct itimerspec when = {.it_value = {.tv_nsec = clock->milliseconds * 1000000L}};
    clock->event = event;
    clock->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    timerfd_settime(clock->fd, 0, &when, NULL);
    clock->set = true;
    eventfd_write(bell, 1); /* a wait that is under way does not know of this alarm */
}

/* The source: looks which alarms have gone off. */
static int wait_for_alarms(void *ctx, int64_t ns)
{
    struct pollfd fds[1 + ALARMS] = {{.fd = bell, .events = POLLIN}};
    int released = 0;
    (void)ctx;
    for (int i = 0; i < ALARMS; i++)
        fds[i + 1] = (struct pollfd){.fd = clocks[i].set ? clocks[i].fd : -1, .events = POLLIN};
    poll(fds, 1 + ALARMS, (int)(ns / 1000000));
    if (fds[0].revents) {
        eventfd_t count;
        eventfd_read(bell, &count);
    }
    for (int i = 0; i < ALARMS; i++)
        if (fds[i + 1].revents) {
            clocks[i].set = false;
            close(clocks[i].fd);
            thrum_event_release(clocks[i].event);
            released++;
        }
    return released;
}

static int look_for_alarms(void *ctx)
{
    return wait_for_alarms(ctx, 0);
}

static void end_wait(void *ctx)
{
    (void)ctx;
    eventfd_write(bell, 1);
}

static void ring(void *arg)
{
    const struct alarm_clock *clock = arg;
    printf("%s: %d ms\n", clock->name, clock->milliseconds);
}

static void get_up(void *arg)
{
    (void)arg;
    puts("time to get up");
}

int main(void)
{
    bell = eventfd(0, EFD_NONBLOCK);
    thrum_source *source = thrum_source_add(
        NULL, &(thrum_source_config){.poll = look_for_alarms, .wait = wait_for_alarms, .wake = end_wait});
    thrum_graph *g = thrum_graph_new("morning");
    thrum_task *last = thrum_task_new(g, get_up, NULL);
    for (int i = 0; i < ALARMS; i++) {
        thrum_task *set = thrum_event_task_new(g, set_alarm, &clocks[i]), *rings = thrum_task_new(g, ring, &clocks[i]);
        thrum_precede(set, rings);
        thrum_precede(rings, last);
    }
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "events: %s\n", thrum_message(g));
    thrum_source_remove(source);
    thrum_graph_free(g);
    close(bell);
    return err != 0;
}
