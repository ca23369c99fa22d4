/* SPDX-License-Identifier: MIT
 *
 * How a graph runs.
 *
 * A run counts strands, not tasks. A strand is a worker that is part of the run: it holds deque entries, or sources
 * that it took, or is in the middle of a task. No counter is touched per task; one shared counter per task would be the
 * most expensive thing in this file.
 *
 * A run begins alone: the worker that begins it has all of it, its strands are 0, and its counters are plain numbers.
 * It becomes a shared one when somebody asks (door.c); what follows is about shared ones.
 *
 * Roles
 *   The worker that began the iteration is the first strand. Others join: by taking a share of the sources, or by
 *   stealing a task. A worker leaves when its deque is empty and no sources are left. A module that goes on without the
 *   worker that began it is a strand of its parent's run: the one by which whoever ends it goes on behind it.
 *
 * Invariants
 *   1. A task of the run that is ready and not started is in the deque of a strand, or among sources not taken.
 *   2. While sources are not all taken, the run's list of them counts as one strand (the range's token).
 *   3. strands > 0 from the sharing of an iteration until every task has completed.
 *   4. Raising strands refuses at zero; so nobody joins a run that has ended, has not begun or is alone, and a thief
 *      holds its strand before the task is its own.
 *
 * Why 3 holds: by 1 a ready task implies a strand or the token. A thief raises before its take; if the take fails it
 * lowers again, and then may be the one that ends the run: whoever lowers to zero ends it, whoever that is.
 *
 * A condition's successors are not counted: the one that it names runs next. So a run of a graph with conditions may
 * end with counters half-way, and whoever ends the iteration sets them all back.
 *
 * Counters of tasks restore themselves: the arrival that makes a task ready writes its full count back before the task
 * is scheduled. So a run leaves the graph as it found it, and the next one walks nothing. A cancelled run goes through
 * the rest of the graph without calling functions, for the same reason.
 *
 * Orders: lowering strands is a release and the last lowering an acquire, so everything that happened in the run
 * happens before its end. Raising is an acquire, with the release of the beginning (or of any strand since, through the
 * release sequence of read-modify-writes) as its partner: who joins sees the run's fields.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <limits.h>
#include <stdio.h>

/* Graphs tend to be built in the order of their parts, and run so: what lies ahead in memory will be needed soon. */
enum { AHEAD = 2048 };
/* Where tasks are run one after the other just as they lie, memory is all that they wait for, and further is better:
 * from here on there is no gain (docs/benchmarking.md). */
enum { FAR_AHEAD = 6144 };

enum { CALLS_FROM = 1 << 16 }; /* tasks; the records of fewer stay in a core's cache */

enum { TIMED_FROM = 1000 }; /* tasks; with fewer, two looks at the clock would be a good part of the run */

/* The loop over tasks is one function, whatever the compiler thinks of its size. */
#define HOT inline __attribute__((always_inline))

/* ---- Completing a task ------------------------------------------------------------------------------------------- */

/* One predecessor has completed. True: it was the last one, and the task is ready.
 *
 * When one is missing, the caller is it: nobody else will touch the counter, and no read-modify-write is needed. The
 * acquire pairs with the other predecessors' releases in the subtraction: their work happens before the task's. */
static HOT bool arrive_shared(thrum_task *task)
{
    uint32_t missing = atomic_load_explicit(&task->pending, memory_order_acquire);
    if (missing != 1 && atomic_fetch_sub_explicit(&task->pending, 1, memory_order_acq_rel) != 1)
        return false;
    /* Relaxed: the next to read it is a predecessor in the next iteration, which comes after this task. */
    atomic_store_explicit(&task->pending, task->strong & THRUM__STRONG_MASK, memory_order_relaxed);
    return true;
}

/* The same while the worker has the run alone: a plain number (door.c). */
static HOT bool arrive_alone(thrum_task *task)
{
    uint32_t missing = atomic_load_explicit(&task->pending, memory_order_relaxed);
    if (missing != 1) {
        atomic_store_explicit(&task->pending, missing - 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&task->pending, task->strong & THRUM__STRONG_MASK, memory_order_relaxed);
    return true;
}

/* The light half of the barrier that a worker passes before it sleeps (sys/barrier.h); where that needs a fence, `idle`
 * always says to look, and thrum__wake has it. */
static HOT void wake_if_wanted(worker *w)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(__atomic_load_n(w->spawn.idle, __ATOMIC_RELAXED) < 0, 0))
        thrum__wake(&w->spawn);
}

