/* SPDX-License-Identifier: MIT
 *
 * Which rule a loop should go by, learned from executing it again and again: THRUM_AUTO. No clock and no threads.
 *
 * All rules of a short list are tried, then those that are not clearly worse twice more; of those the one with
 * the least median is kept. While it is kept,
 * its times are watched: when three in a row lie on one side of what they were by a tenth or more, or six by a
 * twentieth, the load has changed, and all rules are tried again. A rule whose chance was spoilt by something else on
 * the machine gets another one now and then.
 *
 * What it costs: five executions by rules that may be bad, fifteen at most until the choice stands, and one in 32 from
 * then on.
 */
#ifndef THRUM_SCHED_AUTO_H
#define THRUM_SCHED_AUTO_H

#include <thrum/schedule.h>

enum { THRUM__AUTO_RULES = 5, THRUM__AUTO_TRIES = 3, THRUM__AUTO_FIRST = 4 };

typedef struct thrum__auto {
    double times[THRUM__AUTO_RULES][THRUM__AUTO_TRIES]; /* of each rule's tries, from the shortest on */
    uint8_t tries[THRUM__AUTO_RULES];
    uint8_t kept;                    /* the rule in use, once all have been tried */
    uint8_t strange;                 /* executions in a row that took another time than the kept rule should */
    uint8_t odd;                     /* the same, less so */
    int8_t direction;                /* of those: 1 longer, -1 shorter */
    uint8_t known;                   /* how many of the times below there are */
    uint32_t executions;             /* since it is kept */
    double first[THRUM__AUTO_FIRST]; /* what the kept rule took in its first executions, from the shortest on */
    double usual;                    /* and what it takes since */
} thrum__auto;

/* The rule for the next execution. `choice` is 0 throughout at first. */
thrum_technique thrum__auto_pick(const thrum__auto *choice);

/* An execution by `technique`, which thrum__auto_pick gave, has taken `time` for each iteration. Several executions may
 * be under way at once. */
void thrum__auto_learn(thrum__auto *choice, thrum_technique technique, double time);

#endif
