/* SPDX-License-Identifier: MIT
 *
 * Streams: runs without a graph, whose jobs come one by one.
 *
 * Roles
 *   The thread that inserts puts ready jobs into the deque of the stream's *feeder*: a worker without a thread, made
 *   for its deque. Thieves ask for what is there, or come and get it, as with any worker (door.c). One thread at a time
 *   owns that deque: whoever inserts, and then whoever drains it, in the wait at the end or where too much has come
 *   together.
 *   Workers run jobs. What a job makes ready goes to the deque of the worker that ran it. Where jobs are long all that
 *   is ready is posted, and taken in the order of insertion (goes_in_order).
 *
 * Invariants
 *   1. A job that is ready and has not begun is in the feeder's deque, in the deque of a strand, or posted with a
 *      strand.
 *   2. The stream itself is a strand, the *token*, from its beginning until the feeder's deque has been drained for the
 *      last time. So the run does not end before.
 *   3. A job whose last predecessor may end outside of the run (in another flow's, in a thread that is no worker, on a
 *      device) holds a strand of its own from its insertion on.
 *   So strands come to zero when, and only when, the token has been given back and every job has ended: a job that
 *   waits, waits in the end for one that is ready or runs, or holds a strand itself.
 *
 * Orders: as in run.c. Who takes over the feeder's deque gets it in the same thread, or by a post.
 *
 * Where callers must not run tasks there is no feeder: jobs are posted, each with a strand.
 */
#include "exec/stream.h"

#include "exec/exec_int.h"
#include "exec/place.h"

#include "base/alloc.h"
#include "model/order.h"
#include "sched/at_once.h"
#include "sys/clock.h"
#include "sys/stack.h"

#include <sched.h>

struct thrum__stream {
    thrum_executor *ex;
    worker *feeder; /* NULL: jobs are posted */
    thrum_handle *handle;
    thrum__run *run;
    thrum__job_owner *owner;
    thrum_task adopt; /* posted with the token: whoever takes it drains the feeder */
    thrum__post post;
    int64_t pace;               /* of its last run: see note_pace */
    bool seated;                /* whoever inserts has the executor's seat (seat.c), and is away: */
    uint32_t ticket;            /* this brings it back */
    uint32_t in_vain, declines; /* times that it sat down and found nothing for itself; it does not try so many times */
    bool feeds;                 /* it leaves jobs to others until they have enough */
    uint32_t unseen;            /* jobs until it looks at how many they have */
    bool patient;               /* it has not waited yet for jobs to show how long they take */
    bool alone;                 /* there is one place for all, and whoever inserts may have it */
    uint32_t batches;
    uint32_t row; /* jobs in a row for which it took the place */
    thrum__at_once at_once;
};

enum { HELP_FROM = 512, HELP_UNTIL = 256 }; /* ready jobs in the feeder's deque */
enum { TIMED_EACH = 32 };                   /* of the times that a worker takes up jobs */
enum { BATCHES_PER_CLOCK = 4 };
enum { MAKE_WAY_NS = 200000 };
enum { LONG_EACH_NS = 4000 };                   /* see goes_in_order; for each worker */
enum { WAITERS_MOST = 32 };                     /* that turn_of counts */
enum { SITTER_NS = 200000, SITTER_PACES = 32 }; /* longer jobs are for others */
enum { BESIDE_PACES = 4 }; /* those that it runs at once are not longer than so many of the others' */
/* Ready jobs for each of the others. Few where invariants are checked, so that tests see it change. */
#ifdef THRUM_CHECKS
enum { FED_FROM = 1, FED_UP = 4 };
#else
enum { FED_FROM = 8, FED_UP = 32 };
#endif
enum { MORE = 7, MORE_BELOW_NS = 50000 }; /* that a thief takes with the one that it came for */
enum { CALLS_PER_CLOCK = 64 };
enum { IN_VAIN_MOST = 127 };
enum { IDLE_PACES = 4, IDLE_NS = 1000000 }; /* for which it waits until something is ready */
enum { LEARN_NS = 1000000 };
#ifdef THRUM_CHECKS
enum { LEASE_ROW = 4 }; /* so that tests see it change */
#else
enum { LEASE_ROW = 64 }; /* ending a lease costs as much as taking the place some hundred times */
#endif
enum { ELSEWHERE_NS = 100 }; /* for each access of a job that runs elsewhere than where it was inserted */

/* ---- Feeders ----------------------------------------------------------------------------------------------------- */

static worker *feeder_take(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    worker *w = NULL;
    thrum__lock_take(&ex->lock);
    for (int i = d->own; i < atomic_load_explicit(&d->count, memory_order_relaxed) && !w; i++)
        if (d->workers[i]->kind == WORKER_FEEDER && !atomic_load_explicit(&d->workers[i]->taken, memory_order_acquire))
            w = d->workers[i];
    if (!w && ex->feeders < THRUM__FEEDERS_MOST && (w = thrum__worker_add_new(d, ex, WORKER_FEEDER)) != NULL)
        ex->feeders++;
    if (w)
        atomic_store_explicit(&w->taken, 1, memory_order_relaxed);
    thrum__lock_give(&ex->lock);
    return w;
}

bool thrum__has_streams(const thrum_executor *ex)
{
    return atomic_load_explicit(&ex->streams, memory_order_acquire) > 0;
}

thrum__stream *thrum__stream_new(thrum_executor *ex)
{
    thrum__stream *stream = thrum__zalloc(sizeof *stream);
    if (!stream)
        return NULL;
    stream->ex = ex;
    atomic_fetch_add_explicit(&ex->streams, 1, memory_order_relaxed);
    if (ex->callers_help && !ex->space.places)
        stream->feeder = feeder_take(ex);
    return stream;
}

