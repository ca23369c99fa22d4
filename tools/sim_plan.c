/* SPDX-License-Identifier: MIT
 *
 * thrum sim: from the command line to the rows that are to be simulated.
 */
#include "sim.h"

#include "common.h"

#include "apps/workloads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* "a+b+c" taken apart. */
struct list {
    char *memory;
    const char **words;
    size_t count;
};

/* Without a text, one word that is NULL. */
static int list_make(const char *text, struct list *list)
{
    size_t most = 1;
    for (const char *c = text ? text : ""; *c; c++)
        most += *c == '+';
    *list = (struct list){.memory = strdup(text ? text : ""), .words = calloc(most, sizeof *list->words)};
    if (!list->memory || !list->words)
        return tool_fail(SIM, "no memory");
    if (!text) {
        list->count = 1;
        return TOOL_GO_ON;
    }
    for (char *rest = list->memory, *word; (word = strsep(&rest, "+"));)
        list->words[list->count++] = word;
    return TOOL_GO_ON;
}

static void list_drop(struct list *list)
{
    free(list->memory);
    free(list->words);
}

static char *format_text(const char *format, ...) TOOL_PRINTF(1, 2);
static char *format_text(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

/* ---- Machines ---------------------------------------------------------------------------------------------------- */

static int apply(thrum_machine *machine, const char *line, const char *where)
{
    return thrum_machine_apply(machine, line, where) == 0 ? TOOL_GO_ON : tool_fail(SIM, "%s", thrum_message(NULL));
}

/* "LINE; LINE". */
static int apply_lines(thrum_machine *machine, const char *lines)
{
    char *copy = strdup(lines);
    int code = copy ? TOOL_GO_ON : tool_fail(SIM, "no memory");
    for (char *rest = copy, *line; code == TOOL_GO_ON && (line = strsep(&rest, ";"));)
        code = apply(machine, line, "--set");
    free(copy);
    return code;
}

static int count_line(thrum_machine *machine, const char *option, const char *kind, const char *text)
{
    uint64_t count = 0;
    int code = tool_read_count(SIM, option, text, &count);
    char line[80];
    snprintf(line, sizeof line, "%s count=%" PRIu64, kind, count);
    return code == TOOL_GO_ON ? apply(machine, line, option) : code;
}

static int open_machine(const struct sim_request *request, const char *name, const char *gpus, struct sim_machine *to)
{
    int code = TOOL_GO_ON;
    to->name = strdup(name);
    to->gpus = gpus ? strtol(gpus, NULL, 10) : -1;
    to->machine = thrum_machine_open(name);
    if (!to->name || !to->machine)
        return tool_fail(SIM, "%s", thrum_message(NULL));
    if (request->cores)
        code = count_line(to->machine, "--cores", "cores", request->cores);
    if (code == TOOL_GO_ON && gpus)
        code = count_line(to->machine, "--gpus", "device gpu", gpus);
    if (code == TOOL_GO_ON && request->set)
        code = apply_lines(to->machine, request->set);
    return code;
}

static int open_machines(const struct sim_request *request, struct sim_plan *plan)
{
    struct list names = {0}, gpus = {0};
    int code = list_make(request->machine, &names);
    if (code == TOOL_GO_ON)
        code = list_make(request->gpus, &gpus);
    if (code == TOOL_GO_ON) {
        plan->machines = calloc(names.count * gpus.count, sizeof *plan->machines);
        code = plan->machines ? TOOL_GO_ON : tool_fail(SIM, "no memory");
    }
    for (size_t i = 0; i < names.count && code == TOOL_GO_ON; i++)
        for (size_t j = 0; j < gpus.count && code == TOOL_GO_ON; j++)
            code = open_machine(request, names.words[i], gpus.words[j], &plan->machines[plan->machine_count++]);
    list_drop(&names);
    list_drop(&gpus);
    return code;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static int add_work(struct sim_plan *plan, const char *name, thrum_workload *workload)
{
    struct sim_work *work = &plan->works[plan->work_count++];
    work->name = strdup(name);
    work->workload = workload;
    if (!workload || !work->name || thrum_workload_measure(workload, &work->size) != 0)
        return tool_fail(SIM, "%s", thrum_message(NULL));
    return TOOL_GO_ON;
}

static int read_size(const char *option, const char *text, uint64_t *number)
{
    return text ? tool_read_count(SIM, option, text, number) : TOOL_GO_ON;
}

/* 0 would be taken for "not said". */
static int read_extent(const char *option, const char *text, uint64_t *number)
{
    int code = read_size(option, text, number);
    if (code == TOOL_GO_ON && text && *number == 0)
        return tool_misuse(SIM, "%s is 0; it must be 1 at least.", option);
    return code;
}

static int add_app(const struct sim_request *request, struct sim_plan *plan, const char *app, const char *n,
                   const char *tile)
{
    struct app_workload_size size = {.on_device = request->on_device};
    int code = read_extent("--n", n, &size.n);
    if (code == TOOL_GO_ON)
        code = read_extent("--tile", tile, &size.tile);
    if (code == TOOL_GO_ON)
        code = read_extent("--steps", request->steps, &size.steps);
    if (code != TOOL_GO_ON)
        return code;
    thrum_workload *workload = app_workload(app, &size);
    code = add_work(plan, app, workload);
    plan->works[plan->work_count - 1].n = size.n;
    plan->works[plan->work_count - 1].tile = size.tile;
    return code;
}

static int add_apps(const struct sim_request *request, struct sim_plan *plan)
{
    struct list lists[3] = {{0}};
    const char *texts[3] = {request->app, request->n, request->tile};
    size_t count = 1;
    int code = TOOL_GO_ON;
    for (int i = 0; i < 3 && code == TOOL_GO_ON; i++) {
        code = list_make(texts[i], &lists[i]);
        count *= lists[i].count;
    }
    if (code == TOOL_GO_ON) {
        plan->works = calloc(count, sizeof *plan->works);
        code = plan->works ? TOOL_GO_ON : tool_fail(SIM, "no memory");
    }
    for (size_t i = 0; i < count && code == TOOL_GO_ON; i++)
        code = add_app(request, plan, lists[0].words[i / lists[2].count / lists[1].count],
                       lists[1].words[i / lists[2].count % lists[1].count], lists[2].words[i % lists[2].count]);
    for (int i = 0; i < 3; i++)
        list_drop(&lists[i]);
    return code;
}

static int add_other(const struct sim_request *request, struct sim_plan *plan)
{
    plan->works = calloc(1, sizeof *plan->works);
    if (!plan->works)
        return tool_fail(SIM, "no memory");
    if (request->workload)
        return add_work(plan, request->workload, thrum_workload_read(request->workload));
    return add_work(plan, request->shape, thrum_workload_generate(request->shape));
}

static int add_works(const struct sim_request *request, struct sim_plan *plan)
{
    int given = (request->app != NULL) + (request->workload != NULL) + (request->shape != NULL);
    if (given != 1)
        return tool_misuse(SIM, given ? "only one of --app, --workload and --shape can say what is to be simulated."
                                      : "--app, --workload or --shape must say what is to be simulated.");
    if (!request->app && (request->n || request->tile || request->steps || request->on_device))
        return tool_misuse(SIM, "--n, --tile, --steps and --on-device go with --app only.");
    return request->app ? add_apps(request, plan) : add_other(request, plan);
}

/* ---- Policies ---------------------------------------------------------------------------------------------------- */

static bool has_formula(const char *policy)
{
    size_t length = strcspn(policy, ";");
    return length == strlen("laheteroprio") && strncmp(policy, "laheteroprio", length) == 0;
}

/* "all" is every formula, "auto" among them. */
static const char *formulas_of(const struct sim_request *request)
{
    if (request->formula && strcmp(request->formula, "all") == 0)
        return "auto+laru+mc+ls_sdh+ls_sdh2+ls_sdhb+lc_smwb";
    return request->formula;
}

static char *policy_text(const char *policy, const char *formula, const char *l)
{
    return format_text("%s%s%s%s%s", policy, formula ? ";formula=" : "", formula ? formula : "", l ? ";l=" : "",
                       l ? l : "");
}

static int check_policy(const char *text)
{
    bool steals = strcmp(text, "steal") == 0 || strncmp(text, "steal;", strlen("steal;")) == 0;
    if (steals || thrum_policy_find(text))
        return TOOL_GO_ON;
    return tool_fail(SIM, "%s", thrum_message(NULL));
}

/* Texts of all policies, each with a formula and an l where it has them. */
static int make_policies(const struct sim_request *request, char ***texts, size_t *count)
{
    struct list policies = {0}, formulas = {0}, ls = {0};
    int code = list_make(request->policy ? request->policy : "fifo", &policies);
    if (code == TOOL_GO_ON)
        code = list_make(formulas_of(request), &formulas);
    if (code == TOOL_GO_ON)
        code = list_make(request->l, &ls);
    *texts = code == TOOL_GO_ON ? calloc(policies.count * formulas.count * ls.count, sizeof **texts) : NULL;
    bool used = false;
    for (size_t i = 0; *texts && i < policies.count && code == TOOL_GO_ON; i++) {
        bool with = has_formula(policies.words[i]);
        used = used || with;
        for (size_t j = 0; j < (with ? formulas.count : 1); j++)
            for (size_t k = 0; k < (with ? ls.count : 1) && code == TOOL_GO_ON; k++) {
                char *text = policy_text(policies.words[i], with ? formulas.words[j] : NULL, with ? ls.words[k] : NULL);
                (*texts)[(*count)++] = text;
                code = text ? check_policy(text) : tool_fail(SIM, "no memory");
            }
    }
    if (code == TOOL_GO_ON && !used && (request->formula || request->l))
        code = tool_misuse(SIM, "--formula and --l are for the policy laheteroprio, which is not asked for.");
    list_drop(&policies);
    list_drop(&formulas);
    list_drop(&ls);
    return code;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int make_rows(struct sim_plan *plan, char *const *policies, size_t policy_count, uint64_t seed)
{
    size_t count = plan->machine_count * plan->work_count * policy_count * plan->runs;
    plan->rows = calloc(count, sizeof *plan->rows);
    if (!plan->rows)
        return tool_fail(SIM, "no memory for %zu simulations", count);
    plan->policy_count = policy_count;
    for (size_t i = 0; i < count; i++) {
        struct sim_row *row = &plan->rows[i];
        size_t rest = i;
        row->seed = seed + rest % plan->runs;
        rest /= plan->runs;
        row->policy = strdup(policies[rest % policy_count]);
        rest /= policy_count;
        row->work = &plan->works[rest % plan->work_count];
        row->machine = &plan->machines[rest / plan->work_count];
        plan->row_count++;
        if (!row->policy)
            return tool_fail(SIM, "no memory");
    }
    return TOOL_GO_ON;
}

static int read_engine(const char *text, struct sim_plan *plan)
{
    if (!text || strcmp(text, "native") == 0)
        return TOOL_GO_ON;
    if (strcmp(text, "simgrid") != 0)
        return tool_misuse(SIM, "there is no engine '%s'; it can be native or simgrid.", text);
    plan->engine = THRUM_ENGINE_SIMGRID;
    return thrum_sim_engine_check(THRUM_ENGINE_SIMGRID) == 0 ? TOOL_GO_ON : tool_fail(SIM, "%s", thrum_message(NULL));
}

static int read_numbers(const struct sim_request *request, struct sim_plan *plan, uint64_t *seed)
{
    uint64_t ahead = 0, runs = 1;
    int code = read_size("--seed", request->seed, seed);
    if (code == TOOL_GO_ON)
        code = read_size("--runs", request->runs, &runs);
    if (code == TOOL_GO_ON)
        code = read_size("--ahead", request->ahead, &ahead);
    if (code == TOOL_GO_ON && (runs == 0 || runs > 1000000))
        return tool_misuse(SIM, "--runs is '%s'; it must be from 1 to 1000000.", request->runs);
    if (code == TOOL_GO_ON && ahead > 1000)
        return tool_misuse(SIM, "--ahead is '%s'; it must be from 0 to 1000.", request->ahead);
    plan->runs = (size_t)runs;
    plan->ahead = request->ahead ? (int)ahead : 1;
    return code;
}

int sim_plan_make(const struct sim_request *request, struct sim_plan *plan)
{
    uint64_t seed = 1;
    char **policies = NULL;
    size_t count = 0;
    int code =
        request->machine ? TOOL_GO_ON : tool_misuse(SIM, "--machine is missing; --machines lists those there are.");
    if (code == TOOL_GO_ON)
        code = read_engine(request->engine, plan);
    if (code == TOOL_GO_ON)
        code = read_numbers(request, plan, &seed);
    if (code == TOOL_GO_ON)
        code = make_policies(request, &policies, &count);
    if (code == TOOL_GO_ON)
        code = open_machines(request, plan);
    if (code == TOOL_GO_ON)
        code = add_works(request, plan);
    if (code == TOOL_GO_ON)
        code = make_rows(plan, policies, count, seed);
    if (code == TOOL_GO_ON && request->trace && plan->row_count > 1)
        code = tool_misuse(SIM, "--trace is for one simulation, and this is %zu.", plan->row_count);
    plan->trace = request->trace;
    for (size_t i = 0; i < count; i++)
        free(policies[i]);
    free(policies);
    return code;
}

void sim_plan_drop(struct sim_plan *plan)
{
    for (size_t i = 0; i < plan->row_count; i++) {
        free(plan->rows[i].policy);
        free(plan->rows[i].sentence);
        for (size_t j = 0; j < plan->rows[i].number_count; j++)
            free(plan->rows[i].numbers[j].key);
        free(plan->rows[i].numbers);
        thrum_sim_result_free(plan->rows[i].result);
    }
    for (size_t i = 0; i < plan->machine_count; i++) {
        free(plan->machines[i].name);
        thrum_machine_free(plan->machines[i].machine);
    }
    for (size_t i = 0; i < plan->work_count; i++) {
        free(plan->works[i].name);
        thrum_workload_free(plan->works[i].workload);
    }
    free(plan->rows);
    free(plan->machines);
    free(plan->works);
}
