/* SPDX-License-Identifier: MIT
 *
 * Machines from the inside: what lines set, layouts with their ways, and how long tasks take.
 */
#include "test.h"

#include "base/fault.h"
#include "scarcity.h"
#include "sim/machine.h"

#include <locale.h>
#include <math.h>
#include <unistd.h>

static thrum_machine *machine_of(const char *lines)
{
    char text[2000];
    snprintf(text, sizeof text, "thrum-machine 1\n%s", lines);
    thrum_machine *machine = thrum_machine_parse(text, strlen(text), NULL);
    if (!machine)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(machine);
    return machine;
}

static const char two_gpus[] = "hosts count=1\n"
                               "cores count=4 lost-per-device=1\n"
                               "device gpu count=2 workers=3 memory=1GiB bandwidth=10GB/s latency=10us\n"
                               "root bandwidth=16GB/s\n";

/* ---- Layouts ----------------------------------------------------------------------------------------------------- */

TEST(cores_come_first_and_each_device_loses_one)
{
    thrum_machine *machine = machine_of(two_gpus);
    thrum__layout layout;
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    assert_int_equal(layout.worker_count, 2 + 2 * 3);
    assert_int_equal(layout.node_count, 3);
    assert_int_equal(layout.device_count, 2);
    for (int i = 0; i < layout.worker_count; i++) {
        const thrum__site *site = &layout.workers[i];
        int device = i < 2 ? -1 : (i - 2) / 3;
        assert_int_equal(site->place.worker, i);
        assert_int_equal(site->place.arch, i < 2 ? THRUM_ARCH_CPU : THRUM_ARCH_EMU);
        assert_int_equal(site->place.node, device + 1);
        assert_int_equal(site->place.device, device);
        assert_int_equal(site->core_of, device);
        assert_int_equal(site->kind, i < 2 ? THRUM__CORE : 0);
        assert_int_equal(layout.places[i].node, device + 1);
    }
    assert_int_equal(layout.memory[0], 0);
    assert_int_equal(layout.memory[2], (size_t)1 << 30);
    assert_int_equal(layout.node_kind[0], THRUM__CORE);
    assert_int_equal(layout.node_kind[1], 0);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

static const thrum__way *way(const thrum__layout *layout, int from, int to)
{
    return &layout->ways[from * layout->node_count + to];
}

TEST(a_way_to_a_device_passes_the_root_and_the_line_of_its_link)
{
    thrum_machine *machine = machine_of(two_gpus);
    thrum__layout layout;
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    const thrum__way *down = way(&layout, 0, 1), *up = way(&layout, 1, 0), *other = way(&layout, 0, 2);
    assert_int_equal(down->count, 2);
    assert_int_equal(up->count, 2);
    assert_int_equal(down->via, -1);
    assert_true(down->latency == 10e-6);
    assert_true(layout.channels[down->channel[0]].bandwidth == 16e9);
    assert_false(layout.channels[down->channel[0]].line);
    assert_true(layout.channels[down->channel[1]].bandwidth == 10e9);
    assert_true(layout.channels[down->channel[1]].line);
    assert_int_equal(down->channel[0], other->channel[0]); /* one root for both */
    assert_int_not_equal(down->channel[1], other->channel[1]);
    assert_int_not_equal(up->channel[0], down->channel[1]); /* each way its own */
    assert_int_not_equal(up->channel[1], down->channel[0]);
    assert_int_equal(way(&layout, 1, 2)->via, 0);
    assert_int_equal(way(&layout, 1, 1)->count, 0);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

TEST(peers_copy_past_the_host)
{
    thrum_machine *machine = machine_of(two_gpus);
    thrum__layout layout;
    assert_int_equal(thrum_machine_apply(machine, "device gpu peer=yes", NULL), 0);
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    const thrum__way *across = way(&layout, 1, 2);
    assert_int_equal(across->via, -1);
    assert_int_equal(across->count, 2);
    assert_int_equal(across->channel[0], way(&layout, 1, 0)->channel[0]);
    assert_int_equal(across->channel[1], way(&layout, 0, 2)->channel[1]);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

TEST(between_hosts_a_copy_stops_at_both)
{
    thrum_machine *machine = machine_of("hosts count=2\ncores count=1\ndevice gpu count=2 bandwidth=1GB/s\n"
                                        "network bandwidth=5GB/s latency=2us\n");
    thrum__layout layout;
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    assert_int_equal(layout.node_count, 6); /* hosts 0 and 1; devices 2, 3 of host 0 and 4, 5 of host 1 */
    assert_int_equal(way(&layout, 2, 5)->via, 0);
    assert_int_equal(way(&layout, 0, 5)->via, 1);
    assert_int_equal(way(&layout, 1, 5)->via, -1);
    assert_int_equal(way(&layout, 5, 0)->via, 1);
    assert_int_equal(way(&layout, 1, 0)->via, -1);
    const thrum__way *there = way(&layout, 0, 1), *back = way(&layout, 1, 0);
    assert_int_equal(there->count, 2);
    assert_true(there->latency == 2e-6);
    assert_true(layout.channels[there->channel[0]].bandwidth == 5e9);
    assert_int_not_equal(there->channel[0], back->channel[1]);
    assert_int_not_equal(there->channel[1], back->channel[0]);
    assert_int_equal(layout.workers[0].host, 0);
    assert_int_equal(layout.workers[1].host, 1);
    assert_int_equal(layout.workers[5].host, 1);
    assert_int_equal(layout.workers[5].place.node, 5);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

TEST(each_host_has_a_root_of_its_own)
{
    thrum_machine *machine = machine_of("hosts count=2\ncores count=1\ndevice gpu count=2 bandwidth=1GB/s\n"
                                        "root bandwidth=2GB/s\nnetwork bandwidth=5GB/s latency=1us");
    thrum__layout layout;
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    assert_int_equal(way(&layout, 0, 2)->channel[0], way(&layout, 0, 3)->channel[0]); /* 2 and 3 are of host 0 */
    assert_int_equal(way(&layout, 1, 4)->channel[0], way(&layout, 1, 5)->channel[0]);
    assert_int_not_equal(way(&layout, 0, 2)->channel[0], way(&layout, 1, 4)->channel[0]);
    assert_int_equal(way(&layout, 4, 1)->channel[1], way(&layout, 5, 1)->channel[1]);
    assert_int_not_equal(way(&layout, 2, 0)->channel[1], way(&layout, 4, 1)->channel[1]);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

TEST(what_has_no_limit_stands_on_no_way)
{
    thrum_machine *machine = machine_of("cores count=1\ndevice gpu bandwidth=unlimited latency=3us\n");
    thrum__layout layout;
    assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
    assert_int_equal(way(&layout, 0, 1)->count, 0);
    assert_true(way(&layout, 0, 1)->latency == 3e-6);
    thrum__machine_layout_drop(&layout);
    thrum_machine_free(machine);
}

TEST(a_machine_without_workers_is_laid_out_by_nobody)
{
    thrum_machine *machine = machine_of("cores count=0\n");
    thrum__layout layout;
    assert_error(thrum__machine_layout_make(machine, &layout), THRUM_EINVAL, "has no worker");
    thrum_machine_free(machine);
}

TEST(workers_by_number_agree_with_the_layout)
{
    const char *name = NULL;
    for (int i = 0; (name = thrum_machine_at(i, NULL)); i++) {
        thrum_machine *machine = thrum_machine_open(name);
        thrum__layout layout;
        assert_non_null(machine);
        assert_int_equal(thrum__machine_layout_make(machine, &layout), 0);
        for (int worker = 0; worker < layout.worker_count; worker++) {
            thrum_place place;
            assert_int_equal(thrum_machine_worker(machine, worker, &place, NULL), 0);
            assert_int_equal(place.worker, worker);
            assert_int_equal(place.arch, layout.places[worker].arch);
            assert_int_equal(place.node, layout.places[worker].node);
            assert_int_equal(place.device, layout.places[worker].device);
        }
        thrum__machine_layout_drop(&layout);
        thrum_machine_free(machine);
    }
}

/* ---- How long tasks take ----------------------------------------------------------------------------------------- */

static double seconds(const thrum_machine *machine, const char *codelet, int kind, double work, double bytes)
{
    return thrum__machine_seconds(machine, thrum__machine_speed(machine, codelet, kind),
                                  &(thrum__amount){work, bytes, bytes / 4, 1000, 2}, kind);
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

TEST(time_is_what_is_fixed_and_bytes_and_work)
{
    thrum_machine *machine = machine_of("cores count=1\ndevice gpu bandwidth=1GB/s\n"
                                        "speed gemm cpu=2e9 gpu=1T/s fixed.cpu=1us per-byte.cpu=0.1ns\n"
                                        "speed * cpu=5M\noverhead cpu=2us gpu=10us\n");
    assert_near(seconds(machine, "gemm", THRUM__CORE, 4e6, 1e4), 1e-6 + 1e-6 + 2e-3 + 2e-6);
    assert_near(seconds(machine, "gemm", 0, 4e6, 1e4), 4e-6 + 10e-6);
    assert_near(seconds(machine, "trsm", THRUM__CORE, 5e6, 0), 1 + 2e-6);
    assert_true(seconds(machine, "trsm", 0, 5e6, 0) < 0);
    thrum_machine_free(machine);
}

TEST(accesses_and_scratch_memory_may_add_to_a_task)
{
    thrum_machine *machine =
        machine_of("cores count=1\ndevice gpu bandwidth=1GB/s\nspeed * cpu=1 gpu=1\n"
                   "overhead cpu=2us access.cpu=1us crowd.cpu=0.5 access.gpu=5us scratch.gpu=3ns\n");
    assert_near(seconds(machine, "x", THRUM__CORE, 0, 0), 6e-6); /* of two accesses, with a device beside it */
    assert_near(seconds(machine, "x", 0, 0, 0), 13e-6);
    thrum_machine_free(machine);
}

TEST(small_work_may_be_done_at_another_speed)
{
    thrum_machine *machine =
        machine_of("cores count=1\nspeed gemm cpu=1e9 small.cpu=2e9:1e6 fixed.cpu=1s per-byte.cpu=1us\n");
    assert_near(seconds(machine, "gemm", THRUM__CORE, 1e6, 1e3), 1 + 0.5e-3 + 1e-3);
    assert_near(seconds(machine, "gemm", THRUM__CORE, 1e7, 1e3), 1 + 1e-2 + 1e-3);
    assert_near(seconds(machine, "gemm", THRUM__CORE, 0, 0), 1);
    thrum_machine_free(machine);
}

TEST(a_byte_of_small_work_may_take_another_time)
{
    thrum_machine *machine = machine_of("cores count=1\nspeed gemm cpu=1e9 small.cpu=2e9:1e6:3us per-byte.cpu=1us\n");
    assert_near(seconds(machine, "gemm", THRUM__CORE, 1e6, 1e3), 0.5e-3 + 3e-3);
    assert_near(seconds(machine, "gemm", THRUM__CORE, 1e7, 1e3), 1e-2 + 1e-3);
    assert_int_equal(thrum_machine_apply(machine, "speed gemm small.cpu=2e9:1e6", NULL), 0);
    assert_near(seconds(machine, "gemm", THRUM__CORE, 1e6, 1e3), 0.5e-3 + 1e-3);
    thrum_machine_free(machine);
}

/* A quarter of the bytes are only read. */
TEST(bytes_that_are_only_read_may_take_longer)
{
    thrum_machine *machine = machine_of("cores count=1\nspeed life cpu=1e6 per-byte.cpu=1us per-read.cpu=8us\n");
    assert_near(seconds(machine, "life", THRUM__CORE, 1e6, 1e3), 1 + 1e-3 + 2e-3);
    thrum_machine_free(machine);
}

TEST(cores_slow_each_other_down_by_their_number)
{
    thrum_machine *machine = machine_of("cores count=3\nspeed life cpu=1e6 crowd.cpu=0.25\n");
    assert_near(seconds(machine, "life", THRUM__CORE, 1e6, 0), 1.5);
    assert_int_equal(thrum_machine_apply(machine, "cores count=1", NULL), 0);
    assert_near(seconds(machine, "life", THRUM__CORE, 1e6, 0), 1);
    thrum_machine_free(machine);
}

TEST(a_later_line_overrides_an_earlier_one)
{
    thrum_machine *machine = machine_of("cores count=1\nspeed x cpu=1e6 fixed.cpu=1s\ntime x cpu=const:3us\n");
    assert_near(seconds(machine, "x", THRUM__CORE, 1e6, 0), 3e-6);
    assert_int_equal(thrum_machine_apply(machine, "speed x cpu=1e3", NULL), 0);
    assert_near(seconds(machine, "x", THRUM__CORE, 1e3, 0), 1); /* what was fixed is forgotten with the times */
    assert_int_equal(thrum_machine_apply(machine, "speed x fixed.cpu=2s", NULL), 0);
    assert_near(seconds(machine, "x", THRUM__CORE, 1e3, 0), 3);
    thrum_machine_free(machine);
}

TEST(times_have_units_and_are_drawn)
{
    thrum_machine *machine = machine_of("cores count=1\ntime a cpu=gamma:4,2us\ntime b cpu=uniform:1ms,3ms\n"
                                        "time c cpu=const:5us\n");
    thrum__stream stream = thrum__stream_of(1, 0);
    assert_near(seconds(machine, "a", THRUM__CORE, 1, 1), 8e-6);
    assert_near(seconds(machine, "b", THRUM__CORE, 1, 1), 2e-3);
    const thrum__speed_row *a = thrum__machine_speed(machine, "a", THRUM__CORE);
    double sum = 0;
    for (int i = 0; i < 10000; i++)
        sum += thrum__machine_draw(machine, a, &(thrum__amount){1, 1, 0, 0, 1}, THRUM__CORE, &stream);
    assert_true(fabs(sum / 10000 - 8e-6) < 0.3e-6);
    const thrum__speed_row *c = thrum__machine_speed(machine, "c", THRUM__CORE);
    assert_near(thrum__machine_draw(machine, c, &(thrum__amount){1, 1, 0, 0, 1}, THRUM__CORE, &stream), 5e-6);
    thrum_machine_free(machine);
}

TEST(noise_multiplies_and_overheads_stay)
{
    thrum_machine *machine = machine_of("cores count=1\nspeed x cpu=1e6\noverhead cpu=1s\nnoise const:3\n");
    const thrum__speed_row *row = thrum__machine_speed(machine, "x", THRUM__CORE);
    thrum__stream stream = thrum__stream_of(1, 0);
    assert_near(thrum__machine_draw(machine, row, &(thrum__amount){1e6, 0, 0, 0, 0}, THRUM__CORE, &stream), 3 + 1);
    assert_int_equal(thrum_machine_apply(machine, "noise none", NULL), 0);
    uint64_t before = stream.state;
    row = thrum__machine_speed(machine, "x", THRUM__CORE);
    assert_near(thrum__machine_draw(machine, row, &(thrum__amount){1e6, 0, 0, 0, 0}, THRUM__CORE, &stream), 1 + 1);
    assert_true(stream.state == before);
    thrum_machine_free(machine);
}

TEST(a_codelet_without_a_speed_is_named_with_the_workers_that_lack_it)
{
    const unsigned cpu = 1u << THRUM_ARCH_CPU, emu = 1u << THRUM_ARCH_EMU;
    thrum_machine *machine =
        machine_of("cores count=2\ndevice gpu bandwidth=1GB/s\nspeed a cpu=1\nspeed b gpu=1 cpu=2\n");
    assert_int_equal(thrum__machine_check_speed(machine, "a", cpu), 0);
    assert_int_equal(thrum__machine_check_speed(machine, "b", cpu | emu), 0);
    assert_error(thrum__machine_check_speed(machine, "a", cpu | emu), THRUM_EINVAL,
                 "the text:3: nothing says how fast the codelet 'a' is on the workers 'gpu'");
    assert_error(thrum__machine_check_speed(machine, "c", cpu), THRUM_EINVAL, "'speed c cpu=1e9' would");
    assert_contains(thrum_message(NULL), "the text:2: ");
    assert_int_equal(thrum_machine_apply(machine, "device gpu count=0", NULL), 0);
    assert_int_equal(thrum__machine_check_speed(machine, "a", cpu | emu), 0); /* nobody is there who lacks it */
    assert_int_equal(thrum_machine_apply(machine, "speed * cpu=1", NULL), 0);
    assert_int_equal(thrum__machine_check_speed(machine, "c", cpu), 0);
    thrum_machine_free(machine);
}

/* ---- Round trips ------------------------------------------------------------------------------------------------- */

static bool same_overhead(const thrum__overhead *a, const thrum__overhead *b)
{
    return a->task == b->task && a->access == b->access && a->scratch == b->scratch && a->fresh == b->fresh &&
           a->copy == b->copy && a->moved == b->moved && a->crowd == b->crowd;
}

static void assert_same_kinds(const thrum_machine *a, const thrum_machine *b)
{
    assert_int_equal(a->kind_count, b->kind_count);
    for (int i = 0; i < a->kind_count; i++) {
        const thrum__device_kind *x = &a->kinds[i], *y = &b->kinds[i];
        assert_string_equal(x->name, y->name);
        assert_true(x->arch == y->arch && x->count == y->count && x->workers == y->workers);
        assert_true(x->memory == y->memory && x->bandwidth == y->bandwidth && x->latency == y->latency);
        assert_true(x->peer == y->peer && same_overhead(&a->kind_overhead[i], &b->kind_overhead[i]));
    }
}

static void assert_same_law(const thrum__law *a, const thrum__law *b)
{
    assert_true(!a == !b);
    if (a)
        assert_string_equal(a->text, b->text);
    if (a)
        assert_true(a->times.mean == b->times.mean && a->times.deviation == b->times.deviation);
}

static void assert_same(const thrum_machine *a, const thrum_machine *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->about, b->about);
    assert_true(a->hosts == b->hosts && a->cores == b->cores && a->lost_per_device == b->lost_per_device);
    assert_true(a->root_bandwidth == b->root_bandwidth && a->network_bandwidth == b->network_bandwidth);
    assert_true(a->network_latency == b->network_latency && same_overhead(&a->core_overhead, &b->core_overhead));
    assert_true(a->insert_task == b->insert_task && a->insert_access == b->insert_access && a->window == b->window);
    assert_same_kinds(a, b);
    assert_same_law(a->noise, b->noise);
    assert_int_equal(a->speed_count, b->speed_count);
    for (int i = 0; i < a->speed_count; i++) {
        const thrum__speed_row *x = &a->speeds[i], *y = &b->speeds[i];
        assert_string_equal(x->codelet, y->codelet);
        assert_true(x->kind == y->kind && x->rate == y->rate && x->fixed == y->fixed);
        assert_true(x->per_byte == y->per_byte && x->per_read == y->per_read && x->crowd == y->crowd &&
                    x->moved == y->moved);
        assert_true(x->small_per_byte == y->small_per_byte);
        assert_true(x->small_work == y->small_work && (x->small_work < 0 || x->small_rate == y->small_rate));
        assert_same_law(x->law, y->law);
    }
}

static void assert_comes_back(const thrum_machine *machine)
{
    char path[] = "/tmp/thrum-machine-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(thrum_machine_write(machine, path), 0);
    thrum_machine *again = thrum_machine_open(path);
    if (!again)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(again);
    assert_same(machine, again);
    thrum_machine_free(again);
    unlink(path);
}

static const char odd_lines[] =
    "name \"my \\\"own\\\" node\"\nabout all sorts = of # things\nhosts count=3\ncores count=7 lost-per-device=2\n"
    "device a count=0 arch=emu\n"
    "device b count=2 workers=5 memory=12345B bandwidth=0.1234567GB/s latency=1.2345678ns peer=yes\n"
    "device c arch=cpu bandwidth=unlimited memory=3KiB\n"
    "root bandwidth=3333333B/s\nnetwork bandwidth=0.7GiB/s latency=0.333us\n"
    "speed gemm cpu=3.3333333333333e9 b=1e300 fixed.b=0.7us per-byte.b=1e-13s crowd.cpu=0.0123456789012345\n"
    "speed tiny cpu=1e9 small.cpu=3.3333333e9:1.5e6 per-read.cpu=0.1234567ns moved.cpu=0.7654321ns\n"
    "speed tiny b=1 small.b=7e9:1.5e6:0.123456789ns\nspeed free cpu=1 small.cpu=unlimited:7\n"
    "speed \"sp mm # 1\" cpu=unlimited fixed.cpu=7ms\nspeed \"a=b\" c=1\n"
    "time start cpu=const:5us b=gamma:4,2us c=twopoint:0.25\n"
    "overhead cpu=0.1us access.cpu=33.3333333ns b=123.456789us access.b=1us scratch.b=0.3ns crowd.b=0.7 c=3s\n"
    "overhead fresh.b=0.7777ns copy.b=1.25us copy.cpu=0.3333us fresh.c=1ns moved.b=0.1234567ns\n"
    "insert task=0.7777777777us access=123ns window=8192\nnoise normal:1,0.05\n";

TEST(what_is_written_makes_the_same_machine)
{
    thrum_machine *machine = machine_of(odd_lines);
    assert_comes_back(machine);
    thrum_machine_free(machine);
    for (int i = 0; thrum_machine_at(i, NULL); i++) {
        machine = thrum_machine_open(thrum_machine_at(i, NULL));
        assert_non_null(machine);
        assert_comes_back(machine);
        thrum_machine_free(machine);
    }
}

TEST(a_copy_is_the_same_and_lives_on)
{
    thrum_machine *machine = machine_of(odd_lines), *reference = machine_of(odd_lines);
    thrum_machine *copy = thrum_machine_copy(machine);
    assert_non_null(copy);
    thrum_machine_free(machine);
    assert_same(copy, reference);
    thrum_machine_free(copy);
    thrum_machine_free(reference);
}

TEST(times_from_a_file_with_a_blank_in_its_name_come_back)
{
    char lines[200], path[] = "/tmp/thrum times-XXXXXX";
    int number = mkstemp(path);
    assert_true(number >= 0);
    FILE *file = fdopen(number, "w");
    fputs("0.5\n1.5\n", file);
    fclose(file);
    snprintf(lines, sizeof lines, "cores count=1\ntime x \"cpu=file:%s\"\n", path);
    thrum_machine *machine = machine_of(lines);
    assert_near(seconds(machine, "x", THRUM__CORE, 1, 1), 1);
    assert_comes_back(machine);
    thrum_machine_free(machine);
    unlink(path);
}

TEST(a_locale_with_a_comma_changes_nothing)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        skip(); /* no such locale is installed */
    thrum_machine *machine = machine_of(odd_lines);
    assert_near(thrum__machine_speed(machine, "gemm", THRUM__CORE)->rate, 3.3333333333333e9);
    assert_comes_back(machine);
    thrum_machine_free(machine);
    setlocale(LC_ALL, "C");
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static enum outcome read_and_lay_out(void)
{
    char text[2000];
    thrum__layout layout;
    snprintf(text, sizeof text, "thrum-machine 1\n%s", odd_lines);
    thrum_machine *machine = thrum_machine_parse(text, strlen(text), NULL);
    if (!machine)
        return outcome_of(thrum__last_code(), false);
    thrum_machine *copy = thrum_machine_copy(machine);
    int err = copy ? thrum_machine_apply(copy, "speed another cpu=3", NULL) : thrum__last_code();
    if (!err && !(err = thrum__machine_layout_make(copy, &layout)))
        thrum__machine_layout_drop(&layout);
    thrum_machine_free(copy);
    thrum_machine_free(machine);
    return outcome_of(err, err == 0);
}

TEST(without_memory_there_is_an_error_and_nothing_leaks)
{
    exhaust(read_and_lay_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_come_first_and_each_device_loses_one),
        cmocka_unit_test(a_way_to_a_device_passes_the_root_and_the_line_of_its_link),
        cmocka_unit_test(peers_copy_past_the_host),
        cmocka_unit_test(between_hosts_a_copy_stops_at_both),
        cmocka_unit_test(each_host_has_a_root_of_its_own),
        cmocka_unit_test(what_has_no_limit_stands_on_no_way),
        cmocka_unit_test(a_machine_without_workers_is_laid_out_by_nobody),
        cmocka_unit_test(workers_by_number_agree_with_the_layout),
        cmocka_unit_test(time_is_what_is_fixed_and_bytes_and_work),
        cmocka_unit_test(accesses_and_scratch_memory_may_add_to_a_task),
        cmocka_unit_test(small_work_may_be_done_at_another_speed),
        cmocka_unit_test(a_byte_of_small_work_may_take_another_time),
        cmocka_unit_test(bytes_that_are_only_read_may_take_longer),
        cmocka_unit_test(cores_slow_each_other_down_by_their_number),
        cmocka_unit_test(a_later_line_overrides_an_earlier_one),
        cmocka_unit_test(times_have_units_and_are_drawn),
        cmocka_unit_test(noise_multiplies_and_overheads_stay),
        cmocka_unit_test(a_codelet_without_a_speed_is_named_with_the_workers_that_lack_it),
        cmocka_unit_test(what_is_written_makes_the_same_machine),
        cmocka_unit_test(a_copy_is_the_same_and_lives_on),
        cmocka_unit_test(times_from_a_file_with_a_blank_in_its_name_come_back),
        cmocka_unit_test(a_locale_with_a_comma_changes_nothing),
        cmocka_unit_test(without_memory_there_is_an_error_and_nothing_leaks),
    };
    return RUN_TESTS(tests, 60);
}
