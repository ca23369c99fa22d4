/* SPDX-License-Identifier: MIT
 *
 * Descriptions of machines as users see them: those that come with thrum, lines that change them, and what is wrong in
 * files.
 */
#include "test.h"

#include <unistd.h>

static thrum_machine *parse(const char *text)
{
    return thrum_machine_parse(text, strlen(text), "node.machine");
}

/* ---- Right use --------------------------------------------------------------------------------------------------- */

static thrum_machine_size size_of(const thrum_machine *machine)
{
    thrum_machine_size size;
    thrum_machine_measure(machine, &size);
    return size;
}

TEST(the_papers_machines_come_with_thrum)
{
    static const struct {
        const char *name;
        int hosts, cores, devices, workers, nodes;
    } expected[] = {
        {"cluster50", 50, 2400, 0, 2400, 50},
        {"cluster64", 16, 576, 64, 640, 80},
        {"k40", 1, 20, 4, 64, 5},
        {"p100", 1, 30, 2, 66, 3},
        {"taskflow", 1, 40, 4, 44, 5},
        {"timing", 1, 2, 1, 3, 2},
    };
    int number = 0;
    for (const char *name, *text; (name = thrum_machine_at(number, &text)); number++) {
        thrum_machine *machine = thrum_machine_open(name);
        if (!machine)
            fail_msg("%s", thrum_message(NULL));
        thrum_machine_size size = size_of(machine);
        assert_string_equal(name, expected[number].name);
        assert_string_equal(size.name, name);
        assert_true(strlen(size.about) > 10);
        assert_contains(text, "thrum-machine 1\n");
        assert_int_equal(size.hosts, expected[number].hosts);
        assert_int_equal(size.cores, expected[number].cores);
        assert_int_equal(size.devices, expected[number].devices);
        assert_int_equal(size.workers, expected[number].workers);
        assert_int_equal(size.nodes, expected[number].nodes);
        thrum_machine_free(machine);
    }
    assert_int_equal(number, COUNT_OF(expected));
    assert_null(thrum_machine_at(-1, NULL));
}

TEST(one_line_more_changes_a_machine)
{
    thrum_machine *machine = thrum_machine_open("k40");
    assert_int_equal(thrum_machine_apply(machine, "device gpu count=1 workers=7", "--set"), 0);
    assert_int_equal(size_of(machine).workers, 23 + 7);
    assert_int_equal(thrum_machine_apply(machine, "  # nothing", "--set"), 0);
    assert_int_equal(thrum_machine_apply(machine, "", "--set"), 0);
    assert_int_equal(size_of(machine).workers, 23 + 7);
    thrum_machine_free(machine);
}

TEST(a_line_that_fails_changes_nothing)
{
    thrum_machine *machine = thrum_machine_open("k40");
    assert_error(thrum_machine_apply(machine, "device gpu count=2 memory=0", "--set"), THRUM_EINVAL,
                 "--set: memory=0: ");
    assert_int_equal(size_of(machine).devices, 4);
    assert_error(thrum_machine_apply(machine, "device npu count=2", "--set"), THRUM_EINVAL,
                 "--set: the link of the device 'npu' is missing");
    assert_int_equal(size_of(machine).devices, 4);
    assert_error(thrum_machine_apply(machine, "cores count=3", "--set"), THRUM_EINVAL, "more than there are");
    assert_int_equal(size_of(machine).cores, 20);
    assert_error(thrum_machine_apply(machine, "cores count=30\ncores count=40", "--set"), THRUM_EINVAL, "one line");
    assert_error(thrum_machine_apply(machine, "thrum-machine 1", NULL), THRUM_EINVAL, "the line: there is no line");
    thrum_machine_free(machine);
}

