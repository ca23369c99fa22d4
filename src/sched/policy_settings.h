/* SPDX-License-Identifier: MIT
 *
 * Settings of policies: what stands behind a policy's name, "key=value;key=value".
 */
#ifndef THRUM_SCHED_POLICY_SETTINGS_H
#define THRUM_SCHED_POLICY_SETTINGS_H

#include <thrum/policy.h>

#include "model/arch.h"

/* All keys are in the policy's table and none comes twice: 0 or THRUM_EOPTION with a sentence. */
int thrum__policy_settings_check(const thrum_policy *policy, const char *settings);

/* The settings in the text of a policy: what follows its first semicolon, or "". */
const char *thrum__policy_settings_of(const char *text);

/* A decimal number from `least` (not negative) to `most`: 0 or THRUM_EOPTION with a sentence that names the key; then
 * nothing is written. */
int thrum__setting_number(const char *key, const char *value, double least, double most, double *number);

#endif
