/* SPDX-License-Identifier: MIT
 *
 * Simulated tasks: small cases whose makespans can be worked out by hand, what results must add up to, policies that
 * break their contract, and every policy on random workloads.
 */
#include "test.h"
#include "random.h"

#include <math.h>
#include <unistd.h>

enum { CPU = 1u << THRUM_ARCH_CPU, EMU = 1u << THRUM_ARCH_EMU };

/* ---- Machines and workloads -------------------------------------------------------------------------------------- */

static thrum_machine *machine_of(const char *lines)
{
    char text[2000];
    snprintf(text, sizeof text, "thrum-machine 1\n%s\n", lines);
    thrum_machine *machine = thrum_machine_parse(text, strlen(text), NULL);
    if (!machine)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(machine);
    return machine;
}

/* A device with one worker at the end of a link of 10 bytes a second, and two cores; a unit of work takes a second
 * everywhere. */
static const char small[] = "cores count=2\n"
                            "device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s peer=no\n"
                            "speed * cpu=1 gpu=1";

static thrum_workload *workload;

static int codelet(const char *name, unsigned archs)
{
    int number = thrum_workload_add_codelet(workload, name, archs);
    assert_true(number >= 0);
    return number;
}

static int data(size_t bytes, bool written)
{
    int number = thrum_workload_add_data(workload, NULL, bytes, written);
    assert_true(number >= 0);
    return number;
}

static int add(const thrum_workload_task *task)
{
    int number = thrum_workload_add_task(workload, task);
    if (number < 0)
        print_error("%s\n", thrum_message(NULL));
    assert_true(number >= 0);
    return number;
}

/* A task with up to two accesses; mode 0: none. */
static int task(int of, double work, enum thrum_mode mode, int piece, enum thrum_mode mode2, int piece2)
{
    thrum_workload_access access[] = {{piece, mode}, {piece2, mode2}};
    return add(&(thrum_workload_task){.codelet = of,
                                      .work = work,
                                      .worker = -1,
                                      .bucket = THRUM_NO_BUCKET,
                                      .access = access,
                                      .access_count = !mode    ? 0
                                                      : !mode2 ? 1
                                                               : 2});
}

static int plain(int of, double work)
{
    return task(of, work, 0, 0, 0, 0);
}

static void begin(void)
{
    workload = thrum_workload_new("test");
    assert_non_null(workload);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* Whatever the run: time adds up, and nothing is faster than the bounds. */
static void check_result(const thrum_sim_result *r)
{
    uint64_t tasks = 0, copies = 0, bytes = 0;
    double busy = 0;
    for (int i = 0; i < r->worker_count; i++) {
        const thrum_sim_worker *w = &r->workers[i];
        double sum = w->busy + w->waiting + w->held + w->starved + w->finished;
        if (fabs(sum - r->makespan) > 1e-9 * (1 + r->makespan))
            print_error("worker %d: %g + %g + %g + %g + %g is not %g\n", i, w->busy, w->waiting, w->held, w->starved,
                        w->finished, r->makespan);
        assert_true(fabs(sum - r->makespan) <= 1e-9 * (1 + r->makespan));
        assert_true(w->busy >= 0 && w->waiting >= 0 && w->held >= 0 && w->starved >= 0 && w->finished >= 0);
        assert_true(w->crowded >= 0 && w->crowded <= w->waiting * (1 + 1e-9));
        tasks += w->tasks;
        busy += w->busy;
    }
    for (int i = 0; i < r->link_count; i++) {
        assert_true(r->links[i].copies > 0 && r->links[i].from != r->links[i].to);
        assert_true(r->links[i].busy >= 0 && r->links[i].busy <= r->makespan * (1 + 1e-9));
        copies += r->links[i].copies;
        bytes += r->links[i].bytes;
    }
    assert_int_equal(tasks, r->tasks);
    assert_int_equal(copies, r->copies);
    assert_int_equal(bytes, r->bytes);
    assert_true(fabs(r->idle - (r->makespan > 0 ? 1 - busy / (r->makespan * r->worker_count) : 0)) < 1e-9);
    assert_true(r->bound == fmax(r->critical_path, r->area));
    if (r->bound > r->makespan * (1 + 1e-9))
        print_error("the bound %g is above the makespan %g\n", r->bound, r->makespan);
    assert_true(r->bound <= r->makespan * (1 + 1e-9));
}

static thrum_sim_result *run(const thrum_sim *sim)
{
    thrum_sim_result *result = NULL;
    int err = thrum_simulate(sim, &result);
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
    check_result(result);
    return result;
}

/* Runs and frees the workload, on a machine of these lines. */
static thrum_sim_result *run_on(const char *lines, const char *policy, int ahead)
{
    thrum_machine *machine = machine_of(lines);
    thrum_sim_result *result =
        run(&(thrum_sim){.machine = machine, .workload = workload, .policy = policy, .ahead = ahead});
    thrum_workload_size size;
    assert_int_equal(thrum_workload_measure(workload, &size), 0);
    assert_int_equal(result->tasks, size.tasks);
    thrum_machine_free(machine);
    thrum_workload_free(workload);
    return result;
}

#define assert_near(a, b) assert_near_at((a), (b), __LINE__)
static void assert_near_at(double a, double b, int line)
{
    if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
        print_error("line %d: %.12g is not %.12g\n", line, a, b);
    assert_true(fabs(a - b) <= 1e-9 * (1 + fabs(b)));
}

static void assert_link(const thrum_sim_result *r, int from, int to, uint64_t copies, uint64_t bytes)
{
    for (int i = 0; i < r->link_count; i++)
        if (r->links[i].from == from && r->links[i].to == to) {
            assert_int_equal(r->links[i].copies, copies);
            assert_int_equal(r->links[i].bytes, bytes);
            return;
        }
    assert_int_equal(copies, 0);
}

/* ---- By hand ----------------------------------------------------------------------------------------------------- */

TEST(nothing_to_do_takes_no_time)
{
    begin();
    thrum_sim_result *r = run_on(small, NULL, 0);
    assert_true(r->makespan == 0 && r->bound == 0 && r->idle == 0 && r->worker_count == 3 && r->node_count == 2);
    thrum_sim_result_free(r);
    thrum_sim_result_free(NULL);
}

TEST(one_worker_does_one_task_after_the_other)
{
    begin();
    int c = codelet("c", CPU);
    plain(c, 1);
    plain(c, 2);
    plain(c, 3);
    thrum_sim_result *r = run_on("cores count=1\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 6);
    assert_near(r->area, 6);
    assert_near(r->critical_path, 3);
    assert_near(r->workers[0].busy, 6);
    thrum_sim_result_free(r);
}

/* 1 and 2 begin at once; the third after the first, until 4. The worker that did 2 has nothing to do from then on. */
TEST(two_workers_share_the_tasks)
{
    begin();
    int c = codelet("c", CPU);
    plain(c, 1);
    plain(c, 2);
    plain(c, 3);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 4);
    assert_near(r->area, 3);
    assert_near(r->workers[0].busy, 4);
    assert_near(r->workers[1].busy, 2);
    assert_near(r->workers[1].finished, 2);
    assert_near(r->idle, 0.25);
    thrum_sim_result_free(r);
}

/* A chain through data: the other worker starves until the last task begins. */
TEST(tasks_wait_for_what_they_read)
{
    begin();
    int c = codelet("c", CPU), a = data(8, false);
    task(c, 1, THRUM_MODE_W, a, 0, 0);
    task(c, 2, THRUM_MODE_RW, a, 0, 0);
    task(c, 3, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 6);
    assert_near(r->critical_path, 6);
    double starved = r->workers[0].starved + r->workers[1].starved;
    double finished = r->workers[0].finished + r->workers[1].finished;
    assert_near(starved, 3);
    assert_near(finished, 3);
    assert_int_equal(r->copies, 0);
    thrum_sim_result_free(r);
}

TEST(edges_hold_too)
{
    begin();
    int c = codelet("c", CPU), first = plain(c, 1), second = plain(c, 2);
    assert_int_equal(thrum_workload_add_edge(workload, second, first), 0);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 3);
    thrum_sim_result_free(r);
}

