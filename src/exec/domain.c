/* SPDX-License-Identifier: MIT
 *
 * Domains: groups of workers, each with a life cycle of its own.
 *
 * Domain 0 is the processor cores: *home*. Runs begin there, submitted functions and all tasks without a pin run there,
 * and threads that wait help there. Every other domain is a closed shop: its own workers, their stand-ins, and what is
 * pinned to it. A task goes from one domain to another through the post (post.c), and by nothing else:
 *
 *   - who makes a task of another domain ready posts it there, and wakes a sleeper of that domain if nobody searches
 *     there;
 *   - behind a task of another domain all tasks are special, so each is looked at and sent home if it belongs there;
 *   - what a task spawns stays in its domain, with the stack on which it lies; detached functions too;
 *   - a worker away from home takes no sources and begins no iteration and no run: it publishes them at home;
 *   - nor does it go on in the parent's run when a module has ended with it: it posts that home.
 *
 * So the promise of sched/life.h holds in each domain by itself: a post is work that came from outside.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "base/options.h"
#include "exec/place.h"

#include <string.h>

/* ---- Configuration ----------------------------------------------------------------------------------------------- */

enum { WORKERS_MOST = 1024 };

static const char home_name[] = "cpu";

static int wrong_name(const thrum_executor *ex, const char *name, int number)
{
    if (!name || !*name)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_new: domain %d has no name", number);
    if (strcmp(name, home_name) == 0)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_new: domain %d is named '%s', as domain 0 is", number, name);
    for (int i = 1; i < number; i++)
        if (strcmp(name, ex->more[i - 1].name) == 0)
            return thrum__fault(THRUM_EINVAL, "thrum_executor_new: domains %d and %d are both named '%s'", i, number,
                                name);
    return 0;
}

static int read_one(thrum_executor *ex, const thrum_domain_config *config, int number)
{
    int err = wrong_name(ex, config->name, number);
    if (err)
        return err;
    if (config->workers < 1 || config->workers > WORKERS_MOST)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: domain '%s' is to have %d workers, but it must be from 1 to %d",
                            config->name, config->workers, WORKERS_MOST);
    domain *d = thrum__domain(ex, number);
    ex->workers_in[number] = config->workers;
    ex->domains = number + 1;
    d->name = thrum__copy_text(config->name);
    return d->name ? 0 : thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
}

static int check_count(const thrum_executor *ex, const thrum_config *config)
{
    int count = config->domain_count, most = THRUM__DOMAINS_MOST - 1;
    if (count < 0 || count > most)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: domain_count is %d, but there can be from 0 to %d domains beside the "
                            "processor cores",
                            count, most);
    if (count > 0 && !config->domains)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_new: domain_count is %d, but domains is NULL", count);
    if (count > 0 && ex->threadless)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_new: an executor without threads has no other domains than the first");
    return 0;
}

static int check_devices(int count, int devices)
{
    int most = THRUM__DOMAINS_MOST - 1;
    if (count + devices <= most)
        return 0;
    return thrum__fault(THRUM_EINVAL,
                        "thrum_executor_new: there are %d domains and %d devices, each of which is one more; there can "
                        "be %d beside the processor cores",
                        count, devices, most);
}

/* Those of the configuration, and behind them one for each device. */
int thrum__domains_read(thrum_executor *ex, const thrum_config *config)
{
    const thrum_domain_config *of_devices;
    int count = config->domain_count, devices = thrum__places_plan_domains(ex->plan, &of_devices);
    int err = check_count(ex, config);
    ex->workers_in[0] = ex->workers;
    if (!err)
        err = check_devices(count, devices);
    if (err || count + devices == 0)
        return err;
    ex->more = thrum__zalloc_aligned((size_t)(count + devices) * sizeof *ex->more);
    if (!ex->more)
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory for %d domains", count + devices);
    for (int number = 1; number <= count && !err; number++)
        err = read_one(ex, &config->domains[number - 1], number);
    for (int i = 0; i < devices && !err; i++)
        err = read_one(ex, &of_devices[i], count + i + 1);
    return err;
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

static bool add_new(domain *d, thrum_executor *ex, enum worker_kind kind)
{
    worker *w = thrum__worker_new(d, ex);
    if (w)
        thrum__worker_add(d, w, kind);
    return w != NULL;
}

int thrum__domain_init(thrum_executor *ex, int number, int workers)
{
    domain *d = thrum__domain(ex, number);
    d->own = workers;
    d->spares_most = ex->threadless ? 0 : (int)thrum__option_number(THRUM__OPT_SPARES);
    d->most = d->own + d->spares_most + (number == 0 ? THRUM__GUESTS_MOST + THRUM__FEEDERS_MOST : 0);
    d->workers = thrum__zalloc((size_t)d->most * sizeof *d->workers);
    int limit = ex->threadless ? THRUM__LIFE_MOST : workers;
    if (!d->workers || thrum__life_init(&d->life, limit, d->most, workers))
        return -1;
    for (int i = 0; i < d->own; i++)
        if (!add_new(d, ex, WORKER_OWN))
            return -1;
    thrum__domain_lay_to_sleep(d);
    /* Without threads somebody must always be able to come in and work. */
    return ex->threadless && !add_new(d, ex, WORKER_GUEST) ? -1 : 0;
}

void thrum__domain_fini(domain *d)
{
    for (int i = 0; d->workers && i < atomic_load_explicit(&d->count, memory_order_relaxed); i++)
        thrum__worker_free(d->workers[i]);
    thrum__life_fini(&d->life);
    thrum__free(d->workers);
    thrum__free(d->name);
}

void thrum__domains_number(thrum_executor *ex)
{
    int next = 0;
    for (int number = 0; number < ex->domains; number++) {
        domain *d = thrum__domain(ex, number);
        d->base = next;
        next += d->most;
    }
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static const thrum_executor *usable(const thrum_executor *ex, const char *what)
{
    ex = thrum__executor_or_default((thrum_executor *)(uintptr_t)ex);
    return ex && !thrum__executor_usable(ex, what) ? ex : NULL;
}

int thrum_executor_domain(const thrum_executor *ex, const char *name)
{
    if (!name)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_domain: the name is NULL");
    if (!(ex = usable(ex, "thrum_executor_domain")))
        return thrum__last_code();
    if (strcmp(name, home_name) == 0)
        return 0;
    for (int number = 1; number < ex->domains; number++)
        if (strcmp(name, ex->more[number - 1].name) == 0)
            return number;
    return thrum__fault(THRUM_EINVAL, "thrum_executor_domain: the executor has no domain '%s'", name);
}

int thrum_executor_domains(const thrum_executor *ex)
{
    ex = usable(ex, "thrum_executor_domains");
    return ex ? ex->domains : 0;
}

int thrum_executor_domain_workers(const thrum_executor *ex, int domain)
{
    if (!(ex = usable(ex, "thrum_executor_domain_workers")))
        return thrum__last_code();
    if (domain < 0 || domain >= ex->domains)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_executor_domain_workers: there is no domain %d; the executor has %d, from 0 on",
                            domain, ex->domains);
    return domain == 0 ? thrum_executor_workers(ex) : ex->workers_in[domain];
}

int thrum_domain_index(void)
{
    const worker *self = thrum__self;
    if (!self || !self->root)
        return -1;
    return self->at_home ? 0 : 1 + (int)(self->domain - self->ex->more);
}
