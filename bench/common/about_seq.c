/* SPDX-License-Identifier: MIT */
#include "runner.h"

const char *bench_about(void)
{
    return "sequential, compiler " __VERSION__;
}
