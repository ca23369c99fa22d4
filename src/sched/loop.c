/* SPDX-License-Identifier: MIT */
#include "sched/loop.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sched/loop_int.h"

#include <math.h>
#include <string.h>

static const thrum__rule *const rules[THRUM_TECHNIQUES] = {
    [THRUM_STEAL] = &thrum__rule_steal, [THRUM_STAT] = &thrum__rule_stat,   [THRUM_SS] = &thrum__rule_ss,
    [THRUM_FSC] = &thrum__rule_fsc,     [THRUM_MFSC] = &thrum__rule_mfsc,   [THRUM_GSS] = &thrum__rule_gss,
    [THRUM_TSS] = &thrum__rule_tss,     [THRUM_FAC] = &thrum__rule_fac,     [THRUM_FAC2] = &thrum__rule_fac2,
    [THRUM_TAP] = &thrum__rule_tap,     [THRUM_TFSS] = &thrum__rule_tfss,   [THRUM_BOLD] = &thrum__rule_bold,
    [THRUM_WF] = &thrum__rule_wf,       [THRUM_AWF] = &thrum__rule_awf,     [THRUM_AWF_B] = &thrum__rule_awf_b,
    [THRUM_AWF_C] = &thrum__rule_awf_c, [THRUM_AWF_D] = &thrum__rule_awf_d, [THRUM_AWF_E] = &thrum__rule_awf_e,
    [THRUM_AF] = &thrum__rule_af,       [THRUM_MAF] = &thrum__rule_maf,     [THRUM_FISS] = &thrum__rule_fiss,
    [THRUM_VISS] = &thrum__rule_viss,   [THRUM_PLS] = &thrum__rule_pls,     [THRUM_RND] = &thrum__rule_rnd,
};

/* ---- Names ------------------------------------------------------------------------------------------------------- */

const thrum__rule *thrum__rule_of(thrum_technique technique)
{
    return (unsigned)technique < THRUM_TECHNIQUES ? rules[technique] : NULL;
}

const char *thrum_technique_name(thrum_technique technique)
{
    const thrum__rule *rule = thrum__rule_of(technique);
    if (rule)
        return rule->name;
    return technique == THRUM_AUTO ? "AUTO" : technique == THRUM_RUNTIME ? "RUNTIME" : NULL;
}

const char *thrum_technique_text(thrum_technique technique)
{
    const thrum__rule *rule = thrum__rule_of(technique);
    if (rule)
        return rule->text;
    if (technique == THRUM_AUTO)
        return "learns over repeated executions of the loop which rule is the fastest";
    return technique == THRUM_RUNTIME ? "what the environment says: THRUM_SCHEDULE" : NULL;
}

