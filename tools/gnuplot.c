/* SPDX-License-Identifier: MIT */
#include "gnuplot.h"

#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

void gnuplot_write_styles(FILE *out, int count)
{
    static const char *const colours[] = {"000000", "e69f00", "56b4e9", "009e73",
                                          "0072b2", "d55e00", "cc79a7", "808080"};
    enum { COLOURS = sizeof colours / sizeof *colours };
    for (int i = 0; i < count; i++)
        fprintf(out, "set style line %d linewidth 1.5 pointtype %d pointsize 0.6 dashtype %d linecolor '#%s'\n", i + 1,
                4 + i % 10, 1 + i / COLOURS, colours[i % COLOURS]);
}

static int run(const char *verb, const char *script)
{
    char program[4096];
    if (!tool_find_program("gnuplot", program, sizeof program)) {
        fprintf(stderr, "thrum %s: there is no gnuplot here, so no picture; 'gnuplot %s' draws it.\n", verb, script);
        return TOOL_DONE;
    }
    pid_t child = fork();
    if (child == 0) {
        execv(program, (char *[]){(char *)"gnuplot", (char *)(size_t)script, NULL});
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return tool_fail(verb, "gnuplot could not draw %s", script);
    return TOOL_DONE;
}

int gnuplot_draw(const char *verb, const char *path, const char *script, size_t size)
{
    char why[4200], file[4096];
    snprintf(file, sizeof file, "%s.gp", path);
    if (!tool_make_folders(file) || !tool_write_file(file, script, size, why, sizeof why))
        return tool_fail(verb, "%s", why);
    return run(verb, file);
}
