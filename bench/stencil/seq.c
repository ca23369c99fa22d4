/* SPDX-License-Identifier: MIT
 *
 * What steps without barriers are compared with: thrum itself, with a barrier behind each step.
 */
#include "stencil.h"

STENCIL_WORKS(thrum_run_n)
