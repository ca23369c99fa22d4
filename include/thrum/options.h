/* SPDX-License-Identifier: MIT
 *
 * What thrum knows of the machine and of its options: what `thrum info` prints.
 */
#ifndef THRUM_OPTIONS_H
#define THRUM_OPTIONS_H

#include <thrum/error.h>

#include <stddef.h>

THRUM_BEGIN_C

typedef struct thrum_option {
    const char *name;    /* the environment variable */
    const char *value;   /* in force: from the environment, else the default */
    const char *initial; /* the default */
    const char *range;   /* what it may be */
    const char *help;    /* one line */
    int from_environment;
} thrum_option;

/* The option number `index` as it is now; -1 past the last one. The texts live as long as the environment's. */
THRUM_API int thrum_option_get(size_t index, thrum_option *option);

/* 0, or THRUM_EOPTION with a sentence that names the first THRUM_... variable in the environment that does not exist or
 * has a bad value. */
THRUM_API int thrum_options_check(void);

typedef struct thrum_machine_info {
    int machine_cpus;  /* processors that the machine has */
    int affinity_cpus; /* that this process may use */
    int quota_cpus;    /* that the control group's quota pays for, rounded up; 0: no quota */
    double quota;      /* the quota itself in processors; 0: none */
    int slurm_cpus;    /* SLURM_CPUS_PER_TASK; 0: not set */
    int numa_nodes;
    int cores;              /* physical cores among the usable processors */
    int usable;             /* the least of affinity, quota and Slurm: workers by default */
    const char *decided_by; /* "affinity", "quota" or "slurm" */
    int membarrier;         /* 1: pushes need no fence, the kernel's membarrier does it before a worker sleeps */
} thrum_machine_info;

THRUM_API int thrum_machine_get(thrum_machine_info *info);

THRUM_END_C

#endif
