/* SPDX-License-Identifier: MIT
 *
 * Who ends dozing looks for work without the heavy barrier.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WITHOUT_DOZE_BARRIER
#include "doze.pml"
