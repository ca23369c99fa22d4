/* SPDX-License-Identifier: MIT
 *
 * One thief and a longer deque: see door.pml.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 5
#define THIEVES 1
#include "door.pml"
