/* SPDX-License-Identifier: MIT
 *
 * The owner looks at the bar before it lowers bottom.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 3
#define LOOK_BEFORE
#include "door.pml"