/* A deque that can grow no more: run the task here and now, and what it makes ready in turn. */
static __attribute__((noinline, cold)) void run_at_once(worker *w, thrum__run *run, thrum_task *task);

/* The task has completed: its ready successors are pushed but for one, which is returned to run next without touching
 * the deque. That one is the nearest in memory if it is ready (freezing has marked it): in a grid this walks along the
 * row, whatever the order of the edges was. These two do that for several successors; `chosen` is one that is ready
 * already. */
static thrum_task *complete_special(worker *w, thrum__run *run, const uintptr_t *at);

static __attribute__((noinline)) thrum_task *complete_shared(worker *w, thrum__run *run, const uintptr_t *at,
                                                             thrum_task *chosen)
{
    uintptr_t word;
    if (__builtin_expect((uintptr_t)at & THRUM__SPECIAL_IN, 0))
        return complete_special(w, run, (const uintptr_t *)((uintptr_t)at - THRUM__SPECIAL_IN));
    do {
        word = *at++;
        thrum_task *successor = thrum__word_task(word), *pushed = successor;
        if (!(word & THRUM__SOLE) && !arrive_shared(successor))
            continue;
        if (!chosen || (word & THRUM__NEAR)) {
            pushed = chosen;
            chosen = successor;
        }
        if (!pushed)
            continue;
        if (!thrum__deque_push_owner(&w->deque, (uintptr_t)pushed | run->tag)) {
            run_at_once(w, run, pushed);
            continue;
        }
        if (__builtin_expect(thrum__deque_is_asked(&w->deque), 0))
            thrum__push_slow(w);
        wake_if_wanted(w);
    } while (!(word & THRUM__LAST));
    return chosen;
}

/* No room for `pushed`, and no memory for more: the rest is done as if others were there. */
static __attribute__((noinline, cold)) thrum_task *complete_without_room(worker *w, thrum__run *run,
                                                                         const uintptr_t *at, thrum_task *pushed,
                                                                         thrum_task *chosen)
{
    bool was_last = at[-1] & THRUM__LAST;
    thrum__alone_leave(w);
    run_at_once(w, run, pushed);
    return was_last ? chosen : complete_shared(w, run, at, chosen);
}

static HOT thrum_task *complete_alone(worker *w, thrum__run *run, const uintptr_t *at)
{
    thrum_task *chosen = NULL;
    uintptr_t word;
    do {
        word = *at++;
        thrum_task *successor = thrum__word_task(word), *pushed = successor;
        if (!(word & THRUM__SOLE) && !arrive_alone(successor))
            continue;
        if (!chosen || (word & THRUM__NEAR)) {
            pushed = chosen;
            chosen = successor;
        }
        if (!pushed)
            continue;
        if (__builtin_expect(!thrum__deque_push_owner(&w->deque, (uintptr_t)pushed | run->tag), 0))
            return complete_without_room(w, run, at, pushed, chosen);
        wake_if_wanted(w);
    } while (!(word & THRUM__LAST));
    thrum__alone_leave(w);
    return chosen;
}

/* Without counters it makes no difference whether the run is shared. */
static HOT thrum_task *complete_sole(worker *w, thrum__run *run, const uintptr_t *at)
{
    thrum_task *chosen = thrum__word_task(*at);
    uintptr_t word;
    do {
        word = *++at;
        thrum_task *pushed = thrum__word_task(word);
        if (word & THRUM__NEAR) {
            thrum_task *nearest = pushed;
            pushed = chosen;
            chosen = nearest;
        }
        if (__builtin_expect(!thrum__deque_push_owner(&w->deque, (uintptr_t)pushed | run->tag), 0)) {
            run_at_once(w, run, pushed);
            continue;
        }
        wake_if_wanted(w);
    } while (!(word & THRUM__LAST));
    if (__builtin_expect(thrum__deque_is_asked(&w->deque), 0))
        thrum__push_slow(w);
    return chosen;
}

static void push(worker *w, thrum__run *run, thrum_task *task)
{
    if (!thrum__deque_push_owner(&w->deque, (uintptr_t)task | run->tag)) {
        run_at_once(w, run, task);
        return;
    }
    if (thrum__deque_is_asked(&w->deque))
        thrum__push_slow(w);
    wake_if_wanted(w);
}

/* Sent where a deque would hide how urgent it is, or show it to those who may not run it. */
void thrum__run_put(worker *w, thrum__run *run, thrum_task *task)
{
    if (thrum__is_special(task) && (thrum__priority_of(task) > 0 || thrum__terms_of(task)->worker >= 0))
        thrum__send(w, run, task);
    else
        push(w, run, task);
}

