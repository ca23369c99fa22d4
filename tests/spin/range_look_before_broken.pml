/* SPDX-License-Identifier: MIT
 *
 * The owner looks at back before it raises front: it misses a thief that has lowered it since.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define LOOKS_BEFORE
#include "range.pml"
