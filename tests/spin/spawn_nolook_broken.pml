/* SPDX-License-Identifier: MIT
 *
 * The thief does not look at bottom again after its claim: it advances bottom past older children.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define NO_SECOND_LOOK
#include "spawn.pml"
