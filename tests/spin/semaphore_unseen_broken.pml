/* SPDX-License-Identifier: MIT
 *
 * A task that is about to wait does not look whether it was cancelled meanwhile.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#define HOLDER_WAITS 2
#define TASKS 3
#define WITHOUT_LOOKING
#include "semaphore.pml"
