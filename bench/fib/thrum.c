/* SPDX-License-Identifier: MIT */
#define FIB_WORK "fib"
#include "thrum_fib.h"
