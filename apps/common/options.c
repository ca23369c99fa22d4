/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "tools/common.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Help -------------------------------------------------------------------------------------------------------- */

enum { HELP_COLUMN = 20 };

static void print_lines(FILE *out, const char *text)
{
    for (; *text; text++) {
        fputc(*text, out);
        if (*text == '\n')
            fprintf(out, "%*s", HELP_COLUMN, "");
    }
}

static void print_option(FILE *out, const struct app_option *option)
{
    int width = fprintf(out, "  %s %s", option->name, option->value ? option->value : "");
    fprintf(out, "%*s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "");
    print_lines(out, option->help);
    if (option->initial)
        fprintf(out, " (%s)", option->initial);
    fputc('\n', out);
}

/* The text is the caller's to free; NULL without memory. */
static char *make_help(const struct app_about *about, const struct app_option *options, size_t count)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "usage: thrum %s [OPTIONS]\n\n%s", about->verb, about->text);
    for (size_t i = 0; i < count; i++)
        if (options[i].kind == APP_TITLE)
            fprintf(out, "\n%s:\n", options[i].help);
        else
            print_option(out, &options[i]);
    fprintf(out, "  %-*sthis text\n", HELP_COLUMN - 2, "--help");
    fclose(out);
    return text;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static int read_count(const char *verb, const struct app_option *option, const char *text)
{
    uint64_t number = 0;
    int code = tool_read_count(verb, option->name, text, &number);
    if (code == TOOL_GO_ON && (number < option->least || number > option->most))
        return tool_misuse(verb, "%s is '%s'; it must be from %" PRIu64 " to %" PRIu64 ".", option->name, text,
                           option->least, option->most);
    *(uint64_t *)option->to = number;
    return code;
}

static int read_number(const char *verb, const struct app_option *option, const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= 0) || isinf(number))
        return tool_misuse(verb, "%s is '%s'; it must be a number that is not negative, such as 1e-6.", option->name,
                           text);
    *(double *)option->to = number;
    return TOOL_GO_ON;
}

static int read_word(const char *verb, const struct app_option *option, const char *text)
{
    size_t length = strlen(text);
    for (const char *word = option->words; *word;) {
        size_t size = strcspn(word, "|");
        if (size == length && memcmp(word, text, size) == 0) {
            *(const char **)option->to = text;
            return TOOL_GO_ON;
        }
        word += size + (word[size] == '|');
    }
    return tool_misuse(verb, "%s is '%s'; it must be one of: %s.", option->name, text, option->words);
}

static int read_value(const char *verb, const struct app_option *option, const char *text)
{
    switch (option->kind) {
    case APP_COUNT:
        return read_count(verb, option, text);
    case APP_NUMBER:
        return read_number(verb, option, text);
    case APP_WORD:
        return read_word(verb, option, text);
    case APP_TEXT:
        *(const char **)option->to = text;
        break;
    case APP_FLAG:
    case APP_TITLE:
        break;
    }
    return TOOL_GO_ON;
}

enum { MOST_OPTIONS = 48 };

static int parse(const struct app_about *about, const struct app_option *options, size_t count, const char *help,
                 int argc, char **argv)
{
    struct tool_option list[MOST_OPTIONS];
    const char *texts[MOST_OPTIONS] = {0}, **words = calloc((size_t)argc + 1, sizeof *words);
    struct tool_arguments arguments = {about->verb, help, list, 0, words, 0};
    if (!words || !help || count > MOST_OPTIONS) {
        free(words);
        return tool_fail(about->verb, "no memory");
    }
    for (size_t i = 0; i < count; i++)
        if (options[i].kind != APP_TITLE) {
            bool flag = options[i].kind == APP_FLAG;
            list[arguments.option_count++] =
                (struct tool_option){options[i].name, NULL, flag ? options[i].to : NULL, flag ? NULL : &texts[i]};
        }
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON && arguments.word_count)
        code = tool_misuse(about->verb, "'%s' is too much: %s takes no words.", words[0], about->verb);
    for (size_t i = 0; i < count && code == TOOL_GO_ON; i++) {
        const char *text = texts[i] ? texts[i] : options[i].initial;
        code = text ? read_value(about->verb, &options[i], text) : code;
    }
    free(words);
    return code;
}

int app_parse(const struct app_about *about, const struct app_option *options, size_t count, int argc, char **argv)
{
    char *help = make_help(about, options, count);
    int code = parse(about, options, count, help, argc, argv);
    free(help);
    return code;
}
