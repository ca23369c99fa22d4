/* SPDX-License-Identifier: MIT
 *
 * A recursive-descent reader. The scanner looks one token ahead; the parser builds the graph as it goes. The first
 * error sticks: from then on every token is the end of the text, so all loops come to their end by themselves.
 */
#define _POSIX_C_SOURCE 200809L

#include "dot_read.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { END, NAME, QUOTED, HTML, ARROW, LINE, SIGN };
enum { DEEPEST = 200 }; /* levels of subgraphs: more would be a damaged file, and each costs stack */

/* Edges are added when all has been read: whether a task may lead to itself depends on its shape, which may come
 * last. */
struct edge {
    size_t before, after, line;
    size_t statement; /* by number */
    bool next;        /* into the next iteration */
};

struct reader {
    const char *at, *end;
    size_t line;
    enum kind kind; /* the token ahead ... */
    char sign;      /* ... which one, for SIGN */
    char *text;     /* ... and its text, for the three kinds of name; zero-ended */
    size_t room;
    size_t token_line;
    int depth;
    bool failed;
    struct dot_graph *graph;
    struct dot_error *error;
    json_t *numbers; /* from a node's name to its number */
    thrum_task **tasks;
    size_t task_room;
    struct edge *edges;
    size_t edge_count, edge_room;
    size_t statements; /* that have been begun */
    bool next;         /* the attributes just read have label=next */
};

/* The nodes that one end of an edge stands for. */
struct nodes {
    size_t *list, count, room;
};

static void fail_at(struct reader *r, size_t line, const char *format, ...)
{
    if (r->failed)
        return;
    r->failed = true;
    r->error->line = line;
    va_list list;
    va_start(list, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, list);
    va_end(list);
    r->kind = END;
}

static void no_memory(struct reader *r)
{
    fail_at(r, 0, "no memory for the graph");
}

/* A bigger block for `need` things of `size` bytes, or the old one. NULL (and a failed reader) without memory. */
static void *grown(struct reader *r, void *block, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return block;
    size_t wanted = need < 32 ? 64 : need * 2;
    void *bigger = realloc(block, wanted * size);
    if (!bigger)
        no_memory(r);
    else
        *room = wanted;
    return bigger;
}

/* ---- Scanner ----------------------------------------------------------------------------------------------------- */

static int peek(const struct reader *r, size_t ahead)
{
    return (size_t)(r->end - r->at) > ahead ? (unsigned char)r->at[ahead] : -1;
}

static int next(struct reader *r)
{
    int c = peek(r, 0);
    if (c >= 0)
        r->at++;
    if (c == '\n')
        r->line++;
    return c;
}

static void skip_line(struct reader *r)
{
    while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
        next(r);
}

static void skip_block(struct reader *r)
{
    size_t begin = r->line;
    r->at += 2;
    while (!(peek(r, 0) == '*' && peek(r, 1) == '/'))
        if (next(r) < 0) {
            fail_at(r, begin, "the comment that begins here has no end: '*/' is missing");
            return;
        }
    r->at += 2;
}

static void skip_space(struct reader *r)
{
    for (;;) {
        int c = peek(r, 0);
        if (c == '#' || (c == '/' && peek(r, 1) == '/'))
            skip_line(r);
        else if (c == '/' && peek(r, 1) == '*')
            skip_block(r);
        else if (c >= 0 && isspace(c))
            next(r);
        else
            return;
    }
}

static void put(struct reader *r, size_t *length, int c)
{
    char *text = grown(r, r->text, &r->room, *length + 2, 1);
    if (!text)
        return;
    r->text = text;
    r->text[(*length)++] = (char)c;
    r->text[*length] = 0;
}

/* Backslashes stay as they are, but for the quotation mark: what they mean is known to labels alone. */
static void scan_quoted_part(struct reader *r, size_t *length)
{
    size_t begin = r->line;
    next(r);
    for (;;) {
        int c = next(r);
        if (c < 0 || c == 0) {
            fail_at(r, begin, "the text that begins here has no end: '\"' is missing");
            return;
        }
        if (c == '"')
            return;
        if (c == '\\' && peek(r, 0) == '"')
            c = next(r);
        else if (c == '\\' && peek(r, 0) == '\n') {
            next(r);
            continue;
        } else if (c == '\\' && peek(r, 0) == '\\') {
            put(r, length, c);
            c = next(r);
        }
        put(r, length, c);
        if (r->failed)
            return;
    }
}

