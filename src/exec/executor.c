/* SPDX-License-Identifier: MIT
 *
 * Making and ending executors; their threads, guests and spares.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "base/random.h"
#include "sys/barrier.h"
#include "sys/clock.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { GUESTS_MOST = 64 };

/* For workers of a process without membarrier: every push takes the slow path, which has a fence (thrum__wake). */
static const int64_t always_look = -1;

/* ---- Forks -------------------------------------------------------------------------------------------------------- */

/* A child has the parent's memory but none of its threads. It is told apart by this number. */
static _Atomic uint32_t generation;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    thrum__self = NULL;
}

static void prepare_process(void)
{
    pthread_atfork(NULL, NULL, count_fork);
    thrum__handles_init();
}

bool thrum__executor_foreign(const thrum_executor *ex)
{
    return ex->generation != atomic_load_explicit(&generation, memory_order_relaxed);
}

int thrum__executor_usable(const thrum_executor *ex, const char *what)
{
    if (__builtin_expect(ex->object.kind != THRUM__KIND_EXECUTOR, 0))
        return thrum__fault(THRUM_EINVAL, "%s: this is not an executor, or it has been freed", what);
    if (__builtin_expect(thrum__executor_foreign(ex), 0))
        return thrum__fault(
            THRUM_EFORK,
            "%s: the executor was made before this process was forked, and its threads are the parent's; "
            "make one of its own with thrum_executor_new",
            what);
    return 0;
}

/* ---- Outstanding work --------------------------------------------------------------------------------------------- */

static void raise_owner(_Atomic uint64_t *count, memory_order order)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, order);
}

/* Relaxed: the handle's end comes after, and is a release. */
void thrum__count_start(thrum_executor *ex)
{
    worker *self = thrum__self;
    if (self && self->ex == ex)
        raise_owner(&self->started, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&ex->started, 1, memory_order_relaxed);
}

static uint64_t all_ended_by(const thrum_executor *ex)
{
    const domain *d = &ex->cpu;
    uint64_t sum = atomic_load_explicit(&ex->ended, memory_order_acquire);
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        sum += atomic_load_explicit(&d->workers[i]->ended, memory_order_acquire);
    return sum;
}

static uint64_t all_started_by(const thrum_executor *ex)
{
    const domain *d = &ex->cpu;
    uint64_t sum = atomic_load_explicit(&ex->started, memory_order_relaxed);
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        sum += atomic_load_explicit(&d->workers[i]->started, memory_order_relaxed);
    return sum;
}

/* Every worker counts for itself, so that nothing is shared per handle. The counters only grow, an end comes after its
 * start, and whoever sees the end (an acquire, with the release in thrum__count_end) sees the start too, and the worker
 * that counted it. So the ends, summed up first, are at most the starts; and if they are equal, then between the two
 * sums nothing was outstanding. */
static bool all_ended(const thrum_executor *ex)
{
    uint64_t ended = all_ended_by(ex);
    return ended == all_started_by(ex);
}

/* A worker of the executor may touch it after its last handle has ended: its thread is joined, or it is a guest that has
 * not left. So it looks at `awaited` after counting; the barrier's heavy half is in drain: either this sees `awaited`, or
 * whoever waits sees the count. Another thread must look before: the executor may be gone right after. In the gap that
 * this leaves, whoever waits naps and does not sleep. (A futex call names an address and touches nothing.) */
void thrum__count_end(thrum_executor *ex)
{
    worker *self = thrum__self;
    if (self && self->ex == ex) {
        raise_owner(&self->ended, memory_order_release);
        thrum__barrier_light();
        if (!atomic_load_explicit(&ex->awaited, memory_order_relaxed) || !all_ended(ex))
            return;
        atomic_store_explicit(&ex->awaited, 0, memory_order_relaxed);
        thrum__futex_wake(&ex->awaited, INT_MAX);
        return;
    }
    bool awaited = atomic_load_explicit(&ex->awaited, memory_order_relaxed);
    atomic_fetch_add_explicit(&ex->ended, 1, memory_order_release);
    if (awaited)
        thrum__futex_wake(&ex->awaited, INT_MAX);
}

/* Without threads, whatever waits in queues is done by whoever waits for all. */
static void drain_as_guest(thrum_executor *ex)
{
    worker *guest = thrum__guest_enter(ex, true);
    found f;
    while (guest && thrum__find(guest, &f))
        thrum__perform(guest, &f);
    if (guest)
        thrum__guest_leave(guest);
}

