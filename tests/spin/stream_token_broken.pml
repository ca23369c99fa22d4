/* SPDX-License-Identifier: MIT
 *
 * The token is given back before the deque has been drained. See stream.pml.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define TOKEN_EARLY
#include "stream.pml"
