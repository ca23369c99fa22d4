/* SPDX-License-Identifier: MIT
 *
 * The machine as thrum sees it, on a machine that hwloc makes up: two NUMA nodes of four cores.
 *
 * The quota is that of the real control group, so what is expected of `usable` takes it into account.
 */
#include "tasks.h"

#include "sys/topology.h"

#include <sched.h>

static thrum_machine_info look(void)
{
    thrum_machine_info info;
    assert_int_equal(thrum_machine_get(&info), 0);
    return info;
}

static int affordable(const thrum_machine_info *info, int cpus)
{
    return info->quota_cpus > 0 && info->quota_cpus < cpus ? info->quota_cpus : cpus;
}

TEST(the_made_up_machine_is_counted)
{
    thrum_machine_info info = look();
    assert_int_equal(info.machine_cpus, 8);
    assert_int_equal(info.affinity_cpus, 8);
    assert_int_equal(info.numa_nodes, 2);
    assert_int_equal(info.cores, 8);
    assert_int_equal(info.slurm_cpus, 0);
    assert_int_equal(info.usable, affordable(&info, 8));
    assert_string_equal(info.decided_by, info.usable < 8 ? "quota" : "affinity");
}

TEST(slurm_can_give_less)
{
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    thrum_machine_info info = look();
    assert_int_equal(info.slurm_cpus, 1);
    assert_int_equal(info.usable, 1);
    assert_string_equal(info.decided_by, info.quota_cpus == 1 ? "quota" : "slurm");
    setenv("SLURM_CPUS_PER_TASK", "3", 1);
    info = look();
    assert_int_equal(info.slurm_cpus, 3);
    assert_int_equal(info.usable, affordable(&info, 3));
    unsetenv("SLURM_CPUS_PER_TASK");
}

TEST(slurm_cannot_give_more_than_there_is)
{
    setenv("SLURM_CPUS_PER_TASK", "64", 1);
    thrum_machine_info info = look();
    assert_int_equal(info.slurm_cpus, 64);
    assert_int_equal(info.usable, affordable(&info, 8));
    assert_string_not_equal(info.decided_by, "slurm");
    unsetenv("SLURM_CPUS_PER_TASK");
}

TEST(what_slurm_says_must_be_a_count)
{
    static const char *const texts[] = {"", "0", "-2", "two", "2x", "1.5", "99999999"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        setenv("SLURM_CPUS_PER_TASK", texts[i], 1);
        assert_int_equal(look().slurm_cpus, 0);
    }
    unsetenv("SLURM_CPUS_PER_TASK");
}

TEST(the_place_for_the_answer_is_needed)
{
    assert_error(thrum_machine_get(NULL), THRUM_EINVAL, "thrum_machine_get");
}

TEST(an_executor_has_as_many_workers_as_are_usable)
{
    setenv("SLURM_CPUS_PER_TASK", "3", 1);
    thrum_machine_info info = look();
    thrum_executor *ex = thrum_executor_new(NULL);
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), info.usable);
    assert_int_equal(thrum_executor_free(ex), 0);
    unsetenv("SLURM_CPUS_PER_TASK");
}

TEST(nobody_is_bound_to_a_made_up_core)
{
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int index = 0; index < 10; index++) {
        thrum__bind_self(THRUM__BIND_CORE, index);
        thrum__bind_self(THRUM__BIND_NUMA, index);
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
    setenv("HWLOC_SYNTHETIC", "numa:2 core:4 pu:1", 1);
    unsetenv("SLURM_CPUS_PER_TASK");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_made_up_machine_is_counted),
        cmocka_unit_test(slurm_can_give_less),
        cmocka_unit_test(slurm_cannot_give_more_than_there_is),
        cmocka_unit_test(what_slurm_says_must_be_a_count),
        cmocka_unit_test(the_place_for_the_answer_is_needed),
        cmocka_unit_test(an_executor_has_as_many_workers_as_are_usable),
        cmocka_unit_test(nobody_is_bound_to_a_made_up_core),
    };
    return RUN_TESTS(tests, 30);
}
