/* SPDX-License-Identifier: MIT
 *
 * Codelets: what a task does, once for each kind of worker that can do it; and the items of a task's insertion.
 *
 *     static void scale(const thrum_buffer *b, const void *arg) { ... }
 *     static const thrum_codelet scale_codelet = {.name = "scale", .cpu = scale};
 *     thrum_insert(flow, &scale_codelet, THRUM_RW(vector), THRUM_ARG(factor));
 */
#ifndef THRUM_CODELET_H
#define THRUM_CODELET_H

#include <thrum/data.h>
#include <thrum/graph.h>
#include <thrum/terms.h>

THRUM_BEGIN_C

/* Kinds of workers. */
enum thrum_arch { THRUM_ARCH_CPU = 0, THRUM_ARCH_EMU = 1, THRUM_ARCHS };

/* A worker, as codelets and policies see it. */
typedef struct thrum_place {
    int worker; /* its number: processors' first, then those of each device */
    enum thrum_arch arch;
    int node;   /* its memory node; 0: the machine's memory */
    int device; /* -1 for processors */
} thrum_place;

/* buffers[i] is the i-th access in the order of insertion. A kernel fails by thrum_fail. */
typedef void thrum_kernel_fn(const thrum_buffer *buffers, const void *arg);

/* How long it takes, for policies that ask:
 *   BY_HISTORY   what it took before with data of the same shapes, on the same kind of worker
 *   BY_SIZE      a curve a * bytes^b + c through what it took before
 *   BY_FUNCTION  what `seconds` says: shapes are in `buffers`, whose ptr is NULL */
enum thrum_model_kind { THRUM_BY_HISTORY = 0, THRUM_BY_SIZE, THRUM_BY_FUNCTION };

/* Must outlive the tasks that use it; usually static const. */
struct thrum_codelet {
    const char *name;     /* not NULL; performance models are kept by it */
    thrum_kernel_fn *cpu; /* for processors; NULL: not there */
    thrum_kernel_fn
        *emu; /* for emulated devices, whose memory the processor can reach; often the same function as `cpu` */
    /* Which of the workers that have an implementation may run it, with this argument; NULL: all of them. It answers
     * the same whenever it is asked, from any thread, and calls nothing of thrum. A task that no worker may run is an
     * error. On an executor with neither policy nor devices it is asked when the task is made. If it refuses some
     * workers, one of the others runs the task: they take turns, but a worker that makes tasks in the middle of one
     * gets them itself where it may. Threads that help, by inserting or waiting, run only what no worker is refused; on
     * an executor without threads they are worker 0. */
    bool (*can_run)(const thrum_place *place, const void *arg);
    enum thrum_model_kind model;
    double (*seconds)(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg);
    /* How much work it is, in units of which workers do so many a second, for descriptions of machines (machine.h);
     * shapes are in `buffers`, whose ptr is NULL. NULL: its bytes. */
    double (*work)(const thrum_buffer *buffers, int count, const void *arg);
};

/* ---- Items ------------------------------------------------------------------------------------------------------- */

/* What a task is made of besides its codelet: accesses, in the order in which the kernel sees them, and settings. */
typedef struct thrum_item {
    uint32_t kind; /* an enum thrum_mode, or one of the following */
    int32_t number;
    const void *ptr;
    size_t bytes;
} thrum_item;

enum thrum_item_kind {
    THRUM_ITEM_ARG = 16,
    THRUM_ITEM_PRIORITY,
    THRUM_ITEM_BUCKET,
    THRUM_ITEM_NAME,
    THRUM_ITEM_WORKER,
    THRUM_ITEM_NONE
};

#ifdef __cplusplus
#define THRUM_ITEM_(kind, number, ptr, bytes) (thrum_item{(uint32_t)(kind), (number), (ptr), (bytes)})
#else
#define THRUM_ITEM_(kind, number, ptr, bytes) ((thrum_item){(kind), (number), (ptr), (bytes)})
#endif

#define THRUM_R(data) THRUM_ITEM_(THRUM_MODE_R, 0, (data), 0)
#define THRUM_W(data) THRUM_ITEM_(THRUM_MODE_W, 0, (data), 0)
#define THRUM_RW(data) THRUM_ITEM_(THRUM_MODE_RW, 0, (data), 0)
#define THRUM_SCRATCH(data) THRUM_ITEM_(THRUM_MODE_SCRATCH, 0, (data), 0)
#define THRUM_REDUX(data) THRUM_ITEM_(THRUM_MODE_REDUX, 0, (data), 0)
#define THRUM_COMMUTE(data) THRUM_ITEM_(THRUM_MODE_COMMUTE, 0, (data), 0)
#define THRUM_ACCESS(mode, data) THRUM_ITEM_((mode), 0, (data), 0)

