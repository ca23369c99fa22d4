/* SPDX-License-Identifier: MIT
 *
 * A worker that makes way does not look whether there is work.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define LENDER_LOOKS_NOT
#include "lend.pml"
