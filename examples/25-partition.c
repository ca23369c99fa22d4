/* SPDX-License-Identifier: MIT
 *
 * Partitions: one handle for all of the data, and handles for its parts while tasks work on parts.
 *
 * A line of numbers is smoothed: each becomes the mean of itself and its neighbours. What is read is cut with a shadow,
 * so that a part reaches one number into the parts beside it; what is written is cut without. Nothing waits between the
 * tasks on parts and those on the whole.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { N = 1000, PARTS = 8 };

static double line[N], smooth[N];

static void fill(const thrum_buffer *b, const void *arg) /* a step in the middle */
{
    double *x = b->ptr;
    (void)arg;
    for (size_t i = 0; i < b->extent[0]; i++)
        x[i] = i < b->extent[0] / 2 ? 0 : 3;
}

/* The argument says where the part begins among what is read with its shadow: 1, or 0 for the first part. */
static void smoothen(const thrum_buffer *b, const void *arg)
{
    const double *from = b[0].ptr;
    double *to = b[1].ptr;
    size_t begin = *(const size_t *)arg, last = b[0].extent[0] - 1;
    for (size_t i = 0; i < b[1].extent[0]; i++) {
        size_t at = i + begin, left = at > 0 ? at - 1 : 0, right = at < last ? at + 1 : last;
        to[i] = (from[left] + from[at] + from[right]) / 3;
    }
}

static const thrum_codelet fill_codelet = {.name = "fill", .cpu = fill};
static const thrum_codelet smoothen_codelet = {.name = "smoothen", .cpu = smoothen};

int main(void)
{
    thrum_flow *flow = thrum_flow_new(NULL);
    thrum_data *from = thrum_data_vector(NULL, line, N, sizeof *line);
    thrum_data *to = thrum_data_vector(NULL, smooth, N, sizeof *smooth);
    thrum_cut reading = {.pieces = {PARTS}, .shadow = {1}}, writing = {.pieces = {PARTS}};

    thrum_insert(flow, &fill_codelet, THRUM_W(from));
    thrum_partition(flow, from, &reading);
    thrum_partition(flow, to, &writing);
    for (size_t i = 0; i < PARTS; i++) {
        size_t begin = i > 0;
        thrum_insert(flow, &smoothen_codelet, THRUM_R(thrum_data_part(from, i)), THRUM_W(thrum_data_part(to, i)),
                     THRUM_ARG(begin));
    }
    thrum_unpartition(flow, from);
    thrum_unpartition(flow, to);

    int err = thrum_flow_free(flow);
    if (err)
        fprintf(stderr, "partition: %s\n", thrum_message(NULL));
    thrum_data_unregister(from);
    thrum_data_unregister(to);
    const double *middle = &smooth[N / 2];
    printf("%g %g | %g %g\n", middle[-2], middle[-1], middle[0], middle[1]);
    return err != 0 || middle[-2] != 0 || middle[-1] != 1 || middle[0] != 2 || middle[1] != 3;
}
