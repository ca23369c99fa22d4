/* SPDX-License-Identifier: MIT
 *
 * Handles without an executor: a space of their own, and copies that are carried out at once. For tests that see src/.
 */
#ifndef TESTS_SUPPORT_COPIES_H
#define TESTS_SUPPORT_COPIES_H

#include "model/data.h"
#include "test.h"

/* Does what a driver does: the i-th row of the j-th plane, byte by byte. `ctx` may be NULL, or a number that counts. */
static inline int copy_now(const thrum_copy *copy, void *ctx)
{
    if (ctx)
        ++*(size_t *)ctx;
    for (size_t plane = 0; plane < copy->planes; plane++)
        for (size_t row = 0; row < copy->rows; row++)
            memcpy((char *)copy->to + plane * copy->to_plane + row * copy->to_row,
                   (const char *)copy->from + plane * copy->from_plane + row * copy->from_row, copy->bytes);
    return 0;
}

/* Between a handle's home and packed memory. Return how many copies it took. */
static inline size_t copy_out(const thrum_data *data, void *packed)
{
    size_t count = 0;
    assert_int_equal(thrum__data_copies(data, packed, true, data->home.ptr, false, copy_now, &count), 0);
    return count;
}

static inline size_t copy_back(const thrum_data *data, const void *packed)
{
    size_t count = 0;
    assert_int_equal(thrum__data_copies(data, data->home.ptr, false, packed, true, copy_now, &count), 0);
    return count;
}

#endif
