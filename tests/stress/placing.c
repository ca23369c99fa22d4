/* SPDX-License-Identifier: MIT
 *
 * Random flows on random machines, under all policies, against what the same tasks give one after the other. What is
 * known about replicas and memory is checked when all is at rest (and, with THRUM_CHECKS, at each change).
 */
#include "exec/exec_int.h"
#include "exec/place_int.h"

#include "random.h"
#include "stress.h"

static struct stress stress;

enum { HANDLES = 6, LENGTH = 120, STEPS = 80, PARTS_MOST = 4 };

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

typedef struct order {
    uint64_t value;
    int readers;
} order;

/* b[0] is changed by what is in the others. */
static void mix(const thrum_buffer *b, const void *arg)
{
    const order *o = arg;
    uint64_t *x = b[0].ptr;
    for (size_t i = 0; i < b[0].extent[0]; i++) {
        x[i] = x[i] * 3 + o->value;
        for (int r = 1; r <= o->readers; r++)
            x[i] += ((const uint64_t *)b[r].ptr)[i % b[r].extent[0]];
    }
}

static void fill(const thrum_buffer *b, const void *arg)
{
    const order *o = arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((uint64_t *)b[0].ptr)[i] = o->value + i;
}

static void add(const thrum_buffer *b, const void *arg)
{
    const order *o = arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((uint64_t *)b[0].ptr)[i] += o->value * (i + 1);
}

/* b[1] is scratch. */
static void add_by_scratch(const thrum_buffer *b, const void *arg)
{
    const order *o = arg;
    uint64_t *x = b[0].ptr, *scratch = b[1].ptr;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        scratch[i % b[1].extent[0]] = o->value;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        x[i] += scratch[i % b[1].extent[0]];
}

static void clear(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 0, b[0].extent[0] * sizeof(uint64_t));
}

static void combine(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((uint64_t *)b[0].ptr)[i] += ((const uint64_t *)b[1].ptr)[i];
}

#define EACH_WHERE(function)                                                                                           \
    {                                                                                                                  \
        {.name = #function, .cpu = function, .emu = function}, {.name = #function "_cpu", .cpu = function},            \
        {                                                                                                              \
            .name = #function "_emu", .emu = function                                                                  \
        }                                                                                                              \
    }
static const thrum_codelet mixes[3] = EACH_WHERE(mix), fills[3] = EACH_WHERE(fill), adds[3] = EACH_WHERE(add),
                           scratches[3] = EACH_WHERE(add_by_scratch);
static const thrum_codelet clears[2] = {{.name = "clear", .cpu = clear, .emu = clear}, {.name = "clear", .cpu = clear}};
static const thrum_codelet combines[2] = {{.name = "combine", .cpu = combine, .emu = combine},
                                          {.name = "combine", .cpu = combine}};

/* ---- Machines ---------------------------------------------------------------------------------------------------- */

typedef struct trial {
    struct stress_course *course;
    struct random random;
    thrum_executor *ex;
    thrum_flow *flow;
    bool has_cpu, has_emu;
    bool may_fail, failed;
    thrum_data *data[HANDLES];
    uint64_t *memory[HANDLES];
    uint64_t expected[HANDLES][LENGTH];
    bool written[HANDLES];
    size_t parts[HANDLES]; /* 0: not partitioned */
} trial;

static void make_machine(trial *t, bool breaks)
{
    static const char *const policies[] = {"fifo", "prio",  "random",     "ws",          "lws",
                                           "dmda", "dmdas", "heteroprio", "laheteroprio"};
    static const char *const fails[] = {"", ";fail=1", ";fail=10", ";fail=40"};
    char devices[200] = "";
    struct random *r = &t->random;
    size_t emus = random_below(r, 4);
    t->has_emu = emus > 0;
    t->has_cpu = emus == 0 || random_chance(r, 80);
    if (t->has_cpu)
        snprintf(devices, sizeof devices, "cpu:%zu%s", random_between(r, 1, 3), emus ? "," : "");
    if (emus) {
        size_t used = strlen(devices);
        /* The largest task uses four handles. */
        snprintf(devices + used, sizeof devices - used, "emu:%zu;memory=%zuB;latency=%zuus;workers=%zu;peer=%s%s", emus,
                 random_between(r, 4, 10) * LENGTH * sizeof(uint64_t), random_below(r, 30), random_between(r, 1, 2),
                 random_chance(r, 50) ? "yes" : "no", breaks ? fails[random_below(r, 4)] : "");
    }
    const char *policy = policies[random_below(r, sizeof policies / sizeof policies[0])];
    t->ex = thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices});
    if (!t->ex)
        stress_fail(t->course, thrum_message(NULL));
}

