/* SPDX-License-Identifier: MIT
 *
 * A thief that came too late does not put back what it found: the numbers are lost.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define KEEPS_IT_BACK
#include "range.pml"
