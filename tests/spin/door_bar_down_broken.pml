/* SPDX-License-Identifier: MIT
 *
 * A raider takes the bar down again: the owner pops what has been shown, and counts in what is shared.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 3
#define BAR_TAKEN_DOWN
#include "door.pml"
