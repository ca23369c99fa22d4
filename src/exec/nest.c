/* SPDX-License-Identifier: MIT
 *
 * Work inside of work, on one stack: how deep that may go; and open joins and waits, which add to it on purpose.
 *
 * A join calls the scope's children, whose joins call theirs, and so on: a chain of scopes is as deep on the stack as in the
 * program. Before a child is called, the frame's address is compared with the lowest that this thread's stack allows. Below
 * that the child is not called: its root fails with THRUM_ELIMIT, which cancels everything else of it, and all joins return.
 * The quick paths compare the scope's address instead, and leave all that may be too deep to the slow ones; so a scope that
 * does not lie on the thread's stack is joined the slow way and judged by the frame.
 */
#include "exec/exec_int.h"

#include "sys/stack.h"

/* ---- The depth ---------------------------------------------------------------------------------------------------- */

bool thrum__stack_spent(worker *w)
{
    if (w && (uintptr_t)__builtin_frame_address(0) >= w->spawn.low)
        return false;
    bool spent = thrum__stack_is_spent();
    if (w)
        w->spawn.low = thrum__own_stack.limit;
    return spent;
}

int thrum__too_deep(void)
{
    const thrum__stack *stack = thrum__stack_ask();
    return thrum__fault(
        THRUM_ELIMIT,
        "tasks and scopes are nested too deeply for the %zu KiB stack of this thread: use fewer levels or a "
        "larger stack (THRUM_STACK_MB for the executor's threads, 'ulimit -s' for the first one)",
        (size_t)(stack->top - stack->bottom) / 1024);
}

bool thrum__fails_too_deep(worker *w, thrum__root *root)
{
    if (__builtin_expect(!thrum__stack_spent(w), 1))
        return false;
    thrum__root_fail(root, thrum__too_deep(), thrum__last_fault());
    return true;
}
