/* SPDX-License-Identifier: MIT
 *
 * Pipelines, as graphs with a loop in them.
 *
 * Each line is one task, a choice with an edge to itself and one to the next line, the last line's leading to the
 * first. A task before them resets everything and names the first line. A call of a line's task does one stage for the
 * line's token, and then stands for two arrivals: at its line's next stage, and, behind a serial stage, at the same
 * stage of the next line. It names those of the two that have nothing more to wait for. If only its own line can go on
 * it does so at once, without a way through the executor.
 *
 * A cell of a serial stage waits for two things: that its line has come there, and that the line before it has passed
 * the stage; its counter's full value is 2. Two begin with one less, having no token before them: the first line's
 * cells, but for the first stage's, which begins the run; and the first stage's of the other lines, which have no token
 * to finish. A cell of a parallel stage, and all cells if there is only one line, wait for their own line alone and
 * need no counter.
 *
 * Roles. A *cell* is a line at a stage. Whoever makes a cell's last arrival runs it, or hands it to somebody by naming
 * the line; so one thread at a time is at a line, and one at a serial stage.
 *
 * Invariants
 *   1. The fields of a line are touched by whoever runs its cell, up to the arrival at the line's next cell and not
 *      after.
 *   2. `next_token`, `stopping` and `deferrals` are touched in cells of the first stage only, which is serial.
 *   3. A counter has its full value from its cell's last arrival until the arrivals of the cell's next token: those
 *      come after the cell has run. The one from the line before does because the token before this one on that line
 *      does not reach the stage again before this one has passed it.
 *
 * Orders are those of thrum__arrive_at_two: what happened before the arrivals at a cell happens before the cell.
 *
 * A cancelled run leaves counters and lines as they are; the next one begins with a reset.
 */
#include <thrum/pipeline.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "exec/inside.h"
#include "front/pipeline_int.h"
#include "model/graph.h"

enum { LINE_BYTES = 64, LINE_COUNTS = LINE_BYTES / sizeof(thrum__count) };

/* A line, and what a stage function sees. */
struct thrum_pipe {
    _Alignas(LINE_BYTES) thrum_pipeline *pipeline;
    thrum__count *counts;      /* of its cells */
    thrum__count *next_counts; /* of the next line's */
    uint64_t token;
    size_t stage; /* of the cell that runs, or is to run next */
    size_t line;
    uint32_t deferrals;
    bool stopped, deferred; /* in the first stage: what the function has asked for */
};

_Static_assert(sizeof(thrum_pipe) == LINE_BYTES, "lines share no cache line");

struct stage {
    thrum_stage_fn *fn;
    void *ctx;
    bool crosses; /* serial, and there are other lines: the same stage of the next line waits for this one's */
};

/* What set_stages sets. Counters are in cache lines of their own for each line: the line before writes to them too. */
struct layout {
    struct stage *stages;
    size_t stage_count;
    thrum__count *counts;
    size_t counts_per_line;
};

struct thrum_pipeline {
    struct layout layout;
    thrum_graph *graph;
    thrum_pipe *lines;
    size_t line_count;

    _Alignas(LINE_BYTES) uint64_t next_token; /* the first stage's */
    bool stopping;
    thrum__deferrals deferrals;
};

static const char *name_of(const thrum_pipeline *p)
{
    return p->graph->names->graph;
}

/* ---- The first stage --------------------------------------------------------------------------------------------- */

enum outcome { PASSED, AGAIN, ENDED };

/* No more tokens. Those that wait now do so in vain: a token that is free would have been taken. */
static enum outcome end_tokens(const thrum_pipeline *p)
{
    uint64_t token, other;
    if (p->deferrals.waiting && thrum__deferrals_in_vain(&p->deferrals, &token, &other))
        thrum_fail(THRUM_EDEADLOCK,
                   "pipeline '%s' has stopped, but token %llu was deferred until token %llu passes, which never came",
                   name_of(p), (unsigned long long)token, (unsigned long long)other);
    return ENDED;
}

static bool take_token(thrum_pipeline *p, thrum_pipe *pipe)
{
    pipe->stopped = pipe->deferred = false;
    if (p->deferrals.notes && thrum__deferrals_take(&p->deferrals, &pipe->token, &pipe->deferrals))
        return true;
    if (p->stopping)
        return false;
    pipe->token = p->next_token++;
    pipe->deferrals = 0;
    return true;
}

static enum outcome stopped(thrum_pipeline *p, const thrum_pipe *pipe)
{
    if (pipe->deferred) {
        thrum_fail(THRUM_EINVAL, "pipeline '%s': token %llu stops the pipeline and is deferred as well", name_of(p),
                   (unsigned long long)pipe->token);
        return ENDED;
    }
    p->stopping = true;
    if (!p->deferrals.notes)
        return ENDED;
    if (thrum__deferrals_dropped(&p->deferrals, pipe->token)) {
        thrum_fail(THRUM_ENOMEM, "pipeline '%s': no memory to note that token %llu is none", name_of(p),
                   (unsigned long long)pipe->token);
        return ENDED;
    }
    return AGAIN;
}

