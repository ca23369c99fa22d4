/* SPDX-License-Identifier: MIT
 *
 * Data handles from the inside: what a handle's data looks like, how it is cut, and what it takes to copy it. No
 * threads here: who may use a handle when is a matter of order (model/order.h), where its content is one of replicas
 * (exec/replica.h).
 *
 * Handles are never given back to the allocator before their executor ends. An unregistered one says so by its `kind`,
 * so that using it gives an error; its memory is used again only when many others have been unregistered after it.
 */
#ifndef THRUM_MODEL_DATA_H
#define THRUM_MODEL_DATA_H

#include <thrum/codelet.h>
#include <thrum/data.h>
#include <thrum/device.h>

#include "sys/favour.h"

#include <stdatomic.h>
#include <stddef.h>

enum thrum__layout_kind {
    THRUM__VARIABLE,
    THRUM__VECTOR,
    THRUM__MATRIX,
    THRUM__BLOCK,
    THRUM__TENSOR,
    THRUM__CSR,
    THRUM__CUSTOM
};

enum { THRUM__DATA_LIVE = 0x64617461, THRUM__DATA_GONE = 0x676f6e65 };

struct thrum__access;

/* The newest accesses of a handle, in the order of insertion: see model/order.h. Changed with the space's lock held. */
typedef struct thrum__front {
    struct thrum__access *last;    /* the last access that all newer ones wait for; NULL: none that has not ended */
    struct thrum__access *members; /* the newest group after it (readers, commuters or reducers), the newest first */
    uint8_t group;                 /* the members' mode; 0: none */
    bool written;                  /* it has content for whoever comes next */
} thrum__front;

struct thrum__data_slab;

/* What handles that look alike have in common: one for all of them. Programs mostly have many handles of few shapes;
 * kernels ask for extents, and find those that all tasks ask for in the core's first cache. It does not change while a
 * handle has it. */
typedef struct thrum__form {
    size_t elem;
    uint32_t dims;
    uint32_t users; /* handles: with the space's lock */
    size_t extent[THRUM_DIMS_MOST], stride[THRUM_DIMS_MOST];
    size_t packed[THRUM_DIMS_MOST]; /* strides where it is packed: on devices */
    struct thrum__form *next, *previous;
} thrum__form;

/* All handles of one executor. What workers look at has cache lines that whoever inserts does not write to. */
typedef struct thrum__space {
    thrum_executor *ex;
    int nodes;                          /* memory nodes */
    _Atomic uint32_t turn;              /* whose it is among workers that may run a codelet: front/workers.c */
    atomic_bool was_cut;                /* some handle has been partitioned; relaxed, whoever has a part knows */
    struct thrum__places *places;       /* where codelets run; NULL: no policy and no devices */
    thrum__favour lock;                 /* the order of insertion; the lists below */
    thrum__lock commute_lock;           /* see model/order.h */
    thrum__lock home_lock;              /* new memory at home: the main program may need it while a task does */
    uint32_t stamp;                     /* of the newest insertion; wraps around */
    struct thrum__job *fleeting;        /* see model/order.h */
    thrum_data *first;                  /* live ones */
    thrum_data *gone_first, *gone_last; /* unregistered ones, the oldest first */
    size_t live, gone;
    struct thrum__data_slab *slabs; /* their memory, the newest first */
    thrum_data *scrapped;           /* pieces of it that nobody has used */
    thrum__form *forms;             /* of all handles, gone ones too: the newest first */
} thrum__space;

/* What an insertion looks at is one cache line, what a kernel that runs elsewhere is given another: the first one is
 * written to again and again, by whoever inserts. */
