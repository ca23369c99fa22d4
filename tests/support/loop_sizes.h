/* SPDX-License-Identifier: MIT
 *
 * Sizes of chunks written as text: "13*4 6 1*2" is four chunks of 13, one of 6 and two of 1.
 */
#ifndef TESTS_SUPPORT_LOOP_SIZES_H
#define TESTS_SUPPORT_LOOP_SIZES_H

#include "test.h"

#include <inttypes.h>

/* Writes the sizes that workers get when they ask one after the other, over and over. */
static inline void sizes_in_turn(thrum_schedule *schedule, uint32_t workers, char *text, size_t room)
{
    thrum_chunk chunk;
    uint64_t size = 0, count = 0;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t worker = 0, more = 1; more; worker = (worker + 1) % workers) {
        more = (uint32_t)thrum_schedule_next(schedule, worker, 0, &chunk);
        if (more && count > 0 && chunk.size == size) {
            count++;
            continue;
        }
        if (count > 0 && length < room)
            length +=
                (size_t)snprintf(text + length, room - length, count > 1 ? "%s%" PRIu64 "*%" PRIu64 : "%s%" PRIu64,
                                 length ? " " : "", size, count);
        size = chunk.size;
        count = 1;
    }
}

/* Workers that ask in turn, all at the time 0, get chunks of these sizes; and again after a restart. */
static inline void expect_sizes(thrum_technique technique, thrum_loop_facts facts, const char *expected)
{
    char text[2000];
    thrum_schedule *schedule = thrum_schedule_new(technique, &facts);
    if (!schedule)
        print_error("%s: %s\n", thrum_technique_name(technique), thrum_message(NULL));
    assert_non_null(schedule);
    for (int round = 0; round < 2; round++) {
        sizes_in_turn(schedule, facts.workers, text, sizeof text);
        if (strcmp(text, expected) != 0)
            print_error("%s gives\n  %s, not\n  %s\n", thrum_technique_name(technique), text, expected);
        assert_string_equal(text, expected);
        thrum_schedule_restart(schedule);
    }
    thrum_schedule_free(schedule);
}

#endif