static int somewhere(trial *t)
{
    size_t where = random_below(&t->random, 3);
    if ((where == 1 && !t->has_cpu) || (where == 2 && !t->has_emu))
        where = 0;
    return (int)where;
}

static void make_data(trial *t)
{
    size_t reduction = t->has_cpu ? random_below(&t->random, 2) : 0;
    for (int i = 0; i < HANDLES; i++) {
        bool own = random_chance(&t->random, 70);
        t->memory[i] = own ? malloc(LENGTH * sizeof(uint64_t)) : NULL;
        for (size_t k = 0; k < LENGTH; k++) {
            t->expected[i][k] = random_next(&t->random);
            if (own)
                t->memory[i][k] = t->expected[i][k];
        }
        t->written[i] = own;
        t->data[i] = thrum_data_vector(t->ex, t->memory[i], LENGTH, sizeof(uint64_t));
        stress_check(t->course, t->data[i] != NULL);
        stress_check(t->course, thrum_data_set_reduction(t->data[i], &clears[reduction], &combines[reduction]) == 0);
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Where devices are made to fail, that they have is noted, and nothing is compared any more. No other error may come of
 * it. */
static void must(trial *t, int err)
{
    if (!err)
        return;
    if (!t->may_fail || err != THRUM_EDEVICE || !strstr(thrum_message(NULL), " has failed, at its kernel number "))
        stress_fail(t->course, thrum_message(NULL));
    t->failed = true;
}

static int settings(trial *t, thrum_item *items, int count, const order *o)
{
    items[count++] = THRUM_ARG(*o);
    items[count++] = THRUM_PRIORITY((int)random_below(&t->random, 5) - 2);
    return count;
}

/* A stretch of a handle: all of it, or one of its parts. */
typedef struct piece {
    thrum_data *data;
    int handle;
    size_t from, length;
} piece;

static piece some_piece(trial *t, int handle)
{
    size_t parts = t->parts[handle], number = random_below(&t->random, parts);
    if (!parts)
        return (piece){t->data[handle], handle, 0, LENGTH};
    size_t offset[THRUM_DIMS_MOST];
    thrum_buffer buffer;
    thrum_data *part = thrum_data_part(t->data[handle], number);
    must(t, thrum_data_offset(part, offset));
    must(t, thrum_data_describe(part, &buffer));
    return (piece){part, handle, offset[0], buffer.extent[0]};
}

static int other_written(trial *t, const bool *used)
{
    for (int tries = 0; tries < 10; tries++) {
        int handle = (int)random_below(&t->random, HANDLES);
        if (!used[handle] && t->written[handle])
            return handle;
    }
    return -1;
}

static void step_mix(trial *t, int handle)
{
    bool used[HANDLES] = {0};
    thrum_item items[8];
    piece p = some_piece(t, handle);
    order o = {random_next(&t->random), 0};
    uint64_t *x = &t->expected[handle][p.from];
    used[handle] = true;
    items[0] = THRUM_RW(p.data);
    for (size_t i = 0; i < p.length; i++)
        x[i] = x[i] * 3 + o.value;
    for (int other; o.readers < 3 && random_chance(&t->random, 60) && (other = other_written(t, used)) >= 0;) {
        piece q = some_piece(t, other);
        used[other] = random_chance(&t->random, 80); /* else it may be read twice */
        items[++o.readers] = THRUM_R(q.data);
        for (size_t i = 0; i < p.length; i++)
            x[i] += t->expected[other][q.from + i % q.length];
    }
    int count = settings(t, items, o.readers + 1, &o);
    must(t, thrum_insert_items(t->flow, &mixes[somewhere(t)], items, (size_t)count));
}

static void step_fill(trial *t, int handle)
{
    thrum_item items[8];
    piece p = some_piece(t, handle);
    order o = {random_next(&t->random), 0};
    items[0] = THRUM_W(p.data);
    int count = settings(t, items, 1, &o);
    must(t, thrum_insert_items(t->flow, &fills[somewhere(t)], items, (size_t)count));
    for (size_t i = 0; i < p.length; i++)
        t->expected[handle][p.from + i] = o.value + i;
    t->written[handle] |= p.length == LENGTH;
}

/* Several in a row, to give them something to share. */
static void step_add(trial *t, int handle, enum thrum_mode mode)
{
    piece p = some_piece(t, handle);
    for (size_t left = random_between(&t->random, 1, 6); left > 0; left--) {
        thrum_item items[8];
        order o = {random_next(&t->random), 0};
        items[0] = THRUM_ACCESS(mode, p.data);
        int count = settings(t, items, 1, &o);
        int where = mode == THRUM_MODE_REDUX && random_chance(&t->random, 70) ? 0 : somewhere(t);
        if (mode == THRUM_MODE_REDUX && where == 2 && t->has_cpu)
            where = 0; /* the initializer may be for processors only */
        must(t, thrum_insert_items(t->flow, &adds[where], items, (size_t)count));
        for (size_t i = 0; i < p.length; i++)
            t->expected[handle][p.from + i] += o.value * (i + 1);
    }
}

static void step_scratch(trial *t, int handle)
{
    thrum_item items[8];
    piece p = some_piece(t, handle);
    order o = {random_next(&t->random), 0};
    items[0] = THRUM_RW(p.data);
    items[1] = THRUM_SCRATCH(t->data[(handle + 1) % HANDLES]);
    if (t->parts[(handle + 1) % HANDLES])
        return;
    int count = settings(t, items, 2, &o);
    must(t, thrum_insert_items(t->flow, &scratches[somewhere(t)], items, (size_t)count));
    for (size_t i = 0; i < p.length; i++)
        t->expected[handle][p.from + i] += o.value;
}

static void unpartition(trial *t, int handle)
{
    int err = thrum_unpartition(t->flow, t->data[handle]);
    must(t, err);
    if (!err)
        t->parts[handle] = 0;
}

static void step_partition(trial *t, int handle)
{
    if (t->parts[handle]) {
        unpartition(t, handle);
        return;
    }
    size_t parts = random_between(&t->random, 1, PARTS_MOST);
    int err = thrum_partition(t->flow, t->data[handle], &(thrum_cut){.pieces = {parts}});
    must(t, err);
    if (!err)
        t->parts[handle] = parts;
}

/* What was left out since the flow has failed may be missing, or be as it was before: then the flow says why. */
static void flow_must_have_failed(trial *t, const char *sentence)
{
    if (t->may_fail)
        must(t, thrum_flow_wait(t->flow));
    if (!t->failed)
        stress_fail(t->course, sentence);
}

static void compare(trial *t, int handle, const void *content)
{
    if (memcmp(content, t->expected[handle], sizeof t->expected[handle]) != 0)
        flow_must_have_failed(t, "the content is not what was written");
}

static void step_acquire(trial *t, int handle)
{
    bool writes = random_chance(&t->random, 50);
    void *ptr;
    if (t->parts[handle])
        return;
    int err = thrum_data_acquire(t->data[handle], writes ? THRUM_MODE_RW : THRUM_MODE_R, &ptr);
    if (err == THRUM_EDATA) {
        flow_must_have_failed(t, thrum_message(NULL));
        return;
    }
    must(t, err);
    if (err)
        return;
    compare(t, handle, ptr);
    if (writes)
        ((uint64_t *)ptr)[LENGTH / 2] = t->expected[handle][LENGTH / 2] += 1;
    must(t, thrum_data_release(t->data[handle]));
}

static void step(trial *t)
{
    int handle = (int)random_below(&t->random, HANDLES);
    size_t what = random_below(&t->random, 100);
    if (!t->written[handle] || what < 10)
        step_fill(t, handle);
    else if (what < 55)
        step_mix(t, handle);
    else if (what < 65)
        step_add(t, handle, THRUM_MODE_RW);
    else if (what < 73)
        step_add(t, handle, THRUM_MODE_COMMUTE);
    else if (what < 81 && !t->parts[handle])
        step_add(t, handle, THRUM_MODE_REDUX);
    else if (what < 88)
        step_scratch(t, handle);
    else if (what < 96)
        step_partition(t, handle);
    else
        step_acquire(t, handle);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void check_rest(trial *t)
{
    thrum__places *places = t->ex->space.places;
    /* Copies that nobody waits for may be under way. */
    while (atomic_load_explicit(&places->inside, memory_order_acquire) ||
           atomic_load_explicit(&places->busy, memory_order_acquire))
        sched_yield();
    must(t, thrum__places_check(places, true));
}

/* It never was in memory of the test's own: so it is looked at before it goes. */
static void check_without_memory(trial *t, int handle)
{
    void *ptr;
    int err = thrum_data_acquire(t->data[handle], THRUM_MODE_R, &ptr);
    must(t, err);
    if (err) {
        must(t, thrum_data_discard(t->data[handle]));
        return;
    }
    compare(t, handle, ptr);
    must(t, thrum_data_release(t->data[handle]));
    must(t, thrum_data_unregister(t->data[handle]));
}

static void check_data(trial *t, int handle)
{
    if (t->parts[handle])
        unpartition(t, handle);
    if (t->failed) {
        must(t, thrum_flow_wait(t->flow));
        must(t, thrum_data_discard(t->data[handle]));
    } else if (t->written[handle] && !t->memory[handle]) {
        check_without_memory(t, handle);
    } else {
        must(t, thrum_data_unregister(t->data[handle]));
        if (t->written[handle] && !t->failed)
            compare(t, handle, t->memory[handle]);
    }
}

static void run_trial(trial *t)
{
    make_data(t);
    t->flow = thrum_flow_new(t->ex);
    for (int i = 0; i < STEPS && !t->failed; i++)
        step(t);
    must(t, thrum_flow_wait(t->flow));
    check_rest(t);
    for (int i = 0; i < HANDLES; i++)
        check_data(t, i);
    check_rest(t);
    int err = thrum_flow_free(t->flow);
    if (!t->failed)
        must(t, err);
    err = thrum_executor_free(t->ex);
    if (err)
        stress_fail(t->course, thrum_message(NULL));
    for (int i = 0; i < HANDLES; i++)
        free(t->memory[i]);
}

TEST(random_flows_on_random_machines_do_what_the_oracle_does)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        static trial t;
        t = (trial){.course = &course, .random = random_new(course.seed)};
        make_machine(&t, false);
        run_trial(&t);
    }
    stress_report(&course, "programs");
}

/* The right result, or an error that says which device. Of the first seeds about half fail. */
TEST(random_flows_on_machines_that_break_end)
{
    enum { ENOUGH = 20 };
    struct stress_course course = stress_course(&stress);
    uint64_t failed = 0;
    while (stress_next(&course)) {
        static trial t;
        t = (trial){.course = &course, .random = random_new(course.seed), .may_fail = true};
        make_machine(&t, true);
        run_trial(&t);
        failed += t.failed;
    }
    stress_report(&course, "programs");
    print_message("           %" PRIu64 " of them failed\n", failed);
    if (!stress.one_seed && course.round >= ENOUGH)
        assert_true(failed > 0 && failed < course.round);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_flows_on_random_machines_do_what_the_oracle_does),
        cmocka_unit_test(random_flows_on_machines_that_break_end),
    };
    stress = stress_begin(argv[0], 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