/* Release, with the acquire in feeder_take: whoever has it next finds the deque as it was left. */
void thrum__stream_free(thrum__stream *stream)
{
    if (stream)
        atomic_fetch_sub_explicit(&stream->ex->streams, 1, memory_order_release);
    if (stream && stream->feeder)
        atomic_store_explicit(&stream->feeder->taken, 0, memory_order_release);
    thrum__free(stream);
}

/* ---- Cores ------------------------------------------------------------------------------------------------------- */

/* The thread that inserts says where it is, for others to be elsewhere (cores.c). */
static void show_inserter(const thrum__stream *stream)
{
    if (stream->feeder && !thrum__self)
        thrum__core_mark(stream->feeder);
}

static void hide_inserter(const thrum__stream *stream)
{
    if (stream->feeder)
        thrum__core_leave(stream->feeder);
}

/* Guests come and go. */
static void leave_core(worker *w)
{
    if (w->kind != WORKER_OWN)
        thrum__core_leave(w);
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

static void run_init(thrum__run *run, thrum_handle *handle)
{
    run->handle = handle;
    run->root = handle->root;
    run->attention = &run->root->attention;
    run->lanes = NULL;
    run->sources = NULL;
    run->count = 0;
    run->has_token = run->careful = false;
    run->stream = true;
    run->ready = NULL;
    run->began = 0;
    atomic_store_explicit(&run->cursor, 0, memory_order_relaxed);
    atomic_store_explicit(&run->turn, 0, memory_order_relaxed);
    atomic_store_explicit(&run->in_order, false, memory_order_relaxed);
    atomic_store_explicit(&run->sharing, RUN_SHARED, memory_order_relaxed);
    atomic_store_explicit(&run->strands, 1, memory_order_release);
    atomic_store_explicit(&handle->run, run, memory_order_release);
}

/* Written only where that changes it: workers look there for every job. */
static void time_jobs(thrum__stream *stream, bool yes)
{
    thrum__at_once *times = yes ? &stream->at_once : NULL;
    if (atomic_load_explicit(&stream->owner->times, memory_order_relaxed) != times)
        atomic_store_explicit(&stream->owner->times, times, memory_order_relaxed);
}

int64_t thrum__stream_long_ns = 60000;

/* The more workers there are, the more often they come for a job. 0: all are long. */
static int64_t long_ns(const thrum_executor *ex)
{
    int64_t each = (int64_t)ex->cpu.life.limit * LONG_EACH_NS, least = thrum__stream_long_ns;
    return least > 0 && least < each ? each : least;
}

/* By jobs that were timed. What has been decided stays until it is clearly wrong. Relaxed, and written only where that
 * changes it: whoever makes jobs ready looks there. */
static void decide_order(const thrum_executor *ex, thrum__run *run, const thrum__at_once *times)
{
    bool in_order = atomic_load_explicit(&run->in_order, memory_order_relaxed);
    bool is_long = thrum__at_once_mean_ns(times) >= (in_order ? long_ns(ex) / 2 : long_ns(ex));
    if (is_long != in_order)
        atomic_store_explicit(&run->in_order, is_long, memory_order_relaxed);
}

int thrum__stream_begin(thrum__stream *stream, thrum__job_owner *owner)
{
    thrum_handle *handle = thrum__handle_uncounted(stream->ex, WORK_STREAM);
    thrum__run *run = handle ? thrum__run_take(NULL, stream->ex) : NULL;
    if (!run) {
        thrum__handle_return(NULL, handle);
        return thrum__fault(THRUM_ENOMEM, "no memory to start a flow, or 65535 runs are under way");
    }
    run_init(run, handle);
    atomic_fetch_add_explicit(&stream->ex->streaming, 1, memory_order_relaxed);
    atomic_store_explicit(&run->turn, stream->pace, memory_order_relaxed);
    if (stream->feeder)
        atomic_store_explicit(&stream->feeder->began_on, -1, memory_order_relaxed);
    stream->handle = handle;
    stream->run = run;
    stream->batches = 0;
    stream->patient = true;
    stream->in_vain = stream->declines = 0;
    stream->alone = stream->feeder && stream->ex->cpu.life.limit == 1;
    stream->at_once.on &= stream->alone;
    thrum__at_once_waited(&stream->at_once);
    owner->root = handle->root;
    owner->run = run;
    stream->owner = owner;
    time_jobs(stream, stream->feeder);
    decide_order(stream->ex, run, &stream->at_once);
    show_inserter(stream);
    return 0;
}

/* ---- Strands ----------------------------------------------------------------------------------------------------- */

static void lower(worker *w, thrum__run *run)
{
    if (atomic_fetch_sub_explicit(&run->strands, 1, memory_order_acq_rel) != 1)
        return;
    thrum_handle *handle = run->handle;
    atomic_store_explicit(&handle->run, NULL, memory_order_relaxed);
    thrum__run_recycle(w, handle->ex, run);
    atomic_fetch_sub_explicit(&handle->ex->streaming, 1, memory_order_release);
    thrum__handle_lower(handle);
}

/* Relaxed: the token is there, or the strand of whoever calls. */
void thrum__stream_hold(thrum__job *job)
{
    thrum__run *run = job->owner->run;
    job->holds_strand = true;
    atomic_fetch_add_explicit(&run->strands, 1, memory_order_relaxed);
}

void thrum__stream_let_go(thrum__job_owner *owner)
{
    worker *self = thrum__self;
    lower(self && self->ex == owner->ex ? self : NULL, owner->run);
}

/* ---- Getting ready ----------------------------------------------------------------------------------------------- */

/* Programs insert jobs in an order that is good for caches, as they would do the work without tasks: what uses the same
 * data is near. Where jobs are long, all workers together take what is ready in that order. A worker's own stack would
 * begin with the last one, and end with some that have little to do with each other. For short ones a queue for all
 * costs too much, and those who insert are not far ahead (seat.c). Relaxed: either is right. */
static inline bool goes_in_order(const thrum__run *run)
{
    return atomic_load_explicit(&run->in_order, memory_order_relaxed);
}

static enum post_level level_of(const thrum__job *job)
{
    int32_t priority = thrum__job_priority(job);
    return priority > 0 ? POST_HIGH : priority < 0 ? POST_LOW : POST_NORMAL;
}

/* By insertion; but each that waits for it lets a job begin earlier, by one for each worker. In a program that goes
 * step by step what begins the next step is the last one otherwise, and then nobody has anything else to do: so it
 * begins when there is still enough of its own step. Where as many wait for each, it changes nothing. */
static uint32_t turn_of(const thrum__job *job)
{
    uint32_t earlier = thrum__order_waiters(job, WAITERS_MOST) * (uint32_t)job->owner->ex->cpu.life.limit;
    return thrum__job_number(job) - earlier;
}

/* With the strand that it holds. */
static void post(thrum__job *job)
{
    thrum_executor *ex = job->owner->ex;
    thrum__post *post = &thrum__job_rest_of(job)->post;
    int32_t pinned = thrum__job_worker(job);
    *post = (thrum__post){.run = job->owner->run, .task = &job->task};
    post->in_order = pinned < 0 && thrum__job_priority(job) == 0 && goes_in_order(post->run);
    if (post->in_order)
        post->order = turn_of(job);
    job->holds_strand = false;
    if (pinned >= 0)
        thrum__post_to(&ex->cpu, pinned, post);
    else
        thrum__post_put(&ex->cpu, level_of(job), post);
}

static void put_to_post(thrum__job *job)
{
    if (!job->holds_strand)
        thrum__stream_hold(job);
    post(job);
}

static bool goes_by_post(const thrum__job *job)
{
    return thrum__job_priority(job) != 0 || thrum__job_worker(job) >= 0;
}

static inline void push(worker *w, const thrum__run *run, thrum__job *job)
{
    if (!thrum__deque_push_owner(&w->deque, (uintptr_t)&job->task | run->tag)) {
        put_to_post(job);
        return;
    }
    if (__builtin_expect(thrum__deque_is_asked(&w->deque), 0))
        thrum__push_slow(w);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(__atomic_load_n(w->spawn.idle, __ATOMIC_RELAXED) < 0, 0))
        thrum__wake(&w->spawn);
}

