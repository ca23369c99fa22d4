/* SPDX-License-Identifier: MIT
 *
 * Merge and sort with a comparison through a pointer.
 *
 * Sorting is merging, from the array to scratch memory and back, the halves at the same time; a long merge is split in
 * two that know nothing of each other: the middle of the longer side, and the place where it belongs in the shorter
 * one. Which side an element comes from is not to be foretold, so the inner loop chooses by arithmetic and not by a
 * branch. Everything is stable: of two equal elements the left one goes first.
 *
 * Without scratch memory halves are merged in place by rotations (Kim and Kutzner, "Stable minimum storage merging by
 * symmetric comparisons", ESA 2004).
 */
#include "front/algorithm_int.h"

#include "base/alloc.h"

#include <string.h>

enum {
    INSERTION = 10,     /* elements that are sorted by insertion */
    BOTH_ENDS = 4,      /* elements that are worth merging from both ends */
    SORT_GRAIN = 2048,  /* elements that one worker sorts */
    MERGE_GRAIN = 8192, /* elements that one worker merges */
};

/* What merging and sorting have in common. */
struct order {
    size_t size;
    thrum_compare_fn *compare;
    void *ctx;
};

struct run {
    const char *begin;
    size_t count;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static const char *element(const struct order *order, const char *base, size_t i)
{
    return base + i * order->size;
}

static bool goes_before(const struct order *order, const void *a, const void *b)
{
    return order->compare(a, b, order->ctx) < 0;
}

/* How many elements of the run go before `key`; with `ties`, those equal to it do too. */
static size_t count_before(const struct order *order, struct run run, const void *key, bool ties)
{
    size_t low = 0, high = run.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *at = element(order, run.begin, middle);
        if (ties ? !goes_before(order, key, at) : goes_before(order, at, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Short pieces, with the element's size known to the compiler ------------------------------------------------- */

#define INLINED static inline __attribute__((always_inline))

/* Both pointers or none, by arithmetic: `right` is all ones or zero. */
INLINED const char *choose(const char *l, const char *r, uintptr_t right)
{
    return (const char *)((uintptr_t)l ^ (((uintptr_t)l ^ (uintptr_t)r) & right));
}

INLINED void merge_rest(const struct order *order, const char *l, const char *l_end, const char *r, const char *r_end,
                        char *out, size_t size)
{
    while (l != l_end && r != r_end) {
        uintptr_t from_right = (uintptr_t)0 - (uintptr_t)(order->compare(r, l, order->ctx) < 0);
        memcpy(out, choose(l, r, from_right), size);
        r += size & from_right;
        l += size & ~from_right;
        out += size;
    }
    size_t rest = (size_t)(l_end - l) + (size_t)(r_end - r); /* of one of the two */
    if (rest)
        memcpy(out, l != l_end ? l : r, rest);
}

/* From both ends at once: two comparisons that need not wait for each other. As many steps as the shorter run has
 * elements take nothing from beyond a run, from whichever end, so there is no need to look. Only a comparison that
 * contradicts itself can make the ends pass each other; then everything is merged again from one end. */
INLINED void merge_sized(const struct order *order, struct run left, struct run right, char *out, size_t size)
{
    const char *l = left.begin, *l_end = l + left.count * size, *r = right.begin, *r_end = r + right.count * size;
    char *next = out, *end = out + (left.count + right.count) * size;
    thrum_compare_fn *compare = order->compare;
    void *ctx = order->ctx;
    while (l <= l_end && r <= r_end) {
        size_t steps = least((size_t)(l_end - l), (size_t)(r_end - r)) / size;
        if (steps < BOTH_ENDS) {
            merge_rest(order, l, l_end, r, r_end, next, size);
            return;
        }
        for (; steps; steps--) {
            uintptr_t from_right = (uintptr_t)0 - (uintptr_t)(compare(r, l, ctx) < 0);
            uintptr_t from_left = (uintptr_t)0 - (uintptr_t)(compare(r_end - size, l_end - size, ctx) < 0);
            memcpy(next, choose(l, r, from_right), size);
            r += size & from_right;
            l += size & ~from_right;
            next += size;
            end -= size;
            memcpy(end, choose(r_end - size, l_end - size, from_left), size);
            l_end -= size & from_left;
            r_end -= size & ~from_left;
        }
    }
    merge_rest(order, left.begin, left.begin + left.count * size, right.begin, right.begin + right.count * size, out,
               size);
}

/* Elements of up to 16 bytes are held in a register or two while others move up. */
INLINED void insertion_sized(const struct order *order, char *base, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++) {
        _Alignas(16) char held[16];
        char *hole = base + i * size;
        memcpy(held, hole, size);
        while (hole != base && order->compare(held, hole - size, order->ctx) < 0) {
            memcpy(hole, hole - size, size);
            hole -= size;
        }
        memcpy(hole, held, size);
    }
}

/* Exchanges elements that do not overlap. */
static void swap_bytes(char *a, char *b, size_t bytes)
{
    char held[64];
    while (bytes) {
        size_t part = least(bytes, sizeof held);
        memcpy(held, a, part);
        memcpy(a, b, part);
        memcpy(b, held, part);
        a += part;
        b += part;
        bytes -= part;
    }
}

static void insertion_swapping(const struct order *order, char *base, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (char *at = base + i * order->size; at != base && goes_before(order, at, at - order->size);
             at -= order->size)
            swap_bytes(at, at - order->size, order->size);
}

static void merge_short(const struct order *order, struct run left, struct run right, char *out)
{
    switch (order->size) {
    case 4:
        merge_sized(order, left, right, out, 4);
        break;
    case 8:
        merge_sized(order, left, right, out, 8);
        break;
    case 16:
        merge_sized(order, left, right, out, 16);
        break;
    default:
        merge_rest(order, left.begin, element(order, left.begin, left.count), right.begin,
                   element(order, right.begin, right.count), out, order->size);
    }
}

static void insertion(const struct order *order, char *base, size_t n)
{
    switch (order->size) {
    case 4:
        insertion_sized(order, base, n, 4);
        break;
    case 8:
        insertion_sized(order, base, n, 8);
        break;
    case 16:
        insertion_sized(order, base, n, 16);
        break;
    default:
        insertion_swapping(order, base, n);
    }
}

/* ---- Merging in parallel ----------------------------------------------------------------------------------------- */

struct merging {
    const struct order *order;
    struct run left, right;
    char *out;
};

/* Cuts a merge in two: what `*m` keeps lies before all that is returned. */
static struct merging merge_cut(struct merging *m)
{
    const struct order *order = m->order;
    size_t in_left, in_right;
    if (m->left.count >= m->right.count) {
        in_left = m->left.count / 2;
        in_right = count_before(order, m->right, element(order, m->left.begin, in_left), false);
    } else {
        in_right = m->right.count / 2;
        in_left = count_before(order, m->left, element(order, m->right.begin, in_right), true);
    }
    struct merging rest = {order,
                           {element(order, m->left.begin, in_left), m->left.count - in_left},
                           {element(order, m->right.begin, in_right), m->right.count - in_right},
                           m->out + (in_left + in_right) * order->size};
    m->left.count = in_left;
    m->right.count = in_right;
    return rest;
}

static void merge_run(thrum_scope *up, void *arg)
{
    struct merging *m = arg;
    if (thrum__scope_failed(up))
        return;
    if (m->left.count + m->right.count <= MERGE_GRAIN || m->left.count == 0 || m->right.count == 0) {
        merge_short(m->order, m->left, m->right, m->out);
        return;
    }
    struct merging rest = merge_cut(m);
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, merge_run, &rest);
    merge_run(&scope, m);
    thrum_join(&scope);
}

/* Halves that are in order already are copied; that makes sorting what is sorted quick. */
static void merge_halves(thrum_scope *scope, struct merging *m)
{
    const struct order *order = m->order;
    const char *last = element(order, m->left.begin, m->left.count - 1);
    if (!goes_before(order, m->right.begin, last)) {
        memcpy(m->out, m->left.begin, m->left.count * order->size);
        memcpy(m->out + m->left.count * order->size, m->right.begin, m->right.count * order->size);
    } else if (scope) {
        merge_run(scope, m);
    } else {
        merge_short(order, m->left, m->right, m->out);
    }
}

/* ---- Sorting with scratch memory --------------------------------------------------------------------------------- */

struct sorting {
    const struct order *order;
    char *base, *scratch;
    size_t n;
    bool to_scratch; /* where the sorted elements are to be */
};

static struct sorting half_of(const struct sorting *s, bool second)
{
    size_t middle = s->n / 2, skip = second ? middle * s->order->size : 0;
    return (struct sorting){s->order, s->base + skip, s->scratch + skip, second ? s->n - middle : middle,
                            !s->to_scratch};
}

static struct merging merge_of_halves(const struct sorting *s)
{
    const char *from = s->to_scratch ? s->base : s->scratch;
    size_t middle = s->n / 2;
    return (struct merging){s->order,
                            {from, middle},
                            {element(s->order, from, middle), s->n - middle},
                            s->to_scratch ? s->scratch : s->base};
}

static void sort_short(const struct sorting *s)
{
    if (s->n <= INSERTION) {
        insertion(s->order, s->base, s->n);
        if (s->to_scratch)
            memcpy(s->scratch, s->base, s->n * s->order->size);
        return;
    }
    struct sorting left = half_of(s, false), right = half_of(s, true);
    sort_short(&left);
    sort_short(&right);
    struct merging merging = merge_of_halves(s);
    merge_halves(NULL, &merging);
}

static void sort_run(thrum_scope *up, void *arg)
{
    const struct sorting *s = arg;
    if (thrum__scope_failed(up))
        return;
    if (s->n <= SORT_GRAIN) {
        sort_short(s);
        return;
    }
    struct sorting left = half_of(s, false), right = half_of(s, true);
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, sort_run, &right);
    sort_run(&scope, &left);
    thrum_join(&scope);
    if (thrum__scope_failed(up))
        return;
    struct merging merging = merge_of_halves(s);
    merge_halves(up, &merging);
}

/* ---- Sorting in place -------------------------------------------------------------------------------------------- */

struct placed {
    const struct order *order;
    char *base;
    size_t middle, n; /* 0 to middle and middle to n are sorted */
};

static void reverse(const struct order *order, char *base, size_t n)
{
    char *last = base + (n ? n - 1 : 0) * order->size;
    for (; base < last; base += order->size, last -= order->size)
        swap_bytes(base, last, order->size);
}

/* The first `middle` elements change places with the others. */
static void rotate(const struct order *order, char *base, size_t middle, size_t n)
{
    if (middle == 0 || middle == n)
        return;
    reverse(order, base, middle);
    reverse(order, base + middle * order->size, n - middle);
    reverse(order, base, n);
}

/* Looks for the place `low` around the middle of all such that what lies before `middle` and from `low` on belongs to
 * the right half, and what lies behind `middle`, as far from its end, to the left one. */
static size_t symmetric_place(const struct placed *p)
{
    const struct order *order = p->order;
    size_t half = p->n / 2, sum = half + p->middle;
    size_t low = p->middle > half ? sum - p->n : 0, high = p->middle > half ? half : p->middle;
    while (low < high) {
        size_t at = low + (high - low) / 2;
        if (goes_before(order, element(order, p->base, sum - 1 - at), element(order, p->base, at)))
            high = at;
        else
            low = at + 1;
    }
    return low;
}

static void merge_in_place(thrum_scope *up, void *arg)
{
    const struct placed *p = arg;
    const struct order *order = p->order;
    if (p->middle == 0 || p->middle == p->n || thrum__scope_failed(up))
        return;
    if (p->n == 2) {
        if (goes_before(order, p->base + order->size, p->base))
            swap_bytes(p->base, p->base + order->size, order->size);
        return;
    }
    size_t half = p->n / 2, begin = symmetric_place(p), end = half + p->middle - begin;
    rotate(order, p->base + begin * order->size, p->middle - begin, end - begin);
    struct placed left = {order, p->base, begin, half};
    struct placed right = {order, p->base + half * order->size, end - half, p->n - half};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    if (p->n > SORT_GRAIN)
        thrum_spawn(&scope, merge_in_place, &right);
    else
        merge_in_place(&scope, &right);
    merge_in_place(&scope, &left);
    thrum_join(&scope);
}

static void sort_in_place(thrum_scope *up, void *arg)
{
    const struct placed *p = arg;
    if (thrum__scope_failed(up))
        return;
    if (p->n <= INSERTION) {
        insertion(p->order, p->base, p->n);
        return;
    }
    size_t middle = p->n / 2;
    struct placed left = {p->order, p->base, 0, middle};
    struct placed right = {p->order, p->base + middle * p->order->size, 0, p->n - middle};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, sort_in_place, &right);
    sort_in_place(&scope, &left);
    thrum_join(&scope);
    struct placed both = {p->order, p->base, middle, p->n};
    merge_in_place(up, &both);
}

