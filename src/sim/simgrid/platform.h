/* SPDX-License-Identifier: MIT
 *
 * What SimGrid offers to C++ only: its engine without a command line, and platforms that are built and not read from XML.
 */
#ifndef THRUM_SIM_SIMGRID_PLATFORM_H
#define THRUM_SIM_SIMGRID_PLATFORM_H

#include "sim/simgrid.h"

#include <simgrid/forward.h>

THRUM_BEGIN_C

/* The engine and the hosts: hosts[i] is worker i's, hosts[p] the master's. */
void thrum__platform_build(const thrum__simgrid_job *job, sg_host_t *hosts);

/* The largest date that the clock will go to is at least this. */
void thrum__platform_reach(double date);

THRUM_END_C

#endif
