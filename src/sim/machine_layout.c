/* SPDX-License-Identifier: MIT
 *
 * Machines laid out: workers, memory nodes, channels and the ways between nodes, by number.
 *
 * Channels: of each host the root up and down and the network out and in; of each device its link up and down. Those
 * without a limit stand on no way.
 *
 *     host 0 --- network out ---> (switch) --- network in ---> host 1
 *       |  root down, up                                         |
 *       +-- link down, up: device 0, device 1                    +-- device 2, device 3
 */
#include "sim/machine_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>
#include <stdio.h>

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

enum host_channel { ROOT_UP, ROOT_DOWN, NETWORK_OUT, NETWORK_IN, HOST_CHANNELS };
enum device_channel { LINK_UP, LINK_DOWN, DEVICE_CHANNELS };

static int host_channel(int host, enum host_channel which)
{
    return host * HOST_CHANNELS + (int)which;
}

static int device_channel(const thrum__layout *layout, int device, enum device_channel which)
{
    return layout->machine->hosts * HOST_CHANNELS + device * DEVICE_CHANNELS + (int)which;
}

/* The node of a device, and the reverse: negative for a host's memory. */
static int node_of(const thrum__layout *layout, int device)
{
    return layout->machine->hosts + device;
}

static int device_at(const thrum__layout *layout, int node)
{
    return node - layout->machine->hosts;
}

