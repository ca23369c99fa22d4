/* SPDX-License-Identifier: MIT
 *
 * A log that many threads write and one reads afterwards: what happened, in which thread, in which order.
 *
 * A writer takes a ticket, which is the event's place in the log. The ticket is relaxed on purpose: it makes no order
 * between the threads that thrum did not make, so that ThreadSanitizer still sees an order that is missing. And it is
 * enough: if one event happened before another, its ticket is smaller, since tickets all come from one variable.
 * Events behind the log's capacity are counted but not kept.
 */
#ifndef TESTS_SUPPORT_EVENT_LOG_H
#define TESTS_SUPPORT_EVENT_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct event {
    int kind; /* the test's own */
    uint32_t thread;
    int64_t subject; /* the test's own */
};

struct event_log {
    struct event *events;
    size_t capacity;
    atomic_size_t next; /* the next ticket */
};

static inline bool event_log_open(struct event_log *log, size_t capacity)
{
    log->events = malloc((capacity ? capacity : 1) * sizeof *log->events);
    log->capacity = log->events ? capacity : 0;
    atomic_init(&log->next, 0);
    return log->events != NULL;
}

static inline void event_log_close(struct event_log *log)
{
    free(log->events);
    log->events = NULL;
    log->capacity = 0;
}

/* Small numbers for threads, from 0, in the order in which they first write to any log. */
static inline uint32_t event_thread(void)
{
    static atomic_uint threads;
    static _Thread_local uint32_t mine = UINT32_MAX;
    if (mine == UINT32_MAX)
        mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    return mine;
}

static inline void event_log_add(struct event_log *log, int kind, int64_t subject)
{
    size_t ticket = atomic_fetch_add_explicit(&log->next, 1, memory_order_relaxed);
    if (ticket < log->capacity)
        log->events[ticket] = (struct event){.kind = kind, .thread = event_thread(), .subject = subject};
}

/* For the reader, when all writers have ended. */
static inline size_t event_log_length(const struct event_log *log)
{
    size_t written = atomic_load_explicit(&log->next, memory_order_relaxed);
    return written < log->capacity ? written : log->capacity;
}

static inline bool event_log_overflowed(const struct event_log *log)
{
    return atomic_load_explicit(&log->next, memory_order_relaxed) > log->capacity;
}

static inline void event_log_clear(struct event_log *log)
{
    atomic_store_explicit(&log->next, 0, memory_order_relaxed);
}

/* The place of the first event of this kind and subject, or -1. */
static inline int64_t event_log_find(const struct event_log *log, int kind, int64_t subject)
{
    size_t length = event_log_length(log);
    for (size_t i = 0; i < length; i++)
        if (log->events[i].kind == kind && log->events[i].subject == subject)
            return (int64_t)i;
    return -1;
}

#endif
