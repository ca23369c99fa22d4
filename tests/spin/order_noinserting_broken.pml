/* SPDX-License-Identifier: MIT
 *
 * A job counts its edges one by one, from zero on. See order.pml.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define NO_INSERTING
#include "order.pml"
