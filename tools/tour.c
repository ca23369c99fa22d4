/* SPDX-License-Identifier: MIT
 *
 * thrum tour: runs every capability once, for real, checks what came out, and writes a page about it.
 */
#define _POSIX_C_SOURCE 200809L

#include "commands.h"
#include "common.h"
#include "describe.h"
#include "tour.h"

#include <thrum/thrum.h>

#include <stdarg.h>
#include <stdlib.h>

static const char help[] = "usage: thrum tour [--out PAGE]\n\n"
                           "Runs everything that thrum can do once, checks the results, and writes one HTML page\n"
                           "with pictures and measured numbers. The page needs nothing beside itself.\n\n"
                           "options:\n"
                           "  -o, --out PAGE   where the page goes (default out/tour.html)\n"
                           "  --help           this text\n";

static char trouble[600];

int tour_stop(const char *format, ...)
{
    if (*trouble)
        return -1;
    va_list list;
    va_start(list, format);
    vsnprintf(trouble, sizeof trouble, format, list);
    va_end(list);
    return -1;
}

static int show_machine(struct page *page)
{
    thrum_machine_info machine;
    char text[DESCRIBE_SIZE];
    if (thrum_machine_get(&machine) != 0)
        return tour_stop("%s", thrum_message(NULL));
    page_facts_open(page);
    page_fact(page, "processors in the machine", "%d", machine.machine_cpus);
    page_fact(page, "usable for thrum", "%d", machine.usable);
    page_fact(page, "physical cores among them", "%d", machine.cores);
    page_fact(page, "NUMA nodes", "%d", machine.numa_nodes);
    page_facts_close(page);
    page_table_open(page);
    page_row(page, "workers", "%s", describe_workers(&machine, text));
    page_row(page, "quota", "%s", describe_quota(&machine, text));
    page_row(page, "Slurm", "%s", describe_slurm(&machine, text));
    page_row(page, "binding", "%s", describe_binding(&machine, text));
    page_row(page, "membarrier", "%s", describe_membarrier(&machine));
    page_row(page, "Graphviz", "%s", describe_graphviz(text));
    page_table_close(page);
    page_text(page, "`thrum info` prints this and every option with its value.");
    return 0;
}

static const struct sight {
    const char *id, *title;
    int (*show)(struct page *page);
} sights[] = {
    {"machine", "The machine", show_machine},
    {"diamond", "A graph: the diamond", tour_show_diamond},
    {"wavefront", "A wavefront and its timeline", tour_show_wavefront},
    {"fib", "Scopes: tasks that spawn tasks", tour_show_fib},
    {"runs", "One graph, many runs", tour_show_runs},
    {"loop", "A loop inside a graph", tour_show_loop},
    {"loops", "Loops by rule", tour_show_loops},
    {"data", "Order from data, on devices", tour_show_data},
    {"simulation", "Machines that are not there", tour_show_sim},
    {"errors", "Errors are sentences", tour_show_errors},
    {"observers", "Observers", tour_show_observers},
};

enum { SIGHTS = sizeof sights / sizeof *sights };

static int show_all(struct page *page)
{
    for (int i = 0; i < SIGHTS; i++) {
        char text[TOOL_TIME_SIZE];
        printf("[%d/%d] %s\n", i + 1, (int)SIGHTS, sights[i].title);
        fflush(stdout);
        double begin = tool_now();
        page_section(page, sights[i].id, sights[i].title);
        if (sights[i].show(page) != 0)
            return tool_fail("tour", "%s: %s", sights[i].title, trouble);
        printf("      done in %s\n", tool_time(tool_now() - begin, text));
    }
    return TOOL_DONE;
}

/* The page is made in memory and written at the end: a tour that fails leaves no half page behind. */
static int make_tour(const char *path)
{
    char *html = NULL, why[600], subtitle[200];
    size_t size = 0;
    struct page page = {.out = open_memstream(&html, &size)};
    if (!page.out)
        return tool_fail("tour", "no memory");
    snprintf(subtitle, sizeof subtitle,
             "A task runtime in C. This is version %s on this machine, every "
             "capability run once.",
             thrum_version());
    page_open(&page, "thrum", subtitle);
    int code = show_all(&page);
    page_close(&page);
    bool whole = fclose(page.out) == 0;
    if (code == TOOL_DONE && !whole)
        code = tool_fail("tour", "no memory for the page");
    if (code == TOOL_DONE) {
        tool_make_folders(path);
        if (tool_write_file(path, html, size, why, sizeof why))
            printf("%s written\n", path);
        else
            code = tool_fail("tour", "%s", why);
    }
    free(html);
    return code;
}

int thrum_cmd_tour(int argc, char **argv)
{
    const char *out = "out/tour.html";
    const struct tool_option options[] = {{"--out", "-o", NULL, &out}};
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail("tour", "no memory");
    struct tool_arguments arguments = {"tour", help, options, 1, words, 0};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON && arguments.word_count)
        code = tool_misuse("tour", "'%s' is too much: tour takes no words.", words[0]);
    else if (code == TOOL_GO_ON && thrum_options_check() != 0)
        code = tool_fail("tour", "%s", thrum_message(NULL));
    else if (code == TOOL_GO_ON)
        code = make_tour(out);
    free(words);
    return code;
}
