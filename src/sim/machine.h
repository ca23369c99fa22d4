/* SPDX-License-Identifier: MIT
 *
 * Machines from the inside, and laid out: workers, nodes and links by number.
 */
#ifndef THRUM_SIM_MACHINE_H
#define THRUM_SIM_MACHINE_H

#include <thrum/machine.h>

#include "sim/times.h"

#include <stdbool.h>

enum { THRUM__CORE = -1 }; /* "kind of device" of processor cores */

/* Limits of a description: workers of all, memory nodes of all. */
enum { THRUM__MACHINE_WORKERS_MOST = 100000, THRUM__MACHINE_NODES_MOST = 1024 };

/* A distribution and the text that it was read from; copies of a machine share it, so it never changes. */
typedef struct thrum__law {
    int users;
    char *text;
    thrum__times times;
} thrum__law;

typedef struct thrum__device_kind {
    char *name;
    enum thrum_arch arch;
    int count, workers;        /* of each host; of each device */
    size_t memory;             /* 0: without limit */
    double bandwidth, latency; /* of its link, each way; bandwidth INFINITY: copies take no time but the latency */
    bool peer;                 /* copies between two of them do not stop in the host's memory, nor pass the root */
    char *where;               /* "FILE:LINE" of the line that declared it */
} thrum__device_kind;

/* How fast a codelet is on a kind of worker: seconds = fixed + bytes * per_byte + bytes that are only read * per_read +
 * work / rate; or what `law` says. The first is multiplied by 1 + crowd * (other workers of the host). Work up to
 * `small_work` (-1: none) has another rate, and it may have another `per_byte` (-1: the same). `moved`: see
 * thrum__overhead, to which it is added. */
typedef struct thrum__speed_row {
    char *codelet; /* "*": all that have no row of their own */
    int kind;      /* of device, or THRUM__CORE */
    double rate;   /* units of work a second; INFINITY: work takes no time */
    double small_work, small_rate, small_per_byte;
    double fixed, per_byte, per_read, crowd, moved;
    thrum__law *law; /* seconds; NULL: by the numbers above */
} thrum__speed_row;

/* What a worker of a kind adds to a task: seconds, those for each access and for each byte of scratch memory; and by
 * how much of that each other worker of the host makes it longer. `fresh`: for each byte of a device's memory that is
 * given to data which had none there; the next task that begins on the device pays. `copy`: for each copy that the
 * worker asks for, `moved`: for each byte of it; its next task pays. */
typedef struct thrum__overhead {
    double task, access, scratch, fresh, copy, moved, crowd;
} thrum__overhead;

struct thrum_machine {
    char *name, *about, *path;
    int hosts, cores, lost_per_device; /* cores of each host */
    double root_bandwidth;             /* of each host, each way; INFINITY: no limit */
    double network_bandwidth, network_latency;
    thrum__device_kind *kinds;
    int kind_count;
    thrum__speed_row *speeds;
    int speed_count;
    thrum__overhead core_overhead, *kind_overhead;
    /* How tasks come: who inserts takes so long for each, and for each access of it, and waits while `window` of them
     * have not ended (0: no limit) until half of them have. All 0: all tasks are there from the start. */
    double insert_task, insert_access;
    int window;
    thrum__law *noise; /* NULL: none */
    char *cores_where; /* "FILE:LINE" of its line; NULL: none */
};

/* ---- Laid out ---------------------------------------------------------------------------------------------------- */

typedef struct thrum__site {
    thrum_place place; /* what policies see */
    int host, kind;    /* of device, or THRUM__CORE */
    int core_of;       /* of devices: which device, by number over all; of cores -1 */
} thrum__site;

/* A way from one memory node to another is a list of channels, each with a capacity that those who use it share. Those
 * marked as a line serve one copy after the other; a copy has the line from its beginning to its end. */
typedef struct thrum__channel {
    double bandwidth; /* bytes a second */
    bool line;
} thrum__channel;

enum { THRUM__WAY_MOST = 6 };
typedef struct thrum__way {
    int channel[THRUM__WAY_MOST];
    int count; /* 0: none of them limits it, there is only the latency */
    double latency;
    int via; /* a node at which it stops: two copies one after the other, of which the second may stop too; -1: none */
} thrum__way;

typedef struct thrum__layout {
    const thrum_machine *machine;
    int worker_count, node_count, device_count, channel_count;
    thrum__site *workers;
    thrum_place *places; /* by worker: for thrum_world */
    size_t *memory;      /* by node; 0: without limit */
    int *node_kind;      /* by node: kind of device, or THRUM__CORE: a host's memory */
    thrum__channel *channels;
    thrum__way *ways; /* [from * node_count + to] */
} thrum__layout;

/* 0 or THRUM_ENOMEM, THRUM_EINVAL with a sentence (no worker at all). */
int thrum__machine_layout_make(const thrum_machine *machine, thrum__layout *layout);
void thrum__machine_layout_drop(thrum__layout *layout);

/* Which row says how fast the codelet is there: its own, else "*"; NULL: none does. */
const thrum__speed_row *thrum__machine_speed(const thrum_machine *machine, const char *codelet, int kind);

/* What a task is: units of work, the bytes of its data, those of them that it only reads and those that are scratch
 * memory, and how many accesses it has. */
typedef struct thrum__amount {
    double work, bytes, read, scratch;
    int accesses;
} thrum__amount;

/* How long one task takes, with what each adds, without noise, its mean. Negative (row NULL): nobody says. */
double thrum__machine_seconds(const thrum_machine *machine, const thrum__speed_row *row, const thrum__amount *amount,
                              int kind);
/* The same as drawn: times and noise are taken from the stream. */
double thrum__machine_draw(const thrum_machine *machine, const thrum__speed_row *row, const thrum__amount *amount,
                           int kind, thrum__stream *stream);
/* A factor by which the time of one task is multiplied; 1 without noise, and then nothing is drawn. */
double thrum__machine_noise(const thrum_machine *machine, thrum__stream *stream);

/* Whether all workers that could run a codelet for these architectures (bits 1u << arch) have a speed for it: 0, or
 * THRUM_EINVAL and a sentence that names the codelet, the kind of worker and the line that would help. */
int thrum__machine_check_speed(const thrum_machine *machine, const char *codelet, unsigned archs);

#endif
