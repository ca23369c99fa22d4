/* SPDX-License-Identifier: MIT */
#include "sched/auto.h"

#include <stdbool.h>
#include <string.h>

/* In the order in which they are tried. What they stand for: blocks of one's own with stealing; halves; no overhead at
 * all; measured speeds; the finest grain. */
static const thrum_technique rules[THRUM__AUTO_RULES] = {THRUM_STEAL, THRUM_FAC2, THRUM_STAT, THRUM_AWF_C, THRUM_SS};

enum { TRIES = THRUM__AUTO_TRIES, AGAIN_AFTER = 32 };
/* A rule is tried once, and again while it is within so many times what the best one took. */
static const double hopeful[TRIES] = {0, 1.25, 1.1};
/* A change of the load: so much more or less than usual, so many times in a row; or less than that, more often. */
static const double STRANGE = 1.1, ODD = 1.05;
enum { STRANGE_ENOUGH = 3, ODD_ENOUGH = 6 };

static double least_time(const thrum__auto *choice)
{
    double least = 0;
    for (int i = 0; i < THRUM__AUTO_RULES; i++)
        if (choice->tries[i] && (least == 0 || choice->times[i][0] < least))
            least = choice->times[i][0];
    return least;
}

/* The next rule to try: one that has not been tried yet, or too little for how good it seems. -1: all done. */
static int next_try(const thrum__auto *choice)
{
    double least = least_time(choice);
    for (int round = 0; round < TRIES; round++)
        for (int i = 0; i < THRUM__AUTO_RULES; i++)
            if (choice->tries[i] == round && (round == 0 || choice->times[i][0] <= hopeful[round] * least))
                return i;
    return -1;
}

/* Of the rules that have been tried often enough. Not by their best times: where times vary from one execution to the
 * next, all have good ones. */
static int fastest(const thrum__auto *choice)
{
    int best = -1;
    for (int i = 0; i < THRUM__AUTO_RULES; i++)
        if (choice->tries[i] == TRIES && (best < 0 || choice->times[i][TRIES / 2] < choice->times[best][TRIES / 2]))
            best = i;
    return best < 0 ? 0 : best;
}

/* Of the rules that are not kept, each in its turn. */
static int another_chance(const thrum__auto *choice)
{
    uint32_t turn = choice->executions / AGAIN_AFTER % (THRUM__AUTO_RULES - 1);
    return (int)((choice->kept + 1 + turn) % THRUM__AUTO_RULES);
}

thrum_technique thrum__auto_pick(const thrum__auto *choice)
{
    int next = next_try(choice);
    if (next < 0 && choice->executions % AGAIN_AFTER == AGAIN_AFTER - 1)
        next = another_chance(choice);
    return rules[next < 0 ? choice->kept : next];
}

static int index_of(thrum_technique technique)
{
    for (int i = 0; i < THRUM__AUTO_RULES; i++)
        if (rules[i] == technique)
            return i;
    return -1;
}

static void keep(thrum__auto *choice, int rule)
{
    choice->kept = (uint8_t)rule;
    choice->usual = 0;
    choice->known = 0;
    choice->strange = 0;
    choice->odd = 0;
    choice->executions = 0;
}

/* Puts one more time among `count` that go from the shortest on. */
static void insert(double *times, int count, double time)
{
    for (; count > 0 && times[count - 1] > time; count--)
        times[count] = times[count - 1];
    times[count] = time;
}

/* The best of its tries is not what the kept rule mostly takes, and a single execution may be slow for any reason: what
 * is usual is the median of the first ones. */
static void get_to_know(thrum__auto *choice, double time)
{
    double *first = choice->first;
    insert(first, choice->known, time);
    int known = ++choice->known;
    choice->usual = (first[(known - 1) / 2] + first[known / 2]) / 2;
}

/* The kept rule has taken `time`: whether that shows that the load has changed. What is usual follows slowly. */
static int has_changed(thrum__auto *choice, double time)
{
    if (choice->known < THRUM__AUTO_FIRST) {
        get_to_know(choice, time);
        return 0;
    }
    int direction = time > ODD * choice->usual ? 1 : time * ODD < choice->usual ? -1 : 0;
    bool strange = time > STRANGE * choice->usual || time * STRANGE < choice->usual;
    if (direction != choice->direction)
        choice->odd = choice->strange = 0;
    choice->direction = (int8_t)direction;
    choice->odd += direction != 0;
    choice->strange = strange ? choice->strange + 1 : 0;
    if (!direction)
        choice->usual += (time - choice->usual) / 8;
    return choice->strange >= STRANGE_ENOUGH || choice->odd >= ODD_ENOUGH;
}

void thrum__auto_learn(thrum__auto *choice, thrum_technique technique, double time)
{
    int rule = index_of(technique);
    if (rule < 0 || !(time > 0))
        return;
    if (next_try(choice) >= 0) {
        if (choice->tries[rule] < TRIES)
            insert(choice->times[rule], choice->tries[rule]++, time);
        if (next_try(choice) < 0)
            keep(choice, fastest(choice));
        return;
    }
    choice->executions++;
    if (rule != choice->kept) {
        if (time < choice->times[choice->kept][0]) {
            choice->times[rule][0] = time;
            keep(choice, rule);
        }
    } else if (has_changed(choice, time)) {
        memset(choice, 0, sizeof *choice);
    }
}
