/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include "common/app.h"

#include <math.h>
#include <string.h>

/* Distances a second and coordinate, for models: a core of a processor, and a device. */
static const double rate_cpu = 0.7e9, rate_emu = 30e9;

/* ---- Points ------------------------------------------------------------------------------------------------------ */

uint32_t kmeans_nearest(const double *point, const double *centres, size_t ld, size_t dims, size_t count,
                        double *square)
{
    uint32_t best = 0;
    *square = INFINITY;
    for (size_t c = 0; c < count; c++) {
        double sum = 0;
        for (size_t d = 0; d < dims; d++) {
            double difference = point[d] - centres[d + c * ld];
            sum += difference * difference;
        }
        if (sum < *square) { /* of equals the first */
            *square = sum;
            best = (uint32_t)c;
        }
    }
    return best;
}

void kmeans_add_point(double *sums, size_t ld, const double *point, size_t dims, uint32_t label, double square,
                      size_t count)
{
    double *sum = sums + label * ld;
    for (size_t d = 0; d < dims; d++)
        sum[d] += point[d];
    sum[dims]++;
    sums[count * ld] += square;
}

static void clear(const thrum_buffer *sums)
{
    for (size_t c = 0; c < sums->extent[1]; c++)
        memset((double *)sums->ptr + c * sums->stride[1], 0, sums->extent[0] * sizeof(double));
}

static void assign(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *points = &b[0], *centres = &b[1], *sums = &b[3];
    size_t dims = points->extent[0], count = centres->extent[1];
    uint32_t *labels = b[2].ptr;
    (void)arg;
    app_count_task();
    clear(sums);
    for (size_t i = 0; i < points->extent[1]; i++) {
        const double *point = (const double *)points->ptr + i * points->stride[1];
        double square;
        labels[i] = kmeans_nearest(point, centres->ptr, centres->stride[1], dims, count, &square);
        kmeans_add_point(sums->ptr, sums->stride[1], point, dims, labels[i], square, count);
    }
}

static double assign_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return app_model_seconds(place, kmeans_assign_work(b, count, arg), rate_cpu, rate_emu);
}

/* ---- Centres ----------------------------------------------------------------------------------------------------- */

static void begin(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *first = &b[0], *centres = &b[1];
    (void)arg;
    app_count_task();
    for (size_t c = 0; c < centres->extent[1]; c++)
        memcpy((double *)centres->ptr + c * centres->stride[1], (const double *)first->ptr + c * first->stride[1],
               centres->extent[0] * sizeof(double));
}

/* The sum of one number, row r of column c, over all blocks, in their order. */
static double total(const thrum_buffer *sums, size_t blocks, size_t r, size_t c)
{
    double sum = 0;
    for (size_t i = 0; i < blocks; i++)
        sum += ((const double *)sums[i].ptr)[r + c * sums[i].stride[1]];
    return sum;
}

/* Moves a centre to the middle of its points, and returns how far. One without points stays where it is. */
static double move_centre(double *centre, const thrum_buffer *sums, size_t blocks, size_t dims, size_t c)
{
    double points = total(sums, blocks, dims, c), square = 0;
    if (points == 0)
        return 0;
    for (size_t d = 0; d < dims; d++) {
        double middle = total(sums, blocks, d, c) / points;
        square += (middle - centre[d]) * (middle - centre[d]);
        centre[d] = middle;
    }
    return sqrt(square);
}

static void combine(const thrum_buffer *b, const void *arg)
{
    const struct kmeans_combine *how = arg;
    const thrum_buffer *centres = &b[0], *sums = &b[1];
    double moved = 0;
    app_count_task();
    for (size_t c = 0; c < centres->extent[1]; c++)
        moved = fmax(moved, move_centre((double *)centres->ptr + c * centres->stride[1], sums, how->blocks,
                                        centres->extent[0], c));
    how->state->moved = moved;
    how->state->spread = total(sums, how->blocks, 0, centres->extent[1]);
}

static double centre_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return app_model_seconds(place, kmeans_centre_work(b, count, arg), rate_cpu, rate_emu);
}

const thrum_codelet kmeans_begin = {
    .name = "kmeans-begin", .cpu = begin, .seconds = centre_seconds, .work = kmeans_centre_work};
const thrum_codelet kmeans_assign = {
    .name = "kmeans-assign", .cpu = assign, .emu = assign, .seconds = assign_seconds, .work = kmeans_assign_work};
const thrum_codelet kmeans_combine = {
    .name = "kmeans-combine", .cpu = combine, .seconds = centre_seconds, .work = kmeans_centre_work};
