/* SPDX-License-Identifier: MIT
 *
 * What a policy itself takes: nanoseconds of processor time for pushing a job, popping one and telling that it is done,
 * on a machine of tables. 8 processors' workers and four devices with 4 each make five memory nodes; jobs are in ten
 * buckets, read two pieces of data and write a third. A thousand jobs wait all the time, and whoever comes next is
 * drawn.
 */
#include "../common/runner.h"

#include <thrum/thrum.h>

#include <stdlib.h>
#include <string.h>

enum { CPUS = 8, DEVICES = 4, PER_DEVICE = 4, WORKERS = CPUS + DEVICES * PER_DEVICE, NODES = 1 + DEVICES };
enum { BUCKETS = 10, PIECES = 500, JOBS = 2000, WAITING = 1000, ACCESSES = 3, TURNS = 1000000, DRAWN = 1 << 12 };

static const char *const policies[] = {"fifo", "dmda", "heteroprio", "laheteroprio"};

typedef struct machine {
    thrum_world world; /* first */
    thrum_place place[WORKERS];
    char pieces[PIECES];    /* their addresses stand for handles */
    uint64_t where[PIECES]; /* the nodes that have it, as bits */
    struct {
        thrum_job job; /* first */
        thrum_job_data data[ACCESSES];
    } jobs[JOBS];
    thrum_job *free[JOBS]; /* the jobs that do not wait */
    int free_count;
    uint16_t drawn[DRAWN];
    uint32_t turns, at;
    uint64_t pushed;
    const thrum_policy *policy;
    void *state;
} machine;

static machine *of(const thrum_world *world)
{
    return (machine *)(uintptr_t)world;
}

/* ---- What a policy asks ------------------------------------------------------------------------------------------ */

static double now(const thrum_world *world)
{
    (void)world;
    return 0;
}

static uint16_t draw(machine *m)
{
    return m->drawn[m->at++ % DRAWN];
}

static uint64_t random_bits(const thrum_world *world)
{
    return draw(of(world));
}

static bool can_run(const thrum_world *world, const thrum_job *job, int worker)
{
    (void)world, (void)job, (void)worker;
    return true;
}

/* Devices are from 2.1 to 3 times as fast. */
static double seconds(const thrum_world *world, const thrum_job *job, int worker)
{
    return world->place[worker].arch == THRUM_ARCH_CPU ? 1e-3 * (21 + job->bucket) : 1e-2;
}

static uint64_t where(const thrum_world *world, const thrum_data *data)
{
    const machine *m = of(world);
    return m->where[(const char *)data - m->pieces];
}

static bool is_on(const thrum_world *world, const thrum_data *data, int node)
{
    return where(world, data) >> node & 1;
}

static double link_seconds(const thrum_world *world, int from, int to, size_t bytes)
{
    (void)world;
    return 1e-10 * (double)bytes * ((from > 0) + (to > 0));
}

static double transfer_seconds(const thrum_world *world, const thrum_job *job, int node)
{
    double sum = 0;
    for (int i = 0; i < job->data_count; i++)
        sum += is_on(world, job->data[i].data, node) ? 0 : link_seconds(world, 0, node, job->data[i].bytes);
    return sum;
}

static void prefetch(const thrum_world *world, thrum_job *job, int node)
{
    (void)world, (void)job, (void)node;
}

static void wake(const thrum_world *world, int worker)
{
    (void)world, (void)worker;
}

/* ---- The machine ------------------------------------------------------------------------------------------------- */

static void kernel(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
}

static const thrum_codelet codelet = {.name = "work", .cpu = kernel, .emu = kernel};

static void make_jobs(machine *m)
{
    for (int i = 0; i < PIECES; i++)
        m->where[i] = 1;
    for (int i = 0; i < JOBS; i++) {
        thrum_job_data *data = m->jobs[i].data;
        for (int k = 0; k < ACCESSES; k++)
            data[k] = (thrum_job_data){(thrum_data *)&m->pieces[draw(m) % PIECES],
                                       k == ACCESSES - 1 ? THRUM_MODE_RW : THRUM_MODE_R, 1 << 20};
        m->jobs[i].job = (thrum_job){
            .codelet = &codelet, .name = "work", .bucket = i % BUCKETS, .data = data, .data_count = ACCESSES};
        m->free[m->free_count++] = &m->jobs[i].job;
    }
}

