/* SPDX-License-Identifier: MIT
 *
 * thrum bench: measures thrum beside its peers, in one run. bench.h lists the command's files.
 */
#define _GNU_SOURCE

#include "bench.h"
#include "commands.h"
#include "common.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: thrum bench [OPTION]... [WORK]...\n"
    "\n"
    "Measures thrum beside oneTBB, libgomp, libomp and StarPU (those that were found when thrum was built), pass by\n"
    "pass in turn, and prints medians; a ratio is the median of the ratios of all passes. A WORK is the name of one, of a\n"
    "group ('base', 'control', 'loops', 'data'), or the beginning of several names ('small'). Without a WORK, the group\n"
    "'base'.\n"
    "\n"
    "  --workers LIST   numbers of workers to measure with (default 1,2)\n"
    "  --passes N       passes per work, after one to warm up (default 11; a few works take 3). Each pass of Cholesky\n"
    "                   has new processes, asked three times, and the middle answer counts\n"
    "  --quick          a tenth of the size and 3 passes: to see that it works\n"
    "  --json           one JSON object per work and number of workers, one a line\n"
    "  --out DIR        where the raw samples go, in a file named after the time (default out/bench)\n"
    "  --runners DIR    where the programs bench-thrum, bench-tbb, ... are (default: beside this command, in bench/)\n"
    "  --list           list the works\n"
    "  -h, --help       show this help\n"
    "\n"
    "'ratio' and 'limit' are relative to oneTBB; with 'abs' the limit is in the row's own unit; with 'seq' relative to\n"
    "sequential code; with 'best' both are relative to the best peer. With 'each', there is a limit for each peer (half of\n"
    "oneTBB and libgomp, an eighth of libomp), and 'ratio' is the worst of thrum's shares of these. OpenMP's numbers\n"
    "include making the tasks. Of 'data' the limits are 0.15 of StarPU, with either policy, and 1 of libgomp; a Cholesky\n"
    "factorisation has a second one, 0.97 of the workers times the speed of sequential code. Of a weighted speed-up (corun)\n"
    "more is better: there 'ratio' is the best peer's divided by thrum's, so that less is better in that column everywhere.\n"
    "It is measured with two workers or more. 'over' and 'below' are said where the passes leave no doubt (95 %); 'level'\n"
    "is beyond the limit by less than they can tell: take more passes. In JSON, 'ratio_range' is that of certainty.\n";

static int list_works(void)
{
    for (int i = 0; i < bench_row_count; i++)
        printf("%-24s %-8s %-16s %s\n", bench_rows[i].work, bench_groups[bench_rows[i].group], bench_rows[i].unit,
               bench_rows[i].help);
    return TOOL_DONE;
}

static int unknown_work(const char *word)
{
    const char *names[MOST_ROWS];
    for (int i = 0; i < bench_row_count; i++)
        names[i] = bench_rows[i].work;
    const char *nearest = tool_nearest(word, names, (size_t)bench_row_count);
    fprintf(stderr, "thrum bench: there is no work '%s'", word);
    if (nearest)
        fprintf(stderr, "; did you mean '%s'? The works are:\n", nearest);
    else
        fputs("; the works are:\n", stderr);
    for (int i = 0; i < bench_row_count; i++)
        fprintf(stderr, "  %s\n", bench_rows[i].work);
    return TOOL_USAGE;
}

static bool select_group(struct bench *b, const char *word)
{
    int group = 0;
    while (group < GROUPS && strcmp(bench_groups[group], word) != 0)
        group++;
    for (int i = 0; i < bench_row_count && group < GROUPS; i++)
        b->selected[i] = b->selected[i] || bench_rows[i].group == (enum bench_group)group;
    return group < GROUPS;
}

/* A group, a work by its name, or all works whose name begins with the word and a hyphen. */
static int select_work(struct bench *b, const char *word)
{
    size_t length = strlen(word);
    bool found = false;
    if (select_group(b, word))
        return TOOL_GO_ON;
    for (int i = 0; i < bench_row_count; i++)
        if (strcmp(bench_rows[i].work, word) == 0)
            found = b->selected[i] = true;
    for (int i = 0; i < bench_row_count && !found; i++)
        if (strncmp(bench_rows[i].work, word, length) == 0 && bench_rows[i].work[length] == '-')
            b->selected[i] = true;
    for (int i = 0; i < bench_row_count; i++)
        found = found || (b->selected[i] && strncmp(bench_rows[i].work, word, length) == 0);
    return found ? TOOL_GO_ON : unknown_work(word);
}

static int select_works(struct bench *b, const char **words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int code = select_work(b, words[i]);
        if (code != TOOL_GO_ON)
            return code;
    }
    if (count == 0)
        select_group(b, bench_groups[0]);
    return TOOL_GO_ON;
}

