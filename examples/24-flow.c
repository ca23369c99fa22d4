/* SPDX-License-Identifier: MIT
 *
 * A flow: tasks in the order in which one would write them down, each with the data that it touches. Nobody says which
 * waits for which; that follows from who reads and who writes what.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { N = 100000 };

static double a[N], b[N], c[N];

static void fill(const thrum_buffer *to, const void *arg)
{
    double *x = to->ptr;
    for (size_t i = 0; i < to->extent[0]; i++)
        x[i] = *(const double *)arg;
}

static void add(const thrum_buffer *buffers, const void *arg) /* the third = the first + the second */
{
    const double *x = buffers[0].ptr, *y = buffers[1].ptr;
    double *z = buffers[2].ptr;
    (void)arg;
    for (size_t i = 0; i < buffers[2].extent[0]; i++)
        z[i] = x[i] + y[i];
}

static const thrum_codelet fill_codelet = {.name = "fill", .cpu = fill}, add_codelet = {.name = "add", .cpu = add};

int main(void)
{
    thrum_flow *flow = thrum_flow_new(NULL);
    thrum_data *x = thrum_data_vector(NULL, a, N, sizeof *a), *y = thrum_data_vector(NULL, b, N, sizeof *b);
    thrum_data *z = thrum_data_vector(NULL, c, N, sizeof *c);
    double one = 1, two = 2, five = 5;

    thrum_insert(flow, &fill_codelet, THRUM_W(x), THRUM_ARG(one)); /* these two run at the same time */
    thrum_insert(flow, &fill_codelet, THRUM_W(y), THRUM_ARG(two));
    thrum_insert(flow, &add_codelet, THRUM_R(x), THRUM_R(y), THRUM_W(z)); /* waits for both */
    thrum_insert(flow, &fill_codelet, THRUM_W(x), THRUM_ARG(five));       /* waits until x has been read */

    int err = thrum_flow_free(flow); /* waits for all of them */
    if (err)
        fprintf(stderr, "flow: %s\n", thrum_message(NULL));
    thrum_data_unregister(x); /* from here on the memory is the program's own again */
    thrum_data_unregister(y);
    thrum_data_unregister(z);
    printf("%g, then x is %g\n", c[N - 1], a[N - 1]);
    return err != 0 || c[N - 1] != 3 || a[N - 1] != 5;
}
