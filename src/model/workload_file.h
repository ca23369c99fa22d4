/* SPDX-License-Identifier: MIT
 *
 * What reading and writing workloads share. A file is made of lines of words; what stands behind a word that begins
 * with # is a comment. The first word of a line says what it is:
 *
 *     thrum-workload 1                                              the first line
 *     name TEXT
 *     codelet NAME ARCH,ARCH
 *     data NAME BYTES [written]                                     NAME may be -: it has none
 *     task CODELET KEY=VALUE ...
 *     edge BEFORE AFTER                                             numbers of tasks
 *
 * Keys of tasks: name, work, priority, bucket, worker, seconds.ARCH; and r, w, rw, scratch, redux, commute with a list
 * of data, in the order of the accesses, each as often as needed.
 *
 * Codelets and data are named or numbered, from 0 on in the order of their lines: digits alone are a number. A name in
 * quotes may hold anything, with \" \\ \n \r \t and \xHH, and is never a number. Two things with the same name have to
 * be numbered.
 */
#ifndef THRUM_MODEL_WORKLOAD_FILE_H
#define THRUM_MODEL_WORKLOAD_FILE_H

#include "model/workload.h"

#define THRUM__WL_HEAD "thrum-workload"
enum { THRUM__WL_VERSION = 1 };

/* "r", "w", ... by mode; NULL for 0. */
extern const char *const thrum__wl_mode_keys[THRUM_MODE_COMMUTE + 1];

/* Whether it can stand without quotes: it is a name, is not taken for a number or for none, and has no letter with a
 * meaning. */
bool thrum__wl_is_plain(const char *name);

/* ---- Numbers of things by name ----------------------------------------------------------------------------------- */

enum { THRUM__WL_UNKNOWN = -1, THRUM__WL_SEVERAL = -2 };

typedef struct thrum__wl_names {
    struct thrum__wl_named {
        const char *name; /* NULL: free */
        int number;       /* or THRUM__WL_SEVERAL */
    } * slots;
    size_t room, count;
} thrum__wl_names;

/* False without memory. The name stays where it is. NULL has no number. */
bool thrum__wl_names_add(thrum__wl_names *names, const char *name, int number);
int thrum__wl_names_find(const thrum__wl_names *names, const char *name);
void thrum__wl_names_drop(thrum__wl_names *names);

/* Numbers are written and read as in the language C, wherever the program runs. */
typedef struct thrum__wl_locale {
    void *plain, *own; /* locale_t */
} thrum__wl_locale;
void thrum__wl_locale_begin(thrum__wl_locale *locale);
void thrum__wl_locale_end(thrum__wl_locale *locale);

#endif
