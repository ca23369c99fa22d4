/* SPDX-License-Identifier: MIT
 *
 * Machines that are described, not owned: workers, memory nodes, links, and how fast kinds of tasks are. For simulation
 * (thrum_simulate in sim.h).
 *
 * A description is a text of lines; docs/guide/simulation.md explains all of them, `thrum sim --machines` lists those
 * that come with thrum, and `thrum sim --calibrate` writes one of the machine that it runs on.
 *
 *     thrum-machine 1
 *     about  two GPUs behind one root
 *     hosts  count=1                                  # several: a cluster, of which node 0 is the memory of the first
 *     cores  count=24 lost-per-device=1               # workers that are processor cores
 *     device gpu count=2 arch=emu workers=11 memory=11GiB bandwidth=10GB/s latency=10us peer=no
 *     root   bandwidth=20GB/s                         # what all devices of a host share, in each direction
 *     network bandwidth=10GB/s latency=2us            # of each host
 *     speed  gemm cpu=30e9 gpu=1.2e12                 # units of work a second
 *     time   start cpu=const:5us gpu=gamma:4,2us      # or how long it takes, whatever its work
 *     overhead cpu=2us access.cpu=0.3us gpu=10us      # that each task adds, and each of its accesses
 *     overhead fresh.gpu=0.5ns copy.gpu=3us           # what data adds: each byte of new memory, each copy
 *     insert task=0.7us access=0.2us window=8192      # how tasks come: one by one, and how many may be open
 *     noise  normal:1,0.05                            # each task's time is multiplied by a number like this
 *
 * Lines that come later add to earlier ones and override them: so a description can be changed by applying another
 * line.
 *
 * The order of workers: cores of host 0, of host 1, ...; then each device's, host by host. Of memory nodes: the hosts',
 * then the devices'. Workers of one device share its speed: while k of them are at work, each has 1/k of it.
 */
#ifndef THRUM_MACHINE_H
#define THRUM_MACHINE_H

#include <thrum/codelet.h>

THRUM_BEGIN_C

typedef struct thrum_machine thrum_machine;

/* By name, one that comes with thrum ("k40"); with a '/' or a '.' in it, from a file. NULL with a sentence, "FILE:LINE:
 * ..." . */
THRUM_API thrum_machine *thrum_machine_open(const char *name);
/* From a text. `path` is for messages; NULL: "the text". */
THRUM_API thrum_machine *thrum_machine_parse(const char *text, size_t length, const char *path);
THRUM_API thrum_machine *thrum_machine_copy(const thrum_machine *machine);
THRUM_API void thrum_machine_free(thrum_machine *machine); /* NULL does nothing */

/* One line more, as in a file; `where` stands in messages instead of file and line. 0, or an error and nothing has
 * changed. */
THRUM_API int thrum_machine_apply(thrum_machine *machine, const char *line, const char *where);

/* A file that makes the same machine: 0 or THRUM_ESYSTEM. */
THRUM_API int thrum_machine_write(const thrum_machine *machine, const char *path);

/* Those that come with thrum: number 0, 1, ...: the name, and the whole text; NULL after the last. */
THRUM_API const char *thrum_machine_at(int number, const char **text);

typedef struct thrum_machine_size {
    const char *name, *about;
    int hosts, workers, cores, devices, nodes;
} thrum_machine_size;
THRUM_API void thrum_machine_measure(const thrum_machine *machine, thrum_machine_size *size);
/* Each worker by its number; and for people: "core 3", "gpu 0 worker 2". 0 or THRUM_EINVAL. */
THRUM_API int thrum_machine_worker(const thrum_machine *machine, int worker, thrum_place *place, char name[64]);

THRUM_END_C

#endif
