/* SPDX-License-Identifier: MIT
 *
 * The machine as this process may use it, and binding threads to parts of it.
 */
#ifndef THRUM_SYS_TOPOLOGY_H
#define THRUM_SYS_TOPOLOGY_H

#include <thrum/options.h>

enum thrum__bind { THRUM__BIND_AUTO, THRUM__BIND_CORE, THRUM__BIND_NUMA, THRUM__BIND_OFF };

/* Processors that a control group's quota file pays for: the text of cpu.max ("150000 100000", "max 100000") or, for
 * version 1, of cpu.cfs_quota_us and cpu.cfs_period_us with a space between ("-1 100000"). 0: no quota. */
double thrum__quota_parse(const char *text);

/* Binds the calling thread as worker number `index`. Does nothing where the machine is not the real one. */
void thrum__bind_self(enum thrum__bind bind, int index);

/* Moves the calling thread to another processor, if it may run on more than one; afterwards it may run where it might
 * before. */
void thrum__change_cpu(void);

#endif