/* Two tasks are ready: the one to run next. The other waits. */
static thrum_task *more_urgent(worker *w, thrum__run *run, thrum_task *chosen, thrum_task *ready)
{
    if (!chosen)
        return ready;
    thrum_task *other = ready;
    if (thrum__priority_of(ready) > thrum__priority_of(chosen)) {
        other = chosen;
        chosen = ready;
    }
    thrum__run_put(w, run, other);
    return chosen;
}

/* Some of the successors are special. A run with such tasks is never alone. */
static __attribute__((noinline)) thrum_task *complete_special(worker *w, thrum__run *run, const uintptr_t *at)
{
    thrum_task *chosen = NULL;
    uintptr_t word;
    do {
        word = *at++;
        thrum_task *ready = thrum__word_task(word);
        if (((word & THRUM__SOLE) || arrive_shared(ready)) && thrum__may_stay(w, run, ready))
            chosen = more_urgent(w, run, chosen, ready);
    } while (!(word & THRUM__LAST));
    return chosen;
}

static HOT thrum_task *complete(worker *w, thrum__run *run, const thrum_task *task)
{
    uintptr_t next = task->next;
    if (next & THRUM__ONE) {
        thrum_task *successor = thrum__word_task(next);
        if (next & THRUM__SOLE)
            return successor;
        if (!thrum__alone_enter(w, run))
            return arrive_shared(successor) ? successor : NULL;
        bool ready = arrive_alone(successor);
        thrum__alone_leave(w);
        return ready ? successor : NULL;
    }
    if (!next)
        return NULL;
    __builtin_prefetch((const char *)next + AHEAD);
    if (next & THRUM__SOLE)
        return complete_sole(w, run, (const uintptr_t *)(next - THRUM__SOLE));
    const uintptr_t *at = (const uintptr_t *)next;
    return thrum__alone_enter(w, run) ? complete_alone(w, run, at) : complete_shared(w, run, at, NULL);
}

/* ---- Running tasks ----------------------------------------------------------------------------------------------- */

/* The word of the successor with this number; 0 if there is none. */
static HOT uintptr_t successor_word(const thrum_task *task, int64_t number)
{
    uintptr_t next = task->next;
    if (next & THRUM__ONE)
        return number == 0 ? next : 0;
    const uintptr_t *word = (const uintptr_t *)(next & ~(uintptr_t)(THRUM__SOLE | THRUM__SPECIAL_IN));
    if (number < 0 || !word)
        return 0;
    for (; number > 0; number--, word++)
        if (*word & THRUM__LAST)
            return 0;
    return *word;
}

/* The successor with this number, which a condition has named: it runs whatever it has been waiting for, and counts its
 * predecessors anew from now on. NULL if there is none with that number. */
static HOT thrum_task *named_successor(const thrum_task *condition, int64_t number)
{
    uintptr_t word = successor_word(condition, number);
    if (!word)
        return NULL;
    thrum_task *task = thrum__word_task(word);
    /* Relaxed: whoever arrives at it later comes after the condition, or is a mistake of the graph's that freezing
     * warns of. */
    atomic_store_explicit(&task->pending, task->strong & THRUM__STRONG_MASK, memory_order_relaxed);
    return task;
}

static size_t count_successors(const thrum_task *task)
{
    uintptr_t one;
    size_t count = 0;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        count++;
    return count;
}

/* The sentence has been written. */
static void fail_choice(const thrum__run *run)
{
    thrum__root_fail(run->root, THRUM_ECHOICE, thrum__last_fault());
}

static __attribute__((noinline, cold)) void fail_named(const thrum__run *run, const thrum_task *condition,
                                                       int64_t number)
{
    char room[80], has[48];
    size_t count = count_successors(condition);
    const char *label = thrum__task_label(condition, room, sizeof room);
    bool choice = thrum__kind_of(condition) == THRUM__IS_CHOICE;
    if (count == 0)
        snprintf(has, sizeof has, "it has none");
    else
        snprintf(has, sizeof has, "it has those from 0 to %zu", count - 1);
    thrum__fault(THRUM_ECHOICE, "%s %s of graph '%s' named successor %lld, but %s; %s", choice ? "choice" : "condition",
                 label, run->handle->graph->names->graph, (long long)number, has,
                 choice ? "naming none is to write none" : "THRUM_STOP names none");
    fail_choice(run);
}

static __attribute__((noinline, cold)) void fail_count(const thrum__run *run, const thrum_task *choice, size_t named,
                                                       size_t has)
{
    char room[80];
    thrum__fault(THRUM_ECHOICE, "choice %s of graph '%s' named %zu successors, but it has %zu",
                 thrum__task_label(choice, room, sizeof room), run->handle->graph->names->graph, named, has);
    fail_choice(run);
}

