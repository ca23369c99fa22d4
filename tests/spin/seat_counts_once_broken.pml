/* SPDX-License-Identifier: MIT
 *
 * A lender that is called goes back to work without counting as awake.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define COUNTS_ONCE
#include "seat.pml"
