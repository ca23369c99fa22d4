/* SPDX-License-Identifier: MIT
 *
 * A thief passes no heavy barrier: it misses that the owner has raised front, which still is in a store buffer.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_BARRIER
#include "range.pml"