/* A worker that is at work for the run has a strand; the job needs none of its own then. An urgent one is what that
 * worker does next: it is kept aside until the job at hand has let go all that waited for it (next_urgent). */
void thrum__stream_ready(thrum__job *job)
{
    worker *self = thrum__self;
    thrum__run *run = job->owner->run;
    int32_t priority = thrum__job_priority(job);
    bool strand = self && self->run == run;
    if (!strand || priority < 0 || thrum__job_worker(job) >= 0 || (priority == 0 && goes_in_order(run))) {
        put_to_post(job);
        return;
    }
    if (job->holds_strand) {
        job->holds_strand = false;
        atomic_fetch_sub_explicit(&run->strands, 1, memory_order_relaxed);
    }
    if (priority == 0) {
        push(self, run, job);
        return;
    }
    thrum__job_rest_of(job)->next = self->urgent;
    self->urgent = job;
}

/* ---- Working ----------------------------------------------------------------------------------------------------- */

static inline thrum_task *pop(worker *owner, int64_t base)
{
    bool ask = false;
    uintptr_t word = thrum__deque_pop_owner(&owner->deque, base, &ask);
    if (__builtin_expect(ask, 0))
        word = thrum__pop_slow(owner, base);
    return (thrum_task *)(word & TASK_MASK);
}

/* The most urgent of those that the last job has made ready; the others are pushed, the least urgent first. */
static thrum_task *next_urgent(worker *w, const thrum__run *run)
{
    thrum__job *sorted = NULL;
    while (w->urgent) {
        thrum__job *job = w->urgent, **at = &sorted;
        thrum__job_rest *rest = thrum__job_rest_of(job);
        w->urgent = rest->next;
        while (*at && thrum__job_rest_of(*at)->priority < rest->priority)
            at = &thrum__job_rest_of(*at)->next;
        rest->next = *at;
        *at = job;
    }
    for (thrum__job *next; (next = thrum__job_rest_of(sorted)->next); sorted = next)
        push(w, run, sorted);
    return &sorted->task;
}

/* Urgent ones come first, also those that are posted. */
static inline thrum_task *next_of(worker *w, thrum__run *run, int64_t base)
{
    thrum_task *task = __builtin_expect(w->urgent != NULL, 0) ? next_urgent(w, run) : thrum__post_take_urgent(w, run);
    return task ? task : pop(w, base);
}

/* How many there were. */
static inline int64_t run_from(worker *w, thrum__run *run, thrum_task *task, int64_t base)
{
    int64_t count = 0;
    for (; task; count++) {
        task->fn.plain(task->arg);
        task = next_of(w, run, base);
    }
    return count;
}

/* All that the worker has goes to the post: it makes way for somebody. */
static void give_away(worker *w, const thrum__run *run, int64_t base)
{
    thrum_task *task = w->urgent ? next_urgent(w, run) : pop(w, base);
    for (; task; task = pop(w, base))
        put_to_post((thrum__job *)task);
}

/* The same as run_from for a worker that may be asked to make way. */
static inline int64_t run_politely(worker *w, thrum__run *run, thrum_task *task, int64_t base)
{
    int64_t count = 0;
    for (; task; count++) {
        task->fn.plain(task->arg);
        if (__builtin_expect(thrum__seat_is_asked(&w->domain->seat), 0) && thrum__seat_lend(w))
            give_away(w, run, base);
        task = next_of(w, run, base);
    }
    return count;
}

