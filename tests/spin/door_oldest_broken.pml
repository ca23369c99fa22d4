/* SPDX-License-Identifier: MIT
 *
 * An owner that takes back half does not leave to thieves the word that one of them may be about to take.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 6
#define THIEVES 1
#define OLDEST_NOT_LEFT
#include "door.pml"
