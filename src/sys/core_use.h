/* SPDX-License-Identifier: MIT
 *
 * How much of its core a thread has had.
 */
#ifndef THRUM_SYS_CORE_USE_H
#define THRUM_SYS_CORE_USE_H

#include <stdint.h>

typedef struct thrum__core_use {
    int64_t ns;     /* of running */
    long blocked;   /* how often it waited for something else than a core */
    long put_aside; /* how often others ran on its core though it could have gone on */
} thrum__core_use;

/* Of the calling thread, since it began. Asks the system: twice, some half a microsecond. */
thrum__core_use thrum__core_use_now(void);

#endif