/* 100 bytes take 1 + 10 s, then the kernel 5; back again 11, and 2. */
TEST(data_is_brought_to_where_it_is_used)
{
    begin();
    int on_gpu = codelet("g", EMU), on_cpu = codelet("c", CPU), a = data(100, true);
    task(on_gpu, 5, THRUM_MODE_RW, a, 0, 0);
    task(on_cpu, 2, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on(small, "fifo", 0);
    assert_near(r->makespan, 11 + 5 + 11 + 2);
    assert_link(r, 0, 1, 1, 100);
    assert_link(r, 1, 0, 1, 100);
    assert_near(r->workers[2].waiting, 11);
    assert_near(r->workers[2].busy, 5);
    assert_near(r->links[0].busy, 11);
    thrum_sim_result_free(r);
}

/* What is overwritten is not brought, and what has been brought is not brought again, until somebody writes it
 * elsewhere. */
TEST(data_is_brought_once_and_not_to_be_overwritten)
{
    begin();
    int on_gpu = codelet("g", EMU), on_cpu = codelet("c", CPU), a = data(100, true), b = data(50, false);
    task(on_gpu, 1, THRUM_MODE_R, a, THRUM_MODE_W, b);
    task(on_gpu, 1, THRUM_MODE_R, a, THRUM_MODE_RW, b);
    task(on_cpu, 1, THRUM_MODE_W, a, 0, 0);
    task(on_gpu, 1, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on(small, "fifo", 0);
    assert_link(r, 0, 1, 2, 200);
    assert_link(r, 1, 0, 0, 0);
    assert_near(r->makespan, 11 + 1 + 1 + 1 + 11 + 1);
    thrum_sim_result_free(r);
}

/* Without staging ahead copies and kernels take turns: (11 + 5) * 2. With it the second copy goes on while the first
 * runs: the copies end at 11 and 22, and the last kernel at 27. */
TEST(copies_go_on_while_kernels_run)
{
    for (int ahead = 0; ahead < 2; ahead++) {
        begin();
        int on_gpu = codelet("g", EMU), a = data(100, true), b = data(100, true);
        task(on_gpu, 5, THRUM_MODE_R, a, 0, 0);
        task(on_gpu, 5, THRUM_MODE_R, b, 0, 0);
        thrum_sim_result *r = run_on(small, "fifo", ahead);
        assert_near(r->makespan, ahead ? 27 : 32);
        thrum_sim_result_free(r);
    }
}

TEST(workers_of_a_device_share_it)
{
    begin();
    int on_gpu = codelet("g", EMU);
    plain(on_gpu, 4);
    plain(on_gpu, 2);
    plain(on_gpu, 6);
    thrum_sim_result *r =
        run_on("device gpu count=1 arch=emu workers=3 bandwidth=10B/s latency=1s\nspeed * gpu=1", "fifo", 0);
    assert_near(r->makespan, 12);
    assert_near(r->area, 12);
    assert_near(r->workers[0].busy, 2 * 3 + 2 * 2);
    assert_near(r->workers[1].busy, 6);
    assert_near(r->workers[2].busy, 12);
    thrum_sim_result_free(r);
}

/* Two GPUs without a way to each other: through the host, one after the other. */
TEST(devices_that_are_no_peers_copy_through_the_host)
{
    for (int peers = 0; peers < 2; peers++) {
        char lines[200];
        begin();
        int on_gpu = codelet("g", EMU), a = data(100, false);
        thrum_workload_access access[] = {{a, THRUM_MODE_RW}};
        for (int worker = 0; worker < 2; worker++) {
            access[0].mode = worker ? THRUM_MODE_RW : THRUM_MODE_W;
            add(&(thrum_workload_task){
                .codelet = on_gpu, .work = 1, .worker = worker, .bucket = -1, .access = access, .access_count = 1});
        }
        snprintf(lines, sizeof lines,
                 "device gpu count=2 arch=emu workers=1 bandwidth=10B/s latency=1s peer=%s\nspeed * gpu=1",
                 peers ? "yes" : "no");
        thrum_sim_result *r = run_on(lines, "fifo", 0);
        assert_near(r->makespan, peers ? 1 + 11 + 1 : 1 + 11 + 11 + 1);
        assert_int_equal(r->copies, peers ? 1 : 2);
        assert_link(r, 1, 2, peers, 100);
        thrum_sim_result_free(r);
    }
}

/* Room for one piece only. The first was written there: it goes home (11 s) before the second can come (11 s). */
TEST(a_full_device_throws_out_what_was_used_longest_ago)
{
    begin();
    int on_gpu = codelet("g", EMU), a = data(100, false), b = data(100, true);
    task(on_gpu, 5, THRUM_MODE_W, a, 0, 0);
    task(on_gpu, 5, THRUM_MODE_R, b, 0, 0);
    task(on_gpu, 5, THRUM_MODE_R, b, 0, 0);
    thrum_sim_result *r = run_on("device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s memory=150B\n"
                                 "speed * gpu=1",
                                 "fifo", 0);
    assert_near(r->makespan, 5 + 11 + 11 + 5 + 5);
    assert_int_equal(r->nodes[1].evictions, 1);
    assert_int_equal(r->nodes[1].written_back, 1);
    assert_int_equal(r->nodes[1].most_used, 100);
    assert_near(r->workers[0].waiting, 22);
    assert_near(r->workers[0].crowded, 11);
    thrum_sim_result_free(r);
}

/* Room for two of three. When the third is wanted, the first was used last: so the second goes, and need not be
 * copied. */
TEST(what_was_used_last_stays)
{
    begin();
    int on_gpu = codelet("g", EMU), a = data(50, true), b = data(50, true), c = data(50, true);
    task(on_gpu, 1, THRUM_MODE_R, a, 0, 0);
    task(on_gpu, 1, THRUM_MODE_R, b, 0, 0);
    task(on_gpu, 1, THRUM_MODE_R, a, 0, 0);
    task(on_gpu, 1, THRUM_MODE_R, c, 0, 0);
    task(on_gpu, 1, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on("device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s memory=100B\n"
                                 "speed * gpu=1",
                                 "fifo", 0);
    assert_near(r->makespan, 6 + 1 + 6 + 1 + 1 + 6 + 1 + 1);
    assert_int_equal(r->nodes[1].evictions, 1);
    assert_int_equal(r->nodes[1].written_back, 0);
    thrum_sim_result_free(r);
}

/* Two workers of a device, and room for one task: they take turns, and the second is crowded meanwhile. */
/* There is memory for the piece to the last byte, and the task uses it twice. */
TEST(a_task_may_fill_a_device)
{
    begin();
    int on_gpu = codelet("g", EMU), a = data(100, true);
    task(on_gpu, 5, THRUM_MODE_R, a, THRUM_MODE_R, a);
    thrum_sim_result *r = run_on("device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s memory=100B\n"
                                 "speed * gpu=1",
                                 "fifo", 0);
    assert_near(r->makespan, 11 + 5);
    assert_int_equal(r->nodes[1].most_used, 100);
    thrum_sim_result_free(r);
}

TEST(tasks_that_do_not_fit_together_run_one_after_the_other)
{
    begin();
    int on_gpu = codelet("g", EMU), a = data(100, false), b = data(100, false);
    task(on_gpu, 5, THRUM_MODE_SCRATCH, a, 0, 0);
    task(on_gpu, 7, THRUM_MODE_SCRATCH, b, 0, 0);
    thrum_sim_result *r = run_on("device gpu count=1 arch=emu workers=2 bandwidth=10B/s latency=1s memory=150B\n"
                                 "speed * gpu=1",
                                 "fifo", 0);
    assert_near(r->makespan, 12);
    assert_near(r->workers[1].crowded, 5);
    assert_int_equal(r->copies, 0);
    thrum_sim_result_free(r);
}

/* Commuting tasks exclude each other; a task that does not touch the data runs meanwhile. */
TEST(commuting_tasks_exclude_each_other)
{
    begin();
    int c = codelet("c", CPU), a = data(8, true);
    task(c, 2, THRUM_MODE_COMMUTE, a, 0, 0);
    task(c, 2, THRUM_MODE_COMMUTE, a, 0, 0);
    plain(c, 3);
    task(c, 2, THRUM_MODE_COMMUTE, a, 0, 0);
    task(c, 1, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on("cores count=3\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 7);
    thrum_sim_result_free(r);
}

TEST(reductions_run_at_the_same_time)
{
    begin();
    int c = codelet("c", CPU), a = data(8, false);
    for (int i = 0; i < 3; i++)
        task(c, 2, THRUM_MODE_REDUX, a, 0, 0);
    task(c, 1, THRUM_MODE_R, a, 0, 0);
    thrum_sim_result *r = run_on("cores count=3\nspeed * cpu=1", "fifo", 0);
    assert_near(r->makespan, 3);
    thrum_sim_result_free(r);
}

/* Of a task that only one worker may run that worker is held until it gets it, and the other starves. */
TEST(a_pinned_task_runs_where_it_is_pinned)
{
    begin();
    int c = codelet("c", CPU);
    add(&(thrum_workload_task){.codelet = c, .work = 3, .worker = 1, .bucket = -1});
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "fifo", 0);
    assert_int_equal(r->workers[1].tasks, 1);
    assert_near(r->workers[0].finished, 3);
    thrum_sim_result_free(r);
}

/* ---- What data costs workers ------------------------------------------------------------------------------------- */

/* 3 s for the copy; the first task pays for 20 bytes of memory, the second finds them there. */
TEST(memory_that_a_device_gives_to_data_is_paid_for_once)
{
    begin();
    int c = codelet("c", EMU), d = data(20, true);
    task(c, 1, THRUM_MODE_R, d, 0, 0);
    task(c, 1, THRUM_MODE_R, d, 0, 0);
    char lines[300];
    snprintf(lines, sizeof lines, "%s\noverhead fresh.gpu=0.5s", small);
    thrum_sim_result *r = run_on(lines, NULL, 0);
    assert_near(r->makespan, 3 + (1 + 10) + 1);
    thrum_sim_result_free(r);
}

/* 20 bytes go to a device and come home: a copy each way, of 3 s, and three tasks of 1 s. */
static double there_and_back(const char *overhead)
{
    begin();
    int c = codelet("c", EMU), d = data(20, true), home = codelet("home", CPU);
    task(c, 1, THRUM_MODE_R, d, 0, 0);
    task(c, 1, THRUM_MODE_RW, d, 0, 0);
    task(home, 1, THRUM_MODE_R, d, 0, 0);
    char lines[300];
    snprintf(lines, sizeof lines, "%s\n%s", small, overhead);
    thrum_sim_result *r = run_on(lines, NULL, 0);
    double makespan = r->makespan;
    thrum_sim_result_free(r);
    return makespan;
}

TEST(a_copy_is_paid_for_by_the_worker_that_asks_for_it)
{
    assert_near(there_and_back("overhead copy.gpu=2s copy.cpu=5s"), 3 + (1 + 2) + 1 + 3 + (1 + 5));
}

TEST(so_are_the_bytes_of_a_copy)
{
    assert_near(there_and_back("overhead moved.gpu=0.1s moved.cpu=0.25s"), 3 + (1 + 2) + 1 + 3 + (1 + 5));
}

TEST(bytes_of_a_copy_may_cost_a_codelet_more_than_others)
{
    assert_near(there_and_back("overhead moved.gpu=0.04s\nspeed c gpu=1 moved.gpu=0.06s\n"
                               "speed home cpu=1 moved.cpu=0.25s moved.gpu=7s"),
                3 + (1 + 2) + 1 + 3 + (1 + 5));
}

/* dmda has data brought ahead of time when a task is pushed: whoever inserts pays nothing here, who ends a task
 * does. */
TEST(a_prefetch_is_paid_for_by_the_worker_that_pushed)
{
    begin();
    int c = codelet("c", EMU), first = codelet("first", CPU), d = data(20, true);
    task(first, 1, THRUM_MODE_RW, d, 0, 0);
    task(c, 1, THRUM_MODE_R, d, 0, 0);
    task(first, 1, THRUM_MODE_RW, data(20, true), 0, 0);
    task(first, 1, THRUM_MODE_RW, data(20, true), 0, 0);
    char lines[300];
    snprintf(lines, sizeof lines, "cores count=1\n%s\noverhead copy.cpu=5s", strchr(small, '\n') + 1);
    thrum_sim_result *r = run_on(lines, "dmda", 0);
    assert_near(r->makespan, 1 + (1 + 5) + 1);
    assert_near(r->workers[1].busy, 1);
    thrum_sim_result_free(r);
}

/* Two GPUs without a way to each other. The second is busy for 40 s when the first has written what a task there is
 * going to read: it is at home at 12 and there at 23, long before that task is popped. */
TEST(a_prefetch_through_the_host_goes_all_the_way)
{
    begin();
    int on_gpu = codelet("g", EMU), a = data(100, false);
    thrum_workload_access access[] = {{a, THRUM_MODE_W}};
    thrum_workload_task pinned = {
        .codelet = on_gpu, .work = 40, .worker = 1, .bucket = THRUM_NO_BUCKET, .access = access};
    add(&pinned);
    pinned = (thrum_workload_task){
        .codelet = on_gpu, .work = 1, .worker = 0, .bucket = THRUM_NO_BUCKET, .access = access, .access_count = 1};
    add(&pinned);
    access[0].mode = THRUM_MODE_R;
    pinned.worker = 1;
    add(&pinned);
    thrum_sim_result *r =
        run_on("device gpu count=2 arch=emu workers=1 bandwidth=10B/s latency=1s peer=no\nspeed * gpu=1", "dmda", 0);
    assert_near(r->makespan, 41);
    assert_link(r, 1, 0, 1, 100);
    assert_link(r, 0, 2, 1, 100);
    thrum_sim_result_free(r);
}

/* ---- Tasks that come one by one ---------------------------------------------------------------------------------- */

static const char inserted[] = "cores count=2\nspeed * cpu=1\ninsert task=2s access=0.5s";

/* They come at 2, 4 and 6 s; the last one takes 1 s. */
TEST(a_task_runs_when_it_has_been_inserted)
{
    begin();
    int c = codelet("c", CPU);
    plain(c, 1);
    plain(c, 3);
    plain(c, 1);
    thrum_sim_result *r = run_on(inserted, NULL, 0);
    assert_near(r->makespan, 7);
    assert_near(r->workers[0].busy + r->workers[1].busy, 5);
    assert_int_equal(r->events, 6);
    thrum_sim_result_free(r);
}

/* At 2.5 s comes what writes, at 5 s what reads, which waits for its end at 12.5 s. The other is there at 7.5 s. */
TEST(what_waits_runs_when_it_is_inserted_and_ready)
{
    begin();
    int c = codelet("c", CPU), d = data(8, true);
    task(c, 10, THRUM_MODE_W, d, 0, 0);
    task(c, 1, THRUM_MODE_R, d, 0, 0);
    task(c, 1, THRUM_MODE_R, data(8, true), 0, 0);
    thrum_sim_result *r = run_on(inserted, NULL, 0);
    assert_near(r->makespan, 13.5);
    thrum_sim_result_free(r);
    begin();
    c = codelet("c", CPU), d = data(8, true);
    task(c, 1, THRUM_MODE_W, d, 0, 0);
    task(c, 1, THRUM_MODE_R, d, 0, 0); /* its predecessor has ended long before it comes */
    r = run_on(inserted, NULL, 0);
    assert_near(r->makespan, 6);
    thrum_sim_result_free(r);
}

/* A worker takes the one with the highest priority of those that are there. With a window of two the third comes when
 * both have ended: less than half of the window must be open. */
static double urgent_last(const char *lines)
{
    begin();
    int c = codelet("c", CPU);
    for (int i = 0; i < 4; i++)
        add(&(thrum_workload_task){
            .codelet = c, .work = 1 + i, .priority = i, .worker = -1, .bucket = THRUM_NO_BUCKET});
    thrum_sim_result *r = run_on(lines, "prio", 0);
    double makespan = r->makespan;
    thrum_sim_result_free(r);
    return makespan;
}

/* 1, 5 and 5 s: the third waits for the second, too. */
TEST(a_full_window_is_emptied_by_half_before_more_come)
{
    begin();
    int c = codelet("c", CPU);
    plain(c, 1);
    plain(c, 5);
    plain(c, 5);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1\ninsert window=2", NULL, 0);
    assert_near(r->makespan, 10);
    thrum_sim_result_free(r);
}

TEST(no_more_tasks_are_seen_than_the_window_has)
{
    /* Of 4, 3, 2 and 1 s, as one worker after the other is free; or 2 and 1 s first, and when both have ended 4 and
     * 3. */
    assert_near(urgent_last("cores count=2\nspeed * cpu=1"), 5);
    assert_near(urgent_last("cores count=2\nspeed * cpu=1\ninsert window=4"), 5);
    assert_near(urgent_last("cores count=2\nspeed * cpu=1\ninsert window=2"), 6);
    assert_near(urgent_last("cores count=1\nspeed * cpu=1\ninsert window=1"), 10);
}

TEST(a_task_can_say_itself_how_long_it_takes)
{
    begin();
    int c = codelet("both", CPU | EMU);
    add(&(thrum_workload_task){.codelet = c, .work = 3, .worker = 0, .bucket = -1, .seconds = {7, 0}});
    thrum_sim_result *r = run_on(small, "fifo", 0);
    assert_near(r->makespan, 7);
    assert_near(r->critical_path, 7);
    thrum_sim_result_free(r);
}

/* ---- Noise and seeds --------------------------------------------------------------------------------------------- */

static const char noisy[] =
    "cores count=3\ndevice gpu count=2 arch=emu workers=2 bandwidth=1MB/s latency=1ms memory=5KB\n"
    "root bandwidth=1.5MB/s\nspeed * cpu=1000 gpu=5000\nnoise normal:1,0.1";

static void fill_random(uint64_t seed, int tasks, bool pins)
{
    struct random random = random_new(seed);
    enum { PIECES = 12 };
    int kinds[3] = {codelet("cpu", CPU), codelet("emu", EMU), codelet("both", CPU | EMU)}, pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        pieces[i] = data(random_between(&random, 0, 1500), true);
    for (int i = 0; i < tasks; i++) {
        thrum_workload_access access[3];
        int count = (int)random_below(&random, 4), kind = (int)random_below(&random, 4);
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        for (int j = 0; j < count; j++)
            access[j] = (thrum_workload_access){pieces[(random_below(&random, PIECES / 3) * 3 + (size_t)j) % PIECES],
                                                (enum thrum_mode)random_between(&random, 1, 6)};
        int pin = kind < 3 && pins && random_chance(&random, 10) ? (kind == 1 ? 4 : 2) : -1;
        add(&(thrum_workload_task){.name = name,
                                   .codelet = kinds[kind > 2 ? 2 : kind],
                                   .work = (double)random_between(&random, 0, 30),
                                   .priority = (int)random_below(&random, 5),
                                   .bucket = random_chance(&random, 20) ? (int)random_below(&random, 3) : -1,
                                   .worker = pin,
                                   .access = access,
                                   .access_count = count});
    }
}

static bool same(const thrum_sim_result *a, const thrum_sim_result *b)
{
    return a->makespan == b->makespan && a->bytes == b->bytes && a->events == b->events && a->area == b->area &&
           a->critical_path == b->critical_path &&
           memcmp(a->workers, b->workers, (size_t)a->worker_count * sizeof *a->workers) == 0 &&
           a->link_count == b->link_count && memcmp(a->links, b->links, (size_t)a->link_count * sizeof *a->links) == 0;
}

TEST(equal_seeds_give_equal_results)
{
    thrum_machine *machine = machine_of(noisy);
    begin();
    fill_random(5, 300, true);
    const char *const policies[] = {"laheteroprio;formula=auto", "random", "dmda", "ws"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        thrum_sim sim = {.machine = machine, .workload = workload, .policy = policies[i], .seed = 7, .ahead = 1};
        thrum_sim_result *a = run(&sim), *b = run(&sim);
        sim.seed = 8;
        thrum_sim_result *c = run(&sim);
        assert_true(same(a, b));
        assert_false(same(a, c));
        thrum_sim_result_free(a);
        thrum_sim_result_free(b);
        thrum_sim_result_free(c);
    }
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* Any number of runs at the same time: each gives what it gives alone. */
enum { TOGETHER = 12 };
static struct {
    thrum_sim sim;
    thrum_sim_result *results[TOGETHER];
    int errors;
} together;

static void simulate_some(size_t begin_at, size_t end_at, void *ctx)
{
    (void)ctx;
    for (size_t i = begin_at; i < end_at; i++) {
        thrum_sim sim = together.sim;
        sim.seed = i / 3;
        sim.policy = i % 3 == 0 ? "laheteroprio" : i % 3 == 1 ? "dmdas" : "lws";
        if (thrum_simulate(&sim, &together.results[i]))
            __atomic_add_fetch(&together.errors, 1, __ATOMIC_RELAXED);
    }
}

TEST(runs_at_the_same_time_do_not_disturb_each_other)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 4});
    thrum_machine *machine = machine_of(noisy);
    thrum_sim_result *alone[TOGETHER];
    assert_non_null(ex);
    begin();
    fill_random(9, 200, true);
    together.sim = (thrum_sim){.machine = machine, .workload = workload, .ahead = 1};
    simulate_some(0, TOGETHER, NULL);
    memcpy(alone, together.results, sizeof alone);
    assert_int_equal(thrum_for_each(ex, TOGETHER, 1, simulate_some, NULL), 0);
    assert_int_equal(together.errors, 0);
    for (int i = 0; i < TOGETHER; i++) {
        assert_true(same(alone[i], together.results[i]));
        thrum_sim_result_free(alone[i]);
        thrum_sim_result_free(together.results[i]);
    }
    thrum_workload_free(workload);
    thrum_machine_free(machine);
    thrum_executor_free(ex);
}

/* The time of a task depends on the seed and its number alone: with one worker all policies have the same makespan, but
 * for rounding, and the bounds are those of what was drawn. */
TEST(noise_does_not_depend_on_the_order)
{
    thrum_machine *machine = machine_of("cores count=1\nspeed * cpu=10\nnoise normal:1,0.2");
    begin();
    int c = codelet("c", CPU);
    for (int i = 0; i < 50; i++)
        add(&(thrum_workload_task){.codelet = c, .work = 10, .priority = i % 7, .worker = -1, .bucket = -1});
    thrum_sim sim = {.machine = machine, .workload = workload, .policy = "fifo", .seed = 3};
    thrum_sim_result *a = run(&sim);
    sim.policy = "prio";
    thrum_sim_result *b = run(&sim);
    assert_near(a->makespan, b->makespan);
    assert_near(a->area, a->makespan);
    assert_true(fabs(a->makespan - 50) > 0.01 && fabs(a->makespan - 50) < 10);
    assert_true(a->critical_path > 1.1 && a->critical_path < 2);
    thrum_sim_result_free(a);
    thrum_sim_result_free(b);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* On one worker of either kind, which are equally fast. */
TEST(noise_does_not_depend_on_the_place)
{
    thrum_machine *machine = machine_of("cores count=1\ndevice gpu count=1 arch=emu workers=1 bandwidth=1GB/s\n"
                                        "speed * cpu=10 gpu=10\nnoise normal:1,0.2");
    double makespan[2];
    for (int worker = 0; worker < 2; worker++) {
        begin();
        int c = codelet("c", CPU | EMU);
        for (int i = 0; i < 20; i++)
            add(&(thrum_workload_task){.codelet = c, .work = 10, .worker = worker, .bucket = -1});
        thrum_sim_result *result = run(&(thrum_sim){.machine = machine, .workload = workload, .seed = 3});
        assert_int_equal(result->workers[worker].tasks, 20);
        makespan[worker] = result->makespan;
        thrum_sim_result_free(result);
        thrum_workload_free(workload);
    }
    assert_near(makespan[0], makespan[1]);
    assert_true(fabs(makespan[0] - 20) > 0.01);
    thrum_machine_free(machine);
}

/* ---- Every policy ------------------------------------------------------------------------------------------------ */

/* A policy around another one that looks at what happens: tasks are pushed and popped once, when all that they wait for
 * have ended, and what a task has written is where it ran and nowhere else. Names of tasks are their numbers. */
enum { WATCHED_MOST = 400 };
static struct {
    const thrum_policy *inner;
    const char *settings;
    bool limited; /* memory is: so what is read may have been thrown out */
    int count, ended;
    bool pushed[WATCHED_MOST], popped[WATCHED_MOST], done[WATCHED_MOST];
    thrum_workload_access access[WATCHED_MOST][3];
    int access_count[WATCHED_MOST];
    char wrong[200];
} watched;

static int number_of(const thrum_job *job)
{
    return atoi(job->name);
}

static void complain(const char *what, int number)
{
    if (!*watched.wrong)
        snprintf(watched.wrong, sizeof watched.wrong, "task %d: %s", number, what);
}

static int watch_begin(void *state, const thrum_world *world)
{
    thrum_world copy = *world;
    (void)copy;
    return watched.inner->begin ? watched.inner->begin(state, world) : 0;
}

static void watch_end(void *state, const thrum_world *world)
{
    if (watched.inner->end)
        watched.inner->end(state, world);
}

static bool conflict(enum thrum_mode a, enum thrum_mode b)
{
    if (a == THRUM_MODE_SCRATCH || b == THRUM_MODE_SCRATCH)
        return false;
    return a != b || a == THRUM_MODE_W || a == THRUM_MODE_RW;
}

static bool both_use(int i, int j)
{
    for (int a = 0; a < watched.access_count[i]; a++)
        for (int b = 0; b < watched.access_count[j]; b++)
            if (watched.access[i][a].data == watched.access[j][b].data &&
                conflict(watched.access[i][a].mode, watched.access[j][b].mode))
                return true;
    return false;
}

static void watch_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    int number = number_of(job);
    if (watched.pushed[number])
        complain("pushed twice", number);
    watched.pushed[number] = true;
    for (int before = 0; before < number; before++)
        if (!watched.done[before] && both_use(before, number))
            complain("pushed though a task before it has not ended", number);
    if (job->link || job->key != 0 || job->mark)
        complain("pushed with what is not zero", number);
    watched.inner->push(state, world, job, from);
}

static thrum_job *watch_pop(void *state, const thrum_world *world, int worker)
{
    thrum_job *job = watched.inner->pop(state, world, worker);
    if (!job)
        return NULL;
    int number = number_of(job);
    if (!watched.pushed[number] || watched.popped[number])
        complain("popped twice, or not pushed", number);
    watched.popped[number] = true;
    return job;
}

static void watch_data(const thrum_world *world, const thrum_job *job, int node)
{
    for (int i = 0; i < job->data_count; i++) {
        const thrum_job_data *d = &job->data[i];
        bool writes = d->mode != THRUM_MODE_R && d->mode != THRUM_MODE_SCRATCH,
             here = world->is_on(world, d->data, node);
        if (d->mode != THRUM_MODE_SCRATCH && !here && (writes || !watched.limited))
            complain("what it used is not where it ran", number_of(job));
        for (int other = 0; writes && other < world->nodes; other++)
            if (other != node && world->is_on(world, d->data, other))
                complain("what it wrote is also elsewhere", number_of(job));
    }
}

static void watch_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    int number = number_of(job);
    if (!watched.popped[number] || watched.done[number] || seconds < 0)
        complain("done twice, or not popped", number);
    watched.done[number] = true;
    watched.ended++;
    watch_data(world, job, world->place[worker].node);
    if (watched.inner->done)
        watched.inner->done(state, world, job, worker, seconds);
}

static const thrum_policy watching = {.name = "watching",
                                      .about = "looks at another one",
                                      .state_bytes = 1 << 16,
                                      .begin = watch_begin,
                                      .end = watch_end,
                                      .push = watch_push,
                                      .pop = watch_pop,
                                      .done = watch_done};

/* The same tasks as fill_random makes, once more for the watcher. */
static void watch_access(int number, const thrum_workload_access *access, int count)
{
    watched.access_count[number] = count;
    for (int i = 0; i < count; i++)
        watched.access[number][i] = access[i];
}

static void fill_watched(uint64_t seed, int tasks)
{
    struct random random = random_new(seed);
    enum { PIECES = 10 };
    int kinds[3] = {codelet("cpu", CPU), codelet("emu", EMU), codelet("both", CPU | EMU)};
    for (int i = 0; i < PIECES; i++)
        data(random_between(&random, 0, 1500), true);
    for (int i = 0; i < tasks; i++) {
        thrum_workload_access access[3];
        int count = (int)random_below(&random, 4);
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        for (int j = 0; j < count; j++)
            access[j] = (thrum_workload_access){(int)random_below(&random, 3) * 3 + j,
                                                (enum thrum_mode)random_between(&random, 1, 6)};
        watch_access(i, access, count);
        add(&(thrum_workload_task){.name = name,
                                   .codelet = kinds[random_below(&random, 3)],
                                   .work = (double)random_between(&random, 0, 30),
                                   .priority = (int)random_below(&random, 5),
                                   .bucket = -1,
                                   .worker = -1,
                                   .access = access,
                                   .access_count = count});
    }
}

static void watch_one(const thrum_policy *policy, uint64_t seed)
{
    static const char *const machines[] = {
        "cores count=3\ndevice gpu count=2 arch=emu workers=2 bandwidth=1MB/s latency=1ms\nspeed * cpu=1000 gpu=5000",
        noisy,
        "hosts count=2\ncores count=2\ndevice gpu count=1 arch=emu workers=3 bandwidth=1MB/s latency=1ms memory=6KB\n"
        "device fast count=1 arch=emu workers=1 bandwidth=2MB/s latency=1ms memory=6KB peer=yes\n"
        "network bandwidth=1MB/s latency=2ms\nspeed * cpu=1000 gpu=5000 fast=8000\nnoise normal:1,0.3"};
    size_t which = seed % COUNT_OF(machines);
    memset(&watched, 0, sizeof watched);
    watched.inner = policy;
    watched.limited = which > 0;
    thrum_machine *machine = machine_of(machines[which]);
    begin();
    fill_watched(seed, 150);
    thrum_sim_result *r = run(&(thrum_sim){
        .machine = machine, .workload = workload, .policy = "watching", .seed = seed, .ahead = (int)(seed % 4)});
    if (*watched.wrong)
        print_error("%s, seed %llu: %s\n", policy->name, (unsigned long long)seed, watched.wrong);
    assert_string_equal(watched.wrong, "");
    assert_int_equal(watched.ended, 150);
    for (int i = 0; i < r->node_count && watched.limited; i++)
        assert_true(r->nodes[i].most_used <= 6000);
    thrum_sim_result_free(r);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

TEST(every_policy_does_all_tasks_once_and_in_order)
{
    const thrum_policy *policy;
    assert_int_equal(thrum_policy_register(&watching), 0);
    for (int i = 0; (policy = thrum_policy_at(i)) && policy != &watching; i++) {
        assert_true(policy->state_bytes <= watching.state_bytes);
        for (uint64_t seed = 1; seed <= 30; seed++)
            watch_one(policy, seed);
    }
}

/* ---- Policies that break their contract -------------------------------------------------------------------------- */

enum { MINE = 64 };
typedef struct bad {
    thrum_job *jobs[MINE];
    int count, popped;
    thrum_job *last;
} bad;

static void bad_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    bad *b = state;
    (void)from;
    b->jobs[b->count++] = job;
    world->wake(world, THRUM_ANY_WORKER);
}

static thrum_job *bad_take(bad *b)
{
    return b->popped < b->count ? b->jobs[b->popped++] : NULL;
}

static thrum_job *pop_without_looking(void *state, const thrum_world *world, int worker)
{
    (void)world, (void)worker;
    return bad_take(state);
}

static thrum_job *pop_twice(void *state, const thrum_world *world, int worker)
{
    bad *b = state;
    (void)world, (void)worker;
    thrum_job *job = b->last ? b->last : bad_take(b);
    b->last = job;
    return job;
}

static thrum_job *pop_all_but_one(void *state, const thrum_world *world, int worker)
{
    bad *b = state;
    (void)world, (void)worker;
    return b->popped + 1 < b->count ? bad_take(b) : NULL;
}

static thrum_job *pop_nothing_real(void *state, const thrum_world *world, int worker)
{
    static thrum_job made_up;
    (void)state, (void)world, (void)worker;
    return &made_up;
}

static void lose(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)state, (void)world, (void)job, (void)from;
}

