/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim: simulates loops that are handed out to workers in chunks, by any of the techniques.
 */
#include "commands.h"
#include "common.h"
#include "loop_sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: thrum loop-sim --technique NAMES --n COUNT --p COUNT --dist TIMES [OPTIONS]\n"
    "       thrum loop-sim --paper set-a|set-b|set-c|set-d|set-e|set-f|table-vi [OPTIONS]\n\n"
    "Simulates a loop of n iterations with random times that p workers work on, handed out in\n"
    "chunks by a technique of dynamic loop scheduling, many times over. Prints the wasted time\n"
    "(how much longer it took than the iterations, evenly shared, would have), its standard\n"
    "error, deviation, least and most; how many chunks there were; and the makespan. Runs are\n"
    "spread over all cores; the numbers do not depend on how many there are.\n\n"
    "the loop:\n"
    "  --technique NAMES   one, or several with commas between, or 'all':\n"
    "                      STEAL STAT SS FSC mFSC GSS TSS FAC FAC2 TAP TFSS BOLD WF AWF AWF-B AWF-C\n"
    "                      AWF-D AWF-E AF mAF FISS VISS PLS RND\n"
    "  --n COUNT           iterations: 1000, 1e6 or 2^19\n"
    "  --p COUNT           workers\n"
    "  --dist TIMES        times of iterations: const:TIME, uniform:A,B, exp:MEAN,\n"
    "                      twopoint:P (1/P with probability P, else 0), normal:M,S, gamma:K,THETA,\n"
    "                      file:PATH (one a line)\n"
    "  --h TIME            what handing out a chunk costs (0)\n"
    "  --model NAME        hagerup: a chunk keeps its worker for h, too; msg: h times the number of\n"
    "                      chunks, divided by p, is added at the end; or both (hagerup)\n\n"
    "what techniques may need, if not as the above says:\n"
    "  --mean TIME, --sigma TIME   mean and deviation of an iteration's time, as they are told to it\n"
    "  --weights LIST      weights of the workers, with the sum p: 1,1,2 or 3x0.5,1x2.5\n"
    "  --least COUNT       the least size of a chunk (1)\n"
    "  --nearest           TSS rounds to the nearest whole number, not up\n"
    "  --alpha NUMBER      TAP: how careful (1.3)\n"
    "  --stages COUNT      FISS: batches (p - 1)\n"
    "  --bound COUNT       RND: the largest size (n/p)\n\n"
    "the machine:\n"
    "  --speeds LIST       speeds of the workers: 1,1,0.5 or 4x1,4x0.5 (all 1)\n"
    "  --slow W:FROM:TO:FACTOR[,...]   worker W (from 0 on) runs at FACTOR times its speed from FROM\n"
    "                      until TO; 'inf' is for ever\n\n"
    "the simulation:\n"
    "  --runs COUNT        how many (1000)\n"
    "  --seed NUMBER       of the random numbers (1)\n"
    "  --engine NAME       native, or simgrid: actors that send messages, an independent check (native)\n"
    "  --json              one JSON object; a list of them for several techniques or models\n"
    "  --csv FILE          writes the numbers to a file as well; - is standard output, alone\n\n"
    "the paper:\n"
    "  --paper NAME        an experiment of the study of dynamic loop scheduling in SimGrid-MSG against\n"
    "                      Hagerup's publication: one of its six sets, or the rows of its table VI\n"
    "                      with how far they are from what was published, in both models.\n"
    "                      --technique, --model, --runs, --seed and --engine may be other than there\n"
    "  --out FOLDER        where its CSV and plot (gnuplot) go (out/loop-sim)\n"
    "  --help              this text\n";

/* What the command line says, as texts. */
struct texts {
    const char *technique, *n, *p, *times, *cost, *model, *mean, *deviation, *weights, *least, *alpha, *stages, *bound;
    const char *speeds, *slow, *runs, *seed, *engine, *csv, *paper, *folder;
    bool nearest, json;
};

