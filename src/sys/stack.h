/* SPDX-License-Identifier: MIT
 *
 * How far down the calling thread's stack may go.
 */
#ifndef THRUM_SYS_STACK_H
#define THRUM_SYS_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bottom <= limit <= top. What is called with its frame below `limit` is to call nobody else: what is left is for that
 * one function and for the way back. limit is THRUM__STACK_UNASKED until the bounds have been asked for, which takes
 * some microseconds (in the process's first thread up to fifty); where the system does not tell them, all three are 0,
 * and no frame is below. */
typedef struct thrum__stack {
    uintptr_t bottom, limit, top;
} thrum__stack;

#define THRUM__STACK_UNASKED UINTPTR_MAX

/* The calling thread's, for quick looks. */
extern _Thread_local thrum__stack thrum__own_stack;

/* The same, asked for if need be. */
const thrum__stack *thrum__stack_ask(void);

/* Whether the frame of the caller's caller is below the limit. On a stack that is not the thread's own (a program may
 * switch stacks) nothing is known: false. */
bool thrum__stack_is_spent(void);

/* Whether more than a quarter of it is left; true where nothing is known. */
bool thrum__stack_is_roomy(void);

#endif