/* How long a job takes, what belongs to it included; in `turn`, which streams do not need otherwise. What was shorter
 * than expected counts more: whoever was interrupted took longer than he should have. Relaxed: an estimate. */
static void note_pace(thrum__run *run, int64_t began, int64_t count)
{
    if (count == 0)
        return;
    int64_t pace = (thrum__now() - began) / count + 1, known = atomic_load_explicit(&run->turn, memory_order_relaxed);
    if (known)
        pace = pace < known ? (known + pace) / 2 : known + (pace - known) / 8;
    atomic_store_explicit(&run->turn, pace, memory_order_relaxed);
}

static int64_t run_timed(worker *w, thrum__run *run, thrum_task *task, int64_t base)
{
    int64_t began = thrum__now(), count = run_politely(w, run, task, base);
    note_pace(run, began, count);
    return count;
}

/* Whoever has come for a job takes those that were inserted next, too, while there are many: they are near in memory,
 * and coming again costs more than what they are, if they are brief. The strand is for all of them. */
static void take_more(worker *w, const thrum__run *run)
{
    worker *victim = w->victim;
    uintptr_t words[MORE];
    int count = 0;
    int64_t pace = atomic_load_explicit(&run->turn, memory_order_relaxed);
    w->victim = NULL;
    if (!victim || pace == 0 || pace > MORE_BELOW_NS)
        return;
    int64_t number, most = thrum__deque_shown(&victim->deque) / w->domain->life.limit;
    while (count < MORE && count < most) {
        uintptr_t word = thrum__deque_peek(&victim->deque, &number);
        if (!word || (word & ~TASK_MASK) != run->tag || !thrum__deque_take(&victim->deque, number))
            break;
        words[count++] = word;
    }
    while (count > 0)
        push(w, run, (thrum__job *)(words[--count] & TASK_MASK));
}

/* A strand's life: from a job that it has found on, until its deque is empty. */
void thrum__stream_work(worker *w, thrum__run *run, thrum_task *first)
{
    thrum__root *outer = w->root;
    thrum__run *outer_run = w->run;
    w->root = run->root;
    w->run = run;
    int64_t base = thrum__deque_bottom_owner(&w->deque);
    thrum__core_take(w);
    if (outer || outer_run) {
        run_from(w, run, first, base);
    } else {
        take_more(w, run);
        if (w->strands++ % TIMED_EACH == 0)
            run_timed(w, run, first, base);
        else
            run_politely(w, run, first, base);
    }
    leave_core(w);
    w->root = outer;
    w->run = outer_run;
    lower(w, run);
}

static int64_t drain_to(worker *w, thrum__stream *stream, int64_t enough)
{
    int64_t base = thrum__deque_bottom_owner(&w->deque), count = 0;
    thrum_task *task;
    while (thrum__deque_words(&stream->feeder->deque) > enough && (task = pop(stream->feeder, 0)))
        count += run_from(w, stream->run, task, base);
    return count;
}

static int64_t drain_timed(worker *w, thrum__stream *stream, int64_t enough)
{
    int64_t began = thrum__now(), count = drain_to(w, stream, enough);
    note_pace(stream->run, began, count);
    return count;
}

/* Runs what is in the feeder's deque until `enough` is left, as the worker that the caller is. The caller owns that
 * deque. Where there is one place nobody else runs anything meanwhile, wherever he sits; and batches are many. */
static bool drain(worker *w, thrum__stream *stream, int64_t enough)
{
    thrum__root *outer = w->root;
    thrum__run *outer_run = w->run, *run = stream->run;
    int64_t count;
    w->root = run->root;
    w->run = run;
    thrum__core_take(w);
    if (!stream->alone || stream->batches++ % BATCHES_PER_CLOCK == 0)
        count = drain_timed(w, stream, enough);
    else
        count = drain_to(w, stream, enough);
    leave_core(w);
    w->root = outer;
    w->run = outer_run;
    return count > 0;
}

/* The worker that does this came by it through the post, whose strand is the token: thrum__stream_work gives it
 * back. */
static void adopt(void *arg)
{
    drain(thrum__self, arg, 0);
}

/* ---- Whoever inserts, at work ------------------------------------------------------------------------------------ */

static bool may_sit(const thrum__stream *stream)
{
    return stream->feeder && !stream->alone && !stream->ex->threadless && !thrum__self;
}

/* The calling thread, which is no worker, takes up work as the feeder, whose deque it owns anyway: with the seat. */
static bool sit(thrum__stream *stream)
{
    worker *feeder = stream->feeder;
    bool back = stream->seated && thrum__seat_resume(feeder->domain, stream->ticket);
    if (!back && !thrum__seat_ask(feeder->domain))
        return false;
    stream->seated = true;
    feeder->spawn.low = thrum__own_stack.limit;
    thrum__self = feeder;
    thrum__core_take(feeder);
    return true;
}

static void go_away(thrum__stream *stream)
{
    thrum__self = NULL;
    stream->seated = stream->at_once.on = thrum__seat_pause(stream->feeder, &stream->ticket);
}

static void rise(thrum__stream *stream)
{
    thrum__self = NULL;
    stream->seated = stream->at_once.on = false;
    thrum__seat_return(stream->feeder);
}

/* The calling thread as a worker, if it is one or may be one now. */
static worker *enter(thrum__stream *stream)
{
    thrum_executor *ex = stream->ex;
    worker *self = thrum__self;
    if (self && self->ex == ex)
        return self->at_home ? self : NULL;
    if (stream->seated && may_sit(stream) && sit(stream))
        return stream->feeder;
    return ex->callers_help ? thrum__guest_enter(ex, false) : NULL;
}

static void leave(thrum__stream *stream, worker *w, const worker *self)
{
    if (w && w == stream->feeder)
        go_away(stream);
    else if (w && w != self) {
        thrum__core_leave(w);
        thrum__guest_leave(w);
    }
}

