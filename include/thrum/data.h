/* SPDX-License-Identifier: MIT
 *
 * Data handles: pieces of data that tasks read and write, wherever they are.
 *
 * A handle stands for data of some *layout*: a variable, a vector, a matrix, ... Its home is the machine's memory,
 * memory node 0: the user's own memory, or, where NULL is given, memory that thrum allocates. Devices have memory nodes
 * of their own; the runtime keeps copies (*replicas*) there, moves them where tasks need them, and knows which are up
 * to date.
 *
 * From registering to unregistering, user memory belongs to the handle: tasks reach it by naming the handle (flow.h),
 * the main program by `thrum_data_acquire`. A handle belongs to one executor and must be unregistered before that is
 * freed.
 *
 * Sizes are 64 bits everywhere. Every dimension and every element has at least size 1.
 */
#ifndef THRUM_DATA_H
#define THRUM_DATA_H

#include <thrum/executor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

THRUM_BEGIN_C

typedef struct thrum_data thrum_data;
typedef struct thrum_codelet thrum_codelet;

enum { THRUM_DIMS_MOST = 8 };

/* How a task uses a handle. */
enum thrum_mode {
    THRUM_MODE_R = 1,       /* reads it; readers share it */
    THRUM_MODE_W = 2,       /* overwrites all of it: what was there need not be brought */
    THRUM_MODE_RW = 3,      /* changes it; writers have it alone */
    THRUM_MODE_SCRATCH = 4, /* memory of its layout for the time of the task, with no content: no order, no transfer */
    THRUM_MODE_REDUX = 5,   /* adds to it on a private copy; see thrum_data_set_reduction */
    THRUM_MODE_COMMUTE = 6, /* changes it, one task at a time, in any order among themselves */
};

/* ---- What a kernel is given -------------------------------------------------------------------------------------- */

/* One access of a task, on the memory node that the task runs on. Element (i0, i1, ...) is at
 * ptr + elem * (i0 + i1 * stride[1] + i2 * stride[2] + ...). Strides may differ from node to node. */
typedef struct thrum_buffer {
    void *ptr;            /* the first element; of CSR the values */
    size_t elem;          /* bytes of an element */
    const size_t *extent; /* elements in each dimension; extent[0] is the contiguous one */
    const size_t *stride; /* elements from one to the next in each dimension; stride[0] is 1 */
    uint32_t dims;        /* 0 for a variable and a custom layout (then elem is its size in bytes) */
    uint32_t node;        /* the memory node */
    void *row_start;      /* of CSR: where each row begins among the values, rows + 1 indices from 0 on; else NULL */
    void *columns;        /* of CSR: the column of each value; else NULL */
    thrum_data *data;
} thrum_buffer;

/* ---- Registering ------------------------------------------------------------------------------------------------- */

/* Each returns NULL on failure, and thrum_message(NULL) says why: a size of zero, a leading dimension smaller than the
 * dimension, a size beyond 64 bits, no memory. With `ptr` NULL, thrum allocates when it is first written; until then
 * reading it is an error, which names it. */
THRUM_API thrum_data *thrum_data_variable(thrum_executor *ex, void *ptr, size_t bytes);
THRUM_API thrum_data *thrum_data_vector(thrum_executor *ex, void *ptr, size_t count, size_t elem);

/* By columns, as BLAS and LAPACK have it: a column has `rows` contiguous elements, and the next one begins `ld`
 * elements later. A matrix kept by rows is the same with rows and columns exchanged. Where ptr is NULL, `ld` is ignored
 * and may be 0. */
THRUM_API thrum_data *thrum_data_matrix(thrum_executor *ex, void *ptr, size_t ld, size_t rows, size_t columns,
                                        size_t elem);

/* Three dimensions: x is contiguous, lines are ldy elements apart and planes ldz. */
THRUM_API thrum_data *thrum_data_block(thrum_executor *ex, void *ptr, size_t ldy, size_t ldz, size_t nx, size_t ny,
                                       size_t nz, size_t elem);

/* Any number of dimensions up to THRUM_DIMS_MOST. `stride` in elements, stride[0] = 1 and each at least what the
 * dimensions before it cover; NULL: packed. Where ptr is NULL, it is packed in any case. */
THRUM_API thrum_data *thrum_data_tensor(thrum_executor *ex, void *ptr, uint32_t dims, const size_t *extent,
                                        const size_t *stride, size_t elem);

/* A sparse matrix by rows: row_start has rows + 1 indices, columns and values have `values_count` entries; indices have
 * `index_bytes`, 4 or 8, and lie at multiples of it. Either all three pointers are given or none. Extents:
 * {values_count, rows}; strides mean nothing. */
THRUM_API thrum_data *thrum_data_csr(thrum_executor *ex, size_t rows, size_t values_count, void *row_start,
                                     void *columns, void *values, size_t elem, size_t index_bytes);