/* The same, understood. */
struct request {
    thrum_technique techniques[THRUM_TECHNIQUES];
    size_t technique_count;
    bool models[2];
    thrum_loop_sim sim; /* but for technique and model */
    double *weights, *speeds;
    thrum_perturbation *perturbations;
};

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static int read_count(const char *option, const char *text, uint64_t *count)
{
    return tool_read_count(LOOP_SIM, option, text, count);
}

/* A count that a word of 32 bits holds, and not 0. */
static int read_small_count(const char *option, const char *text, uint32_t *count)
{
    uint64_t number = 0;
    int code = read_count(option, text, &number);
    if (code == TOOL_GO_ON && (number == 0 || number > UINT32_MAX))
        return tool_misuse(LOOP_SIM, "%s is '%s'; it must be between 1 and %" PRIu32 ".", option, text, UINT32_MAX);
    *count = (uint32_t)number;
    return code;
}

static int read_number(const char *option, const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end ? TOOL_GO_ON : tool_misuse(LOOP_SIM, "%s is '%s'; it must be a number.", option, text);
}

/* The library takes 0 for "not given". */
static int read_given(const char *option, const char *text, double *number)
{
    int code = read_number(option, text, number);
    if (code == TOOL_GO_ON && *number == 0)
        return tool_misuse(LOOP_SIM, "%s is 0; it must be above 0. Without it, that of the distribution is taken.",
                           option);
    return code;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static int wrong_list(const char *option, const char *text)
{
    return tool_misuse(LOOP_SIM, "%s is '%s'; it must be numbers with commas between, such as 1,1,0.5 or 4x1,4x0.5.",
                       option, text);
}

/* "1,2" or "4x1,4x0.5": exactly one number for each worker. */
static int read_list(const char *option, const char *text, uint32_t workers, double **list)
{
    uint32_t count = 0;
    *list = calloc(workers, sizeof **list);
    if (!*list)
        return tool_fail(LOOP_SIM, "no memory");
    for (const char *rest = text; rest;) {
        char *end;
        double number = strtod(rest, &end), times = 1;
        if (end != rest && *end == 'x') {
            times = number;
            rest = end + 1;
            number = strtod(rest, &end);
        }
        if (end == rest || (*end && *end != ',') || !(times >= 1) || times != floor(times))
            return wrong_list(option, text);
        for (; times > 0 && count < workers; times--)
            (*list)[count++] = number;
        if (times > 0)
            return tool_misuse(LOOP_SIM, "%s has more numbers than there are workers, %" PRIu32 ".", option, workers);
        rest = *end ? end + 1 : NULL;
    }
    if (count < workers)
        return tool_misuse(LOOP_SIM, "%s has %" PRIu32 " numbers; it needs one for each of the %" PRIu32 " workers.",
                           option, count, workers);
    return TOOL_GO_ON;
}

/* "W:FROM:TO:FACTOR", more behind commas. */
static int read_slow(const char *text, struct request *request)
{
    size_t most = 1, count = 0;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    request->perturbations = calloc(most, sizeof *request->perturbations);
    if (!request->perturbations)
        return tool_fail(LOOP_SIM, "no memory");
    for (const char *rest = text; rest && *rest; rest = strchr(rest, ',') ? strchr(rest, ',') + 1 : NULL) {
        thrum_perturbation *it = &request->perturbations[count++];
        int length = 0;
        char from[32], until[32], factor[32];
        if (sscanf(rest, "%" SCNu32 ":%31[^:,]:%31[^:,]:%31[^:,]%n", &it->worker, from, until, factor, &length) != 4 ||
            (rest[length] && rest[length] != ','))
            return tool_misuse(LOOP_SIM, "--slow is '%s'; it must be W:FROM:TO:FACTOR, such as 0:10:20:0.5.", text);
        int code = read_number("the beginning in --slow", from, &it->from);
        if (code == TOOL_GO_ON)
            code = read_number("the end in --slow", until, &it->until);
        if (code == TOOL_GO_ON)
            code = read_number("the factor in --slow", factor, &it->factor);
        if (code != TOOL_GO_ON)
            return code;
    }
    request->sim.perturbations = request->perturbations;
    request->sim.perturbation_count = count;
    return TOOL_GO_ON;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void take_all_techniques(struct request *request)
{
    for (int i = 0; i < THRUM_TECHNIQUES; i++)
        request->techniques[request->technique_count++] = (thrum_technique)i;
}

static int take_technique(struct request *request, const char *word)
{
    thrum_technique technique;
    size_t least;
    if (thrum_schedule_parse(word, &technique, &least) != 0)
        return tool_misuse(LOOP_SIM, "%s.", thrum_message(NULL));
    if (technique >= THRUM_TECHNIQUES)
        return tool_misuse(LOOP_SIM, "'%s' picks a technique by running real loops; it cannot be simulated.", word);
    if (request->technique_count == THRUM_TECHNIQUES)
        return tool_misuse(LOOP_SIM, "--technique names more techniques than there are.");
    request->techniques[request->technique_count++] = technique;
    return TOOL_GO_ON;
}

static int read_techniques(const char *text, struct request *request)
{
    char copy[512];
    int code = TOOL_GO_ON;
    if (strcmp(text, "all") == 0) {
        take_all_techniques(request);
        return code;
    }
    if (strlen(text) >= sizeof copy)
        return tool_misuse(LOOP_SIM, "--technique is too long.");
    strcpy(copy, text);
    for (char *rest = copy, *word; code == TOOL_GO_ON && (word = strsep(&rest, ","));)
        code = take_technique(request, word);
    return code;
}

static int read_model(const char *text, struct request *request)
{
    request->models[THRUM_MODEL_HAGERUP] = strcmp(text, "hagerup") == 0 || strcmp(text, "both") == 0;
    request->models[THRUM_MODEL_MSG] = strcmp(text, "msg") == 0 || strcmp(text, "both") == 0;
    if (request->models[0] || request->models[1])
        return TOOL_GO_ON;
    return tool_misuse(LOOP_SIM, "there is no model '%s'; it can be hagerup, msg or both.", text);
}

static int read_engine(const char *text, struct request *request)
{
    if (strcmp(text, "native") == 0)
        return TOOL_GO_ON;
    if (strcmp(text, "simgrid") != 0)
        return tool_misuse(LOOP_SIM, "there is no engine '%s'; it can be native or simgrid.", text);
    request->sim.engine = THRUM_ENGINE_SIMGRID;
    if (thrum_sim_engine_check(THRUM_ENGINE_SIMGRID) != 0)
        return tool_fail(LOOP_SIM, "%s", thrum_message(NULL));
    return TOOL_GO_ON;
}

/* ---- The command line -------------------------------------------------------------------------------------------- */

/* Reads with the function if the text is there and all went well so far. */
#define READ(text, call) (code = code == TOOL_GO_ON && (text) ? (call) : code)

static int read_simulation(const struct texts *texts, struct request *request)
{
    thrum_loop_sim *sim = &request->sim;
    int code = TOOL_GO_ON;
    READ(texts->runs, read_count("--runs", texts->runs, &sim->runs));
    READ(texts->seed, read_count("--seed", texts->seed, &sim->seed));
    READ(texts->technique, read_techniques(texts->technique, request));
    READ(texts->model, read_model(texts->model, request));
    READ(texts->engine, read_engine(texts->engine, request));
    if (code == TOOL_GO_ON && texts->runs && sim->runs == 0)
        return tool_misuse(LOOP_SIM, "--runs is 0; there must be one at least.");
    return code;
}

static int read_facts(const struct texts *texts, struct request *request)
{
    thrum_loop_facts *facts = &request->sim.facts;
    int code = read_count("--n", texts->n, &facts->iterations);
    READ(texts->p, read_small_count("--p", texts->p, &facts->workers));
    READ(texts->cost, read_number("--h", texts->cost, &facts->cost));
    READ(texts->mean, read_given("--mean", texts->mean, &facts->mean));
    READ(texts->deviation, read_given("--sigma", texts->deviation, &facts->deviation));
    READ(texts->least, read_count("--least", texts->least, &facts->least));
    READ(texts->alpha, read_number("--alpha", texts->alpha, &facts->alpha));
    READ(texts->stages, read_small_count("--stages", texts->stages, &facts->stages));
    READ(texts->bound, read_count("--bound", texts->bound, &facts->bound));
    READ(texts->weights, read_list("--weights", texts->weights, facts->workers, &request->weights));
    READ(texts->speeds, read_list("--speeds", texts->speeds, facts->workers, &request->speeds));
    READ(texts->slow, read_slow(texts->slow, request));
    facts->weights = request->weights;
    facts->nearest = texts->nearest;
    request->sim.speeds = request->speeds;
    request->sim.times = texts->times;
    return code;
}

/* A loop of nothing is refused; idle workers are worth a word. */
static int check_sizes(const thrum_loop_facts *facts)
{
    if (facts->iterations == 0)
        return tool_misuse(LOOP_SIM, "--n is 0; a loop without iterations has nothing to simulate.");
    if (facts->workers > facts->iterations)
        fprintf(stderr,
                "thrum loop-sim: --p is more than --n, so %" PRIu64 " of the %" PRIu32 " workers get nothing to do.\n",
                facts->workers - facts->iterations, facts->workers);
    return TOOL_GO_ON;
}

static int check_needed(const struct texts *texts)
{
    static const char *const names[] = {"--technique", "--n", "--p", "--dist"};
    const char *const values[] = {texts->technique, texts->n, texts->p, texts->times};
    for (int i = 0; i < 4; i++)
        if (!values[i])
            return tool_misuse(LOOP_SIM, "%s is missing.", names[i]);
    return TOOL_GO_ON;
}

/* What does not go with --paper, whose experiments have their own. */
static int check_paper(const struct texts *texts)
{
    const char *const others[] = {texts->n,     texts->p,      texts->times, texts->cost,   texts->mean,
                                  texts->least, texts->alpha,  texts->bound, texts->speeds, texts->deviation,
                                  texts->slow,  texts->stages, texts->csv,   texts->weights};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i])
            return tool_misuse(LOOP_SIM,
                               "'%s' does not go with --paper, whose experiments have n, p, times and h of "
                               "their own.",
                               others[i]);
    if (texts->nearest || texts->json)
        return tool_misuse(LOOP_SIM, "%s does not go with --paper.", texts->json ? "--json" : "--nearest");
    return TOOL_GO_ON;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

static size_t make_rows(const struct request *request, struct loop_row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < request->technique_count; i++)
        for (int model = 0; model < 2; model++)
            if (request->models[model]) {
                rows[count].sim = request->sim;
                rows[count].sim.technique = request->techniques[i];
                rows[count++].sim.model = (thrum_loop_model)model;
            }
    return count;
}

