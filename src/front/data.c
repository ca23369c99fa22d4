/* SPDX-License-Identifier: MIT
 *
 * The public calls that make handles and ask what they are. What they are made of is in src/model (data.c, layout.c,
 * cut.c).
 */
#include "base/fault.h"
#include "exec/inside.h"
#include "exec/place.h"
#include "model/data.h"
#include "model/reduction.h"

#include <string.h>

/* ---- Registering ------------------------------------------------------------------------------------------------- */

/* Where there are places, somebody has to know where its content is. */
static thrum_data *placed(thrum_data *data, const char *what)
{
    thrum__places *places = data ? data->space->places : NULL;
    if (!places || !thrum__replicas_new(places, data, data->home.ptr != NULL))
        return data;
    thrum__data_retire(data);
    thrum__fault(THRUM_ENOMEM, "%s: no memory", what);
    return NULL;
}

static thrum_data *new_dense(thrum_executor *ex, const thrum__shape *shape, void *ptr, const char *what)
{
    thrum__space *space = thrum__executor_space(ex, what);
    return space ? placed(thrum__data_dense(space, shape, ptr, what), what) : NULL;
}

thrum_data *thrum_data_variable(thrum_executor *ex, void *ptr, size_t bytes)
{
    thrum__shape shape = {.layout = THRUM__VARIABLE, .elem = bytes};
    return new_dense(ex, &shape, ptr, "thrum_data_variable");
}

thrum_data *thrum_data_vector(thrum_executor *ex, void *ptr, size_t count, size_t elem)
{
    thrum__shape shape = {.layout = THRUM__VECTOR, .dims = 1, .elem = elem, .extent = {count}, .stride = {1}};
    return new_dense(ex, &shape, ptr, "thrum_data_vector");
}

thrum_data *thrum_data_matrix(thrum_executor *ex, void *ptr, size_t ld, size_t rows, size_t columns, size_t elem)
{
    thrum__shape shape = {
        .layout = THRUM__MATRIX, .dims = 2, .elem = elem, .extent = {rows, columns}, .stride = {1, ld}};
    return new_dense(ex, &shape, ptr, "thrum_data_matrix");
}

thrum_data *thrum_data_block(thrum_executor *ex, void *ptr, size_t ldy, size_t ldz, size_t nx, size_t ny, size_t nz,
                             size_t elem)
{
    thrum__shape shape = {
        .layout = THRUM__BLOCK, .dims = 3, .elem = elem, .extent = {nx, ny, nz}, .stride = {1, ldy, ldz}};
    return new_dense(ex, &shape, ptr, "thrum_data_block");
}

static int check_dims(uint32_t dims, const size_t *extent, const char *what)
{
    if (dims == 0 || dims > THRUM_DIMS_MOST)
        return thrum__fault(THRUM_EINVAL, "%s: dims is %u, but can be 1 to %d", what, dims, THRUM_DIMS_MOST);
    if (!extent)
        return thrum__fault(THRUM_EINVAL, "%s: extent is NULL", what);
    return 0;
}

thrum_data *thrum_data_tensor(thrum_executor *ex, void *ptr, uint32_t dims, const size_t *extent, const size_t *stride,
                              size_t elem)
{
    thrum__shape shape = {.layout = THRUM__TENSOR, .dims = dims, .elem = elem};
    if (check_dims(dims, extent, "thrum_data_tensor"))
        return NULL;
    memcpy(shape.extent, extent, dims * sizeof extent[0]);
    /* Packed strides may overflow here; then the size, which is checked, does too. */
    for (uint32_t d = 0; d < dims; d++)
        shape.stride[d] = stride ? stride[d] : d ? shape.stride[d - 1] * extent[d - 1] : 1;
    return new_dense(ex, &shape, ptr, "thrum_data_tensor");
}

thrum_data *thrum_data_csr(thrum_executor *ex, size_t rows, size_t values_count, void *row_start, void *columns,
                           void *values, size_t elem, size_t index_bytes)
{
    thrum__space *space = thrum__executor_space(ex, "thrum_data_csr");
    thrum_buffer home = {.ptr = values,
                         .elem = elem,
                         .extent = (size_t[]){values_count, rows},
                         .row_start = row_start,
                         .columns = columns};
    return space ? placed(thrum__data_sparse(space, &home, index_bytes, "thrum_data_csr"), "thrum_data_csr") : NULL;
}

