/* SPDX-License-Identifier: MIT
 *
 * Machines as they are held: making, copying, looking, and how long tasks take on them.
 */
#include "sim/machine_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int no_memory(void)
{
    return thrum__fault(THRUM_ENOMEM, "no memory for the description of a machine");
}

int thrum__machine_set_text(char **old, const char *text)
{
    char *copy = thrum__copy_text(text);
    if (!copy)
        return no_memory();
    thrum__free(*old);
    *old = copy;
    return 0;
}

/* ---- Making and freeing ------------------------------------------------------------------------------------------ */

thrum_machine *thrum__machine_new(const char *path)
{
    thrum_machine *machine = thrum__zalloc(sizeof *machine);
    if (!machine) {
        no_memory();
        return NULL;
    }
    machine->hosts = 1;
    machine->root_bandwidth = INFINITY;
    if (thrum__machine_set_text(&machine->path, path) || thrum__machine_set_text(&machine->name, "machine") ||
        thrum__machine_set_text(&machine->about, "")) {
        thrum_machine_free(machine);
        return NULL;
    }
    return machine;
}

void thrum__law_drop(thrum__law *law)
{
    if (!law || __atomic_sub_fetch(&law->users, 1, __ATOMIC_ACQ_REL))
        return;
    thrum__times_end(&law->times);
    thrum__free(law->text);
    thrum__free(law);
}

static thrum__law *law_share(thrum__law *law)
{
    if (law)
        __atomic_add_fetch(&law->users, 1, __ATOMIC_RELAXED); /* the caller's own use keeps it alive */
    return law;
}

void thrum_machine_free(thrum_machine *machine)
{
    if (!machine)
        return;
    for (int i = 0; i < machine->kind_count; i++) {
        thrum__free(machine->kinds[i].name);
        thrum__free(machine->kinds[i].where);
    }
    for (int i = 0; i < machine->speed_count; i++) {
        thrum__free(machine->speeds[i].codelet);
        thrum__law_drop(machine->speeds[i].law);
    }
    thrum__law_drop(machine->noise);
    thrum__free(machine->kinds);
    thrum__free(machine->kind_overhead);
    thrum__free(machine->speeds);
    thrum__free(machine->name);
    thrum__free(machine->about);
    thrum__free(machine->path);
    thrum__free(machine->cores_where);
    thrum__free(machine);
}

/* Room for one more: arrays have room for a power of two, so it is full where its count is one. */
static int make_room(void **array, int count, size_t size)
{
    if (count & (count - 1))
        return 0;
    void *larger = thrum__alloc((count ? 2 * (size_t)count : 1) * size);
    if (!larger)
        return no_memory();
    if (count)
        memcpy(larger, *array, (size_t)count * size);
    thrum__free(*array);
    *array = larger;
    return 0;
}

int thrum__machine_add_kind(thrum_machine *machine, const char *name, const char *where)
{
    void *kinds = machine->kinds, *overheads = machine->kind_overhead;
    int err = make_room(&kinds, machine->kind_count, sizeof *machine->kinds);
    machine->kinds = kinds;
    if (!err)
        err = make_room(&overheads, machine->kind_count, sizeof *machine->kind_overhead);
    machine->kind_overhead = overheads;
    if (err)
        return err;
    thrum__device_kind kind = {.arch = THRUM_ARCH_EMU, .count = 1, .workers = 1};
    if (thrum__machine_set_text(&kind.name, name) || thrum__machine_set_text(&kind.where, where)) {
        thrum__free(kind.name);
        return THRUM_ENOMEM;
    }
    machine->kinds[machine->kind_count] = kind;
    machine->kind_overhead[machine->kind_count] = (thrum__overhead){0};
    return machine->kind_count++;
}

static thrum__speed_row *add_row(thrum_machine *machine, const char *codelet, int kind)
{
    void *rows = machine->speeds;
    thrum__speed_row row = {.kind = kind, .rate = INFINITY, .small_work = -1, .small_per_byte = -1};
    int err = make_room(&rows, machine->speed_count, sizeof row);
    machine->speeds = rows;
    if (err || thrum__machine_set_text(&row.codelet, codelet))
        return NULL;
    machine->speeds[machine->speed_count] = row;
    return &machine->speeds[machine->speed_count++];
}

static thrum__speed_row *find_row(const thrum_machine *machine, const char *codelet, int kind)
{
    for (int i = 0; i < machine->speed_count; i++)
        if (machine->speeds[i].kind == kind && strcmp(machine->speeds[i].codelet, codelet) == 0)
            return &machine->speeds[i];
    return NULL;
}

thrum__speed_row *thrum__machine_row(thrum_machine *machine, const char *codelet, int kind)
{
    thrum__speed_row *row = find_row(machine, codelet, kind);
    return row ? row : add_row(machine, codelet, kind);
}

/* ---- Copying ----------------------------------------------------------------------------------------------------- */

