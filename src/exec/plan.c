/* SPDX-License-Identifier: MIT
 *
 * What an executor's configuration says about policies and devices: read, and made into places.
 */
#include "exec/place_int.h"

#include "base/alloc.h"
#include "base/device_list.h"
#include "base/options.h"
#include "sched/policy_settings.h"
#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

enum { DEVICES_MOST = THRUM__DOMAINS_MOST - 1 }; /* each has a domain of its own, and nodes are bits of 64 */

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

void thrum__device_close_all(device *devices, int count)
{
    for (int i = 0; i < count; i++)
        devices[i].driver->close(devices[i].handle);
    thrum__free(devices);
}

static const thrum_driver *find_driver(const char *kind)
{
    const thrum_driver *driver;
    for (int i = 0; (driver = thrum_driver_at(i)); i++)
        if (strcmp(driver->kind, kind) == 0)
            return driver;
    return NULL;
}

static int unknown_kind(const char *kind)
{
    char kinds[200] = "cpu";
    const thrum_driver *driver;
    for (int i = 0; (driver = thrum_driver_at(i)); i++) {
        size_t used = strlen(kinds);
        snprintf(kinds + used, sizeof kinds - used, ", %s", driver->kind);
    }
    return thrum__fault(THRUM_EOPTION, "there are no devices of the kind '%s'; there are: %s", kind, kinds);
}

static int count_of_kind(const thrum__places_plan *plan, const thrum_driver *driver)
{
    int count = 0;
    for (int i = 0; i < plan->device_count; i++)
        count += plan->devices[i].driver == driver;
    return count;
}

static int open_one(thrum__places_plan *plan, const thrum_driver *driver, const char *settings)
{
    device *d = &plan->devices[plan->device_count];
    if (plan->device_count == DEVICES_MOST)
        return thrum__fault(THRUM_EOPTION, "there are more than %d devices in the list", DEVICES_MOST);
    *d = (device){.driver = driver, .number = plan->device_count, .node = plan->device_count + 1};
    d->handle = driver->open(count_of_kind(plan, driver), settings);
    if (!d->handle)
        return thrum__last_code();
    driver->describe(d->handle, &d->info);
    plan->device_count++;
    return 0;
}

static int read_cpu(thrum__places_plan *plan, const thrum__device_entry *entry)
{
    if (plan->has_cpu)
        return thrum__fault(THRUM_EOPTION, "'cpu' is twice in the list of devices");
    if (*entry->settings)
        return thrum__fault(THRUM_EOPTION, "'cpu' has no settings, but '%s' is given", entry->settings);
    plan->has_cpu = true;
    plan->cpu_workers = entry->counted ? entry->count : 0;
    return 0;
}

static int read_entry(thrum__places_plan *plan, const thrum__device_entry *entry)
{
    if (strcmp(entry->kind, "cpu") == 0)
        return read_cpu(plan, entry);
    const thrum_driver *driver = find_driver(entry->kind);
    int err = driver ? 0 : unknown_kind(entry->kind);
    for (int i = 0; i < entry->count && !err; i++)
        err = open_one(plan, driver, entry->settings);
    return err;
}

static int read_devices(thrum__places_plan *plan, const char *text)
{
    thrum__device_list *list;
    int err = thrum__device_list_parse(text, &list);
    if (err)
        return err;
    for (size_t i = 0; i < list->count && !err; i++)
        err = read_entry(plan, &list->entries[i]);
    thrum__device_list_free(list);
    return err;
}

/* ---- The policy -------------------------------------------------------------------------------------------------- */

static bool is_known(const char *name)
{
    const thrum_policy *policy;
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        if (strcmp(policy->name, name) == 0)
            return true;
    return false;
}

/* Built-in stealing knows processors only. */
static int read_policy(thrum__places_plan *plan, const char *name)
{
    if (strncmp(name, "steal;", 6) == 0)
        return thrum__fault(THRUM_EOPTION, "'steal', built-in stealing, has no settings, but '%s' is given", name + 6);
    if (strcmp(name, "steal") == 0) {
        if (plan->device_count == 0)
            return 0;
        name = is_known("dmda") ? "dmda" : "fifo";
    }
    plan->policy = thrum_policy_find(name);
    if (!plan->policy)
        return thrum__last_code();
    plan->settings = thrum__copy_text(thrum__policy_settings_of(name));
    return plan->settings ? 0 : thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
}

/* ---- The plan ---------------------------------------------------------------------------------------------------- */

static int name_domains(thrum__places_plan *plan)
{
    plan->domains = thrum__zalloc(((size_t)plan->device_count + 1) * sizeof *plan->domains);
    if (!plan->domains)
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
    for (int i = 0; i < plan->device_count; i++)
        plan->domains[i] = (thrum_domain_config){plan->devices[i].info.name, plan->devices[i].info.workers};
    return 0;
}

static int read_plan(thrum__places_plan *plan, const thrum_config *config)
{
    const char *devices = config->devices ? config->devices : thrum__option_text(THRUM__OPT_DEVICES);
    const char *policy = config->policy ? config->policy : thrum__option_text(THRUM__OPT_POLICY);
    plan->devices = thrum__zalloc(DEVICES_MOST * sizeof *plan->devices);
    if (!plan->devices)
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
    int err = read_devices(plan, devices);
    if (!err)
        err = read_policy(plan, policy);
    return err ? err : name_domains(plan);
}

