/* SPDX-License-Identifier: MIT
 *
 * The favourite does not look again once it has said that it is inside.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_SECOND_LOOK
#include "favour.pml"