TEST(workers_have_names)
{
    static const struct {
        int worker, node, device;
        const char *name;
    } expected[] = {
        {0, 0, -1, "core 0"}, {19, 0, -1, "core 19"}, {20, 1, 0, "gpu 0 worker 0"}, {63, 4, 3, "gpu 3 worker 10"}};
    thrum_machine *machine = thrum_machine_open("k40");
    thrum_place place;
    char name[64];
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(thrum_machine_worker(machine, expected[i].worker, &place, name), 0);
        assert_string_equal(name, expected[i].name);
        assert_int_equal(place.worker, expected[i].worker);
        assert_int_equal(place.node, expected[i].node);
        assert_int_equal(place.device, expected[i].device);
    }
    assert_error(thrum_machine_worker(machine, 64, &place, name), THRUM_EINVAL,
                 "64 is no worker of 'k40', which has 64");
    assert_error(thrum_machine_worker(machine, -1, &place, name), THRUM_EINVAL, "-1 is no worker");
    thrum_machine_free(machine);
    machine = thrum_machine_open("cluster64");
    assert_int_equal(thrum_machine_worker(machine, 639, &place, name), 0);
    assert_string_equal(name, "host 15 gpu 3");
    assert_int_equal(thrum_machine_worker(machine, 40, &place, name), 0);
    assert_string_equal(name, "host 1 core 4");
    thrum_machine_free(machine);
}

TEST(a_file_is_named_by_its_path_or_by_itself)
{
    const char *text = "thrum-machine 1\ncores count=1\n";
    thrum_machine *machine = thrum_machine_parse(text, strlen(text), "some/where/my node.machine");
    assert_string_equal(size_of(machine).name, "my node");
    thrum_machine_free(machine);
    machine = thrum_machine_parse(text, strlen(text), NULL);
    assert_string_equal(size_of(machine).name, "machine");
    thrum_machine_free(machine);
    machine = parse("# first\n\nthrum-machine 1 # the format\nname other\nabout one core\ncores count=1");
    assert_string_equal(size_of(machine).name, "other");
    assert_string_equal(size_of(machine).about, "one core");
    thrum_machine_free(machine);
}

/* ---- Wrong use --------------------------------------------------------------------------------------------------- */

