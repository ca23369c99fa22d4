/* SPDX-License-Identifier: MIT */
#include "sim/steal.h"

#include "base/alloc.h"
#include "base/device_list.h"
#include "base/fault.h"
#include "base/quantity.h"
#include "sched/life.h"
#include "sim/draw.h"
#include "sim/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NONE = -1 };

typedef struct queue {
    int oldest, newest; /* tasks, linked by `older` and `newer` */
} queue;

typedef struct domain {
    thrum__life life;
    int first, count;   /* its workers */
    queue shared;       /* the sources, and what workers of other domains have sent */
    uint64_t available; /* tasks in all queues of the domain */
    double longest;     /* task */
    double allowed;     /* attempts in vain while nothing is to be found */
    uint64_t in_vain;   /* in this stretch so far */
} domain;

typedef struct worker {
    domain *of;
    int task;          /* that it runs, or NONE */
    uint64_t attempts; /* of this round */
    double since;      /* it became what it is */
    queue *queues;     /* by domain: under thrum's rule only its own is used */
    thrum__steal_worker *counts;
} worker;

typedef struct sim {
    const thrum__steal_job *job;
    thrum__steal_setting setting;
    thrum__steal_result *result;
    domain *domains;
    worker *workers;
    queue *queues;
    int worker_count;
    int *older, *newer;   /* by task: in the queue that it is in */
    int *waits;           /* by task: predecessors that are missing */
    thrum__events events; /* payload: a worker that is woken, tries to steal, or ends a task */
    thrum__stream random;
} sim;

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static int read_rule(const char *value, thrum__steal_setting *setting)
{
    if (strcmp(value, "thrum") == 0)
        setting->rule = THRUM__STEAL_THRUM;
    else if (strcmp(value, "taskflow") == 0)
        setting->rule = THRUM__STEAL_TASKFLOW;
    else
        return thrum__fault(THRUM_EOPTION, "'%s' is no rule of stealing; it can be thrum or taskflow", value);
    return 0;
}

static int read_one(const thrum__setting *pair, thrum__steal_setting *setting)
{
    long attempts;
    int err;
    if (strcmp(pair->key, "rule") == 0)
        return read_rule(pair->value, setting);
    if (strcmp(pair->key, "attempt") == 0)
        return thrum__time_parse(pair->value, &setting->attempt);
    if (strcmp(pair->key, "wake") == 0)
        return thrum__time_parse(pair->value, &setting->wake);
    if (strcmp(pair->key, "attempts") != 0)
        return thrum__fault(THRUM_EOPTION, "'%s' is no setting of stealing; there are rule, attempts, attempt and wake",
                            pair->key);
    err = thrum__count_parse(pair->value, 1, 1000000, &attempts);
    if (err == 0)
        setting->attempts = (uint64_t)attempts;
    return err;
}

