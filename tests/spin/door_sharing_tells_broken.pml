/* SPDX-License-Identifier: MIT
 *
 * An owner that comes back in the middle of a raid finds its run shared and lowers strands before the raider has set them:
 * the run never ends.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define TASKS 3
#define SHARING_TELLS
#include "door.pml"