unsigned thrum_technique_needs(thrum_technique technique)
{
    const thrum__rule *rule = thrum__rule_of(technique);
    return rule ? rule->needs : 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_separator(char c)
{
    return c == '-' || c == '_';
}

/* What follows the name in `text`, or NULL: the text does not begin with the name. Separators may be where the name has
 * some, and between any two of its letters. */
static const char *after_name(const char *text, const char *name)
{
    for (const char *begin = text; *name; name++) {
        if (is_separator(*name))
            continue;
        if (is_separator(*text) && text > begin)
            text++;
        if (lower(*text++) != lower(*name))
            return NULL;
    }
    return text;
}

static int parse_least(const char *text, const char *number, size_t *least)
{
    size_t value = 0;
    const char *c = number;
    for (; *c >= '0' && *c <= '9'; c++) {
        size_t digit = (size_t)(*c - '0');
        if (value > (INT64_MAX - digit) / 10)
            break;
        value = 10 * value + digit;
    }
    if (*c || value == 0)
        return thrum__fault(
            THRUM_EINVAL,
            "'%.60s' has '%.40s' as the least size of a chunk: after the comma comes a whole number from 1 "
            "to 2^63 - 1, as in 'fac2,16'",
            text, number);
    *least = value;
    return 0;
}

static int parse_rest(const char *text, const char *rest, size_t *least)
{
    *least = 0;
    return *rest ? parse_least(text, rest + 1, least) : 0;
}

static int unknown_name(const char *text)
{
    char names[256] = "";
    for (int i = 0; i < THRUM_TECHNIQUES; i++) {
        strcat(names, i > 0 ? ", " : "");
        strcat(names, rules[i]->name);
    }
    return thrum__fault(THRUM_EINVAL, "'%.60s' is no schedule of loops: the names are %s and AUTO", text, names);
}

int thrum_schedule_parse(const char *text, thrum_technique *technique, size_t *least)
{
    if (!text || !technique || !least)
        return thrum__fault(THRUM_EINVAL,
                            "thrum_schedule_parse needs a text, and places for the technique and the least size");
    for (int i = 0; i <= THRUM_TECHNIQUES; i++) {
        thrum_technique candidate = i < THRUM_TECHNIQUES ? (thrum_technique)i : THRUM_AUTO;
        const char *rest = after_name(text, thrum_technique_name(candidate));
        if (!rest || (*rest && *rest != ','))
            continue;
        size_t number;
        int err = parse_rest(text, rest, &number);
        if (err)
            return err;
        *technique = candidate;
        *least = number;
        return 0;
    }
    return unknown_name(text);
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

static int check_number(const char *rule, const char *what, double number, bool positive)
{
    if (number >= 0 && isfinite(number) && (!positive || number > 0))
        return 0;
    if (number == 0)
        return thrum__fault(THRUM_EINVAL, "%s needs the %s, and it is 0: it must be a number above 0", rule, what);
    return thrum__fault(THRUM_EINVAL, "the %s for %s is %g: it must be a number, finite and not negative", what, rule,
                        number);
}

static int check_numbers(const thrum__rule *rule, const thrum_loop_facts *facts)
{
    int err = check_number(rule->name, "mean time of an iteration", facts->mean, rule->needs & THRUM_NEEDS_MEAN);
    if (!err)
        err = check_number(rule->name, "deviation of an iteration's time", facts->deviation, false);
    if (!err)
        err = check_number(rule->name, "cost of a chunk", facts->cost, rule->needs & THRUM_NEEDS_COST);
    if (!err)
        err = check_number(rule->name, "factor alpha", facts->alpha, false);
    return err;
}

static int check_weights(const thrum__rule *rule, const thrum_loop_facts *facts)
{
    double sum = 0, p = facts->workers;
    for (uint32_t i = 0; i < facts->workers; i++) {
        if (!(facts->weights[i] > 0) || !isfinite(facts->weights[i]))
            return thrum__fault(THRUM_EINVAL, "the weight of worker %u for %s is %g: it must be a number above 0", i,
                                rule->name, facts->weights[i]);
        sum += facts->weights[i];
    }
    if (fabs(sum - p) > 1e-6 * p)
        return thrum__fault(THRUM_EINVAL,
                            "the weights for %s sum up to %.9g: they must sum up to the number of workers, %u",
                            rule->name, sum, facts->workers);
    return 0;
}

static int check_facts(thrum_technique technique, const thrum_loop_facts *facts)
{
    const thrum__rule *rule = thrum__rule_of(technique);
    if (!rule && thrum_technique_name(technique))
        return thrum__fault(THRUM_EINVAL, "%s is a way to pick a technique, not one: only thrum_for takes it",
                            thrum_technique_name(technique));
    if (!rule)
        return thrum__fault(THRUM_EINVAL, "%d is the number of no technique", (int)technique);
    if (!facts)
        return thrum__fault(THRUM_EINVAL, "a schedule by %s needs facts of the loop, and they are NULL", rule->name);
    if (facts->workers == 0)
        return thrum__fault(THRUM_EINVAL, "a schedule by %s is for 0 workers: it needs at least one", rule->name);
    if (facts->iterations > INT64_MAX)
        return thrum__fault(THRUM_EINVAL, "a schedule by %s is for %llu iterations: there can be 2^63 - 1 at most",
                            rule->name, (unsigned long long)facts->iterations);
    int err = check_numbers(rule, facts);
    return !err && facts->weights ? check_weights(rule, facts) : err;
}

static bool has_workers(const thrum__rule *rule)
{
    return rule->order == THRUM__BY_STATE || rule->order == THRUM__BY_OWNER;
}

static void restart(thrum_schedule *schedule)
{
    schedule->left = schedule->facts.iterations;
    schedule->requests = schedule->size = schedule->same = 0;
    memset(schedule->shared, 0, sizeof schedule->shared);
    memset(schedule->counts, 0, sizeof schedule->counts);
    for (uint32_t i = 0; schedule->workers && i < schedule->facts.workers; i++)
        schedule->workers[i] = (thrum__loop_worker){.weight = schedule->workers[i].weight};
    if (schedule->rule->restart)
        schedule->rule->restart(schedule);
}

int thrum__schedule_begin(thrum_schedule *schedule, thrum_technique technique, const thrum_loop_facts *facts,
                          thrum__loop_worker *workers)
{
    int err = check_facts(technique, facts);
    if (err)
        return err;
    const thrum__rule *rule = rules[technique];
    *schedule = (thrum_schedule){.rule = rule, .facts = *facts, .workers = has_workers(rule) ? workers : NULL};
    schedule->facts.weights = NULL;
    err = rule->begin ? rule->begin(schedule) : 0;
    if (err)
        return err;
    if (schedule->facts.least == 0)
        schedule->facts.least = 1;
    for (uint32_t i = 0; schedule->workers && i < facts->workers; i++)
        schedule->workers[i].weight = facts->weights ? facts->weights[i] : 1;
    restart(schedule);
    return 0;
}

thrum_schedule *thrum_schedule_new(thrum_technique technique, const thrum_loop_facts *facts)
{
    if (check_facts(technique, facts))
        return NULL;
    size_t places = has_workers(rules[technique]) ? facts->workers : 0;
    thrum_schedule *schedule = thrum__alloc(sizeof *schedule + places * sizeof(thrum__loop_worker));
    if (!schedule) {
        thrum__fault(THRUM_ENOMEM, "no memory for a schedule of %u workers", facts->workers);
        return NULL;
    }
    if (thrum__schedule_begin(schedule, technique, facts, (thrum__loop_worker *)(schedule + 1))) {
        thrum__free(schedule);
        return NULL;
    }
    return schedule;
}

void thrum_schedule_free(thrum_schedule *schedule)
{
    thrum__free(schedule);
}

void thrum_schedule_restart(thrum_schedule *schedule)
{
    if (schedule)
        restart(schedule);
}

/* ---- Chunks ------------------------------------------------------------------------------------------------------ */

static uint64_t new_size(thrum_schedule *schedule, uint32_t worker, double now)
{
    uint64_t size = schedule->rule->size(schedule, schedule->left, worker, now);
    schedule->size = size < schedule->facts.least ? schedule->facts.least : size;
    return schedule->size;
}

static int take(thrum_schedule *schedule, uint32_t worker, thrum_chunk *chunk)
{
    if (!schedule->rule->take(schedule, worker, chunk))
        return 0;
    schedule->left -= chunk->size;
    schedule->requests++;
    return 1;
}

int thrum__ask_the_rule(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk)
{
    if (schedule->rule->take)
        return take(schedule, worker, chunk);
    return thrum__hand_out(schedule, new_size(schedule, worker, now), chunk);
}

int thrum_schedule_next(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk)
{
    if (!schedule || !chunk || worker >= schedule->facts.workers)
        return 0;
    return thrum__schedule_next(schedule, worker, now, chunk);
}

void thrum_schedule_finished(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost)
{
    if (!schedule || !schedule->rule->finished || worker >= schedule->facts.workers)
        return;
    if (iterations == 0 || iterations > schedule->facts.iterations)
        return;
    if (time >= 0 && isfinite(time) && cost >= 0 && isfinite(cost))
        schedule->rule->finished(schedule, worker, iterations, time, cost);
}

uint64_t thrum__size_of_rest(const thrum_schedule *schedule, uint64_t left)
{
    /* The rule writes nothing: it is BY_REST. */
    return left ? thrum__clamp(schedule, schedule->rule->size((thrum_schedule *)schedule, left, 0, 0), left) : 0;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* Lets the copy hand out all chunks of one size that follow. */
static void hand_out_a_row(thrum_schedule *copy)
{
    uint64_t size = new_size(copy, 0, 0), chunks = thrum__ceil_div(copy->left, size);
    if (chunks - 1 > copy->same)
        chunks = copy->same + 1;
    copy->left -= copy->left / size < chunks ? copy->left : chunks * size;
    copy->requests += chunks;
    copy->same = 0;
}

uint32_t thrum__loop_rows(const thrum_schedule *schedule, thrum__loop_row *rows, uint32_t most)
{
    thrum_schedule copy = *schedule;
    uint32_t count = 0;
    while (copy.left > 0) {
        thrum__loop_row row = {copy.requests, copy.facts.iterations - copy.left, 0};
        hand_out_a_row(&copy);
        row.size = copy.size;
        if (count > 0 && rows[count - 1].size == row.size)
            continue;
        if (count == most)
            return 0;
        rows[count++] = row;
    }
    return count;
}

/* ---- Sums over workers ------------------------------------------------------------------------------------------- */

static void sum_anew(thrum_schedule *schedule, int count, thrum__contribute_fn *contribute)
{
    double part[8];
    memset(schedule->shared, 0, (size_t)count * sizeof schedule->shared[0]);
    for (uint32_t i = 0; i < schedule->facts.workers; i++) {
        contribute(&schedule->workers[i], part);
        for (int k = 0; k < count; k++)
            schedule->shared[k] += part[k];
    }
}

/* A sum that shrinks by three digits has lost them. Once in p renewals there is time for p additions. */
void thrum__sums_renew(thrum_schedule *schedule, const thrum__loop_worker *worker, int count,
                       thrum__contribute_fn *contribute, const double *before, uint64_t *renewals)
{
    double part[8];
    bool anew = ++*renewals % schedule->facts.workers == 0;
    contribute(worker, part);
    for (int k = 0; k < count; k++) {
        double sum = schedule->shared[k] - before[k] + part[k];
        anew |= !(sum >= schedule->shared[k] / 1024);
        schedule->shared[k] = sum;
    }
    if (anew)
        sum_anew(schedule, count, contribute);
}
