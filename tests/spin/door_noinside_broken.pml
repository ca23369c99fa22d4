/* SPDX-License-Identifier: MIT
 *
 * A raider does not look whether the owner is inside: a count of the owner's and one of a thief's become one.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 3
#define WITHOUT_INSIDE
#include "door.pml"
