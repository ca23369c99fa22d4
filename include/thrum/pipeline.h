/* SPDX-License-Identifier: MIT
 *
 * Pipelines: tokens go through stages one after the other, several tokens at a time.
 *
 * A pipeline has *lines* and *stages*. A token is a number: 0, 1, 2 and so on, from 0 in each run. It is on one line
 * while it goes through the stages, so at most as many tokens are under way as there are lines, and what belongs to a
 * token can be kept in an array with a place for each line. The library moves no data.
 *
 * A *serial* stage has one token at a time, in the order in which tokens passed the first stage. A *parallel* stage has
 * as many at once as there are lines, in any order. The first stage is serial: it makes the tokens, and stops the
 * pipeline.
 *
 *     static void read_line(thrum_pipe *pipe, void *ctx)
 *     {
 *         if (!fgets(text[thrum_pipe_line(pipe)], LENGTH, ctx))
 *             thrum_pipe_stop(pipe);
 *     }
 *
 * What a stage did for a token happens before the next stage for it, and before the same stage for the next token if
 * the stage is serial. A stage function may use scopes, run graphs and wait, like any task.
 *
 * **Deferring.** In the first stage a token can be put off until others have passed that stage (decoding a picture that
 * refers to a later one): the function calls `thrum_pipe_defer` for each of them and returns. The token leaves its
 * line, which goes on with others, and the first stage is called for it again when all of those have passed: before new
 * tokens, and in the order in which they became free. It is the first stage that counts, not the last: being serial, it
 * needs no lock for this, and serial stages behind it keep its order anyway.
 *
 * **Errors.** A stage fails with `thrum_fail`; then no further stage begins for any token, and the run returns the
 * code. The same for cancelling. Wrong use in a stage (stopping or deferring outside the first one, deferring on itself
 * or in a circle) fails the run with a sentence. The next run begins anew.
 *
 * The functions that take a `thrum_pipe` are for the stage function that was given it, while it runs.
 */
#ifndef THRUM_PIPELINE_H
#define THRUM_PIPELINE_H

#include <thrum/graph.h>

THRUM_BEGIN_C

typedef struct thrum_pipeline thrum_pipeline;
typedef struct thrum_pipe thrum_pipe; /* a token at a stage, as the stage function sees it */

typedef void thrum_stage_fn(thrum_pipe *pipe, void *ctx);

enum thrum_stage_kind { THRUM_SERIAL = 0, THRUM_PARALLEL = 1 };

typedef struct thrum_stage {
    enum thrum_stage_kind kind;
    thrum_stage_fn *fn;
    void *ctx; /* handed to fn */
} thrum_stage;

/* A pipeline with that many lines and stages. The stages are copied. The name is for messages, pictures and traces, and
 * may be NULL. Returns NULL on failure, and `thrum_message(NULL)` says why: no lines, no stages, a stage without a
 * function, a first stage that is not serial, no memory. */
THRUM_API thrum_pipeline *thrum_pipeline_new(const char *name, size_t lines, const thrum_stage *stages, size_t count);

/* Other stages, from the next run on. THRUM_EBUSY while it runs. After an error the pipeline is as it was. */
THRUM_API int thrum_pipeline_set_stages(thrum_pipeline *pipeline, const thrum_stage *stages, size_t count);

/* THRUM_EBUSY while it runs: nothing is freed. NULL does nothing. */
THRUM_API int thrum_pipeline_free(thrum_pipeline *pipeline);

/* Runs the pipeline until its first stage stops it and all tokens have gone through, and waits. 0 or the first error.
 * Several runs of one pipeline queue up. */
THRUM_API int thrum_pipeline_run(thrum_executor *ex, thrum_pipeline *pipeline);

/* The same without waiting: a handle, to be released. NULL on failure. */
THRUM_API thrum_handle *thrum_pipeline_start(thrum_executor *ex, thrum_pipeline *pipeline);

/* A task that runs the pipeline as part of a graph; the rules are those of thrum_module_new. NULL on failure, and the
 * graph keeps the error. */
THRUM_API thrum_task *thrum_pipeline_task_new(thrum_graph *graph, thrum_pipeline *pipeline);

/* ---- In a stage function ----------------------------------------------------------------------------------------- */

/* Where the call is: the token, its line (0 to lines - 1) and the stage (0 to stages - 1). 0 for NULL. */
THRUM_API uint64_t thrum_pipe_token(const thrum_pipe *pipe);
THRUM_API size_t thrum_pipe_line(const thrum_pipe *pipe);
THRUM_API size_t thrum_pipe_stage(const thrum_pipe *pipe);

/* How often the token has been deferred so far; 0 in later stages. */
THRUM_API uint32_t thrum_pipe_deferrals(const thrum_pipe *pipe);

/* In the first stage: there are no more tokens. This one is none, it goes no further; tokens before it do, and deferred
 * ones if what they wait for has passed. If some wait for tokens that will never come, the run fails with
 * THRUM_EDEADLOCK. 0 or an error, which is the run's too. */
THRUM_API int thrum_pipe_stop(thrum_pipe *pipe);

/* In the first stage: this token is to wait until `token` has passed the first stage. Returns 1: so it is, the function
 * should return (or name more tokens), and will be called again; 0: that token has passed already. `token` may be one
 * that does not exist yet. A negative error, which is the run's too: THRUM_EINVAL for the token itself or outside the
 * first stage, THRUM_ECYCLE if `token` waits for this one, THRUM_ENOMEM. */
THRUM_API int thrum_pipe_defer(thrum_pipe *pipe, uint64_t token);

THRUM_END_C

#endif
