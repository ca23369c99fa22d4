/* SPDX-License-Identifier: MIT
 *
 * A run by the SimGrid engine. The caller lays it out, up to and with finding its policy, which takes a lock; the
 * process of SimGrid does the rest, and says what came out: first an error, or what the policy reports; then the
 * result, as the bytes of its parts. Both are the same program, so bytes mean the same.
 */
#include "sim/engine_simgrid.h"
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <string.h>

enum { ROOM = THRUM__SAY_MOST - 2 * sizeof(double) };

typedef struct saying {
    enum { ERROR, REPORT, RESULT } kind;
    int code;        /* of an error */
    double value;    /* of a report */
    char data[ROOM]; /* a sentence; a key; bytes */
} saying;
_Static_assert(sizeof(saying) <= THRUM__SAY_MOST, "it can be said at once");

/* Parts of a result: 0 is the struct itself, whose pointers mean nothing to others. */
enum { PARTS = 4 };

typedef struct part {
    void *data;
    size_t bytes;
} part;

static part part_of(thrum_sim_result *r, int number)
{
    part parts[PARTS] = {{r, sizeof *r},
                         {r->workers, (size_t)r->worker_count * sizeof *r->workers},
                         {r->links, (size_t)r->link_count * sizeof *r->links},
                         {r->nodes, (size_t)r->node_count * sizeof *r->nodes}};
    return parts[number];
}

/* ---- In the process of SimGrid ----------------------------------------------------------------------------------- */

static void say(const thrum__keeper *keeper, saying *it, const void *data, size_t bytes)
{
    memcpy(it->data, data, bytes);
    thrum__keeper_say(keeper, it, offsetof(saying, data) + bytes);
}

/* Sentences and keys that are longer lose their end. */
static void say_text(const thrum__keeper *keeper, saying *it, const char *text)
{
    char copy[ROOM] = "";
    strncat(copy, text, sizeof copy - 1);
    say(keeper, it, copy, strlen(copy) + 1);
}

static void say_report(void *ctx, const char *key, double value)
{
    say_text(ctx, &(saying){.kind = REPORT, .value = value}, key);
}

static void say_result(const thrum__keeper *keeper, thrum_sim_result *result)
{
    for (int i = 0; i < PARTS; i++) {
        part part = part_of(result, i);
        for (size_t at = 0; at < part.bytes; at += ROOM)
            say(keeper, &(saying){.kind = RESULT}, (char *)part.data + at,
                part.bytes - at < ROOM ? part.bytes - at : ROOM);
    }
}

typedef struct stay {
    task_run *run;
    thrum_sim_result *result; /* of the caller: what has come of it */
    int part;
    size_t have; /* of that part */
} stay;

static void simulate(void *ctx, const thrum__engine_ops *ops, const thrum__keeper *keeper)
{
    task_run *run = ((stay *)ctx)->run;
    thrum_sim sim = *run->sim;
    thrum_sim_result *result;
    sim.report = sim.report ? say_report : NULL;
    sim.ctx = (void *)keeper;
    run->sim = &sim;
    int err = thrum__sim_run(run, ops, &result);
    if (err)
        say_text(keeper, &(saying){.kind = ERROR, .code = err}, thrum__last_fault());
    else
        say_result(keeper, result);
}

/* ---- In the caller ----------------------------------------------------------------------------------------------- */

static int make_room(thrum_sim_result *r)
{
    r->workers = thrum__zalloc(((size_t)r->worker_count + 1) * sizeof *r->workers);
    r->links = thrum__zalloc(((size_t)r->link_count + 1) * sizeof *r->links);
    r->nodes = thrum__zalloc(((size_t)r->node_count + 1) * sizeof *r->nodes);
    return r->workers && r->links && r->nodes ? 0 : THRUM_ENOMEM;
}

/* The next part that has bytes, when this one is complete. */
static int next_part(stay *stay)
{
    int err = stay->part == 0 ? make_room(stay->result) : 0;
    stay->have = 0;
    do
        stay->part++;
    while (stay->part < PARTS && part_of(stay->result, stay->part).bytes == 0);
    return err ? thrum__fault(err, "no memory for the result of a simulation") : 0;
}

static int take_bytes(stay *stay, const char *data, size_t bytes)
{
    part part = part_of(stay->result, stay->part);
    memcpy((char *)part.data + stay->have, data, bytes);
    stay->have += bytes;
    return stay->have == part.bytes ? next_part(stay) : 0;
}

static int hear(void *ctx, const void *said, size_t length)
{
    stay *stay = ctx;
    const thrum_sim *sim = stay->run->sim;
    saying it;
    memcpy(&it, said, length);
    if (it.kind == RESULT)
        return take_bytes(stay, it.data, length - offsetof(saying, data));
    if (it.kind == ERROR)
        return thrum__fault(it.code, "%s", it.data);
    sim->report(sim->ctx, it.data, it.value);
    return 0;
}

int thrum__sim_run_in_simgrid(task_run *run, thrum_sim_result **result)
{
    stay stay = {.run = run, .result = thrum__zalloc(sizeof **result)};
    if (!stay.result)
        return thrum__fault(THRUM_ENOMEM, "no memory for the result of a simulation");
    int err = thrum__tasks_in_simgrid(&(thrum__tasks_job){&run->layout, simulate, hear, &stay});
    if (!err)
        *result = stay.result;
    else
        thrum_sim_result_free(stay.result);
    return err;
}
