/* SPDX-License-Identifier: MIT
 *
 * Who posts looks for sleepers before the post can be seen.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m200000
 */
#define LOOKS_FIRST
#include "domains.pml"
