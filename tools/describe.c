/* SPDX-License-Identifier: MIT */
#include "describe.h"
#include "common.h"

#include <thrum/sim.h>

#include <stdlib.h>
#include <string.h>

static bool find_option(const char *name, thrum_option *option)
{
    for (size_t i = 0; thrum_option_get(i, option) == 0; i++)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

/* The number that THRUM_WORKERS asks for; -1 when it is not set or no number. */
static int asked_workers(void)
{
    thrum_option option;
    if (!find_option("THRUM_WORKERS", &option) || !option.from_environment || !option.value)
        return -1;
    char *rest;
    long count = strtol(option.value, &rest, 10);
    return rest != option.value && !*rest && count >= 0 && count < 1 << 20 ? (int)count : -1;
}

const char *describe_quota(const thrum_machine_info *machine, char text[DESCRIBE_SIZE])
{
    if (machine->quota <= 0)
        return "none: the control group pays for every processor";
    snprintf(text, DESCRIBE_SIZE, "%.2f processors by the control group, rounded up to %d", machine->quota,
             machine->quota_cpus);
    return text;
}

const char *describe_slurm(const thrum_machine_info *machine, char text[DESCRIBE_SIZE])
{
    if (machine->slurm_cpus <= 0)
        return "SLURM_CPUS_PER_TASK is not set";
    snprintf(text, DESCRIBE_SIZE, "SLURM_CPUS_PER_TASK allows %d", machine->slurm_cpus);
    return text;
}

/* Why the default is what it is: one clause. */
static void describe_reason(const thrum_machine_info *machine, char *text, size_t size)
{
    const char *by = machine->decided_by ? machine->decided_by : "";
    if (strcmp(by, "quota") == 0)
        snprintf(text, size, "the control group's quota of %.2f processors pays for no more", machine->quota);
    else if (strcmp(by, "slurm") == 0)
        snprintf(text, size, "SLURM_CPUS_PER_TASK allows no more");
    else
        snprintf(text, size, "the process may run on %d of the machine's %d processors%s", machine->affinity_cpus,
                 machine->machine_cpus,
                 machine->quota_cpus || machine->slurm_cpus ? ", which is the least of all limits"
                                                            : ", and neither a quota nor Slurm limits it further");
}

const char *describe_workers(const thrum_machine_info *machine, char text[DESCRIBE_SIZE])
{
    char reason[300];
    int asked = asked_workers();
    describe_reason(machine, reason, sizeof reason);
    if (asked < 0)
        snprintf(text, DESCRIBE_SIZE, "%d, because %s", machine->usable, reason);
    else if (asked == 0)
        snprintf(text, DESCRIBE_SIZE,
                 "no threads, because THRUM_WORKERS says so: tasks run in the thread that waits; "
                 "without it %d: %s",
                 machine->usable, reason);
    else
        snprintf(text, DESCRIBE_SIZE, "%d, because THRUM_WORKERS says so; without it %d: %s", asked, machine->usable,
                 reason);
    return text;
}

const char *describe_binding(const thrum_machine_info *machine, char text[DESCRIBE_SIZE])
{
    thrum_option option;
    const char *bind = find_option("THRUM_BIND", &option) && option.value ? option.value : "auto";
    bool automatic = strcmp(bind, "auto") == 0;
    const char *means = "each worker stays on a core of its own";
    if (strcmp(bind, "off") == 0)
        means = "the system moves workers as it likes";
    else if (asked_workers() > machine->usable)
        means = "off, because there are more workers than usable processors";
    else if (automatic && machine->numa_nodes <= 1)
        means = "off, because the machine has one NUMA node";
    else if (automatic || strcmp(bind, "numa") == 0)
        means = "each worker stays on one NUMA node";
    snprintf(text, DESCRIBE_SIZE, "%s: %s", bind, means);
    return text;
}

const char *describe_membarrier(const thrum_machine_info *machine)
{
    return machine->membarrier ? "yes: handing out a task needs no fence, a worker that goes to sleep pays for it"
                               : "no: the kernel does not offer it, each task that is handed out pays for a fence";
}

const char *describe_trace(char text[DESCRIBE_SIZE])
{
    thrum_option option;
    if (!find_option("THRUM_TRACE", &option) || !option.value || !*option.value)
        return "off; THRUM_TRACE=FILE.json records a run";
    snprintf(text, DESCRIBE_SIZE, "on, into %s", option.value);
    return text;
}

const char *describe_graphviz(char text[DESCRIBE_SIZE])
{
    char program[400];
    if (!tool_find_program("dot", program, sizeof program))
        return "dot is not here: graphs cannot be drawn until the package graphviz is installed";
    snprintf(text, DESCRIBE_SIZE, "%s", program);
    return text;
}

const char *describe_gnuplot(char text[DESCRIBE_SIZE])
{
    char program[400];
    if (!tool_find_program("gnuplot", program, sizeof program))
        return "gnuplot is not here: loop-sim draws no plots until the package gnuplot-nox is installed";
    snprintf(text, DESCRIBE_SIZE, "%s", program);
    return text;
}

const char *describe_simgrid(void)
{
    return thrum_sim_engine_check(THRUM_ENGINE_SIMGRID) == 0 ? "yes: an engine of thrum sim and loop-sim"
                                                             : thrum_message(NULL);
}
