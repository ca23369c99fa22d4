/* SPDX-License-Identifier: MIT
 *
 * An empty job that waits to be ended holds no strand. See stream.pml.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define LISTED_WITHOUT_STRAND
#include "stream.pml"
