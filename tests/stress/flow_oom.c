/* SPDX-License-Identifier: MIT
 *
 * Flows, partitions, the main program's own accesses and recordings out of memory; see scarcity.h. Whatever was
 * refused, handles can be unregistered afterwards, and content is right or an error was told.
 */
#include "scarcity.h"

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
}

static void set_zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr = 0;
}

static void add_second(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += *(const long *)b[1].ptr;
}

static const thrum_codelet increment = {.name = "increment", .cpu = add_one};
static const thrum_codelet clear = {.name = "clear", .cpu = set_zero};
static const thrum_codelet add = {.name = "add", .cpu = add_second};

/* Unregistering, and putting parts together, needs memory too. What could not be done is done when there is some: a
 * scenario that follows one without memory has it. */
static thrum_data *left[8];
static size_t left_count;

static bool unregister(thrum_data *data)
{
    int code = data && thrum_data_parts(data) ? THRUM_ENOMEM : thrum_data_unregister(data);
    if (code == THRUM_ENOMEM)
        left[left_count++] = data;
    return code == 0 || code == THRUM_ENOMEM;
}

static int put_together(thrum_flow *flow, thrum_data *data)
{
    int code = 0;
    for (size_t i = 0; i < thrum_data_parts(data) && !code; i++)
        code = put_together(flow, thrum_data_part(data, i));
    return code || thrum_data_parts(data) == 0 ? code : thrum_unpartition(flow, data);
}

static bool tidy_up(void)
{
    bool tidy = true;
    while (left_count && tidy) {
        thrum_flow *flow = thrum_flow_new(ex);
        thrum_data *data = left[--left_count];
        tidy = flow && put_together(flow, data) == 0;
        tidy = thrum_flow_free(flow) == 0 && tidy && thrum_data_unregister(data) == 0;
    }
    return tidy;
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

enum { TASKS = 600 };

static enum outcome insert_scenario(void)
{
    static long x, y, filler[40];
    x = y = 0;
    if (!tidy_up())
        return WRONG;
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_data *a = thrum_data_variable(ex, &x, sizeof x), *b = thrum_data_variable(ex, &y, sizeof y);
    enum outcome outcome = REPORTED;
    if (flow && a && b) {
        for (int i = 0; i < TASKS; i++)
            thrum_insert(flow, &increment, THRUM_RW(i % 3 ? a : b), THRUM_SCRATCH(b), THRUM_ARG(filler));
        int code = thrum_flow_wait(flow);
        outcome = outcome_of(code, x == TASKS / 3 * 2 && y == TASKS / 3);
    }
    int code = thrum_flow_free(flow);
    bool gone = unregister(a), both = unregister(b);
    return gone && both && (code == 0 || code == THRUM_ENOMEM) ? outcome : WRONG;
}

TEST(inserting_and_waiting)
{
    exhaust(insert_scenario);
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

static void insert_groups(thrum_flow *flow, thrum_data *a, thrum_data *b)
{
    thrum_insert(flow, &clear, THRUM_W(b));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5; i++)
            thrum_insert(flow, &increment, THRUM_REDUX(a));
        for (int i = 0; i < 5; i++)
            thrum_insert(flow, &increment, THRUM_COMMUTE(b), THRUM_R(a));
        for (int i = 0; i < 5; i++)
            thrum_insert(flow, &add, THRUM_REDUX(a), THRUM_R(b));
    }
}

static enum outcome group_scenario(void)
{
    static long x;
    void *at = NULL;
    x = 0;
    if (!tidy_up())
        return WRONG;
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_data *a = thrum_data_variable(ex, &x, sizeof x), *b = thrum_data_variable(ex, NULL, sizeof x);
    enum outcome outcome = REPORTED;
    if (flow && a && b && !thrum_data_set_reduction(a, &clear, &add)) {
        insert_groups(flow, a, b);
        int code = thrum_flow_wait(flow);
        if (!code)
            code = thrum_data_acquire(b, THRUM_MODE_R, &at);
        bool right = !code && *(long *)at == 10;
        if (!code)
            thrum_data_release(b);
        if (!code)
            code = thrum_data_acquire(a, THRUM_MODE_R, NULL);
        right = right && !code && x == 10 + 25 + 50;
        if (!code)
            thrum_data_release(a);
        outcome = outcome_of(code, right);
    }
    int code = thrum_flow_free(flow);
    bool gone = unregister(a), both = unregister(b);
    return gone && both && (code == 0 || code == THRUM_ENOMEM) ? outcome : WRONG;
}