/* A loop of tiny tasks that came to be shared, in a moment when the worker was held up, would go on that way for as
 * long as it turns. So a condition that finds nobody else in the run looks how long the last turn took. */
static __attribute__((noinline)) void consider_going_alone(worker *w, thrum__run *run)
{
    if (atomic_load_explicit(&run->strands, memory_order_relaxed) != 1) {
        atomic_store_explicit(&run->turn, 0, memory_order_relaxed);
        return;
    }
    int64_t now = thrum__now(), before = atomic_load_explicit(&run->turn, memory_order_relaxed);
    atomic_store_explicit(&run->turn, now, memory_order_relaxed);
    if (before && now - before < (int64_t)thrum__task_count(run->handle->graph) * THRUM__TINY_NS)
        thrum__alone_again(w, run);
}

static HOT void begin_asking(worker *w, thrum__run *run)
{
    if (atomic_load_explicit(&run->sharing, memory_order_relaxed) == RUN_SHARED)
        consider_going_alone(w, run);
}

static HOT thrum_task *ask_condition(worker *w, thrum__run *run, const thrum_task *condition)
{
    begin_asking(w, run);
    int number = condition->fn.condition(condition->arg);
    if (number == THRUM_STOP)
        return NULL;
    thrum_task *next = named_successor(condition, number);
    if (!next)
        fail_named(run, condition, number);
    return next;
}

/* A choice has named `next` after `chosen`, which may be NULL; one of them is special. The one to run next, if any may
 * run here; the other waits. */
static __attribute__((noinline)) thrum_task *special_pick(worker *w, thrum__run *run, thrum_task *chosen,
                                                          thrum_task *next)
{
    if (!thrum__may_stay(w, run, next))
        return chosen;
    return chosen ? more_urgent(w, run, next, chosen) : next;
}

/* The last one that is named runs next, unless another is more urgent: pipelines count on it. */
static HOT thrum_task *schedule_picks(worker *w, thrum__run *run, const thrum_task *choice, const int *picks,
                                      size_t count)
{
    thrum_task *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        thrum_task *next = named_successor(choice, picks[i]);
        if (!next) {
            fail_named(run, choice, picks[i]);
            break;
        }
        if (__builtin_expect(thrum__is_special(next) || (chosen && thrum__is_special(chosen)), 0)) {
            chosen = special_pick(w, run, chosen, next);
            continue;
        }
        if (chosen)
            push(w, run, chosen);
        chosen = next;
    }
    return chosen;
}

static __attribute__((noinline)) thrum_task *ask_choice(worker *w, thrum__run *run, const thrum_task *choice)
{
    int few[16], *picks = few;
    begin_asking(w, run);
    size_t room = count_successors(choice);
    if (room > sizeof few / sizeof few[0])
        picks = thrum__alloc(room * sizeof *picks);
    if (!picks) {
        thrum__root_fail(run->root, THRUM_ENOMEM, "no memory for what a condition names");
        return NULL;
    }
    size_t count = choice->fn.choice(picks, room, choice->arg);
    thrum_task *chosen = NULL;
    if (count > room)
        fail_count(run, choice, count, room);
    else
        chosen = schedule_picks(w, run, choice, picks, count);
    if (picks != few)
        thrum__free(picks);
    return chosen;
}

static bool gives_back(const thrum_task *task)
{
    return thrum__is_special(task) && thrum__terms_of(task)->release_count > 0;
}

/* In runs of every kind. */
static thrum_task *complete_any_run(worker *w, thrum__run *run, const thrum_task *task)
{
    return run->lanes ? thrum__pipelined_complete(w, run, task) : complete(w, run, task);
}

/* A task has completed that may have terms. */
static thrum_task *complete_any(worker *w, thrum__run *run, const thrum_task *task)
{
    if (!gives_back(task))
        return complete_any_run(w, run, task);
    thrum_task *woken = thrum__tokens_release(w, run, task);
    thrum_task *next = complete_any_run(w, run, task);
    return woken && next ? more_urgent(w, run, woken, next) : woken ? woken : next;
}

/* The same of a condition, which has named `next`. */
static thrum_task *complete_condition(worker *w, thrum__run *run, const thrum_task *task, thrum_task *next)
{
    thrum_task *woken = gives_back(task) ? thrum__tokens_release(w, run, task) : NULL;
    return woken && next ? more_urgent(w, run, woken, next) : woken ? woken : next;
}

