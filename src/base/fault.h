/* SPDX-License-Identifier: MIT
 *
 * How errors are kept: the calling thread's last sentence, and an object's first error with its sentence.
 */
#ifndef THRUM_BASE_FAULT_H
#define THRUM_BASE_FAULT_H

#include <thrum/scope.h>

#include <stdarg.h>

/* Every object that a user can hand to thrum_message begins with this. */
enum thrum__kind {
    THRUM__KIND_GRAPH = 0x67726170,
    THRUM__KIND_HANDLE = 0x68616e64,
    THRUM__KIND_EXECUTOR = 0x65786563,
    THRUM__KIND_FLOW = 0x666c6f77,
};

typedef struct thrum__object {
    uintptr_t kind;
    thrum__root root; /* first error; see thrum__root_fail */
} thrum__object;

/* Bits of thrum__root.attention; each comes with the sign bit (see `call` in exec/run.c). */
#define THRUM__CANCELLED UINT32_C(0x80000001)
#define THRUM__WATCHED UINT32_C(0x80000002)

static inline bool thrum__is_cancelled(uint32_t attention)
{
    return attention & THRUM__CANCELLED & ~THRUM__WATCHED;
}

static inline bool thrum__is_watched(uint32_t attention)
{
    return attention & THRUM__WATCHED & ~THRUM__CANCELLED;
}

/* Sets the calling thread's last sentence and returns `code`. */
int thrum__fault(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int thrum__vfault(int code, const char *format, va_list args);

/* The calling thread's last sentence and its code. */
const char *thrum__last_fault(void);
int thrum__last_code(void);

/* Keeps `code` and a copy of `text` if it is the root's first error, and cancels what belongs to the root. Any
 * thread. */
void thrum__root_fail(thrum__root *root, int code, const char *text);
/* From now on `fn` is called, once for each root, when that has been cancelled: for tasks of it that wait and would not
 * notice. Before the first executor. */
typedef void thrum__cancelled_fn(thrum__root *root);
void thrum__on_cancelled(thrum__cancelled_fn *fn);
static inline int thrum__root_code(const thrum__root *root)
{
    return __atomic_load_n(&root->code, __ATOMIC_RELAXED);
}
const char *thrum__root_text(const thrum__root *root);
/* Back to no error. Only while nothing that belongs to the root runs. */
void thrum__root_clear(thrum__root *root);

/* Objects with a sentence besides their root's (a graph has its last failed run's) are asked through this. */
const char *thrum__graph_message(const thrum__object *graph);

#endif
