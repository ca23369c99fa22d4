/* SPDX-License-Identifier: MIT
 *
 * Making and ending executors; their threads, guests and spares.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "base/random.h"
#include "exec/place.h"
#include "model/semaphore.h"
#include "sched/perf.h"
#include "sys/barrier.h"
#include "sys/clock.h"
#include "sys/stack.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* For workers of a process without membarrier: every push takes the slow path, which has a fence (thrum__wake). */
static const int64_t always_look = -1;

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

/* A child has the parent's memory but none of its threads. It is told apart by this number. */
static _Atomic uint32_t generation;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    thrum__self = NULL;
    thrum__semaphores_in_child();
}

static void prepare_process(void)
{
    pthread_atfork(thrum__semaphores_before_fork, thrum__semaphores_in_parent, count_fork);
    thrum__handles_init();
    thrum__on_cancelled(thrum__tokens_cancel);
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

/* ---- Outstanding work -------------------------------------------------------------------------------------------- */

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

static uint64_t ended_in(const domain *d)
{
    uint64_t sum = 0;
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        sum += atomic_load_explicit(&d->workers[i]->ended, memory_order_acquire);
    return sum;
}

static uint64_t started_in(const domain *d)
{
    uint64_t sum = 0;
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        sum += atomic_load_explicit(&d->workers[i]->started, memory_order_relaxed);
    return sum;
}

static uint64_t all_ended_by(const thrum_executor *ex)
{
    uint64_t sum = atomic_load_explicit(&ex->ended, memory_order_acquire) + ended_in(&ex->cpu);
    for (int i = 0; i + 1 < ex->domains; i++)
        sum += ended_in(&ex->more[i]);
    return sum;
}

static uint64_t all_started_by(const thrum_executor *ex)
{
    uint64_t sum = atomic_load_explicit(&ex->started, memory_order_relaxed) + started_in(&ex->cpu);
    for (int i = 0; i + 1 < ex->domains; i++)
        sum += started_in(&ex->more[i]);
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

/* A worker of the executor may touch it after its last handle has ended: its thread is joined, or it is a guest that
 * has not left. So it looks at `awaited` after counting; the barrier's heavy half is in drain: either this sees
 * `awaited`, or whoever waits sees the count. Another thread must look before: the executor may be gone right after. In
 * the gap that this leaves, whoever waits naps and does not sleep. (A futex call names an address and touches
 * nothing.) */
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
    if (!all_ended(ex) || atomic_load_explicit(&ex->streaming, memory_order_acquire))
        return false;
    for (int i = d->own; i < atomic_load_explicit(&d->count, memory_order_acquire); i++)
        if (d->workers[i]->kind != WORKER_FEEDER && atomic_load_explicit(&d->workers[i]->taken, memory_order_acquire))
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

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

void thrum__worker_free(worker *w)
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

worker *thrum__worker_new(domain *d, thrum_executor *ex)
{
    worker *w = thrum__zalloc_aligned(sizeof *w);
    if (!w)
        return NULL;
    bool ok = thrum__deque_init(&w->deque) == 0;
    ok = ok && spawn_stack_init(w, ex->spawns) == 0;
    ok = ok && (!ex->trace || thrum__ring_init(&w->ring, ex->trace_events) == 0);
    if (!ok) {
        thrum__worker_free(w);
        return NULL;
    }
    w->spawn.idle = thrum__has_membarrier ? &d->life.word : &always_look;
    w->spawns_end = w->spawn.end;
    w->spawn.bar = w->spawn.top;
    atomic_init(&w->spawns_shown, w->spawn.top);
    atomic_init(&w->strangers, (thrum__spawn *)UINTPTR_MAX);
    if (!thrum__has_membarrier)
        thrum__door_open_for_ever(w);
    w->ex = ex;
    w->domain = d;
    w->at_home = d == &ex->cpu;
    w->cpu = w->slept_on = -1;
    return w;
}

void thrum__worker_add(domain *d, worker *w, enum worker_kind kind)
{
    int index = atomic_load_explicit(&d->count, memory_order_relaxed);
    w->index = index;
    w->kind = kind;
    w->random = thrum__random_seed((uint64_t)(d->base + index));
    d->workers[index] = w;
    atomic_store_explicit(&d->count, index + 1, memory_order_release);
}

/* One more worker, with ex->lock held. */
worker *thrum__worker_add_new(domain *d, thrum_executor *ex, enum worker_kind kind)
{
    bool room = atomic_load_explicit(&d->count, memory_order_relaxed) < d->most;
    worker *w = room ? thrum__worker_new(d, ex) : NULL;
    if (w)
        thrum__worker_add(d, w, kind);
    return w;
}

static void *worker_thread(void *arg)
{
    worker *w = arg;
    thrum__self = w;
    w->spawn.low = thrum__stack_ask()->limit;
    if (w->kind == WORKER_OWN) {
        if (w->at_home)
            thrum__bind_self(w->ex->bind, w->index);
        thrum__sleep_counted(w); /* it was born asleep: see thrum__domain_lay_to_sleep */
    } else {
        thrum__await_lessee(w->domain); /* it was born with a place */
    }
    thrum__live(w);
    return NULL;
}

/* With a stack of the size asked for or, where the system does not give that, of the usual one. */
static int thread_start(worker *w)
{
    pthread_attr_t attributes;
    int err = w->ex->stack_bytes && pthread_attr_init(&attributes) == 0 ? 0 : -1;
    if (!err) {
        err = pthread_attr_setstacksize(&attributes, w->ex->stack_bytes);
        if (!err)
            err = pthread_create(&w->thread, &attributes, worker_thread, w);
        pthread_attr_destroy(&attributes);
    }
    return err ? pthread_create(&w->thread, NULL, worker_thread, w) : 0;
}

void thrum__spare_start(domain *d)
{
    thrum_executor *ex = d->workers[0]->ex;
    thrum__lock_take(&ex->lock);
    bool room = d->spares < d->spares_most && thrum__life_enter(&d->life);
    worker *w = room ? thrum__worker_add_new(d, ex, WORKER_SPARE) : NULL;
    if (room && !w)
        thrum__life_leave(&d->life);
    if (w) {
        thrum__life_start_search(&d->life);
        if (thread_start(w) == 0) {
            d->spares++;
        } else {
            w->kind = WORKER_GUEST; /* still good for that */
            thrum__life_end_search(&d->life);
            thrum__life_leave(&d->life);
        }
    }
    thrum__lock_give(&ex->lock);
}

/* ---- Guests ------------------------------------------------------------------------------------------------------ */

/* Acquire, with the release in thrum__guest_leave: the last guest's traces are there. */
static bool guest_is_free(const worker *w)
{
    return atomic_load_explicit(&w->taken, memory_order_acquire) == 0;
}

/* The caller has the only place, so nobody else claims anything now. */
static bool guest_claim_alone(worker *w)
{
    if (!guest_is_free(w))
        return false;
    atomic_store_explicit(&w->taken, 1, memory_order_relaxed);
    return true;
}

/* The caller has a place. */
static bool guest_claim(worker *w)
{
    if (w->domain->life.limit == 1)
        return guest_claim_alone(w);
    return guest_is_free(w) && atomic_exchange_explicit(&w->taken, 1, memory_order_acquire) == 0;
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
    if (!w && (w = thrum__worker_add_new(d, ex, WORKER_GUEST)) != NULL)
        atomic_store_explicit(&w->taken, 1, memory_order_relaxed);
    thrum__lock_give(&ex->lock);
    return w;
}

/* A worker without its place counts as searching and cannot. Where there is no other place, nobody could search anyway;
 * where there are some, those who sleep would not be woken for what is pushed: so nobody borrows there. */
static bool borrow_only_place(thrum_executor *ex)
{
    return ex->cpu.life.limit == 1 && thrum__borrow_place(&ex->cpu);
}

static bool enter_free_place(domain *d)
{
    if (!thrum__life_enter(&d->life))
        return false;
    if (thrum__place_is_own(d))
        return true;
    thrum__leave_place(d);
    return false;
}

worker *thrum__guest_enter(thrum_executor *ex, bool anyway)
{
    bool borrows = false;
    thrum__seat_leave(&ex->cpu);
    if (anyway)
        thrum__enter_anyway(&ex->cpu);
    else if (!enter_free_place(&ex->cpu) && !(borrows = borrow_only_place(ex)))
        return NULL;
    worker *w = guest_find(ex);
    if (!w) {
        if (borrows)
            thrum__give_place_back(&ex->cpu);
        else
            thrum__life_leave(&ex->cpu.life);
        return NULL;
    }
    w->borrows = borrows;
    w->outer = thrum__self;
    w->spawn.low = thrum__own_stack.limit;
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

/* The lessee has the place, so it claims the guest as anybody does who has it; one that is claimed already has parked
 * in the middle of a task. It had no outer one when the lease was granted, and nobody else has claimed it since: who
 * does ends the lease first. The executor is there as long as the stream is, so nobody waits for this guest to
 * leave. */
worker *thrum__guest_enter_by_lease(worker *feeder)
{
    if (!thrum__lease_enter(&feeder->lease))
        return NULL;
    worker *w = feeder->leasing;
    if (__builtin_expect(!guest_claim_alone(w), 0)) {
        if (!thrum__lease_leave(&feeder->lease))
            thrum__lease_left(feeder->domain);
        return NULL;
    }
    w->leases = &feeder->lease;
    w->spawn.low = thrum__own_stack.limit;
    thrum__self = w;
    return w;
}

void thrum__guest_leave_by_lease(worker *w)
{
    thrum__lease *lease = w->leases;
    thrum__assert(!thrum__deque_has_words(&w->deque) && w->spawn.top == w->spawns);
    thrum__self = NULL;
    w->leases = NULL;
    atomic_store_explicit(&w->taken, 0, memory_order_release);
    if (__builtin_expect(!thrum__lease_leave(lease), 0))
        thrum__lease_left(w->domain);
}

/* Not with a borrowed place: its worker comes back soon. */
void thrum__guest_leave_to_lease(worker *w, worker *feeder)
{
    if (!w->borrows && !w->outer) {
        feeder->leasing = w;
        thrum__lease_grant(&w->domain->leased, &feeder->lease);
    }
    thrum__guest_leave(w);
}

/* As one that wants its place back (thrum__enter_anyway), but for a while only. Whoever just looks for work sees that
 * and goes to sleep, so the place is free when this one leaves it again; but others may come before the caller does. */
bool thrum__place_comes_free(thrum_executor *ex, int64_t ns)
{
    domain *d = &ex->cpu;
    int64_t until = thrum__now() + ns;
    atomic_fetch_add_explicit(&d->returning, 1, memory_order_seq_cst);
    worker *w = NULL;
    bool borrows = false;
    while (!(w = thrum__guest_enter(ex, false)) || (borrows = w->borrows)) {
        if (w)
            thrum__guest_leave(w);
        if (thrum__now() > until)
            break;
        sched_yield();
    }
    atomic_fetch_sub_explicit(&d->returning, 1, memory_order_relaxed);
    if (w && !borrows)
        thrum__guest_leave(w);
    return w != NULL;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

/* What the configuration itself says counts first, then "cpu:N" among the devices, then the option. */
static int read_workers(thrum_executor *ex, const thrum_config *config, const thrum_machine_info *machine)
{
    int64_t workers = config->workers ? config->workers : thrum__places_plan_workers(ex->plan);
    if (workers < 0 || workers > 1024)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: workers is %lld, but it must be from 1 to 1024, or 0 for the default",
                            (long long)workers);
    if (workers == 0)
        workers = thrum__option_number(THRUM__OPT_WORKERS);
    ex->threadless = config->threadless || workers == 0;
    if (ex->threadless && thrum__places_plan_wanted(ex->plan))
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: an executor without threads has neither a policy nor devices");
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

static int read_bind(thrum_executor *ex, const thrum_config *config)
{
    const char *text = config->bind ? config->bind : thrum__option_text(THRUM__OPT_BIND);
    int64_t bind;
    int err = thrum__option_parse(THRUM__OPT_BIND, text, &bind);
    if (!err)
        ex->bind_asked = (enum thrum__bind)bind;
    return err;
}

/* "auto": a NUMA node at most. A worker that is bound to a core and woken by the thread that runs there would have to
 * wait for it. Never with more workers than cores. */
static void set_bind(thrum_executor *ex, const thrum_machine_info *machine)
{
    ex->bind = ex->bind_asked;
    if (ex->bind == THRUM__BIND_AUTO)
        ex->bind = machine->numa_nodes > 1 ? THRUM__BIND_NUMA : THRUM__BIND_OFF;
    if (ex->workers > machine->usable)
        ex->bind = THRUM__BIND_OFF;
}

/* Looking is for machines where the one looked at can run meanwhile. The processor cores come first: their workers look
 * around whatever other domains there are. */
static void set_spin(thrum_executor *ex, const thrum_machine_info *machine)
{
    int64_t ns = thrum__option_number(THRUM__OPT_SPIN) * 1000;
    int all = ex->workers;
    ex->cpu.spin_ns = machine->usable == 1 ? 0 : ns;
    ex->cpu.cores = ex->workers > machine->usable ? machine->usable : 0;
    for (int number = 1; number < ex->domains; number++)
        all += ex->workers_in[number];
    for (int number = 1; number < ex->domains; number++)
        thrum__domain(ex, number)->spin_ns = all > machine->usable ? 0 : ns;
}

int thrum__set_pace(thrum_executor *ex)
{
    thrum_machine_info machine;
    int err = thrum_machine_get(&machine);
    if (err)
        return err;
    set_bind(ex, &machine);
    set_spin(ex, &machine);
    thrum__core_map_set(&ex->cpu, ex->workers > 1 && ex->workers <= machine.usable && ex->bind != THRUM__BIND_CORE);
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
        err = thrum__places_plan_new(config, &ex->plan);
    if (!err)
        err = read_workers(ex, config, &machine);
    if (!err)
        err = read_callers(ex, config);
    if (!err)
        err = read_bind(ex, config);
    if (!err)
        err = read_trace(ex, config);
    if (!err)
        err = thrum__domains_read(ex, config);
    ex->spawns = (size_t)thrum__option_number(THRUM__OPT_SPAWNS);
    int64_t stack_mb = thrum__option_number(THRUM__OPT_STACK);
    ex->stack_bytes = stack_mb < 0 ? 0 : (size_t)stack_mb << 20;
    return err ? err : thrum__set_pace(ex);
}

static int workers_init(thrum_executor *ex)
{
    ex->runs = thrum__zalloc((RUN_MOST + 1) * sizeof *ex->runs);
    int err = ex->runs ? 0 : -1;
    for (int number = 0; number < ex->domains && !err; number++)
        err = thrum__domain_init(ex, number, ex->workers_in[number]);
    if (err)
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory for %d workers", ex->workers);
    thrum__domains_number(ex);
    return 0;
}

/* The devices' domains are the last ones. */
static int places_init(thrum_executor *ex)
{
    const thrum_domain_config *domains;
    thrum__places_plan *plan = ex->plan;
    if (!thrum__places_plan_wanted(plan))
        return 0;
    int err = thrum__service_begin(ex), first = ex->domains - thrum__places_plan_domains(plan, &domains);
    if (err)
        return err;
    ex->plan = NULL;
    ex->space.places = thrum__places_new(ex, plan, first);
    if (!ex->space.places)
        return thrum__last_code();
    ex->space.nodes = thrum__places_nodes(ex->space.places);
    return 0;
}

/* So that a first run need not wait for the threads to come up and find nothing. */
void thrum__domain_lay_to_sleep(domain *d)
{
    for (int i = 0; i < d->own; i++) {
        atomic_store_explicit(&d->workers[i]->asleep, true, memory_order_relaxed);
        thrum__life_sleep(&d->life, i);
    }
}

static void wake_all(domain *d)
{
    for (int sleeper; (sleeper = thrum__life_wake_any(&d->life)) >= 0;)
        thrum__wake_sleeper(d->workers[sleeper]);
}

void thrum__threads_stop(domain *d, int own_started)
{
    atomic_store_explicit(&d->stop, 1, memory_order_seq_cst);
    wake_all(d);
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++) {
        worker *w = d->workers[i];
        if (w->kind == WORKER_SPARE || (w->kind == WORKER_OWN && i < own_started))
            pthread_join(w->thread, NULL);
        w->stands = false;
    }
    /* One may have ended while it stood there. */
    atomic_store_explicit(&d->handover, 0, memory_order_relaxed);
}

static void executor_destroy(thrum_executor *ex)
{
    thrum__places_plan_free(ex->plan);
    thrum__places_free(ex->space.places);
    thrum__space_fini(&ex->space);
    for (int number = 0; number < ex->domains; number++)
        thrum__domain_fini(thrum__domain(ex, number));
    thrum__free(ex->more);
    while (ex->retired) {
        worker *next = ex->retired->outer;
        thrum__worker_free(ex->retired);
        ex->retired = next;
    }
    for (int list = 0; list < THRUM__KEPT_LISTS; list++)
        while (ex->kept_texts[list]) {
            thrum__kept_text *next = ex->kept_texts[list]->next;
            thrum__free(ex->kept_texts[list]);
            ex->kept_texts[list] = next;
        }
    thrum__service_end(ex);
    for (uint32_t i = 0; i < ex->run_count; i++)
        thrum__free(atomic_load_explicit(&ex->runs[i], memory_order_relaxed));
    while (ex->held_names) {
        thrum__held_names *next = ex->held_names->next;
        thrum__names_drop(ex->held_names->names);
        thrum__free(ex->held_names);
        ex->held_names = next;
    }
    thrum__free(ex->runs);
    thrum__free(ex->trace);
    thrum__root_clear(&ex->object.root);
    ex->object.kind = 0;
    thrum__free(ex);
}

int thrum__threads_start(domain *d, int *err)
{
    *err = 0;
    for (int i = 0; i < d->own; i++)
        if ((*err = thread_start(d->workers[i])))
            return i;
    return d->own;
}

static void stop_all_threads(thrum_executor *ex, int domains)
{
    for (int number = 0; number < domains; number++)
        thrum__threads_stop(thrum__domain(ex, number), thrum__domain(ex, number)->own);
}

static int start_all_threads(thrum_executor *ex)
{
    for (int number = 0; number < ex->domains; number++) {
        domain *d = thrum__domain(ex, number);
        int err, started = thrum__threads_start(d, &err);
        if (err) {
            thrum__threads_stop(d, started);
            stop_all_threads(ex, number);
            return thrum__fault(THRUM_ESYSTEM,
                                "thrum_executor_new: the system gives no thread for worker %d of %d%s%s: %s", started,
                                d->own, number ? " of domain " : "", number ? d->name : "", strerror(err));
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
    ex->domains = 1;
    thrum__space_init(&ex->space, ex, 1);
    int err = read_config(ex, config ? config : &defaults);
    if (!err)
        err = workers_init(ex);
    if (!err)
        err = places_init(ex);
    if (!err)
        err = start_all_threads(ex);
    if (err) {
        executor_destroy(ex);
        return NULL;
    }
    return ex;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

bool thrum__works_for(const thrum_executor *ex)
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
    if (thrum__works_for(ex))
        return thrum__fault(THRUM_EDEADLOCK, "thrum_executor_free: a task cannot free the executor that runs it");
    if (thrum__has_streams(ex))
        return thrum__fault(THRUM_EBUSY, "thrum_executor_free: a flow of it has not been freed");
    drain(ex);
    if (ex->space.places)
        thrum__places_stop(ex->space.places);
    stop_all_threads(ex, ex->domains);
    /* A thread that added to the queue may not have given the lock back yet. Those who post to other domains are
     * workers, or guests who have left. */
    thrum__lock_take(&ex->cpu.lock);
    thrum__lock_give(&ex->cpu.lock);
    int err = ex->trace ? thrum__trace_write(ex) : 0;
    if (ex->space.places)
        thrum__perf_save(); /* what was measured is no less true if it cannot be kept */
    executor_destroy(ex);
    return err;
}

int thrum_executor_wait(thrum_executor *ex)
{
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_executor_wait") : thrum__last_code();
    if (err)
        return err;
    if (thrum__works_for(ex))
        return thrum__fault(THRUM_EDEADLOCK,
                            "thrum_executor_wait: a task cannot wait for everything on its executor: it is "
                            "part of it");
    if (atomic_load_explicit(&ex->streaming, memory_order_relaxed))
        return thrum__fault(THRUM_EBUSY,
                            "thrum_executor_wait: a flow takes tasks still; wait for it with thrum_flow_wait");
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
    const worker *self = thrum__self;
    return self && self->root ? self->domain->base + self->index : -1;
}

/* ---- The default executor ---------------------------------------------------------------------------------------- */

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

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

void thrum_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    thrum__vfault(code ? code : THRUM_EINVAL, format ? format : "", args);
    va_end(args);
    if (thrum__self && thrum__self->root)
        thrum__root_fail(thrum__self->root, thrum__last_code(), thrum__last_fault());
}
