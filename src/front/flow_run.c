/* SPDX-License-Identifier: MIT
 *
 * What happens to a job that is ready: it is run where the executor steals (on data at home, where all data is then),
 * or goes to the policy (exec/place.h); and what happens when it has ended.
 */
#include "front/flow_int.h"

#include "base/alloc.h"
#include "exec/place.h"
#include "front/fetch.h"
#include "model/reduction.h"

#include <string.h>

static bool is_empty(const thrum__job *job)
{
    return job->kind == THRUM__JOB_JOIN || job->kind == THRUM__JOB_FETCH;
}

/* ---- Ready ------------------------------------------------------------------------------------------------------- */

/* Jobs that do nothing end at once, and may make others ready that do nothing either: those are kept in a list, so that
 * the stack does not grow with their number. There they need a strand: the one of whoever made them ready may go
 * before. */
static _Thread_local struct {
    thrum__job *first;
    bool ending;
} at_once;

static void end_at_once(thrum__job *job)
{
    if (at_once.ending && !job->holds_strand)
        thrum__stream_hold(job);
    thrum__job_rest_of(job)->next = at_once.first;
    at_once.first = job;
    if (at_once.ending)
        return;
    at_once.ending = true;
    while (at_once.first) {
        thrum__job *next = at_once.first;
        at_once.first = thrum__job_rest_of(next)->next;
        next->owner->ended(next);
    }
    at_once.ending = false;
}

/* It has all that it needs. */
static void go(thrum__job *job)
{
    thrum__places *places = thrum__flow_of(job)->space->places;
    if (places && job->kind != THRUM__JOB_JOIN)
        thrum__place_push(places, job);
    else if (is_empty(job))
        end_at_once(job);
    else
        thrum__stream_ready(job);
}

void thrum__flow_ready(thrum__job *job)
{
    if (!job->commutes || thrum__commute_enter(job))
        go(job);
}

void thrum__flow_ready_at_once(thrum_flow *flow, thrum__job *job)
{
    if (flow->space->places || is_empty(job) || job->commutes)
        thrum__flow_ready(job);
    else
        thrum__stream_put(flow->stream, job);
}

/* The parts of a partition that has ended are gone with it. */
static void dissolve(thrum__job *job)
{
    thrum__space *space = thrum__flow_of(job)->space;
    thrum__favour_take_lock(&space->lock);
    for (uint32_t i = 1; i < job->count; i++)
        thrum__order_clear(job->access[i].data);
    thrum__favour_give_lock(&space->lock);
    for (uint32_t i = 1; i < job->count; i++) {
        if (space->places)
            thrum__replicas_free(space->places, job->access[i].data);
        thrum__data_retire(job->access[i].data);
    }
}

/* Saying that it has ended gives its memory back: nothing of it is touched afterwards. The flow stays until its last
 * strand has gone. */
static void end_in_order(thrum__job *job)
{
    thrum__job_owner *owner = job->owner;
    thrum__order_end(job, &thrum__flow_of(job)->space->lock, thrum__flow_ready);
    bool holds = job->holds_strand;
    atomic_store_explicit(&job->ended, 1, memory_order_release);
    if (holds)
        thrum__stream_let_go(owner);
}

void thrum__flow_end_kept(thrum__job *job)
{
    if (job->dissolves)
        dissolve(job);
    if (job->commutes)
        thrum__commute_leave(job, go);
    end_in_order(job);
}

void thrum__flow_ended(thrum__job *job)
{
    if (job->kept)
        thrum__promise_keep(thrum__flow_of(job)->arrival);
    else
        thrum__flow_end_kept(job);
}

/* ---- Running at home --------------------------------------------------------------------------------------------- */

enum { FEW = 16 };

static int fail_memory(const thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    thrum_fail(THRUM_ENOMEM, "no memory for %s", thrum__data_text(data, room));
    return THRUM_ENOMEM;
}

static int home_of(thrum_data *data, thrum_buffer *buffer)
{
    if (thrum__data_make_home(data))
        return fail_memory(data);
    *buffer = data->home;
    return 0;
}

