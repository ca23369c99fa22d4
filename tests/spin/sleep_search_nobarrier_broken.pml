/* SPDX-License-Identifier: MIT
 *
 * The last searcher that finds work looks for more without a heavy barrier: it misses a push that saw it searching and
 * still is in a store buffer. Sleepers sleep on, and the task waits until somebody has finished a long one.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_SEARCH_BARRIER
#include "sleep.pml"