thrum_data *thrum_data_custom(thrum_executor *ex, const thrum_layout *layout, void *home)
{
    thrum__space *space = thrum__executor_space(ex, "thrum_data_custom");
    if (!space)
        return NULL;
    return placed(thrum__data_own_layout(space, layout, home, "thrum_data_custom"), "thrum_data_custom");
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

int thrum_data_set_name(thrum_data *data, const char *name)
{
    int err = thrum__data_check(data, NULL, "thrum_data_set_name");
    if (err)
        return err;
    thrum__places *places = data->replicas ? data->space->places : NULL;
    return places ? thrum__replicas_rename(places, data, name) : thrum__data_set_name(data, name);
}

const char *thrum_data_name(const thrum_data *data)
{
    return thrum__data_check(data, NULL, "thrum_data_name") || !data->name ? "" : data->name;
}

size_t thrum_data_bytes(const thrum_data *data)
{
    return thrum__data_check(data, NULL, "thrum_data_bytes") ? 0 : data->bytes;
}

int thrum_data_describe(const thrum_data *data, thrum_buffer *buffer)
{
    int err = thrum__data_check(data, NULL, "thrum_data_describe");
    if (!err && !buffer)
        err = thrum__fault(THRUM_EINVAL, "thrum_data_describe: buffer is NULL");
    if (err)
        return err;
    /* A task that writes it first may give it memory meanwhile (thrum__data_make_home): acquire, for the other
     * pointers. */
    void *ptr = __atomic_load_n(&data->home.ptr, __ATOMIC_ACQUIRE);
    thrum_buffer home = {.ptr = ptr,
                         .elem = data->home.elem,
                         .extent = data->home.extent,
                         .stride = data->home.stride,
                         .dims = data->home.dims,
                         .data = (thrum_data *)(uintptr_t)data};
    if (ptr) {
        home.row_start = data->home.row_start;
        home.columns = data->home.columns;
    }
    *buffer = home;
    return 0;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

size_t thrum_data_parts(const thrum_data *data)
{
    return thrum__data_check(data, NULL, "thrum_data_parts") ? 0 : data->part_count;
}

thrum_data *thrum_data_part(const thrum_data *data, size_t number)
{
    char text[THRUM__DATA_TEXT];
    if (thrum__data_check(data, NULL, "thrum_data_part"))
        return NULL;
    if (number < data->part_count)
        return data->parts[number];
    if (data->parts)
        thrum__fault(THRUM_EINVAL, "thrum_data_part: there is no part %zu of %s: it has %zu, numbered from 0 on",
                     number, thrum__data_text(data, text), data->part_count);
    else
        thrum__fault(THRUM_EINVAL, "thrum_data_part: %s is not partitioned", thrum__data_text(data, text));
    return NULL;
}

int thrum_data_offset(const thrum_data *part, size_t offset[THRUM_DIMS_MOST])
{
    char text[THRUM__DATA_TEXT];
    int err = thrum__data_check(part, NULL, "thrum_data_offset");
    if (err)
        return err;
    if (!part->whole)
        return thrum__fault(THRUM_EINVAL, "thrum_data_offset: %s is no part of another handle",
                            thrum__data_text(part, text));
    if (!offset)
        return thrum__fault(THRUM_EINVAL, "thrum_data_offset: offset is NULL");
    memcpy(offset, part->offset, sizeof part->offset);
    return 0;
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static int check_codelet(const thrum_codelet *codelet, const char *which)
{
    if (!codelet)
        return thrum__fault(THRUM_EINVAL, "thrum_data_set_reduction: %s is NULL", which);
    if (!codelet->name)
        return thrum__fault(THRUM_EINVAL, "thrum_data_set_reduction: the codelet %s has no name", which);
    if (!codelet->cpu)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_data_set_reduction: the codelet '%s' (%s) has no implementation for processors",
                            codelet->name, which);
    if (codelet->can_run)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_data_set_reduction: the codelet '%s' (%s) has a can_run, but every worker that "
                            "reduces must be able to run it",
                            codelet->name, which);
    return 0;
}

static int check_reducible(const thrum_data *data)
{
    char text[THRUM__DATA_TEXT];
    if (data->overlaps)
        return thrum__fault(THRUM_EDATA,
                            "thrum_data_set_reduction: %s is a part that overlaps others, and can only be read",
                            thrum__data_text(data, text));
    if (data->custom && !data->custom->make)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_data_set_reduction: the layout '%s' has no function `make` that could make copies",
                            data->custom->name);
    return 0;
}

/* With the lock of the order of insertion: tasks that reduce into it, and have not been combined, go by the old one. */
static int set_reduction_locked(thrum_data *data, const thrum_codelet *init, const thrum_codelet *combine)
{
    char text[THRUM__DATA_TEXT];
    if (data->front.group == THRUM_MODE_REDUX)
        return thrum__fault(THRUM_EBUSY, "thrum_data_set_reduction: %s is being reduced into",
                            thrum__data_text(data, text));
    if (thrum__reduction_set(data, init, combine))
        return thrum__fault(THRUM_ENOMEM, "thrum_data_set_reduction: no memory");
    return 0;
}

int thrum_data_set_reduction(thrum_data *data, const thrum_codelet *init, const thrum_codelet *combine)
{
    int err = thrum__data_check(data, NULL, "thrum_data_set_reduction");
    if (!err)
        err = check_codelet(init, "init");
    if (!err)
        err = check_codelet(combine, "combine");
    if (!err)
        err = check_reducible(data);
    if (err)
        return err;
    thrum__favour_take_lock(&data->space->lock);
    err = set_reduction_locked(data, init, combine);
    thrum__favour_give_lock(&data->space->lock);
    return err;
}
