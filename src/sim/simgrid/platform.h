/* SPDX-License-Identifier: MIT
 *
 * What SimGrid offers to C++ only: its engine without a command line, and platforms that are built and not read from
 * XML.
 */
#ifndef THRUM_SIM_SIMGRID_PLATFORM_H
#define THRUM_SIM_SIMGRID_PLATFORM_H

#include "sim/simgrid.h"

#include <simgrid/forward.h>

THRUM_BEGIN_C

/* SimGrid's engine, for the rest of the process, which has no other. Actors have stacks of so many KiB. */
void thrum__platform_open(int stack_kib);

/* What stands for a speed of 0. */
#define THRUM__NO_SPEED 1e-290

/* The hosts of a loop: hosts[i] is worker i's, hosts[p] the master's. `changed` is called when a host has another
 * speed. */
void thrum__platform_build(const thrum__simgrid_job *job, sg_host_t *hosts, void (*changed)(const_sg_host_t host));

/* Events are scheduled for dates up to this one: how exactly the clock is to be kept follows from it. */
void thrum__platform_reach(double date);

THRUM_END_C

#endif
