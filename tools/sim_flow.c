/* SPDX-License-Identifier: MIT
 *
 * A flow of tasks that are as alike as can be, in the pattern of a stencil on a ring: each changes its own piece, reads
 * what its neighbours wrote in the step before, and writes what they read in the next. So as many tasks are ready as
 * there are pieces, and each has as many accesses as one likes.
 */
#include "sim_flow.h"

#include "common.h"

#include <thrum/thrum.h>

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* As many pieces as an application has, so that the runtime's own data is in no near cache either. */
enum { PIECES_MOST = 512, TASKS = 2048, RUNS_MOST = 32, ACCESSES_MOST = 64, DATA_MOST = 64 << 20, LINK_PIECES = 64 };
enum { KERNEL_DOUBLES = 64 << 10 };

struct probe {
    const struct flow_case *it;
    thrum_executor *ex;
    thrum_codelet codelet;
    char *memory;
    int pieces;
    thrum_data *own[PIECES_MOST], *faces[2][PIECES_MOST], *room;
};

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

/* Some ten microseconds, and as much memory as a few small tiles have. */
static void go_through_memory(const thrum_buffer *buffers, const void *arg)
{
    static _Thread_local double numbers[KERNEL_DOUBLES];
    (void)buffers, (void)arg;
    for (int i = 0; i < KERNEL_DOUBLES; i++)
        numbers[i] = numbers[i] * 0.5 + 1;
}

static double pretended_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    (void)place, (void)b, (void)count;
    return *(const double *)arg;
}

