/* SPDX-License-Identifier: MIT
 *
 * Names of kinds of workers, as they stand in files and settings.
 */
#ifndef THRUM_MODEL_ARCH_H
#define THRUM_MODEL_ARCH_H

#include <thrum/codelet.h>

/* "cpu", "emu". */
const char *thrum__arch_name(enum thrum_arch arch);

/* The architecture of this name; -1 for what is none. */
int thrum__arch_named(const char *name);

#endif
