/* SPDX-License-Identifier: MIT
 *
 * Handing over stops at a task that needs tokens of another semaphore too, and moves there.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define PASSING
#define TASKS 4
#define STOPS_AFTER_MOVE
#include "semaphore.pml"
