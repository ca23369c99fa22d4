/* SPDX-License-Identifier: MIT
 *
 * What a worker keeps to itself, and how others get it.
 *
 * A worker has three kinds of work that others might want: words in its deque, children in its stack of spawned tasks,
 * and sources of runs that it began. It keeps all of it to itself until somebody asks, since handling what is shared
 * costs several times what a small task does: read-modify-writes, and lines that go from core to core. In particular a
 * run belongs at first to the worker that began it (RUN_ALONE): its counters are then plain numbers.
 *
 * How others come by it
 *   Asking: a thief that finds nothing shown puts up the bar of a worker that hides something (thrum__deque_ask and the
 *   bar of the spawn stack). The owner sees it at its next pop or join, where it compares with the bar anyway, and
 *   serves: it makes its runs shared ones and shows half of its words and children.
 *   Raiding: an owner in the middle of a long task does not come by. So a thief that got no answer for ANSWER_NS takes
 *   the door itself, puts up the bar, passes a heavy barrier, and shows everything. It also sets `open`: tasks are long
 *   here, so from now on the owner shows what it pushes at once, as in a plain work-stealing deque, until many of its
 *   steps come in a short time.
 *
 * A thief does not ask at once if the victim has a run alone and goes through it quickly: tasks shorter than
 * THRUM__TINY_NS do not get faster by being shared (docs/benchmarking.md), unless there are many. It watches the victim
 * for a while, and asks when its tasks are longer, or when the run has gone on for PATIENCE_NS. What runs of the graph
 * took before counts more than what it sees of this one (left_alone_ns). Tasks shorter than THRUM__MINUTE_NS that have
 * counters are never worth it, and where others want the cores too (crowd.c) those shorter than THRUM__SMALL_NS. (A
 * task whose successors have no counters is not counted, and may seem longer than it is: sharing those costs little.)
 *
 * Why it is right
 *   Everything here is changed by whoever holds the door. The owner has it without holding it while the bar is down:
 *   - for its deque and stack, by lowering bottom (or top) and then looking at the bar;
 *   - for the counters and the sources of a run that is alone, and its list of such runs, by setting `inside` and then
 *     looking at the bar.
 *   Each is one half of Dekker's pattern, with nothing between the store and the load but an order for the compiler.
 *   The other half is the raider's: put up the bar, pass the heavy barrier, and then look at `inside`, bottom and top.
 *   Either the owner sees the bar, and waits for the door or counts with read-modify-writes; or the raider sees what
 *   the owner is at, and leaves it to the owner. A raider that finds the owner inside gives up: the owner is awake and
 *   will see the bar, which stays up until the owner has held the door.
 *   The owner's stores there are releases and the raider's loads acquires, so what the owner did alone happens before
 *   what others do once it is shared.
 *   Where the kernel has no membarrier, every worker is open for ever and no run is ever alone.
 *
 * tests/spin/door.pml is a model of it.
 */
#include "exec/exec_int.h"

#include "sys/barrier.h"
#include "sys/clock.h"

#include <sched.h>

enum { PATIENCE_NS = 400000, WATCH_NS = 2000, WATCH_MOST_NS = 50000, STALL_NS = 1000000, ANSWER_NS = 2000 };
enum { CROWDED_STALL_NS = 10000000 }; /* some turns of everybody who wants the core */
enum { MANY_NS = 4 * PATIENCE_NS };   /* tiny tasks that take so long altogether are many */
enum { OFTEN_NS = 10000000 };         /* from one run to the next */
enum { STEPS_PER_CLOCK = 32, OPEN_PAYS_NS = 150 };
enum { SHOW_MOST = 4096 }; /* spawned tasks shown in one go: each is a line to write */

/* ---- The bar and the door ---------------------------------------------------------------------------------------- */

static bool is_open(const worker *w)
{
    return atomic_load_explicit(&w->open, memory_order_relaxed);
}

static void ask(worker *w)
{
    thrum__deque_ask(&w->deque);
    __atomic_store_n(&w->spawn.bar, (thrum__spawn *)UINTPTR_MAX, __ATOMIC_RELAXED);
}

/* An open worker's spawns go the slow way, by an end that leaves no room. */
static void set_open_locked(worker *w, bool open)
{
    atomic_store_explicit(&w->open, open, memory_order_relaxed);
    __atomic_store_n(&w->spawn.end, open ? NULL : w->spawns_end, __ATOMIC_RELAXED);
}

void thrum__door_open_for_ever(worker *w)
{
    ask(w);
    set_open_locked(w, true);
}

