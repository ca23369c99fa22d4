/* SPDX-License-Identifier: MIT
 *
 * Steps without barriers.
 */
#include "stencil.h"

STENCIL_WORKS(thrum_run_pipelined)
