/* SPDX-License-Identifier: MIT
 *
 * Who ends dozing does not look for work once more.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_LAST_LOOK
#include "doze.pml"
