/* SPDX-License-Identifier: MIT
 *
 * Whoever ends the lease does not look whether the lessee is inside.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=900
 * run: -m1000000
 */
#define WITHOUT_LOOKING
#include "lease.pml"
