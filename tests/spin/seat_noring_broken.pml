/* SPDX-License-Identifier: MIT
 *
 * Who gives the seat back does not ring.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_RING
#include "seat.pml"
