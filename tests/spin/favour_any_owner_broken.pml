/* SPDX-License-Identifier: MIT
 *
 * Any thread may become the favourite: one that was it before says that nobody is inside, while the other is.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define ANY_OWNER
#include "favour.pml"
