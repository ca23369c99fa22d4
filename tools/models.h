/* SPDX-License-Identifier: MIT
 *
 * `thrum info --models`: what is known of how long codelets take.
 */
#ifndef THRUM_TOOLS_MODELS_H
#define THRUM_TOOLS_MODELS_H

#include <stdbool.h>

/* Prints a table, or one JSON object, and returns an exit code: TOOL_FAILED when the file is there and could not be
 * used. */
int models_print(bool json);

#endif
