/* SPDX-License-Identifier: MIT
 *
 * A lender that saw the sitter away takes its place back without looking again.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TAKES_ANYWAY
#include "seat.pml"
