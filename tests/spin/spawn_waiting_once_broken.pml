/* SPDX-License-Identifier: MIT
 *
 * The owner sets WAITING once and then parks until the place is settled: when one thief gives the child back and
 * another claims it before the owner looks, nobody knows that the owner waits.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WAITING_SET_ONCE
#include "spawn.pml"
