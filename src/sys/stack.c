/* SPDX-License-Identifier: MIT */
#include "sys/stack.h"

#include <pthread.h>

_Thread_local thrum__stack thrum__own_stack = {0, THRUM__STACK_UNASKED, 0};

/* Below the limit a task still runs to its end: an eighth of the stack is for that, within reason. The most is also
 * what the system keeps free below a first thread's stack without a limit of its own. */
enum { RESERVE_LEAST = 32 << 10, RESERVE_MOST = 2 << 20 };

static size_t reserve_of(size_t size)
{
    size_t reserve = size / 8;
    if (reserve > RESERVE_MOST)
        return RESERVE_MOST;
    if (reserve < RESERVE_LEAST)
        return size / 2 < RESERVE_LEAST ? size / 2 : RESERVE_LEAST;
    return reserve;
}

static thrum__stack find_bounds(void)
{
    thrum__stack stack = {0, 0, 0};
    pthread_attr_t attributes;
    void *bottom;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return stack;
    if (pthread_attr_getstack(&attributes, &bottom, &size) == 0) {
        stack.bottom = (uintptr_t)bottom;
        stack.limit = stack.bottom + reserve_of(size);
        stack.top = stack.bottom + size;
    }
    pthread_attr_destroy(&attributes);
    return stack;
}

const thrum__stack *thrum__stack_ask(void)
{
    if (thrum__own_stack.limit == THRUM__STACK_UNASKED)
        thrum__own_stack = find_bounds();
    return &thrum__own_stack;
}

/* A frame's address and not a variable's: with AddressSanitizer variables may live elsewhere. */
bool thrum__stack_is_spent(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const thrum__stack *stack = thrum__stack_ask();
    return here < stack->limit && here >= stack->bottom;
}

bool thrum__stack_is_roomy(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const thrum__stack *stack = thrum__stack_ask();
    return here < stack->bottom || here >= stack->top || here - stack->bottom > (stack->top - stack->bottom) / 4;
}
