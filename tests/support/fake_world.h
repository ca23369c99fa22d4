/* SPDX-License-Identifier: MIT
 *
 * A machine that does not exist, for policies: workers, memory nodes, links and a clock that moves when the test says
 * so.
 *
 * Whatever the policy asks is answered from tables that the test fills in. `fake_run` plays the runtime's part by the
 * letter of policy.h, in an order of events that the seed decides: a worker that was refused does not pop until it is
 * woken, a job that has become ready is pushed, and so on. It fails if a job is popped twice, by the wrong worker, or
 * never.
 */
#ifndef TESTS_SUPPORT_FAKE_WORLD_H
#define TESTS_SUPPORT_FAKE_WORLD_H

#include "random.h"
#include "test.h"

#include <thrum/policy.h>

enum { FAKE_WORKERS = 8, FAKE_NODES = 4, FAKE_PIECES = 32, FAKE_ACCESSES = 4, FAKE_AFTER = 4 };

enum fake_stage { FAKE_NEW, FAKE_PUSHED, FAKE_POPPED, FAKE_DONE };
enum fake_life { FAKE_ASLEEP, FAKE_WOKEN, FAKE_BUSY };

typedef struct fake_job {
    thrum_job job; /* first */
    enum fake_stage stage;
    bool forbidden[FAKE_WORKERS]; /* besides what the codelet says */
    double seconds[FAKE_WORKERS]; /* negative: not known */
    thrum_job_data data[FAKE_ACCESSES];
    int waits_for;         /* jobs that must be done before */
    int after[FAKE_AFTER]; /* jobs that wait for this one, by number */
    int after_count;
    int ran_on;
    int prefetched_to; /* node, or -1 */
} fake_job;

typedef struct fake_world {
    thrum_world world; /* first */
    thrum_place place[FAKE_WORKERS];
    double now;
    struct random random;
    double second_per_byte[FAKE_NODES][FAKE_NODES]; /* of the links */
    bool on[FAKE_PIECES][FAKE_NODES];
    size_t bytes[FAKE_PIECES];
    char pieces[FAKE_PIECES]; /* their addresses stand for handles */

    enum fake_life life[FAKE_WORKERS];
    fake_job *in_hand[FAKE_WORKERS][2]; /* a worker may pop a second job while the first runs */
    double until[FAKE_WORKERS];
    int woken; /* calls of wake */

    const thrum_policy *policy;
    void *state;
    fake_job *jobs;
    int count;
    uint64_t pushed; /* jobs so far */
    int done;
} fake_world;

static inline fake_world *fake_of(const thrum_world *world)
{
    return (fake_world *)(uintptr_t)world;
}

/* ---- What a policy asks ------------------------------------------------------------------------------------------ */

static inline double fake_now(const thrum_world *world)
{
    return fake_of(world)->now;
}

static inline uint64_t fake_random(const thrum_world *world)
{
    return random_next(&fake_of(world)->random);
}

static inline bool fake_can_run(const thrum_world *world, const thrum_job *job, int worker)
{
    bool has = world->place[worker].arch == THRUM_ARCH_CPU ? job->codelet->cpu : job->codelet->emu;
    return has && !((const fake_job *)job)->forbidden[worker];
}

static inline double fake_seconds(const thrum_world *world, const thrum_job *job, int worker)
{
    (void)world;
    return ((const fake_job *)job)->seconds[worker];
}

static inline bool fake_is_on(const thrum_world *world, const thrum_data *data, int node)
{
    const fake_world *fake = fake_of(world);
    return fake->on[(const char *)data - fake->pieces][node];
}

static inline uint64_t fake_where(const thrum_world *world, const thrum_data *data)
{
    uint64_t nodes = 0;
    for (int node = 0; node < world->nodes; node++)
        nodes |= (uint64_t)fake_is_on(world, data, node) << node;
    return nodes;
}

static inline double fake_link_seconds(const thrum_world *world, int from, int to, size_t bytes)
{
    return from == to ? 0 : fake_of(world)->second_per_byte[from][to] * (double)bytes;
}

/* Each piece comes over the quickest link from where it is. */
static inline double fake_transfer_seconds(const thrum_world *world, const thrum_job *job, int node)
{
    double sum = 0;
    for (int i = 0; i < job->data_count; i++) {
        double best = -1;
        for (int from = 0; from < world->nodes; from++)
            if (fake_is_on(world, job->data[i].data, from)) {
                double seconds = fake_link_seconds(world, from, node, job->data[i].bytes);
                best = best < 0 || seconds < best ? seconds : best;
            }
        if (job->data[i].mode != THRUM_MODE_W)
            sum += best < 0 ? 0 : best;
    }
    return sum;
}

