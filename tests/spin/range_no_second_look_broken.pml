/* SPDX-License-Identifier: MIT
 *
 * A thief does not look at front again: it takes numbers that the owner has taken meanwhile.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define NEVER_LOOKS_AGAIN
#include "range.pml"
