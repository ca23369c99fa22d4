/* SPDX-License-Identifier: MIT
 *
 * Whoever gives up because the lessee is inside forgets the lease; the next one takes the place for free.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=900
 * run: -m1000000
 */
#define FORGETS
#include "lease.pml"
