/* SPDX-License-Identifier: MIT
 *
 * A raider passes no heavy barrier: it misses what the owner is at, which still is in a store buffer.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 3
#define WITHOUT_BARRIER
#include "door.pml"
