/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <oneapi/tbb/version.h>

#include <cstdio>

const char *bench_about(void)
{
    static char text[128];
    std::snprintf(text, sizeof text, "oneTBB %s, compiler %s", TBB_runtime_version(), __VERSION__);
    return text;
}