static enum outcome first_stage(thrum_pipeline *p, thrum_pipe *pipe)
{
    if (!take_token(p, pipe))
        return end_tokens(p);
    p->layout.stages[0].fn(pipe, p->layout.stages[0].ctx);
    if (pipe->stopped)
        return stopped(p, pipe);
    if (pipe->deferred)
        return AGAIN;
    if (p->deferrals.notes)
        thrum__deferrals_passed(&p->deferrals, pipe->token);
    pipe->deferrals = 0;
    return PASSED;
}

/* ---- Going through the stages ------------------------------------------------------------------------------------ */

enum { OWN_LINE = 0, NEXT_LINE = 1 };                   /* numbers of successors */
enum { NEXT_IS_READY = 1 << 0, OWN_IS_READY = 1 << 1 }; /* what arriving gives */

static size_t name_ready(int *picks, unsigned ready)
{
    size_t count = 0;
    if (ready & NEXT_IS_READY)
        picks[count++] = NEXT_LINE;
    if (ready & OWN_IS_READY)
        picks[count++] = OWN_LINE; /* the last one named runs next in this worker: it has the token at hand */
    return count;
}

/* The first stage for tokens until one has passed; AGAIN only if the run needs attention. */
static enum outcome pass_first_stage(thrum_pipeline *p, thrum_pipe *pipe, const uint32_t *attention)
{
    enum outcome outcome;
    do
        outcome = first_stage(p, pipe);
    while (outcome == AGAIN && !__atomic_load_n(attention, __ATOMIC_RELAXED));
    return outcome;
}

/* A cell of a stage that does not cross waits for its own line only, which has just come there: it has no counter. */
static unsigned arrive(const thrum__here *here, thrum__count *next, thrum__count *own)
{
    if (own)
        return thrum__arrive_at_two(here, next, own);
    return OWN_IS_READY | (next ? thrum__arrive(here, next) : 0);
}

/* A line's task. While nobody cancels or watches the run, it goes on as long as only its own line can: attention leads
 * back to the executor after each stage, which leaves a cancelled run's tasks out, and shows each stage to
 * observers. */
static size_t advance(int *picks, size_t room, void *arg)
{
    thrum_pipe *pipe = arg;
    thrum_pipeline *p = pipe->pipeline;
    const struct layout *layout = &p->layout;
    thrum__here here = thrum__here_now();
    size_t stage = pipe->stage;
    unsigned ready;
    (void)room;
    do {
        const struct stage *at = &layout->stages[stage];
        if (stage == 0) {
            enum outcome outcome = pass_first_stage(p, pipe, here.attention);
            if (outcome != PASSED)
                return name_ready(picks, outcome == AGAIN ? OWN_IS_READY : 0);
        } else {
            at->fn(pipe, at->ctx);
        }
        thrum__count *next = at->crosses ? pipe->next_counts + stage : NULL;
        stage = stage + 1 == layout->stage_count ? 0 : stage + 1;
        pipe->stage = stage;
        ready = arrive(&here, next, layout->stages[stage].crosses ? pipe->counts + stage : NULL);
    } while (ready == OWN_IS_READY && !__atomic_load_n(here.attention, __ATOMIC_RELAXED));
    return name_ready(picks, ready);
}

/* Before the first line. Plain stores would do: the run begins after the one before it has ended. */
static int reset(void *arg)
{
    thrum_pipeline *p = arg;
    const struct layout *layout = &p->layout;
    for (size_t l = 0; l < p->line_count; l++) {
        p->lines[l].stage = 0;
        for (size_t s = 0; s < layout->stage_count; s++) {
            thrum__count *count = &p->lines[l].counts[s];
            bool begins_with_less = l == 0 ? s > 0 : s == 0;
            count->full = 2;
            atomic_store_explicit(&count->missing, count->full - begins_with_less, memory_order_relaxed);
        }
    }
    p->next_token = 0;
    p->stopping = false;
    thrum__deferrals_clear(&p->deferrals);
    return 0;
}

/* ---- In a stage function ----------------------------------------------------------------------------------------- */

uint64_t thrum_pipe_token(const thrum_pipe *pipe)
{
    return pipe ? pipe->token : 0;
}

size_t thrum_pipe_line(const thrum_pipe *pipe)
{
    return pipe ? pipe->line : 0;
}

size_t thrum_pipe_stage(const thrum_pipe *pipe)
{
    return pipe ? pipe->stage : 0;
}