/* "a" + "b" is one text. */
static void scan_quoted(struct reader *r)
{
    size_t length = 0;
    r->kind = QUOTED;
    r->text[0] = 0;
    for (;;) {
        scan_quoted_part(r, &length);
        skip_space(r);
        if (r->failed || peek(r, 0) != '+')
            return;
        next(r);
        skip_space(r);
        if (peek(r, 0) != '"') {
            fail_at(r, r->line, "behind '+' a text in quotation marks must follow");
            return;
        }
    }
}

static void scan_html(struct reader *r)
{
    size_t begin = r->line, length = 0;
    int open = 0;
    r->kind = HTML;
    r->text[0] = 0;
    do {
        int c = next(r);
        if (c < 0) {
            fail_at(r, begin, "the HTML text that begins here has no end: '>' is missing");
            return;
        }
        open += (c == '<') - (c == '>');
        put(r, &length, c);
    } while (open > 0 && !r->failed);
}

static bool in_word(int c)
{
    return c >= 128 || (c >= 0 && (isalnum(c) || c == '_'));
}

static void scan_word(struct reader *r)
{
    size_t length = 0;
    r->kind = NAME;
    r->text[0] = 0;
    bool number = !in_word(peek(r, 0)) || isdigit(peek(r, 0));
    while (!r->failed && (in_word(peek(r, 0)) || (number && (peek(r, 0) == '.' || (length == 0 && peek(r, 0) == '-')))))
        put(r, &length, next(r));
}

static bool begins_number(const struct reader *r)
{
    int c = peek(r, 0), d = peek(r, 1);
    return (c == '.' && d >= 0 && isdigit(d)) || (c == '-' && d >= 0 && (isdigit(d) || d == '.'));
}

static void advance(struct reader *r)
{
    if (r->failed)
        return;
    skip_space(r);
    if (r->failed)
        return;
    r->token_line = r->line;
    int c = peek(r, 0);
    if (c < 0) {
        r->kind = END;
    } else if (c == '"') {
        scan_quoted(r);
    } else if (c == '<') {
        scan_html(r);
    } else if (in_word(c) || begins_number(r)) {
        scan_word(r);
    } else if (c == '-' && (peek(r, 1) == '>' || peek(r, 1) == '-')) {
        r->kind = peek(r, 1) == '>' ? ARROW : LINE;
        r->at += 2;
    } else if (strchr("{}[]=;,:", c) && c != 0) {
        r->kind = SIGN;
        r->sign = (char)next(r);
    } else if (c > 32 && c < 127) {
        fail_at(r, r->line, "'%c' is not part of the DOT language", c);
    } else {
        fail_at(r, r->line, "a byte with the value %d is not part of the DOT language", c);
    }
}

static bool is_sign(const struct reader *r, char sign)
{
    return r->kind == SIGN && r->sign == sign;
}

static bool is_name(const struct reader *r)
{
    return r->kind == NAME || r->kind == QUOTED || r->kind == HTML;
}

static bool is_word(const struct reader *r, const char *word)
{
    return r->kind == NAME && strcasecmp(r->text, word) == 0;
}

static bool skip_sign(struct reader *r, char sign)
{
    if (!is_sign(r, sign))
        return false;
    advance(r);
    return true;
}

static void unexpected(struct reader *r, const char *wanted)
{
    if (r->kind == END)
        fail_at(r, r->line, "the text ends where %s should follow", wanted);
    else if (is_name(r))
        fail_at(r, r->token_line, "'%.60s' stands where %s should follow", r->text, wanted);
    else if (r->kind == SIGN)
        fail_at(r, r->token_line, "'%c' stands where %s should follow", r->sign, wanted);
    else
        fail_at(r, r->token_line, "'%s' stands where %s should follow", r->kind == ARROW ? "->" : "--", wanted);
}

