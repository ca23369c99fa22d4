/* SPDX-License-Identifier: MIT
 *
 * Options of an application: one table gives the help, the defaults and the reading.
 */
#ifndef THRUM_APPS_OPTIONS_H
#define THRUM_APPS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum app_option_kind {
    APP_TITLE,  /* no option: `help` stands above those that follow */
    APP_COUNT,  /* uint64_t: 1000, 1e6 or 2^19 */
    APP_NUMBER, /* double, not negative */
    APP_WORD,   /* const char *: one of `words` */
    APP_TEXT,   /* const char * */
    APP_FLAG    /* bool: true if it is there */
};

struct app_option {
    enum app_option_kind kind;
    const char *name;    /* "--n" */
    const char *value;   /* what stands behind it in the help: "COUNT" */
    const char *initial; /* the value without it; NULL: what `to` holds stays */
    const char *help;    /* lines, with the default in words if `initial` is NULL */
    void *to;
    uint64_t least, most; /* of APP_COUNT */
    const char *words;    /* of APP_WORD: "real|timing" */
};

/* What an application is, for its help. */
struct app_about {
    const char *verb;
    const char *text; /* a few lines */
};

/* Reads the command line. TOOL_GO_ON, or the exit code after help or a sentence about what was wrong. */
int app_parse(const struct app_about *about, const struct app_option *options, size_t count, int argc, char **argv);

#endif
