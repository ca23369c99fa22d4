/* SPDX-License-Identifier: MIT
 *
 * What the verbs of the command share: exit codes, messages, arguments, files and the time.
 */
#ifndef THRUM_TOOLS_COMMON_H
#define THRUM_TOOLS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

#if defined(__GNUC__)
#define TOOL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define TOOL_PRINTF(text, first)
#endif

/* "thrum VERB: sentence" on standard error. The first returns TOOL_FAILED; the second adds where help is to be had and
 * returns TOOL_USAGE. */
int tool_fail(const char *verb, const char *format, ...) TOOL_PRINTF(2, 3);
int tool_misuse(const char *verb, const char *format, ...) TOOL_PRINTF(2, 3);

/* The one of `count` words that looks most like `word`, or NULL when none is close enough to be meant. */
const char *tool_nearest(const char *word, const char *const *words, size_t count);

/* An option of a verb: a flag, or one that takes a value ("--out FILE" or "--out=FILE"). */
struct tool_option {
    const char *name;   /* "--out" */
    const char *letter; /* "-o", or NULL */
    bool *flag;         /* either this is set to true ... */
    const char **value; /* ... or this to what follows */
};

struct tool_arguments {
    const char *verb, *help;
    const struct tool_option *options;
    size_t option_count;
    const char **words; /* arguments that are no options, in their order; room for argc of them */
    size_t word_count;
};

enum { TOOL_GO_ON = -1 };

/* Sorts the arguments into options and words. TOOL_GO_ON, or the exit code when help was printed or a word was wrong.
 * "--" ends the options; "-" alone is a word. */
int tool_parse(struct tool_arguments *arguments, int argc, char **argv);

/* Reads the value of an option: "1000", "1e6" or "2^19", below 2^63. TOOL_GO_ON, or TOOL_USAGE after a sentence. */
int tool_read_count(const char *verb, const char *option, const char *text, uint64_t *count);

/* The whole file, a zero byte behind it; "-" is standard input. On failure NULL, and a sentence without a full stop in
 * `why`. */
char *tool_read_file(const char *path, size_t *size, char *why, size_t why_size);

/* Writes a whole file; "-" is standard output. False on failure, and a sentence in `why`. */
bool tool_write_file(const char *path, const char *text, size_t size, char *why, size_t why_size);

/* Makes the folders that `path` lies in. */
bool tool_make_folders(const char *path);

/* Where PATH leads for a program. False when it is not there. */
bool tool_find_program(const char *name, char *path, size_t size);

/* Seconds of a clock that only goes forward. */
double tool_now(void);

/* A time with a fitting unit: "1.25 ms". */
#define TOOL_TIME_SIZE 32
const char *tool_time(double seconds, char buffer[TOOL_TIME_SIZE]);

/* Likewise: "1.25 MiB". */
const char *tool_bytes(double bytes, char buffer[TOOL_TIME_SIZE]);

#endif
