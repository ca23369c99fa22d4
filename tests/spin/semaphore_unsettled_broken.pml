/* SPDX-License-Identifier: MIT
 *
 * Whoever takes a cancelled task out of a line does not look at those behind it.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define TASKS 3
#define WITHOUT_SETTLING
#include "semaphore.pml"