/* A task of a cancelled run. */
static thrum_task *skip(worker *w, thrum__run *run, const thrum_task *task)
{
    if (thrum__is_special(task))
        thrum__skip(task);
    return thrum__is_condition(task) ? NULL : complete_any_run(w, run, task);
}

static __attribute__((noinline)) thrum_task *step_any(worker *w, thrum__run *run, thrum_task *task, uint32_t attention)
{
    uint32_t kind = thrum__kind_of(task);
    bool condition = kind == THRUM__IS_CONDITION || kind == THRUM__IS_CHOICE;
    bool completed = true;
    thrum_task *next = NULL;
    watch watch;
    if (thrum__is_cancelled(attention))
        return skip(w, run, task);
    if (thrum__is_special(task) && !thrum__admit(w, run, task))
        return NULL;
    uint64_t outer_iteration = w->iteration; /* the worker may be in the middle of another task that waits */
    if (run->lanes)
        w->iteration = thrum__iteration_of(run, task);
    if (thrum__is_watched(attention))
        thrum__watch_begin(w, &watch, task, thrum_task_number(task));
    if (kind == THRUM__IS_CONDITION)
        next = ask_condition(w, run, task);
    else if (kind == THRUM__IS_CHOICE)
        next = ask_choice(w, run, task);
    else if (kind == THRUM__IS_SCOPE)
        thrum__call_scope(w, run->root, task->fn.scope, task->arg);
    else if (kind == THRUM__IS_EVENT)
        completed = thrum__event_call(w, run, task);
    else
        task->fn.plain(task->arg);
    if (thrum__is_watched(attention))
        thrum__watch_end(w, &watch);
    w->iteration = outer_iteration;
    if (kind == THRUM__IS_MODULE)
        completed = thrum__module_run(w, run, task);
    if (!completed)
        return NULL;
    return condition ? complete_condition(w, run, task, next) : complete_any(w, run, task);
}

/* Tasks that are not just a function, cancelled runs, observers and traces, pipelined runs. The task to run next, or
 * NULL. In a cancelled run functions are not called, but all is counted that would be; conditions name nothing, so
 * loops end.
 *
 * Most conditions and choices need nothing of all that, and what turns a loop should cost little: they come first. */
static __attribute__((noinline)) thrum_task *step_slowly(worker *w, thrum__run *run, thrum_task *task)
{
    uint32_t attention = __atomic_load_n(&run->root->attention, __ATOMIC_RELAXED);
    uint32_t plain_kind = attention ? 0 : task->strong & (THRUM__KIND_MASK | THRUM__SPECIAL);
    if (plain_kind == THRUM__IS_CONDITION)
        return ask_condition(w, run, task);
    if (plain_kind == THRUM__IS_CHOICE)
        return ask_choice(w, run, task);
    return step_any(w, run, task, attention);
}

/* Calls the task, and gives the one to run next without touching the deque, or NULL. `attention` is the root's: handed
 * down so that it stays in a register. Its sign bit is set when it is not zero, as is that of `strong` for tasks that
 * are not just a function: one test for both. */
static HOT thrum_task *step(worker *w, thrum__run *run, const uint32_t *attention, thrum_task *task)
{
    __builtin_prefetch((const char *)task + AHEAD);
    if (__builtin_expect((int32_t)(__atomic_load_n(attention, __ATOMIC_RELAXED) | task->strong) < 0, 0))
        return step_slowly(w, run, task);
    task->fn.plain(task->arg);
    return complete(w, run, task);
}

static HOT thrum_task *pop(worker *w, const thrum__run *run, int64_t base)
{
    bool ask = false;
    uintptr_t word = thrum__deque_pop_owner(&w->deque, base, &ask);
    if (__builtin_expect(ask, 0))
        word = thrum__pop_slow(w, base);
    thrum__assert(!word || (word & ~TASK_MASK) == run->tag);
    (void)run;
    return (thrum_task *)(word & TASK_MASK);
}

/* Runs the task, what it makes ready, and all else that is in the deque from `base` on. */
static void run_from(worker *w, thrum__run *run, thrum_task *task, int64_t base)
{
    const uint32_t *attention = run->attention;
    for (; task; task = pop(w, run, base)) {
        do
            task = step(w, run, attention, task);
        while (task);
    }
}

static __attribute__((noinline, cold)) void run_at_once(worker *w, thrum__run *run, thrum_task *task)
{
    while (task)
        task = step(w, run, run->attention, task);
}

