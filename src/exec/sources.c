/* SPDX-License-Identifier: MIT
 *
 * The sources of runs: a range that workers take shares of, and the list of runs that have some left for anybody.
 */
#include "exec/exec_int.h"

enum { MOST_AT_ONCE = 512 }; /* sources taken in one go: enough to make the shared cursor cheap, few enough to share */

/* Strands are set while the lock is held. Who raises them before, by a word that it saw in an earlier life of the run,
 * is refused; who does so after may take the last sources, and finds the run in the list to be taken out of it. */
void thrum__run_publish(domain *d, thrum__run *run, int64_t strands)
{
    thrum__lock_take(&d->lock);
    thrum__run *last = d->open ? d->open->previous_open : run;
    run->previous_open = last;
    run->next_open = NULL;
    if (d->open) {
        last->next_open = run;
        d->open->previous_open = run;
    } else {
        d->open = run;
    }
    atomic_store_explicit(&run->strands, strands, memory_order_release);
    atomic_fetch_add_explicit(&d->waiting, 1, memory_order_seq_cst);
    worker *sleeper = thrum__wake_later_locked(d);
    thrum__lock_give(&d->lock);
    if (sleeper)
        thrum__wake_sleeper(sleeper);
}

static void open_list_remove_locked(domain *d, thrum__run *run)
{
    if (run->next_open)
        run->next_open->previous_open = run->previous_open;
    else
        d->open->previous_open = run->previous_open;
    if (d->open == run)
        d->open = run->next_open;
    else
        run->previous_open->next_open = run->next_open;
    atomic_fetch_sub_explicit(&d->waiting, 1, memory_order_relaxed);
}

static void open_list_remove(domain *d, thrum__run *run)
{
    thrum__lock_take(&d->lock);
    open_list_remove_locked(d, run);
    thrum__lock_give(&d->lock);
}

/* A run that nobody has begun, and nobody is about to join, is all the finder's: it begins it alone. The cursor is
 * looked at when nobody can be in the run any more: somebody may have come, taken sources and gone. */
static bool claim_whole_locked(thrum__run *run)
{
    int64_t token = 1;
    if (!atomic_compare_exchange_strong_explicit(&run->strands, &token, 0, memory_order_acquire, memory_order_relaxed))
        return false;
    if (atomic_load_explicit(&run->cursor, memory_order_relaxed) == 0)
        return true;
    atomic_store_explicit(&run->strands, 1, memory_order_release);
    return false;
}

/* A run that a waiter may help with: one of the same graph, which is this one or one that it is queued behind; or a
 * part of it. The graph's address is compared and not followed: it may be gone, if this run has ended and only its
 * callbacks go on. */
static bool helps(const thrum__run *run, const thrum_handle *awaited)
{
    return !awaited || run->handle->graph == awaited->graph || thrum__is_part_of(run, awaited);
}

/* The token keeps strands above zero while the run is in the list, so plain adding will do. */
bool thrum__run_join_open(domain *d, const thrum_handle *awaited, found *f)
{
    if (atomic_load_explicit(&d->waiting, memory_order_relaxed) == 0)
        return false;
    thrum__lock_take(&d->lock);
    thrum__run *run = d->open;
    while (run && !helps(run, awaited))
        run = run->next_open;
    bool whole = run && claim_whole_locked(run);
    if (whole)
        open_list_remove_locked(d, run);
    else if (run)
        atomic_fetch_add_explicit(&run->strands, 1, memory_order_acquire);
    thrum__lock_give(&d->lock);
    *f = (found){.kind = whole ? FOUND_WHOLE_RUN : FOUND_RUN, .run = run};
    return run != NULL;
}

size_t thrum__run_share(const thrum__run *run, size_t at)
{
    size_t left = at < run->count ? run->count - at : 0, share = left / run->divisor;
    return share > MOST_AT_ONCE ? MOST_AT_ONCE : share > 0 ? share : left > 0;
}

/* A share of the sources that are left. Whoever takes the last of them closes the list and with it the token. */
static bool take_sources_shared(worker *w, thrum__run *run, size_t *from, size_t *to)
{
    size_t share = thrum__run_share(run, atomic_load_explicit(&run->cursor, memory_order_relaxed));
    if (share == 0)
        return false;
    /* Relaxed: the sources were there when the run began, which this strand has seen. */
    *from = atomic_fetch_add_explicit(&run->cursor, share, memory_order_relaxed);
    if (*from >= run->count)
        return false;
    *to = *from + share < run->count ? *from + share : run->count;
    if (*to == run->count && run->has_token) {
        open_list_remove(w->domain, run);
        atomic_fetch_sub_explicit(&run->strands, 1, memory_order_release); /* this strand remains: not zero */
    }
    return true;
}

bool thrum__run_take_sources(worker *w, thrum__run *run, size_t *from, size_t *to)
{
    if (thrum__alone_take_sources(w, run, from, to))
        return *from < *to;
    thrum__alone_share(w, run);
    return take_sources_shared(w, run, from, to);
}
