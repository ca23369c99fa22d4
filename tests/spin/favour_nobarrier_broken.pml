/* SPDX-License-Identifier: MIT
 *
 * Whoever takes the favour away does not pass the heavy barrier.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_BARRIER
#include "favour.pml"