bool thrum__executor_rests(const thrum_executor *ex)
{
    const domain *d = &ex->cpu;
    if (!all_ended(ex))
        return false;
    for (int i = d->own; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        if (atomic_load_explicit(&d->workers[i]->taken, memory_order_acquire))
            return false;
    return true;
}

bool thrum__executor_comes_to_rest(const thrum_executor *ex, int64_t ns)
{
    int64_t until = thrum__now() + ns;
    while (!thrum__executor_rests(ex)) {
        if (thrum__now() > until)
            return false;
        sched_yield();
    }
    return true;
}

static void drain(thrum_executor *ex)
{
    for (;;) {
        if (ex->threadless)
            drain_as_guest(ex);
        if (thrum__executor_rests(ex))
            return;
        atomic_store_explicit(&ex->awaited, 1, memory_order_relaxed);
        thrum__barrier_heavy();
        /* Somebody may have read `awaited` just before: a nap that ends by itself, not a lost wake-up. */
        if (!thrum__executor_rests(ex))
            thrum__futex_wait(&ex->awaited, 1, 1000000);
    }
}

/* ---- Workers ------------------------------------------------------------------------------------------------------ */

static void worker_free(worker *w)
{
    thrum__handle_return(w, w->single);
    thrum__deque_fini(&w->deque);
    thrum__pages_free(w->spawns, w->spawn_bytes);
    if (w->ring.events)
        thrum__ring_fini(&w->ring);
    thrum__free(w);
}

/* Address space for all places, of which the touched part counts; less where the system does not give that much. The
 * place behind the last one stays empty: thieves may look at it. */
static int spawn_stack_init(worker *w, size_t places)
{
    for (;; places = 64) {
        w->spawn_bytes = (places + 1) * sizeof(thrum__spawn);
        w->spawns = thrum__pages(w->spawn_bytes, 0, THRUM__PAGES_LAZY);
        if (w->spawns || places <= 64)
            break;
    }
    if (!w->spawns)
        return -1;
    w->spawn.top = w->spawns;
    w->spawn.end = w->spawns + places;
    atomic_init(&w->bottom, w->spawns);
    return 0;
}

/* A new worker at the end of the domain's list, for any thread to see. With ex->lock held or before there are threads. */
static worker *worker_add(thrum_executor *ex, enum worker_kind kind)
{
    domain *d = &ex->cpu;
    int index = atomic_load_explicit(&d->count, memory_order_relaxed);
    worker *w = index < d->most ? thrum__zalloc_aligned(sizeof *w) : NULL;
    if (!w)
        return NULL;
    bool ok = thrum__deque_init(&w->deque) == 0;
    ok = ok && spawn_stack_init(w, ex->spawns) == 0;
    ok = ok && (!ex->trace || thrum__ring_init(&w->ring, ex->trace_events) == 0);
    if (!ok) {
        worker_free(w);
        return NULL;
    }
    w->spawn.idle = thrum__has_membarrier ? &d->life.word : &always_look;
    w->spawns_end = w->spawn.end;
    w->spawn.bar = w->spawn.top;
    atomic_init(&w->spawns_shown, w->spawn.top);
    if (!thrum__has_membarrier)
        thrum__door_open_for_ever(w);
    w->ex = ex;
    w->domain = d;
    w->index = index;
    w->kind = kind;
    w->random = thrum__random_seed((uint64_t)index);
    d->workers[index] = w;
    atomic_store_explicit(&d->count, index + 1, memory_order_release);
    return w;
}

void *thrum__worker_thread(void *arg)
{
    worker *w = arg;
    thrum__self = w;
    if (w->kind == WORKER_OWN) {
        thrum__bind_self(w->ex->bind, w->index);
        thrum__sleep_counted(w); /* it was born asleep: see domain_init */
    }
    thrum__live(w);
    return NULL;
}

void thrum__spare_start(domain *d)
{
    thrum_executor *ex = d->workers[0]->ex;
    thrum__lock_take(&ex->lock);
    bool room = d->spares < d->spares_most && thrum__life_enter(&d->life);
    worker *w = room ? worker_add(ex, WORKER_SPARE) : NULL;
    if (room && !w)
        thrum__life_leave(&d->life);
    if (w) {
        thrum__life_start_search(&d->life);
        if (pthread_create(&w->thread, NULL, thrum__worker_thread, w) == 0) {
            d->spares++;
        } else {
            w->kind = WORKER_GUEST; /* still good for that */
            thrum__life_end_search(&d->life);
            thrum__life_leave(&d->life);
        }
    }
    thrum__lock_give(&ex->lock);
}

/* ---- Guests ------------------------------------------------------------------------------------------------------- */

/* The caller has a place, so where there is one place only nobody else claims anything now. */
static bool guest_claim(worker *w)
{
    /* Acquire, with the release in thrum__guest_leave: the last guest's traces are there. */
    if (atomic_load_explicit(&w->taken, memory_order_acquire) != 0)
        return false;
    if (w->domain->life.limit == 1) {
        atomic_store_explicit(&w->taken, 1, memory_order_relaxed);
        return true;
    }
    return atomic_exchange_explicit(&w->taken, 1, memory_order_acquire) == 0;
}

static worker *guest_find(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    worker *last = atomic_load_explicit(&ex->last_guest, memory_order_acquire);
    if (last && guest_claim(last))
        return last;
    thrum__lock_take(&ex->lock);
    worker *w = NULL;
    for (int i = d->own; i < atomic_load_explicit(&d->count, memory_order_relaxed) && !w; i++)
        if (d->workers[i]->kind == WORKER_GUEST && guest_claim(d->workers[i]))
            w = d->workers[i];
    if (!w && (w = worker_add(ex, WORKER_GUEST)) != NULL)
        atomic_store_explicit(&w->taken, 1, memory_order_relaxed);
    thrum__lock_give(&ex->lock);
    return w;
}

worker *thrum__guest_enter(thrum_executor *ex, bool anyway)
{
    if (anyway)
        thrum__enter_anyway(&ex->cpu);
    else if (!thrum__life_enter(&ex->cpu.life))
        return NULL;
    worker *w = guest_find(ex);
    if (!w) {
        thrum__life_leave(&ex->cpu.life);
        return NULL;
    }
    w->outer = thrum__self;
    thrum__self = w;
    /* A worker of another executor: while it is here it is not there. */
    if (w->outer)
        thrum__step_aside(w->outer);
    return w;
}

void thrum__guest_leave(worker *w)
{
    thrum_executor *ex = w->ex;
    thrum__assert(!thrum__deque_has_words(&w->deque) && w->spawn.top == w->spawns);
    thrum__self = w->outer;
    if (w->outer)
        thrum__step_back(w->outer);
    thrum__step_aside(w);
    bool awaited = atomic_load_explicit(&ex->awaited, memory_order_relaxed);
    if (atomic_load_explicit(&ex->last_guest, memory_order_relaxed) != w)
        atomic_store_explicit(&ex->last_guest, w, memory_order_release);
    /* From here on the executor may be gone. */
    atomic_store_explicit(&w->taken, 0, memory_order_release);
    if (awaited)
        thrum__futex_wake(&ex->awaited, INT_MAX);
}

/* ---- Making ------------------------------------------------------------------------------------------------------- */

static int read_workers(thrum_executor *ex, const thrum_config *config, const thrum_machine_info *machine)
{
    int64_t workers = config->workers;
    if (workers < 0 || workers > 1024)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: workers is %lld, but it must be from 1 to 1024, or 0 for the default",
                            (long long)workers);
    if (workers == 0)
        workers = thrum__option_number(THRUM__OPT_WORKERS);
    ex->threadless = config->threadless || workers == 0;
    ex->workers = ex->threadless ? 0 : workers > 0 ? (int)workers : machine->usable;
    return 0;
}

