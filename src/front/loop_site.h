/* SPDX-License-Identifier: MIT
 *
 * What is known of a loop from its earlier executions: the mean and deviation of an iteration's time, the cost of
 * handing out a chunk, the workers' speeds (AWF), and which rule is the fastest (AUTO).
 *
 * A *site* is one loop: a place in the source or a name, a body, and a number of workers. Sites are made when they are
 * first asked for and kept until the process ends. Any thread may ask and tell; each site has a lock.
 */
#ifndef THRUM_FRONT_LOOP_SITE_H
#define THRUM_FRONT_LOOP_SITE_H

#include <thrum/loop.h>

#include <stdbool.h>

typedef struct thrum__site thrum__site;

/* What one execution, or one worker's part of it, has shown. Times in seconds. */
typedef struct thrum__measured {
    uint64_t chunks, iterations;
    double time; /* in bodies */
    double cost; /* between bodies: handing out and looking at the clock */
    /* The same of pieces of chunks, whose length is right to say something of the deviation. */
    uint64_t pieces, piece_iterations;
    double piece_time;
    double piece_squares; /* sum over pieces of time^2/iterations */
} thrum__measured;

void thrum__measured_add(thrum__measured *sum, const thrum__measured *more);

/* The loop's site; NULL if there are too many or no memory is left: nothing is known and nothing is kept then. */
thrum__site *thrum__site_of(const thrum_loop *loop, uint32_t workers);

/* Sets mean, deviation and cost. False: nothing has been measured yet. */
bool thrum__site_facts(thrum__site *site, thrum_loop_facts *facts);

/* AWF: the weights so far, p of them. */
void thrum__site_weights(thrum__site *site, double *weights);

/* AUTO: the rule for the next execution. */
thrum_technique thrum__site_pick(thrum__site *site);

/* The loop has been executed once: all measurements together, and if `parts` is not NULL those of each worker. */
void thrum__site_learn(thrum__site *site, const thrum__measured *all, const thrum__measured *parts);
/* An execution by a rule that was picked has taken so much for each iteration. */
void thrum__site_learn_time(thrum__site *site, thrum_technique picked, double time);

#endif
