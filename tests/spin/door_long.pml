/* SPDX-License-Identifier: MIT
 *
 * One thief and a longer deque: see door.pml.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 5
#define THIEVES 1
#include "door.pml"
