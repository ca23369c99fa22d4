/* SPDX-License-Identifier: MIT
 *
 * The machine and the options that decide about workers, in words. Shared by `thrum info` and the tour.
 */
#ifndef THRUM_TOOLS_DESCRIBE_H
#define THRUM_TOOLS_DESCRIBE_H

#include <thrum/options.h>

#define DESCRIBE_SIZE 512

/* Each gives a sentence or a few words, made in `text` where it needs room. */
const char *describe_quota(const thrum_machine_info *machine, char text[DESCRIBE_SIZE]);
const char *describe_slurm(const thrum_machine_info *machine, char text[DESCRIBE_SIZE]);
const char *describe_workers(const thrum_machine_info *machine, char text[DESCRIBE_SIZE]);
const char *describe_binding(const thrum_machine_info *machine, char text[DESCRIBE_SIZE]);
const char *describe_membarrier(const thrum_machine_info *machine);
const char *describe_trace(char text[DESCRIBE_SIZE]);
const char *describe_graphviz(char text[DESCRIBE_SIZE]);
const char *describe_gnuplot(char text[DESCRIBE_SIZE]);
const char *describe_simgrid(void);

#endif
