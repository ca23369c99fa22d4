/* SPDX-License-Identifier: MIT
 *
 * What workers did for want of work: read by anybody at any time.
 */
#include "exec/exec_int.h"

static uint64_t get(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

thrum_worker_stats thrum__worker_stats(const worker *w)
{
    const tally *t = &w->tally;
    thrum_worker_stats stats = {.steals = get(&t->steals), .wasted_steals = get(&t->wasted), .naps = get(&t->naps)};
    /* Each waking comes after its sleep, so in this order a reader does not see more wakes than sleeps: acquire, with
     * the release of the worker that has woken. */
    stats.wakes = atomic_load_explicit(&t->wakes, memory_order_acquire);
    stats.sleeps = get(&t->sleeps);
    return stats;
}

static void add(thrum_worker_stats *sum, thrum_worker_stats one)
{
    sum->steals += one.steals;
    sum->wasted_steals += one.wasted_steals;
    sum->sleeps += one.sleeps;
    sum->wakes += one.wakes;
    sum->naps += one.naps;
}

int thrum_executor_stats(thrum_executor *ex, int worker, thrum_worker_stats *stats)
{
    if (!stats)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_stats: there is no place for the numbers: stats is NULL");
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_executor_stats") : thrum__last_code();
    if (err)
        return err;
    thrum_worker_stats sum = {0};
    int last = -1, found = 0;
    for (int number = 0; number < ex->domains; number++) {
        const domain *d = thrum__domain(ex, number);
        for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_acquire); i++) {
            last = d->base + i;
            if (worker != -1 && worker != last)
                continue;
            add(&sum, thrum__worker_stats(d->workers[i]));
            found++;
        }
    }
    if (!found)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_stats: there is no worker %d; the last one is number %d",
                            worker, last);
    *stats = sum;
    return 0;
}
