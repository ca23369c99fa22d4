/* SPDX-License-Identifier: MIT
 *
 * Running a job whose data has arrived: its buffers, its kernel on a processor or a device, and what follows.
 *
 * Every kernel is called inside of thrum__job_call, through `launch`: so thrum_fail finds the job's root, and observers
 * and traces see the job, wherever it runs and even where it only takes its time.
 */
#include "exec/place_int.h"

#include "base/alloc.h"
#include "sys/clock.h"
#include "sys/sleep.h"

#include <string.h>

/* ---- Calling ----------------------------------------------------------------------------------------------------- */

/* One call of a kernel. */
typedef struct kernel_call {
    const place *pl;
    const thrum_codelet *codelet;
    const void *arg;
    int count;
    double expected; /* in timing mode: how long it takes */
    bool called;
    int64_t ns;
    int err;                /* of the device */
    char sentence[256];     /* likewise */
    _Atomic uint32_t ended; /* a futex */
} kernel_call;

/* Set before thrum__job_call and read first thing inside: kernels may wait, and then others run on top. */
static _Thread_local kernel_call *present;

static void launched(void *ctx, int err)
{
    kernel_call *c = ctx;
    c->err = err;
    if (err)
        strncpy(c->sentence, thrum__last_fault(), sizeof c->sentence - 1);
    /* Release: the waiter sees the error, and what the kernel wrote. Waking names an address and touches nothing. */
    atomic_store_explicit(&c->ended, 1, memory_order_release);
    thrum__futex_wake(&c->ended, 1);
}

static void launch_on_device(kernel_call *c, const thrum_buffer *buffers)
{
    const device *d = c->pl->device;
    thrum_launch launch = {.kernel = thrum__kernel_for(c->codelet, c->pl->shown->arch),
                           .buffers = buffers,
                           .count = c->count,
                           .arg = c->arg,
                           .seconds = c->expected};
    int err = d->driver->launch(d->handle, c->pl->number, &launch, launched, c);
    if (err)
        launched(c, err);
    while (!atomic_load_explicit(&c->ended, memory_order_acquire))
        thrum__futex_wait(&c->ended, 0, -1);
}

static void launch(const thrum_buffer *buffers, const void *arg)
{
    kernel_call *c = present;
    int64_t begin = thrum__now();
    (void)arg;
    c->called = true;
    if (c->pl->device)
        launch_on_device(c, buffers);
    else if (c->pl->all->timing)
        thrum__sleep_until(thrum__moment_after(begin, c->expected));
    else
        c->codelet->cpu(buffers, c->arg);
    c->ns = thrum__now() - begin;
}

static bool knows_time(const kernel_call *c, const placing *p)
{
    if (!c->pl->all->timing || c->expected >= 0)
        return true;
    thrum__placing_fail(p, THRUM_EINVAL,
                        "task '%s' is to take its time only, but nobody knows how long codelet '%s' takes on %s: in "
                        "timing mode each codelet needs a model that knows",
                        p->shown.name, c->codelet->name, c->pl->device ? c->pl->device->info.name : "a processor");
    return false;
}

