/* SPDX-License-Identifier: MIT
 *
 * Speeds of simulated workers (speeds.h).
 */
#include "speeds.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>
#include <stdlib.h>

/* ---- What is wrong ----------------------------------------------------------------------------------------------- */

static int check_base(uint32_t workers, const double *base)
{
    for (uint32_t i = 0; base && i < workers; i++)
        if (!(base[i] > 0 && isfinite(base[i])))
            return thrum__fault(THRUM_EINVAL, "the speed of worker %u is %g: it must be a number above 0", i, base[i]);
    return 0;
}

static int check_perturbation(uint32_t workers, const thrum_perturbation *it)
{
    if (it->worker >= workers)
        return thrum__fault(THRUM_EINVAL, "worker %u is to be perturbed, and there are only %u (numbers begin at 0)",
                            it->worker, workers);
    if (!(it->from >= 0 && isfinite(it->from) && it->until > it->from))
        return thrum__fault(
            THRUM_EINVAL,
            "worker %u is to be perturbed from %g until %g: the first must not be negative, and the second "
            "must come after it",
            it->worker, it->from, it->until);
    if (!(it->factor >= 0 && isfinite(it->factor)))
        return thrum__fault(THRUM_EINVAL,
                            "worker %u is to run at %g times its speed: it must be a number, not negative", it->worker,
                            it->factor);
    if (it->factor == 0 && isinf(it->until))
        return thrum__fault(THRUM_EINVAL, "worker %u is to stand still for ever: give an end, or a factor above 0",
                            it->worker);
    return 0;
}

static int check_all(uint32_t workers, const double *base, const thrum_perturbation *perturbations, size_t count)
{
    int error = check_base(workers, base);
    for (size_t i = 0; !error && i < count; i++)
        error = check_perturbation(workers, &perturbations[i]);
    return error;
}

/* ---- One list for each worker ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    double x = ((const thrum__speed *)a)->from, y = ((const thrum__speed *)b)->from;
    return (x > y) - (x < y);
}

static double factor_at(double time, uint32_t worker, const thrum_perturbation *perturbations, size_t count)
{
    double factor = 1;
    for (size_t i = 0; i < count; i++)
        if (perturbations[i].worker == worker && perturbations[i].from <= time && time < perturbations[i].until)
            factor *= perturbations[i].factor;
    return factor;
}

/* Writes the moments of the worker's changes in their order, each with the speed from there on; how many. */
static size_t list_speeds(thrum__speed *list, uint32_t worker, double base, const thrum_perturbation *perturbations,
                          size_t count)
{
    size_t moments = 1;
    list[0].from = 0;
    for (size_t i = 0; i < count; i++) {
        if (perturbations[i].worker != worker)
            continue;
        list[moments++].from = perturbations[i].from;
        if (isfinite(perturbations[i].until))
            list[moments++].from = perturbations[i].until;
    }
    qsort(list, moments, sizeof *list, by_time);
    for (size_t i = 0; i < moments; i++)
        list[i].speed = base * factor_at(list[i].from, worker, perturbations, count);
    return moments;
}

int thrum__speeds_begin(thrum__speeds *speeds, uint32_t workers, const double *base,
                        const thrum_perturbation *perturbations, size_t count)
{
    *speeds = (thrum__speeds){NULL, NULL};
    int error = check_all(workers, base, perturbations, count);
    if (error || (!base && count == 0))
        return error;
    speeds->all = thrum__alloc((workers + 2 * count) * sizeof *speeds->all);
    speeds->first = thrum__alloc((workers + (size_t)1) * sizeof *speeds->first);
    if (!speeds->all || !speeds->first) {
        thrum__speeds_end(speeds);
        return thrum__fault(THRUM_ENOMEM, "there is no memory for the speeds of %u workers", workers);
    }
    speeds->first[0] = 0;
    for (uint32_t i = 0; i < workers; i++)
        speeds->first[i + 1] =
            speeds->first[i] + list_speeds(speeds->all + speeds->first[i], i, base ? base[i] : 1, perturbations, count);
    return 0;
}

void thrum__speeds_end(thrum__speeds *speeds)
{
    thrum__free(speeds->all);
    thrum__free(speeds->first);
    *speeds = (thrum__speeds){NULL, NULL};
}

double thrum__speeds_done(const thrum__speeds *speeds, uint32_t worker, double begin, double work)
{
    if (!speeds->all)
        return begin + work;
    const thrum__speed *it = speeds->all + speeds->first[worker], *end = speeds->all + speeds->first[worker + 1];
    for (; it + 1 < end; it++) {
        double from = begin > it->from ? begin : it->from;
        if (from >= it[1].from)
            continue;
        if (work <= (it[1].from - from) * it->speed)
            return it->speed > 0 ? from + work / it->speed : from;
        work -= (it[1].from - from) * it->speed;
    }
    return (begin > it->from ? begin : it->from) + work / it->speed;
}
