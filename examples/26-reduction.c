/* SPDX-License-Identifier: MIT
 *
 * A reduction: many tasks add to one handle, each worker to a copy of its own, and the copies are added up before
 * somebody reads it. Here it is a histogram of random numbers.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { TASKS = 64, EACH = 20000, BINS = 10 };

static void clear(const thrum_buffer *b, const void *arg)
{
    uint64_t *bins = b->ptr;
    (void)arg;
    for (size_t i = 0; i < b->extent[0]; i++)
        bins[i] = 0;
}

static void add(const thrum_buffer *b, const void *arg) /* adds the second to the first */
{
    uint64_t *into = b[0].ptr;
    const uint64_t *from = b[1].ptr;
    (void)arg;
    for (size_t i = 0; i < b->extent[0]; i++)
        into[i] += from[i];
}

static void count(const thrum_buffer *b, const void *arg)
{
    uint64_t *bins = b->ptr, state = *(const uint64_t *)arg + 1;
    for (int i = 0; i < EACH; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bins[(state >> 33) % BINS]++;
    }
}

static const thrum_codelet clear_codelet = {.name = "clear", .cpu = clear}, add_codelet = {.name = "add", .cpu = add};
static const thrum_codelet count_codelet = {.name = "count", .cpu = count};

int main(void)
{
    thrum_flow *flow = thrum_flow_new(NULL);
    thrum_data *histogram = thrum_data_vector(NULL, NULL, BINS, sizeof(uint64_t)); /* thrum allocates */
    thrum_data_set_reduction(histogram, &clear_codelet, &add_codelet);

    for (uint64_t i = 0; i < TASKS; i++)
        thrum_insert(flow, &count_codelet, THRUM_REDUX(histogram), THRUM_ARG(i));

    void *bins = NULL;
    uint64_t sum = 0;
    int err = thrum_data_acquire(histogram, THRUM_MODE_R, &bins); /* waits, and the copies have been added up */
    for (int i = 0; i < BINS && !err; i++) {
        printf("%d: %llu\n", i, (unsigned long long)((uint64_t *)bins)[i]);
        sum += ((uint64_t *)bins)[i];
    }
    thrum_data_release(histogram);
    int failed = thrum_flow_free(flow);
    if (err || failed)
        fprintf(stderr, "reduction: %s\n", thrum_message(NULL));
    thrum_data_unregister(histogram);
    return err != 0 || failed != 0 || sum != (uint64_t)TASKS * EACH;
}