static const thrum_policy
    careless = {.name = "careless", .state_bytes = sizeof(bad), .push = bad_push, .pop = pop_without_looking},
    twice = {.name = "twice", .state_bytes = sizeof(bad), .push = bad_push, .pop = pop_twice},
    keeper = {.name = "keeper", .state_bytes = sizeof(bad), .push = bad_push, .pop = pop_all_but_one},
    inventor = {.name = "inventor", .state_bytes = sizeof(bad), .push = bad_push, .pop = pop_nothing_real},
    loser = {.name = "loser", .state_bytes = sizeof(bad), .push = lose, .pop = pop_without_looking};

static void expect_verdict(const thrum_policy *policy, const char *sentence)
{
    thrum_sim_result *result = (thrum_sim_result *)(uintptr_t)1;
    thrum_machine *machine = machine_of(small);
    assert_int_equal(thrum_policy_register(policy), 0);
    begin();
    int on_gpu = codelet("g", EMU);
    plain(on_gpu, 1);
    plain(on_gpu, 2);
    thrum_sim sim = {.machine = machine, .workload = workload, .policy = policy->name};
    assert_error(thrum_simulate(&sim, &result), THRUM_EPOLICY, sentence);
    assert_true(result == (thrum_sim_result *)(uintptr_t)1);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* Waking any worker finds one that can run the task; only who pops for all is careless. */
static void careless_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    bad_push(state, world, job, from);
    world->wake(world, 0);
}

