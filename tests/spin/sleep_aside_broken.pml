/* SPDX-License-Identifier: MIT
 *
 * Who lends its place does not look whether somebody should take it.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define PARKS
#define WORKERS 2
#define LIMIT 2
#define WITHOUT_LOOK_ASIDE
#include "sleep.pml"