int thrum__places_plan_new(const thrum_config *config, thrum__places_plan **plan)
{
    thrum__places_plan *made = thrum__zalloc(sizeof *made);
    if (!made)
        return thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory");
    int err = read_plan(made, config);
    if (err || (!made->policy && !made->cpu_workers)) {
        thrum__places_plan_free(made);
        made = NULL;
    }
    *plan = made;
    return err;
}

bool thrum__places_plan_wanted(const thrum__places_plan *plan)
{
    return plan && plan->policy;
}

int thrum__places_plan_workers(const thrum__places_plan *plan)
{
    return plan ? plan->cpu_workers : 0;
}

int thrum__places_plan_domains(const thrum__places_plan *plan, const thrum_domain_config **domains)
{
    *domains = plan ? plan->domains : NULL;
    return plan ? plan->device_count : 0;
}

void thrum__places_plan_free(thrum__places_plan *plan)
{
    if (!plan)
        return;
    thrum__device_close_all(plan->devices, plan->device_count);
    thrum__free(plan->domains);
    thrum__free(plan->settings);
    thrum__free(plan);
}

/* ---- Making places ----------------------------------------------------------------------------------------------- */

static void add_place(thrum__places *places, device *d, int domain, int number)
{
    int worker = places->count++;
    place *pl = &places->place[worker];
    thrum_place *shown = &places->shown[worker];
    *shown = (thrum_place){.worker = worker,
                           .arch = d ? d->info.arch : THRUM_ARCH_CPU,
                           .node = d ? d->node : 0,
                           .device = d ? d->number : -1};
    pl->all = places;
    pl->shown = shown;
    pl->device = d;
    pl->domain = domain;
    pl->number = number;
    pl->refused = true;
}

static void add_places(thrum__places *places, bool has_cpu)
{
    for (int i = 0; has_cpu && i < places->ex->workers; i++)
        add_place(places, NULL, 0, i);
    places->cpu_count = places->count;
    for (int i = 0; i < places->device_count; i++) {
        device *d = &places->device[i];
        d->first_place = places->count;
        places->node[d->node].device = d;
        places->timing |= d->info.timing;
        for (int number = 0; number < d->info.workers; number++)
            add_place(places, d, places->first_domain + i, number);
    }
}

static bool allocate(thrum__places *places, const thrum__places_plan *plan)
{
    size_t count = plan->has_cpu ? (size_t)places->ex->workers : 0, nodes = (size_t)plan->device_count + 1;
    for (int i = 0; i < plan->device_count; i++)
        count += (size_t)plan->devices[i].info.workers;
    places->table_size = 256;
    places->shown = thrum__zalloc(count * sizeof *places->shown);
    places->place = thrum__zalloc_aligned(count * sizeof *places->place);
    places->node = thrum__zalloc(nodes * sizeof *places->node);
    places->link = thrum__zalloc(nodes * nodes * sizeof *places->link);
    places->table = thrum__zalloc(places->table_size * sizeof *places->table);
    places->policy_state = thrum__zalloc(places->policy->state_bytes ? places->policy->state_bytes : 1);
    return places->shown && places->place && places->node && places->link && places->table && places->policy_state;
}

static int begin_policy(thrum__places *places)
{
    const thrum_policy *policy = places->policy;
    thrum__world_init(places);
    places->next_number = 1;
    places->world.settings = places->settings;
    thrum__fault(0, "no reason is given"); /* unless it gives one */
    int err = policy->begin ? policy->begin(places->policy_state, &places->world) : 0;
    if (err)
        return thrum__fault(err, "thrum_executor_new: the policy '%s' could not begin: %s", policy->name,
                            thrum__last_fault());
    places->begun = true;
    return 0;
}

thrum__places *thrum__places_new(thrum_executor *ex, thrum__places_plan *plan, int first_domain)
{
    thrum__places *places = thrum__zalloc_aligned(sizeof *places);
    int err = THRUM_ENOMEM;
    if (places) {
        *places = (thrum__places){.ex = ex, .policy = plan->policy, .first_domain = first_domain};
        places->device_count = plan->device_count;
        places->node_count = plan->device_count + 1;
        places->device = plan->devices;
        places->settings = plan->settings;
        plan->settings = NULL;
    }
    if (places && allocate(places, plan)) {
        add_places(places, plan->has_cpu);
        err = begin_policy(places);
    } else {
        thrum__fault(THRUM_ENOMEM, "thrum_executor_new: no memory for devices");
    }
    if (places) {
        plan->devices = NULL;
        plan->device_count = 0;
    }
    thrum__places_plan_free(plan);
    if (!err)
        return places;
    thrum__places_free(places);
    return NULL;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* Calls that have nothing to do any more may still be on their way, and copies that nobody waits for. */
void thrum__places_stop(thrum__places *places)
{
    while (atomic_load_explicit(&places->busy, memory_order_seq_cst) > 0 ||
           atomic_load_explicit(&places->inside, memory_order_acquire) > 0)
        thrum__sleep_ns(20000);
}

void thrum__places_free(thrum__places *places)
{
    if (!places)
        return;
    thrum__replicas_free_all(places, thrum__executor_foreign(places->ex));
    if (places->begun && places->policy->end)
        places->policy->end(places->policy_state, &places->world);
    thrum__device_close_all(places->device, places->device_count);
    thrum__copies_forget(places);
    thrum__free(places->policy_state);
    thrum__free(places->settings);
    thrum__free(places->table);
    thrum__free(places->link);
    thrum__free(places->node);
    thrum__free(places->place);
    thrum__free(places->shown);
    thrum__free(places);
}

int thrum__places_nodes(const thrum__places *places)
{
    return places->node_count;
}
