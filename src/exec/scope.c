/* SPDX-License-Identifier: MIT
 *
 * Spawn and join: a direct task stack per worker.
 *
 * After Faxén's Wool ("Efficient work stealing for fine grained parallelism", ICPP 2010): spawned tasks lie in a stack
 * of fixed places; the owner and a thief meet at the state of one place, not at an index. The newer places are the
 * owner's own: nobody else sees them, and joining a child there takes neither a read-modify-write nor a fence. The
 * older ones have been shown because somebody asked (door.c, which also says how they are had when the owner is away).
 *
 *      spawns ... bottom ... spawns_shown ... top
 *               |  public   |     private    |
 *
 * Roles
 *   The owner (the thread whose worker it is) pushes at `top` and takes the newest child back when it joins. A thief
 *   claims the place at `bottom`, the oldest child. Whoever holds the door moves spawns_shown.
 *
 * States of a place (low bits of the word; the rest is the thief's worker)
 *   EMPTY              nothing here, or a private child
 *   [COPY|HEAP]        a private child whose argument is a copy in the place or in the heap
 *   READY [COPY|HEAP]  a public child that nobody has
 *   thief              claimed; not sure yet
 *   thief RUNNING      stolen, and u.thief_first is set
 *   ... WAITING        the owner parks, and whoever changes the state next wakes it
 *   FINISHED           the thief has finished
 *
 * Changes:  EMPTY -> READY (whoever shows it)      READY -> EMPTY (owner, join)
 *           READY -> thief -> thief RUNNING -> FINISHED (thief)     thief -> READY (thief, on second thoughts)
 *           thief [RUNNING] -> ... WAITING (owner)   FINISHED -> EMPTY (owner)
 *
 * Invariants
 *   1. bottom <= spawns_shown <= top, and places from top on are EMPTY.
 *   2. Below bottom and from spawns_shown on no place is READY: thieves take the oldest first.
 *   3. A claimed place is not pushed on again before its thief is FINISHED or has given it back.
 *   4. bottom is written by a thief that has claimed the place at bottom, or by the owner when the newest child is
 *      FINISHED.
 *
 * Why a thief looks at bottom again after its claim: it may have been away since it read bottom, while the owner joined
 * further down and pushed again, so that its place is not the oldest any more and advancing bottom would hide older
 * children from all thieves. Then it gives the place back. If bottom is still its place, nobody else can write it: no
 * other thief can claim the same place, and the owner waits for FINISHED before it writes.
 *
 * A join is strict: it runs the scope's own children, and for a stolen one what lies above thief_first in its thief's
 * stack, that is, the child's descendants. An open one runs whatever there is before it parks (nest.c).
 */
#include "exec/exec_int.h"
#include "exec/inside.h"

#include "base/alloc.h"
#include "sys/barrier.h"
#include "sys/clock.h"

#include <string.h>

enum { READY = THRUM__READY, COPY = 2, HEAP = 4, RUNNING = 8, WAITING = 16, FINISHED = 32, STATE_BITS = 63 };

/* Bits of thrum_scope.more. */
enum { MORE_ROOT = 1, MORE_GRAPHS = 2, MORE_DETACHED = 4, MORE_OPEN = 8 };

/* A worker without room: what scopes point to that must not push. */
static const int64_t nobody_sleeps = 0;
static thrum__spawn no_place;
static thrum__worker no_worker = {&no_place, &no_place, &no_place, &nobody_sleeps, 0};

struct scope_graph {
    struct scope_graph *next;
    thrum_graph *graph;
};

static worker *real_worker(const thrum_scope *scope)
{
    if (scope->worker != &no_worker)
        return (worker *)scope->worker;
    return (worker *)(scope->more & MORE_DETACHED ? scope->real : NULL);
}

/* ---- Calling ----------------------------------------------------------------------------------------------------- */