int thrum__steal_read(const char *text, thrum__steal_setting *setting)
{
    thrum__setting pair;
    int err = 0;
    *setting = (thrum__steal_setting){.rule = THRUM__STEAL_THRUM, .attempt = 100e-9, .wake = 5e-6};
    while (err == 0 && thrum__setting_next(&text, &pair, &err))
        err = read_one(&pair, setting);
    if (err == 0 && setting->attempt <= 0)
        return thrum__fault(THRUM_EOPTION, "attempt=0: an attempt to steal must take some time, such as 100ns");
    return err;
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void push(sim *s, queue *q, int task)
{
    s->older[task] = q->newest;
    s->newer[task] = NONE;
    *(q->newest == NONE ? &q->oldest : &s->newer[q->newest]) = task;
    q->newest = task;
}

static int pop(sim *s, queue *q)
{
    int task = q->newest;
    if (task == NONE)
        return NONE;
    q->newest = s->older[task];
    *(q->newest == NONE ? &q->oldest : &s->newer[q->newest]) = NONE;
    return task;
}

static int steal(sim *s, queue *q)
{
    int task = q->oldest;
    if (task == NONE)
        return NONE;
    q->oldest = s->newer[task];
    *(q->oldest == NONE ? &q->newest : &s->older[q->oldest]) = NONE;
    return task;
}

static queue *own_queue(const sim *s, const worker *w, const domain *d)
{
    return &w->queues[d - s->domains];
}

/* ---- Waking and sleeping ----------------------------------------------------------------------------------------- */

static void go_on_at(sim *s, const worker *w, double time)
{
    thrum__events_schedule(&s->events, time, (uint64_t)(w - s->workers));
}

static void begin_round(sim *s, worker *w, double now, double delay)
{
    w->attempts = 0;
    go_on_at(s, w, now + delay + s->setting.attempt);
}

/* `index` is that of a sleeper in its domain who has been taken off the stack; NONE: there was none. */
static void wake(sim *s, domain *d, int index, double now)
{
    if (index < 0)
        return;
    worker *w = &s->workers[d->first + index];
    s->result->wakes++;
    w->counts->wakes++;
    w->counts->asleep += now - w->since;
    w->since = now;
    begin_round(s, w, now, s->setting.wake);
}

static int active_in(const domain *d)
{
    thrum__life_view view = thrum__life_look(&d->life);
    return view.awake - view.searching;
}

/* There is one more task in the domain, put there by a worker of `from` (NULL: from outside). */
static void added(sim *s, domain *d, const domain *from, double now)
{
    d->available++;
    d->in_vain = 0;
    if (s->setting.rule == THRUM__STEAL_THRUM) {
        if (thrum__life_wants_wake(&d->life))
            wake(s, d, thrum__life_wake(&d->life), now);
        return;
    }
    thrum__life_view view = thrum__life_look(&d->life);
    if (!from || (from != d && view.awake == 0))
        wake(s, d, thrum__life_wake_any(&d->life), now);
}

static void taken(domain *d)
{
    d->available--;
    d->in_vain = 0;
}

static void run(sim *s, worker *w, int task, double now)
{
    w->task = task;
    w->since = now;
    go_on_at(s, w, now + s->job->seconds[task]);
}

/* It was searching and has found a task. */
static void become_active(sim *s, worker *w, int task, double now)
{
    domain *d = w->of;
    w->counts->searching += now - w->since;
    bool last = thrum__life_end_search(&d->life);
    if (s->setting.rule == THRUM__STEAL_TASKFLOW) {
        if (last || active_in(d) == 1) {
            if (thrum__life_look(&d->life).searching == 0)
                wake(s, d, thrum__life_wake_any(&d->life), now);
        }
    } else if (last && d->available && thrum__life_wants_wake(&d->life)) {
        wake(s, d, thrum__life_wake(&d->life), now);
    }
    run(s, w, task, now);
}

static void fall_asleep(sim *s, worker *w, double now)
{
    domain *d = w->of;
    w->counts->searching += now - w->since;
    w->since = now;
    w->counts->sleeps++;
    thrum__life_sleep(&d->life, (int)(w - s->workers) - d->first);
    if (s->setting.rule == THRUM__STEAL_THRUM && d->available && thrum__life_wants_wake(&d->life))
        wake(s, d, thrum__life_wake(&d->life), now);
}

static void count_steal(sim *s, worker *w)
{
    taken(w->of);
    s->result->steals++;
    w->counts->steals++;
}

/* A round has found nothing. */
static void end_round(sim *s, worker *w, double now)
{
    domain *d = w->of;
    bool last = thrum__life_look(&d->life).searching == 1;
    if (s->setting.rule == THRUM__STEAL_TASKFLOW && d->shared.oldest != NONE) {
        int task = steal(s, &d->shared);
        count_steal(s, w);
        become_active(s, w, task, now);
    } else if (s->setting.rule == THRUM__STEAL_TASKFLOW && last && (active_in(d) > 0 || d->available)) {
        begin_round(s, w, now, 0);
    } else {
        fall_asleep(s, w, now);
    }
}

/* ---- What a worker does ------------------------------------------------------------------------------------------ */

/* One of all queues that may have tasks of the domain; under thrum's rule what comes from elsewhere is in the shared
 * one. */
static queue *random_victim(sim *s, const domain *d)
{
    bool own_only = s->setting.rule == THRUM__STEAL_THRUM;
    uint64_t count = (uint64_t)(own_only ? d->count : s->worker_count) + 1, pick = thrum__draw_bits(&s->random) % count;
    if (pick == count - 1)
        return &s->domains[d - s->domains].shared;
    return own_queue(s, &s->workers[(own_only ? d->first : 0) + (int)pick], d);
}

static void note_vain(sim *s, worker *w)
{
    domain *d = w->of;
    s->result->wasted++;
    w->counts->wasted++;
    if (d->available)
        return;
    d->in_vain++;
    double share = (double)d->in_vain / d->allowed;
    s->result->worst_waste = share > s->result->worst_waste ? share : s->result->worst_waste;
}

static void try_to_steal(sim *s, worker *w, double now)
{
    int task = steal(s, random_victim(s, w->of));
    if (task != NONE) {
        count_steal(s, w);
        become_active(s, w, task, now);
        return;
    }
    note_vain(s, w);
    if (++w->attempts < s->setting.attempts)
        go_on_at(s, w, now + s->setting.attempt);
    else
        end_round(s, w, now);
}

static void release_successors(sim *s, worker *w, int task, double now)
{
    const thrum__wl_order *order = s->job->order;
    for (size_t i = order->first[task]; i < order->first[task + 1]; i++) {
        int next = order->after[i];
        if (--s->waits[next] > 0)
            continue;
        domain *d = &s->domains[s->job->domain[next]];
        bool shared = s->setting.rule == THRUM__STEAL_THRUM && d != w->of;
        push(s, shared ? &d->shared : own_queue(s, w, d), next);
        added(s, d, w->of, now);
    }
}

static void end_task(sim *s, worker *w, double now)
{
    int task = w->task;
    w->counts->tasks++;
    w->counts->busy += now - w->since;
    if (s->job->ran)
        s->job->ran(s->job->ctx, (int)(w - s->workers), task, w->since, now);
    w->task = NONE;
    w->since = now;
    s->result->makespan = now;
    release_successors(s, w, task, now);
    int next = pop(s, own_queue(s, w, w->of));
    if (next != NONE) {
        taken(w->of);
        run(s, w, next, now);
        return;
    }
    thrum__life_start_search(&w->of->life);
    begin_round(s, w, now, 0);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static int broken(const thrum__steal_view *view, const char *how, ...) __attribute__((format(printf, 2, 3)));
static int broken(const thrum__steal_view *view, const char *how, ...)
{
    char text[200];
    va_list list;
    va_start(list, how);
    vsnprintf(text, sizeof text, how, list);
    va_end(list);
    return thrum__fault(
        THRUM_EPOLICY, "work stealing broke the rule '%s' in the domain '%s' at %.9g s: %s; that is a fault of thrum's",
        view->rule == THRUM__STEAL_THRUM ? "thrum" : "taskflow", view->domain, view->now, text);
}

int thrum__steal_check(const thrum__steal_view *v)
{
    bool all_awake = v->active + v->searching == v->workers;
    if (v->rule == THRUM__STEAL_THRUM && v->available > 0 && v->searching == 0 && !all_awake)
        return broken(v, "tasks wait (%llu), workers sleep (%d of %d), and nobody searches",
                      (unsigned long long)v->available, v->workers - v->active, v->workers);
    if (v->rule == THRUM__STEAL_TASKFLOW && v->active > 0 && v->searching == 0 && !all_awake)
        return broken(v, "workers are active (%d of %d), and nobody searches (lemma 1)", v->active, v->workers);
    if ((double)v->in_vain > v->allowed)
        return broken(v, "%llu attempts in vain, of %.9g that are allowed while nothing is to be found (theorem 3)",
                      (unsigned long long)v->in_vain, v->allowed);
    return 0;
}

static int check_domain(const sim *s, const domain *d, double now)
{
    thrum__life_view life = thrum__life_look(&d->life);
    return thrum__steal_check(&(thrum__steal_view){.rule = s->setting.rule,
                                                   .domain = s->job->names[d - s->domains],
                                                   .now = now,
                                                   .workers = d->count,
                                                   .active = life.awake - life.searching,
                                                   .searching = life.searching,
                                                   .available = d->available,
                                                   .in_vain = d->in_vain,
                                                   .allowed = d->allowed});
}

static int check(sim *s, double now)
{
    thrum__steal_result *r = s->result;
    int searching = 0, err = 0;
    for (int i = 0; i < s->job->domains && !err; i++) {
        searching += thrum__life_look(&s->domains[i].life).searching;
        err = check_domain(s, &s->domains[i], now);
    }
    r->most_searching = searching > r->most_searching ? searching : r->most_searching;
    return err;
}

/* ---- A run ------------------------------------------------------------------------------------------------------- */

static int open_domain(sim *s, int number, int first)
{
    domain *d = &s->domains[number];
    const thrum__steal_job *job = s->job;
    double round = (double)s->setting.attempts * s->setting.attempt;
    *d = (domain){.first = first, .count = job->workers[number], .shared = {NONE, NONE}};
    if (thrum__life_init(&d->life, d->count, d->count + 1, d->count) != 0)
        return thrum__fault(THRUM_ENOMEM, "no memory to simulate");
    for (int i = 0; i < job->tasks; i++)
        if (job->domain[i] == number && job->seconds[i] > d->longest)
            d->longest = job->seconds[i];
    double rounds = d->count + 1 + (s->setting.rule == THRUM__STEAL_TASKFLOW ? d->longest / round : 0);
    d->allowed = (double)s->setting.attempts * rounds;
    for (int i = 0; i < d->count; i++) {
        s->workers[first + i].of = d;
        s->workers[first + i].counts->sleeps++;
        thrum__life_sleep(&d->life, i);
    }
    return 0;
}

static int open_sim(sim *s, thrum__steal_worker *counts)
{
    const thrum__steal_job *job = s->job;
    size_t tasks = (size_t)job->tasks, workers;
    for (int i = 0; i < job->domains; i++)
        s->worker_count += job->workers[i];
    workers = (size_t)s->worker_count;
    if (s->setting.attempts == 0)
        s->setting.attempts = 10 * workers;
    s->domains = thrum__zalloc((size_t)job->domains * sizeof *s->domains);
    s->workers = thrum__zalloc(workers * sizeof *s->workers);
    s->queues = thrum__zalloc(workers * (size_t)job->domains * sizeof *s->queues);
    s->older = thrum__zalloc(3 * tasks * sizeof *s->older);
    if (!s->domains || !s->workers || !s->queues || !s->older ||
        thrum__events_begin(&s->events, (uint32_t)workers) != 0)
        return thrum__fault(THRUM_ENOMEM, "no memory to simulate %d workers", s->worker_count);
    s->newer = s->older + tasks;
    s->waits = s->newer + tasks;
    memcpy(s->waits, job->order->waits, tasks * sizeof *s->waits);
    for (size_t i = 0; i < workers * (size_t)job->domains; i++)
        s->queues[i] = (queue){NONE, NONE};
    for (size_t i = 0; i < workers; i++)
        s->workers[i] = (worker){.task = NONE, .queues = &s->queues[i * (size_t)job->domains], .counts = &counts[i]};
    int err = 0;
    for (int i = 0, first = 0; i < job->domains && err == 0; first += job->workers[i++])
        err = open_domain(s, i, first);
    return err;
}

static void close_sim(sim *s)
{
    for (int i = 0; s->domains && i < s->job->domains; i++)
        thrum__life_fini(&s->domains[i].life);
    thrum__events_end(&s->events);
    thrum__free(s->domains);
    thrum__free(s->workers);
    thrum__free(s->queues);
    thrum__free(s->older);
}

static void submit_sources(sim *s)
{
    for (int i = 0; i < s->job->tasks; i++) {
        if (s->waits[i])
            continue;
        domain *d = &s->domains[s->job->domain[i]];
        push(s, &d->shared, i);
        added(s, d, NULL, 0);
    }
}

static int play(sim *s)
{
    double now;
    uint64_t number;
    submit_sources(s);
    int err = check(s, 0);
    while (!err && thrum__events_take(&s->events, &now, &number)) {
        worker *w = &s->workers[number];
        s->result->events++;
        if (w->task != NONE)
            end_task(s, w, now);
        else
            try_to_steal(s, w, now);
        err = check(s, now);
    }
    return err;
}

/* Everybody sleeps, some for longer than the last task ran. */
static void close_accounts(sim *s)
{
    for (int i = 0; i < s->worker_count; i++) {
        worker *w = &s->workers[i];
        if (s->result->makespan > w->since)
            w->counts->asleep += s->result->makespan - w->since;
    }
}

int thrum__steal_run(const thrum__steal_job *job, thrum__steal_result *result, thrum__steal_worker *workers)
{
    sim s = {.job = job, .setting = job->setting, .result = result, .random = thrum__stream_of(job->seed, 0)};
    *result = (thrum__steal_result){0};
    int err = open_sim(&s, workers);
    if (err == 0)
        err = play(&s);
    if (err == 0)
        close_accounts(&s);
    close_sim(&s);
    return err;
}
