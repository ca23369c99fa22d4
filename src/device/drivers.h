/* SPDX-License-Identifier: MIT
 *
 * The drivers of this build. To add one, declare it here and add it to the table in drivers.c.
 */
#ifndef THRUM_DEVICE_DRIVERS_H
#define THRUM_DEVICE_DRIVERS_H

#include <thrum/device.h>

extern const thrum_driver thrum__emu_driver;

#endif
