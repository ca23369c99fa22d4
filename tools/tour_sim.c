/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: policies on machines that are not there.
 */
#include "tour.h"

#include "apps/workloads.h"

#include <thrum/thrum.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const policies[] = {"fifo", "dmda", "heteroprio", "laheteroprio;l=3,1"};
enum { POLICIES = sizeof policies / sizeof *policies, FULL = 380 };

struct bar {
    double seconds, bytes;
};

static int simulate(const thrum_machine *machine, const thrum_workload *workload, const char *policy, struct bar *bar,
                    double *bound)
{
    thrum_sim_result *result;
    if (thrum_simulate(&(thrum_sim){.machine = machine, .workload = workload, .policy = policy, .seed = 1, .ahead = 1},
                       &result) != 0)
        return tour_stop("the simulation of %s failed: %s", policy, thrum_message(NULL));
    *bar = (struct bar){result->makespan, (double)result->bytes};
    *bound = result->bound;
    int code = result->makespan >= result->bound ? 0 : tour_stop("%s is faster than can be", policy);
    thrum_sim_result_free(result);
    return code;
}

/* Two bars for each policy: time, with the bound as a line, and bytes. */
static void write_svg(FILE *out, const struct bar *bars, double bound)
{
    double most = bound, moved = 1;
    for (int i = 0; i < POLICIES; i++) {
        most = bars[i].seconds > most ? bars[i].seconds : most;
        moved = bars[i].bytes > moved ? bars[i].bytes : moved;
    }
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 %d\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">",
        40 + 46 * POLICIES);
    for (int i = 0; i < POLICIES; i++) {
        int y = 10 + 46 * i;
        fprintf(out, "<text x=\"0\" y=\"%d\" fill=\"currentColor\">%s</text>", y + 21, policies[i]);
        fprintf(out, "<rect x=\"130\" y=\"%d\" width=\"%.1f\" height=\"16\" fill=\"#0072b2\"/>", y,
                FULL * bars[i].seconds / most);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" fill=\"currentColor\">%.3f s</text>",
                136 + FULL * bars[i].seconds / most, y + 13, bars[i].seconds);
        fprintf(out, "<rect x=\"130\" y=\"%d\" width=\"%.1f\" height=\"16\" fill=\"#e69f00\"/>", y + 18,
                FULL * bars[i].bytes / moved);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" fill=\"currentColor\">%.1f GB moved</text>",
                136 + FULL * bars[i].bytes / moved, y + 31, bars[i].bytes * 1e-9);
    }
    fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>",
            130 + FULL * bound / most, 130 + FULL * bound / most, 10 + 46 * POLICIES);
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" fill=\"#d55e00\">no faster than this: %.3f s</text></svg>",
            130 + FULL * bound / most, 26 + 46 * POLICIES, bound);
}

static int draw(struct page *page, const struct bar *bars, double bound)
{
    char *svg = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&svg, &size);
    if (!out)
        return tour_stop("no memory for a picture");
    write_svg(out, bars, bound);
    fclose(out);
    page_picture(page, svg, "Blue: how long it takes. Yellow: what is moved between memories.");
    free(svg);
    return 0;
}

static int show(struct page *page, thrum_machine *machine, const thrum_workload *workload)
{
    struct bar bars[POLICIES];
    double bound = 0, begin = tool_now();
    thrum_workload_size size;
    if (thrum_workload_measure(workload, &size) != 0 || thrum_machine_apply(machine, "device gpu count=4", "tour") != 0)
        return tour_stop("%s", thrum_message(NULL));
    for (int i = 0; i < POLICIES; i++)
        if (simulate(machine, workload, policies[i], &bars[i], &bound) != 0)
            return -1;
    double took = tool_now() - begin;
    page_text(
        page,
        "The policies of executors run unchanged on a virtual clock: here a Cholesky factorization of a matrix of "
        "20,000 by 20,000 in tiles of 400, %d tasks, on 24 cores and four GPUs that are described in a file. GPUs "
        "have but one of the four kernels, so tiles travel; a policy that looks where data is moves less of it.",
        size.tasks);
    if (draw(page, bars, bound) != 0)
        return -1;
    page_text(
        page,
        "All four simulations took %.2f s. Try it: `thrum sim --machine k40 --gpus 4 --app cholesky --n 20000 "
        "--tile 400 --policy heteroprio+laheteroprio --formula all --l 3,1`; `docs/guide/laheteroprio-study.md` has "
        "the whole study.",
        took);
    return 0;
}

int tour_show_sim(struct page *page)
{
    thrum_machine *machine = thrum_machine_open("k40");
    thrum_workload *workload = app_workload("cholesky", &(struct app_workload_size){.n = 20000, .tile = 400});
    int code = machine && workload ? show(page, machine, workload) : tour_stop("%s", thrum_message(NULL));
    thrum_workload_free(workload);
    thrum_machine_free(machine);
    return code;
}
