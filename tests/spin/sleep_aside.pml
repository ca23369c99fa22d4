/* SPDX-License-Identifier: MIT
 *
 * The guest pushes while all places are taken, so it wakes nobody, and then lends its own place: see sleep.pml.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define PARKS
#define WORKERS 2
#define LIMIT 2
#include "sleep.pml"