/* True: it was called, and the device did not fail. */
static bool call(place *pl, placing *p, kernel_call *c, const thrum_buffer *buffers)
{
    thrum__places *places = pl->all;
    c->pl = pl;
    c->expected = places->timing ? thrum__placing_seconds(p, c->codelet, pl->shown) : 0;
    if (!knows_time(c, p))
        return false;
    present = c;
    pl->nested++;
    thrum__job_call(p->job, launch, buffers);
    pl->nested--;
    thrum__count_owner(&pl->busy_ns, (uint64_t)c->ns);
    if (!c->err)
        return c->called;
    thrum__device_break(places, pl->device, c->sentence);
    thrum__placing_fail(p, THRUM_EDEVICE, "task '%s' failed with its device: %s", p->shown.name, c->sentence);
    return false;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static int home_scratch(use *u, thrum_buffer *buffer)
{
    u->scratch = thrum__data_memory(u->data);
    thrum__data_packed_buffer(u->data, u->scratch, 0, buffer);
    return u->scratch ? 0 : thrum__fault(THRUM_ENOMEM, "no scratch memory");
}

static void free_home_scratch(use *u)
{
    if (u->scratch)
        thrum__data_memory_free(u->data, u->scratch);
    u->scratch = NULL;
}

/* A partition may give it memory meanwhile. */
static bool has_home(const thrum_data *data)
{
    return __atomic_load_n(&data->home.ptr, __ATOMIC_ACQUIRE);
}

static int fill_buffer(use *u, thrum_buffer *buffer)
{
    int node = u->of->node, err = 0;
    bool scratch = u->mode == THRUM_MODE_SCRATCH;
    if (node > 0)
        thrum__data_packed_buffer(u->data, scratch ? u->scratch : u->data->replicas->of[node].memory, node, buffer);
    else if (scratch)
        err = home_scratch(u, buffer);
    else if (!(err = has_home(u->data) ? 0 : thrum__data_make_home(u->data)))
        *buffer = u->data->home;
    return err;
}

static int fill_buffers(placing *p)
{
    int err = 0;
    for (uint32_t i = 0; i < p->use_count && !err; i++) {
        err = fill_buffer(&p->uses[i], &p->buffers[i]);
        if (p->job->kind == THRUM__JOB_CODELET)
            p->buffers[i].data = p->job->access[i].data;
    }
    if (err)
        thrum__placing_fail(p, err, "task '%s': %s", p->shown.name, thrum__last_fault());
    return err;
}

static void free_buffers(placing *p)
{
    for (uint32_t i = 0; i < p->use_count && p->node == 0; i++)
        if (p->uses[i].mode == THRUM_MODE_SCRATCH)
            free_home_scratch(&p->uses[i]);
}

/* ---- Kinds of jobs ----------------------------------------------------------------------------------------------- */

/* What a kernel has begun to write counts as written, though the job may fail later. */
static bool begin_private_copies(place *pl, placing *p, bool *wrote)
{
    for (uint32_t i = 0; i < p->use_count; i++) {
        use *u = &p->uses[i];
        if (!u->copy || u->copy->begun)
            continue;
        kernel_call c = {.codelet = p->job->access[i].data->reduction->init, .count = 1};
        if (!call(pl, p, &c, &p->buffers[i]))
            return false;
        u->copy->begun = *wrote = true;
    }
    return true;
}

static double run_codelet(place *pl, placing *p, bool *wrote)
{
    const thrum__job *job = p->job;
    if (!begin_private_copies(pl, p, wrote))
        return -1;
    kernel_call c = {.codelet = job->codelet, .arg = thrum__job_arg(job), .count = (int)p->use_count};
    if (!call(pl, p, &c, p->buffers))
        return -1;
    *wrote = true;
    double seconds = (double)c.ns * 1e-9;
    if (!pl->all->timing && !thrum__job_is_cancelled(job)) {
        thrum__placing_shape(p);
        thrum__perf_note(job->codelet, pl->shown->arch, &p->shape, seconds);
    }
    return seconds;
}

static double run_combine(place *pl, placing *p, bool *wrote)
{
    const thrum__reduction *reduction = p->job->access[0].data->reduction;
    double seconds = 0;
    if (p->initial) {
        kernel_call c = {.codelet = reduction->init, .count = 1};
        if (!call(pl, p, &c, p->buffers))
            return -1;
        p->initial = false;
        *wrote = true;
    }
    if (p->combining) {
        kernel_call c = {.codelet = reduction->combine, .count = 2};
        if (!call(pl, p, &c, p->buffers))
            return -1;
        *wrote = true;
        seconds = (double)c.ns * 1e-9;
    }
    return seconds;
}

/* Negative: it did not run, or not to its end. */
static double run(place *pl, placing *p, bool *wrote)
{
    double seconds = -1;
    if (p->fault)
        thrum__stage_fail(p);
    else if (!thrum__job_is_cancelled(p->job) && !fill_buffers(p))
        seconds = p->job->kind == THRUM__JOB_COMBINE ? run_combine(pl, p, wrote) : run_codelet(pl, p, wrote);
    free_buffers(p);
    return seconds;
}

/* It goes back to the policy, for other places. */
static void give_back(place *pl, placing *p)
{
    thrum__stage_end(pl->all, p, false);
    thrum__place_done(p, -1);
    thrum__place_push_placing(pl->all, p);
}

static bool combine_goes_on(place *pl, placing *p)
{
    if (p->job->kind != THRUM__JOB_COMBINE)
        return false;
    if (p->combining)
        thrum__combine_forget(pl->all, p);
    return thrum__combine_next(p);
}

void thrum__perform_job(place *pl, placing *p)
{
    bool wrote = false;
    if ((p->homeless || thrum__is_broken(pl->device)) && !p->fault && !thrum__job_is_cancelled(p->job)) {
        give_back(pl, p);
        return;
    }
    double seconds = run(pl, p, &wrote);
    thrum__stage_end(pl->all, p, wrote);
    if (seconds >= 0 && combine_goes_on(pl, p)) {
        pl->staged++;
        thrum__stage_begin(pl->all, p, p->node);
        return;
    }
    if (seconds >= 0)
        thrum__count_owner(&pl->tasks, 1);
    thrum__place_done(p, seconds);
    thrum__placing_end(pl->all, p);
}