static thrum_codelet codelet_of(const struct flow_case *it)
{
    bool timing = it->pretended > 0;
    return (thrum_codelet){.name = "calibrate",
                           .cpu = it->on_device ? NULL : go_through_memory,
                           .emu = it->on_device || it->pinned ? go_through_memory : NULL,
                           .seconds = timing ? pretended_seconds : NULL,
                           .model = timing ? THRUM_BY_FUNCTION : THRUM_BY_HISTORY};
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static bool open_probe(struct probe *p)
{
    p->ex = thrum_executor_new(
        &(thrum_config){.workers = p->it->devices ? 0 : p->it->workers, .policy = "prio", .devices = p->it->devices});
    p->memory = calloc(3 * (size_t)p->pieces, p->it->data);
    if (!p->ex || !p->memory)
        return false;
    memset(p->memory, 1, 3 * (size_t)p->pieces * p->it->data); /* or copies would be the first to touch it */
    char *at = p->memory;
    for (int i = 0; i < p->pieces; i++, at += 3 * p->it->data) {
        p->own[i] = thrum_data_vector(p->ex, at, p->it->data, 1);
        for (int turn = 0; turn < 2; turn++)
            p->faces[turn][i] = thrum_data_vector(p->ex, at + (size_t)(turn + 1) * p->it->data, p->it->data, 1);
        if (!p->own[i] || !p->faces[0][i] || !p->faces[1][i])
            return false;
    }
    p->room = p->it->scratch ? thrum_data_vector(p->ex, NULL, p->it->scratch, 1) : NULL;
    return !p->it->scratch || p->room;
}

static void close_probe(struct probe *p)
{
    for (int i = 0; i < p->pieces; i++) {
        thrum_data_unregister(p->own[i]);
        thrum_data_unregister(p->faces[0][i]);
        thrum_data_unregister(p->faces[1][i]);
    }
    thrum_data_unregister(p->room);
    thrum_executor_free(p->ex);
    free(p->memory);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static void insert_task(const struct probe *p, thrum_flow *flow, int step, int piece)
{
    thrum_item items[ACCESSES_MOST + 4];
    int accesses = p->it->accesses < ACCESSES_MOST ? p->it->accesses : ACCESSES_MOST, count = 0;
    int apart = p->it->pinned ? p->it->workers : 1;
    items[count++] = THRUM_RW(p->own[piece]);
    items[count++] = THRUM_W(p->faces[(step + 1) % 2][piece]);
    if (p->room)
        items[count++] = THRUM_SCRATCH(p->room);
    for (int i = 0; count < accesses; i++)
        items[count++] = THRUM_R(p->faces[step % 2][(piece + i * apart) % p->pieces]);
    items[count++] = THRUM_ARG(p->it->pretended);
    items[count++] = THRUM_PRIORITY(-step);
    if (p->it->pinned)
        items[count++] = THRUM_ON_WORKER(piece % p->it->workers);
    thrum_insert_items(flow, &p->codelet, items, (size_t)count);
}

static double busy_seconds(const struct probe *p)
{
    double busy = 0;
    for (int i = 0; i < thrum_executor_places(p->ex); i++) {
        thrum_place_stats place;
        if (thrum_executor_place(p->ex, i, &place) == 0)
            busy += place.busy;
    }
    return busy;
}

/* One run: what a task took. In timing mode a kernel that sleeps too long is part of that. */
static bool run_once(const struct probe *p, struct flow_costs *costs)
{
    double before = busy_seconds(p), begun = tool_now();
    thrum_flow *flow = thrum_flow_new(p->ex);
    for (int i = 0; flow && i < TASKS; i++)
        insert_task(p, flow, i / p->pieces, i % p->pieces);
    double inserted = tool_now();
    if (!flow || thrum_flow_free(flow) != 0)
        return false;
    double seconds = p->it->workers * (tool_now() - begun);
    double busy = p->it->pretended > 0 ? TASKS * p->it->pretended : busy_seconds(p) - before;
    costs->insert = (inserted - begun) / TASKS;
    costs->other = (seconds - busy) / TASKS;
    return true;
}

static double copy_seconds(const struct probe *p)
{
    thrum_link_stats link;
    return thrum_executor_nodes(p->ex) > 1 && thrum_executor_link(p->ex, 0, 1, &link) == 0 && link.copies > 0
               ? link.busy / (double)link.copies
               : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sim_flow_median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return numbers[count / 2];
}

/* The first run, in which memory is touched for the first time, does not count. */
static bool run_all(struct probe *p, int runs, struct flow_costs *costs)
{
    double insert[RUNS_MOST], other[RUNS_MOST];
    for (int i = -1; i < runs; i++) {
        if (!run_once(p, costs))
            return false;
        if (i >= 0) {
            insert[i] = costs->insert;
            other[i] = costs->other;
        }
    }
    *costs = (struct flow_costs){sim_flow_median(insert, runs), fmax(0, sim_flow_median(other, runs)), copy_seconds(p)};
    return true;
}

/* ---- Memory of devices ------------------------------------------------------------------------------------------- */

static const thrum_driver *emulated(void)
{
    const thrum_driver *driver;
    for (int i = 0; (driver = thrum_driver_at(i)) && strcmp(driver->kind, "emu") != 0; i++)
        ;
    return driver;
}

double sim_fresh_measure(size_t bytes)
{
    const thrum_driver *driver = emulated();
    thrum_device *device = driver ? driver->open(0, NULL) : NULL;
    const size_t pieces = DATA_MOST / bytes + 1;
    void *memory;
    bool good = device != NULL;
    double begun = tool_now();
    for (size_t i = 0; i < pieces && good; i++)
        good = driver->alloc(device, bytes, &memory) == 0;
    double seconds = tool_now() - begun;
    if (device)
        driver->close(device); /* and what was given out is free again */
    return good ? seconds / (double)(pieces * bytes) : -1;
}

static void copy_ended(void *ctx, int err)
{
    (void)err;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static const double long_enough = 200e-6; /* until the link's thread sleeps again */

static void rest_for(double seconds)
{
    for (double begun = tool_now(); tool_now() - begun < seconds;)
        sched_yield();
}

/* As many as a task with few accesses needs, of which the first wakes the link. Seconds for each, negative after an
 * error. Waits for their ends, and until the link's thread sleeps again. */
static double ask_for_copies(const thrum_driver *driver, thrum_device *device, const thrum_copy *copy)
{
    enum { AT_ONCE = 3 };
    atomic_int ended = 0;
    int err = 0, asked = 0;
    double begun = tool_now();
    for (; asked < AT_ONCE && !err; asked += !err)
        err = driver->copy(device, copy, copy_ended, &ended);
    double seconds = (tool_now() - begun) / AT_ONCE;
    while (atomic_load(&ended) < asked)
        sched_yield();
    rest_for(long_enough);
    return err ? -1 : seconds;
}

double sim_copy_measure(void)
{
    enum { COPIES = 201 };
    char word[64] = "";
    void *memory = NULL;
    double seconds[COPIES], median = -1;
    const thrum_driver *driver = emulated();
    thrum_device *device = driver ? driver->open(0, NULL) : NULL;
    if (device && driver->alloc(device, sizeof word, &memory) == 0) {
        const thrum_copy copy = {
            .direction = THRUM_COPY_IN, .to = memory, .from = word, .bytes = sizeof word, .rows = 1, .planes = 1};
        for (int i = 0; i < COPIES; i++)
            seconds[i] = ask_for_copies(driver, device, &copy);
        qsort(seconds, COPIES, sizeof *seconds, by_size);
        median = seconds[0] < 0 ? -1 : seconds[COPIES / 2];
    }
    if (device)
        driver->close(device);
    return median;
}

/* Memory that is copied, at home and on a device, in pieces. */
struct link_probe {
    const thrum_driver *driver;
    thrum_device *device;
    size_t bytes, pieces;
    char *home;
    void *there[LINK_PIECES];
};

static bool open_link(struct link_probe *p, size_t bytes)
{
    *p = (struct link_probe){.driver = emulated(), .bytes = bytes, .pieces = DATA_MOST / bytes};
    p->pieces = p->pieces < 1 ? 1 : p->pieces > LINK_PIECES ? LINK_PIECES : p->pieces;
    p->device = p->driver ? p->driver->open(0, NULL) : NULL;
    p->home = malloc(p->pieces * bytes);
    if (!p->device || !p->home)
        return false;
    memset(p->home, 1, p->pieces * bytes);
    for (size_t i = 0; i < p->pieces; i++)
        if (p->driver->alloc(p->device, bytes, &p->there[i]) != 0)
            return false;
    return true;
}

static void close_link(struct link_probe *p)
{
    if (p->device)
        p->driver->close(p->device);
    free(p->home);
}

/* Negative after an error. The link sleeps before, as it does in a run, but no core does. */
static double copy_piece(const struct link_probe *p, size_t piece)
{
    const thrum_copy copy = {.direction = THRUM_COPY_IN,
                             .to = p->there[piece],
                             .from = p->home + piece * p->bytes,
                             .bytes = p->bytes,
                             .rows = 1,
                             .planes = 1};
    atomic_int ended = 0;
    rest_for(long_enough);
    double begun = tool_now();
    if (p->driver->copy(p->device, &copy, copy_ended, &ended) != 0)
        return -1;
    while (!atomic_load(&ended))
        sched_yield();
    return tool_now() - begun;
}

double sim_link_measure(size_t bytes)
{
    double seconds[2 * LINK_PIECES], median = -1;
    struct link_probe probe;
    if (open_link(&probe, bytes)) {
        for (size_t i = 0; i < 2 * probe.pieces; i++)
            seconds[i] = copy_piece(&probe, i % probe.pieces);
        qsort(seconds, 2 * probe.pieces, sizeof *seconds, by_size);
        median = seconds[0] < 0 ? -1 : seconds[probe.pieces];
    }
    close_link(&probe);
    return median;
}

bool sim_flow_measure(const struct flow_case *it, int runs, struct flow_costs *costs)
{
    struct probe probe = {.it = it, .codelet = codelet_of(it), .pieces = PIECES_MOST};
    if (it->data * 3 * PIECES_MOST > DATA_MOST)
        probe.pieces = (int)(DATA_MOST / 3 / it->data) + 1;
    probe.pieces -= probe.pieces % it->workers;
    bool good = open_probe(&probe) && run_all(&probe, runs, costs);
    close_probe(&probe);
    return good;
}
