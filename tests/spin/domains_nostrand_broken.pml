/* SPDX-License-Identifier: MIT
 *
 * A post keeps no strand: the run may end while something of it is posted.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m200000
 */
#define WITHOUT_STRAND
#include "domains.pml"
