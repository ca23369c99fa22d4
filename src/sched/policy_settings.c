/* SPDX-License-Identifier: MIT */
#include "sched/policy_settings.h"

#include "base/device_list.h"
#include "base/fault.h"

#include <stdio.h>
#include <string.h>

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* "order.ARCH" in the table stands for all that begins with "order.". */
static bool fits(const char *listed, const char *key)
{
    const char *point = strchr(listed, '.');
    if (!point || !is_capital(point[1]))
        return strcmp(listed, key) == 0;
    return strncmp(listed, key, (size_t)(point + 1 - listed)) == 0;
}

static int unknown_key(const thrum_policy *policy, const char *key)
{
    char keys[300] = "";
    for (const thrum_setting *s = policy->settings; s && s->key; s++) {
        size_t used = strlen(keys);
        snprintf(keys + used, sizeof keys - used, ", %s", s->key);
    }
    if (!*keys)
        return thrum__fault(THRUM_EOPTION, "the policy '%s' has no settings, but '%s' is given", policy->name, key);
    return thrum__fault(THRUM_EOPTION, "the policy '%s' has no setting '%s'; it has: %s", policy->name, key, keys + 2);
}

static bool is_known(const thrum_policy *policy, const char *key)
{
    for (const thrum_setting *s = policy->settings; s && s->key; s++)
        if (fits(s->key, key))
            return true;
    return false;
}

/* Whether it comes before `end`. */
static bool comes_before(const char *settings, const char *end, const char *key)
{
    thrum__setting other;
    int err;
    while (settings && settings < end && thrum__setting_next(&settings, &other, &err))
        if (strcmp(other.key, key) == 0)
            return settings && settings <= end;
    return false;
}

int thrum__policy_settings_check(const thrum_policy *policy, const char *settings)
{
    thrum__setting setting;
    const char *rest = settings;
    int err = 0;
    if (!*settings)
        return thrum__fault(THRUM_EOPTION,
                            "nothing stands behind the semicolon of '%s;': settings are key=value;key=value",
                            policy->name);
    for (const char *at = rest; thrum__setting_next(&rest, &setting, &err); at = rest) {
        if (!is_known(policy, setting.key))
            return unknown_key(policy, setting.key);
        if (comes_before(settings, at, setting.key))
            return thrum__fault(THRUM_EOPTION, "the setting '%s' of the policy '%s' is given twice", setting.key,
                                policy->name);
    }
    if (!err)
        return 0;
    return thrum__fault(err, "in the settings of the policy '%s': %s", policy->name, thrum__last_fault());
}

const char *thrum__policy_settings_of(const char *text)
{
    const char *semicolon = strchr(text, ';');
    return semicolon ? semicolon + 1 : "";
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Digits, perhaps with a point in between; whatever the locale. Negative: it is none. */
static double read_decimal(const char *text)
{
    double number = 0, place = 1;
    bool fraction = false;
    if (*text < '0' || *text > '9')
        return -1;
    for (; *text; text++) {
        if (*text == '.' && !fraction && text[1]) {
            fraction = true;
        } else if (*text >= '0' && *text <= '9') {
            place = fraction ? place / 10 : place;
            number = fraction ? number + place * (*text - '0') : 10 * number + (*text - '0');
        } else {
            return -1;
        }
    }
    return number;
}

int thrum__setting_number(const char *key, const char *value, double least, double most, double *number)
{
    double read = read_decimal(value);
    if (read < 0 || read < least || read > most)
        return thrum__fault(THRUM_EOPTION, "'%s=%.60s': that must be a number from %g to %g", key, value, least, most);
    *number = read;
    return 0;
}
