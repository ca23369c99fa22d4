/* SPDX-License-Identifier: MIT
 *
 * The tests of detaching.c once more, with the header's inline functions in place of calls into the library.
 */
#define THRUM_INLINE
#include "detaching.c"
