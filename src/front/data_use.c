/* SPDX-License-Identifier: MIT
 *
 * The main program's own use of data: acquiring and releasing, and unregistering.
 *
 * An acquisition is a job in order like any other, of a flow of its own, which does not end before the release: what
 * comes later waits for it. Unregistering acquires, for ever.
 */
#include "front/flow_int.h"

#include "base/alloc.h"
#include "exec/inside.h"
#include "exec/place.h"

/* ---- Acquiring --------------------------------------------------------------------------------------------------- */

static int insert_locked(thrum_flow *flow, thrum_data *data, enum thrum_mode mode, bool last, thrum__job **job)
{
    int err = thrum__flow_close_group(flow, data, mode);
    if (!err && !(*job = thrum__flow_job(flow, THRUM__JOB_FETCH, 1)))
        err = THRUM_ENOMEM;
    if (err)
        return err;
    (*job)->access[0].data = data;
    (*job)->access[0].mode = (uint8_t)mode;
    (*job)->kept = true;
    (*job)->unregisters = last;
    thrum__flow_commit(flow, *job, NULL);
    thrum__flow_order(flow, *job);
    return 0;
}

/* Waits until the data is at home, and with `last` until nothing uses the handle. The flow then has the job, to be
 * ended by let_go. */
static int take(thrum_data *data, enum thrum_mode mode, bool last, thrum_flow **taken, thrum__job **job)
{
    thrum_flow *flow = thrum_flow_new(data->space->ex);
    if (!flow)
        return thrum__last_code();
    flow->arrival = thrum__promise_new(data->space->ex);
    int err = flow->arrival ? thrum__flow_enter(flow) : THRUM_ENOMEM;
    if (!err) {
        err = insert_locked(flow, data, mode, last, job);
        thrum__flow_unlock(flow);
    }
    if (!err) {
        thrum_wait(flow->arrival);
        err = thrum__root_code(flow->owner.root);
    } else if (flow->arrival) {
        thrum__promise_keep(flow->arrival); /* nobody else will */
    }
    thrum_release(flow->arrival);
    flow->arrival = NULL;
    *taken = flow;
    return err;
}

static void let_go(thrum_flow *flow, thrum__job *job)
{
    if (job)
        thrum__flow_end_kept(job);
    thrum_flow_free(flow);
}

/* `in_parts` is the code where it is partitioned. */
static int may_acquire(const thrum_data *data, const char *what, int in_parts)
{
    char room[THRUM__DATA_TEXT];
    int err = thrum__data_check(data, NULL, what);
    if (err)
        return err;
    if (thrum__inside(data->space->ex))
        return thrum__fault(THRUM_EDEADLOCK,
                            "%s: a task cannot wait for other tasks that use %s; name it among the task's accesses",
                            what, thrum__data_text(data, room));
    if (data->acquired)
        return thrum__fault(THRUM_EBUSY, "%s: %s is acquired already", what, thrum__data_text(data, room));
    if (data->parts || data->dissolved)
        return thrum__fault(in_parts, "%s: %s %s", what, thrum__data_text(data, room),
                            data->parts ? "is partitioned; unpartition it first"
                                        : "is a part of a partition that has ended");
    return 0;
}

static int check_mode(const thrum_data *data, enum thrum_mode mode)
{
    char room[THRUM__DATA_TEXT];
    if (mode != THRUM_MODE_R && mode != THRUM_MODE_W && mode != THRUM_MODE_RW)
        return thrum__fault(THRUM_EINVAL, "thrum_data_acquire: mode %d, but it can be R, W or RW", (int)mode);
    if (data->recorded)
        return thrum__fault(THRUM_EINVAL, "thrum_data_acquire: a flow that records uses %s; end the recording first",
                            thrum__data_text(data, room));
    if (mode != THRUM_MODE_W && !data->front.written)
        return thrum__fault(THRUM_EDATA, "thrum_data_acquire: %s is to be read, but nothing was written to it before",
                            thrum__data_text(data, room));
    if (mode != THRUM_MODE_R && data->overlaps)
        return thrum__fault(THRUM_EDATA,
                            "thrum_data_acquire: %s is a part with a shadow: it can be read, but not written",
                            thrum__data_text(data, room));
    return 0;
}

