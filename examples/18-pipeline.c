/* SPDX-License-Identifier: MIT
 *
 * A pipeline: words are read one by one, turned round side by side, and written in the order in which they were read;
 * and a word that begins with a capital letter waits until the one after it has passed.
 */
#include <thrum/thrum.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {"warp", "Weft", "shuttle", "Heddle", "Loom", "reed", "treadle"};
enum { WORDS = sizeof words / sizeof *words, LINES = 3, LENGTH = 16 };

static char text[LINES][LENGTH]; /* of the token that is on the line */
static char all[WORDS * LENGTH];

/* Serial: makes the tokens. */
static void read_word(thrum_pipe *pipe, void *ctx)
{
    uint64_t token = thrum_pipe_token(pipe);
    (void)ctx;
    if (token == WORDS) {
        thrum_pipe_stop(pipe);
        return;
    }
    const char *word = words[token];
    if (isupper((unsigned char)word[0]) && thrum_pipe_defer(pipe, token + 1) != 0)
        return; /* called again when that one has passed */
    snprintf(text[thrum_pipe_line(pipe)], LENGTH, "%s", word);
}

/* Parallel: several words at a time, in any order. */
static void turn_round(thrum_pipe *pipe, void *ctx)
{
    char *word = text[thrum_pipe_line(pipe)];
    (void)ctx;
    for (size_t i = 0, j = strlen(word); i + 1 < j; i++) {
        char c = word[i];
        word[i] = word[--j];
        word[j] = c;
    }
}

/* Serial: in the order in which the words passed the first stage. */
static void write_word(thrum_pipe *pipe, void *ctx)
{
    size_t length = strlen(ctx);
    snprintf((char *)ctx + length, sizeof all - length, "%s ", text[thrum_pipe_line(pipe)]);
}

int main(void)
{
    const thrum_stage stages[] = {
        {THRUM_SERIAL, read_word, NULL},
        {THRUM_PARALLEL, turn_round, NULL},
        {THRUM_SERIAL, write_word, all},
    };
    thrum_pipeline *pipeline = thrum_pipeline_new("words", LINES, stages, 3);
    int err = pipeline ? thrum_pipeline_run(NULL, pipeline) : THRUM_EINVAL;
    if (err)
        fprintf(stderr, "pipeline: %s\n", thrum_message(NULL));
    puts(all);
    thrum_pipeline_free(pipeline);
    return err != 0 || strcmp(all, "praw elttuhs tfeW deer mooL elddeH eldaert ") != 0;
}
