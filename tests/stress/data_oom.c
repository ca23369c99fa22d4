/* SPDX-License-Identifier: MIT
 *
 * Handles out of memory (scarcity.h): a handle that cannot be made is not there, a cut that cannot be made leaves its
 * handle whole, and what has been made can be used.
 */
#include "scarcity.h"

#include "model/reduction.h"

static thrum__space space;

static enum outcome no_memory(void)
{
    assert_contains(thrum_message(NULL), "memory");
    return REPORTED;
}

static enum outcome through(thrum_data *data)
{
    thrum__data_retire(data);
    return DONE;
}

static thrum_data *named_matrix(void)
{
    thrum__shape shape = {THRUM__MATRIX, 2, 8, {12, 12}, {0}};
    thrum_data *data = thrum__data_dense(&space, &shape, NULL, "test");
    if (data && thrum__data_set_name(data, "A")) {
        assert_null(data->name);
        thrum__data_retire(data);
        return NULL;
    }
    return data;
}

static enum outcome public_calls(void)
{
    static double x[8];
    static uint32_t indices[9] = {0, 8};
    thrum_data *data[] = {
        thrum_data_variable(ex, x, 8),
        thrum_data_vector(ex, x, 8, 8),
        thrum_data_block(ex, x, 2, 4, 2, 2, 2, 8),
        thrum_data_tensor(ex, x, 3, (size_t[]){2, 2, 2}, NULL, 8),
        thrum_data_csr(ex, 1, 8, indices, indices, x, 8, 4),
    };
    enum outcome outcome = DONE;
    for (size_t i = 0; i < COUNT_OF(data); i++) {
        if (data[i])
            thrum__data_retire(data[i]);
        else
            outcome = no_memory();
    }
    return outcome;
}

static enum outcome cut_in_parts(void)
{
    thrum_data *data = named_matrix();
    if (!data)
        return no_memory();
    int err = thrum__data_cut(data, &(thrum_cut){.pieces = {3, 4}}, "test");
    if (err) {
        assert_int_equal(err, THRUM_ENOMEM);
        assert_null(data->parts);
        thrum__data_retire(data);
        return no_memory();
    }
    assert_string_equal(data->parts[11]->name, "A[2,3]");
    return through(data);
}

static enum outcome cut_in_rows(void)
{
    static uint32_t row_start[] = {0, 2, 2, 5}, columns[5];
    static float values[5];
    thrum_buffer home = {
        .ptr = values, .elem = sizeof(float), .extent = (size_t[]){5, 3}, .row_start = row_start, .columns = columns};
    thrum_data *data = thrum__data_sparse(&space, &home, 4, "test");
    if (!data)
        return no_memory();
    if (thrum__data_cut(data, &(thrum_cut){.pieces = {0, 3}}, "test")) {
        thrum__data_retire(data);
        return no_memory();
    }
    return through(data);
}

static enum outcome private_copies(void)
{
    static const thrum_codelet nothing = {.name = "nothing"};
    enum outcome outcome = DONE;
    thrum_data *data = named_matrix();
    if (!data)
        return no_memory();
    if (thrum__reduction_set(data, &nothing, &nothing))
        outcome = REPORTED;
    for (int worker = 0; worker < 20 && outcome == DONE; worker++) {
        thrum__private *copy = thrum__reduction_copy(data, worker);
        if (!copy || thrum__data_make_home(copy->data))
            outcome = no_memory();
    }
    thrum__data_retire(data);
    return outcome;
}

static size_t four(const void *home, void *ctx)
{
    (void)home;
    (void)ctx;
    return 4;
}

static void pack(const void *home, void *packed, void *ctx)
{
    (void)ctx;
    memcpy(packed, home, 4);
}

static void unpack(void *home, const void *packed, void *ctx)
{
    (void)ctx;
    memcpy(home, packed, 4);
}

static void *make(void *ctx)
{
    (void)ctx;
    return thrum__alloc(4);
}

static void drop(void *home, void *ctx)
{
    (void)ctx;
    thrum__free(home);
}

static enum outcome own_layout(void)
{
    thrum_data *data =
        thrum__data_own_layout(&space, &(thrum_layout){"four", four, pack, unpack, make, drop, NULL}, NULL, "test");
    if (!data)
        return no_memory();
    thrum_data *like = thrum__data_like(data);
    enum outcome outcome = like && thrum__data_make_home(like) == 0 ? DONE : no_memory();
    if (like)
        thrum__data_retire(like);
    thrum__data_retire(data);
    return outcome;
}

/* Each in a space of its own, so that no handle that is gone is used again instead of being allocated. */
static void exhaust_alone(scenario_fn *scenario)
{
    thrum__space_init(&space, NULL, 1);
    exhaust(scenario);
    assert_int_equal(space.live, 0);
    thrum__space_fini(&space);
}

TEST(handles_are_made_or_it_is_said_that_there_is_no_memory)
{
    exhaust(public_calls);
}

TEST(what_cannot_be_cut_stays_whole)
{
    exhaust_alone(cut_in_parts);
    exhaust_alone(cut_in_rows);
}

TEST(private_copies_are_made_or_it_is_said_that_there_is_no_memory)
{
    exhaust_alone(private_copies);
}

TEST(layouts_of_ones_own_are_copied_or_it_is_said_that_there_is_no_memory)
{
    exhaust_alone(own_layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_are_made_or_it_is_said_that_there_is_no_memory),
        cmocka_unit_test(what_cannot_be_cut_stays_whole),
        cmocka_unit_test(private_copies_are_made_or_it_is_said_that_there_is_no_memory),
        cmocka_unit_test(layouts_of_ones_own_are_copied_or_it_is_said_that_there_is_no_memory),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
