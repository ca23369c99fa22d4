/* SPDX-License-Identifier: MIT
 *
 * What the files of the pipelines share: tokens that are put off until others have passed the first stage.
 *
 * All of it belongs to the first stage, which is serial: one thread at a time is in here, and each after the one
 * before.
 *
 * A token that waits, or is waited for, has a *note*. Tokens that passed have none, so whoever has a number below the
 * next new one and no note has passed, unless it is the one at the stage now.
 */
#ifndef THRUM_FRONT_PIPELINE_INT_H
#define THRUM_FRONT_PIPELINE_INT_H

#include <thrum/pipeline.h>

struct thrum__wait;

enum thrum__note_state {
    THRUM__NOTE_COMING,  /* waited for, and not put off itself: it is at the stage now, or does not exist yet */
    THRUM__NOTE_WAITING, /* put off */
    THRUM__NOTE_FREE,    /* in the queue of those whose turn it is */
    THRUM__NOTE_DROPPED, /* was none: it stopped the pipeline */
};

typedef struct thrum__note {
    uint64_t token;
    enum thrum__note_state state;
    uint32_t deferrals;
    uint64_t missing;                  /* how many waits it has under way */
    struct thrum__wait *first, **last; /* who waits for it, in the order in which they began to */
    struct thrum__note *next_in_bucket;
    struct thrum__note *next_free; /* in the queue */
    uint64_t walk;                 /* the number of the last walk that came by */
    struct thrum__note *next_in_walk;
} thrum__note;

typedef struct thrum__deferrals {
    thrum__note **buckets; /* by token; `bucket_count` is a power of two, or 0 */
    size_t bucket_count, notes;
    size_t waiting; /* notes in that state */
    thrum__note *free_first, **free_last;
    uint64_t walks;
} thrum__deferrals;

/* Empties it; what is all zero is empty too. */
void thrum__deferrals_clear(thrum__deferrals *d);

/* `token`, which is at the first stage, waits for `other`; tokens from `next` on do not exist yet. 1: it does; 0: that
 * one has passed; THRUM_ECYCLE: `other` waits for it; THRUM_ENOMEM. */
int thrum__deferrals_add(thrum__deferrals *d, uint64_t token, uint64_t other, uint64_t next);

/* The token has passed: those that waited for nothing else are free. */
void thrum__deferrals_passed(thrum__deferrals *d, uint64_t token);

/* The token is none: who waits for it will wait in vain. THRUM_ENOMEM or 0. */
int thrum__deferrals_dropped(thrum__deferrals *d, uint64_t token);

/* The next of those that are free, and how often it has been put off; false if there is none. */
bool thrum__deferrals_take(thrum__deferrals *d, uint64_t *token, uint32_t *deferrals);

/* Among those who wait for a token that never came, the one with the lowest number; with what it waits for. */
bool thrum__deferrals_in_vain(const thrum__deferrals *d, uint64_t *token, uint64_t *other);

#endif