static int write_csv(const char *path, const struct loop_row *rows, size_t count)
{
    char *text = NULL, why[4200];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    loop_csv_head(out);
    for (size_t i = 0; i < count; i++)
        loop_csv_row(out, &rows[i]);
    fclose(out);
    bool written = tool_write_file(path, text, size, why, sizeof why);
    free(text);
    return written ? TOOL_DONE : tool_fail(LOOP_SIM, "%s", why);
}

static void print_json(const struct loop_row *rows, size_t count)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, loop_row_json(&rows[i]));
    json_dumpf(count == 1 ? json_array_get(all, 0) : all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(all);
}

/* A technique that cannot be used here is an error if it is the only one; of several, it is left out with a line. */
static size_t simulate_rows(struct loop_row *rows, size_t count, bool print)
{
    struct loop_progress *progress = loop_progress_begin(rows, count);
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        rows[good].sim = rows[i].sim;
        if (!loop_row_run(rows, good, progress)) {
            tool_fail(LOOP_SIM, "%s", thrum_message(NULL));
            continue;
        }
        if (print)
            loop_row_print(stdout, &rows[good]);
        good++;
    }
    loop_progress_end(progress);
    return good;
}

static int simulate(const struct texts *texts, const struct request *request, struct loop_row *rows)
{
    size_t count = make_rows(request, rows);
    bool alone = texts->csv && strcmp(texts->csv, "-") == 0, table = count > 1 && !texts->json && !alone;
    if (table)
        loop_row_print_head(stdout);
    size_t good = simulate_rows(rows, count, table);
    if (good < count && (good == 0 || count == 1))
        return TOOL_FAILED;
    if (texts->json)
        print_json(rows, good);
    else if (!table && !alone)
        loop_row_print_long(stdout, rows);
    return texts->csv ? write_csv(texts->csv, rows, good) : TOOL_DONE;
}