static void unask_locked(worker *w)
{
    thrum__deque_unask_locked(&w->deque);
    __atomic_store_n(&w->spawn.bar, atomic_load_explicit(&w->spawns_shown, memory_order_relaxed), __ATOMIC_RELAXED);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void set_number(_Atomic uint32_t *number, uint32_t change)
{
    uint32_t old = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, old + change, memory_order_relaxed);
}

static bool has_sources(const thrum__run *run)
{
    return atomic_load_explicit(&run->cursor, memory_order_relaxed) < run->count;
}

/* Whether others could have something to do by its sources, or by the line that it runs in. */
static bool hides_sources(const thrum__run *run)
{
    return atomic_load_explicit(&run->in_line, memory_order_relaxed) || (run->count > 1 && has_sources(run));
}

void thrum__unhide_sources(worker *w)
{
    set_number(&w->hidden_sources, (uint32_t)-1);
}

/* Tasks that take less are better left to the worker that has them, if they have counters. */
static int64_t shared_from_ns(const worker *w)
{
    return thrum__crowded(w->domain) ? THRUM__SMALL_NS : THRUM__MINUTE_NS;
}

/* How long a run of the graph is left to the worker that begins it, by what the runs before took. Whoever looks sees a
 * moment of the run, and often its beginning, where tasks are not like the rest; and what has been shared stays so. So
 * knowledge of the whole counts more than that. Where tiny tasks are many there is nothing to wait for: a look
 * decides. */
static int64_t left_alone_ns(const worker *w, const thrum__run *run)
{
    const thrum_graph *graph = run->handle->graph;
    int64_t task_ns = graph->task_ns;
    if (atomic_load_explicit(&run->in_line, memory_order_relaxed))
        return thrum__line_left_ns(graph);
    if (!graph->counted || task_ns == 0)
        return thrum__is_short(graph) ? PATIENCE_NS : 0;
    if (task_ns < shared_from_ns(w))
        return INT64_MAX;
    return task_ns < THRUM__TINY_NS && task_ns * (int64_t)thrum__task_count(graph) < MANY_NS ? PATIENCE_NS : 0;
}

static void link_alone(worker *w, thrum__run *run)
{
    if (!thrum__door_hides(w)) {
        set_number(&w->begun, 1);
        atomic_store_explicit(&w->left_ns, left_alone_ns(w, run), memory_order_relaxed);
        atomic_store_explicit(&w->began_on, w->domain->life.limit > 1 ? sched_getcpu() : -1, memory_order_relaxed);
    }
    run->outer_alone = w->alone;
    w->alone = run;
    set_number(&w->alone_runs, 1);
    if (hides_sources(run))
        set_number(&w->hidden_sources, 1);
}

/* The owner may change its list. With `held` it holds the door, else it is inside. */
static void list_enter(worker *w, bool *held)
{
    set_number(&w->inside, 1);
    atomic_signal_fence(memory_order_seq_cst);
    *held = thrum__deque_is_asked(&w->deque);
    if (*held) {
        thrum__alone_leave(w);
        thrum__lock_take(&w->door);
    }
}

static void list_leave(worker *w, bool held)
{
    if (held)
        thrum__lock_give(&w->door);
    else
        thrum__alone_leave(w);
}

/* Whether the run is to be shared at once, as far as the worker and the graph know. Tasks with terms go to others
 * anyway. An open worker closes for a graph that is known to have tiny tasks. */
static bool shares_at_once(worker *w, const thrum__run *run, bool held)
{
    int64_t task_ns = run->handle->graph->task_ns;
    if (run->handle->graph->terms)
        return true;
    if (!thrum__has_membarrier || (task_ns >= THRUM__LONG_NS && w->domain->life.limit > 1))
        return true;
    if (!held || !is_open(w))
        return false;
    bool in_line = atomic_load_explicit(&run->in_line, memory_order_relaxed);
    if (!in_line && (task_ns == 0 || task_ns >= (thrum__crowded(w->domain) ? THRUM__SMALL_NS : THRUM__TINY_NS)))
        return true;
    set_open_locked(w, false);
    unask_locked(w);
    return false;
}

/* By what is known from the runs before: that it is better left alone, or over before anybody has come. */
static bool needs_nobody(const thrum__run *run)
{
    return atomic_load_explicit(&run->in_line, memory_order_relaxed) || thrum__is_short(run->handle->graph);
}

/* A dozer would have been of use. It is worth its while where that happens often. */
static void note_missed(domain *d, int64_t now)
{
    if (now - atomic_load_explicit(&d->missed_at, memory_order_relaxed) < OFTEN_NS)
        atomic_store_explicit(&d->dozer_missed, true, memory_order_relaxed);
    atomic_store_explicit(&d->missed_at, now, memory_order_relaxed);
}

