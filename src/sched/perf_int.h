/* SPDX-License-Identifier: MIT
 *
 * Performance models from the inside: rows of what was measured, curves through them, and the file.
 */
#ifndef THRUM_SCHED_PERF_INT_H
#define THRUM_SCHED_PERF_INT_H

#include "sched/perf.h"

/* ---- One row's numbers: perf_stat.c ------------------------------------------------------------------------------ */

enum { THRUM__PERF_ASIDE = 8 };

/* Mean and deviation of many samples, without those that are far off. The rules are in perf_stat.c. */
typedef struct thrum__perf_stat {
    uint64_t count;                  /* samples in the mean; 0: nothing is known yet */
    uint64_t dropped;                /* left out */
    double mean, variance;           /* seconds and their square */
    uint64_t off;                    /* left out since the mean was begun */
    int asides;                      /* samples that wait for others to confirm them: */
    double aside[THRUM__PERF_ASIDE]; /* the first ones, or the last ones in a row that were far off */
} thrum__perf_stat;

void thrum__perf_stat_note(thrum__perf_stat *stat, double seconds);

/* How many samples there are, and their mean and deviation, of what is set aside if nothing else is known. */
typedef struct thrum__perf_summary {
    uint64_t count;
    double mean, deviation;
} thrum__perf_summary;
thrum__perf_summary thrum__perf_stat_sum(const thrum__perf_stat *stat);

/* The same row as two processes have it: `own`, of which `own_new` samples are not in `other`, is added to `other`. */
void thrum__perf_stat_merge(thrum__perf_stat *other, const thrum__perf_stat *own, uint64_t own_new);

/* ---- Curves: perf_curve.c ---------------------------------------------------------------------------------------- */

/* seconds = a * bytes^b + c, for bytes from `least` to `most`. */
typedef struct thrum__perf_curve {
    double a, b, c;
    double least, most;
} thrum__perf_curve;

typedef struct thrum__perf_point {
    double bytes, seconds, weight; /* all positive */
} thrum__perf_point;

/* Fits a curve to points of at least two sizes; false if there are not. Points far off the curve may be removed from
 * the array. */
bool thrum__perf_fit(thrum__perf_point *points, int count, thrum__perf_curve *curve);
/* Negative: so far from all sizes that were measured that the curve says nothing. */
double thrum__perf_curve_at(const thrum__perf_curve *curve, double bytes);

/* ---- Rows and families: perf.c ----------------------------------------------------------------------------------- */

/* Codelets by size have rows for classes of sizes, of which a power of two has eight; their footprints are below this
 * number, and those of shapes are not. So rows of a codelet stay few whatever sizes it is given. */
enum { THRUM__PERF_CLASSES = 1024 };

typedef struct thrum__perf_family thrum__perf_family;

typedef struct thrum__perf_row {
    struct thrum__perf_row *next;    /* in the table */
    struct thrum__perf_row *sibling; /* in the family */
    thrum__perf_family *family;
    uint64_t footprint;
    double bytes; /* of a class of sizes the mean of those that came */
    thrum__perf_stat stat;
    uint64_t noted; /* samples since the file was read or written */
    uint64_t kept;  /* a number that stands for what the file had then; 0: nothing */
} thrum__perf_row;

/* All rows of one codelet on one architecture. */
struct thrum__perf_family {
    thrum__perf_family *next;
    thrum__perf_row *rows;
    char *name;
    enum thrum_arch arch;
    uint64_t samples, samples_at_fit; /* of all rows, about; and when the curve was made */
    bool has_curve;
    thrum__perf_curve curve;
};

/* Finds or makes it: NULL without memory. With the lock. */
thrum__perf_row *thrum__perf_row_of(const char *codelet, enum thrum_arch arch, uint64_t footprint);

/* Calls `each` for all rows. With the lock. */
void thrum__perf_each(void (*each)(thrum__perf_row *row, void *ctx), void *ctx);

/* ---- The file: perf_file.c, perf_read.c -------------------------------------------------------------------------- */

#define THRUM__PERF_FIRST_LINE "thrum models 1\n"
#define THRUM__PERF_PICOSECONDS 1e12

enum { THRUM__PERF_PATH = sizeof((thrum_models_info *)0)->file };

/* The file that THRUM_MODELS asks for, "" for none: 0, or an error with a sentence if there can be none. */
int thrum__perf_path(char path[THRUM__PERF_PATH]);

/* Takes in what the file has: rows that are not known here, and others as they were added to by other processes. No
 * file is as good as an empty one. 0, or an error with a sentence, and nothing has been taken in. With the lock. */
int thrum__perf_read(const char *path);
/* Makes the file's folders and waits until no other process writes. *lock is to be closed afterwards, unless it is
 * negative. */
int thrum__perf_lock_file(const char *path, int *lock);
/* Reads, puts together, and writes all. A file that is none is moved aside, to PATH.broken. With both locks. */
int thrum__perf_write(const char *path);

/* What both halves share: a number that stands for a row as the file has it, never 0; and a
 * sentence for what the system refused. */
uint64_t thrum__perf_stat_number(const thrum__perf_stat *stat);
int thrum__perf_cannot(const char *what, const char *path);

#endif