uint32_t thrum_pipe_deferrals(const thrum_pipe *pipe)
{
    return pipe ? pipe->deferrals : 0;
}

static int check_first_stage(const thrum_pipe *pipe, const char *what)
{
    if (!pipe)
        thrum_fail(THRUM_EINVAL, "%s: the pipe is NULL", what);
    else if (pipe->stage != 0)
        thrum_fail(THRUM_EINVAL, "%s: called in stage %zu of pipeline '%s', but only the first stage, 0, may", what,
                   pipe->stage, name_of(pipe->pipeline));
    else
        return 0;
    return THRUM_EINVAL;
}

int thrum_pipe_stop(thrum_pipe *pipe)
{
    int err = check_first_stage(pipe, "thrum_pipe_stop");
    if (!err)
        pipe->stopped = true;
    return err;
}

static int fail_defer(const thrum_pipe *pipe, uint64_t token, int err)
{
    const char *why = err == THRUM_ENOMEM   ? "there is no memory to note it"
                      : err == THRUM_ECYCLE ? "that one waits for it, so both would wait for ever"
                                            : "that is itself";
    thrum_fail(err, "thrum_pipe_defer: token %llu of pipeline '%s' cannot wait for token %llu: %s",
               (unsigned long long)pipe->token, name_of(pipe->pipeline), (unsigned long long)token, why);
    return err;
}

int thrum_pipe_defer(thrum_pipe *pipe, uint64_t token)
{
    int err = check_first_stage(pipe, "thrum_pipe_defer");
    if (err)
        return err;
    if (token == pipe->token)
        return fail_defer(pipe, token, THRUM_EINVAL);
    thrum_pipeline *p = pipe->pipeline;
    int waits = thrum__deferrals_add(&p->deferrals, pipe->token, token, p->next_token);
    if (waits < 0)
        return fail_defer(pipe, token, waits);
    pipe->deferred |= waits;
    return waits;
}

/* ---- Making and running ------------------------------------------------------------------------------------------ */

static int check_stages(const char *what, const thrum_stage *stages, size_t count)
{
    if (count == 0)
        return thrum__fault(THRUM_EINVAL, "%s: there are no stages", what);
    if (!stages)
        return thrum__fault(THRUM_EINVAL, "%s: the stages are NULL, but should be %zu", what, count);
    for (size_t s = 0; s < count; s++) {
        if (!stages[s].fn)
            return thrum__fault(THRUM_EINVAL, "%s: the function of stage %zu is NULL", what, s);
        if (stages[s].kind != THRUM_SERIAL && stages[s].kind != THRUM_PARALLEL)
            return thrum__fault(THRUM_EINVAL, "%s: stage %zu is of kind %d, which is neither serial nor parallel", what,
                                s, (int)stages[s].kind);
    }
    if (stages[0].kind != THRUM_SERIAL)
        return thrum__fault(THRUM_EINVAL, "%s: stage 0 is parallel, but the first stage must be serial", what);
    return 0;
}

static void layout_free(struct layout *layout)
{
    thrum__free(layout->stages);
    thrum__free(layout->counts);
}

/* Both arrays, or the sentence that there is no memory. */
static int layout_make(struct layout *layout, const char *what, size_t lines, const thrum_stage *stages, size_t count)
{
    size_t per_line = (count + LINE_COUNTS - 1) / LINE_COUNTS * LINE_COUNTS;
    bool fits = count < PTRDIFF_MAX / sizeof(struct stage) && lines <= PTRDIFF_MAX / sizeof(thrum__count) / per_line;
    *layout = (struct layout){.stage_count = count, .counts_per_line = per_line};
    if (fits) {
        layout->stages = thrum__alloc(count * sizeof *layout->stages);
        layout->counts = thrum__zalloc_aligned(lines * per_line * sizeof *layout->counts);
    }
    if (!layout->stages || !layout->counts) {
        layout_free(layout);
        return thrum__fault(THRUM_ENOMEM, "%s: no memory for %zu lines with %zu stages", what, lines, count);
    }
    for (size_t s = 0; s < count; s++)
        layout->stages[s] = (struct stage){stages[s].fn, stages[s].ctx, stages[s].kind == THRUM_SERIAL && lines > 1};
    return 0;
}

static void use_layout(thrum_pipeline *p, const struct layout *layout)
{
    p->layout = *layout;
    for (size_t l = 0; l < p->line_count; l++) {
        size_t next = l + 1 == p->line_count ? 0 : l + 1;
        p->lines[l].counts = layout->counts + l * layout->counts_per_line;
        p->lines[l].next_counts = layout->counts + next * layout->counts_per_line;
    }
}