/* ---- Calls and tasks --------------------------------------------------------------------------------------------- */

struct sort {
    struct order order;
    char *base;
    size_t n;
};

static void sort_job_run(thrum_scope *scope, void *arg)
{
    const struct sort *job = arg;
    size_t bytes = job->n * job->order.size;
    if (job->n < 2)
        return;
    _Alignas(16) char small[1024];
    char *large = bytes <= sizeof small ? NULL : thrum__array(bytes);
    if (large || bytes <= sizeof small) {
        struct sorting all = {&job->order, job->base, large ? large : small, job->n, false};
        sort_run(scope, &all);
        if (large)
            thrum__array_free(large, bytes);
    } else {
        struct placed all = {&job->order, job->base, 0, job->n};
        sort_in_place(scope, &all);
    }
}

static int sort_check(const struct sort *job, const char *what)
{
    int err = thrum__check_array(what, job->base, "the array", job->n, job->order.size);
    return err || job->order.compare ? err : thrum__check_pointer(what, NULL, "the comparison");
}

int thrum_sort(thrum_executor *ex, void *base, size_t n, size_t size, thrum_compare_fn *compare, void *ctx)
{
    struct sort job = {{size, compare, ctx}, base, n};
    return thrum__job_perform(ex, sort_check(&job, "thrum_sort"), sort_job_run, &job);
}

