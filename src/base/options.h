/* SPDX-License-Identifier: MIT
 *
 * The option table: every option with its default, its environment name, its range and one line of help.
 *
 * To add an option, add a row to `table` in options.c and a name to the enum, in the same place.
 */
#ifndef THRUM_BASE_OPTIONS_H
#define THRUM_BASE_OPTIONS_H

#include <thrum/options.h>

#include <stdint.h>

enum thrum__option_id {
    THRUM__OPT_WORKERS,
    THRUM__OPT_CALLERS,
    THRUM__OPT_BIND,
    THRUM__OPT_SPIN,
    THRUM__OPT_SPARES,
    THRUM__OPT_SPAWNS,
    THRUM__OPT_STACK,
    THRUM__OPT_SCHEDULE,
    THRUM__OPT_POLICY,
    THRUM__OPT_DEVICES,
    THRUM__OPT_WINDOW,
    THRUM__OPT_MODELS,
    THRUM__OPT_TRACE,
    THRUM__OPT_TRACE_EVENTS,
    THRUM__OPTIONS
};

/* The value in force as text; never NULL. */
const char *thrum__option_text(enum thrum__option_id id);

/* Checks `value` as if it were the option's: 0 or THRUM_EOPTION with a sentence. A number goes to *number if that is
 * not NULL; "auto" gives -1. For an option of words, *number is the position of the word. */
int thrum__option_parse(enum thrum__option_id id, const char *value, int64_t *number);

/* The number of the option's value in force; only after thrum_options_check said that all is well. */
int64_t thrum__option_number(enum thrum__option_id id);

/* Options whose values are known to a layer above are checked by it: 0, or an error with a sentence. */
int thrum__schedule_option_check(const char *value);

#endif
