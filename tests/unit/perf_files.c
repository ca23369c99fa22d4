/* SPDX-License-Identifier: MIT
 *
 * The file of performance models: where it is, what comes back from it, several processes at once, and files that are
 * none.
 */
#include "test.h"

#include "sched/perf_int.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/thrum-perf-XXXXXX";
static const thrum_place cpu = {0, THRUM_ARCH_CPU, 0, -1};
static const thrum_codelet gemm = {.name = "gemm"}, odd = {.name = "sp mm\n100%\x01"};

static int remove_one(const char *path, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)about, (void)flag, (void)ftw;
    return remove(path);
}

/* An empty folder of its own for each test, and nothing in memory. */
static int begin(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    setenv("THRUM_MODELS", folder, 1);
    thrum__perf_forget();
    return 0;
}

static int end(void **state)
{
    (void)state;
    thrum__perf_forget();
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static double expect(const thrum_codelet *codelet, uint64_t footprint)
{
    thrum__perf_shape shape = {footprint, 100};
    return thrum__perf_expect(codelet, &cpu, &shape, NULL, 0, NULL);
}

static void note(const thrum_codelet *codelet, uint64_t footprint, double seconds, int times)
{
    thrum__perf_shape shape = {footprint, 100};
    for (int i = 0; i < times; i++)
        thrum__perf_note(codelet, THRUM_ARCH_CPU, &shape, seconds);
}

static const char *file_name(void)
{
    static thrum_models_info info;
    assert_int_equal(thrum_models_get(&info), 0);
    return info.file;
}

static const char *problem(void)
{
    static thrum_models_info info;
    assert_int_equal(thrum_models_get(&info), 0);
    return info.problem;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *name)
{
    static char text[1 << 16];
    FILE *file = fopen(name, "r");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int files_found;
static int files_in_folder(const char *name, const struct stat *about, int flag, struct FTW *ftw)
{
    (void)name, (void)about, (void)ftw;
    files_found += flag == FTW_F;
    return 0;
}

static void count_row(const thrum_model_row *row, void *arg)
{
    *(uint64_t *)arg += row->count;
}

static uint64_t all_samples(void)
{
    uint64_t samples = 0;
    thrum_models_visit(count_row, &samples);
    return samples;
}

/* ---- Coming back ------------------------------------------------------------------------------------------------- */

TEST(what_was_measured_is_there_in_the_next_process)
{
    note(&gemm, 5, 0.25, 10);
    note(&gemm, 6, 1e-6, 12);
    note(&odd, 7, 3600, 8);
    note(&gemm, 8, 2, 3); /* not known yet, but kept */
    assert_int_equal(thrum__perf_save(), 0);
    thrum__perf_forget();
    assert_true(fabs(expect(&gemm, 5) - 0.25) < 1e-12);
    assert_true(fabs(expect(&gemm, 6) - 1e-6) < 1e-12);
    assert_true(fabs(expect(&odd, 7) - 3600) < 1e-9);
    assert_true(expect(&gemm, 8) < 0);
    note(&gemm, 8, 2, 5);
    assert_true(fabs(expect(&gemm, 8) - 2) < 1e-12);
    assert_string_equal(problem(), "");
    assert_int_equal(all_samples(), 10 + 12 + 8 + 8);
}

TEST(a_file_has_the_machine_in_its_name_and_can_be_read_by_people)
{
    char host[64];
    gethostname(host, sizeof host);
    note(&gemm, 0xabcdef, 0.5, 9);
    assert_int_equal(thrum__perf_save(), 0);
    assert_contains(file_name(), folder);
    assert_contains(file_name(), host);
    const char *text = read_file(file_name());
    assert_contains(text, "thrum models 1\n# codelet arch");
    assert_contains(text, "\ngemm cpu abcdef 100 9 0 500000000000 0\nend 1\n");
}

TEST(nothing_is_written_when_there_is_nothing_new)
{
    assert_true(expect(&gemm, 5) < 0);
    assert_int_equal(thrum__perf_save(), 0);
    assert_int_equal(access(file_name(), F_OK), -1);
    note(&gemm, 5, 1, 1);
    assert_int_equal(thrum__perf_save(), 0);
    assert_int_equal(unlink(file_name()), 0);
    assert_int_equal(thrum__perf_save(), 0);
    assert_int_equal(access(file_name(), F_OK), -1);
}

TEST(only_the_file_and_its_lock_are_left_behind)
{
    for (int i = 0; i < 5; i++) {
        note(&gemm, 5, 1, 1);
        assert_int_equal(thrum__perf_save(), 0);
    }
    files_found = 0;
    nftw(folder, files_in_folder, 8, FTW_PHYS);
    assert_int_equal(files_found, 2);
}

TEST(off_means_that_no_file_is_touched)
{
    setenv("THRUM_MODELS", "off", 1);
    note(&gemm, 5, 1, 8);
    assert_true(expect(&gemm, 5) > 0);
    assert_int_equal(thrum__perf_save(), 0);
    assert_string_equal(file_name(), "");
    assert_string_equal(problem(), "");
}

TEST(auto_is_in_the_users_cache)
{
    setenv("THRUM_MODELS", "auto", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    note(&gemm, 5, 1, 8);
    assert_int_equal(thrum__perf_save(), 0);
    assert_contains(file_name(), "/thrum/models/");
    assert_int_equal(access(file_name(), R_OK), 0);
    thrum__perf_forget();
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nowhere", 1);
    assert_contains(file_name(), "/nowhere/.cache/thrum/models/");
    thrum__perf_forget();
    unsetenv("HOME");
    assert_string_equal(file_name(), "");
    assert_contains(problem(), "neither XDG_CACHE_HOME nor HOME");
    setenv("HOME", home, 1);
    free(home);
}

TEST(a_locale_with_another_decimal_point_changes_nothing)
{
    note(&gemm, 5, 0.125, 8);
    assert_int_equal(thrum__perf_save(), 0);
    assert_null(strchr(strchr(read_file(file_name()), '\n') + 1, '.'));
    assert_null(strchr(read_file(file_name()), ','));
}

/* ---- Several processes ------------------------------------------------------------------------------------------- */

TEST(processes_that_end_at_the_same_time_lose_nothing_of_each_other)
{
    enum { PROCESSES = 12 };
    expect(&gemm, 1); /* all have read the file, which is not there */
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            note(&gemm, 5, 1 + 0.01 * i, 10);
            note(&gemm, 100 + (uint64_t)i, 1, 10);
            _exit(thrum__perf_save() != 0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        wait(&status);
        assert_int_equal(status, 0);
    }
    thrum__perf_forget();
    for (int i = 0; i < PROCESSES; i++)
        assert_true(fabs(expect(&gemm, 100 + (uint64_t)i) - 1) < 1e-12);
    assert_int_equal(all_samples(), 2 * 10 * PROCESSES);
    assert_true(fabs(expect(&gemm, 5) - 1.055) < 1e-9); /* the mean of all */
}

TEST(rows_of_others_are_taken_over_when_the_file_is_written)
{
    expect(&gemm, 1);
    if (fork() == 0) {
        note(&odd, 9, 4, 8);
        _exit(thrum__perf_save() != 0);
    }
    wait(NULL);
    assert_true(expect(&odd, 9) < 0);
    note(&gemm, 1, 1, 1);
    assert_int_equal(thrum__perf_save(), 0);
    assert_true(fabs(expect(&odd, 9) - 4) < 1e-12);
}

TEST(a_lock_that_nobody_gives_back_is_not_waited_for_long)
{
    char name[THRUM__PERF_PATH + 8];
    int ready[2];
    note(&gemm, 1, 1, 1);
    snprintf(name, sizeof name, "%s.lock", file_name());
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    if (holder == 0) {
        int lock = open(name, O_RDWR | O_CREAT, 0600);
        bool told = flock(lock, LOCK_EX) == 0 && write(ready[1], "", 1) == 1;
        sleep(told ? 20 : 0);
        _exit(0);
    }
    char word;
    close(ready[1]);
    assert_int_equal(read(ready[0], &word, 1), 1);
    assert_error(thrum__perf_save(), THRUM_ESYSTEM, "somebody has had a lock");
    assert_contains(problem(), ".lock");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    close(ready[0]);
}

/* ---- Several threads --------------------------------------------------------------------------------------------- */

enum { THREADS = 4, NOTES = 2000 };

static void *note_and_ask(void *arg)
{
    uint64_t own = 100 + *(const uint64_t *)arg;
    for (int i = 0; i < NOTES; i++) {
        note(&gemm, 5, 1, 1);
        note(&gemm, own + (uint64_t)i % 50 * THREADS, 1, 1);
        if (expect(&gemm, 5) > 2)
            return arg;
        if (i % 500 == 499 && (thrum__perf_save() != 0 || all_samples() == 0))
            return arg;
    }
    return NULL;
}

TEST(threads_note_and_ask_while_others_save)
{
    pthread_t threads[THREADS];
    uint64_t numbers[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, note_and_ask, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(thrum__perf_save(), 0);
    thrum__perf_forget();
    assert_int_equal(all_samples(), 2 * THREADS * NOTES);
}

/* ---- Files that are none ----------------------------------------------------------------------------------------- */

static void expect_broken(const char *text, const char *reason)
{
    write_file(file_name(), text);
    thrum__perf_forget();
    assert_true(expect(&gemm, 5) < 0);
    assert_int_equal(all_samples(), 0);
    assert_contains(problem(), reason);
    assert_contains(problem(), file_name());
    assert_non_null(read_file(file_name())); /* left alone */
}

TEST(a_broken_file_is_ignored_with_a_reason)
{
    expect_broken("", "does not begin with 'thrum models 1'");
    expect_broken("thrum models 2\nend 0\n", "does not begin with");
    expect_broken("thrum models 1\n", "cut short");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 1000 0\n", "no last line 'end 1'");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 1000 0\nend 2\n", "cut short");
    expect_broken("thrum models 1\nend 0\nend 0\n", "cut short");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 1000 0\ngemm tpu 5 100 9 0 1000 0\nend 2\n",
                  "line 3 has no kind of worker");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0\nend 1\n", "line 2 has not the six numbers");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 -1000 0\nend 1\n", "line 2 has not the six numbers");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 99999999999999999999999 0\nend 1\n", "not the six numbers");
    expect_broken("thrum models 1\ngemm cpu 5 100 9 0 0 0\nend 1\n", "samples without a time");
    expect_broken("thrum models 1\ngemm cpu 5 100 0 0 0 0\nend 1\n", "first samples");
    expect_broken("thrum models 1\ngemm cpu 5 100 0 0 0 0 1 2 3 4 5 6 7 8\nend 1\n", "first samples");
    expect_broken("thrum models 1\nge%0mm cpu 5 100 9 0 1000 0\nend 1\n", "no name");
    expect_broken("thrum models 1\n\nend 1\n", "no name");
}

TEST(a_broken_file_is_moved_aside_when_there_is_something_to_write)
{
    char aside[THRUM__PERF_PATH + 8];
    expect_broken("what is this\n", "does not begin");
    snprintf(aside, sizeof aside, "%s.broken", file_name());
    note(&gemm, 5, 1, 8);
    assert_int_equal(thrum__perf_save(), 0);
    assert_string_equal(problem(), "");
    assert_string_equal(read_file(aside), "what is this\n");
    thrum__perf_forget();
    assert_true(expect(&gemm, 5) > 0);
}

TEST(a_file_that_is_cut_off_anywhere_is_ignored)
{
    note(&gemm, 5, 0.25, 10);
    note(&odd, 7, 3, 5);
    assert_int_equal(thrum__perf_save(), 0);
    char *whole = strdup(read_file(file_name()));
    for (size_t length = strlen(whole) - 1; length > 0; length--) {
        whole[length - 1] = '\0';
        write_file(file_name(), whole);
        thrum__perf_forget();
        assert_true(expect(&gemm, 5) < 0);
        assert_contains(problem(), "is ignored");
    }
    free(whole);
}

TEST(a_folder_that_cannot_be_is_a_problem_that_can_be_read)
{
    char name[THRUM__PERF_PATH];
    snprintf(name, sizeof name, "%s/file", folder);
    write_file(name, "");
    setenv("THRUM_MODELS", name, 1);
    note(&gemm, 5, 1, 1);
    assert_string_equal(problem(), "");
    assert_error(thrum__perf_save(), THRUM_ESYSTEM, "cannot be");
    assert_contains(problem(), name);
    thrum__perf_forget();
    memset(name, 'x', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("THRUM_MODELS", name, 1);
    assert_string_equal(file_name(), "");
    assert_contains(problem(), "long");
    assert_error(thrum_models_get(NULL), THRUM_EINVAL, "NULL");
}

int main(void)
{
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(what_was_measured_is_there_in_the_next_process),
        WITH_FOLDER(a_file_has_the_machine_in_its_name_and_can_be_read_by_people),
        WITH_FOLDER(nothing_is_written_when_there_is_nothing_new),
        WITH_FOLDER(only_the_file_and_its_lock_are_left_behind),
        WITH_FOLDER(off_means_that_no_file_is_touched),
        WITH_FOLDER(auto_is_in_the_users_cache),
        WITH_FOLDER(a_locale_with_another_decimal_point_changes_nothing),
        WITH_FOLDER(processes_that_end_at_the_same_time_lose_nothing_of_each_other),
        WITH_FOLDER(rows_of_others_are_taken_over_when_the_file_is_written),
        WITH_FOLDER(a_lock_that_nobody_gives_back_is_not_waited_for_long),
        WITH_FOLDER(threads_note_and_ask_while_others_save),
        WITH_FOLDER(a_broken_file_is_ignored_with_a_reason),
        WITH_FOLDER(a_broken_file_is_moved_aside_when_there_is_something_to_write),
        WITH_FOLDER(a_file_that_is_cut_off_anywhere_is_ignored),
        WITH_FOLDER(a_folder_that_cannot_be_is_a_problem_that_can_be_read),
    };
    return RUN_TESTS(tests, 60);
}