static int copy_kinds(thrum_machine *to, const thrum_machine *from)
{
    for (int i = 0; i < from->kind_count; i++) {
        const thrum__device_kind *kind = &from->kinds[i];
        int number = thrum__machine_add_kind(to, kind->name, kind->where);
        if (number < 0)
            return number;
        thrum__device_kind copy = *kind;
        copy.name = to->kinds[number].name;
        copy.where = to->kinds[number].where;
        to->kinds[number] = copy;
        to->kind_overhead[number] = from->kind_overhead[i];
    }
    return 0;
}

static int copy_rows(thrum_machine *to, const thrum_machine *from)
{
    for (int i = 0; i < from->speed_count; i++) {
        thrum__speed_row *row = add_row(to, from->speeds[i].codelet, from->speeds[i].kind);
        if (!row)
            return THRUM_ENOMEM;
        char *codelet = row->codelet;
        *row = from->speeds[i];
        row->codelet = codelet;
        law_share(row->law);
    }
    return 0;
}

static int copy_texts(thrum_machine *to, const thrum_machine *from)
{
    int err = thrum__machine_set_text(&to->name, from->name);
    if (!err)
        err = thrum__machine_set_text(&to->about, from->about);
    if (!err && from->cores_where)
        err = thrum__machine_set_text(&to->cores_where, from->cores_where);
    return err;
}

static void copy_numbers(thrum_machine *to, const thrum_machine *from)
{
    to->hosts = from->hosts;
    to->cores = from->cores;
    to->lost_per_device = from->lost_per_device;
    to->root_bandwidth = from->root_bandwidth;
    to->network_bandwidth = from->network_bandwidth;
    to->network_latency = from->network_latency;
    to->core_overhead = from->core_overhead;
    to->insert_task = from->insert_task;
    to->insert_access = from->insert_access;
    to->window = from->window;
    to->noise = law_share(from->noise);
}