static int simulate_request(const struct texts *texts, struct request *request)
{
    int code = check_needed(texts);
    READ(texts, read_simulation(texts, request));
    READ(texts, read_facts(texts, request));
    READ(texts, check_sizes(&request->sim.facts));
    if (code != TOOL_GO_ON)
        return code;
    struct loop_row *rows = calloc(2 * (size_t)THRUM_TECHNIQUES, sizeof *rows);
    code = rows ? simulate(texts, request, rows) : tool_fail(LOOP_SIM, "no memory");
    free(rows);
    return code;
}

static int run_paper(const struct texts *texts, struct request *request)
{
    int code = check_paper(texts);
    request->sim.runs = 0; /* the paper's */
    if (!texts->model)
        request->models[THRUM_MODEL_MSG] = strcmp(texts->paper, "table-vi") == 0;
    READ(texts, read_simulation(texts, request));
    if (code != TOOL_GO_ON)
        return code;
    struct loop_paper_request paper = {
        .name = texts->paper,
        .folder = texts->folder ? texts->folder : "out/loop-sim",
        .techniques = request->techniques,
        .technique_count = request->technique_count,
        .models = {request->models[0], request->models[1]},
        .engine = request->sim.engine,
        .runs = request->sim.runs,
        .seed = request->sim.seed,
    };
    return loop_paper_run(&paper);
}