/* The same where some tasks are more urgent than others: between two tasks it looks for one of high priority. */
static void run_carefully(worker *w, thrum__run *run, thrum_task *task, int64_t base)
{
    while (task) {
        thrum_task *urgent = thrum__priority_of(task) > 0 ? NULL : thrum__post_take_urgent(w, run);
        if (urgent) {
            push(w, run, task);
            task = urgent;
        }
        task = step(w, run, run->attention, task);
        if (!task)
            task = pop(w, run, base);
    }
}

static __attribute__((noinline)) void call_slowly(worker *w, thrum__run *run, thrum_task *task)
{
    while (task)
        task = step_slowly(w, run, task);
}

/* A task without successors. If it is special, no task of the graph has any: it may be followed by one that has
 * waited. */
static HOT void call(worker *w, thrum__run *run, const uint32_t *attention, thrum_task *task)
{
    if (__builtin_expect((int32_t)(__atomic_load_n(attention, __ATOMIC_RELAXED) | task->strong) < 0, 0))
        call_slowly(w, run, task);
    else
        task->fn.plain(task->arg);
}

/* Until the run needs attention: where it has come to. */
static size_t run_calls(const uint32_t *attention, const thrum__bare_call *calls, size_t from, size_t to)
{
    for (; from < to && __atomic_load_n(attention, __ATOMIC_RELAXED) == 0; from++) {
        __builtin_prefetch((const char *)&calls[from] + FAR_AHEAD);
        calls[from].fn(calls[from].arg);
    }
    return from;
}

/* A graph without edges: its tasks lie side by side, two in a cache line, and nothing becomes ready. */
static void run_neighbours(worker *w, thrum__run *run, size_t from, size_t to)
{
    const uint32_t *attention = &run->root->attention;
    const thrum_graph *graph = run->handle->graph;
    if (graph->calls && !graph->terms)
        from = run_calls(attention, graph->calls, from, to);
    while (from < to) {
        size_t count;
        thrum_task *task = thrum__task_number_at(graph, from, &count);
        count = count < to - from ? count : to - from;
        from += count;
        for (const thrum_task *end = task + count; task < end; task++) {
            __builtin_prefetch((const char *)task + FAR_AHEAD);
            call(w, run, attention, task);
            if (++task < end)
                call(w, run, attention, task);
        }
    }
}

/* Urgent ones, which come first, are for everybody; the rest is run between them. */
static void run_sources_carefully(worker *w, thrum__run *run, size_t from, size_t to, int64_t base)
{
    for (; from < to && thrum__priority_of(run->sources[from]) > 0; from++)
        thrum__send(w, run, run->sources[from]);
    for (; from < to; from++)
        run_carefully(w, run, run->sources[from], base);
}

/* Tasks have more to do when they complete than their records tell. */
static void run_first_firings(worker *w, thrum__run *run, size_t from, size_t to, int64_t base)
{
    size_t neighbours;
    for (; from < to; from++)
        run_from(w, run,
                 run->sources ? run->sources[from] : thrum__task_number_at(run->handle->graph, from, &neighbours),
                 base);
}

