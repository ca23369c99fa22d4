/* SPDX-License-Identifier: MIT
 *
 * A job that waits for another flow's holds no strand. See stream.pml.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define FOREIGN_WITHOUT_STRAND
#include "stream.pml"
