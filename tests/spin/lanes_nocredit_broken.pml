/* SPDX-License-Identifier: MIT
 *
 * Tasks do not wait for credits: one runs ahead, and arrives at a slot that still counts for another firing.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define NO_CREDITS
#include "lanes.pml"
