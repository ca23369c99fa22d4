/* SPDX-License-Identifier: MIT
 *
 * The owner settles what it has without the lock: a thief may be about to put numbers back.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define SETTLES_UNLOCKED
#include "range.pml"
