/* SPDX-License-Identifier: MIT
 *
 * Who goes to sleep does not look a last time.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_LAST_LOOK
#include "sleep.pml"
