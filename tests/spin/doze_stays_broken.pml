/* SPDX-License-Identifier: MIT
 *
 * Who sleeps in earnest still counts as dozing.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define STAYS_DOZING
#include "doze.pml"
