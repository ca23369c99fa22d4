/* SPDX-License-Identifier: MIT */
#include "device/drivers.h"

static const thrum_driver *const drivers[] = {&thrum__emu_driver};

const thrum_driver *thrum_driver_at(int number)
{
    return number >= 0 && number < (int)(sizeof drivers / sizeof drivers[0]) ? drivers[number] : NULL;
}