TEST(a_policy_that_breaks_its_contract_is_told_so)
{
    static thrum_policy wrong;
    wrong = careless;
    wrong.push = careless_push;
    wrong.name = "wrong";
    expect_verdict(&wrong, "policy 'wrong' popped task 'g' for worker");
    assert_contains(thrum_message(NULL), "cannot run it");
    expect_verdict(&twice, "policy 'twice' popped task 'g' twice");
    expect_verdict(&keeper, "policy 'keeper' keeps 1 task, the first 'g', and gives it to no worker");
    expect_verdict(&inventor, "policy 'inventor' gave worker 2, which is gpu 0, a task that was never pushed");
    expect_verdict(&loser, "policy 'loser' keeps 2 tasks, the first 'g', and gives them to no worker");
}

static void refuse_all(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)state, (void)from;
    world->refuse(world, job, 77, "this one not");
}

TEST(a_task_that_the_policy_refuses_fails_the_run)
{
    static const thrum_policy choosy = {.name = "choosy", .push = refuse_all, .pop = pop_nothing_real};
    thrum_sim_result *result;
    thrum_machine *machine = machine_of(small);
    assert_int_equal(thrum_policy_register(&choosy), 0);
    begin();
    plain(codelet("g", EMU), 1);
    thrum_sim sim = {.machine = machine, .workload = workload, .policy = "choosy"};
    assert_error(thrum_simulate(&sim, &result), 77, "this one not");
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* A policy may wake the wrong one, if everybody is asked once more before it is accused. */
static void forgetful_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    bad *b = state;
    (void)world, (void)from;
    b->jobs[b->count++] = job;
}