static void expect_sign(struct reader *r, char sign, const char *wanted)
{
    if (!skip_sign(r, sign))
        unexpected(r, wanted);
}

/* The text of the name ahead, to be freed. */
static char *take_name(struct reader *r, const char *wanted)
{
    if (!is_name(r)) {
        unexpected(r, wanted);
        return NULL;
    }
    char *name = strdup(r->text);
    if (!name)
        no_memory(r);
    advance(r);
    return name;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static void add_to(struct reader *r, struct nodes *nodes, size_t number)
{
    size_t *list = grown(r, nodes->list, &nodes->room, nodes->count + 1, sizeof *list);
    if (!list)
        return;
    nodes->list = list;
    nodes->list[nodes->count++] = number;
}

static bool make_room_for_node(struct reader *r)
{
    size_t room = r->task_room;
    thrum_task **tasks = grown(r, r->tasks, &room, r->graph->tasks + 1, sizeof *tasks);
    if (!tasks)
        return false;
    r->tasks = tasks;
    room = r->task_room;
    double *work = grown(r, r->graph->work, &room, r->graph->tasks + 1, sizeof *work);
    if (!work)
        return false;
    r->graph->work = work;
    r->task_room = room;
    return true;
}

/* The number of the node with that name, which is made when it is met for the first time. */
static size_t node_number(struct reader *r, const char *name)
{
    json_t *known = json_object_get(r->numbers, name);
    if (known)
        return (size_t)json_integer_value(known);
    if (r->failed || !make_room_for_node(r))
        return 0;
    size_t number = r->graph->tasks;
    thrum_task *task = thrum_placeholder_new(r->graph->graph);
    if (!task || thrum_task_set_name(task, name) != 0) {
        fail_at(r, r->token_line, "%s", thrum_message(NULL));
        return 0;
    }
    if (json_object_set_new_nocheck(r->numbers, name, json_integer((json_int_t)number)) != 0) {
        no_memory(r);
        return 0;
    }
    r->tasks[number] = task;
    r->graph->work[number] = 1;
    r->graph->tasks++;
    return number;
}

/* DOT's line breaks in a label become spaces, "\N" the node's name; other escaped letters stand for themselves. */
static void set_label(struct reader *r, size_t number, const char *name, const char *label)
{
    size_t room = strlen(label) + 1;
    for (const char *c = label; *c; c++)
        room += *c == '\\' && c[1] == 'N' ? strlen(name) : 0;
    char *text = malloc(room), *out = text;
    if (!text) {
        no_memory(r);
        return;
    }
    for (const char *c = label; *c; c++) {
        if (*c != '\\' || !c[1])
            *out++ = *c;
        else if (*++c == 'N')
            out = stpcpy(out, name);
        else
            *out++ = strchr("nlr", *c) ? ' ' : *c;
    }
    *out = 0;
    if (thrum_task_set_name(r->tasks[number], text) != 0)
        fail_at(r, r->token_line, "%s", thrum_message(NULL));
    free(text);
}

static void set_work(struct reader *r, size_t number, const char *name, const char *value, size_t line)
{
    char *rest;
    errno = 0;
    double work = strtod(value, &rest);
    if (rest == value || *rest || errno || !isfinite(work) || work < 0)
        fail_at(r, line, "the work of '%.60s' is '%.60s'; it must be a number that is not negative", name, value);
    else
        r->graph->work[number] = work;
}

/* Never called: the graph is checked and measured, not run. */
static int condition(void *arg)
{
    (void)arg;
    return THRUM_STOP;
}

static void set_shape(struct reader *r, size_t number, const char *shape)
{
    if (strcmp(shape, "diamond") == 0 && thrum_task_set_condition(r->tasks[number], condition, NULL) != 0)
        fail_at(r, r->token_line, "%s", thrum_message(NULL));
}

/* ---- Parser ------------------------------------------------------------------------------------------------------ */

static void read_statements(struct reader *r, struct nodes *all);

/* One `key = value`. `number` is the node it belongs to, or SIZE_MAX for attributes that mean nothing to thrum. */
static void read_attribute(struct reader *r, size_t number, const char *name)
{
    size_t line = r->token_line;
    char *key = take_name(r, "the name of an attribute or ']'");
    char *value = NULL;
    bool html = false;
    if (key && skip_sign(r, '=')) {
        html = r->kind == HTML;
        value = take_name(r, "the attribute's value");
    }
    if (!r->failed && value && strcmp(key, "label") == 0 && strcmp(value, "next") == 0)
        r->next = true;
    if (!r->failed && value && number != SIZE_MAX) {
        if (strcmp(key, "label") == 0 && !html)
            set_label(r, number, name, value);
        else if (strcmp(key, "work") == 0)
            set_work(r, number, name, value, line);
        else if (strcmp(key, "shape") == 0)
            set_shape(r, number, value);
    }
    free(key);
    free(value);
}

static void read_attributes(struct reader *r, size_t number, const char *name)
{
    r->next = false;
    while (skip_sign(r, '[')) {
        while (!r->failed && !is_sign(r, ']')) {
            read_attribute(r, number, name);
            if (!skip_sign(r, ','))
                skip_sign(r, ';');
        }
        expect_sign(r, ']', "']'");
    }
}

/* A subgraph, with or without its keyword and name: gives the nodes that stand in it. */
static void read_subgraph(struct reader *r, struct nodes *nodes)
{
    if (is_word(r, "subgraph")) {
        advance(r);
        if (is_name(r))
            advance(r);
    }
    size_t begin = r->token_line;
    expect_sign(r, '{', "'{'");
    if (++r->depth > DEEPEST)
        fail_at(r, begin, "subgraphs are nested more than %d deep", (int)DEEPEST);
    read_statements(r, nodes);
    r->depth--;
    if (!skip_sign(r, '}'))
        fail_at(r, begin, "the '{' of this line has no '}'");
}

static bool begins_subgraph(const struct reader *r)
{
    return is_sign(r, '{') || is_word(r, "subgraph");
}

/* One end of an edge: a node (with a port, which is passed over) or a set of them. A node's name is left in *name. */
static void read_end(struct reader *r, struct nodes *nodes, char **name)
{
    if (begins_subgraph(r)) {
        read_subgraph(r, nodes);
        return;
    }
    char *text = take_name(r, "a node or a set of nodes");
    if (!text)
        return;
    add_to(r, nodes, node_number(r, text));
    for (int part = 0; part < 2 && skip_sign(r, ':'); part++)
        free(take_name(r, "the name of a port"));
    *name = text;
}

static void connect(struct reader *r, const struct nodes *before, const struct nodes *after, size_t line,
                    size_t statement)
{
    for (size_t i = 0; i < before->count && !r->failed; i++)
        for (size_t j = 0; j < after->count && !r->failed; j++) {
            struct edge *edges = grown(r, r->edges, &r->edge_room, r->edge_count + 1, sizeof *edges);
            if (!edges)
                return;
            r->edges = edges;
            r->edges[r->edge_count++] = (struct edge){before->list[i], after->list[j], line, statement, false};
        }
}

/* The statement's edges are from `first` on, among those of statements inside of it. */
static void mark_next(struct reader *r, size_t first, size_t statement)
{
    for (size_t i = first; i < r->edge_count; i++)
        if (r->edges[i].statement == statement)
            r->edges[i].next = true;
}

static void add_edges(struct reader *r)
{
    for (size_t i = 0; i < r->edge_count && !r->failed; i++) {
        const struct edge *e = &r->edges[i];
        if ((e->next ? thrum_precede_next : thrum_edge)(r->tasks[e->before], r->tasks[e->after]) != 0)
            fail_at(r, e->line, "%s", thrum_message(NULL));
    }
}

static void append(struct reader *r, struct nodes *all, const struct nodes *some)
{
    for (size_t i = 0; all && i < some->count && !r->failed; i++)
        add_to(r, all, some->list[i]);
}

/* A node statement or an edge statement; they differ only in what follows the first node. */
static void read_node_or_edge(struct reader *r, struct nodes *all)
{
    struct nodes left = {0};
    char *name = NULL;
    size_t statement = ++r->statements, first = r->edge_count;
    read_end(r, &left, &name);
    append(r, all, &left);
    bool edge = r->kind == ARROW;
    while (r->kind == ARROW) {
        struct nodes right = {0};
        char *ignored = NULL;
        size_t line = r->token_line;
        advance(r);
        read_end(r, &right, &ignored);
        free(ignored);
        connect(r, &left, &right, line, statement);
        append(r, all, &right);
        free(left.list);
        left = right;
    }
    if (r->kind == LINE)
        fail_at(r, r->token_line, "'--' has no direction; tasks are connected with '->'");
    bool node = !edge && name && left.count == 1;
    read_attributes(r, node ? left.list[0] : SIZE_MAX, name ? name : "");
    if (edge && r->next)
        mark_next(r, first, statement);
    free(left.list);
    free(name);
}

/* Looks whether "=" follows the name ahead, which makes it an attribute of the graph (rankdir = LR). */
static bool begins_assignment(const struct reader *r)
{
    const char *at = r->at;
    while (at < r->end && isspace((unsigned char)*at))
        at++;
    return is_name(r) && at < r->end && *at == '=';
}

static void read_statement(struct reader *r, struct nodes *all)
{
    if (begins_assignment(r)) {
        read_attribute(r, SIZE_MAX, "");
    } else if (is_word(r, "graph") || is_word(r, "node") || is_word(r, "edge")) {
        advance(r);
        if (!is_sign(r, '['))
            unexpected(r, "'[' with default attributes");
        read_attributes(r, SIZE_MAX, "");
    } else if (is_name(r) || is_sign(r, '{')) {
        read_node_or_edge(r, all);
    } else {
        unexpected(r, "a node, an edge or '}'");
    }
}

/* Collects the nodes that are mentioned in `all`, unless that is NULL. */
static void read_statements(struct reader *r, struct nodes *all)
{
    while (!r->failed && r->kind != END && !is_sign(r, '}')) {
        if (skip_sign(r, ';'))
            continue;
        read_statement(r, all);
        if (all) /* graphs as generous as {b, c} are met in the wild */
            skip_sign(r, ',');
    }
}

static void read_graph(struct reader *r)
{
    advance(r);
    if (is_word(r, "strict"))
        advance(r);
    if (is_word(r, "graph"))
        fail_at(r, r->token_line, "a 'graph' has no directions; a graph of tasks begins with 'digraph'");
    if (!is_word(r, "digraph"))
        unexpected(r, "'digraph'");
    advance(r);
    r->graph->name = is_name(r) ? take_name(r, "a name") : strdup("");
    r->graph->graph = r->failed ? NULL : thrum_graph_new(r->graph->name);
    if (!r->failed && (!r->graph->graph || !r->graph->name))
        no_memory(r);
    size_t begin = r->token_line;
    expect_sign(r, '{', "'{'");
    read_statements(r, NULL);
    if (!r->failed && r->kind == END)
        fail_at(r, r->line, "the text ends but the '{' of line %zu has no '}'", begin);
    skip_sign(r, '}');
    if (r->kind != END)
        unexpected(r, "the end of the file");
    add_edges(r);
}

int dot_read(const char *text, size_t size, struct dot_graph *graph, struct dot_error *error)
{
    *graph = (struct dot_graph){0};
    *error = (struct dot_error){0};
    struct reader r = {.at = text, .end = text + size, .line = 1, .graph = graph, .error = error};
    r.numbers = json_object();
    r.room = 64;
    r.text = malloc(r.room);
    if (!r.numbers || !r.text)
        no_memory(&r);
    else
        read_graph(&r);
    json_decref(r.numbers);
    free(r.text);
    free(r.tasks);
    free(r.edges);
    if (r.failed)
        dot_free(graph);
    return r.failed ? -1 : 0;
}

void dot_free(struct dot_graph *graph)
{
    thrum_graph_free(graph->graph);
    free(graph->name);
    free(graph->work);
    *graph = (struct dot_graph){0};
}