/* Whether nobody has to be woken for the run: for if need be somebody will look after it all the same (worker.c,
 * "Dozing"). */
static bool is_looked_after(const worker *w, const thrum__run *run)
{
    domain *d = w->domain;
    if (!needs_nobody(run))
        return false;
    if (atomic_load_explicit(&d->dozing, memory_order_relaxed))
        return true;
    note_missed(d, run->began);
    return false;
}

bool thrum__alone_begin(worker *w, thrum__run *run)
{
    bool held, hides = false;
    list_enter(w, &held);
    bool alone = !shares_at_once(w, run, held);
    if (alone) {
        bool in_line = atomic_load_explicit(&run->in_line, memory_order_relaxed);
        atomic_store_explicit(&run->strands, 0, memory_order_relaxed);
        atomic_store_explicit(&run->line, 0, memory_order_relaxed);
        atomic_store_explicit(&run->cursor, in_line ? run->count : 0, memory_order_relaxed);
        atomic_store_explicit(&run->sharing, RUN_ALONE, memory_order_relaxed);
        run->has_token = false;
        link_alone(w, run);
        hides = hides_sources(run);
    }
    list_leave(w, held);
    if (hides) {
        /* As after a push: the sources are there, and somebody may be about to sleep. */
        atomic_signal_fence(memory_order_seq_cst);
        if (__atomic_load_n(w->spawn.idle, __ATOMIC_RELAXED) < 0 && !is_looked_after(w, run))
            thrum__wake(&w->spawn);
    }
    return alone;
}

/* With nothing shown nobody can be about to take a task of it, and with no strands nobody joins. Acquire, with the
 * releases of those who left: what they did happens before. */
static bool last_strand_closes(worker *w, thrum__run *run)
{
    int64_t own = 1;
    return !thrum__deque_shows(&w->deque) &&
           atomic_compare_exchange_strong_explicit(&run->strands, &own, 0, memory_order_acquire, memory_order_relaxed);
}

bool thrum__alone_again(worker *w, thrum__run *run)
{
    bool held;
    if (!thrum__has_membarrier || run->handle->graph->terms)
        return false;
    list_enter(w, &held);
    bool may = !held || is_open(w); /* not while somebody asks */
    bool alone = may && last_strand_closes(w, run);
    if (alone) {
        run->has_token = false;
        atomic_store_explicit(&run->sharing, RUN_ALONE, memory_order_relaxed);
        link_alone(w, run);
    }
    if (alone && held) {
        set_open_locked(w, false);
        unask_locked(w);
    }
    list_leave(w, held);
    return alone;
}

/* A run that ends is the innermost of those that its worker has alone: what is nested in it has ended. */
bool thrum__alone_end(worker *w, thrum__run *run)
{
    bool held;
    list_enter(w, &held);
    bool alone = atomic_load_explicit(&run->sharing, memory_order_relaxed) == RUN_ALONE;
    if (alone) {
        thrum__assert(w->alone == run);
        w->alone = run->outer_alone;
        set_number(&w->alone_runs, (uint32_t)-1);
    }
    list_leave(w, held);
    return alone;
}

bool thrum__alone_take_sources(worker *w, thrum__run *run, size_t *from, size_t *to)
{
    if (!thrum__alone_enter(w, run))
        return false;
    size_t at = atomic_load_explicit(&run->cursor, memory_order_relaxed), share = thrum__run_share(run, at);
    *from = at;
    *to = at + share;
    atomic_store_explicit(&run->cursor, *to, memory_order_relaxed);
    set_number(&w->shares, 2 * (uint32_t)share);
    if (share > 0 && *to == run->count && run->count > 1)
        set_number(&w->hidden_sources, (uint32_t)-1);
    thrum__alone_leave(w);
    return true;
}

/* Shared runs leave the list. Strands come last, with a release for those who raise them: what they read of the run has
 * been said by then. Without a token the owner's strand is all there is, so from then on the run may end at any
 * moment. */
static void share_runs_locked(worker *w)
{
    while (w->alone) {
        thrum__run *run = w->alone;
        if (hides_sources(run))
            set_number(&w->hidden_sources, (uint32_t)-1);
        if (atomic_load_explicit(&run->in_line, memory_order_relaxed))
            thrum__line_break_off(run);
        bool token = has_sources(run);
        w->alone = run->outer_alone;
        run->has_token = token;
        set_number(&w->alone_runs, (uint32_t)-1);
        atomic_store_explicit(&run->sharing, RUN_SHARED, memory_order_release);
        if (token)
            thrum__run_publish(w->domain, run, 2);
        else
            atomic_store_explicit(&run->strands, 1, memory_order_release);
    }
}

