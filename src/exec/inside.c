/* SPDX-License-Identifier: MIT
 *
 * Counters for the layers above that are as cheap as those of tasks: plain numbers while the calling worker has the run
 * alone (door.c), atomic ones from then on.
 */
#include "exec/inside.h"

#include "exec/exec_int.h"

uint32_t thrum__team_size(thrum_executor *ex)
{
    if (thrum__inside(ex)) { /* without threads any number may come in, and one is what the executor says */
        int limit = thrum__self->domain->life.limit;
        return limit < THRUM__LIFE_MOST ? (uint32_t)limit : 1;
    }
    if (!ex)
        ex = thrum_executor_default();
    return ex ? (uint32_t)thrum_executor_workers(ex) : 0;
}

int thrum__own_workers(const thrum_executor *ex)
{
    return ex->workers_in[0];
}

uint32_t thrum__team_index(void)
{
    return thrum__self ? (uint32_t)thrum__self->index : 0;
}

thrum__here thrum__here_now(void)
{
    worker *self = thrum__self;
    return (thrum__here){self, self->run, &self->root->attention};
}

/* As arrive_shared of run.c: if one is missing, the caller is it, and nobody else will touch the counter. The acquire
 * pairs with the releases of the others' subtractions. */
static inline bool arrive_shared(thrum__count *count)
{
    uint32_t missing = atomic_load_explicit(&count->missing, memory_order_acquire);
    if (missing != 1 && atomic_fetch_sub_explicit(&count->missing, 1, memory_order_acq_rel) != 1)
        return false;
    /* Relaxed: the next to arrive comes after the work that begins now. */
    atomic_store_explicit(&count->missing, count->full, memory_order_relaxed);
    return true;
}

static inline bool arrive_alone(thrum__count *count)
{
    uint32_t missing = atomic_load_explicit(&count->missing, memory_order_relaxed);
    bool last = missing == 1;
    atomic_store_explicit(&count->missing, last ? count->full : missing - 1, memory_order_relaxed);
    return last;
}

bool thrum__arrive(const thrum__here *here, thrum__count *count)
{
    worker *w = here->worker;
    if (!thrum__alone_enter(w, here->run))
        return arrive_shared(count);
    bool last = arrive_alone(count);
    thrum__alone_leave(w);
    return last;
}

unsigned thrum__arrive_at_two(const thrum__here *here, thrum__count *first, thrum__count *second)
{
    worker *w = here->worker;
    unsigned zero = 0;
    if (thrum__alone_enter(w, here->run)) {
        if (first)
            zero = arrive_alone(first);
        zero |= (unsigned)arrive_alone(second) << 1;
        thrum__alone_leave(w);
        return zero;
    }
    if (first)
        zero = arrive_shared(first);
    return zero | (unsigned)arrive_shared(second) << 1;
}

thrum__space *thrum__executor_space(thrum_executor *ex, const char *what)
{
    ex = thrum__executor_or_default(ex);
    return ex && !thrum__executor_usable(ex, what) ? &ex->space : NULL;
}

thrum__root *thrum__root_now(void)
{
    const worker *self = thrum__self;
    return self ? self->root : NULL;
}
