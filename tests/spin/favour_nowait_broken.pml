/* SPDX-License-Identifier: MIT
 *
 * Whoever takes the favour away does not wait until the favourite has left.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_WAITING
#include "favour.pml"
