/* SPDX-License-Identifier: MIT */
#include "model/arch.h"

#include <string.h>

const char *thrum__arch_name(enum thrum_arch arch)
{
    static const char *const names[THRUM_ARCHS] = {[THRUM_ARCH_CPU] = "cpu", [THRUM_ARCH_EMU] = "emu"};
    return names[arch];
}

int thrum__arch_named(const char *name)
{
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (strcmp(name, thrum__arch_name((enum thrum_arch)arch)) == 0)
            return arch;
    return -1;
}