/* Whoever is in a shared run has a strand, so no strands means that it is still alone, or that a raider is just about
 * to count the owner's: then the door is held until it has. */
void thrum__alone_share(worker *w, thrum__run *run)
{
    if (atomic_load_explicit(&run->strands, memory_order_acquire) > 0)
        return;
    thrum__lock_take(&w->door);
    share_runs_locked(w);
    thrum__lock_give(&w->door);
}

/* ---- The owner's side -------------------------------------------------------------------------------------------- */

/* Whether being open still pays: only where steps are far apart. */
static void count_step_locked(worker *w)
{
    if (++w->slow_steps < STEPS_PER_CLOCK)
        return;
    int64_t now = thrum__now();
    if (now - w->slow_since < STEPS_PER_CLOCK * OPEN_PAYS_NS && thrum__has_membarrier)
        set_open_locked(w, false);
    w->slow_since = now;
    w->slow_steps = 0;
}

static int64_t half_of(int64_t all)
{
    return all - all / 2;
}

static void show_half_locked(worker *w)
{
    int64_t words = thrum__deque_bottom_owner(&w->deque) - atomic_load_explicit(&w->deque.shown, memory_order_relaxed);
    int64_t spawns = w->spawn.top - atomic_load_explicit(&w->spawns_shown, memory_order_relaxed);
    thrum__deque_show_locked(&w->deque, half_of(words));
    thrum__spawn_show_locked(w, spawns > SHOW_MOST ? SHOW_MOST : (size_t)half_of(spawns));
}

static void show_all_locked(worker *w)
{
    thrum__deque_show_locked(&w->deque, INT64_MAX);
    thrum__spawn_show_locked(w, SHOW_MOST);
}

void thrum__door_take(worker *w)
{
    thrum__lock_take(&w->door);
}

/* Serves whoever asked before it gives the door back. */
void thrum__door_give(worker *w)
{
    if (is_open(w)) {
        count_step_locked(w);
        share_runs_locked(w);
        show_all_locked(w);
    } else if (thrum__deque_is_asked(&w->deque)) {
        share_runs_locked(w);
        show_half_locked(w);
    }
    if (!is_open(w))
        unask_locked(w);
    thrum__lock_give(&w->door);
}

void thrum__door_close(worker *w)
{
    if (!is_open(w) || !thrum__has_membarrier)
        return;
    thrum__lock_take(&w->door);
    set_open_locked(w, false);
    unask_locked(w);
    thrum__lock_give(&w->door);
}

uintptr_t thrum__pop_slow(worker *w, int64_t base)
{
    thrum__door_take(w);
    uintptr_t word = thrum__deque_pop_locked(&w->deque, base, !is_open(w));
    thrum__door_give(w);
    return word;
}

void thrum__push_slow(worker *w)
{
    thrum__door_take(w);
    thrum__door_give(w);
}

void thrum__door_show_all(worker *w)
{
    if (!thrum__door_hides(w) && atomic_load_explicit(&w->alone_runs, memory_order_relaxed) == 0)
        return;
    thrum__lock_take(&w->door);
    share_runs_locked(w);
    show_all_locked(w);
    if (!is_open(w))
        unask_locked(w);
    thrum__lock_give(&w->door);
}

/* ---- The others' side -------------------------------------------------------------------------------------------- */

static bool raid(worker *victim)
{
    if (!thrum__lock_try(&victim->door))
        return false;
    ask(victim);
    thrum__barrier_heavy();
    bool away = atomic_load_explicit(&victim->inside, memory_order_acquire) % 2 == 0;
    if (away) {
        share_runs_locked(victim);
        show_all_locked(victim);
        set_open_locked(victim, true);
        victim->slow_since = thrum__now();
        victim->slow_steps = 0;
    }
    thrum__lock_give(&victim->door);
    return away;
}

static int64_t get(const _Atomic int64_t *moment)
{
    return atomic_load_explicit(moment, memory_order_relaxed);
}

static void set(_Atomic int64_t *moment, int64_t value)
{
    atomic_store_explicit(moment, value, memory_order_relaxed);
}

/* How many since the last look. */
static int64_t advance(_Atomic uint32_t *seen, uint32_t now)
{
    uint32_t before = atomic_load_explicit(seen, memory_order_relaxed);
    atomic_store_explicit(seen, now, memory_order_relaxed);
    return (uint32_t)(now - before) / 2;
}