struct thrum_data {
    _Alignas(64) _Atomic uint32_t kind; /* THRUM__DATA_LIVE, THRUM__DATA_GONE */
    uint32_t stamp;                     /* of the last insertion that named it: with the space's lock */
    thrum__space *space;
    thrum__front front;
    /* For whoever inserts a task and runs it at once, with the space's lock: `home.ptr`, which never changes again.
     * NULL: not known, or there is more to it (CSR). */
    void *near;
    const thrum__form *form;
    uint8_t layout; /* enum thrum__layout_kind */
    bool owns_home; /* its home's memory was allocated here; with the space's home_lock */
    bool of_user;   /* its home was given with it */
    bool overlaps;  /* a part with a shadow: to be read only */
    bool dissolved; /* a part whose partition has ended: with the space's lock */
    bool in_parts;  /* it is partitioned: `parts` is not NULL */
    bool of_graphs; /* a part of a recorded partition: it goes with the last graph that names it */
    /* Its content is in its parts, as far as tasks have run: for tasks of graphs, which may be run before or after a
     * partition of another graph, or of a flow. Relaxed: edges and waits order what changes it. */
    atomic_bool cut_now;

    thrum_buffer home; /* on node 0; ptr is NULL until it has memory. extent and stride are its form's */
    size_t bytes;      /* packed */
    /* Accesses that have no order; but the handle must not go before them. With the space's lock. */
    struct thrum__access *scratch;
    thrum_data **parts;         /* while it is partitioned */
    _Atomic uint32_t in_graphs; /* codelet tasks of graphs that name it */
    bool owns_rows;             /* of CSR: row_start was allocated for it alone, being a part: see thrum__data_cut */
    uint8_t index_bytes;        /* of CSR */
    bool recorded;              /* a flow that records uses it */
    bool reduced_unwritten;     /* its reducers found no content: with the space's lock */
    const thrum_layout *custom; /* a copy, of custom layouts; else NULL */
    char *name;                 /* or NULL */

    struct thrum__replicas *replicas;   /* where its content is; NULL: at home, and nowhere else ever */
    struct thrum__reduction *reduction; /* model/reduction.h; NULL: none */
    const struct thrum_flow
        *reducer;                 /* the flow of its newest reducer: with the space's lock, and only to be compared */
    struct thrum_flow *acquired;  /* by the main program, with a job of this flow: see front/data_use.c */
    struct thrum__job *commuter;  /* the commuting task that has it; with the space's commute_lock */
    struct thrum__job *commuters; /* those that wait for it; likewise */

    thrum_data *whole; /* of a part; else NULL */
    size_t offset[THRUM_DIMS_MOST];
    size_t part_count; /* of `parts` */
    thrum_cut cut;

    thrum_data *next, *previous; /* in the space's lists */
};

_Static_assert(offsetof(struct thrum_data, home) == 64 && sizeof(thrum_buffer) == 64, "two cache lines");
_Static_assert(sizeof(struct thrum_data) == 448, "programs have thousands of them");

/* ---- Spaces ------------------------------------------------------------------------------------------------------ */

void thrum__space_init(thrum__space *space, thrum_executor *ex, int nodes);
/* Frees all handles, also those that nobody unregistered. */
void thrum__space_fini(thrum__space *space);

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* Whether it is one that can be used in this call: 0, or THRUM_EINVAL with a sentence (NULL, unregistered, of another
 * space; with `space` NULL of any). */
int thrum__data_refuse(const thrum_data *data, const thrum__space *space, const char *what);
static inline int thrum__data_check(const thrum_data *data, const thrum__space *space, const char *what)
{
    /* Relaxed: whoever has the handle got it in an ordered way; this is for those who kept it too long. */
    if (__builtin_expect(data && atomic_load_explicit(&data->kind, memory_order_relaxed) == THRUM__DATA_LIVE &&
                             (!space || data->space == space),
                         1))
        return 0;
    return thrum__data_refuse(data, space, what);
}

/* What is in an array of up to THRUM_DIMS_MOST dimensions (a variable has none). Where there is no memory yet, strides
 * do not count: it is going to be packed. */
typedef struct thrum__shape {
    enum thrum__layout_kind layout;
    uint32_t dims;
    size_t elem;
    size_t extent[THRUM_DIMS_MOST], stride[THRUM_DIMS_MOST];
} thrum__shape;