/* How long a job takes, or 0: as workers have seen it who came to an end of what they had, or by jobs that were timed.
 * The former may be of a few jobs, the first ones, and not change for long where workers do not run dry: so whichever
 * is less. */
static int64_t pace_of(const thrum__stream *stream)
{
    int64_t pace = atomic_load_explicit(&stream->run->turn, memory_order_relaxed);
    int64_t timed = thrum__at_once_mean_ns(&stream->at_once);
    return pace == 0 || (timed > 0 && timed < pace) ? timed : pace;
}

/* Others have some hundred jobs to run while whoever inserts is at one: so it must not be longer than many of those.
 * And it must not wait for whoever inserts: only codelets are taken of which jobs have been seen to end. */
static bool suits_sitter(const thrum__stream *stream, const thrum__job *job)
{
    int64_t pace = pace_of(stream);
    int64_t most = pace > 0 && pace < SITTER_NS / SITTER_PACES ? pace * SITTER_PACES : SITTER_NS;
    int64_t ns = job->kind == THRUM__JOB_CODELET ? thrum__at_once_ns(&stream->at_once, job->codelet) : 0;
    return ns > 0 && ns < most;
}

/* Runs it, or leaves it to others. */
static bool run_if_suitable(const thrum__stream *stream, thrum_task *task)
{
    thrum__job *job = (thrum__job *)task;
    bool suits = suits_sitter(stream, job);
    if (suits)
        task->fn.plain(task->arg);
    else
        put_to_post(job);
    return suits;
}

enum another { NO_OTHER, LEFT_ANOTHER, RAN_ANOTHER };

/* One job of the stream that somebody else has, or that was posted. Its strand is not the last: the token is there. */
static enum another run_another(worker *w, const thrum__stream *stream)
{
    found f;
    if (!thrum__find_for(w, stream->handle, &f))
        return NO_OTHER;
    if (f.kind != FOUND_TASK || f.run != stream->run) {
        thrum__perform(w, &f);
        return RAN_ANOTHER;
    }
    bool suits = run_if_suitable(stream, f.task);
    atomic_fetch_sub_explicit(&f.run->strands, 1, memory_order_release);
    return suits ? RAN_ANOTHER : LEFT_ANOTHER;
}

/* For how long it waits for those that run to make others ready. All that are open may wait for one that runs, at the
 * beginning of a factorisation for example: whoever goes on inserting then is done with all of it when the second one
 * begins, and from there on nothing is run near to where it was inserted. But what comes next may wait for nothing. */
static int64_t idle_most_ns(const thrum__stream *stream)
{
    int64_t ns = pace_of(stream) * IDLE_PACES;
    return ns < IDLE_NS ? ns : IDLE_NS;
}

/* Waits until it has run one: false if that takes too long, or there are only such that it leaves to others. */
static bool await_another(worker *w, const thrum__stream *stream)
{
    int64_t until = thrum__now() + idle_most_ns(stream);
    enum another found;
    while ((found = run_another(w, stream)) == NO_OTHER && thrum__now() < until)
        thrum__relax();
    return found == RAN_ANOTHER;
}

/* How many it has run: `most`, or fewer if there are no more for it. */
static size_t run_some(worker *w, const thrum__stream *stream, size_t most)
{
    size_t count = 0;
    for (bool more = true; more && count < most;) {
        thrum_task *task = next_of(w, stream->run, 0);
        if (task)
            count += run_if_suitable(stream, task);
        else
            count += more = await_another(w, stream);
    }
    return count;
}

static bool has_seen_jobs(const thrum__stream *stream)
{
    return atomic_load_explicit(&stream->at_once.calls, memory_order_relaxed) > 0;
}

/* Waits until a job has ended, once and not long: whoever is far ahead by then would be so for the rest of the flow. */
static bool learns_of_jobs(thrum__stream *stream)
{
    int64_t until = stream->patient ? thrum__now() + LEARN_NS : 0;
    stream->patient = false;
    while (!has_seen_jobs(stream) && thrum__now() < until)
        sched_yield();
    return has_seen_jobs(stream);
}

static bool jobs_are_long(const thrum__stream *stream)
{
    return pace_of(stream) >= SITTER_NS;
}

/* Whoever found nothing for itself does not ask a worker to make way again and again; nor while nothing is known of
 * jobs. */
static bool declines(thrum__stream *stream)
{
    if (stream->declines > 0) {
        stream->declines--;
        return true;
    }
    return (!has_seen_jobs(stream) && !learns_of_jobs(stream)) || jobs_are_long(stream);
}

static void decide_to_stay(thrum__stream *stream, bool stays)
{
    stream->in_vain = stays ? 0 : stream->in_vain < IN_VAIN_MOST ? 2 * stream->in_vain + 1 : IN_VAIN_MOST;
    stream->declines = stream->in_vain;
    if (stays)
        go_away(stream);
    else
        rise(stream);
}

/* It goes away: others must find them. */
static void leave_urgent(worker *w, const thrum__run *run)
{
    if (w->urgent)
        put_to_post((thrum__job *)next_urgent(w, run));
}

