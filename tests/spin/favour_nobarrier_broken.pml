/* SPDX-License-Identifier: MIT
 *
 * Whoever takes the favour away passes no barrier: that the favourite is inside still is in a store buffer.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_BARRIER
#include "favour.pml"
