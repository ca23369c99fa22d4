/* SPDX-License-Identifier: MIT
 *
 * The thief looks for the owner's WAITING bit before it settles the place, not in the same step: the owner sleeps on.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WAITING_LOST
#include "spawn.pml"
