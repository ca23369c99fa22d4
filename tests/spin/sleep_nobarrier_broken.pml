/* SPDX-License-Identifier: MIT
 *
 * Who goes to sleep passes no heavy barrier: its last look misses a push that still is in a store buffer.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_SLEEP_BARRIER
#include "sleep.pml"