/* A line after a machine with a core and a GPU, and what the sentence says. */
static const struct {
    const char *line, *part;
} wrong_lines[] = {
    {"coers count=2", "node.machine:4: there is no line 'coers'; did you mean 'cores'?"},
    {"zzz", "there is no line 'zzz'; lines begin with name, about, hosts"},
    {"cores cuont=2",
     "node.machine:4: a line 'cores' has no key 'cuont'; did you mean 'count'? it has: count, lost-per-device"},
    {"device gpu bandwith=2GB/s", "a line 'device' has no key 'bandwith'; did you mean 'bandwidth'?"},
    {"root latency=2us", "a line 'root' has no key 'latency'; it has: bandwidth"},
    {"device npu count=2 latency=1us",
     "node.machine:4: the link of the device 'npu' is missing: its line needs a bandwidth"},
    {"hosts count=2", "there are 2 hosts, but the link between them is missing"},
    {"speed gemm cpu=-3e9", "node.machine:4: the speed '-3e9' must be above 0"},
    {"speed gemm cpu=0", "the speed '0' must be above 0"},
    {"speed gemm cpu=fast", "'fast' is no speed: it must be units of work a second, like 30e9"},
    {"speed gemm cpu=3X", "'3X' is no speed"},
    {"speed gemm cpu=0x10", "'0x10' is no speed"},
    {"speed gemm cpu=inf", "'inf' is no speed"},
    {"speed gemm cpu=nan", "'nan' is no speed"},
    {"speed gemm cpu=1e999", "'1e999' is no speed"},
    {"speed gemm gup=1", "node.machine:4: there is no device 'gup' on the lines before; did you mean 'gpu'?"},
    {"speed gemm fixd.gpu=1us", "no key 'fixd.gpu'; did you mean 'fixed'?"},
    {"speed gemm fixed.gup=1us", "there is no device 'gup'"},
    {"speed gemm fixed.gpu=1", "fixed.gpu=1: '1' is no time"},
    {"speed gemm per-byte.gpu=-1ns", "'-1ns' is no time"},
    {"speed gemm crowd.cpu=-1", "'-1' is no crowd"},
    {"speed gemm small.cpu=1e9", "'1e9' must be a speed, a colon"},
    {"speed gemm small.cpu=-1:2", "the speed '-1' must be above 0"},
    {"speed gemm small.cpu=1:-2", "'1:-2' must be a speed, a colon"},
    {"speed gemm small.cpu=1:2us", "'1:2us' must be a speed, a colon"},
    {"speed gemm small.cpu=1:2:3", "small.cpu=3: '3' is no time"},
    {"speed gemm small.cpu=1:2:-3ns", "'-3ns' is no time"},
    {"speed gemm small.cpu=1:2:", "'' is no time"},
    {"speed gemm per-read.cpu=1", "per-read.cpu=1: '1' is no time"},
    {"speed gemm per-raed.cpu=1", "no key 'per-raed.cpu'; did you mean 'per-read'?"},
    {"speed gemm", "the speed of 'gemm' is missing"},
    {"speed cpu=3", "a line 'speed' begins with the name of a codelet"},
    {"time x cpu=cosnt:3", "'cosnt:3' is no distribution of times"},
    {"time x cpu=uniform:3us,1us", "node.machine:4: the times"},
    {"time x gup=const:3us", "there is no device 'gup'"},
    {"time x", "the time of 'x' is missing"},
    {"overhead cpu=2", "cpu=2: '2' is no time"},
    {"overhead gup=2us", "there is no device 'gup'"},
    {"overhead", "a line 'overhead' needs times"},
    {"overhead acess.cpu=2us", "a line 'overhead' has no key 'acess.cpu'; did you mean 'access'?"},
    {"overhead access.gup=2us", "there is no device 'gup' on the lines before; did you mean 'gpu'?"},
    {"overhead access.cpu=-2us", "access.cpu=-2us: '-2us' is no time"},
    {"overhead crowd.cpu=-2", "'-2' is no crowd"},
    {"overhead fresch.gpu=2ns", "a line 'overhead' has no key 'fresch.gpu'; did you mean 'fresh'?"},
    {"overhead fresh.gpu=2", "fresh.gpu=2: '2' is no time"},
    {"overhead moved.gpu=-1ns", "moved.gpu=-1ns: '-1ns' is no time"},
    {"speed gemm moved.gpu=fast", "moved.gpu=fast: 'fast' is no time"},
    {"overhead copy.gpu=-1us", "copy.gpu=-1us: '-1us' is no time"},
    {"overhead copy.gup=1us", "there is no device 'gup' on the lines before; did you mean 'gpu'?"},
    {"insert task=1", "node.machine:4: task=1: '1' is no time"},
    {"insert access=-1us", "access=-1us: '-1us' is no time"},
    {"insert window=-1", "window=-1: '-1' must be a whole number from 0 to 1073741824"},
    {"insert windo=1", "a line 'insert' has no key 'windo'; did you mean 'window'? it has: task, access, window"},
    {"insert", "a line 'insert' needs settings, like task=..."},
    {"noise normal:1", "node.machine:4: the times 'normal:1' are wrong"},
    {"noise", "a line 'noise' has one distribution"},
    {"noise none none", "a line 'noise' has one distribution"},
    {"device gpu memory=0", "node.machine:4: memory=0: a memory of 0 bytes holds nothing"},
    {"device gpu memory=11", "memory=11: '11' is no size"},
    {"device gpu bandwidth=0", "bandwidth=0: '0' is no rate: it must be above 0"},
    {"device gpu arch=cuda", "node.machine:4: arch=cuda: there is no architecture 'cuda'; there are cpu and emu"},
    {"device gpu arch=emo", "there is no architecture 'emo'; did you mean 'emu'?"},
    {"device gpu workers=0", "workers=0: '0' must be a whole number from 1 to 1024"},
    {"device gpu count=-1", "count=-1: '-1' must be a whole number from 0"},
    {"device gpu peer=maybe", "peer=maybe: it must be yes or no"},
    {"device gpu", "a line 'device' needs settings"},
    {"device", "a line 'device' begins with a name"},
    {"device count=3", "a line 'device' begins with a name"},
    {"device cpu count=3", "'cpu' cannot be the name of a device"},
    {"device a.b count=3", "'a.b' cannot be the name of a device"},
    {"device gpu =3", "'=3' is no setting"},
    {"device gpu count=", "'count=' is no setting"},
    {"device gpu count", "'count' is no setting: it must be key=value"},
    {"cores count=99999999", "count=99999999: '99999999' must be a whole number from 0 to 100000"},
    {"cores lost-per-device=2", "node.machine:4: of 1 cores a host, 2 are lost for each of 1 devices"},
    {"device gpu count=1000 workers=1000", "1000001 workers; a machine has at most 100000"},
    {"device gpu count=1024", "1025 hosts and devices; a machine has at most 1024"},
    {"name", "a line 'name' has one word"},
    {"name a b", "a line 'name' has one word"},
    {"name \"a b", "has no quote at its end"},
    {"thrum-machine 1", "there is no line 'thrum-machine'"},
};