/* Memory for the time of the task: a handle of its own, without content. */
static int scratch_of(const thrum_data *data, thrum_buffer *buffer)
{
    thrum_data *scratch = thrum__data_like(data);
    if (!scratch)
        return fail_memory(data);
    int err = home_of(scratch, buffer);
    if (err)
        thrum__data_retire(scratch);
    return err;
}

/* The calling worker's own copy, begun if this is the group's first task here. */
static int private_of(thrum_data *data, thrum_buffer *buffer)
{
    thrum__private *copy = thrum__reduction_copy(data, thrum_worker_index());
    if (!copy)
        return fail_memory(data);
    if (home_of(copy->data, buffer))
        return THRUM_ENOMEM;
    if (!copy->begun)
        data->reduction->init->cpu(buffer, NULL);
    copy->begun = true;
    return 0;
}

int thrum__buffer_apart(thrum_data *data, enum thrum_mode mode, thrum_buffer *buffer)
{
    return mode == THRUM_MODE_SCRATCH ? scratch_of(data, buffer)
           : mode == THRUM_MODE_REDUX ? private_of(data, buffer)
                                      : home_of(data, buffer);
}

void thrum__buffer_leave_home(enum thrum_mode mode, const thrum_buffer *buffer)
{
    if (mode == THRUM_MODE_SCRATCH)
        thrum__data_retire(buffer->data);
}

/* In the order of their workers' first tasks: sums of floating-point numbers may differ from run to run. */
void thrum__combine_at_home(thrum_data *data, bool first)
{
    thrum__reduction *reduction = data->reduction;
    thrum_buffer pair[2];
    if (home_of(data, &pair[0]))
        return;
    if (first)
        reduction->init->cpu(&pair[0], NULL);
    for (size_t i = 0; i < reduction->count; i++) {
        thrum__private *copy = reduction->copies[i];
        if (!copy->begun || home_of(copy->data, &pair[1]))
            continue;
        reduction->combine->cpu(pair, NULL);
        copy->begun = false;
    }
}

static void call_at_home(thrum__job *job, thrum_buffer *buffers)
{
    uint32_t ready = 0;
    while (ready < job->count && thrum__buffer_at_home(job->access[ready].data,
                                                       (enum thrum_mode)job->access[ready].mode, &buffers[ready]) == 0)
        ready++;
    if (ready == job->count)
        thrum__job_call(job, job->codelet->cpu, buffers);
    while (ready-- > 0)
        thrum__buffer_leave_home((enum thrum_mode)job->access[ready].mode, &buffers[ready]);
}

static void run_at_home(thrum__job *job)
{
    thrum_buffer few[FEW], *buffers = few;
    if (job->count > FEW && !(buffers = thrum__alloc(job->count * sizeof *buffers))) {
        thrum_fail(THRUM_ENOMEM, "task '%s': no memory for its accesses", thrum__job_name(job));
        return;
    }
    call_at_home(job, buffers);
    if (buffers != few)
        thrum__free(buffers);
}

static bool is_cancelled(const thrum__job *job)
{
    return thrum__is_cancelled(__atomic_load_n(&job->owner->root->attention, __ATOMIC_RELAXED));
}

/* Copies that are not combined begin anew with the next group. */
static void leave_out(const thrum__job *job)
{
    if (job->kind == THRUM__JOB_COMBINE)
        thrum__reduction_reset(job->access[0].data->reduction);
}

/* Nothing that could be missing, no memory to give back. */
void thrum__flow_run_plain(void *arg)
{
    thrum__job *job = arg;
    thrum_buffer buffers[THRUM__PLAIN_MOST];
    for (uint32_t i = 0; i < job->count; i++)
        buffers[i] = job->access[i].data->home;
    thrum__fetch_ahead(thrum__flow_of(job)->stream, job, job->codelet, buffers, job->count);
    thrum__job_call(job, job->codelet->cpu, buffers);
    end_in_order(job);
}

void thrum__flow_run(void *arg)
{
    thrum__job *job = arg;
    if (__builtin_expect(is_cancelled(job), 0))
        leave_out(job);
    else if (job->kind == THRUM__JOB_COMBINE)
        thrum__combine_at_home(job->access[0].data, job->first_content);
    else
        run_at_home(job);
    thrum__flow_ended(job);
}
