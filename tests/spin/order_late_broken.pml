/* SPDX-License-Identifier: MIT
 *
 * The next edge is looked up after the arrival. See order.pml.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define EDGE_READ_LATE
#include "order.pml"