TEST(a_policy_that_wakes_nobody_is_asked_once_more)
{
    static const thrum_policy forgetful = {
        .name = "forgetful", .state_bytes = sizeof(bad), .push = forgetful_push, .pop = pop_without_looking};
    assert_int_equal(thrum_policy_register(&forgetful), 0);
    begin();
    int c = codelet("c", CPU), a = data(8, true);
    task(c, 1, THRUM_MODE_RW, a, 0, 0);
    task(c, 1, THRUM_MODE_RW, a, 0, 0);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "forgetful", 0);
    assert_near(r->makespan, 2);
    thrum_sim_result_free(r);
}

/* ---- Idle, and why ----------------------------------------------------------------------------------------------- */

/* A policy that gives worker 1 nothing before a task has ended. */
static thrum_job *pop_late(void *state, const thrum_world *world, int worker)
{
    bad *b = state;
    if (worker == 1 && !b->last)
        return NULL;
    for (int i = 0; i < b->count; i++) {
        thrum_job *job = b->jobs[i];
        if (!job || !world->can_run(world, job, worker))
            continue;
        b->jobs[i] = NULL;
        return job;
    }
    return NULL;
}

static void late_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    bad *b = state;
    (void)worker, (void)seconds;
    b->last = (thrum_job *)(uintptr_t)job;
    world->wake(world, 1);
}