/* New handles, for the public call `what`: NULL with a sentence. They have no replicas. */
thrum_data *thrum__data_dense(thrum__space *space, const thrum__shape *shape, void *ptr, const char *what);
thrum_data *thrum__data_sparse(thrum__space *space, const thrum_buffer *home, size_t index_bytes, const char *what);
thrum_data *thrum__data_own_layout(thrum__space *space, const thrum_layout *layout, void *home, const char *what);

/* A new handle with the same layout and shape, without memory at home and without replicas. NULL without memory. */
thrum_data *thrum__data_like(const thrum_data *data);

/* Takes it out of its space, frees its memory at home if that is its own, its parts and its reduction's copies; none of
 * them has replicas any more. The structure stays, to tell whoever uses it. The lock is taken inside. */
void thrum__data_retire(thrum_data *data);

/* Memory for its content at home, which nobody else has: NULL if there is none. Large pieces that come back are kept
 * for the next ones: new pages cost more than most tasks that ask for some. */
void *thrum__data_memory(const thrum_data *data);
void thrum__data_memory_free(const thrum_data *data, void *memory);

/* Gives it memory at home if it has none: 0, THRUM_ENOMEM, or THRUM_EINVAL for a custom layout that cannot make any.
 * With a sentence. The content of new memory means nothing. Any thread: afterwards all of them see the same memory. */
int thrum__data_make_new_home(thrum_data *data);
static inline int thrum__data_make_home(thrum_data *data)
{
    /* Acquire, with the release of whoever made it: CSR has two more pointers. */
    return __builtin_expect(__atomic_load_n(&data->home.ptr, __ATOMIC_ACQUIRE) != NULL, 1)
               ? 0
               : thrum__data_make_new_home(data);
}

/* A few words for messages: its name in quotes, or what it is. Returns `text`. */
enum { THRUM__DATA_TEXT = 120 };
char *thrum__data_text(const thrum_data *data, char text[THRUM__DATA_TEXT]);

/* 0 or THRUM_ENOMEM with a sentence; then it has the name that it had. NULL takes it away. */
int thrum__data_set_name(thrum_data *data, const char *name);

/* How it looks on a device, packed into memory at `ptr` there (CSR: values, then row_start, then columns, each at a
 * multiple of 64 bytes). `bytes` below is what that takes. */
void thrum__data_packed_buffer(const thrum_data *data, void *ptr, int node, thrum_buffer *buffer);
size_t thrum__data_packed_bytes(const thrum_data *data);

/* The copies it takes to bring its content from one node to another, as calls of `each`; node 0 is home, others are
 * packed. Directions and devices are the caller's to fill in. Returns the first non-zero value of `each`, or 0. A side
 * that is not packed has the strides of home (CSR: its row_start and columns are those of home, whatever the pointer).
 * Custom layouts are packed by their functions first: both sides are packed then. */
typedef int thrum__copy_fn(const thrum_copy *copy, void *ctx);
int thrum__data_copies(const thrum_data *data, void *to, bool to_packed, const void *from, bool from_packed,
                       thrum__copy_fn *each, void *ctx);

/* A number that stands for its layout and shape, for performance models. */
uint64_t thrum__data_footprint(const thrum_data *data);

/* Same layout, extents and element size. */
bool thrum__data_alike(const thrum_data *a, const thrum_data *b);

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

/* Makes the parts, without replicas: 0, or an error with a sentence (more pieces than elements, a layout that cannot be
 * cut). The whole's home memory is allocated if it has none, for parts are views of it. Afterwards parts and part_count
 * are set.
 *
 * CSR: where a part's values are depends on row_start, which is read now: its content must be at home, and nobody
 * writes it. Values and columns of a part are views; row_start, which begins at 0 in every part, is an array of the
 * part's own. So tasks on parts change values and columns, and what they write to row_start ends with the part. A part
 * may have no values at all: then extent[0] is 0. */
int thrum__data_cut(thrum_data *data, const thrum_cut *cut, const char *what);
/* The parts are retired, or, with `keep`, only taken away from the whole: then the caller has them, and the array
 * `parts`. */
void thrum__data_uncut(thrum_data *data, bool keep);
/* Frees that array. */
void thrum__data_parts_free(thrum_data **parts);

#endif