void thrum__call_scope(worker *w, thrum__root *root, thrum_scope_fn *fn, void *arg)
{
    thrum_scope scope;
    scope.worker = w ? &w->spawn : &no_worker;
    scope.first = scope.worker->top;
    scope.root = root;
    scope.more = 0;
    fn(&scope, arg);
    if (scope.worker->top != scope.first || scope.more)
        thrum__join_slow(&scope);
}

/* A spawned function, with all that the fast path leaves out. */
static void call_spawned(worker *w, thrum__root *root, thrum_scope_fn *fn, void *arg)
{
    uint32_t attention = __atomic_load_n(&root->attention, __ATOMIC_RELAXED);
    watch watch;
    if (thrum__is_cancelled(attention) || thrum__fails_too_deep(w, root))
        return;
    if (w && thrum__is_watched(attention))
        thrum__watch_begin(w, &watch, NULL, -1);
    thrum__call_scope(w, root, fn, arg);
    if (w && thrum__is_watched(attention))
        thrum__watch_end(w, &watch);
}

/* ---- Stealing ---------------------------------------------------------------------------------------------------- */

/* The acquire pairs with the owner's releases on top: the places below it are as the owner left them. The release on
 * each state hands that on to the thief that claims the place. */
void thrum__spawn_show_locked(worker *w, size_t most)
{
    thrum__spawn *top = __atomic_load_n(&w->spawn.top, __ATOMIC_ACQUIRE);
    thrum__spawn *place = atomic_load_explicit(&w->spawns_shown, memory_order_relaxed);
    for (; place < top && most > 0; place++, most--) {
        uintptr_t copied = __atomic_load_n(&place->state, __ATOMIC_RELAXED);
        __atomic_store_n(&place->state, copied | READY, __ATOMIC_RELEASE);
    }
    atomic_store_explicit(&w->spawns_shown, place, memory_order_relaxed);
}

static void wake_owner_if_waiting(worker *owner, uintptr_t state)
{
    if (state & WAITING)
        thrum__unpark(&owner->join_parker);
}

static bool is_settled(uintptr_t state)
{
    return state & (FINISHED | READY);
}

static uintptr_t state_of(const thrum__spawn *place)
{
    return __atomic_load_n(&place->state, __ATOMIC_ACQUIRE);
}

/* Whether the place, in the victim's stack, is of something that descends from `helped`, a child which the victim stole
 * and runs: it is from helped->u.thief_first on, the victim has not finished, and it is not of other work that the
 * victim took on in an open join. After a claim both are sure: if the victim has not finished then, it had not at the
 * claim; and work that it took on cannot end before a place of it that is claimed, so `strangers`, which was set before
 * that place was shown (the claim is an acquire), is still there. */
static bool descends_from(const thrum__spawn *helped, const worker *victim, const thrum__spawn *place)
{
    return place >= helped->u.thief_first && !is_settled(state_of(helped)) &&
           place < atomic_load_explicit(&victim->strangers, memory_order_relaxed);
}

/* Claims the victim's oldest child; with `helped` only what descends from that. It must do so after the claim too: the
 * victim may have finished, and pushed something else at the same place. */