static const thrum_policy late = {
    .name = "late", .state_bytes = sizeof(bad), .push = bad_push, .pop = pop_late, .done = late_done};

/* Worker 0 runs from 0 to 2 and to 5, worker 1 from 2 to 3. It was held for 2 s, and finished when the last task began,
 * at 2. */
TEST(a_worker_is_held_while_something_is_ready_that_it_does_not_get)
{
    assert_int_equal(thrum_policy_register(&late), 0);
    begin();
    int c = codelet("c", CPU);
    plain(c, 2);
    plain(c, 3);
    plain(c, 1);
    thrum_sim_result *r = run_on("cores count=2\nspeed * cpu=1", "late", 0);
    assert_near(r->makespan, 5);
    assert_near(r->workers[0].busy, 5);
    assert_near(r->workers[1].held, 2);
    assert_near(r->workers[1].busy, 1);
    assert_near(r->workers[1].starved, 0);
    assert_near(r->workers[1].finished, 2);
    assert_true(r->workers[1].refused >= 1);
    thrum_sim_result_free(r);
}

/* The same where the task is for worker 1 alone; for worker 0 there is nothing after its own. */
TEST(what_is_ready_for_one_worker_holds_that_one)
{
    begin();
    int c = codelet("c", CPU);
    add(&(thrum_workload_task){.codelet = c, .work = 2, .worker = 0, .bucket = -1});
    add(&(thrum_workload_task){.codelet = c, .work = 3, .worker = 1, .bucket = -1});
    thrum_sim_result *r = run_on("cores count=3\nspeed * cpu=1", "late", 0);
    assert_near(r->makespan, 5);
    assert_near(r->workers[0].finished, 3);
    assert_near(r->workers[1].held, 2);
    assert_near(r->workers[1].busy, 3);
    assert_near(r->workers[2].held, 0);
    assert_near(r->workers[2].finished, 5);
    thrum_sim_result_free(r);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void expect_error(const char *lines, thrum_sim sim, int code, const char *sentence)
{
    thrum_sim_result *result = NULL;
    thrum_machine *machine = machine_of(lines);
    sim.machine = machine;
    sim.workload = workload;
    assert_error(thrum_simulate(&sim, &result), code, sentence);
    assert_null(result);
    thrum_machine_free(machine);
    thrum_workload_free(workload);
}

TEST(what_cannot_be_simulated_is_refused_with_a_sentence)
{
    thrum_sim_result *result = NULL;
    assert_error(thrum_simulate(NULL, &result), THRUM_EINVAL, "NULL");
    assert_error(thrum_simulate(&(thrum_sim){0}, NULL), THRUM_EINVAL, "NULL");
    assert_error(thrum_simulate(&(thrum_sim){0}, &result), THRUM_EINVAL, "machine");
    begin();
    plain(codelet("g", EMU), 1);
    expect_error("cores count=2\nspeed * cpu=1", (thrum_sim){0}, THRUM_EINVAL, "no worker that can run task 'g'");
    begin();
    plain(codelet("slow", CPU), 1);
    expect_error("cores count=2\nspeed other cpu=1", (thrum_sim){0}, THRUM_EINVAL, "'slow'");
    begin();
    plain(codelet("c", CPU), 1);
    expect_error(small, (thrum_sim){.policy = "laheteroprio;l=0"}, THRUM_EOPTION, "l=0");
    begin();
    plain(codelet("c", CPU), 1);
    expect_error(small, (thrum_sim){.policy = "nonsense"}, THRUM_EINVAL, "there is no policy 'nonsense'");
    begin();
    plain(codelet("c", CPU), 1);
    expect_error(small, (thrum_sim){.ahead = -1}, THRUM_EINVAL, "-1");
    begin();
    add(&(thrum_workload_task){.codelet = codelet("c", CPU), .work = 3, .worker = 9, .bucket = -1});
    expect_error(small, (thrum_sim){0}, THRUM_EINVAL, "worker 9");
    begin();
    add(&(thrum_workload_task){.codelet = codelet("c", CPU), .work = 3, .worker = 2, .bucket = -1});
    expect_error(small, (thrum_sim){0}, THRUM_EINVAL, "worker 2");
    begin();
    task(codelet("g", EMU), 1, THRUM_MODE_R, data(200, true), THRUM_MODE_SCRATCH, data(100, true));
    expect_error("device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s memory=299B\nspeed * gpu=1",
                 (thrum_sim){0}, THRUM_EDEVICE, "needs 300 B of memory at once, but gpu has 299 B");
    begin();
    int c = codelet("c", CPU), first = plain(c, 1), second = plain(c, 1);
    thrum_workload_add_edge(workload, first, second);
    thrum_workload_add_edge(workload, second, first);
    expect_error(small, (thrum_sim){0}, THRUM_ECYCLE,
                 "tasks that wait for each other: task 0 'c' waits for task 1 'c', that");
    begin();
    plain(codelet("c", CPU), 1);
    expect_error(small, (thrum_sim){.trace = "/nowhere/trace.json"}, THRUM_ESYSTEM, "/nowhere/trace.json");
}

/* ---- Reports and traces ------------------------------------------------------------------------------------------ */

static void note_pushed(void *arg, const char *key, double value)
{
    if (strcmp(key, "pushed") == 0)
        *(double *)arg = value;
}

TEST(a_policy_reports_what_it_has_counted)
{
    double pushed = 0;
    thrum_machine *machine = machine_of(small);
    begin();
    fill_random(1, 40, false);
    thrum_sim_result *r = run(&(thrum_sim){
        .machine = machine, .workload = workload, .policy = "laheteroprio", .report = note_pushed, .ctx = &pushed});
    assert_true(pushed == 40);
    thrum_sim_result_free(r);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

static void read_file(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

TEST(a_trace_is_that_of_a_real_run)
{
    char path[] = "/tmp/thrum-simulate-XXXXXX", text[4000];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    begin();
    int on_gpu = codelet("g", EMU), on_cpu = codelet("c", CPU), a = data(100, true);
    task(on_gpu, 5, THRUM_MODE_RW, a, 0, 0);
    task(on_cpu, 2, THRUM_MODE_R, a, 0, 0);
    thrum_machine *machine = machine_of(small);
    thrum_sim_result *r = run(&(thrum_sim){.machine = machine, .workload = workload, .policy = "fifo", .trace = path});
    read_file(path, text, sizeof text);
    assert_contains(text, "\"traceEvents\":[");
    assert_contains(text, "\"lost_events\":\"0\"");
    assert_contains(text, "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":11000000.000,\"dur\":5000000.000,\"name\":\"g\"");
    assert_contains(text, "\"ts\":27000000.000,\"dur\":2000000.000,\"name\":\"c\"");
    assert_contains(text, "\"args\":{\"name\":\"gpu 0 worker 0\"}");
    assert_contains(text, "\"args\":{\"name\":\"worker 1\"}");
    unlink(path);
    thrum_sim_result_free(r);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do_takes_no_time),
        cmocka_unit_test(one_worker_does_one_task_after_the_other),
        cmocka_unit_test(two_workers_share_the_tasks),
        cmocka_unit_test(tasks_wait_for_what_they_read),
        cmocka_unit_test(edges_hold_too),
        cmocka_unit_test(data_is_brought_to_where_it_is_used),
        cmocka_unit_test(data_is_brought_once_and_not_to_be_overwritten),
        cmocka_unit_test(copies_go_on_while_kernels_run),
        cmocka_unit_test(workers_of_a_device_share_it),
        cmocka_unit_test(devices_that_are_no_peers_copy_through_the_host),
        cmocka_unit_test(a_full_device_throws_out_what_was_used_longest_ago),
        cmocka_unit_test(what_was_used_last_stays),
        cmocka_unit_test(a_task_may_fill_a_device),
        cmocka_unit_test(tasks_that_do_not_fit_together_run_one_after_the_other),
        cmocka_unit_test(commuting_tasks_exclude_each_other),
        cmocka_unit_test(reductions_run_at_the_same_time),
        cmocka_unit_test(a_pinned_task_runs_where_it_is_pinned),
        cmocka_unit_test(a_task_runs_when_it_has_been_inserted),
        cmocka_unit_test(what_waits_runs_when_it_is_inserted_and_ready),
        cmocka_unit_test(memory_that_a_device_gives_to_data_is_paid_for_once),
        cmocka_unit_test(a_copy_is_paid_for_by_the_worker_that_asks_for_it),
        cmocka_unit_test(so_are_the_bytes_of_a_copy),
        cmocka_unit_test(bytes_of_a_copy_may_cost_a_codelet_more_than_others),
        cmocka_unit_test(a_prefetch_is_paid_for_by_the_worker_that_pushed),
        cmocka_unit_test(a_prefetch_through_the_host_goes_all_the_way),
        cmocka_unit_test(a_full_window_is_emptied_by_half_before_more_come),
        cmocka_unit_test(no_more_tasks_are_seen_than_the_window_has),
        cmocka_unit_test(a_task_can_say_itself_how_long_it_takes),
        cmocka_unit_test(equal_seeds_give_equal_results),
        cmocka_unit_test(runs_at_the_same_time_do_not_disturb_each_other),
        cmocka_unit_test(noise_does_not_depend_on_the_order),
        cmocka_unit_test(noise_does_not_depend_on_the_place),
        cmocka_unit_test(every_policy_does_all_tasks_once_and_in_order),
        cmocka_unit_test(a_policy_that_breaks_its_contract_is_told_so),
        cmocka_unit_test(a_task_that_the_policy_refuses_fails_the_run),
        cmocka_unit_test(a_policy_that_wakes_nobody_is_asked_once_more),
        cmocka_unit_test(a_worker_is_held_while_something_is_ready_that_it_does_not_get),
        cmocka_unit_test(what_is_ready_for_one_worker_holds_that_one),
        cmocka_unit_test(what_cannot_be_simulated_is_refused_with_a_sentence),
        cmocka_unit_test(a_policy_reports_what_it_has_counted),
        cmocka_unit_test(a_trace_is_that_of_a_real_run),
    };
    return RUN_TESTS(tests, 90);
}
