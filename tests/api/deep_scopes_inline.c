/* SPDX-License-Identifier: MIT
 *
 * The tests of deep_scopes.c once more, with the header's inline functions in place of calls into the library.
 */
#define THRUM_INLINE
#include "deep_scopes.c"
