/* SPDX-License-Identifier: MIT
 *
 * Workloads as files: what is read, what is written, and what is wrong with a file, with its line.
 */
#include "test.h"

#include <unistd.h>

static thrum_workload *parse(const char *text)
{
    return thrum_workload_parse(text, strlen(text), "a.workload");
}

/* Lines behind "thrum-workload 1" and a codelet and data: refused with this sentence. */
static void refuse(const char *lines, const char *sentence)
{
    char text[1024];
    snprintf(text, sizeof text,
             "thrum-workload 1\n"
             "codelet gemm cpu,emu\n"
             "data A 100 written\n"
             "%s\n",
             lines);
    thrum_workload *w = parse(text);
    if (w)
        print_error("accepted: %s\n", lines);
    assert_null(w);
    assert_contains(thrum_message(NULL), sentence);
}

/* What is written of a workload; to be freed. */
static char *written(const thrum_workload *w)
{
    char path[] = "workload-XXXXXX", *text = calloc(1, 1 << 20);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(thrum_workload_write(w, path), 0);
    FILE *file = fdopen(fd, "r");
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

TEST(a_file_of_all_kinds_of_lines_is_read)
{
    thrum_workload *w = parse("# a comment\n"
                              "\n"
                              "thrum-workload 1   # the version\r\n"
                              "name \"two words\"\n"
                              "codelet gemm cpu,emu\n"
                              "codelet \"12\" emu\n"
                              "\tdata A 1KiB written\n"
                              "data - 7\n"
                              "data \"B(0,1)\" 100 written\n"
                              "task gemm work=2e9 rw=A,\"B(0,1)\" w=1 priority=-3 name=\"gemm(0,0)\"\n"
                              "task \"12\" work=.5 r=0 seconds.emu=1e-3 worker=2 bucket=1 scratch=A\n"
                              "task 1\n"
                              "edge 0 2\n");
    thrum_workload_size size;
    assert_non_null(w);
    assert_string_equal(thrum_workload_name(w), "two words");
    assert_int_equal(thrum_workload_measure(w, &size), 0);
    assert_int_equal(size.codelets, 2);
    assert_int_equal(size.data, 3);
    assert_int_equal(size.tasks, 3);
    assert_int_equal(size.accesses, 5);
    assert_int_equal(size.edges, 2);
    assert_true(size.work == 2e9 + .5 && size.bytes == 1131);
    thrum_workload_free(w);
}

TEST(what_was_written_is_read_as_the_same)
{
    thrum_workload *w = thrum_workload_new("name \"with\" \\ \n\t\x01 odd things");
    const unsigned cpu = 1u << THRUM_ARCH_CPU, emu = 1u << THRUM_ARCH_EMU;
    thrum_workload_add_codelet(w, "gemm", cpu | emu);
    thrum_workload_add_codelet(w, "gemm", cpu); /* the same name twice */
    thrum_workload_add_codelet(w, "42", emu);
    thrum_workload_add_codelet(w, "#=,", emu);
    thrum_workload_add_data(w, "A", 1, true);
    thrum_workload_add_data(w, "A", SIZE_MAX, true);
    thrum_workload_add_data(w, "-", 0, true);
    thrum_workload_add_data(w, NULL, 3, true);
    const thrum_workload_access accesses[] = {
        {0, THRUM_MODE_R}, {1, THRUM_MODE_RW}, {3, THRUM_MODE_R}, {2, THRUM_MODE_COMMUTE}, {3, THRUM_MODE_SCRATCH}};
    for (int i = 0; i < 4; i++)
        thrum_workload_add_task(w, &(thrum_workload_task){.codelet = i,
                                                          .name = i ? "a b" : NULL,
                                                          .work = 1.0 / 3 * (i + 1) * 1e17,
                                                          .priority = INT32_MIN,
                                                          .bucket = i - 1,
                                                          .worker = i - 1,
                                                          .seconds = {i * 0.1, 5e-324},
                                                          .access = accesses,
                                                          .access_count = 1 + i});
    thrum_workload_add_edge(w, 3, 0);
    char *first = written(w);
    thrum_workload *again = parse(first);
    if (!again)
        fail_msg("%s\n%s", thrum_message(NULL), first);
    char *second = written(again);
    assert_string_equal(first, second);
    assert_string_equal(thrum_workload_name(again), thrum_workload_name(w));
    assert_contains(first, "task 0 work=33333333333333332 r=0 ");
    assert_contains(first, "task \"42\" ");
    assert_contains(first, " r=0 rw=1 r=3 commute=\"-\" ");
    free(first);
    free(second);
    thrum_workload_free(w);
    thrum_workload_free(again);
}

TEST(the_file_gives_the_name_if_no_line_does)
{
    thrum_workload *w = thrum_workload_parse("thrum-workload 1", 16, "graphs/qr.workload");
    assert_non_null(w);
    assert_string_equal(thrum_workload_name(w), "qr");
    thrum_workload_free(w);
}

TEST(texts_that_are_no_workload_are_refused)
{
    assert_null(parse(""));
    assert_contains(thrum_message(NULL), "a.workload: it is empty; the first line of a workload is 'thrum-workload 1'");
    assert_null(parse("\n# only a comment\n"));
    assert_contains(thrum_message(NULL), "it is empty");
    assert_null(parse("\nthrum-machine 1\n"));
    assert_contains(thrum_message(NULL), "a.workload:2: 'thrum-machine' stands where a workload begins");
    assert_null(parse("thrum-workload 2\n"));
    assert_contains(thrum_message(NULL), "a.workload:1: this is version '2' of workloads; this thrum reads version 1");
    assert_null(parse("thrum-workload\n"));
    assert_contains(thrum_message(NULL), "version ''");
    assert_null(thrum_workload_parse("thrum-workload 1\n\0\n", 19, NULL));
    assert_contains(thrum_message(NULL), "the text:2: there is a byte 0");
    assert_null(thrum_workload_parse(NULL, 0, NULL));
    assert_contains(thrum_message(NULL), "the text is NULL");
}

TEST(wrong_lines_are_refused_with_file_and_line)
{
    refuse("tsak gemm", "a.workload:4: 'tsak' is nothing that a workload is made of; did you mean 'task'?");
    refuse("codelet potrf", "a codelet has a name and kinds of workers");
    refuse("codelet potrf cpu,gpu", "'gpu' is no kind of worker; there are cpu and emu");
    refuse("codelet potrf cpu,", "'' is no kind of worker");
    refuse("codelet gemm emu,cpu", "codelet 'gemm' is there already");
    refuse("codelet potrf cpu emu", "'emu' is too much in this line");
    refuse("data B", "data has a name, or - for none, and a size");
    refuse("data B 1parsec", "1parsec");
    refuse("data B 99999999999999999999999", "bytes are too many");
    refuse("data B 1 wirtten", "'wirtten' stands behind the size of data");
    refuse("name", "the name is missing");
    refuse("name \"x", "do not end");
    refuse("name \"x\"y", "'y' stands right behind a name in quotes");
    refuse("name x\"y\"", "quotes stand around a whole name");
    refuse("name \"\\x00\"", "behind a backslash");
    refuse("name \"\\q\"", "behind a backslash");
}

TEST(wrong_tasks_are_refused_with_file_and_line)
{
    refuse("task", "a.workload:4: a task has a codelet");
    refuse("task gem", "there is no codelet 'gem' above this line; did you mean 'gemm'?");
    refuse("task 1", "there is no codelet 1 here; 1 are above this line");
    refuse("task gemm prio=1", "tasks have no key 'prio'");
    refuse("task gemm prioritty=1", "did you mean 'priority'?");
    refuse("task gemm work=-1", "work is '-1'; it must be a number that is not negative");
    refuse("task gemm work=nan", "work is 'nan'");
    refuse("task gemm work=1e999", "work is '1e999'");
    refuse("task gemm work=", "work is ''");
    refuse("task gemm priority=1.5", "priority is '1.5'; it must be a whole number");
    refuse("task gemm priority=99999999999", "it must be a whole number");
    refuse("task gemm bucket=-2", "bucket is '-2'");
    refuse("task gemm worker=x", "worker is 'x'");
    refuse("task gemm seconds.gpu=1", "tasks have no key 'seconds.gpu'");
    refuse("task gemm seconds.cpu=-1", "seconds.cpu is '-1'");
    refuse("task gemm urgent", "'urgent' is no setting of a task, KEY=VALUE");
    refuse("task gemm =1", "'=1' is no setting of a task");
    refuse("task gemm r=B", "there is no data 'B' above this line");
    refuse("task gemm r=1", "there is no data 1 here");
    refuse("task gemm r=", "there is no data ''");
    refuse("task gemm r=A w=A", "a.workload:4: task 0: data 0 'A' is used twice, as R and as W");
    refuse("data A 3\ntask gemm r=A", "a.workload:5: there is more than one data named 'A': say its number");
    refuse("edge 0", "an edge has two numbers of tasks");
    refuse("edge 0 1", "a.workload:4: an edge from task 0 to task 1: there is no task 0");
    refuse("task gemm\nedge 0 0", "a.workload:5: an edge from task 0 to itself");
    refuse("task gemm\nedge x 0", "a task's number is 'x'");
}

TEST(a_circle_and_what_was_never_written_are_told_with_file_and_line)
{
    thrum_workload *w =
        parse("thrum-workload 1\ncodelet c cpu\ntask c name=one\ntask c name=two\nedge 0 1\nedge 1 0\n");
    assert_non_null(w);
    assert_error(thrum_workload_check(w), THRUM_ECYCLE, "a.workload:6: workload");
    assert_contains(thrum_message(NULL), "task 0 'one' waits for task 1 'two', that for task 0 'one'");
    thrum_workload_free(w);
    /* The other half of this circle is data, which has no line. */
    w = parse("thrum-workload 1\ncodelet c cpu\ndata A 1 written\ntask c rw=A\ntask c rw=A\n\nedge 1 0\n");
    assert_error(thrum_workload_check(w), THRUM_ECYCLE, "a.workload:7: workload");
    thrum_workload_free(w);
    w = parse("thrum-workload 1\ncodelet c cpu\ndata A 1\ntask c r=A\n");
    assert_error(thrum_workload_check(w), THRUM_EDATA, "a.workload:4: task 0 'c' reads data 0 'A'");
    thrum_workload_free(w);
}

TEST(files_that_are_not_there_are_told)
{
    thrum_workload *w = thrum_workload_new("w");
    assert_null(thrum_workload_read("no/such/file"));
    assert_contains(thrum_message(NULL), "'no/such/file' cannot be read: No such file");
    assert_null(thrum_workload_read("."));
    assert_contains(thrum_message(NULL), "it is no file");
    assert_null(thrum_workload_read(NULL));
    assert_contains(thrum_message(NULL), "the path is NULL");
    assert_error(thrum_workload_write(w, "no/such/file"), THRUM_ESYSTEM, "cannot be written: No such file");
    assert_error(thrum_workload_write(w, "/dev/full"), THRUM_ESYSTEM, "cannot be written");
    assert_error(thrum_workload_write(w, NULL), THRUM_EINVAL, "the path is NULL");
    thrum_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_all_kinds_of_lines_is_read),
        cmocka_unit_test(what_was_written_is_read_as_the_same),
        cmocka_unit_test(the_file_gives_the_name_if_no_line_does),
        cmocka_unit_test(texts_that_are_no_workload_are_refused),
        cmocka_unit_test(wrong_lines_are_refused_with_file_and_line),
        cmocka_unit_test(wrong_tasks_are_refused_with_file_and_line),
        cmocka_unit_test(a_circle_and_what_was_never_written_are_told_with_file_and_line),
        cmocka_unit_test(files_that_are_not_there_are_told),
    };
    return RUN_TESTS(tests, 60);
}
