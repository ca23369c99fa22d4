/* SPDX-License-Identifier: MIT
 *
 * All memory of the library comes from here, so that tests can make any one allocation fail.
 */
#ifndef THRUM_BASE_ALLOC_H
#define THRUM_BASE_ALLOC_H

#include <stddef.h>

/* malloc, calloc and free. A cache line's alignment where `aligned` is in the name; freed with thrum__free too. */
void *thrum__alloc(size_t size);
void *thrum__zalloc(size_t size);
void *thrum__alloc_aligned(size_t size);
void *thrum__zalloc_aligned(size_t size);
char *thrum__copy_text(const char *text);
void thrum__free(void *memory);

/* Zeroed pages straight from the system, given back to it at once when freed. `size` and `align` are powers of two or
 * multiples of the page size; `lazy` asks for address space of which only the touched part will count. */
enum thrum__pages_kind { THRUM__PAGES_PLAIN, THRUM__PAGES_LAZY };
void *thrum__pages(size_t size, size_t align, enum thrum__pages_kind kind);
void thrum__pages_free(void *memory, size_t size);

/* For arrays that may be large: from the heap, or from two megabytes on in huge pages where the system has them. Not
 * zeroed. Freed with the same size.
 *
 * New pages are dear: the system clears them, and in a virtual machine the host may have to find them first. So of the
 * large arrays that are freed by thrum__array_keep some are kept for those that follow, 64 MiB at most in the process;
 * thrum__array_free gives back to the system what does not come from there. */
void *thrum__array(size_t size);
void thrum__array_free(void *memory, size_t size);
void thrum__array_keep(void *memory, size_t size);

/* For tests: from the n-th allocation on (0: the next) every one fails; -1: none does. */
void thrum__alloc_fail_after(long n);
/* Allocations since the last call of thrum__alloc_fail_after. */
long thrum__alloc_count(void);

#endif