int thrum_data_acquire(thrum_data *data, enum thrum_mode mode, void **ptr)
{
    thrum__job *job = NULL;
    thrum_flow *flow = NULL;
    int err = may_acquire(data, "thrum_data_acquire", THRUM_EDATA);
    if (!err)
        err = check_mode(data, mode);
    if (!err)
        err = thrum__data_make_home(data);
    if (!err && (err = take(data, mode, false, &flow, &job)))
        let_go(flow, job);
    if (err)
        return err;
    data->acquired = flow;
    flow->acquisition = job;
    if (ptr)
        *ptr = data->home.ptr;
    return 0;
}

int thrum_data_release(thrum_data *data)
{
    char room[THRUM__DATA_TEXT];
    int err = thrum__data_check(data, NULL, "thrum_data_release");
    if (err)
        return err;
    if (!data->acquired)
        return thrum__fault(THRUM_EINVAL, "thrum_data_release: %s is not acquired", thrum__data_text(data, room));
    thrum_flow *flow = data->acquired;
    data->acquired = NULL;
    let_go(flow, flow->acquisition);
    return 0;
}

/* ---- Unregistering ----------------------------------------------------------------------------------------------- */

static int may_go(const thrum_data *data, const char *what)
{
    char room[THRUM__DATA_TEXT];
    int err = may_acquire(data, what, THRUM_EBUSY);
    if (err)
        return err;
    if (data->whole)
        return thrum__fault(THRUM_EINVAL, "%s: %s is a part; parts end with thrum_unpartition", what,
                            thrum__data_text(data, room));
    if (atomic_load_explicit(&data->in_graphs, memory_order_relaxed))
        return thrum__fault(THRUM_EBUSY, "%s: a task of a graph uses %s; free the graph first", what,
                            thrum__data_text(data, room));
    return 0;
}

static void forget(thrum_data *data)
{
    thrum__space *space = data->space;
    thrum__favour_take_lock(&space->lock);
    thrum__order_clear(data);
    thrum__favour_give_lock(&space->lock);
    if (space->places)
        thrum__replicas_free(space->places, data);
    thrum__data_retire(data);
}

/* Where all data is at home and nothing uses it any more, there is nothing to wait for. */
static bool is_quiet(const thrum_data *data)
{
    thrum__space *space = data->space;
    if (space->places)
        return false;
    thrum__favour_take_lock(&space->lock);
    thrum__fleeting_settle(space);
    bool quiet = thrum__order_is_quiet(data);
    thrum__favour_give_lock(&space->lock);
    return quiet;
}

/* Memory that is thrum's own goes with the handle, so its content need not come home. */
static int unregister(thrum_data *data, bool bring, const char *what)
{
    if (!data)
        return 0;
    thrum__job *job = NULL;
    thrum_flow *flow = NULL;
    int err = may_go(data, what);
    if (err)
        return err;
    if (is_quiet(data)) {
        forget(data);
        return 0;
    }
    bring = bring && data->front.written && data->of_user;
    err = take(data, bring ? THRUM_MODE_RW : THRUM_MODE_W, true, &flow, &job);
    if (flow)
        let_go(flow, job);
    if (!job)
        return err;
    char *sentence = err ? thrum__copy_text(thrum__last_fault()) : NULL;
    forget(data);
    if (err)
        thrum__fault(err, "%s", sentence ? sentence : "");
    thrum__free(sentence);
    return err;
}

int thrum_data_unregister(thrum_data *data)
{
    return unregister(data, true, "thrum_data_unregister");
}

int thrum_data_discard(thrum_data *data)
{
    return unregister(data, false, "thrum_data_discard");
}

int thrum_data_state(const thrum_data *data, int node)
{
    int err = thrum__data_check(data, NULL, "thrum_data_state");
    if (err)
        return err;
    if (node < 0 || node >= data->space->nodes)
        return thrum__fault(THRUM_EINVAL, "thrum_data_state: there is no memory node %d; there are those from 0 to %d",
                            node, data->space->nodes - 1);
    if (data->replicas)
        return thrum__replica_state(data, node);
    return data->home.ptr && data->front.written ? THRUM_MODIFIED : THRUM_INVALID;
}
