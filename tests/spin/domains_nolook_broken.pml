/* SPDX-License-Identifier: MIT
 *
 * Who goes to sleep does not look a last time whether something has been posted.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m200000
 */
#define WITHOUT_LAST_LOOK
#include "domains.pml"