bool thrum__spawn_steal(worker *thief, worker *victim, const thrum__spawn *helped, found *f)
{
    /* Acquire, with the owner's release in the join: the place below was emptied before bottom came back to it. */
    thrum__spawn *place = atomic_load_explicit(&victim->bottom, memory_order_acquire);
    if (helped && !descends_from(helped, victim, place))
        return false;
    uintptr_t state = __atomic_load_n(&place->state, __ATOMIC_RELAXED);
    if (!(state & READY))
        return false;
    /* Acquire, with the release of the spawn: fn, arg and root are there. */
    if (!__atomic_compare_exchange_n(&place->state, &state, (uintptr_t)thief, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return false;
    if (atomic_load_explicit(&victim->bottom, memory_order_relaxed) != place ||
        (helped && !descends_from(helped, victim, place))) {
        wake_owner_if_waiting(victim, __atomic_exchange_n(&place->state, state, __ATOMIC_RELEASE));
        return false;
    }
    atomic_store_explicit(&victim->bottom, place + 1, memory_order_release);
    *f = (found){.kind = FOUND_SPAWN,
                 .place = place,
                 .victim = victim,
                 .spawn_fn = place->u.fn,
                 .frees_arg = (state & HEAP) != 0};
    return true;
}

/* Runs a claimed child and tells its owner. */
void thrum__spawn_run(worker *w, const found *f)
{
    thrum__spawn *place = f->place;
    thrum__root *outer = w->root;
    void *arg = place->arg;
    w->root = place->root;
    place->u.thief_first = w->spawn.top;
    /* Release: the owner reads thief_first after it has seen RUNNING (acquire, in wait_for_thief). */
    __atomic_fetch_or(&place->state, (uintptr_t)RUNNING, __ATOMIC_RELEASE);
    call_spawned(w, place->root, f->spawn_fn, arg);
    w->root = outer;
    if (f->frees_arg)
        thrum__free(arg);
    /* Release: the child's work happens before its join. From here on the place is the owner's. */
    wake_owner_if_waiting(f->victim, __atomic_exchange_n(&place->state, (uintptr_t)FINISHED, __ATOMIC_ACQ_REL));
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

/* Sets the bit that asks to be woken: false if the place is settled, and there is nothing to wait for. By
 * compare-and-swap, so the thief either sees the bit in the exchange that settles the place, or has settled it
 * already. */
static bool ask_for_wake(thrum__spawn *place)
{
    uintptr_t state = state_of(place);
    while (!is_settled(state)) {
        if ((state & WAITING) || __atomic_compare_exchange_n(&place->state, &state, state | WAITING, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    }
    return false;
}

/* Parks until the thief is done or has given the child back. After each waking the bit is set anew: the child may have
 * changed hands meanwhile, and the next thief knows nothing of the one that waits. */
static void park_for_thief(worker *w, thrum__spawn *place)
{
    if (!ask_for_wake(place))
        return;
    thrum__step_aside(w);
    do
        thrum__park(&w->join_parker);
    while (ask_for_wake(place));
    thrum__step_back(w);
}

/* The child was stolen: help its thief or, in an open join, anybody; look a while, park. Returns when the place is
 * FINISHED or READY again. */
static void wait_for_thief(worker *w, thrum__spawn *place, bool open)
{
    int64_t looking_since = 0;
    for (;;) {
        uintptr_t state = state_of(place);
        found f;
        if (is_settled(state))
            return;
        worker *thief = (worker *)(state & ~(uintptr_t)STATE_BITS);
        if ((state & RUNNING) && !thrum__stack_spent(w) && thrum__spawn_steal(w, thief, place, &f)) {
            thrum__count_owner(&w->tally.steals, 1);
            thrum__spawn_run(w, &f);
            looking_since = 0;
            continue;
        }
        if (open && thrum__help_with_any(w)) {
            looking_since = 0;
            continue;
        }
        int64_t now = thrum__now();
        if (!looking_since)
            looking_since = now;
        if (state & RUNNING)
            thrum__count_owner(&w->tally.wasted, 1);
        if (open)
            thrum__door_look(w, now);
        else if (state & RUNNING)
            thrum__door_look_at(thief, now);
        if (now - looking_since > thrum__spin_ns(w->domain))
            park_for_thief(w, place);
        for (int i = 0; i < 8 && !is_settled(state_of(place)); i++)
            thrum__relax();
    }
}

/* The newest child, taken back: its place is free again before it runs, so a copied argument moves out first. */
static void run_own(worker *w, const thrum__spawn *place, uintptr_t state)
{
    _Alignas(16) uintptr_t copy[sizeof place->copy / sizeof place->copy[0]];
    void *arg = place->arg;
    if (state & COPY) {
        memcpy(copy, place->copy, sizeof copy);
        arg = copy;
    }
    call_spawned(w, place->root, place->u.fn, arg);
    if (state & HEAP)
        thrum__free(arg);
}

/* With the door held: the newest place is empty, and all below it is public. */
static void lower_top_locked(worker *w, thrum__spawn *place)
{
    __atomic_store_n(&place->state, (uintptr_t)THRUM__EMPTY, __ATOMIC_RELAXED);
    __atomic_store_n(&w->spawn.top, place, __ATOMIC_RELEASE);
    if (atomic_load_explicit(&w->spawns_shown, memory_order_relaxed) > place)
        atomic_store_explicit(&w->spawns_shown, place, memory_order_relaxed);
}

/* The newest child, if nobody has claimed it or its thief has finished. *state says which. */
static bool take_newest_locked(worker *w, thrum__spawn *place, uintptr_t *state)
{
    *state = state_of(place);
    if (place < atomic_load_explicit(&w->spawns_shown, memory_order_relaxed)) {
        /* Acquire: the reuse of the place comes after a thief that claimed it and gave it back. */
        if (!is_settled(*state) ||
            ((*state & READY) && !__atomic_compare_exchange_n(&place->state, state, (uintptr_t)THRUM__EMPTY, false,
                                                              __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return false;
    }
    lower_top_locked(w, place);
    /* Release: a thief that finds bottom here finds the place empty, or what is shown there later. */
    if (*state & FINISHED)
        atomic_store_explicit(&w->bottom, place, memory_order_release);
    return true;
}

static void join_newest(worker *w, bool open)
{
    thrum__spawn *place = w->spawn.top - 1;
    uintptr_t state;
    thrum__door_take(w);
    bool taken = take_newest_locked(w, place, &state);
    thrum__door_give(w);
    if (!taken)
        wait_for_thief(w, place, open);
    else if (!(state & FINISHED))
        run_own(w, place, state);
}

/* ---- Graphs in a scope ------------------------------------------------------------------------------------------- */

static void add_graph(thrum_scope *scope, struct scope_graph *node)
{
    node->next = scope->more & MORE_GRAPHS ? scope->graphs : NULL;
    scope->graphs = node;
    scope->more |= MORE_GRAPHS;
}

thrum_graph *thrum_scope_graph(thrum_scope *scope, const char *name)
{
    if (!scope) {
        thrum__fault(THRUM_EINVAL, "thrum_scope_graph: the scope is NULL");
        return NULL;
    }
    struct scope_graph *node = thrum__alloc(sizeof *node);
    thrum_graph *graph = node ? thrum_graph_new(name) : NULL;
    if (!graph) {
        thrum__free(node);
        thrum__fault(THRUM_ENOMEM, "thrum_scope_graph: no memory for graph '%s'", name ? name : "");
        thrum__root_fail(scope->root, THRUM_ENOMEM, thrum__last_fault());
        return NULL;
    }
    node->graph = graph;
    add_graph(scope, node);
    return graph;
}

static bool is_cancelled(const thrum__root *root)
{
    return thrum__is_cancelled(__atomic_load_n(&root->attention, __ATOMIC_RELAXED));
}

/* In the order in which they were made; the list has the newest first. */
static void run_graphs(worker *w, thrum_scope *scope)
{
    struct scope_graph *list = scope->graphs, *ordered = NULL;
    scope->more &= ~(uintptr_t)MORE_GRAPHS;
    while (list) {
        struct scope_graph *next = list->next;
        list->next = ordered;
        ordered = list;
        list = next;
    }
    while (ordered) {
        struct scope_graph *next = ordered->next;
        if (!is_cancelled(scope->root)) {
            if (w)
                thrum__run_inside(w, ordered->graph, scope->root, scope->more & MORE_OPEN);
            else
                thrum__root_fail(scope->root, THRUM_ENOMEM,
                                 "a graph in a scope needs a worker, and there was no memory for one");
        }
        thrum__graph_destroy(ordered->graph);
        thrum__free(ordered);
        ordered = next;
    }
}

/* ---- Open, spawn, join ------------------------------------------------------------------------------------------- */

static void open_in(thrum_scope *scope, thrum__worker *spawn, thrum__root *root)
{
    scope->worker = spawn;
    scope->first = spawn->top;
    scope->root = root;
    scope->more = 0;
}

/* A scope outside tasks has its own root, and keeps its thread a guest until the join. */
static void open_outside(thrum_scope *scope, thrum_executor *ex)
{
    ex = thrum__executor_or_default(ex);
    worker *w = NULL;
    if (ex && !thrum__executor_foreign(ex))
        w = thrum__self && thrum__self->ex == ex ? NULL : thrum__guest_enter(ex, true);
    scope->own = (thrum__root){.attention = w && ex->watched ? THRUM__WATCHED : 0};
    open_in(scope, w ? &w->spawn : &no_worker, &scope->own);
    scope->more = MORE_ROOT;
    if (w)
        w->root = &scope->own;
}

void(thrum_scope_open)(thrum_scope *scope, thrum_scope *up)
{
    worker *self = thrum__self;
    if (up)
        open_in(scope, up->more & MORE_DETACHED ? up->real : up->worker, up->root);
    else if (self && self->root)
        open_in(scope, &self->spawn, self->root);
    else
        open_outside(scope, NULL);
}

bool thrum__inside(const thrum_executor *ex)
{
    const worker *self = thrum__self;
    return self && self->root && (!ex || self->ex == ex);
}

void thrum_scope_open_on(thrum_scope *scope, thrum_executor *ex)
{
    if (thrum__inside(ex))
        open_in(scope, &thrum__self->spawn, thrum__self->root);
    else
        open_outside(scope, ex);
}

void(thrum_spawn)(thrum_scope *scope, thrum_scope_fn *fn, void *arg)
{
    thrum__inline_spawn(scope, fn, arg);
}

int(thrum_join)(thrum_scope *scope)
{
    return thrum__inline_join(scope);
}

int thrum_join_open(thrum_scope *scope)
{
    scope->more |= MORE_OPEN;
    return thrum__inline_join(scope);
}

/* A detached function is a handle of its own that counts in the run's; false without memory. */
static bool spawn_detached(thrum_scope *scope, thrum_scope_fn *fn, void *arg, bool frees_arg)
{
    worker *w = real_worker(scope);
    thrum_handle *owner = scope->root->run;
    thrum_handle *handle = thrum__handle_new(w->ex, WORK_SCOPE);
    if (!handle)
        return false;
    handle->fn.scope = fn;
    handle->arg = arg;
    handle->frees_arg = frees_arg;
    handle->root = owner->root;
    handle->owner = owner;
    /* Relaxed: the caller is part of the owner, so pending is above zero and stays so. */
    atomic_fetch_add_explicit(&owner->pending, 1, memory_order_relaxed);
    thrum__handle_leave_alone(handle);
    thrum__queue_put(w->domain, handle);
    return true;
}

/* Where a place is left for one more child. */
static bool has_room(const thrum_scope *scope)
{
    const worker *w = scope->worker == &no_worker ? NULL : (const worker *)scope->worker;
    return w && w->spawn.top != w->spawns_end;
}

/* Pushes onto a worker that has room and may be open: then the child is shown at once, as giving the door back does. */
static void push_child(worker *w, thrum__root *root, thrum_scope_fn *fn, void *arg, uintptr_t copied)
{
    thrum__spawn *place = w->spawn.top;
    place->u.fn = fn;
    place->arg = arg;
    place->root = root;
    __atomic_store_n(&place->state, copied, __ATOMIC_RELAXED);
    __atomic_store_n(&w->spawn.top, place + 1, __ATOMIC_RELEASE);
    if (!__atomic_load_n(&w->spawn.end, __ATOMIC_RELAXED)) {
        thrum__door_take(w);
        thrum__door_give(w);
    }
    atomic_signal_fence(memory_order_seq_cst);
    if (__atomic_load_n(w->spawn.idle, __ATOMIC_RELAXED) < 0)
        thrum__wake(&w->spawn);
}

/* No room in the stack, no worker, detached, or a worker that shows what it spawns at once. */
void thrum__spawn_slow(thrum_scope *scope, thrum_scope_fn *fn, void *arg)
{
    if ((scope->more & MORE_DETACHED) && spawn_detached(scope, fn, arg, false))
        return;
    if (has_room(scope))
        push_child((worker *)scope->worker, scope->root, fn, arg, 0);
    else
        call_spawned(real_worker(scope), scope->root, fn, arg);
}

static void spawn_copied_detached(thrum_scope *scope, thrum_scope_fn *fn, const void *arg, size_t size)
{
    void *copy = thrum__alloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, arg, size);
    if (copy && spawn_detached(scope, fn, copy, true))
        return;
    thrum__free(copy);
    call_spawned(real_worker(scope), scope->root, fn, (void *)(uintptr_t)arg);
}

void thrum_spawn_copy(thrum_scope *scope, thrum_scope_fn *fn, const void *arg, size_t size)
{
    thrum__spawn *place = scope->worker->top;
    bool small = size <= sizeof place->copy;
    if (scope->more & MORE_DETACHED) {
        spawn_copied_detached(scope, fn, arg, size);
        return;
    }
    void *copy = !has_room(scope) ? NULL : small ? place->copy : thrum__alloc(size);
    if (!copy) {
        /* Run at once, the caller's own argument will do: it outlives the call. */
        call_spawned(real_worker(scope), scope->root, fn, (void *)(uintptr_t)arg);
        return;
    }
    if (size)
        memcpy(copy, arg, size);
    push_child((worker *)scope->worker, scope->root, fn, copy, small ? COPY : HEAP);
}

int thrum_scope_detach(thrum_scope *scope)
{
    if (!scope || !scope->root->run)
        return thrum__fault(THRUM_EINVAL, "thrum_scope_detach: %s",
                            scope ? "the scope is not part of a run, so there is no later end to join at"
                                  : "the scope is NULL");
    if (scope->more & MORE_DETACHED)
        return 0;
    /* What was spawned before is joined as usual. Until then the scope looks like one with no room and no children. */
    scope->real = scope->worker;
    scope->real_first = scope->first;
    scope->worker = &no_worker;
    scope->first = no_worker.top;
    scope->more |= MORE_DETACHED;
    return 0;
}

static int close_outside(worker *w, thrum_scope *scope)
{
    int code = thrum__root_code(scope->root);
    if (code)
        thrum__fault(code, "%s", thrum__root_text(scope->root));
    thrum__free(scope->own.message);
    scope->own.message = NULL;
    if (w) {
        w->root = NULL;
        thrum__guest_leave(w);
    }
    return code;
}

int thrum__join_slow(thrum_scope *scope)
{
    worker *w = real_worker(scope);
    if (scope->more & MORE_DETACHED) {
        scope->worker = scope->real;
        scope->first = scope->real_first;
    }
    if (scope->more & MORE_GRAPHS)
        run_graphs(w, scope);
    while (w && w->spawn.top != scope->first)
        join_newest(w, scope->more & MORE_OPEN);
    bool outside = scope->more & MORE_ROOT;
    scope->more = 0;
    return outside ? close_outside(w, scope) : thrum__root_code(scope->root);
}

/* A lessee has the only place, and runs what it has pushed before it leaves, as anybody who has it: only the life cycle
 * says that there is one (worker.c). */
void thrum__wake(thrum__worker *spawn)
{
    worker *w = (worker *)spawn;
    if (w->leases)
        return;
    thrum__barrier_light();
    if (thrum__life_wants_wake(&w->domain->life))
        thrum__wake_one(w->domain);
}