static thrum_task *line_task(thrum_graph *graph, thrum_pipe *pipe)
{
    char name[32];
    thrum_task *task = thrum_choice_new(graph, advance, pipe);
    snprintf(name, sizeof name, "line %zu", pipe->line);
    thrum_task_set_name(task, name);
    thrum_edge(task, task); /* OWN_LINE */
    return task;
}

/* Errors stay in the graph, which is asked when it is frozen. */
static int build_graph(thrum_pipeline *p)
{
    thrum_task *begin = thrum_condition_new(p->graph, reset, p), *first = NULL, *before = NULL;
    thrum_task_set_name(begin, "begin");
    for (size_t l = 0; l < p->line_count; l++) {
        p->lines[l].pipeline = p;
        p->lines[l].line = l;
        thrum_task *task = line_task(p->graph, &p->lines[l]);
        if (l == 0)
            thrum_edge(begin, first = task);
        else
            thrum_edge(before, task); /* NEXT_LINE */
        before = task;
        if (!task)
            break;
    }
    if (p->line_count > 1)
        thrum_edge(before, first);
    return thrum_graph_freeze(p->graph);
}

static void pipeline_destroy(thrum_pipeline *p)
{
    thrum_graph_free(p->graph);
    thrum__deferrals_clear(&p->deferrals);
    layout_free(&p->layout);
    thrum__free(p->lines);
    thrum__free(p);
}

static thrum_pipeline *pipeline_make(const char *name, size_t lines)
{
    thrum_pipeline *p = thrum__zalloc_aligned(sizeof *p);
    if (!p)
        return NULL;
    p->line_count = lines;
    p->graph = thrum_graph_new(name ? name : "pipeline");
    if (lines <= PTRDIFF_MAX / sizeof *p->lines)
        p->lines = thrum__zalloc_aligned(lines * sizeof *p->lines);
    if (p->graph && p->lines)
        return p;
    pipeline_destroy(p);
    return NULL;
}

thrum_pipeline *thrum_pipeline_new(const char *name, size_t lines, const thrum_stage *stages, size_t count)
{
    const char *what = "thrum_pipeline_new";
    struct layout layout;
    if (check_stages(what, stages, count))
        return NULL;
    if (lines == 0) {
        thrum__fault(THRUM_EINVAL, "%s: there are no lines", what);
        return NULL;
    }
    thrum_pipeline *p = pipeline_make(name, lines);
    if (!p) {
        thrum__fault(THRUM_ENOMEM, "%s: no memory for %zu lines", what, lines);
        return NULL;
    }
    int err = layout_make(&layout, what, lines, stages, count);
    if (!err) {
        use_layout(p, &layout);
        err = build_graph(p);
    }
    if (err) {
        pipeline_destroy(p);
        return NULL;
    }
    return p;
}

int thrum_pipeline_set_stages(thrum_pipeline *pipeline, const thrum_stage *stages, size_t count)
{
    const char *what = "thrum_pipeline_set_stages";
    struct layout layout;
    if (!pipeline)
        return thrum__fault(THRUM_EINVAL, "%s: the pipeline is NULL", what);
    int err = check_stages(what, stages, count);
    if (err)
        return err;
    if (thrum__graph_runs(pipeline->graph))
        return thrum__fault(THRUM_EBUSY, "%s: pipeline '%s' is running", what, name_of(pipeline));
    err = layout_make(&layout, what, pipeline->line_count, stages, count);
    if (err)
        return err;
    layout_free(&pipeline->layout);
    use_layout(pipeline, &layout);
    return 0;
}

int thrum_pipeline_free(thrum_pipeline *pipeline)
{
    if (!pipeline)
        return 0;
    if (thrum__graph_runs(pipeline->graph))
        return thrum__fault(THRUM_EBUSY, "thrum_pipeline_free: pipeline '%s' is running", name_of(pipeline));
    pipeline_destroy(pipeline);
    return 0;
}

int thrum_pipeline_run(thrum_executor *ex, thrum_pipeline *pipeline)
{
    if (!pipeline)
        return thrum__fault(THRUM_EINVAL, "thrum_pipeline_run: the pipeline is NULL");
    return thrum_run(ex, pipeline->graph);
}

thrum_handle *thrum_pipeline_start(thrum_executor *ex, thrum_pipeline *pipeline)
{
    if (pipeline)
        return thrum_start(ex, pipeline->graph);
    thrum__fault(THRUM_EINVAL, "thrum_pipeline_start: the pipeline is NULL");
    return NULL;
}

thrum_task *thrum_pipeline_task_new(thrum_graph *graph, thrum_pipeline *pipeline)
{
    const char *what = "thrum_pipeline_task_new";
    if (pipeline)
        return thrum_module_new(graph, pipeline->graph);
    return thrum__scope_task_copy(graph, what, thrum__fault(THRUM_EINVAL, "%s: the pipeline is NULL", what), NULL, NULL,
                                  0);
}