static int parse_workers(struct bench *b, const char *list)
{
    for (const char *at = list; b->worker_count < MOST_WORKER_COUNTS; at++) {
        char *end;
        long count = strtol(at, &end, 10);
        if (end == at || count < 1 || count > 1024 || (*end && *end != ','))
            break;
        b->worker_counts[b->worker_count++] = (int)count;
        at = end;
        if (!*at)
            return TOOL_GO_ON;
    }
    return tool_misuse(BENCH, "--workers '%s' is not a list of at most %d numbers from 1 to 1024, as in 1,2,8.", list,
                       MOST_WORKER_COUNTS);
}

static int parse_passes(struct bench *b, const char *text)
{
    char *end;
    long passes = strtol(text, &end, 10);
    if (end == text || *end || passes < 1 || passes > MOST_PASSES)
        return tool_misuse(BENCH, "--passes '%s' is not a number from 1 to %d.", text, MOST_PASSES);
    b->passes = (int)passes;
    return TOOL_GO_ON;
}

static int find_folder(struct bench *b, const char *given)
{
    char probe[sizeof b->folder + 32];
    if (given) {
        snprintf(b->folder, sizeof b->folder, "%s", given);
    } else {
        char self[sizeof b->folder - 8];
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = 0;
        char *slash = strrchr(self, '/');
        snprintf(b->folder, sizeof b->folder, "%.*s/bench", slash ? (int)(slash - self) : 0, self);
    }
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        snprintf(probe, sizeof probe, "%s/%s", b->folder, bench_implementations[which].file);
        if (access(probe, X_OK) == 0)
            return TOOL_GO_ON;
    }
    return tool_fail(BENCH,
                     "there are no runners (bench-thrum, bench-tbb, ...) in %s. They are built with thrum but not "
                     "installed: use the thrum of the build folder, or say --runners DIR.",
                     b->folder);
}

static int show_row(struct bench *b, const struct bench_row *row, int w)
{
    if (!b->json) {
        bench_print_result(b, row, w);
    } else {
        json_t *object = bench_result_json(b, row, w);
        json_dumpf(object, stdout, BENCH_JSON);
        json_decref(object);
        putchar('\n');
    }
    fflush(stdout);
    return bench_record_row(b, row, w);
}

static int run_row(struct bench *b, const struct bench_row *row)
{
    int code = TOOL_GO_ON;
    bench_measure(b, row);
    for (int w = 0; w < b->worker_count && code == TOOL_GO_ON; w++)
        if (bench_is_measured(b, row, w))
            code = show_row(b, row, w);
    return code;
}

static int run_rows(struct bench *b)
{
    enum bench_group group = GROUPS;
    int code = TOOL_GO_ON;
    for (int i = 0; i < bench_row_count && code == TOOL_GO_ON; i++) {
        if (!b->selected[i])
            continue;
        if (!b->json && bench_rows[i].group != group)
            bench_print_heading(group = bench_rows[i].group);
        code = run_row(b, &bench_rows[i]);
    }
    return code;
}

static int run_bench(struct bench *b)
{
    signal(SIGPIPE, SIG_IGN); /* a runner that died is told as such */
    b->progress = isatty(STDERR_FILENO);
    bench_meet_runners(b);
    int code = bench_open_record(b);
    if (code == TOOL_GO_ON)
        code = run_rows(b);
    if (code == TOOL_GO_ON)
        code = bench_close_record(b);
    bench_end_all_runners(b);
    if (code != TOOL_GO_ON)
        return code;
    return b->failures ? TOOL_FAILED : TOOL_DONE;
}

int thrum_cmd_bench(int argc, char **argv)
{
    static struct bench bench; /* too large for a stack */
    struct bench *b = &bench;
    bool list = false;
    const char *workers = "1,2", *passes = NULL, *runners = NULL;
    b->out = "out/bench";
    const struct tool_option options[] = {
        {"--workers", NULL, NULL, &workers}, {"--passes", NULL, NULL, &passes}, {"--quick", NULL, &b->quick, NULL},
        {"--json", NULL, &b->json, NULL},    {"--out", NULL, NULL, &b->out},    {"--runners", NULL, NULL, &runners},
        {"--list", NULL, &list, NULL},
    };
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail(BENCH, "no memory.");
    struct tool_arguments arguments = {.verb = BENCH,
                                       .help = help,
                                       .options = options,
                                       .option_count = sizeof options / sizeof *options,
                                       .words = words};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON && list)
        code = list_works();
    if (code == TOOL_GO_ON)
        code = parse_workers(b, workers);
    if (code == TOOL_GO_ON)
        code = parse_passes(b, passes ? passes : b->quick ? "3" : "11");
    if (code == TOOL_GO_ON)
        code = select_works(b, words, arguments.word_count);
    if (code == TOOL_GO_ON)
        code = find_folder(b, runners);
    free(words);
    return code == TOOL_GO_ON ? run_bench(b) : code;
}