thrum_task *thrum_sort_task_new(thrum_graph *graph, void *base, size_t n, size_t size, thrum_compare_fn *compare,
                                void *ctx)
{
    const char *what = "thrum_sort_task_new";
    struct sort job = {{size, compare, ctx}, base, n};
    return thrum__scope_task_copy(graph, what, sort_check(&job, what), sort_job_run, &job, sizeof job);
}

struct merge {
    struct order order;
    struct run a, b;
    char *out;
};

static void merge_job_run(thrum_scope *scope, void *arg)
{
    const struct merge *job = arg;
    struct merging all = {&job->order, job->a, job->b, job->out};
    if (job->a.count + job->b.count)
        merge_run(scope, &all);
}

static int merge_check(const struct merge *job, const char *what)
{
    size_t size = job->order.size, a = job->a.count, b = job->b.count;
    int err = thrum__check_array(what, job->a.begin, "the first array", a, size);
    if (!err)
        err = thrum__check_array(what, job->b.begin, "the second array", b, size);
    if (!err)
        err = thrum__check_array(what, job->out, "the output", a + b, size);
    if (!err && !job->order.compare)
        err = thrum__check_pointer(what, NULL, "the comparison");
    if (!err)
        err =
            thrum__check_apart(what, job->a.begin, "the first array", a * size, job->out, "the output", (a + b) * size);
    if (!err)
        err = thrum__check_apart(what, job->b.begin, "the second array", b * size, job->out, "the output",
                                 (a + b) * size);
    return err;
}

int thrum_merge(thrum_executor *ex, const void *a, size_t a_count, const void *b, size_t b_count, void *out,
                size_t size, thrum_compare_fn *compare, void *ctx)
{
    struct merge job = {{size, compare, ctx}, {a, a_count}, {b, b_count}, out};
    return thrum__job_perform(ex, merge_check(&job, "thrum_merge"), merge_job_run, &job);
}

thrum_task *thrum_merge_task_new(thrum_graph *graph, const void *a, size_t a_count, const void *b, size_t b_count,
                                 void *out, size_t size, thrum_compare_fn *compare, void *ctx)
{
    const char *what = "thrum_merge_task_new";
    struct merge job = {{size, compare, ctx}, {a, a_count}, {b, b_count}, out};
    return thrum__scope_task_copy(graph, what, merge_check(&job, what), merge_job_run, &job, sizeof job);
}
