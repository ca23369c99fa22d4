/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <thrum/thrum.h>

#include <stdio.h>

const char *bench_about(void)
{
    static char text[128];
    snprintf(text, sizeof text, "thrum %s, compiler %s", thrum_version(), __VERSION__);
    return text;
}