static int run(const struct texts *texts)
{
    struct request request = {.models = {true, false}, .sim = {.runs = 1000, .seed = 1}};
    int code = texts->paper ? run_paper(texts, &request) : simulate_request(texts, &request);
    free(request.weights);
    free(request.speeds);
    free(request.perturbations);
    return code;
}

int thrum_cmd_loop_sim(int argc, char **argv)
{
    struct texts t = {0};
    const struct tool_option options[] = {
        {"--technique", NULL, NULL, &t.technique},
        {"--n", NULL, NULL, &t.n},
        {"--p", NULL, NULL, &t.p},
        {"--dist", NULL, NULL, &t.times},
        {"--h", NULL, NULL, &t.cost},
        {"--model", NULL, NULL, &t.model},
        {"--mean", NULL, NULL, &t.mean},
        {"--sigma", NULL, NULL, &t.deviation},
        {"--weights", NULL, NULL, &t.weights},
        {"--least", NULL, NULL, &t.least},
        {"--alpha", NULL, NULL, &t.alpha},
        {"--stages", NULL, NULL, &t.stages},
        {"--bound", NULL, NULL, &t.bound},
        {"--speeds", NULL, NULL, &t.speeds},
        {"--slow", NULL, NULL, &t.slow},
        {"--runs", NULL, NULL, &t.runs},
        {"--seed", NULL, NULL, &t.seed},
        {"--engine", NULL, NULL, &t.engine},
        {"--csv", NULL, NULL, &t.csv},
        {"--paper", NULL, NULL, &t.paper},
        {"--out", NULL, NULL, &t.folder},
        {"--nearest", NULL, &t.nearest, NULL},
        {"--json", NULL, &t.json, NULL},
    };
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail(LOOP_SIM, "no memory");
    struct tool_arguments arguments = {LOOP_SIM, help, options, sizeof options / sizeof *options, words, 0};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON)
        code = arguments.word_count ? tool_misuse(LOOP_SIM, "'%s' is too much: loop-sim takes no words.", words[0])
                                    : run(&t);
    free(words);
    return code;
}
