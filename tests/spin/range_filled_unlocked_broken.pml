/* SPDX-License-Identifier: MIT
 *
 * The owner fills its range without the lock: a thief sees the front of one filling and the back of another.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define FILLS_UNLOCKED
#include "range.pml"
