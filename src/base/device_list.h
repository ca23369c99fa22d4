/* SPDX-License-Identifier: MIT
 *
 * The text that says which devices there are, "cpu:2,emu:3;memory=64MiB;link=2GB/s" (see thrum/device.h), taken apart.
 * Which kinds exist and which settings they have is the caller's business.
 *
 * Spaces may stand around kinds, counts, keys and values.
 */
#ifndef THRUM_BASE_DEVICE_LIST_H
#define THRUM_BASE_DEVICE_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { THRUM__KIND_LENGTH = 32, THRUM__KEY_LENGTH = 48, THRUM__VALUE_LENGTH = 256, THRUM__DEVICES_MOST = 1024 };

typedef struct thrum__device_entry {
    char kind[THRUM__KIND_LENGTH]; /* lower-case letters, digits and '-', as they stand there */
    int count;                     /* 1 to THRUM__DEVICES_MOST; 1 where nothing is said */
    bool counted;                  /* something is said */
    const char *settings;          /* "key=value;key=value" without spaces, or "" */
} thrum__device_entry;

typedef struct thrum__device_list {
    size_t count;
    thrum__device_entry entries[];
} thrum__device_list;

/* 0, or THRUM_EOPTION with a sentence that names the place in the text, or THRUM_ENOMEM. One kind may come several
 * times. */
int thrum__device_list_parse(const char *text, thrum__device_list **list);
void thrum__device_list_free(thrum__device_list *list); /* NULL does nothing */

/* Settings, one after the other: while (thrum__setting_next(&rest, &setting, &err)) ... False at the end, with *err 0,
 * and for what is no setting, with THRUM_EOPTION and a sentence. */
typedef struct thrum__setting {
    char key[THRUM__KEY_LENGTH], value[THRUM__VALUE_LENGTH];
} thrum__setting;
bool thrum__setting_next(const char **rest, thrum__setting *setting, int *err);

#endif