/* The kernel's arg: a copy of this variable, made now. At most one; THRUM_ARG_BYTES for memory of any size. */
#define THRUM_ARG(variable) THRUM_ITEM_(THRUM_ITEM_ARG, 0, &(variable), sizeof(variable))
#define THRUM_ARG_BYTES(ptr, bytes) THRUM_ITEM_(THRUM_ITEM_ARG, 0, (ptr), (bytes))

/* How urgent, any number, more is more; policies that know priorities go by it (built-in stealing: only by its sign).
 * Which bucket, for policies that have them. A name for messages, pictures and traces instead of the codelet's; not
 * copied. The only worker that may run it. Nothing, where there is nothing else to say. */
enum { THRUM_NO_BUCKET = -1 }; /* what a task has that was given none */
#define THRUM_PRIORITY(number) THRUM_ITEM_(THRUM_ITEM_PRIORITY, (number), 0, 0)
#define THRUM_BUCKET(number) THRUM_ITEM_(THRUM_ITEM_BUCKET, (number), 0, 0)
#define THRUM_NAME(text) THRUM_ITEM_(THRUM_ITEM_NAME, 0, (text), 0)
#define THRUM_ON_WORKER(number) THRUM_ITEM_(THRUM_ITEM_WORKER, (number), 0, 0)
#define THRUM_NONE THRUM_ITEM_(THRUM_ITEM_NONE, 0, 0, 0)

#ifndef __cplusplus
#define THRUM_ITEMS_(...) ((const thrum_item[]){__VA_ARGS__})
#define THRUM_ITEM_COUNT_(...) (sizeof THRUM_ITEMS_(__VA_ARGS__) / sizeof(thrum_item))
#endif

/* ---- Codelets as tasks of a graph -------------------------------------------------------------------------------- */

/* A task of a graph that runs a codelet on data: thrum_codelet_task(graph, &codelet, THRUM_R(a), THRUM_RW(b)). Where it
 * runs is up to the executor's policy, and data is brought to it; its order is that of the graph's edges alone, so it
 * can be in a loop of conditions, in a module, in a pipelined run. Tasks that use the same handle must be ordered by
 * edges, unless all of them read: what is found in use at once fails the run, naming both tasks. (On an executor with
 * neither policy nor devices nobody looks.) A whole is not to be used while it is partitioned, nor a part afterwards,
 * nor is one with a shadow to be written: that is refused here, or fails the run. REDUX and COMMUTE are for flows.
 * Flows that use the same handles must be waited for before the graph runs. NULL on failure, and the graph keeps the
 * error. */
THRUM_API thrum_task *thrum_codelet_task_items(thrum_graph *graph, const thrum_codelet *codelet,
                                               const thrum_item *items, size_t count);
#ifndef __cplusplus
#define thrum_codelet_task(graph, codelet, ...)                                                                        \
    thrum_codelet_task_items((graph), (codelet), THRUM_ITEMS_(__VA_ARGS__), THRUM_ITEM_COUNT_(__VA_ARGS__))
#endif

/* From the graph's next run on, its codelet tasks that were made with `recorded` use `data` instead, which has the same
 * layout, extents and element size (else THRUM_EINVAL) and belongs to the same executor. Binding a handle to itself
 * undoes it. */
THRUM_API int thrum_graph_bind(thrum_graph *graph, thrum_data *recorded, thrum_data *data);

/* ---- Performance models ------------------------------------------------------------------------------------------ */

/* What has been measured of one codelet on one kind of worker with one footprint (a number that stands for the
 * shapes). */
typedef struct thrum_model_row {
    const char *codelet;
    enum thrum_arch arch;
    uint64_t footprint;
    size_t bytes;            /* of all accesses together */
    uint64_t count, dropped; /* samples; and those left out for being far off */
    double mean, deviation;  /* seconds */
} thrum_model_row;

/* Calls `visit` for each row that is known in this process or was kept on disk (THRUM_MODELS) when it was first asked
 * for, by codelet, kind of worker and size. Returns how many, or an error. Models by size have a row for each class of
 * sizes, whose footprint is a small number; what is told by functions has no rows. With less than 8 samples nothing is
 * expected yet. */
typedef void thrum_model_fn(const thrum_model_row *row, void *arg);
THRUM_API int thrum_models_visit(thrum_model_fn *visit, void *arg);

/* Where they are kept: written when an executor is freed. */
typedef struct thrum_models_info {
    char file[1024]; /* "" if they are not kept */
    char problem
        [1024]; /* why it was not read or not written, the last time it should have been; "" if nothing is wrong */
} thrum_models_info;
THRUM_API int thrum_models_get(thrum_models_info *info);

THRUM_END_C

#ifdef __cplusplus
template <class... Items>
inline thrum_task *thrum_codelet_task(thrum_graph *graph, const thrum_codelet *codelet, Items... items)
{
    const thrum_item list[] = {items...};
    return thrum_codelet_task_items(graph, codelet, list, sizeof...(items));
}
#endif

#endif