static void run_sources(worker *w, thrum__run *run, size_t from, size_t to, int64_t base)
{
    const uint32_t *attention = &run->root->attention;
    if (run->careful) {
        run_sources_carefully(w, run, from, to, base);
        return;
    }
    if (run->lanes) {
        run_first_firings(w, run, from, to, base);
        return;
    }
    if (!run->sources) {
        run_neighbours(w, run, from, to);
        return;
    }
    thrum_task *const *at = run->sources + from, *const *end = run->sources + to;
    for (; at < end; at++) {
        if ((*at)->next || thrum__is_special(*at)) {
            run_from(w, run, *at, base);
            continue;
        }
        __builtin_prefetch((const char *)*at + AHEAD);
        call(w, run, attention, *at);
    }
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

bool thrum__run_raise(thrum__run *run)
{
    int64_t strands = atomic_load_explicit(&run->strands, memory_order_relaxed);
    while (strands > 0)
        if (atomic_compare_exchange_weak_explicit(&run->strands, &strands, strands + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Nobody else is in the run: what is made here is seen by whoever joins it. */
static void make_calls(thrum_graph *graph)
{
    bool worth_it = graph->task_ns > 0 && graph->task_ns < THRUM__MINUTE_NS && thrum__task_count(graph) >= CALLS_FROM;
    if (worth_it && !graph->sources && !graph->calls_tried)
        thrum__calls_make(graph);
}

/* Opens an iteration for the caller: alone or, where that worker shows all it has, as first strand of several. */
static void begin_iteration(worker *w, thrum__run *run)
{
    /* Where there are conditions, nobody knows how many tasks run: a task in a loop would seem to take as long as the
     * loop. */
    thrum_graph *graph = run->handle->graph;
    bool timed = thrum__task_count(graph) >= TIMED_FROM && !graph->conditions && !run->lanes;
    run->began = timed ? thrum__now() : 0;
    if (timed) {
        thrum__crowd_begin(w, run);
        make_calls(graph);
    }
    atomic_store_explicit(&run->turn, 0, memory_order_relaxed);
    run->began_in_line = timed && thrum__line_pays(w, run);
    atomic_store_explicit(&run->in_line, run->began_in_line, memory_order_relaxed);
    if (thrum__alone_begin(w, run))
        return;
    run->began_in_line = false;
    atomic_store_explicit(&run->in_line, false, memory_order_relaxed);
    run->has_token = run->count > 1;
    atomic_store_explicit(&run->cursor, 0, memory_order_relaxed);
    atomic_store_explicit(&run->sharing, RUN_SHARED, memory_order_relaxed);
    if (run->has_token)
        thrum__run_publish(w->domain, run, 2);
    else
        atomic_store_explicit(&run->strands, 1, memory_order_release);
}

/* Where it was broken off, its last task has been called but not completed. */
static void run_line(worker *w, thrum__run *run, int64_t base)
{
    const thrum_task *last = thrum__line_run(w, run);
    thrum_task *next = last ? complete(w, run, last) : NULL;
    if (next)
        run_from(w, run, next, base);
}

static void run_shares(worker *w, thrum__run *run, int64_t base)
{
    size_t from, to;
    if (atomic_load_explicit(&run->in_line, memory_order_relaxed))
        run_line(w, run, base);
    while (thrum__run_take_sources(w, run, &from, &to))
        run_sources(w, run, from, to, base);
}

/* Everything that belongs to an iteration has ended, detached functions too: whether there is another one. */
bool thrum__run_goes_on(thrum_handle *handle)
{
    if (thrum__is_cancelled(__atomic_load_n(&handle->root->attention, __ATOMIC_RELAXED)))
        return false;
    if (handle->fn.until ? handle->fn.until(handle->arg) : --handle->left == 0)
        return false;
    handle->iteration++;
    atomic_store_explicit(&handle->pending, 1, memory_order_relaxed);
    return true;
}

/* If it was a module's, and the worker that began it has left: its handle, with which the caller goes on in the
 * parent's run. */
thrum_handle *thrum__run_end(worker *w, thrum__run *run)
{
    thrum_handle *handle = run->handle;
    atomic_store_explicit(&handle->run, NULL, memory_order_relaxed);
    thrum__run_recycle(w, handle->ex, run);
    if (handle->parent)
        return thrum__module_end(handle) ? handle : NULL;
    thrum__handle_end(handle);
    return NULL;
}

/* The strand has nothing left to do: whether it was the last. */
static bool lower(worker *w, thrum__run *run)
{
    thrum__crowd_end(w, run);
    if (atomic_load_explicit(&run->sharing, memory_order_acquire) == RUN_ALONE && thrum__alone_end(w, run))
        return true;
    thrum__alone_share(w, run);
    return atomic_fetch_sub_explicit(&run->strands, 1, memory_order_acq_rel) == 1;
}

/* What is known of the time that a task takes, after a run in which it was between `least` and `most`. A run may have
 * been held up by others, so it raises what is known to twice as much at most; lowered it is at once. */
int64_t thrum__pace(int64_t known, int64_t least, int64_t most)
{
    if (known == 0 || known > most)
        return most;
    if (known >= least)
        return known;
    return least < 2 * known ? least : 2 * known;
}

/* Remembers how long the graph's tasks take, for the next run to begin in the right way. A run that was shared may have
 * had all workers, or hardly more than one: it says between what bounds the time is, and where what is known lies
 * between them it stays. (A run that was shared by mistake, and slower for it, would else be the reason for sharing the
 * next one.) In a crowd tasks seem longer than they are. */
static void note_pace(const worker *w, const thrum__run *run)
{
    if (!run->began)
        return;
    bool shared = atomic_load_explicit(&run->sharing, memory_order_relaxed) == RUN_SHARED;
    thrum_graph *graph = run->handle->graph;
    int64_t all = thrum__now() - run->began, tasks = (int64_t)thrum__task_count(graph);
    int64_t least = 1 + all / tasks;
    if (__atomic_load_n(&run->root->attention, __ATOMIC_RELAXED) == 0) /* a cancelled run is a short one */
        thrum__line_note(graph, run->began_in_line, all);
    if (run->began_in_line)
        return;
    int64_t most = shared ? 1 + all * w->ex->cpu.life.limit / tasks : least;
    int64_t task_ns = thrum__pace(graph->task_ns, least, most);
    if (graph->task_ns == 0 || task_ns < graph->task_ns || !thrum__crowded(w->domain))
        graph->task_ns = task_ns;
}

/* Whoever is last begins the next iteration or ends the run, unless detached functions are still under way: then the
 * last of those does it (thrum__run_detached_ended). */
static thrum_handle *leave(worker *w, thrum__run *run, int64_t base)
{
    while (lower(w, run)) {
        thrum_handle *handle = run->handle;
        note_pace(w, run);
        run->sources = handle->graph->sources; /* a line that was broken off has left others */
        run->count = handle->graph->source_count;
        if (handle->graph->terms && handle->graph->terms->uses)
            thrum__tokens_end(run);
        if (handle->graph->conditions)
            thrum__graph_restore(handle->graph);
        if (!thrum__pending_lower(handle))
            return NULL;
        if (!thrum__run_goes_on(handle))
            return thrum__run_end(w, run);
        if (!w->at_home) {
            thrum__run_begin_published(run, w->ex);
            return NULL;
        }
        begin_iteration(w, run);
        run_shares(w, run, base);
    }
    return NULL;
}

/* Behind a module that has ended its worker goes on in the parent's run: at home, or sends that there. The parent's run
 * has a strand that the module has kept. */
static bool goes_on_behind(worker *w, thrum_handle *module)
{
    if (w->at_home)
        return true;
    module->post =
        (thrum__post){.run = module->parent, .task = module->module_task, .completed = true, .module = module};
    thrum__post_put(&w->ex->cpu, POST_NORMAL, &module->post);
    return false;
}

/* A strand's whole life, from `first` on (a stolen task; or one that has completed) or a share of the sources. The
 * caller has raised strands. Where a module ends whose beginner has left, it goes on as the parent's strand that the
 * module has kept: in a loop, for modules may be nested deeply. */
enum beginning { AT_TASK, BEHIND_TASK, AT_ITERATION };

static void work(worker *w, thrum__run *run, thrum_task *first, enum beginning beginning)
{
    thrum__root *outer = w->root;
    thrum__run *outer_run = w->run;
    int64_t base = thrum__deque_bottom_owner(&w->deque);
    w->root = run->root;
    w->run = run;
    if (beginning == AT_ITERATION)
        begin_iteration(w, run);
    else if (beginning == BEHIND_TASK)
        first = complete_any(w, run, first);
    for (;;) {
        if (first && run->careful)
            run_carefully(w, run, first, base);
        else if (first)
            run_from(w, run, first, base);
        if (w->at_home)
            run_shares(w, run, base);
        thrum_handle *module = leave(w, run, base);
        if (!module || !goes_on_behind(w, module))
            break;
        run = w->run = module->parent;
        first = complete_any(w, run, module->module_task);
        thrum__handle_return(w, module);
    }
    w->root = outer;
    w->run = outer_run;
}

void thrum__run_work(worker *w, thrum__run *run, thrum_task *first)
{
    if (run->stream)
        thrum__stream_work(w, run, first);
    else
        work(w, run, first, AT_TASK);
}

void thrum__run_work_behind(worker *w, thrum__run *run, thrum_task *completed, thrum_handle *module)
{
    work(w, run, completed, BEHIND_TASK);
    thrum__handle_return(w, module);
}

void thrum__run_whole(worker *w, thrum__run *run)
{
    work(w, run, NULL, AT_ITERATION);
}

/* ---- Graphs of one task ------------------------------------------------------------------------------------------ */

static thrum_task *only_task(const thrum_graph *graph)
{
    size_t count;
    return thrum__task_number_at(graph, 0, &count);
}

bool thrum__is_call(const thrum_graph *graph)
{
    const thrum_task *task = only_task(graph);
    uint32_t kind = thrum__kind_of(task);
    return kind != THRUM__IS_MODULE && kind != THRUM__IS_EVENT && !thrum__is_special(task);
}

void thrum__call_only_task(worker *w, thrum_handle *handle)
{
    thrum__run none, *outer_run = w->run;
    thrum__root *outer = w->root;
    none.handle = handle;
    none.lanes = NULL;
    atomic_init(&none.sharing, RUN_ALONE);
    w->root = none.root = handle->root;
    w->run = &none;
    call(w, &none, &handle->root->attention, only_task(handle->graph));
    w->root = outer;
    w->run = outer_run;
}