static inline bool fake_is_ahead(const thrum_world *world, int worker)
{
    return fake_of(world)->in_hand[worker][0] != NULL;
}

static inline void fake_prefetch(const thrum_world *world, thrum_job *job, int node)
{
    assert_in_range(node, 0, world->nodes - 1);
    ((fake_job *)job)->prefetched_to = node;
}

static inline void fake_wake(const thrum_world *world, int worker)
{
    fake_world *fake = fake_of(world);
    fake->woken++;
    if (worker == THRUM_ANY_WORKER) {
        int from = (int)random_below(&fake->random, (size_t)world->workers);
        for (int i = 0; i < world->workers && worker == THRUM_ANY_WORKER; i++)
            if (fake->life[(from + i) % world->workers] == FAKE_ASLEEP)
                worker = (from + i) % world->workers;
        if (worker == THRUM_ANY_WORKER)
            return;
    }
    assert_in_range(worker, 0, world->workers - 1);
    if (fake->life[worker] == FAKE_ASLEEP)
        fake->life[worker] = FAKE_WOKEN;
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */

/* `cpus` processors' workers on node 0, then `devices` with one worker and one node each. Links take a second for a
 * byte. */
static inline void fake_make(fake_world *fake, const thrum_policy *policy, int cpus, int devices, uint64_t seed)
{
    *fake = (fake_world){.world = {.workers = cpus + devices,
                                   .nodes = 1 + devices,
                                   .place = fake->place,
                                   .now = fake_now,
                                   .random = fake_random,
                                   .can_run = fake_can_run,
                                   .seconds = fake_seconds,
                                   .transfer_seconds = fake_transfer_seconds,
                                   .is_on = fake_is_on,
                                   .where = fake_where,
                                   .link_seconds = fake_link_seconds,
                                   .is_ahead = fake_is_ahead,
                                   .prefetch = fake_prefetch,
                                   .wake = fake_wake},
                         .random = random_new(seed),
                         .policy = policy};
    for (int w = 0; w < cpus + devices; w++)
        fake->place[w] = w < cpus ? (thrum_place){w, THRUM_ARCH_CPU, 0, -1}
                                  : (thrum_place){w, THRUM_ARCH_EMU, 1 + w - cpus, w - cpus};
    for (int a = 0; a < FAKE_NODES; a++)
        for (int b = 0; b < FAKE_NODES; b++)
            fake->second_per_byte[a][b] = 1;
    fake->state = calloc(1, policy->state_bytes + 1);
}

static inline void fake_begin(fake_world *fake, const thrum_policy *policy, int cpus, int devices, uint64_t seed)
{
    fake_make(fake, policy, cpus, devices, seed);
    assert_int_equal(policy->begin ? policy->begin(fake->state, &fake->world) : 0, 0);
}

/* With settings; what links and places are is set between fake_make and this. */
static inline int fake_begin_with(fake_world *fake, const char *settings)
{
    fake->world.settings = settings;
    return fake->policy->begin(fake->state, &fake->world);
}

static inline void fake_end(fake_world *fake)
{
    if (fake->policy->end)
        fake->policy->end(fake->state, &fake->world);
    free(fake->state);
}

static inline void fake_kernel(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
}

static const thrum_codelet fake_cpu = {.name = "cpu", .cpu = fake_kernel},
                           fake_emu = {.name = "emu", .emu = fake_kernel},
                           fake_both = {.name = "both", .cpu = fake_kernel, .emu = fake_kernel};

static inline fake_job fake_job_of(const thrum_codelet *codelet, int priority, double seconds)
{
    fake_job job = {
        .job = {.codelet = codelet, .name = codelet->name, .priority = priority, .bucket = THRUM_NO_BUCKET}};
    for (int w = 0; w < FAKE_WORKERS; w++)
        job.seconds[w] = seconds;
    job.prefetched_to = job.ran_on = -1;
    return job;
}

static inline void fake_access(fake_world *fake, fake_job *job, int piece, enum thrum_mode mode)
{
    job->data[job->job.data_count++] = (thrum_job_data){(thrum_data *)&fake->pieces[piece], mode, fake->bytes[piece]};
}

/* ---- Calling the policy, with its contract in mind --------------------------------------------------------------- */

static inline void fake_push(fake_world *fake, fake_job *job, int from)
{
    assert_int_equal(job->stage, FAKE_NEW);
    job->stage = FAKE_PUSHED;
    job->job.number = fake->pushed++;
    job->job.data = job->data;
    fake->policy->push(fake->state, &fake->world, &job->job, from);
}

/* NULL: refused. */
static inline fake_job *fake_pop(fake_world *fake, int worker)
{
    fake_job *job = (fake_job *)fake->policy->pop(fake->state, &fake->world, worker);
    if (!job)
        return NULL;
    assert_int_equal(job->stage, FAKE_PUSHED); /* else it was popped before */
    assert_true(fake_can_run(&fake->world, &job->job, worker));
    job->stage = FAKE_POPPED;
    job->ran_on = worker;
    return job;
}

static inline void fake_done(fake_world *fake, fake_job *job)
{
    assert_int_equal(job->stage, FAKE_POPPED);
    job->stage = FAKE_DONE;
    fake->done++;
    if (fake->policy->done)
        fake->policy->done(fake->state, &fake->world, &job->job, job->ran_on,
                           fake_seconds(NULL, &job->job, job->ran_on));
}

/* ---- Running many jobs ------------------------------------------------------------------------------------------- */

static inline void fake_push_ready(fake_world *fake, fake_job *job)
{
    for (int i = 0; i < job->after_count; i++) {
        fake_job *next = &fake->jobs[job->after[i]];
        if (--next->waits_for == 0)
            fake_push(fake, next, job->ran_on);
    }
}

/* A worker has got a job, or not. What it knows how long it takes takes so long, the rest a second. */
static inline void fake_let_pop(fake_world *fake, int worker)
{
    bool busy = fake->life[worker] == FAKE_BUSY;
    fake_job *job = fake_pop(fake, worker);
    if (!job) {
        if (!busy)
            fake->life[worker] = FAKE_ASLEEP;
        return;
    }
    fake->in_hand[worker][busy] = job;
    if (!busy)
        fake->until[worker] = fake->now + (job->seconds[worker] < 0 ? 1 : job->seconds[worker]);
    fake->life[worker] = FAKE_BUSY;
}

static inline void fake_let_end(fake_world *fake, int worker)
{
    fake_job *job = fake->in_hand[worker][0], *next = fake->in_hand[worker][1];
    fake->now = fake->until[worker] > fake->now ? fake->until[worker] : fake->now;
    fake->in_hand[worker][0] = next;
    fake->in_hand[worker][1] = NULL;
    if (next)
        fake->until[worker] = fake->now + (next->seconds[worker] < 0 ? 1 : next->seconds[worker]);
    else
        fake->life[worker] = FAKE_WOKEN; /* pops again without being woken */
    bool done_first = random_chance(&fake->random, 50);
    if (done_first)
        fake_done(fake, job);
    fake_push_ready(fake, job);
    if (!done_first)
        fake_done(fake, job);
}

static inline int fake_pick(fake_world *fake, enum fake_life life)
{
    int found = -1;
    for (int w = 0, n = 0; w < fake->world.workers; w++)
        if (fake->life[w] == life && random_below(&fake->random, (size_t)++n) == 0)
            found = w;
    return found;
}

static inline int fake_first_to_end(const fake_world *fake)
{
    int first = -1;
    for (int w = 0; w < fake->world.workers; w++)
        if (fake->life[w] == FAKE_BUSY && (first < 0 || fake->until[w] < fake->until[first]))
            first = w;
    return first;
}

/* Something happens: false if nothing can. `next` is the first job that the main program has not looked at. */
static inline bool fake_step(fake_world *fake, int *next)
{
    int woken = fake_pick(fake, FAKE_WOKEN), busy = fake_first_to_end(fake);
    size_t draw = random_below(&fake->random, 100);
    if (*next == fake->count && woken < 0 && busy < 0)
        return false;
    if (draw < 30 && *next < fake->count) {
        fake_job *job = &fake->jobs[(*next)++];
        if (--job->waits_for == 0)
            fake_push(fake, job, THRUM_ANY_WORKER);
    } else if (draw < 65 && woken >= 0) {
        fake_let_pop(fake, woken);
    } else if (draw < 70 && busy >= 0 && !fake->in_hand[busy][1]) {
        fake_let_pop(fake, busy);
    } else if (busy >= 0) {
        fake_let_end(fake, busy);
    }
    return true;
}

/* Runs all jobs. `look`, if there is one, is called between events. */
static inline void fake_run(fake_world *fake, fake_job *jobs, int count, void (*look)(const fake_world *fake))
{
    int next = 0;
    fake->jobs = jobs;
    fake->count = count;
    for (int i = 0; i < count; i++)
        jobs[i].waits_for++; /* for the main program, which brings one job after the other */
    while (fake_step(fake, &next))
        if (look)
            look(fake);
    assert_int_equal(fake->done, count); /* else everybody sleeps beside a job */
    for (int i = 0; i < count; i++)
        assert_int_equal(jobs[i].stage, FAKE_DONE);
}

#endif
