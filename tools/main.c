/* SPDX-License-Identifier: MIT
 *
 * The command `thrum`: finds the verb and hands over.
 */
#include "commands.h"
#include "common.h"

#include "apps/verbs.h"

#include <thrum/thrum.h>

#include <errno.h>
#include <string.h>

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
} verbs[] = {
    {"info", thrum_cmd_info, "what thrum knows of this machine, and all its options"},
    {"graph", thrum_cmd_graph, "checks, measures or draws a graph that is written in DOT"},
    {"trace", thrum_cmd_trace, "sums up the trace of a run"},
    {"loop-sim", thrum_cmd_loop_sim, "simulates loops that are handed out in chunks"},
    {"sim", thrum_cmd_sim, "simulates graphs of tasks on machines that are described in files"},
    {"cholesky", thrum_cmd_cholesky, "factorizes a symmetric matrix by tiles"},
    {"qr", thrum_cmd_qr, "factorizes a matrix by tiles"},
    {"life", thrum_cmd_life, "plays the game of life in three dimensions"},
    {"kmeans", thrum_cmd_kmeans, "finds clusters of points, in a graph with a loop"},
    {"bench", thrum_cmd_bench, "measures thrum against other task runtimes"},
    {"tour", thrum_cmd_tour, "runs everything once and writes a page about it"},
};

enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static void print_help(FILE *out)
{
    fputs("thrum: a task runtime\n\n"
          "usage: thrum VERB [ARGUMENTS]\n"
          "       thrum help VERB     explains a verb (so does thrum VERB --help)\n"
          "       thrum --version\n\n"
          "verbs:\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].does);
    fputs("\nexit code: 0 done, 1 failed, 2 wrong usage\n", out);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int unknown_verb(const char *word)
{
    const char *names[VERB_COUNT + 1];
    for (size_t i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i].name;
    names[VERB_COUNT] = "help";
    const char *nearest = tool_nearest(word, names, VERB_COUNT + 1);
    fprintf(stderr, "thrum: unknown %s '%s'", word[0] == '-' ? "option" : "verb", word);
    if (nearest)
        fprintf(stderr, "; did you mean '%s'?", nearest);
    fputs("\nThe verbs are:", stderr);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(stderr, " %s%s", names[i], i + 1 < VERB_COUNT ? "," : ".\n");
    return TOOL_USAGE;
}

static int help_on(const char *name)
{
    const struct verb *verb = find_verb(name);
    if (!verb)
        return unknown_verb(name);
    char help[] = "--help";
    return verb->run(2, (char *[]){(char *)verb->name, help, NULL});
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) {
        printf("thrum %s\n", thrum_version());
        return TOOL_DONE;
    }
    if (strcmp(word, "help") == 0 && argc > 2)
        return help_on(argv[2]);
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(stdout);
        return TOOL_DONE;
    }
    const struct verb *verb = find_verb(word);
    return verb ? verb->run(argc - 1, argv + 1) : unknown_verb(word);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        return tool_fail(NULL, "cannot write to standard output: %s", errno ? strerror(errno) : "a write failed");
    return code;
}
