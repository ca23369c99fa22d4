/* SPDX-License-Identifier: MIT
 *
 * Anybody may become the favourite: one who comes back late says that nobody is inside, and somebody is.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define MANY_OWNERS
#include "favour.pml"
