/* SPDX-License-Identifier: MIT
 *
 * Work inside of work, on one stack: how deep that may go; and open joins and waits, which add to it on purpose.
 *
 * A join calls the scope's children, whose joins call theirs, and so on: a chain of scopes is as deep on the stack as
 * in the program. Before a child is called, the frame's address is compared with the lowest that this thread's stack
 * allows. Below that the child is not called: its root fails with THRUM_ELIMIT, which cancels everything else of it,
 * and all joins return. The quick paths compare the scope's address instead, and leave all that may be too deep to the
 * slow ones; so a scope that does not lie on the thread's stack is joined the slow way and judged by the frame.
 */
#include "exec/exec_int.h"

#include "sys/stack.h"

/* ---- The depth --------------------------------------------------------------------------------------------------- */

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

/* ---- Open joins and waits ---------------------------------------------------------------------------------------- */

/* As many pick up work one on top of the other. */
enum { ON_TOP_MOST = 32 };

/* A strict join elsewhere that helps this worker with a child of its own, which this worker stole, takes what lies
 * above that child in the stack of spawned tasks. What the work on top spawns lies there too and is none of its
 * business: it stops at `strangers`. That is where the lowest of such work begins; so it may leave out more than it has
 * to, and parks then. */
static void set_strangers(worker *w, thrum__spawn *from)
{
    if (w->on_top == 0)
        atomic_store_explicit(&w->strangers, from, memory_order_relaxed);
}

/* What this worker itself has to offer to others: tasks of the run that it is in, and older children than those it
 * waits for. It takes them as a thief would, the oldest first; nothing that is beneath on the stack minds, since any
 * thief might have done the same. */
static bool find_at_home(worker *w, found *f)
{
    if (!w->root)
        return false;
    thrum__door_show_all(w);
    return thrum__steal_task(w, NULL, f) || thrum__spawn_steal(w, w, NULL, f);
}

/* Where there is one place only, those who want it back come first: see thrum__enter_anyway. */
static bool may_take_on(worker *w)
{
    return w->on_top < ON_TOP_MOST && atomic_load_explicit(&w->domain->returning, memory_order_relaxed) == 0 &&
           thrum__stack_is_roomy();
}

bool thrum__help_with_any(worker *w)
{
    found f;
    if (!may_take_on(w) || !(thrum__find(w, &f) || find_at_home(w, &f)))
        return false;
    beneath task = {w->beneath, w->root, w->run};
    w->beneath = &task;
    w->run = NULL; /* the new work is no part of it */
    set_strangers(w, w->spawn.top);
    w->on_top++;
    thrum__perform(w, &f);
    w->on_top--;
    set_strangers(w, (thrum__spawn *)UINTPTR_MAX);
    w->run = task.run;
    w->beneath = task.outer;
    return true;
}
