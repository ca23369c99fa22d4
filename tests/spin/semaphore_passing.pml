/* SPDX-License-Identifier: MIT
 *
 * The first in line needs a token that somebody keeps who waits for the one behind: see semaphore.pml.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define PASSING
#define TASKS 4
#include "semaphore.pml"
