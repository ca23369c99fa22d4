/* SPDX-License-Identifier: MIT
 *
 * The life cycle takes a leased place for taken, so nobody is woken for what is posted.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=900
 * run: -m1000000
 */
#define KEEPS_PLACE
#include "lease.pml"