static int read_callers(thrum_executor *ex, const thrum_config *config)
{
    if (config->callers < THRUM_CALLERS_DEFAULT || config->callers > THRUM_CALLERS_BLOCK)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_new: callers is %d, but it must be one of enum thrum_callers",
                            (int)config->callers);
    bool help = thrum__option_number(THRUM__OPT_CALLERS) == 0;
    if (config->callers != THRUM_CALLERS_DEFAULT)
        help = config->callers == THRUM_CALLERS_HELP;
    ex->callers_help = help || ex->threadless;
    return 0;
}

/* "auto": a NUMA node at most. A worker that is bound to a core and woken by the thread that runs there would have to
 * wait for it. Never with more workers than cores. */
static int read_bind(thrum_executor *ex, const thrum_config *config, const thrum_machine_info *machine)
{
    const char *text = config->bind ? config->bind : thrum__option_text(THRUM__OPT_BIND);
    int64_t bind;
    int err = thrum__option_parse(THRUM__OPT_BIND, text, &bind);
    if (err)
        return err;
    ex->bind = (enum thrum__bind)bind;
    if (ex->bind == THRUM__BIND_AUTO)
        ex->bind = machine->numa_nodes > 1 ? THRUM__BIND_NUMA : THRUM__BIND_OFF;
    if (ex->workers > machine->usable)
        ex->bind = THRUM__BIND_OFF;
    return 0;
}

