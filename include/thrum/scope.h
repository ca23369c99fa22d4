/* SPDX-License-Identifier: MIT
 *
 * Scopes: tasks that spawn tasks and wait for them.
 *
 * A scope lives on the stack of whoever opens it. Spawn into it as often as wanted, then join it in the same function;
 * only the thread that opened a scope spawns into it and joins it, and scopes that are open in one thread are joined in
 * the reverse order of opening. A spawned function is given a scope of its own, which may be spawned into directly: it
 * is joined when the function returns.
 *
 *     static void visit(thrum_scope *scope, void *node)
 *     {
 *         for (struct node *n = ((struct node *)node)->first_child; n; n = n->next)
 *             thrum_spawn(scope, visit, n);
 *     }
 *
 * A join runs the scope's own children; when one was stolen it helps the thief with what descends from that child; when
 * there is nothing of that kind it parks and a stand-in thread may take its place. It never runs unrelated work; an
 * open join does.
 *
 * Scopes nest on the stack of their thread. A function that would be called with too little of it left is not: what it
 * descends from fails with THRUM_ELIMIT. The executor's threads have room for some 200,000 levels (THRUM_STACK_MB).
 *
 * The calls are small enough that calling them is most of their cost: a file that defines THRUM_INLINE before including
 * this header gets them as inline functions instead, tied to the layout below.
 */
#ifndef THRUM_SCOPE_H
#define THRUM_SCOPE_H

#include <thrum/executor.h>

#include <stdint.h>

THRUM_BEGIN_C

typedef struct thrum_graph thrum_graph;
typedef struct thrum_scope thrum_scope;
typedef void thrum_scope_fn(thrum_scope *scope, void *arg);

/* Opens a scope inside `up`, the scope that the calling function was given or has open. With NULL: inside the calling
 * task, or, outside tasks, on the default executor, the calling thread being one of its workers until the join (if the
 * executor is for one worker, this waits until that one is free). Cannot fail: where the thread cannot become a worker
 * for lack of memory, spawned functions run at once. */
THRUM_API void thrum_scope_open(thrum_scope *scope, thrum_scope *up);

/* The same outside tasks on an executor of choice. */
THRUM_API void thrum_scope_open_on(thrum_scope *scope, thrum_executor *ex);

/* Calls fn(its own scope, arg) some time before the join returns. Cannot fail: without room it runs fn at once. */
THRUM_API void thrum_spawn(thrum_scope *scope, thrum_scope_fn *fn, void *arg);

/* The same with a copy of `size` bytes at `arg`, aligned for any type, which the function may use until it returns. */
THRUM_API void thrum_spawn_copy(thrum_scope *scope, thrum_scope_fn *fn, const void *arg, size_t size);

/* A graph that runs as part of the scope: build it, and the join runs it once and frees it. NULL without memory; then
 * the scope fails with THRUM_ENOMEM. An error of the graph is an error of the scope. */
THRUM_API thrum_graph *thrum_scope_graph(thrum_scope *scope, const char *name);

/* What is spawned from now on is not joined here but at the end of the run of the graph (or of thrum_scope_run) that
 * the scope belongs to; its arguments must live that long (thrum_spawn_copy sees to it), and its errors go to the run.
 * THRUM_EINVAL in a scope that is not part of a run. */
THRUM_API int thrum_scope_detach(thrum_scope *scope);

/* Waits for everything spawned into the scope. Returns 0 or the first error of the run or outermost scope that this
 * one is part of; children that had not started by then were not run. */
THRUM_API int thrum_join(thrum_scope *scope);

/* The same, but open to other work: while it would park because a child was stolen and there is nothing to help with,
 * it runs whatever else the executor has, unrelated tasks and functions, and parks when there is nothing at all. So the
 * worker is not lost while it waits, and mostly needs no stand-in. The price: that work runs on top of the caller, on
 * its stack, and the join returns only when it has ended, however long that takes; if the caller holds a lock that the
 * other work wants, or the other work waits for something that the caller has yet to do, they wait for each other for
 * ever (except that waiting for the caller's own run returns THRUM_EDEADLOCK). Such work on top of such work is
 * bounded: 32 levels, and not with less than a quarter of the stack left; beyond that it is thrum_join. What was
 * spawned into the scope joins its own children as ever. */
THRUM_API int thrum_join_open(thrum_scope *scope);

/* Runs fn in a scope on the executor and waits for it and for everything it spawned. */
THRUM_API int thrum_scope_run(thrum_executor *ex, thrum_scope_fn *fn, void *arg);

/* ---- The layout that the inline functions share with the library. Not for use by name. --------------------------- */

/* What a scope's tasks have in common: whether they may go on, and their first error. */
typedef struct thrum__root {
    uint32_t attention; /* not 0: cancelled, or watched by an observer or a trace; tasks take the slow path */
    int32_t code;       /* the first error */
    char *message;
    void *run; /* the run it belongs to; NULL for scopes opened outside tasks */
} thrum__root;

