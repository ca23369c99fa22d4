/* SPDX-License-Identifier: MIT
 *
 * thrum sim: task graphs on machines that are described, not owned.
 */
#include "sim.h"

#include "commands.h"
#include "common.h"
#include "sim_calibrate.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: thrum sim --machine NAME --app NAME [OPTIONS]\n"
    "       thrum sim --machines\n"
    "       thrum sim --calibrate FILE [--tile COUNT] [--timing] [--quick]\n\n"

    "Simulates a graph of tasks on a machine that is described in a file, under one of the policies that\n"
    "executors use, on a virtual clock. Prints the makespan and the bounds below it, what was moved over which\n"
    "link, and why workers were idle. The same description and seed give the same numbers on any computer.\n\n"
    "Options marked * take lists with '+' between their values; all combinations are simulated, on all cores:\n"
    "  thrum sim --machine k40 --gpus 1+2+4 --app cholesky --n 20000 --tile 400 \\\n"
    "            --policy heteroprio+laheteroprio --formula auto+ls_sdh2 --runs 6 --plot out/cholesky\n\n"
    "the machine:\n"
    "  --machine NAME *    one that comes with thrum, or a file (with a '/' or a '.' in its name)\n"
    "  --machines          lists those that come with thrum, or with --machine shows what it is\n"
    "  --calibrate FILE    measures kernels and tasks with tiles of 128 and writes a description of this machine\n"
    "  --timing            with --calibrate: of emulated devices in timing mode instead\n"
    "  --quick             with --calibrate: once instead of several times, in a sixth of the time\n"
    "  --gpus COUNT *      another number of devices of the kind 'gpu'\n"
    "  --cores COUNT       another number of cores\n"
    "  --set LINES         changes: lines as in such a file, with ';' between,\n"
    "                      'root bandwidth=10GB/s; device gpu workers=3'\n\n"
    "the work:\n"
    "  --app NAME *        what an application would do: cholesky, qr, life, kmeans\n"
    "  --n COUNT *         its size: rows and columns, cells each way, points\n"
    "  --tile COUNT *      of a tile or block, each way\n"
    "  --steps COUNT       of life and kmeans\n"
    "  --on-device NAMES   kernels that devices have: all, none, or names like gemm,syrk\n"
    "  --workload FILE     from a file: thrum cholesky --workload FILE writes such\n"
    "  --shape TEXT        by rule: layered, random, stencil, fork-join, fft, with settings:\n"
    "                      'layered;tasks=1000;width=50;device=0.5'\n"
    "  --write-workload FILE   writes it to a file, too\n\n"
    "the policy:\n"
    "  --policy NAME *     with settings, as in THRUM_POLICY: 'laheteroprio;alpha=0.3' (fifo); steal: the\n"
    "                      executor's own work stealing\n"
    "  --formula NAME *    of laheteroprio: auto, laru, mc, ls_sdh, ls_sdh2, ls_sdhb, lc_smwb; or 'all'\n"
    "  --l CPU,DEVICE *    of laheteroprio: buckets that are looked into before other nodes' lists\n\n"
    "the simulation:\n"
    "  --seed NUMBER       of noise and random choices (1)\n"
    "  --runs COUNT        as many, with this seed and the following ones (1)\n"
    "  --ahead COUNT       tasks whose data is brought while a worker is busy with another (1)\n"
    "  --engine NAME       native, or simgrid: an independent check (native)\n\n"
    "what is told:\n"
    "  --json              one JSON object; a list of them for several\n"
    "  --csv FILE          a table; - is standard output, alone\n"
    "  --plot PATH         draws makespans and bytes: PATH.svg, by gnuplot from PATH.gp\n"
    "  --trace FILE        what happened when, as of a real run: `thrum trace summary FILE`\n"
    "  --help              this text\n";

/* ---- Machines ---------------------------------------------------------------------------------------------------- */

static int show_machine(const char *name)
{
    const char *text = NULL, *at;
    for (int i = 0; (at = thrum_machine_at(i, &text)); i++)
        if (strcmp(at, name) == 0) {
            fputs(text, stdout);
            return TOOL_DONE;
        }
    thrum_machine_free(thrum_machine_open(name));
    return tool_fail(SIM, "%s", thrum_message(NULL));
}

static int list_machines(void)
{
    const char *name;
    printf("%-12s %6s %6s %8s %8s %6s  %s\n", "machine", "hosts", "cores", "devices", "workers", "nodes", "what it is");
    for (int i = 0; (name = thrum_machine_at(i, NULL)); i++) {
        thrum_machine *machine = thrum_machine_open(name);
        thrum_machine_size size;
        if (!machine)
            return tool_fail(SIM, "%s", thrum_message(NULL));
        thrum_machine_measure(machine, &size);
        printf("%-12s %6d %6d %8d %8d %6d  %s\n", name, size.hosts, size.cores, size.devices, size.workers, size.nodes,
               size.about ? size.about : "");
        thrum_machine_free(machine);
    }
    return TOOL_DONE;
}