thrum_machine *thrum_machine_copy(const thrum_machine *machine)
{
    if (!machine) {
        thrum__fault(THRUM_EINVAL, "thrum_machine_copy: the machine is NULL");
        return NULL;
    }
    thrum_machine *copy = thrum__machine_new(machine->path);
    if (!copy)
        return NULL;
    copy_numbers(copy, machine);
    if (copy_texts(copy, machine) || copy_kinds(copy, machine) || copy_rows(copy, machine)) {
        thrum_machine_free(copy);
        return NULL;
    }
    return copy;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

int thrum__machine_kind(const thrum_machine *machine, const char *name)
{
    if (strcmp(name, "cpu") == 0)
        return THRUM__CORE;
    for (int i = 0; i < machine->kind_count; i++)
        if (strcmp(machine->kinds[i].name, name) == 0)
            return i;
    return THRUM__NO_KIND;
}

const char *thrum__machine_kind_name(const thrum_machine *machine, int kind)
{
    return kind == THRUM__CORE ? "cpu" : machine->kinds[kind].name;
}

int thrum__machine_devices(const thrum_machine *machine)
{
    int devices = 0;
    for (int i = 0; i < machine->kind_count; i++)
        devices += machine->kinds[i].count;
    return devices;
}

int thrum__machine_cores(const thrum_machine *machine)
{
    int cores = machine->cores - machine->lost_per_device * thrum__machine_devices(machine);
    return cores > 0 ? cores : 0;
}

/* Of one host. */
static int device_workers(const thrum_machine *machine)
{
    int workers = 0;
    for (int i = 0; i < machine->kind_count; i++)
        workers += machine->kinds[i].count * machine->kinds[i].workers;
    return workers;
}

void thrum_machine_measure(const thrum_machine *machine, thrum_machine_size *size)
{
    if (!machine || !size)
        return;
    int cores = machine->hosts * thrum__machine_cores(machine);
    int devices = machine->hosts * thrum__machine_devices(machine);
    *size = (thrum_machine_size){
        .name = machine->name,
        .about = machine->about,
        .hosts = machine->hosts,
        .cores = cores,
        .workers = cores + machine->hosts * device_workers(machine),
        .devices = devices,
        .nodes = machine->hosts + devices,
    };
}

/* ---- As a whole -------------------------------------------------------------------------------------------------- */

static int check_links(const thrum_machine *machine)
{
    for (int i = 0; i < machine->kind_count; i++) {
        const thrum__device_kind *kind = &machine->kinds[i];
        if (kind->count > 0 && kind->bandwidth == 0)
            return thrum__fault(THRUM_EINVAL,
                                "%s: the link of the device '%s' is missing: its line needs a bandwidth, like "
                                "bandwidth=10GB/s, or bandwidth=unlimited",
                                kind->where, kind->name);
    }
    if (machine->hosts > 1 && machine->network_bandwidth == 0)
        return thrum__fault(THRUM_EINVAL,
                            "%s: there are %d hosts, but the link between them is missing: a line like 'network "
                            "bandwidth=10GB/s latency=2us'",
                            machine->path, machine->hosts);
    return 0;
}

static int check_cores(const thrum_machine *machine)
{
    long devices = 0, lost;
    for (int i = 0; i < machine->kind_count; i++)
        devices += machine->kinds[i].count;
    lost = devices * machine->lost_per_device;
    if (lost <= machine->cores)
        return 0;
    return thrum__fault(
        THRUM_EINVAL, "%s: of %d cores a host, %d are lost for each of %ld devices: that is more than there are",
        machine->cores_where ? machine->cores_where : machine->path, machine->cores, machine->lost_per_device, devices);
}

static int check_limits(const thrum_machine *machine)
{
    double workers = machine->cores, devices = 0;
    for (int i = 0; i < machine->kind_count; i++) {
        workers += (double)machine->kinds[i].count * machine->kinds[i].workers;
        devices += machine->kinds[i].count;
    }
    if (machine->hosts * workers > THRUM__MACHINE_WORKERS_MOST)
        return thrum__fault(THRUM_EINVAL, "%s: these are %.0f workers; a machine has at most %d", machine->path,
                            machine->hosts * workers, THRUM__MACHINE_WORKERS_MOST);
    if (machine->hosts * (devices + 1) > THRUM__MACHINE_NODES_MOST)
        return thrum__fault(THRUM_EINVAL, "%s: these are %.0f hosts and devices; a machine has at most %d of both",
                            machine->path, machine->hosts * (devices + 1), THRUM__MACHINE_NODES_MOST);
    return 0;
}

int thrum__machine_check(const thrum_machine *machine)
{
    int err = check_limits(machine);
    if (!err)
        err = check_links(machine);
    return err ? err : check_cores(machine);
}

/* ---- How long tasks take ----------------------------------------------------------------------------------------- */

const thrum__speed_row *thrum__machine_speed(const thrum_machine *machine, const char *codelet, int kind)
{
    const thrum__speed_row *row = find_row(machine, codelet, kind);
    return row ? row : find_row(machine, "*", kind);
}

/* By how much a worker is slower because the others of the host are at work too. */
static double crowding(const thrum_machine *machine, double crowd)
{
    int others = crowd > 0 ? thrum__machine_cores(machine) + device_workers(machine) - 1 : 0;
    return others > 0 ? 1 + crowd * others : 1;
}

static double overhead(const thrum_machine *machine, const thrum__amount *amount, int kind)
{
    const thrum__overhead *each = kind == THRUM__CORE ? &machine->core_overhead : &machine->kind_overhead[kind];
    return (each->task + amount->accesses * each->access + amount->scratch * each->scratch) *
           crowding(machine, each->crowd);
}

static double by_numbers(const thrum_machine *machine, const thrum__speed_row *row, const thrum__amount *amount)
{
    bool small = amount->work <= row->small_work;
    double rate = small ? row->small_rate : row->rate;
    double per_byte = small && row->small_per_byte >= 0 ? row->small_per_byte : row->per_byte;
    return (row->fixed + amount->bytes * per_byte + amount->read * row->per_read + amount->work / rate) *
           crowding(machine, row->crowd);
}

double thrum__machine_seconds(const thrum_machine *machine, const thrum__speed_row *row, const thrum__amount *amount,
                              int kind)
{
    if (!row)
        return -1;
    double seconds = row->law ? row->law->times.mean : by_numbers(machine, row, amount);
    return seconds + overhead(machine, amount, kind);
}

double thrum__machine_noise(const thrum_machine *machine, thrum__stream *stream)
{
    return machine->noise ? thrum__times_sum(&machine->noise->times, stream, 0, 1) : 1;
}

double thrum__machine_draw(const thrum_machine *machine, const thrum__speed_row *row, const thrum__amount *amount,
                           int kind, thrum__stream *stream)
{
    if (!row)
        return -1;
    double seconds = by_numbers(machine, row, amount);
    if (row->law) {
        uint64_t line = row->law->times.lines ? thrum__draw_bits(stream) % row->law->times.lines : 0;
        seconds = thrum__times_sum(&row->law->times, stream, line, 1);
    }
    return seconds * thrum__machine_noise(machine, stream) + overhead(machine, amount, kind);
}

/* ---- What has no speed ------------------------------------------------------------------------------------------- */

static int no_speed(const thrum_machine *machine, const char *codelet, int kind)
{
    const char *name = thrum__machine_kind_name(machine, kind);
    const char *where = kind == THRUM__CORE ? machine->cores_where : machine->kinds[kind].where;
    return thrum__fault(THRUM_EINVAL,
                        "%s: nothing says how fast the codelet '%s' is on the workers '%s', which could run it: a line "
                        "like 'speed %s %s=1e9' would",
                        where ? where : machine->path, codelet, name, codelet, name);
}

int thrum__machine_check_speed(const thrum_machine *machine, const char *codelet, unsigned archs)
{
    if ((archs & 1u << THRUM_ARCH_CPU) && thrum__machine_cores(machine) > 0 &&
        !thrum__machine_speed(machine, codelet, THRUM__CORE))
        return no_speed(machine, codelet, THRUM__CORE);
    for (int i = 0; i < machine->kind_count; i++)
        if ((archs & 1u << machine->kinds[i].arch) && machine->kinds[i].count > 0 &&
            !thrum__machine_speed(machine, codelet, i))
            return no_speed(machine, codelet, i);
    return 0;
}
