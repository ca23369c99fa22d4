/* SPDX-License-Identifier: MIT
 *
 * One holds a token and waits for all others; a task that needs more than is left is cancelled: see semaphore.pml.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define TASKS 3
#include "semaphore.pml"
