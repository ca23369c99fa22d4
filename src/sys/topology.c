/* SPDX-License-Identifier: MIT */
#include "sys/topology.h"

#include "base/fault.h"
#include "sys/barrier.h"

#include <sched.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loaded once and kept: hwloc takes milliseconds to look at a machine. Read-only afterwards, so threads may share
 * it. */
static hwloc_topology_t topology;
static hwloc_cpuset_t allowed; /* what this process may use: the machine's allowed set and the affinity mask */

static void unload(void)
{
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(topology);
}

static void load(void)
{
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        topology = NULL;
        return;
    }
    allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_cpuset_t mask = hwloc_bitmap_alloc();
    if (hwloc_topology_is_thissystem(topology) && hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_PROCESS) == 0)
        hwloc_bitmap_and(allowed, allowed, mask);
    hwloc_bitmap_free(mask);
    atexit(unload);
}

static hwloc_topology_t machine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return topology;
}

double thrum__quota_parse(const char *text)
{
    double quota, period;
    if (sscanf(text, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    return quota / period;
}

static int read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

static double smaller_quota(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* A group is limited by every group above it, so the least quota on the way to the root counts. */
static double quota_v2(char *group)
{
    double quota = 0;
    for (;;) {
        char path[4200], text[128];
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        if (read_text(path, text, sizeof text) == 0)
            quota = smaller_quota(thrum__quota_parse(text), quota);
        char *slash = strrchr(group, '/');
        if (!slash)
            return quota;
        *slash = '\0';
    }
}

static double quota_v1(char *group)
{
    double quota = 0;
    for (;;) {
        char path[4200], text[128] = "", period[64] = "";
        snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
        if (read_text(path, text, 60) == 0) {
            snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
            read_text(path, period, sizeof period);
            strcat(strcat(text, " "), period);
            quota = smaller_quota(thrum__quota_parse(text), quota);
        }
        char *slash = strrchr(group, '/');
        if (!slash)
            return quota;
        *slash = '\0';
    }
}

static double quota(void)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[4096];
    double least = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            least = smaller_quota(quota_v2(group), least);
        else if (strstr(controllers + 1, "cpu"))
            least = smaller_quota(quota_v1(group), least);
    }
    if (file)
        fclose(file);
    return least;
}

static int slurm_cpus(void)
{
    const char *text = getenv("SLURM_CPUS_PER_TASK");
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return n > 0 && n <= 65536 && *end == '\0' ? (int)n : 0;
}

static void decide(thrum_machine_info *info)
{
    info->usable = info->affinity_cpus;
    info->decided_by = "affinity";
    if (info->quota_cpus > 0 && info->quota_cpus < info->usable) {
        info->usable = info->quota_cpus;
        info->decided_by = "quota";
    }
    if (info->slurm_cpus > 0 && info->slurm_cpus < info->usable) {
        info->usable = info->slurm_cpus;
        info->decided_by = "slurm";
    }
}

int thrum_machine_get(thrum_machine_info *info)
{
    if (!info)
        return thrum__fault(THRUM_EINVAL, "thrum_machine_get: the place for the answer is NULL");
    if (!machine())
        return thrum__fault(THRUM_ESYSTEM, "hwloc could not look at this machine");
    thrum__barrier_init();
    info->machine_cpus = hwloc_bitmap_weight(hwloc_topology_get_complete_cpuset(topology));
    info->affinity_cpus = hwloc_bitmap_weight(allowed);
    info->quota = quota();
    info->quota_cpus = (int)info->quota + (info->quota > (int)info->quota);
    info->slurm_cpus = slurm_cpus();
    info->numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    info->cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_CORE);
    if (info->cores <= 0)
        info->cores = info->affinity_cpus;
    info->membarrier = thrum__has_membarrier;
    decide(info);
    return 0;
}

/* Neighbours in number are neighbours in the machine: workers fill it one core after the other. */
static hwloc_obj_t core_of(int index)
{
    int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_CORE);
    if (cores > 0 && index < cores)
        return hwloc_get_obj_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_CORE, (unsigned)index);
    int units = hwloc_get_nbobjs_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_PU);
    return hwloc_get_obj_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_PU,
                                               (unsigned)(index % (units ? units : 1)));
}

void thrum__bind_self(enum thrum__bind bind, int index)
{
    if (bind == THRUM__BIND_OFF || !machine() || !hwloc_topology_is_thissystem(topology))
        return;
    hwloc_obj_t place = core_of(index);
    hwloc_cpuset_t set = place ? hwloc_bitmap_dup(place->cpuset) : NULL;
    if (set && bind == THRUM__BIND_NUMA) {
        hwloc_obj_t node = NULL;
        while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL)
            if (hwloc_bitmap_intersects(node->cpuset, place->cpuset))
                hwloc_bitmap_copy(set, node->cpuset);
    }
    if (set) {
        hwloc_bitmap_and(set, set, allowed);
        hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD);
    }
    hwloc_bitmap_free(set);
}

void thrum__change_cpu(void)
{
    cpu_set_t allowed, others;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    others = allowed;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}