TEST(groups_that_are_closed_and_combined)
{
    exhaust(group_scenario);
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

static int insert_parts(thrum_flow *flow, thrum_data *data)
{
    int code = thrum_partition(flow, data, &(thrum_cut){.pieces = {4}});
    for (size_t i = 0; i < 4 && !code; i++)
        code = thrum_insert(flow, &increment, THRUM_RW(thrum_data_part(data, i)));
    thrum_data *part = code ? NULL : thrum_data_part(data, 1);
    if (part && !(code = thrum_partition(flow, part, &(thrum_cut){.pieces = {2}}))) {
        thrum_insert(flow, &increment, THRUM_RW(thrum_data_part(part, 1)));
        code = thrum_unpartition(flow, part);
    }
    if (!code)
        code = thrum_unpartition(flow, data);
    return code;
}

static enum outcome part_scenario(void)
{
    static long x[8];
    memset(x, 0, sizeof x);
    if (!tidy_up())
        return WRONG;
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_data *data = thrum_data_vector(ex, x, 8, sizeof(long));
    enum outcome outcome = REPORTED;
    if (flow && data) {
        insert_parts(flow, data);
        int code = thrum_flow_wait(flow);
        outcome = outcome_of(code, x[0] == 1 && x[2] == 1 && x[3] == 1 && x[4] == 1 && x[6] == 1);
    }
    int code = thrum_flow_free(flow);
    return unregister(data) && (code == 0 || code == THRUM_ENOMEM) ? outcome : WRONG;
}

TEST(partitions)
{
    exhaust(part_scenario);
}

/* ---- Acquiring --------------------------------------------------------------------------------------------------- */

static enum outcome acquire_scenario(void)
{
    void *at = NULL;
    if (!tidy_up())
        return WRONG;
    thrum_data *data = thrum_data_vector(ex, NULL, 10, sizeof(long));
    enum outcome outcome = REPORTED;
    if (data) {
        int code = thrum_data_acquire(data, THRUM_MODE_W, &at);
        if (!code) {
            *(long *)at = 7;
            code = thrum_data_release(data);
        }
        if (!code && !(code = thrum_data_acquire(data, THRUM_MODE_RW, &at)))
            code = thrum_data_release(data);
        outcome = outcome_of(code, at && *(long *)at == 7);
    }
    return unregister(data) ? outcome : WRONG;
}

TEST(acquiring_and_releasing)
{
    exhaust(acquire_scenario);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static int record(thrum_graph *graph, thrum_data *a, thrum_data *v)
{
    thrum_flow *flow = thrum_flow_record(ex, graph);
    if (!flow)
        return THRUM_ENOMEM;
    thrum_insert(flow, &clear, THRUM_W(a));
    for (int i = 0; i < 20; i++)
        thrum_insert(flow, &increment, THRUM_REDUX(a));
    insert_parts(flow, v);
    for (int i = 0; i < 20; i++)
        thrum_insert(flow, &add, THRUM_RW(v), THRUM_R(a));
    return thrum_flow_free(flow);
}

static enum outcome replay(thrum_graph *graph, thrum_data *a, thrum_data *other)
{
    int code = thrum_run_n(ex, graph, 2);
    thrum_graph *copy = code ? NULL : thrum_graph_clone(graph);
    if (!code && !copy)
        code = THRUM_ENOMEM;
    if (!code && !(code = thrum_graph_bind(copy, a, other)))
        code = thrum_run(ex, copy);
    return thrum_graph_free(copy) ? WRONG : outcome_of(code, true);
}

static enum outcome record_scenario(void)
{
    static long x, y, w[8];
    x = y = 0;
    memset(w, 0, sizeof w);
    if (!tidy_up())
        return WRONG;
    thrum_graph *graph = thrum_graph_new("recorded");
    thrum_data *a = thrum_data_variable(ex, &x, sizeof x), *b = thrum_data_variable(ex, &y, sizeof y);
    thrum_data *v = thrum_data_vector(ex, w, 8, sizeof(long));
    enum outcome outcome = REPORTED;
    if (graph && a && b && v && !thrum_data_set_reduction(a, &clear, &add) &&
        !thrum_data_set_reduction(b, &clear, &add)) {
        int code = record(graph, a, v);
        outcome = code ? outcome_of(code, false) : replay(graph, a, b);
    }
    if (outcome == DONE && (x != 20 || y != 20 || w[0] != 3 * (1 + 400)))
        outcome = WRONG;
    if (thrum_graph_free(graph))
        return WRONG;
    bool gone = unregister(a);
    gone &= unregister(b);
    gone &= unregister(v);
    return gone ? outcome : WRONG;
}

TEST(recording_replaying_and_binding)
{
    exhaust(record_scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inserting_and_waiting),
        cmocka_unit_test(groups_that_are_closed_and_combined),
        cmocka_unit_test(partitions),
        cmocka_unit_test(acquiring_and_releasing),
        cmocka_unit_test(recording_replaying_and_binding),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
