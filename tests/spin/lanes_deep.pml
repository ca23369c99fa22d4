/* SPDX-License-Identifier: MIT
 *
 * The same as lanes.pml with a depth of three.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define K 3
#define ITERATIONS 5
#define EDGES 2
#include "lanes.pml"
