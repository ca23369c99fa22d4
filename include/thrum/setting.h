/* SPDX-License-Identifier: MIT
 *
 * Settings of devices and policies, "key=value;key=value", as `thrum info` lists them.
 */
#ifndef THRUM_SETTING_H
#define THRUM_SETTING_H

#include <thrum/version.h>

THRUM_BEGIN_C

/* Something that a device can be told when it is opened, or a policy when it begins. */
typedef struct thrum_setting {
    const char *key, *initial, *range, *help; /* texts; never NULL but for the key that ends a table */
} thrum_setting;

THRUM_END_C

#endif