size_t thrum__stream_work_some(thrum__stream *stream, size_t most)
{
    if (!may_sit(stream) || declines(stream) || !sit(stream))
        return 0;
    worker *w = stream->feeder;
    w->root = stream->run->root;
    w->run = stream->run;
    size_t count = run_some(w, stream, most);
    leave_urgent(w, stream->run);
    w->root = NULL;
    w->run = NULL;
    decide_to_stay(stream, count > 0);
    return count;
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

/* Where there are several workers, whoever inserts and has the seat leaves jobs to the others until those have enough,
 * and then runs what it inserts itself, at once, until they have little: so both have jobs that were inserted one after
 * the other, which mostly means data that is near; and of its own jobs what it has just written is in the caches. */
static void look_at_others(thrum__stream *stream)
{
    int64_t limit = stream->ex->cpu.life.limit, others = limit > 1 ? limit - 1 : 1;
    int64_t each = thrum__deque_words(&stream->feeder->deque) / others;
    stream->feeds = each < (stream->feeds ? FED_UP : FED_FROM);
    stream->unseen = (uint32_t)(stream->feeds ? FED_UP - each : each - FED_FROM) / 2;
}

/* Looking takes lines away from thieves: so one waits for as long as little can have changed. */
static bool others_are_fed(thrum__stream *stream)
{
    if (stream->unseen-- == 0)
        look_at_others(stream);
    return !stream->feeds;
}

/* The others must not run dry meanwhile. */
static bool suits_beside(const thrum__stream *stream, const thrum__job *job)
{
    int64_t ns = thrum__at_once_ns(&stream->at_once, job->codelet);
    return ns > 0 && ns < SITTER_NS && ns < pace_of(stream) * BESIDE_PACES;
}

/* Programs mostly go through their handles in the order in which they were made, in which they lie in memory: so what
 * the next insertion looks at can come while this job runs. */
static void prefetch_neighbours(const thrum__job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        __builtin_prefetch(job->access[i].data + 1, 1);
}

/* It works for this stream from here on. */
static inline void begin_visit(const thrum__stream *stream, const thrum__job *job, worker *w, bool entered,
                               thrum__visit *visit)
{
    visit->worker = w;
    visit->root = w->root;
    visit->run = w->run;
    visit->base = thrum__deque_bottom_owner(&w->deque);
    visit->entered = entered;
    w->root = stream->run->root;
    w->run = stream->run;
    prefetch_neighbours(job);
}

static bool visit_beside(thrum__stream *stream, const thrum__job *job, thrum__visit *visit)
{
    worker *w = stream->feeder;
    if (thrum__self || !others_are_fed(stream) || !suits_beside(stream, job))
        return false;
    stream->seated = stream->at_once.on = thrum__seat_visit(w->domain, stream->ticket);
    if (!stream->seated)
        return false;
    w->spawn.low = thrum__own_stack.limit;
    thrum__self = w;
    begin_visit(stream, job, w, true, visit);
    return true;
}

/* As a worker that has nothing else to do, with the place: that of the worker which inserts, or of a guest for as long.
 * Not by a worker of another executor, which would have to get back to its own place each time. */
static worker *enter_at_once(const thrum__stream *stream)
{
    worker *self = thrum__self, *w;
    if (!self)
        return (w = thrum__guest_enter_by_lease(stream->feeder)) ? w : thrum__guest_enter(stream->ex, false);
    return self->ex == stream->ex && self->at_home && !thrum__stack_spent(self) ? self : NULL;
}

/* Whoever has taken the place often enough gets a lease. */
static void leave_at_once(thrum__stream *stream, worker *w)
{
    if (__builtin_expect(w->leases != NULL, 1)) {
        thrum__guest_leave_by_lease(w);
    } else if (++stream->row < LEASE_ROW) {
        thrum__guest_leave(w);
    } else {
        stream->row = 0;
        thrum__guest_leave_to_lease(w, stream->feeder);
    }
}

/* Where copies are put together whoever inserts is about to wait, mostly. */
static inline bool is_brief(const thrum__stream *stream, const thrum__job *job)
{
    return job->kind == THRUM__JOB_COMBINE || thrum__at_once_is_brief(&stream->at_once, job->codelet);
}

/* The job is in its handles' order already, as any other is, or will be if somebody asks: whoever inserts elsewhere
 * meanwhile waits for it. False: somebody else has to run it. If that is so because somebody has the place, jobs will
 * be behind each other there. */
bool thrum__stream_visit(thrum__stream *stream, const thrum__job *job, thrum__visit *visit)
{
    if (!stream->alone)
        return visit_beside(stream, job, visit);
    if (!is_brief(stream, job))
        return false;
    worker *self = thrum__self, *w = enter_at_once(stream);
    stream->at_once.on = w != NULL;
    if (w)
        begin_visit(stream, job, w, w != self, visit);
    else
        stream->row = 0;
    return w != NULL;
}

/* What is urgent is posted. A lessee need not look for that: to whoever posts the place is free, so a worker is woken
 * for it, and ends the lease. */
static inline bool may_have_more(const worker *w, const thrum__visit *visit)
{
    return !w->leases || w->urgent || thrum__deque_bottom_owner(&w->deque) != visit->base;
}

/* A feeder's deque is for all. */
void thrum__stream_end_visit(thrum__stream *stream, const thrum__visit *visit)
{
    worker *w = visit->worker;
    bool beside = w == stream->feeder;
    if (beside)
        leave_urgent(w, stream->run);
    else if (may_have_more(w, visit))
        for (thrum_task *task; (task = next_of(w, stream->run, visit->base));)
            task->fn.plain(task->arg);
    w->root = visit->root;
    w->run = visit->run;
    if (beside)
        thrum__self = NULL;
    else if (visit->entered)
        leave_at_once(stream, w);
}

static inline bool may_run_at_once(const thrum__stream *stream, const thrum__job *job)
{
    return job->kind == THRUM__JOB_CODELET || (job->kind == THRUM__JOB_COMBINE && stream->alone);
}

bool thrum__stream_run(thrum__stream *stream, thrum__job *job)
{
    thrum__visit visit;
    if (!may_run_at_once(stream, job) || !thrum__stream_visit(stream, job, &visit))
        return false;
    job->task.fn.plain(job->task.arg);
    thrum__stream_end_visit(stream, &visit);
    return true;
}

void thrum__stream_put_plain(thrum__stream *stream, thrum__job *job)
{
    if (!stream->feeder || goes_in_order(stream->run))
        put_to_post(job);
    else
        push(stream->feeder, stream->run, job);
}

const bool *thrum__stream_runs_at_once(const thrum__stream *stream)
{
    return &stream->at_once.on;
}

void thrum__stream_put(thrum__stream *stream, thrum__job *job)
{
    if (goes_by_post(job))
        put_to_post(job);
    else if (!stream->at_once.on || !thrum__stream_run(stream, job))
        thrum__stream_put_plain(stream, job);
}

bool thrum__stream_help(thrum__stream *stream)
{
    worker *self = thrum__self;
    if (stream->ex->space.places)
        return thrum__place_help(stream->ex->space.places);
    worker *w = enter(stream);
    bool any = w && stream->feeder && drain(w, stream, thrum__deque_words(&stream->feeder->deque) / 2);
    if (w && !any)
        any = thrum__help_once(w, stream->handle, w == self);
    leave(stream, w, self);
    return any;
}

/* A job that runs elsewhere than where it was inserted takes longer than it would have taken there: its record and its
 * handles' come from another core, and go back. Where there is but one place for all, nothing is gained by that until
 * jobs are long. */
static int64_t small_below(const domain *d, uint32_t accesses)
{
    return d->life.limit == 1 ? THRUM__LONG_NS : THRUM__SMALL_NS + accesses * ELSEWHERE_NS;
}

/* Small jobs are better left to whoever inserts them: to thieves the feeder looks as a worker that has a run of tiny
 * tasks alone and is getting on with it, or is not (door.c: better_left_alone). */
static bool mark_small(worker *feeder, thrum__run *run, uint32_t accesses)
{
    int64_t pace = atomic_load_explicit(&run->turn, memory_order_relaxed);
    bool small = pace > 0 && pace < small_below(feeder->domain, accesses);
    atomic_store_explicit(&feeder->left_ns, small ? INT64_MAX : 0, memory_order_relaxed);
    atomic_store_explicit(&feeder->began_on, -1, memory_order_relaxed); /* whoever inserts may be anywhere */
    atomic_store_explicit(&feeder->alone_runs, small, memory_order_relaxed);
    atomic_store_explicit(&feeder->inside, atomic_load_explicit(&feeder->inside, memory_order_relaxed) + 2,
                          memory_order_release);
    return small;
}

void thrum__stream_nap(const thrum__stream *stream, int64_t ns)
{
    worker *self = thrum__self;
    hide_inserter(stream);
    if (self)
        thrum__step_aside(self);
    thrum__sleep_ns(ns);
    if (self)
        thrum__step_back(self);
    show_inserter(stream);
}

/* Where jobs are tiny, as far as batches of them have shown, each would notice being timed. */
static bool decide_at_once(thrum__stream *stream, int insertions, enum thrum__at_once_way *way)
{
    int64_t pace = atomic_load_explicit(&stream->run->turn, memory_order_relaxed);
    bool tiny = !stream->at_once.on && pace > 0 && pace < THRUM__AT_ONCE_NS;
    time_jobs(stream, !tiny);
    if (tiny)
        return false;
    *way = thrum__at_once_look(&stream->at_once, thrum__now(), insertions);
    return *way != THRUM__LEAVE_TO_OTHERS;
}

/* Whoever inserts in the middle of a task has the place, and nobody else runs what there is. */
static bool catch_up_inside(thrum__stream *stream)
{
    worker *self = thrum__self;
    if (!self || self->ex != stream->ex)
        return false;
    if (self->at_home)
        drain(self, stream, 0);
    thrum__at_once_caught_up(&stream->at_once, self->at_home);
    return true;
}

bool thrum__stream_lighten(thrum__stream *stream, uint32_t accesses, int insertions)
{
    worker *feeder = stream->feeder;
    enum thrum__at_once_way way;
    if (!feeder)
        return false;
    if (stream->alone && decide_at_once(stream, insertions, &way)) {
        atomic_store_explicit(&feeder->alone_runs, 0, memory_order_relaxed);
        return way == THRUM__CATCH_UP && !catch_up_inside(stream);
    }
    show_inserter(stream);
    bool small = mark_small(feeder, stream->run, accesses);
    if (!stream->alone) /* else it is decided above */
        time_jobs(stream, !small);
    if (small)
        thrum__door_close(feeder);
    if (thrum__deque_words(&feeder->deque) < (small ? 1 : HELP_FROM))
        return false;
    worker *self = thrum__self, *w = enter(stream);
    if (w)
        drain(w, stream, small ? 0 : HELP_UNTIL);
    leave(stream, w, self);
    return false;
}

uint64_t thrum__stream_progress(const thrum__stream *stream)
{
    return atomic_load_explicit(&stream->at_once.calls, memory_order_relaxed);
}

int64_t thrum__stream_known_ns(const thrum__stream *stream, const thrum_codelet *codelet)
{
    return thrum__at_once_ns(&stream->at_once, codelet);
}

int64_t thrum__stream_patience(const thrum__stream *stream)
{
    return thrum__at_once_patience(&stream->at_once);
}

void thrum__stream_waited(thrum__stream *stream)
{
    thrum__at_once_waited(&stream->at_once);
}

/* The worker that ran what there was looks for more, and has the place meanwhile. */
void thrum__stream_caught_up(thrum__stream *stream, bool success)
{
    thrum__at_once_caught_up(&stream->at_once, success && thrum__place_comes_free(stream->ex, MAKE_WAY_NS));
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* Whoever has been woken and waits for the very core of the guest, who is about to run jobs, gets it for a moment: to
 * find that it should be elsewhere. */
static void show_core(thrum__stream *stream, worker *guest)
{
    if (thrum__life_look(&stream->ex->cpu.life).searching == 0)
        return;
    thrum__core_take(guest);
    if (stream->feeder)
        atomic_store_explicit(&stream->feeder->began_on, sched_getcpu(), memory_order_relaxed);
    sched_yield();
}

/* Gives the token back once the feeder's deque is empty: here, or by whoever takes it from the post. */
static void give_token(thrum__stream *stream, worker *w)
{
    thrum__run *run = stream->run;
    stream->pace = atomic_load_explicit(&run->turn, memory_order_relaxed);
    if (stream->feeder)
        atomic_store_explicit(&stream->feeder->alone_runs, 0, memory_order_relaxed);
    if (!stream->feeder || !thrum__deque_has_words(&stream->feeder->deque)) {
        lower(w, run);
    } else if (w) {
        drain(w, stream, 0);
        lower(w, run);
    } else {
        stream->adopt.fn.plain = adopt;
        stream->adopt.arg = stream;
        stream->adopt.strong = 0;
        stream->post = (thrum__post){.run = run, .task = &stream->adopt};
        thrum__post_put(&stream->ex->cpu, POST_NORMAL, &stream->post);
    }
}

int thrum__stream_may_end(thrum__stream *stream, const char *what)
{
    return thrum__may_wait(thrum__self, stream->handle, what);
}

void thrum__stream_end(thrum__stream *stream)
{
    thrum_handle *handle = stream->handle;
    worker *self = thrum__self;
    if (stream->feeder)
        thrum__lease_give_up(&stream->feeder->lease);
    thrum__note_awaited(handle, self);
    hide_inserter(stream);
    worker *w = enter(stream);
    if (w && w != self && w != stream->feeder && !stream->alone)
        show_core(stream, w);
    give_token(stream, w);
    if (w && w != self)
        thrum__wait_as(w, handle, false);
    if (w && w == stream->feeder)
        rise(stream);
    else
        leave(stream, w, self);
    hide_inserter(stream);
    thrum_wait(handle);
}

int thrum__stream_outcome(thrum__stream *stream)
{
    int err = thrum__handle_outcome(stream->handle);
    thrum_release(stream->handle);
    stream->handle = NULL;
    stream->run = NULL;
    return err;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void watched_call(worker *w, const thrum__job *job, thrum_kernel_fn *kernel, const thrum_buffer *buffers)
{
    watch watch;
    thrum__watch_begin_job(w, &watch, thrum__job_name(job));
    kernel(buffers, thrum__job_arg(job));
    thrum__watch_end(w, &watch);
}

/* Where there are several workers, few are timed: what is known goes from core to core. */
static bool is_timed(worker *w, thrum__at_once *times, const thrum_codelet *codelet)
{
    if (w->leases || w->domain->life.limit == 1)
        return thrum__at_once_times(times, codelet);
    return w->calls++ % CALLS_PER_CLOCK == 0 || thrum__at_once_ns(times, codelet) == 0;
}

static void note_time(const thrum__job *job, thrum__at_once *times, int64_t ns)
{
    thrum__at_once_note(times, job->codelet, ns);
    decide_order(job->owner->ex, job->owner->run, times);
}

/* Watched, or timed, or both. */
static __attribute__((noinline)) void call_with_care(worker *w, const thrum__job *job, thrum_kernel_fn *kernel,
                                                     const thrum_buffer *buffers, bool watched)
{
    thrum__at_once *times = atomic_load_explicit(&job->owner->times, memory_order_relaxed);
    int64_t began = times && is_timed(w, times, job->codelet) ? thrum__now() : 0;
    if (watched)
        watched_call(w, job, kernel, buffers);
    else
        kernel(buffers, thrum__job_arg(job));
    if (began)
        note_time(job, times, thrum__now() - began);
}

void thrum__job_call(thrum__job *job, thrum_kernel_fn *kernel, const thrum_buffer *buffers)
{
    worker *w = thrum__self;
    thrum__job_owner *owner = job->owner;
    thrum__root *outer = w->root;
    uint32_t attention = __atomic_load_n(&owner->root->attention, __ATOMIC_RELAXED);
    if (__builtin_expect(thrum__is_cancelled(attention), 0))
        return;
    w->root = owner->root;
    bool watched = thrum__is_watched(attention);
    if (__builtin_expect(watched || atomic_load_explicit(&owner->times, memory_order_relaxed), 0))
        call_with_care(w, job, kernel, buffers, watched);
    else
        kernel(buffers, thrum__job_arg(job));
    w->root = outer;
}

/* ---- Promises ---------------------------------------------------------------------------------------------------- */

thrum_handle *thrum__promise_new(thrum_executor *ex)
{
    return thrum__handle_uncounted(ex, WORK_STREAM);
}

void thrum__promise_keep(thrum_handle *promise)
{
    thrum__handle_lower(promise);
}

/* ---- Calling one worker ------------------------------------------------------------------------------------------ */

/* The run that such calls belong to never ends: the executor has it until it is freed. */
static thrum__run *service_run(thrum_executor *ex)
{
    return ex->service;
}

int thrum__service_begin(thrum_executor *ex)
{
    thrum_handle *handle = thrum__handle_uncounted(ex, WORK_STREAM);
    thrum__run *run = handle ? thrum__run_take(NULL, ex) : NULL;
    if (!run) {
        thrum__handle_return(NULL, handle);
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
    }
    run_init(run, handle);
    ex->service = run;
    return 0;
}

void thrum__service_end(thrum_executor *ex)
{
    if (!ex->service)
        return;
    thrum__handle_return(NULL, ex->service->handle);
    ex->service = NULL;
}

void thrum__call_worker(thrum_executor *ex, int domain_number, int number, thrum__call *call, thrum_fn *fn, void *arg)
{
    thrum__run *run = service_run(ex);
    call->task.fn.plain = fn;
    call->task.arg = arg;
    call->task.strong = 0;
    call->post = (thrum__post){.run = run, .task = &call->task};
    atomic_fetch_add_explicit(&run->strands, 1, memory_order_relaxed);
    thrum__post_to(thrum__domain(ex, domain_number), number, &call->post);
}
