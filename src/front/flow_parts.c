/* SPDX-License-Identifier: MIT
 *
 * Partitions in a flow's order. Cutting is a job that uses the whole and writes all parts, unpartitioning one that uses
 * all parts and writes the whole: what is inserted before and after waits accordingly, and nobody else does. Both bring
 * what they use home, where parts are views of their whole.
 */
#include "front/flow_int.h"

#include "exec/place.h"

static int refuse(const thrum_data *data, const char *what)
{
    char room[THRUM__DATA_TEXT];
    const char *why = data->dissolved  ? "is a part of a partition that has ended"
                      : data->parts    ? "is partitioned already; unpartition it first"
                      : data->acquired ? "is acquired; release it first"
                                       : NULL;
    return why ? thrum__fault(THRUM_EDATA, "%s: %s %s", what, thrum__data_text(data, room), why) : 0;
}

static int check(const thrum_flow *flow, const thrum_data *data, const char *what)
{
    int err = thrum__flow_error(flow);
    return err ? err : thrum__data_check(data, flow->space, what);
}

static int replicas_new(const thrum_flow *flow, const thrum_data *data)
{
    int err = 0;
    for (size_t i = 0; flow->space->places && i < data->part_count && !err; i++)
        err = thrum__replicas_new(flow->space->places, data->parts[i], true);
    return err;
}

static void replicas_free(const thrum_flow *flow, const thrum_data *data)
{
    for (size_t i = 0; flow->space->places && i < data->part_count; i++)
        if (data->parts[i]->replicas)
            thrum__replicas_free(flow->space->places, data->parts[i]);
}

/* The job that uses the whole and its parts. */
static thrum__job *parts_job(thrum_flow *flow, thrum_data *data, enum thrum_mode whole, enum thrum_mode part)
{
    thrum__job *job = thrum__flow_job(flow, THRUM__JOB_FETCH, data->part_count + 1);
    if (!job)
        return NULL;
    job->access[0].data = data;
    job->access[0].mode = (uint8_t)whole;
    for (size_t i = 0; i < data->part_count; i++) {
        job->access[i + 1].data = data->parts[i];
        job->access[i + 1].mode = (uint8_t)part;
    }
    return job;
}

static void insert(thrum_flow *flow, thrum__job *job)
{
    thrum__flow_commit(flow, job, NULL);
    thrum__flow_order(flow, job);
}

/* ---- Cutting ----------------------------------------------------------------------------------------------------- */

static int partition_locked(thrum_flow *flow, thrum_data *data)
{
    bool written = data->front.written;
    int err = thrum__flow_close_group(flow, data, THRUM_MODE_RW);
    thrum__job *job = err ? NULL : parts_job(flow, data, written ? THRUM_MODE_RW : THRUM_MODE_W, THRUM_MODE_W);
    if (!job)
        return THRUM_ENOMEM;
    insert(flow, job);
    data->front.written = written;
    atomic_store_explicit(&data->cut_now, true, memory_order_relaxed);
    for (size_t i = 0; i < data->part_count; i++)
        data->parts[i]->front.written = written;
    return 0;
}

/* Where the rows of a sparse matrix begin has to be known. */
static int cut(thrum_data *data, const thrum_cut *how)
{
    bool reads = data->layout == THRUM__CSR;
    int err = reads ? thrum_data_acquire(data, THRUM_MODE_R, NULL) : 0;
    if (err)
        return err;
    err = thrum__data_cut(data, how, "thrum_partition");
    if (reads)
        thrum_data_release(data);
    return err;
}

static int partition(thrum_flow *flow, thrum_data *data, const thrum_cut *how)
{
    int err = refuse(data, "thrum_partition");
    if (!err && !how)
        err = thrum__fault(THRUM_EINVAL, "thrum_partition: the cut is NULL");
    if (err || (err = cut(data, how)))
        return err;
    err = replicas_new(flow, data);
    if (!err && !(err = thrum__flow_enter(flow))) {
        err = partition_locked(flow, data);
        thrum__flow_unlock(flow);
    }
    if (err) {
        replicas_free(flow, data);
        thrum__data_uncut(data, false);
    }
    return err;
}

int thrum_partition(thrum_flow *flow, thrum_data *data, const thrum_cut *how)
{
    if (!flow)
        return thrum__fault(THRUM_EINVAL, "thrum_partition: the flow is NULL");
    int err = check(flow, data, "thrum_partition");
    if (!err)
        err = flow->recording ? thrum__record_partition(flow, data, how) : partition(flow, data, how);
    return err ? thrum__flow_fail(flow, err) : 0;
}

/* ---- Putting together -------------------------------------------------------------------------------------------- */

static int refuse_part(const thrum_data *data, size_t number)
{
    char room[THRUM__DATA_TEXT];
    const thrum_data *part = data->parts[number];
    if (part->parts || part->acquired)
        return thrum__fault(THRUM_EDATA, "thrum_unpartition: part %zu of %s is %s itself", number,
                            thrum__data_text(data, room), part->parts ? "partitioned" : "acquired");
    if (atomic_load_explicit(&part->in_graphs, memory_order_relaxed))
        return thrum__fault(THRUM_EBUSY,
                            "thrum_unpartition: a task of a graph uses part %zu of %s; free the graph first", number,
                            thrum__data_text(data, room));
    return 0;
}

static int refuse_unpartition(const thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    int err = 0;
    if (!data->parts)
        return thrum__fault(THRUM_EDATA, "thrum_unpartition: %s is not partitioned", thrum__data_text(data, room));
    for (size_t i = 0; i < data->part_count && !err; i++)
        err = refuse_part(data, i);
    return err;
}

/* A part that nobody wrote, of a whole without content, is not to be fetched. The whole has content only if all parts
 * do. */
static int unpartition_locked(thrum_flow *flow, thrum_data *data)
{
    bool written = true;
    int err = 0;
    for (size_t i = 0; i < data->part_count && !err; i++) {
        written &= data->parts[i]->front.written;
        err = thrum__flow_close_group(flow, data->parts[i], THRUM_MODE_RW);
    }
    thrum__job *job = err ? NULL : parts_job(flow, data, THRUM_MODE_W, THRUM_MODE_RW);
    if (!job)
        return THRUM_ENOMEM;
    for (size_t i = 0; i < data->part_count; i++)
        if (!data->parts[i]->front.written)
            job->access[i + 1].mode = THRUM_MODE_W;
    job->dissolves = true;
    for (size_t i = 0; i < data->part_count; i++)
        data->parts[i]->dissolved = true;
    insert(flow, job);
    data->front.written = written;
    atomic_store_explicit(&data->cut_now, false, memory_order_relaxed);
    thrum__data_uncut(data, true);
    return 0;
}

static int unpartition(thrum_flow *flow, thrum_data *data)
{
    int err = refuse_unpartition(data);
    if (err || (err = thrum__flow_enter(flow)))
        return err;
    thrum_data **parts = data->parts;
    err = unpartition_locked(flow, data);
    thrum__flow_unlock(flow);
    if (!err)
        thrum__data_parts_free(parts);
    return err;
}

int thrum_unpartition(thrum_flow *flow, thrum_data *data)
{
    if (!flow)
        return thrum__fault(THRUM_EINVAL, "thrum_unpartition: the flow is NULL");
    int err = check(flow, data, "thrum_unpartition");
    if (!err)
        err = flow->recording ? thrum__record_unpartition(flow, data) : unpartition(flow, data);
    return err ? thrum__flow_fail(flow, err) : 0;
}