/* One spawned function, in its worker's stack; a cache line each. `state` is the only field that two threads contend
 * for, and only once the place has been shown to others: see src/exec/scope.c. */
typedef struct thrum__spawn {
    uintptr_t state;
    union {
        thrum_scope_fn *fn;
        struct thrum__spawn *thief_first; /* once stolen: where the thief's stack of the child's descendants begins */
    } u;
    void *arg;
    thrum__root *root;
    uintptr_t copy[4]; /* of a small argument */
} thrum__spawn;

enum { THRUM__EMPTY = 0, THRUM__READY = 1 };

typedef struct thrum__worker {
    thrum__spawn *top;   /* the next free place; only the worker's own thread writes it */
    thrum__spawn *end;   /* behind the last place; or NULL, to spawn the slow way */
    thrum__spawn *bar;   /* places from here on are the worker's own, and joined without asking */
    const int64_t *idle; /* negative: somebody sleeps who should be woken for new work */
    uintptr_t low;       /* scopes below this address are joined the slow way: little may be left of the stack */
} thrum__worker;

struct thrum_scope {
    thrum__worker *worker;
    thrum__spawn *first; /* the worker's top when the scope was opened */
    thrum__root *root;
    uintptr_t more; /* not 0: joining has more to do than children, and the fields below count */
    thrum__root own;
    thrum__worker *real; /* while `worker` is one without room, so that spawning takes the slow path */
    thrum__spawn *real_first;
    void *graphs;
};

THRUM_API void thrum__spawn_slow(thrum_scope *scope, thrum_scope_fn *fn, void *arg);
THRUM_API int thrum__join_slow(thrum_scope *scope);
THRUM_API void thrum__wake(thrum__worker *worker);

#if defined(__GNUC__)

static inline void thrum__inline_open(thrum_scope *scope, thrum_scope *up)
{
    if (__builtin_expect(!up || up->more != 0, 0)) {
        thrum_scope_open(scope, up);
        return;
    }
    scope->worker = up->worker;
    scope->first = up->worker->top;
    scope->root = up->root;
    scope->more = 0;
}

/* The release on top hands fn, arg and root to whoever shows the place to others. The look at `idle` needs no order: a
 * worker that goes to sleep makes every core pass a barrier before it looks for work a last time. */
static inline void thrum__inline_spawn(thrum_scope *scope, thrum_scope_fn *fn, void *arg)
{
    thrum__worker *worker = scope->worker;
    thrum__spawn *place = worker->top;
    if (__builtin_expect(place >= __atomic_load_n(&worker->end, __ATOMIC_RELAXED), 0)) {
        thrum__spawn_slow(scope, fn, arg);
        return;
    }
    place->u.fn = fn;
    place->arg = arg;
    place->root = scope->root;
    __atomic_store_n(&worker->top, place + 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the compiler keeps the order of the two */
    if (__builtin_expect(__atomic_load_n(worker->idle, __ATOMIC_RELAXED) < 0, 0))
        thrum__wake(worker);
}

/* Takes the newest child back if it is still the worker's own: it lowers top, and then looks at the bar. Whoever wants
 * the places puts up the bar, makes every core pass a barrier, and then looks at top. */
static inline int thrum__inline_take(thrum__worker *worker, thrum__spawn *place)
{
    if (__atomic_load_n(&place->state, __ATOMIC_RELAXED) != THRUM__EMPTY)
        return 0;
    __atomic_store_n(&worker->top, place, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(place >= __atomic_load_n(&worker->bar, __ATOMIC_RELAXED), 1))
        return 1;
    __atomic_store_n(&worker->top, place + 1, __ATOMIC_RELEASE);
    return 0;
}

static inline int thrum__inline_join(thrum_scope *scope)
{
    thrum__worker *worker = scope->worker;
    if (__builtin_expect((uintptr_t)scope < worker->low, 0))
        return thrum__join_slow(scope);
    while (worker->top != scope->first) {
        thrum__spawn *place = worker->top - 1;
        if (__builtin_expect(__atomic_load_n(&scope->root->attention, __ATOMIC_RELAXED) != 0, 0) ||
            __builtin_expect(!thrum__inline_take(worker, place), 0))
            return thrum__join_slow(scope);
        thrum_scope child;
        child.worker = worker;
        child.first = place;
        child.root = scope->root;
        child.more = 0;
        place->u.fn(&child, place->arg);
        if (__builtin_expect(worker->top != place || child.more, 0))
            thrum__join_slow(&child);
    }
    if (__builtin_expect(scope->more != 0, 0))
        return thrum__join_slow(scope);
    return __atomic_load_n(&scope->root->code, __ATOMIC_RELAXED);
}

#ifdef THRUM_INLINE
#define thrum_scope_open(scope, up) thrum__inline_open((scope), (up))
#define thrum_spawn(scope, fn, arg) thrum__inline_spawn((scope), (fn), (arg))
#define thrum_join(scope) thrum__inline_join(scope)
#endif

#endif /* __GNUC__ */

THRUM_END_C

#endif
