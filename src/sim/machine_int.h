/* SPDX-License-Identifier: MIT
 *
 * Between the files that make machines: machine.c holds them, machine_read.c and machine_write.c are their files.
 */
#ifndef THRUM_SIM_MACHINE_INT_H
#define THRUM_SIM_MACHINE_INT_H

#include "sim/machine.h"

/* ---- machine.c --------------------------------------------------------------------------------------------------- */

/* Without anything; NULL and a sentence without memory. */
thrum_machine *thrum__machine_new(const char *path);

/* The number of the kind of device, THRUM__CORE for "cpu"; -2: there is none. */
enum { THRUM__NO_KIND = -2 };
int thrum__machine_kind(const thrum_machine *machine, const char *name);
const char *thrum__machine_kind_name(const thrum_machine *machine, int kind);

/* One more; its number, or an error. `where` is copied. */
int thrum__machine_add_kind(thrum_machine *machine, const char *name, const char *where);

/* The row of this codelet on this kind, made if it is not there. NULL and a sentence without memory. */
thrum__speed_row *thrum__machine_row(thrum_machine *machine, const char *codelet, int kind);

/* Another text in the place of *old: 0 or THRUM_ENOMEM. */
int thrum__machine_set_text(char **old, const char *text);

void thrum__law_drop(thrum__law *law); /* NULL does nothing */

/* What is wrong with it as a whole: a device without a link, more lost cores than there are, limits. 0 or
 * THRUM_EINVAL. */
int thrum__machine_check(const thrum_machine *machine);

/* Devices of one host, of all kinds; cores of a host that are workers. */
int thrum__machine_devices(const thrum_machine *machine);
int thrum__machine_cores(const thrum_machine *machine);

/* ---- machine_line.c ---------------------------------------------------------------------------------------------- */

/* Names of architectures. */
extern const char *const thrum__machine_archs[THRUM_ARCHS];

/* Takes in one line, which it cuts to pieces; empty lines and comments do nothing. The machine may be changed in part
 * when it fails. */
int thrum__machine_take(thrum_machine *machine, char *line, const char *where);

/* Numbers in files have a point, whatever the locale: between these two the thread has the locale "C". */
typedef struct thrum__plain_locale {
    void *own, *before;
} thrum__plain_locale;
int thrum__plain_locale_begin(thrum__plain_locale *locale);
void thrum__plain_locale_end(thrum__plain_locale *locale);

/* Quantities, as in base/quantity.h, or a number of any form in the base unit ("1e-7s", "1e9B/s"); "unlimited" is
 * INFINITY for rates. 0, or an error with a sentence without a place. */
int thrum__machine_time(const char *text, double *seconds);
int thrum__machine_rate(const char *text, double *bytes_per_second);

/* ---- Machines that come with thrum: made from machines/ when the library is built -------------------------------- */

typedef struct thrum__shipped {
    const char *name, *text;
} thrum__shipped;
extern const thrum__shipped thrum__shipped_machines[]; /* up to one whose name is NULL */

#endif