/* A layout of the user's own. The data behind `home` can be anything; to travel it is packed into `bytes` contiguous
 * bytes, which is also what it looks like on devices. On the processor kernels get `home` itself.
 *
 *   bytes    the size when packed, at least 1; asked once. `home` is NULL where there is none yet
 *   pack     writes home's content to `packed`
 *   unpack   the reverse
 *   make     a new, empty home, for NULL homes and private copies; may be NULL where neither is used
 *   drop     frees what `make` made; not NULL where that is not
 *
 * The structure is copied. */
typedef struct thrum_layout {
    const char *name;
    size_t (*bytes)(const void *home, void *ctx);
    void (*pack)(const void *home, void *packed, void *ctx);
    void (*unpack)(void *home, const void *packed, void *ctx);
    void *(*make)(void *ctx);
    void (*drop)(void *home, void *ctx);
    void *ctx;
} thrum_layout;
THRUM_API thrum_data *thrum_data_custom(thrum_executor *ex, const thrum_layout *layout, void *home);

/* For messages and traces; copied. `thrum_data_name` gives it, or "". */
THRUM_API int thrum_data_set_name(thrum_data *data, const char *name);
THRUM_API const char *thrum_data_name(const thrum_data *data);

/* The size when packed, and what it looks like at home (ptr may be NULL still). */
THRUM_API size_t thrum_data_bytes(const thrum_data *data);
THRUM_API int thrum_data_describe(const thrum_data *data, thrum_buffer *buffer);

/* Waits for the tasks that use it, brings its content home, and forgets it; memory that thrum allocated is freed.
 * Refused with THRUM_EBUSY while it is partitioned, acquired, or used by a graph that runs. Its tasks' errors are not
 * its own. From a task: THRUM_EDEADLOCK. NULL does nothing. A handle must not be used afterwards; where that is
 * noticed, THRUM_EINVAL says so. */
THRUM_API int thrum_data_unregister(thrum_data *data);

/* The same without bringing the content home: what user memory holds afterwards is any mixture of old and new. */
THRUM_API int thrum_data_discard(thrum_data *data);

/* ---- The main program's own access ------------------------------------------------------------------------------- */

/* Waits until all tasks that were inserted before and conflict with the mode (R, W or RW) have ended, and brings the
 * content home; tasks inserted later wait for the release. `*ptr` (may be NULL) is its home. Not from inside a task of
 * the executor: THRUM_EDEADLOCK. Acquiring twice without release: THRUM_EBUSY. Whether those tasks failed, their flows
 * tell. */
THRUM_API int thrum_data_acquire(thrum_data *data, enum thrum_mode mode, void **ptr);
THRUM_API int thrum_data_release(thrum_data *data);

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

/* How REDUX accesses begin and end. `init` has one access, W: it writes the neutral element. `combine` has two, RW and
 * R: it adds the second to the first. Both need an implementation for processors. Tasks that reduce into the handle one
 * after the other run at the same time, each worker on a copy of its own; before the next other access the copies are
 * combined into the handle, whose content before them counts too if there was any. A task that waits for something in
 * the middle may find that others have added to its copy meanwhile. */
THRUM_API int thrum_data_set_reduction(thrum_data *data, const thrum_codelet *init, const thrum_codelet *combine);

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

/* Cut into pieces[d] nearly equal parts in each dimension (0 counts as 1); the first parts are larger by one where it
 * does not come out even. With shadow[d] > 0 every part reaches that far into its neighbours (less at the rim); such
 * parts overlap and can only be read. Variables and custom layouts cannot be cut.
 *
 * CSR is cut by rows: pieces[1]. Which values a part has depends on row_start, so the partition waits for the tasks
 * that write it, and cannot be made in a task (THRUM_EDEADLOCK). A part has a row_start of its own, which begins with
 * 0; its values and columns are those of the whole. So tasks on parts can change values and columns, but not how many
 * values a row has: what they write to row_start ends with the part. A part may have no values: extent[0] is 0 then. */
typedef struct thrum_cut {
    size_t pieces[THRUM_DIMS_MOST];
    size_t shadow[THRUM_DIMS_MOST];
} thrum_cut;

/* The partition of a handle by thrum_partition (flow.h): how many parts, and each by its number, dimension 0 running
 * fastest: i0 + pieces[0] * (i1 + pieces[1] * i2 ...). NULL if it is not partitioned or there is no such part. Parts
 * are handles like any other, may be partitioned in turn, and end with the unpartition; they are not unregistered. */
THRUM_API size_t thrum_data_parts(const thrum_data *data);
THRUM_API thrum_data *thrum_data_part(const thrum_data *data, size_t number);

/* Where a part begins in its whole, in elements per dimension (its shadow included); 0 or THRUM_EINVAL for what is no
 * part. */
THRUM_API int thrum_data_offset(const thrum_data *part, size_t offset[THRUM_DIMS_MOST]);

/* ---- Where the content is ---------------------------------------------------------------------------------------- */

enum thrum_replica { THRUM_INVALID = 0, THRUM_SHARED, THRUM_MODIFIED };

/* The state of the handle's replica on a memory node, at some recent moment; THRUM_EINVAL if there is no such node. */
THRUM_API int thrum_data_state(const thrum_data *data, int node);

THRUM_END_C

#endif
