/* SPDX-License-Identifier: MIT
 *
 * Whoever ends the lease passes no barrier, and may not see that the lessee is inside.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=900
 * run: -m1000000
 */
#define WITHOUT_BARRIER
#include "lease.pml"