static void make_world(machine *m)
{
    m->world = (thrum_world){.workers = WORKERS,
                             .nodes = NODES,
                             .place = m->place,
                             .settings = "",
                             .now = now,
                             .random = random_bits,
                             .can_run = can_run,
                             .seconds = seconds,
                             .transfer_seconds = transfer_seconds,
                             .is_on = is_on,
                             .where = where,
                             .link_seconds = link_seconds,
                             .prefetch = prefetch,
                             .wake = wake};
    for (int w = 0; w < WORKERS; w++) {
        int device = (w - CPUS) / PER_DEVICE;
        m->place[w] =
            w < CPUS ? (thrum_place){w, THRUM_ARCH_CPU, 0, -1} : (thrum_place){w, THRUM_ARCH_EMU, 1 + device, device};
    }
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static void push(machine *m)
{
    thrum_job *job = m->free[--m->free_count];
    job->number = m->pushed++;
    job->link = NULL;
    job->key = 0;
    job->mark = 0;
    m->policy->push(m->state, &m->world, job, draw(m) % WORKERS);
}

/* What it has written is on the worker's node alone, what it has read there too. */
static void move_data(machine *m, const thrum_job *job, int node)
{
    for (int k = 0; k < ACCESSES; k++) {
        uint64_t *nodes = &m->where[(const char *)job->data[k].data - m->pieces];
        *nodes = (job->data[k].mode == THRUM_MODE_R ? *nodes : 0) | UINT64_C(1) << node;
    }
}

/* False: refused. */
static bool pop(machine *m, int worker)
{
    thrum_job *job = m->policy->pop(m->state, &m->world, worker);
    if (!job)
        return false;
    move_data(m, job, m->place[worker].node);
    if (m->policy->done)
        m->policy->done(m->state, &m->world, job, worker, 1e-2);
    m->free[m->free_count++] = job;
    return true;
}

/* Nobody is idle any more when each worker has had a job. */
static void warm_up(machine *m)
{
    while (m->free_count > JOBS - WAITING)
        push(m);
    for (int turn = 0; turn < 100; turn++)
        for (int w = 0; w < WORKERS; w++)
            if (pop(m, w))
                push(m);
}

static void *open_policy(const bench_request *request)
{
    machine *m = bench_alloc(1, sizeof *m);
    uint32_t random = 1;
    for (int i = 0; i < DRAWN; i++) {
        random = random * 1664525u + 1013904223u;
        m->drawn[i] = (uint16_t)(random >> 16);
    }
    m->turns = TURNS / request->shrink;
    m->policy = thrum_policy_find(policies[request->variant]);
    m->state = bench_alloc(1, m->policy->state_bytes + 1);
    make_world(m);
    make_jobs(m);
    if (m->policy->begin && m->policy->begin(m->state, &m->world) != 0) {
        bench_bad("%s", thrum_message(NULL));
        free(m->state);
        free(m);
        return NULL;
    }
    warm_up(m);
    return m;
}

static double pass_policy(void *state)
{
    machine *m = state;
    uint32_t refused = 0;
    double begin = bench_processor_time(); /* nothing here waits for anybody */
    for (uint32_t turn = 0; turn < m->turns; turn++) {
        push(m);
        while (!pop(m, draw(m) % WORKERS))
            refused++;
    }
    double ns = (bench_processor_time() - begin) / m->turns;
    if (m->free_count != JOBS - WAITING || refused > m->turns)
        bench_bad("%d jobs wait and not %d, and workers were refused %u times", JOBS - m->free_count, WAITING, refused);
    return ns;
}

static void close_policy(void *state)
{
    machine *m = state;
    for (int w = 0; w < WORKERS; w++)
        while (pop(m, w))
            ;
    if (m->policy->end)
        m->policy->end(m->state, &m->world);
    free(m->state);
    free(m);
}

static bench_work works[] = {{"policy-fifo", 0, open_policy, pass_policy, close_policy, NULL},
                             {"policy-dmda", 1, open_policy, pass_policy, close_policy, NULL},
                             {"policy-heteroprio", 2, open_policy, pass_policy, close_policy, NULL},
                             {"policy-laheteroprio", 3, open_policy, pass_policy, close_policy, NULL}};

BENCH_WORKS(works)