TEST(each_wrong_line_gets_its_sentence)
{
    for (size_t i = 0; i < COUNT_OF(wrong_lines); i++) {
        char text[400];
        snprintf(text, sizeof text, "thrum-machine 1\ncores count=1\ndevice gpu bandwidth=10GB/s\n%s\nabout it\n",
                 wrong_lines[i].line);
        thrum_machine *machine = parse(text);
        if (machine)
            fail_msg("'%s' is taken", wrong_lines[i].line);
        assert_contains(thrum_message(NULL), wrong_lines[i].part);
        assert_contains(thrum_message(NULL), "node.machine:");
    }
}

TEST(a_text_that_is_no_machine_is_refused)
{
    assert_null(parse("thrum-machine 2\ncores count=1\n"));
    assert_contains(thrum_message(NULL), "node.machine:1: this is version '2'");
    assert_contains(thrum_message(NULL), "reads version 1");
    assert_null(parse("\n# hello\ncores count=1\n"));
    assert_contains(thrum_message(NULL), "node.machine:3: 'cores' stands where");
    assert_null(parse(""));
    assert_contains(thrum_message(NULL), "'thrum-machine 1'");
    assert_null(thrum_machine_parse("thrum-machine 1\ncores\0 count=1", 31, "node.machine"));
    assert_contains(thrum_message(NULL), "node.machine:2: there is a byte 0");
    assert_null(thrum_machine_parse(NULL, 0, NULL));
    assert_contains(thrum_message(NULL), "the text is NULL");
}

TEST(a_name_that_does_not_exist_lists_those_that_do)
{
    assert_null(thrum_machine_open("k41"));
    assert_contains(thrum_message(NULL),
                    "there is no machine 'k41'; did you mean 'k40'? there are: cluster50, cluster64");
    assert_null(thrum_machine_open("no/such.machine"));
    assert_contains(thrum_message(NULL), "'no/such.machine' cannot be read: ");
    assert_null(thrum_machine_open("/tmp"));
    assert_contains(thrum_message(NULL), "'/tmp' cannot be a machine file");
    assert_null(thrum_machine_open(""));
    assert_null(thrum_machine_open(NULL));
    assert_contains(thrum_message(NULL), "a machine has a name");
}

TEST(null_is_refused)
{
    thrum_machine *machine = thrum_machine_open("taskflow");
    thrum_machine_free(NULL);
    assert_null(thrum_machine_copy(NULL));
    assert_error(thrum_machine_apply(NULL, "x", NULL), THRUM_EINVAL, "the machine is NULL");
    assert_error(thrum_machine_apply(machine, NULL, NULL), THRUM_EINVAL, "the line is NULL");
    assert_error(thrum_machine_write(NULL, "x"), THRUM_EINVAL, "the machine is NULL");
    assert_error(thrum_machine_write(machine, NULL), THRUM_EINVAL, "the path is NULL");
    assert_error(thrum_machine_worker(NULL, 0, NULL, NULL), THRUM_EINVAL, "the machine is NULL");
    assert_int_equal(thrum_machine_worker(machine, 0, NULL, NULL), 0);
    assert_error(thrum_machine_write(machine, "/no/such/folder/x"), THRUM_ESYSTEM,
                 "'/no/such/folder/x' cannot be written");
    assert_error(thrum_machine_write(machine, "/dev/full"), THRUM_ESYSTEM, "cannot be written");
    thrum_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_machines_come_with_thrum),
        cmocka_unit_test(one_line_more_changes_a_machine),
        cmocka_unit_test(a_line_that_fails_changes_nothing),
        cmocka_unit_test(workers_have_names),
        cmocka_unit_test(a_file_is_named_by_its_path_or_by_itself),
        cmocka_unit_test(each_wrong_line_gets_its_sentence),
        cmocka_unit_test(a_text_that_is_no_machine_is_refused),
        cmocka_unit_test(a_name_that_does_not_exist_lists_those_that_do),
        cmocka_unit_test(null_is_refused),
    };
    return RUN_TESTS(tests, 60);
}
