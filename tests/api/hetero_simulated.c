/* SPDX-License-Identifier: MIT
 *
 * laheteroprio in simulated runs: on all machines that come with thrum, and how `auto` leaves a formula whose choice
 * goes stale.
 */
#include "test.h"

enum { CPU = 1u << THRUM_ARCH_CPU, EMU = 1u << THRUM_ARCH_EMU };

static void simulate(const thrum_sim *sim)
{
    thrum_sim_result *result;
    thrum_workload_size size;
    if (thrum_simulate(sim, &result) != 0)
        fail_msg("%s", thrum_message(NULL));
    assert_int_equal(thrum_workload_measure(sim->workload, &size), 0);
    assert_int_equal(result->tasks, size.tasks);
    thrum_sim_result_free(result);
}

static thrum_workload *workload;

static void begin(void)
{
    workload = thrum_workload_new("test");
    assert_non_null(workload);
    assert_int_equal(thrum_workload_add_codelet(workload, "any", CPU | EMU), 0);
}

static void add(const thrum_workload_task *task)
{
    assert_true(thrum_workload_add_task(workload, task) >= 0);
}

/* ---- Machines ---------------------------------------------------------------------------------------------------- */

enum { PIECES = 500, TASKS = 2000 };

/* Tasks say themselves how long they take: machines know different codelets. */
static void fill(void)
{
    for (int i = 0; i < PIECES; i++)
        assert_int_equal(thrum_workload_add_data(workload, NULL, 1 << 20, true), i);
    for (int i = 0; i < TASKS; i++) {
        const thrum_workload_access access[] = {{i % PIECES, THRUM_MODE_RW}, {(7 * i + 1) % PIECES, THRUM_MODE_R}};
        add(&(thrum_workload_task){.seconds = {[THRUM_ARCH_CPU] = 1e-2, [THRUM_ARCH_EMU] = 1e-3},
                                   .worker = THRUM_ANY_WORKER,
                                   .bucket = THRUM_NO_BUCKET,
                                   .access = access,
                                   .access_count = 1 + (access[1].data != access[0].data)});
    }
}

/* One of them, cluster64, has 80 memory nodes. */
TEST(laheteroprio_runs_on_every_machine_that_comes_with_thrum)
{
    thrum_machine_size size;
    int most = 0;
    begin();
    fill();
    for (int i = 0; thrum_machine_at(i, NULL); i++) {
        thrum_machine *machine = thrum_machine_open(thrum_machine_at(i, NULL));
        assert_non_null(machine);
        thrum_machine_measure(machine, &size);
        most = size.nodes > most ? size.nodes : most;
        simulate(&(thrum_sim){.machine = machine, .workload = workload, .policy = "laheteroprio"});
        thrum_machine_free(machine);
    }
    assert_true(most > 64);
    thrum_workload_free(workload);
}

/* ---- A choice that goes stale ------------------------------------------------------------------------------------ */

static int task(int worker, double work, int count, const thrum_workload_access *access)
{
    thrum_workload_size size;
    add(&(thrum_workload_task){
        .work = work, .worker = worker, .bucket = THRUM_NO_BUCKET, .access = access, .access_count = count});
    assert_int_equal(thrum_workload_measure(workload, &size), 0);
    return (int)size.tasks - 1;
}

struct counts {
    double bmd_sdh2, bmd_sdhb, bmd_smwb, bmd_sdh, used_sdh2, used_sdhb;
};

static void note(void *arg, const char *key, double value)
{
    struct counts *counts = arg;
    const struct {
        const char *key;
        double *to;
    } wanted[] = {{"bmd.ls_sdh2", &counts->bmd_sdh2},   {"bmd.ls_sdhb", &counts->bmd_sdhb},
                  {"bmd.lc_smwb", &counts->bmd_smwb},   {"bmd.ls_sdh", &counts->bmd_sdh},
                  {"used.ls_sdh2", &counts->used_sdh2}, {"used.ls_sdhb", &counts->used_sdhb}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (strcmp(wanted[i].key, key) == 0)
            *wanted[i].to = value;
}

/* A core, worker 0 and node 0, and two devices. */
static const char machine_text[] = "thrum-machine 1\ncores count=1\n"
                                   "device gpu count=2 arch=emu workers=1 bandwidth=10B/s latency=0s peer=yes\n"
                                   "speed * cpu=1 gpu=1\n";

/* A task that reads P and Q, 60 and 59 bytes, and changes X, 10 bytes, becomes ready when P is on node 1, Q on node 0
 * and X on node 2. LS_SDH2 chooses node 2, for 100 is more than 60. But that node's worker is busy for long, and
 * meanwhile another task brings Q to node 1, where there are 119 now. The other formulas' choices stay: LS_SDHB has
 * 10,000 for node 2; LS_SDH and LC_SMWB chose node 1 in the first place. */
static void make_stale_choice(void)
{
    enum { P, Q, X };
    static const struct {
        const char *name;
        size_t bytes;
    } pieces[] = {[P] = {"P", 60}, [Q] = {"Q", 59}, [X] = {"X", 10}};
    for (int i = P; i <= X; i++)
        assert_int_equal(thrum_workload_add_data(workload, pieces[i].name, pieces[i].bytes, false), i);
    const thrum_workload_access changes_x[] = {{P, THRUM_MODE_R}, {Q, THRUM_MODE_R}, {X, THRUM_MODE_RW}};
    int writes_x = task(2, 1, 1, (thrum_workload_access[]){{X, THRUM_MODE_W}});
    task(1, 1, 1, (thrum_workload_access[]){{P, THRUM_MODE_W}});
    task(0, 2, 1, (thrum_workload_access[]){{Q, THRUM_MODE_W}});
    int keeps_busy = task(2, 100, 0, NULL);
    thrum_workload_add_edge(workload, writes_x, keeps_busy);
    task(1, 1, 1, (thrum_workload_access[]){{Q, THRUM_MODE_R}});
    task(2, 1, 3, changes_x);
    for (int i = 0; i < 3; i++)
        task(THRUM_ANY_WORKER, 1, 1, &changes_x[2]); /* behind it */
}

TEST(a_formula_whose_choice_goes_stale_is_left_by_auto)
{
    thrum_machine *machine = thrum_machine_parse(machine_text, strlen(machine_text), NULL);
    struct counts counts = {0};
    assert_non_null(machine);
    begin();
    make_stale_choice();
    simulate(&(thrum_sim){
        .machine = machine, .workload = workload, .policy = "laheteroprio", .report = note, .ctx = &counts});
    assert_true(counts.bmd_sdh2 == 1);
    assert_true(counts.bmd_sdhb == 0);
    assert_true(counts.bmd_smwb == 0);
    assert_true(counts.bmd_sdh == 0);
    assert_true(counts.used_sdh2 == 6);
    assert_true(counts.used_sdhb == 3);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laheteroprio_runs_on_every_machine_that_comes_with_thrum),
        cmocka_unit_test(a_formula_whose_choice_goes_stale_is_left_by_auto),
    };
    return RUN_TESTS(tests, 30);
}