static int read_trace(thrum_executor *ex, const thrum_config *config)
{
    const char *path = config->trace ? config->trace : thrum__option_text(THRUM__OPT_TRACE);
    if (!*path)
        return 0;
    ex->trace = thrum__copy_text(path);
    ex->trace_events = (uint64_t)thrum__option_number(THRUM__OPT_TRACE_EVENTS);
    ex->trace_begin = thrum__now();
    ex->watched = true;
    return ex->trace ? 0 : thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
}

static int read_config(thrum_executor *ex, const thrum_config *config)
{
    thrum_machine_info machine;
    int err = thrum_options_check();
    if (!err)
        err = thrum_machine_get(&machine);
    if (!err)
        err = read_workers(ex, config, &machine);
    if (!err)
        err = read_callers(ex, config);
    if (!err)
        err = read_bind(ex, config, &machine);
    if (!err)
        err = read_trace(ex, config);
    if (err)
        return err;
    ex->spawns = (size_t)thrum__option_number(THRUM__OPT_SPAWNS);
    ex->cpu.spares_most = ex->threadless ? 0 : (int)thrum__option_number(THRUM__OPT_SPARES);
    ex->cpu.cores = ex->workers > machine.usable ? machine.usable : 0;
    ex->cpu.spin_ns = machine.usable == 1 ? 0 : thrum__option_number(THRUM__OPT_SPIN) * 1000;
    return 0;
}

static int domain_init(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    d->own = ex->workers;
    d->most = d->own + d->spares_most + GUESTS_MOST;
    d->workers = thrum__zalloc((size_t)d->most * sizeof *d->workers);
    ex->runs = thrum__zalloc((RUN_MOST + 1) * sizeof *ex->runs);
    int limit = ex->threadless ? THRUM__LIFE_MOST : ex->workers;
    if (!d->workers || !ex->runs || thrum__life_init(&d->life, limit, d->most, ex->workers))
        return -1;
    /* The workers count as asleep before their threads are there, so that a first run need not wait for them to come up
     * and find nothing. */
    for (int i = 0; i < d->own; i++) {
        if (!worker_add(ex, WORKER_OWN))
            return -1;
        thrum__life_sleep(&d->life, i);
    }
    /* Without threads somebody must always be able to come in and work. */
    return ex->threadless && !worker_add(ex, WORKER_GUEST) ? -1 : 0;
}

static void wake_all(domain *d)
{
    for (int sleeper; (sleeper = thrum__life_wake_any(&d->life)) >= 0;)
        thrum__unpark(&d->workers[sleeper]->sleep_parker);
}

static void stop_threads(thrum_executor *ex, int own_started)
{
    domain *d = &ex->cpu;
    atomic_store_explicit(&ex->stop, 1, memory_order_seq_cst);
    wake_all(d);
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++) {
        worker *w = d->workers[i];
        if (w->kind == WORKER_SPARE || (w->kind == WORKER_OWN && i < own_started))
            pthread_join(w->thread, NULL);
    }
}

static void executor_destroy(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    for (int i = 0; d->workers && i < atomic_load_explicit(&d->count, memory_order_relaxed); i++)
        worker_free(d->workers[i]);
    for (uint32_t i = 0; i < ex->run_count; i++)
        thrum__free(atomic_load_explicit(&ex->runs[i], memory_order_relaxed));
    while (ex->held_names) {
        thrum__held_names *next = ex->held_names->next;
        thrum__names_drop(ex->held_names->names);
        thrum__free(ex->held_names);
        ex->held_names = next;
    }
    thrum__life_fini(&d->life);
    thrum__free(d->workers);
    thrum__free(ex->runs);
    thrum__free(ex->trace);
    thrum__root_clear(&ex->object.root);
    ex->object.kind = 0;
    thrum__free(ex);
}

static int start_threads(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    for (int i = 0; i < d->own; i++) {
        int err = pthread_create(&d->workers[i]->thread, NULL, thrum__worker_thread, d->workers[i]);
        if (err) {
            stop_threads(ex, i);
            return thrum__fault(THRUM_ESYSTEM, "thrum_executor_new: the system gives no thread for worker %d of %d: %s",
                                i, d->own, strerror(err));
        }
    }
    return 0;
}

