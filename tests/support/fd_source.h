/* SPDX-License-Identifier: MIT
 *
 * A source of events on file descriptors: pipes, timers, anything that poll(2) knows. An event is released when its
 * descriptor can be read.
 */
#ifndef TESTS_SUPPORT_FD_SOURCE_H
#define TESTS_SUPPORT_FD_SOURCE_H

#include "tasks.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { FD_MOST = 64 };

struct fd_source {
    pthread_mutex_t lock;
    struct pollfd fds[FD_MOST + 1]; /* the first is the eventfd by which a wait is ended */
    thrum_event events[FD_MOST + 1];
    int count;
    atomic_int inside, together, polls, waits; /* together: calls that overlapped, which must not be */
};

static inline void fd_source_init(struct fd_source *source)
{
    memset(source, 0, sizeof *source);
    pthread_mutex_init(&source->lock, NULL);
    source->fds[0] = (struct pollfd){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .events = POLLIN};
    source->count = 1;
}

static inline void fd_source_fini(struct fd_source *source)
{
    close(source->fds[0].fd);
    pthread_mutex_destroy(&source->lock);
}

static inline void fd_source_wake(void *ctx)
{
    struct fd_source *source = ctx;
    uint64_t one = 1;
    if (write(source->fds[0].fd, &one, sizeof one) < 0) {
        /* full: a wake is under way */
    }
}

/* The event is released when the descriptor can be read. A wait that is under way does not know of it yet: it is
 * ended. */
static inline void fd_source_expect(struct fd_source *source, int fd, thrum_event event)
{
    pthread_mutex_lock(&source->lock);
    source->fds[source->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    source->events[source->count++] = event;
    pthread_mutex_unlock(&source->lock);
    fd_source_wake(source);
}

static inline int fd_source_look(struct fd_source *source, int64_t ns)
{
    struct pollfd fds[FD_MOST + 1];
    thrum_event ready[FD_MOST];
    int released = 0;
    if (atomic_fetch_add(&source->inside, 1) > 0)
        atomic_fetch_add(&source->together, 1);
    pthread_mutex_lock(&source->lock);
    int count = source->count;
    memcpy(fds, source->fds, (size_t)count * sizeof fds[0]);
    pthread_mutex_unlock(&source->lock);
    if (poll(fds, (nfds_t)count, ns < 0 ? -1 : (int)((ns + 999999) / 1000000)) > 0) {
        uint64_t drained;
        if ((fds[0].revents & POLLIN) && read(fds[0].fd, &drained, sizeof drained) < 0) {
            /* somebody was quicker */
        }
        pthread_mutex_lock(&source->lock);
        for (int i = count - 1; i > 0; i--)
            if (fds[i].revents) {
                ready[released++] = source->events[i];
                source->count--;
                source->fds[i] = source->fds[source->count];
                source->events[i] = source->events[source->count];
            }
        pthread_mutex_unlock(&source->lock);
    }
    atomic_fetch_sub(&source->inside, 1);
    for (int i = 0; i < released; i++)
        thrum_event_release(ready[i]);
    return released;
}

static inline int fd_source_poll(void *ctx)
{
    struct fd_source *source = ctx;
    atomic_fetch_add(&source->polls, 1);
    return fd_source_look(source, 0);
}

static inline int fd_source_wait(void *ctx, int64_t ns)
{
    struct fd_source *source = ctx;
    atomic_fetch_add(&source->waits, 1);
    return fd_source_look(source, ns);
}

static inline thrum_source *fd_source_add(thrum_executor *ex, struct fd_source *source, bool with_wake)
{
    return thrum_source_add(ex, &(thrum_source_config){.poll = fd_source_poll,
                                                       .wait = fd_source_wait,
                                                       .wake = with_wake ? fd_source_wake : NULL,
                                                       .ctx = source});
}

/* A timer that can be read after so many milliseconds. */
static inline int timer_in_ms(int milliseconds)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct itimerspec spec = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000 + 1}};
    timerfd_settime(fd, 0, &spec, NULL);
    return fd;
}

#endif
