/* SPDX-License-Identifier: MIT */
#define THRUM_INLINE
#define FIB_WORK "fib-inline"
#include "thrum_fib.h"