static int host_at(const thrum__layout *layout, int node)
{
    int device = device_at(layout, node);
    return device < 0 ? node : device / thrum__machine_devices(layout->machine);
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

static void add_worker(thrum__layout *layout, thrum__site site)
{
    site.place.worker = layout->worker_count;
    layout->places[layout->worker_count] = site.place;
    layout->workers[layout->worker_count++] = site;
}

static void add_cores(thrum__layout *layout)
{
    for (int host = 0; host < layout->machine->hosts; host++)
        for (int core = 0; core < thrum__machine_cores(layout->machine); core++)
            add_worker(layout, (thrum__site){.place = {.arch = THRUM_ARCH_CPU, .node = host, .device = -1},
                                             .host = host,
                                             .kind = THRUM__CORE,
                                             .core_of = -1});
}

static void add_device(thrum__layout *layout, int host, int kind)
{
    const thrum__device_kind *about = &layout->machine->kinds[kind];
    int device = layout->device_count++, node = node_of(layout, device);
    layout->memory[node] = about->memory;
    layout->node_kind[node] = kind;
    for (int which = 0; which < DEVICE_CHANNELS; which++)
        layout->channels[device_channel(layout, device, which)] = (thrum__channel){about->bandwidth, true};
    for (int worker = 0; worker < about->workers; worker++)
        add_worker(layout, (thrum__site){.place = {.arch = about->arch, .node = node, .device = device},
                                         .host = host,
                                         .kind = kind,
                                         .core_of = device});
}

static void add_devices(thrum__layout *layout)
{
    for (int host = 0; host < layout->machine->hosts; host++)
        for (int kind = 0; kind < layout->machine->kind_count; kind++)
            for (int i = 0; i < layout->machine->kinds[kind].count; i++)
                add_device(layout, host, kind);
}

static void add_hosts(thrum__layout *layout)
{
    const thrum_machine *machine = layout->machine;
    for (int host = 0; host < machine->hosts; host++) {
        double network = machine->network_bandwidth > 0 ? machine->network_bandwidth : INFINITY;
        layout->memory[host] = 0;
        layout->node_kind[host] = THRUM__CORE;
        layout->channels[host_channel(host, ROOT_UP)] = (thrum__channel){machine->root_bandwidth, false};
        layout->channels[host_channel(host, ROOT_DOWN)] = (thrum__channel){machine->root_bandwidth, false};
        layout->channels[host_channel(host, NETWORK_OUT)] = (thrum__channel){network, false};
        layout->channels[host_channel(host, NETWORK_IN)] = (thrum__channel){network, false};
    }
}

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

static void pass(const thrum__layout *layout, thrum__way *way, int channel)
{
    if (isfinite(layout->channels[channel].bandwidth))
        way->channel[way->count++] = channel;
}

static const thrum__device_kind *kind_at(const thrum__layout *layout, int node)
{
    return &layout->machine->kinds[layout->node_kind[node]];
}

static void way_up(const thrum__layout *layout, int from, thrum__way *way)
{
    pass(layout, way, device_channel(layout, device_at(layout, from), LINK_UP));
    pass(layout, way, host_channel(host_at(layout, from), ROOT_UP));
    way->latency = kind_at(layout, from)->latency;
}

static void way_down(const thrum__layout *layout, int to, thrum__way *way)
{
    pass(layout, way, host_channel(host_at(layout, to), ROOT_DOWN));
    pass(layout, way, device_channel(layout, device_at(layout, to), LINK_DOWN));
    way->latency = kind_at(layout, to)->latency;
}

static void way_between_hosts(const thrum__layout *layout, int from, int to, thrum__way *way)
{
    pass(layout, way, host_channel(from, NETWORK_OUT));
    pass(layout, way, host_channel(to, NETWORK_IN));
    way->latency = layout->machine->network_latency;
}

/* Peers have links of their own to each other: not through the root. */
static void way_between_peers(const thrum__layout *layout, int from, int to, thrum__way *way)
{
    pass(layout, way, device_channel(layout, device_at(layout, from), LINK_UP));
    pass(layout, way, device_channel(layout, device_at(layout, to), LINK_DOWN));
    way->latency = fmax(kind_at(layout, from)->latency, kind_at(layout, to)->latency);
}

static bool are_peers(const thrum__layout *layout, int from, int to)
{
    return kind_at(layout, from)->peer && kind_at(layout, to)->peer;
}

static thrum__way way_of(const thrum__layout *layout, int from, int to)
{
    thrum__way way = {.via = -1};
    bool from_device = device_at(layout, from) >= 0, to_device = device_at(layout, to) >= 0;
    int from_host = host_at(layout, from), to_host = host_at(layout, to);
    if (from == to)
        return way;
    if (!from_device && !to_device)
        way_between_hosts(layout, from, to, &way);
    else if (from_host != to_host)
        way.via = from_device ? from_host : to_host; /* to the own host first, to the other one's devices last */
    else if (from_device && to_device && are_peers(layout, from, to))
        way_between_peers(layout, from, to, &way);
    else if (from_device && to_device)
        way.via = from_host;
    else if (from_device)
        way_up(layout, from, &way);
    else
        way_down(layout, to, &way);
    return way;
}

static void add_ways(thrum__layout *layout)
{
    for (int from = 0; from < layout->node_count; from++)
        for (int to = 0; to < layout->node_count; to++)
            layout->ways[(size_t)from * (size_t)layout->node_count + (size_t)to] = way_of(layout, from, to);
}

/* ---- All together ------------------------------------------------------------------------------------------------ */

static int no_worker(const thrum_machine *machine)
{
    return thrum__fault(THRUM_EINVAL,
                        "%s: the machine has no worker: a line like 'cores count=4' or 'device gpu count=1 "
                        "bandwidth=10GB/s' is needed",
                        machine->path);
}

static bool allocate(thrum__layout *layout, const thrum_machine_size *size)
{
    size_t nodes = (size_t)size->nodes, workers = (size_t)size->workers;
    layout->workers = thrum__alloc(workers * sizeof *layout->workers);
    layout->places = thrum__alloc(workers * sizeof *layout->places);
    layout->memory = thrum__alloc(nodes * sizeof *layout->memory);
    layout->node_kind = thrum__alloc(nodes * sizeof *layout->node_kind);
    layout->channels = thrum__alloc((size_t)layout->channel_count * sizeof *layout->channels);
    layout->ways = thrum__alloc(nodes * nodes * sizeof *layout->ways);
    return layout->workers && layout->places && layout->memory && layout->node_kind && layout->channels && layout->ways;
}

int thrum__machine_layout_make(const thrum_machine *machine, thrum__layout *layout)
{
    thrum_machine_size size;
    thrum_machine_measure(machine, &size);
    *layout = (thrum__layout){.machine = machine, .node_count = size.nodes};
    layout->channel_count = machine->hosts * HOST_CHANNELS + size.devices * DEVICE_CHANNELS;
    if (size.workers == 0)
        return no_worker(machine);
    if (!allocate(layout, &size)) {
        thrum__machine_layout_drop(layout);
        return thrum__fault(THRUM_ENOMEM, "no memory to lay out the machine '%s'", machine->name);
    }
    add_hosts(layout);
    add_cores(layout);
    add_devices(layout);
    add_ways(layout);
    return 0;
}

void thrum__machine_layout_drop(thrum__layout *layout)
{
    thrum__free(layout->workers);
    thrum__free(layout->places);
    thrum__free(layout->memory);
    thrum__free(layout->node_kind);
    thrum__free(layout->channels);
    thrum__free(layout->ways);
    *layout = (thrum__layout){0};
}

/* ---- One worker -------------------------------------------------------------------------------------------------- */

/* Of a core or a device's worker, counted from the first of its sort on. */
static void describe_core(const thrum_machine *machine, int number, thrum_place *place, char name[64])
{
    int cores = thrum__machine_cores(machine), host = number / cores;
    *place = (thrum_place){.worker = number, .arch = THRUM_ARCH_CPU, .node = host, .device = -1};
    if (machine->hosts > 1)
        snprintf(name, 64, "host %d core %d", host, number % cores);
    else
        snprintf(name, 64, "core %d", number);
}

static void name_device(const thrum_machine *machine, int host, const thrum__device_kind *kind, int device, int worker,
                        char name[64])
{
    char at_host[24] = "", of_device[24] = "";
    if (machine->hosts > 1)
        snprintf(at_host, sizeof at_host, "host %d ", host);
    if (kind->workers > 1)
        snprintf(of_device, sizeof of_device, " worker %d", worker);
    snprintf(name, 64, "%.17s%.14s %d%.18s", at_host, kind->name, device, of_device);
}

/* `number` counts workers of devices, host by host. */
static void describe_device(const thrum_machine *machine, int number, int per_host, thrum_place *place, char name[64])
{
    int host = number / per_host, rest = number % per_host, device = host * thrum__machine_devices(machine);
    const thrum__device_kind *kind = machine->kinds;
    for (; rest >= kind->count * kind->workers; kind++) {
        rest -= kind->count * kind->workers;
        device += kind->count;
    }
    int among_kind = rest / kind->workers;
    place->arch = kind->arch;
    place->device = device + among_kind;
    place->node = machine->hosts + place->device;
    name_device(machine, host, kind, among_kind, rest % kind->workers, name);
}

int thrum_machine_worker(const thrum_machine *machine, int worker, thrum_place *place, char name[64])
{
    thrum_place unused_place;
    char unused_name[64];
    thrum_machine_size size;
    if (!machine)
        return thrum__fault(THRUM_EINVAL, "thrum_machine_worker: the machine is NULL");
    thrum_machine_measure(machine, &size);
    if (worker < 0 || worker >= size.workers)
        return thrum__fault(THRUM_EINVAL, "thrum_machine_worker: %d is no worker of '%s', which has %d, from 0 on",
                            worker, machine->name, size.workers);
    place = place ? place : &unused_place;
    name = name ? name : unused_name;
    if (worker < size.cores)
        describe_core(machine, worker, place, name);
    else
        describe_device(machine, worker - size.cores, (size.workers - size.cores) / machine->hosts, place, name);
    place->worker = worker;
    return 0;
}
