/* SPDX-License-Identifier: MIT
 *
 * The canceller lets others go on between two lines, and a task moves to one that it has looked at already.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define TASKS 3
#define LETS_GO_BETWEEN
#include "semaphore.pml"
