/* SPDX-License-Identifier: MIT
 *
 * A simulated run of tasks (thrum/sim.h) from its beginning to its end: what it needs is laid out in tables, the policy
 * and the engine are begun, what waits for nothing is pushed, and then one end after the other is carried out until all
 * tasks have ended.
 */
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sched/policy_settings.h"

#include <math.h>
#include <string.h>

/* ---- What is asked for ------------------------------------------------------------------------------------------- */

static bool is_stealing(const char *policy)
{
    return policy && strncmp(policy, "steal", 5) == 0 && (policy[5] == '\0' || policy[5] == ';');
}

static int check(const thrum_sim *sim, thrum_sim_result **result)
{
    if (!sim || !result)
        return thrum__fault(THRUM_EINVAL, "thrum_simulate: %s is NULL",
                            sim ? "the place for the result" : "the simulation");
    if (!sim->machine || !sim->workload)
        return thrum__fault(THRUM_EINVAL, "thrum_simulate: there is no %s: NULL",
                            sim->machine ? "workload" : "machine");
    if (sim->ahead < 0 || sim->ahead > 1000)
        return thrum__fault(THRUM_EINVAL, "thrum_simulate: a worker can have 0 to 1000 tasks staged, not %d",
                            sim->ahead);
    if (sim->engine != THRUM_ENGINE_NATIVE && sim->engine != THRUM_ENGINE_SIMGRID)
        return thrum__fault(THRUM_EINVAL, "thrum_simulate: there is no engine number %d for tasks", (int)sim->engine);
    if (sim->engine == THRUM_ENGINE_SIMGRID && is_stealing(sim->policy))
        return thrum__fault(THRUM_EINVAL,
                            "thrum_simulate: the policy 'steal' moves no data and has a clock of its own; the SimGrid "
                            "engine is for the other policies");
    return 0;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

static int no_memory(const task_run *run)
{
    return thrum__fault(THRUM_ENOMEM, "no memory to simulate %d tasks", run->workload->task_count);
}

/* At least one element, so that NULL means no memory. */
static void *table(size_t count, size_t element)
{
    return thrum__zalloc((count ? count : 1) * element);
}

static int allocate(task_run *run)
{
    const thrum_workload *w = run->workload;
    size_t tasks = (size_t)w->task_count, data = (size_t)w->data_count, nodes = (size_t)run->world.nodes;
    size_t workers = (size_t)run->world.workers, kinds = (size_t)run->kind_count;
    run->codelets = table((size_t)w->codelet_count, sizeof *run->codelets);
    run->tasks = table(tasks, sizeof *run->tasks);
    run->job_data = table(w->access_count, sizeof *run->job_data);
    run->uses = table(w->access_count, sizeof *run->uses);
    run->pieces = table(data, sizeof *run->pieces);
    run->replicas = table(data * nodes, sizeof *run->replicas);
    run->nodes = table(nodes, sizeof *run->nodes);
    run->links = table(nodes * nodes, sizeof *run->links);
    run->workers = table(workers, sizeof *run->workers);
    run->sharers = table(workers, sizeof *run->sharers);
    run->called = table(workers, sizeof *run->called);
    run->kinds = table(kinds, sizeof *run->kinds);
    run->expected = table(tasks * kinds, sizeof *run->expected);
    run->seconds = table(tasks * kinds, sizeof *run->seconds);
    run->moved = table((size_t)w->codelet_count * kinds, sizeof *run->moved);
    bool failed = !run->codelets || !run->tasks || !run->job_data || !run->uses || !run->pieces || !run->replicas ||
                  !run->nodes || !run->links || !run->workers || !run->sharers || !run->called || !run->kinds ||
                  !run->expected || !run->seconds || !run->moved;
    if (run->sim->trace) {
        run->trace_order = table(tasks, sizeof *run->trace_order);
        run->trace_end = table(tasks, sizeof *run->trace_end);
        failed |= !run->trace_order || !run->trace_end;
    }
    return failed ? no_memory(run) : 0;
}

static void release(task_run *run)
{
    if (run->begun && run->policy->end)
        run->policy->end(run->policy_state, &run->world);
    if (run->engine)
        run->ops->close(run->engine);
    if (run->has_order)
        thrum__wl_order_drop(&run->order);
    if (run->has_layout)
        thrum__machine_layout_drop(&run->layout);
    void *tables[] = {run->policy_state, run->codelets,    run->tasks,     run->job_data,     run->uses,
                      run->pieces,       run->replicas,    run->nodes,     run->links,        run->workers,
                      run->sharers,      run->called,      run->kinds,     run->expected,     run->seconds,
                      run->transfers,    run->trace_order, run->trace_end, run->trace_copies, run->moved};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        thrum__free(tables[i]);
}

/* ---- The machine ------------------------------------------------------------------------------------------------- */

static void fill_kinds(task_run *run)
{
    const thrum_machine *machine = run->layout.machine;
    int last_device = -1;
    run->kinds[0] = (kind){.arch = THRUM_ARCH_CPU, .memory = SIZE_MAX};
    for (int k = 1; k < run->kind_count; k++) {
        const thrum__device_kind *about = &machine->kinds[k - 1];
        run->kinds[k] = (kind){.arch = about->arch, .memory = about->memory ? about->memory : SIZE_MAX};
    }
    for (int i = 0; i < run->world.workers; i++) {
        const thrum__site *site = &run->layout.workers[i];
        kind *k = &run->kinds[site->kind + 1];
        k->workers++;
        k->units += site->core_of < 0 || site->core_of != last_device;
        last_device = site->core_of;
    }
}

static int workers_of_same_device(const task_run *run, int number)
{
    int device = run->layout.workers[number].core_of, count = 0;
    for (int i = 0; i < run->world.workers && device >= 0; i++)
        count += run->layout.workers[i].core_of == device;
    return device < 0 ? 1 : count;
}

static void fill_workers(task_run *run)
{
    for (int i = 0; i < run->world.workers; i++) {
        const thrum__site *site = &run->layout.workers[i];
        bool same = i > 0 && site->core_of >= 0 && site->core_of == site[-1].core_of;
        run->workers[i] = (worker){.number = i,
                                   .kind = site->kind + 1,
                                   .node = site->place.node,
                                   .device = site->core_of >= 0,
                                   .refused = true};
        run->sharers[i] = same ? run->sharers[i - 1] : workers_of_same_device(run, i);
        run->nodes[site->place.node].home = site->host;
    }
}

static void fill_nodes(task_run *run)
{
    for (int i = 0; i < run->world.nodes; i++) {
        run->nodes[i].device = run->layout.node_kind[i] != THRUM__CORE;
        run->nodes[i].memory = run->layout.memory[i] ? run->layout.memory[i] : SIZE_MAX;
    }
}

static void add_way(const task_run *run, int from, int to, road *sum)
{
    const thrum__way *way = &run->layout.ways[from * run->world.nodes + to];
    double per_byte = 0;
    if (way->via >= 0) {
        add_way(run, from, way->via, sum);
        add_way(run, way->via, to, sum);
        return;
    }
    for (int i = 0; i < way->count; i++)
        per_byte = fmax(per_byte, 1 / run->layout.channels[way->channel[i]].bandwidth);
    sum->latency += way->latency;
    sum->per_byte += per_byte;
}

static void fill_links(task_run *run)
{
    for (int from = 0; from < run->world.nodes; from++)
        for (int to = 0; to < run->world.nodes; to++)
            if (from != to)
                add_way(run, from, to, &run->links[from * run->world.nodes + to]);
}

/* ---- The workload ------------------------------------------------------------------------------------------------ */

static void kernel_of_no_one(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers;
    (void)arg;
}

static void fill_codelets(task_run *run)
{
    for (int i = 0; i < run->workload->codelet_count; i++) {
        const thrum__wl_codelet *about = &run->workload->codelets[i];
        run->codelets[i] = (thrum_codelet){.name = about->name,
                                           .cpu = about->archs >> THRUM_ARCH_CPU & 1 ? kernel_of_no_one : NULL,
                                           .emu = about->archs >> THRUM_ARCH_EMU & 1 ? kernel_of_no_one : NULL};
    }
}

static void fill_pieces(task_run *run)
{
    for (int i = 0; i < run->workload->data_count; i++) {
        run->pieces[i].bytes = run->workload->data[i].bytes;
        if (run->workload->data[i].written)
            run_set_valid(run, &run->pieces[i], 0, true);
    }
}

static bool is_used_before(const task *t, int number)
{
    for (int i = 0; i < number; i++)
        if (t->uses[i].data == t->uses[number].data && t->uses[i].mode != THRUM_MODE_SCRATCH)
            return true;
    return false;
}

static void fill_use(task_run *run, task *t, int number, const thrum_workload_access *access)
{
    use *u = &t->uses[number];
    u->of = t;
    u->data = &run->pieces[access->data];
    u->mode = (uint8_t)(access->mode == THRUM_MODE_COMMUTE ? THRUM_MODE_RW
                        : access->mode == THRUM_MODE_REDUX ? THRUM_MODE_W
                                                           : access->mode);
    u->repeated = u->mode != THRUM_MODE_SCRATCH && is_used_before(t, number);
    t->commutes |= access->mode == THRUM_MODE_COMMUTE;
}

static void fill_task(task_run *run, int number)
{
    const thrum__wl_task *about = &run->workload->tasks[number];
    const thrum_codelet *codelet = &run->codelets[about->codelet];
    task *t = &run->tasks[number];
    thrum_job_data *data = &run->job_data[about->first];
    *t =
        (task){.uses = &run->uses[about->first], .pin = about->worker, .worker = -1, .waits = run->order.waits[number]};
    for (int i = 0; i < about->count; i++) {
        const thrum_workload_access *access = &run->workload->accesses[about->first + (size_t)i];
        fill_use(run, t, i, access);
        data[i] = (thrum_job_data){(thrum_data *)(void *)t->uses[i].data, access->mode, t->uses[i].data->bytes};
    }
    t->shown = (thrum_job){.codelet = codelet,
                           .name = about->name ? about->name : codelet->name,
                           .priority = about->priority,
                           .bucket = about->bucket,
                           .data = data,
                           .data_count = about->count};
    run->pinned |= t->pin >= 0;
}

static void fill_all(task_run *run)
{
    fill_kinds(run);
    fill_workers(run);
    fill_nodes(run);
    fill_links(run);
    fill_codelets(run);
    fill_pieces(run);
    for (int i = 0; i < run->workload->task_count; i++)
        fill_task(run, i);
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

enum { KINDS_MOST = 64 }; /* bits of task.kinds */

static int lay_out(task_run *run)
{
    int err = thrum__machine_layout_make(run->sim->machine, &run->layout);
    run->has_layout = !err;
    if (!err) {
        err = thrum__wl_order_make(run->workload, &run->order);
        run->has_order = !err;
    }
    run->kind_count = run->sim->machine->kind_count + 1;
    if (!err && run->kind_count > KINDS_MOST)
        err = thrum__fault(THRUM_ELIMIT, "the machine '%s' has %d kinds of devices; %d is the limit",
                           run->sim->machine->name, run->kind_count - 1, KINDS_MOST - 1);
    return err;
}

static int find_policy(task_run *run, const char *text)
{
    run->policy = thrum_policy_find(text);
    if (!run->policy)
        return thrum__last_code();
    run->world.settings = thrum__policy_settings_of(text);
    return 0;
}

static int begin_policy(task_run *run)
{
    run->policy_state = table(run->policy->state_bytes, 1);
    if (!run->policy_state)
        return no_memory(run);
    int err = thrum__sim_check_buckets(run);
    if (!err && run->policy->begin)
        err = run->policy->begin(run->policy_state, &run->world);
    run->begun = !err;
    return err;
}

static int begin(task_run *run)
{
    int err = lay_out(run);
    if (err)
        return err;
    thrum__sim_world_init(run);
    err = allocate(run);
    if (err)
        return err;
    fill_all(run);
    return thrum__sim_times(run);
}

static int begin_engine(task_run *run, const thrum__engine_ops *ops)
{
    run->ops = ops;
    run->engine = ops->open(&run->layout);
    return run->engine ? begin_policy(run) : thrum__last_code();
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static void carry_out(task_run *run, uint64_t ticket)
{
    run->events++;
    if (ticket == INSERTION_TICKET)
        thrum__sim_inserted(run);
    else if (ticket & 1)
        thrum__sim_transfer_ended(run, (int)(ticket >> 1));
    else
        thrum__sim_ended(run, &run->tasks[ticket >> 1]);
    thrum__sim_serve_called(run);
}

static int go(task_run *run)
{
    uint64_t ticket;
    thrum__sim_insert(run);
    thrum__sim_serve_called(run);
    while (run->done < run->workload->task_count && !run->err) {
        if (run->ops->next(run->engine, &ticket))
            carry_out(run, ticket);
        else if (!thrum__sim_last_call(run))
            thrum__sim_keeps(run);
    }
    return run->err;
}

static int finish(task_run *run, thrum_sim_result **result)
{
    thrum__sim_account_all(run);
    int err = run->sim->trace ? thrum__sim_trace_write(run) : 0;
    thrum_sim_result *made = err ? NULL : thrum__sim_result_make(run);
    if (!made)
        return thrum__last_code();
    if (run->sim->report && run->policy->report)
        run->policy->report(run->policy_state, &run->world, run->sim->report, run->sim->ctx);
    *result = made;
    return 0;
}

int thrum__sim_run(task_run *run, const thrum__engine_ops *ops, thrum_sim_result **result)
{
    int err = begin_engine(run, ops);
    if (!err)
        err = go(run);
    return err ? err : finish(run, result);
}

static int run_policy(task_run *run, thrum_sim_result **result)
{
    int err = find_policy(run, run->sim->policy ? run->sim->policy : "fifo");
    if (err)
        return err;
    return run->sim->engine == THRUM_ENGINE_SIMGRID ? thrum__sim_run_in_simgrid(run, result)
                                                    : thrum__sim_run(run, &thrum__engine_native, result);
}

static int simulate(const thrum_sim *sim, thrum_sim_result **result)
{
    task_run run = {.sim = sim,
                    .workload = sim->workload,
                    .depth = sim->ahead + 1,
                    .free_transfer = NO_TRANSFER,
                    .pusher = THRUM_ANY_WORKER};
    int err = begin(&run);
    if (!err)
        err = is_stealing(sim->policy) ? thrum__sim_steal(&run, result) : run_policy(&run, result);
    release(&run);
    return err;
}

int thrum_simulate(const thrum_sim *sim, thrum_sim_result **result)
{
    int err = check(sim, result);
    return err ? err : simulate(sim, result);
}