thrum_executor *thrum_executor_new(const thrum_config *config)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const thrum_config defaults;
    pthread_once(&once, prepare_process);
    thrum__barrier_init();
    thrum_executor *ex = thrum__zalloc_aligned(sizeof *ex);
    if (!ex) {
        thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
        return NULL;
    }
    ex->object.kind = THRUM__KIND_EXECUTOR;
    ex->generation = atomic_load_explicit(&generation, memory_order_relaxed);
    int err = read_config(ex, config ? config : &defaults);
    if (!err && domain_init(ex))
        err = thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory for %d workers", ex->workers);
    if (!err)
        err = start_threads(ex);
    if (err) {
        executor_destroy(ex);
        return NULL;
    }
    return ex;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------- */

/* Works in one of its tasks, however deep in other executors' waits the thread is. */
static bool works_for(const thrum_executor *ex)
{
    for (const worker *w = thrum__self; w; w = w->outer)
        if (w->ex == ex)
            return true;
    return false;
}

int thrum_executor_free(thrum_executor *ex)
{
    if (!ex)
        return 0;
    if (thrum__executor_foreign(ex)) {
        executor_destroy(ex);
        return 0;
    }
    if (works_for(ex))
        return thrum__fault(THRUM_EDEADLOCK, "thrum_executor_free: a task cannot free the executor that runs it");
    drain(ex);
    stop_threads(ex, ex->workers);
    /* A thread that added to the queue may not have given the lock back yet. */
    thrum__lock_take(&ex->cpu.lock);
    thrum__lock_give(&ex->cpu.lock);
    int err = ex->trace ? thrum__trace_write(ex) : 0;
    executor_destroy(ex);
    return err;
}

int thrum_executor_wait(thrum_executor *ex)
{
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_executor_wait") : thrum__last_code();
    if (err)
        return err;
    if (works_for(ex))
        return thrum__fault(THRUM_EDEADLOCK,
                            "thrum_executor_wait: a task cannot wait for everything on its executor: it is "
                            "part of it");
    drain(ex);
    int code = thrum__root_code(&ex->object.root);
    if (!code)
        return 0;
    thrum__fault(code, "%s", thrum__root_text(&ex->object.root));
    /* Told once: the next wait starts afresh, while the sentence stays to be read. */
    __atomic_store_n(&ex->object.root.code, 0, __ATOMIC_RELAXED);
    return code;
}

int thrum_executor_workers(const thrum_executor *ex)
{
    ex = thrum__executor_or_default((thrum_executor *)(uintptr_t)ex);
    return !ex ? 0 : ex->threadless ? 1 : ex->workers;
}

int thrum_worker_index(void)
{
    return thrum__self && thrum__self->root ? thrum__self->index : -1;
}

/* ---- The default executor ----------------------------------------------------------------------------------------- */

static _Atomic(thrum_executor *) default_executor;
static thrum__lock default_lock;

/* At the program's end. If something still runs (exit in the middle of a run) it is left alone. */
static void free_default(void)
{
    thrum_executor *ex = atomic_exchange_explicit(&default_executor, NULL, memory_order_acq_rel);
    if (ex && !thrum__executor_foreign(ex) && thrum__executor_comes_to_rest(ex, 100000000))
        thrum_executor_free(ex);
}

thrum_executor *thrum_executor_default(void)
{
    thrum_executor *ex = atomic_load_explicit(&default_executor, memory_order_acquire);
    if (ex)
        return ex;
    thrum__lock_take(&default_lock);
    ex = atomic_load_explicit(&default_executor, memory_order_relaxed);
    if (!ex && (ex = thrum_executor_new(NULL)) != NULL) {
        atomic_store_explicit(&default_executor, ex, memory_order_release);
        atexit(free_default);
    }
    thrum__lock_give(&default_lock);
    return ex;
}

thrum_executor *thrum__executor_or_default(thrum_executor *ex)
{
    return ex ? ex : thrum_executor_default();
}

/* ---- Failing ------------------------------------------------------------------------------------------------------ */

void thrum_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    thrum__vfault(code ? code : THRUM_EINVAL, format ? format : "", args);
    va_end(args);
    if (thrum__self && thrum__self->root)
        thrum__root_fail(thrum__self->root, thrum__last_code(), thrum__last_fault());
}
