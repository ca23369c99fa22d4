/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <stdio.h>

#if defined(__clang__)
#define LIBRARY "libomp"
#else
#define LIBRARY "libgomp"
#endif

/* Neither library tells its version: it is that of the compiler that brings it. */
const char *bench_about(void)
{
    static char text[128];
    snprintf(text, sizeof text, LIBRARY ", OpenMP %d, compiler %s", _OPENMP, __VERSION__);
    return text;
}