/* ---- Simulating -------------------------------------------------------------------------------------------------- */

static int tell(const struct sim_request *request, const struct sim_plan *plan)
{
    bool alone = request->csv && strcmp(request->csv, "-") == 0;
    int code = TOOL_DONE;
    if (request->json && !alone)
        sim_print_json(stdout, plan);
    else if (plan->row_count > 1 && !alone)
        sim_print_table(stdout, plan);
    else if (!alone)
        sim_print_one(stdout, plan, plan->rows);
    if (request->csv)
        code = sim_write_csv(request->csv, plan);
    if (code == TOOL_DONE && request->plot)
        code = sim_plot_draw(request->plot, plan);
    return code;
}

static int write_workload(const struct sim_request *request, const struct sim_plan *plan)
{
    if (!request->write_workload)
        return TOOL_GO_ON;
    if (plan->work_count > 1)
        return tool_misuse(SIM, "--write-workload is for one workload, and these are %zu.", plan->work_count);
    if (thrum_workload_write(plan->works[0].workload, request->write_workload) != 0)
        return tool_fail(SIM, "%s", thrum_message(NULL));
    return TOOL_GO_ON;
}

/* All that failed for the same reason are told of once. */
static void tell_failures(const struct sim_plan *plan)
{
    const char *last = "";
    for (size_t i = 0; i < plan->row_count; i++) {
        const char *sentence = plan->rows[i].sentence;
        if (!sentence || strcmp(sentence, last) == 0)
            continue;
        tool_fail(SIM, "%s", sentence);
        last = sentence;
    }
}

static int simulate(const struct sim_request *request, struct sim_plan *plan)
{
    int code = sim_plan_make(request, plan);
    if (code == TOOL_GO_ON)
        code = write_workload(request, plan);
    if (code != TOOL_GO_ON)
        return code;
    size_t failed = sim_rows_run(plan);
    if (failed)
        tell_failures(plan);
    if (failed == plan->row_count)
        return TOOL_FAILED;
    code = tell(request, plan);
    return failed ? TOOL_FAILED : code;
}

static int run(const struct sim_request *request)
{
    if (request->machines)
        return request->machine ? show_machine(request->machine) : list_machines();
    struct sim_plan plan = {0};
    int code = simulate(request, &plan);
    sim_plan_drop(&plan);
    return code;
}

int thrum_cmd_sim(int argc, char **argv)
{
    struct sim_request r = {0};
    struct sim_calibration c = {0};
    const struct tool_option options[] = {
        {"--calibrate", NULL, NULL, &c.path},
        {"--timing", NULL, &c.timing, NULL},
        {"--quick", NULL, &c.quick, NULL},
        {"--machine", NULL, NULL, &r.machine},
        {"--machines", NULL, &r.machines, NULL},
        {"--gpus", NULL, NULL, &r.gpus},
        {"--cores", NULL, NULL, &r.cores},
        {"--set", NULL, NULL, &r.set},
        {"--app", NULL, NULL, &r.app},
        {"--n", NULL, NULL, &r.n},
        {"--tile", NULL, NULL, &r.tile},
        {"--steps", NULL, NULL, &r.steps},
        {"--on-device", NULL, NULL, &r.on_device},
        {"--workload", NULL, NULL, &r.workload},
        {"--shape", NULL, NULL, &r.shape},
        {"--write-workload", NULL, NULL, &r.write_workload},
        {"--policy", NULL, NULL, &r.policy},
        {"--formula", NULL, NULL, &r.formula},
        {"--l", NULL, NULL, &r.l},
        {"--seed", NULL, NULL, &r.seed},
        {"--runs", NULL, NULL, &r.runs},
        {"--ahead", NULL, NULL, &r.ahead},
        {"--engine", NULL, NULL, &r.engine},
        {"--json", NULL, &r.json, NULL},
        {"--csv", NULL, NULL, &r.csv},
        {"--plot", NULL, NULL, &r.plot},
        {"--trace", NULL, NULL, &r.trace},
    };
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail(SIM, "no memory");
    struct tool_arguments arguments = {SIM, help, options, sizeof options / sizeof *options, words, 0};
    int code = tool_parse(&arguments, argc, argv);
    c.tile = r.tile;
    if (code == TOOL_GO_ON)
        code = arguments.word_count ? tool_misuse(SIM, "'%s' is too much: sim takes no words.", words[0])
               : c.path             ? sim_calibrate(&c)
                                    : run(&r);
    free(words);
    return code;
}