static void start_watching(worker *victim, int64_t now)
{
    watched_door *watched = &victim->watched;
    uint32_t begun = atomic_load_explicit(&victim->begun, memory_order_relaxed);
    if (get(&watched->first_seen) && atomic_load_explicit(&watched->begun, memory_order_relaxed) == begun)
        return;
    atomic_store_explicit(&watched->begun, begun, memory_order_relaxed);
    advance(&watched->inside, atomic_load_explicit(&victim->inside, memory_order_relaxed));
    advance(&watched->shares, atomic_load_explicit(&victim->shares, memory_order_relaxed));
    set(&watched->first_seen, now);
    set(&watched->seen, now);
    set(&watched->asked, 0);
}

/* How long a victim that is to be left alone for `left` may stand still until somebody asks. */
static int64_t stall_ns(worker *victim, int64_t left)
{
    int64_t most = thrum__crowded(victim->domain) ? CROWDED_STALL_NS : STALL_NS;
    return left / 4 < most ? left / 4 : most;
}

/* Whether the victim has a run alone and is better left to it. */
static bool better_left_alone(worker *victim, int64_t now)
{
    watched_door *watched = &victim->watched;
    if (atomic_load_explicit(&victim->alone_runs, memory_order_relaxed) == 0)
        return false;
    int64_t elapsed = now - get(&watched->seen), whole = now - get(&watched->first_seen);
    int64_t completed = advance(&watched->inside, atomic_load_explicit(&victim->inside, memory_order_relaxed));
    int64_t called = advance(&watched->shares, atomic_load_explicit(&victim->shares, memory_order_relaxed));
    int64_t left = atomic_load_explicit(&victim->left_ns, memory_order_relaxed);
    bool first = elapsed == 0, stands = completed == 0 && !first;
    int64_t pause = first ? WATCH_NS : 2 * elapsed < WATCH_MOST_NS ? 2 * elapsed : WATCH_MOST_NS;
    set(&watched->not_before, now + pause);
    /* Known from the runs before: then it takes more than a moment's standing still, which may be the system's
     * doing. */
    if (left && stands)
        return elapsed < stall_ns(victim, left);
    set(&watched->seen, now);
    return first || whole < left || completed * THRUM__MINUTE_NS > elapsed ||
           ((completed + called) * THRUM__TINY_NS > elapsed && whole < PATIENCE_NS);
}

/* One looks at a time. */
static bool claim_look(watched_door *watched, int64_t now)
{
    int64_t not_before = get(&watched->not_before);
    return now >= not_before &&
           atomic_compare_exchange_strong_explicit(&watched->not_before, &not_before, now + ANSWER_NS,
                                                   memory_order_relaxed, memory_order_relaxed);
}

enum look thrum__door_look_at(worker *victim, int64_t now)
{
    watched_door *watched = &victim->watched;
    int64_t wait = get(&watched->not_before) - now;
    if (wait > 0)
        return wait <= ANSWER_NS ? LOOK_SOON : LOOK_WAIT;
    if (!thrum__door_hides(victim))
        return LOOK_NOTHING;
    if (!claim_look(watched, now))
        return LOOK_WAIT;
    start_watching(victim, now);
    /* Where it was asked and still is, there was no answer. */
    if (get(&watched->asked) && thrum__deque_is_asked(&victim->deque))
        return raid(victim) ? LOOK_SHOWN : LOOK_WAIT;
    if (better_left_alone(victim, now))
        return LOOK_WAIT;
    ask(victim);
    set(&watched->asked, now);
    set(&watched->not_before, now + ANSWER_NS);
    return LOOK_SOON;
}

enum look thrum__door_look(worker *w, int64_t now)
{
    domain *d = w->domain;
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    enum look all = LOOK_NOTHING;
    for (int i = 0; i < count; i++) {
        enum look look = d->workers[i] == w ? LOOK_NOTHING : thrum__door_look_at(d->workers[i], now);
        if (look == LOOK_SHOWN)
            return look;
        if (look > all)
            all = look;
    }
    return all;
}

bool thrum__door_shares_core(const worker *w)
{
    const domain *d = w->domain;
    int count = atomic_load_explicit(&d->count, memory_order_acquire), here = sched_getcpu();
    for (int i = 0; i < count; i++) {
        const worker *other = d->workers[i];
        bool busy = atomic_load_explicit(&other->alone_runs, memory_order_relaxed) > 0 ||
                    (other->kind == WORKER_FEEDER && thrum__deque_has_words(&other->deque));
        if (other != w && busy && atomic_load_explicit(&other->began_on, memory_order_relaxed) == here)
            return true;
    }
    return false;
}
