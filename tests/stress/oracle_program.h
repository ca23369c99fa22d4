/* SPDX-License-Identifier: MIT
 *
 * Random programs for the oracle: what a seed generates, how thrum runs it, and what it computes one step at a time.
 *
 *   node   one function call that thrum makes: a task of a graph, or a spawned child
 *   group  what is waited for as one: a scope, or the run of a graph; it has nodes as members and belongs to the node
 *          that opened it
 *   net    the nodes of one graph with their edges; node i waits only for nodes before it in the net
 *   block  the steps that a node does in one scope
 *
 * Each node computes a number from those of the nodes it waits for, of the children it joined, and of its parent. All
 * of these are plain memory: ThreadSanitizer sees when thrum did not order a write before a read.
 */
#ifndef TESTS_STRESS_ORACLE_PROGRAM_H
#define TESTS_STRESS_ORACLE_PROGRAM_H

#include "event_log.h"
#include "random.h"
#include "tasks.h"

enum event_kind { BEGIN, END, JOIN, JOINED, FAILING, FAILED };

enum step_kind {
    STEP_SPAWN,
    STEP_SPAWN_COPY,
    STEP_SCOPE,  /* open, do a block, join */
    STEP_GRAPH,  /* a subgraph in the scope */
    STEP_DETACH, /* what is spawned later in the block is detached */
    STEP_RUN,    /* run a graph and wait for it */
};

enum fails { FAILS_NOT, FAILS_FIRST, FAILS_LAST };
enum top { TOP_GRAPH, TOP_SCOPE_RUN, TOP_OPEN_ON, TOPS };

struct program;
struct group;
struct net;

struct block {
    struct step *steps;
    size_t count;
};

/* What a node computed: `seed` before its steps, for its children; `value` when its function returned. */
struct result {
    uint64_t seed, value;
};

enum { FOUND, EXPECTED };

struct node {
    struct program *program;
    int id;
    bool scoped;   /* it is given a scope */
    bool detached; /* it is joined at the end of `home` and not of its group */
    enum fails fails;
    unsigned work;        /* how long it keeps busy */
    size_t copy_size;     /* of its argument, if spawned with a copy */
    struct group *group;  /* it is a member of */
    struct group *home;   /* the innermost run it is part of; NULL in scopes opened outside tasks */
    struct group *given;  /* the scope it is given; NULL unless scoped */
    struct net *net;      /* it is part of; NULL for spawned nodes */
    struct node **before; /* those it waits for */
    size_t before_count;
    size_t place; /* in the net */
    struct block block;
    uint64_t runs;           /* in this run_n */
    struct result result[2]; /* FOUND and EXPECTED */
};

struct group {
    int id;
    bool is_run;
    struct node *owner; /* who opened it; NULL for the outermost one */
    struct node **members;
    size_t count, room;
};

struct net {
    struct node **nodes;
    size_t *creation; /* the order in which the tasks are created, so that it is not the order of the edges */
    size_t count;
};

struct step {
    enum step_kind kind;
    bool open_with_null;
    struct node *node;
    struct group *group;
    struct net *net;
    struct block block;
};

struct program {
    struct random random;
    enum top top;
    size_t budget; /* how many more nodes may be made */
    struct group *outermost;
    struct net *net;     /* of TOP_GRAPH */
    struct node outside; /* stands for the code outside tasks; its block is that of TOP_OPEN_ON */
    struct node **nodes; /* all, by id */
    struct group **groups;
    size_t node_count, group_count, node_room, group_room;
    struct memory *memory;
    /* While it runs. */
    thrum_executor *ex;
    struct event_log log;
    uint64_t epoch, rounds; /* which run this is, and how many rounds it has */
    bool failing;
    atomic_int unexpected; /* calls that returned what they must not */
};

/* ---- Memory: freed as a whole ------------------------------------------------------------------------------------ */

struct memory {
    struct memory *next;
    max_align_t data[];
};

static inline void *program_take(struct program *program, size_t size)
{
    struct memory *memory = calloc(1, sizeof *memory + size);
    if (!memory)
        abort();
    memory->next = program->memory;
    program->memory = memory;
    return memory->data;
}

static inline void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    *room = *room ? 2 * *room : 8;
    list = realloc(list, *room * size);
    if (!list)
        abort();
    return list;
}

static inline void program_free(struct program *program)
{
    for (size_t i = 0; i < program->group_count; i++)
        free(program->groups[i]->members);
    free(program->groups);
    free(program->nodes);
    while (program->memory) {
        struct memory *next = program->memory->next;
        free(program->memory);
        program->memory = next;
    }
    event_log_close(&program->log);
}

/* ---- Generating -------------------------------------------------------------------------------------------------- */

static inline struct group *group_new(struct program *program, struct node *owner, bool is_run)
{
    struct group *group = program_take(program, sizeof *group);
    *group = (struct group){.id = (int)program->group_count, .is_run = is_run, .owner = owner};
    program->groups = grown(program->groups, program->group_count, &program->group_room, sizeof *program->groups);
    program->groups[program->group_count++] = group;
    return group;
}

static inline struct node *node_new(struct program *program, struct group *group, struct group *home, bool scoped)
{
    struct node *node = program_take(program, sizeof *node);
    *node = (struct node){.program = program, .id = (int)program->node_count, .group = group, .home = home};
    node->scoped = scoped;
    node->work = random_chance(&program->random, 20) ? (unsigned)random_below(&program->random, 300) : 0;
    node->copy_size =
        sizeof(struct node *) + random_below(&program->random, random_chance(&program->random, 5) ? 5000 : 60);
    if (scoped)
        node->given = group_new(program, node, false);
    program->nodes = grown(program->nodes, program->node_count, &program->node_room, sizeof *program->nodes);
    program->nodes[program->node_count++] = node;
    group->members = grown(group->members, group->count, &group->room, sizeof *group->members);
    group->members[group->count++] = node;
    if (program->budget)
        program->budget--;
    return node;
}

static struct net *net_generate(struct program *program, struct group *group, struct group *home, size_t count,
                                int depth);

static inline struct step *block_add(struct program *program, struct block *block, enum step_kind kind)
{
    enum { MOST_STEPS = 64 };
    if (!block->steps)
        block->steps = program_take(program, MOST_STEPS * sizeof *block->steps);
    assert_true(block->count < MOST_STEPS);
    struct step *step = &block->steps[block->count++];
    step->kind = kind;
    step->open_with_null = random_chance(&program->random, 30);
    return step;
}

static void block_generate(struct program *program, struct block *block, struct node *owner, struct group *scope,
                           struct group *home, int depth);

static inline struct node *spawned_generate(struct program *program, struct group *scope, struct group *home,
                                            bool detached, int depth)
{
    struct node *node = node_new(program, scope, home, true);
    node->detached = detached;
    block_generate(program, &node->block, node, node->given, home, depth - 1);
    return node;
}

/* One step of a block that is done in `scope`; without one, in a plain task, only scopes and runs are possible. */
static inline void step_generate(struct program *program, struct block *block, struct node *owner, struct group *scope,
                                 struct group *home, bool *detached, int depth)
{
    struct random *random = &program->random;
    size_t choice = scope ? random_below(random, 100) : 60 + random_below(random, 30);
    if (choice < 60) {
        struct step *step = block_add(program, block, choice < 40 ? STEP_SPAWN : STEP_SPAWN_COPY);
        step->node = spawned_generate(program, scope, home, *detached, depth);
    } else if (choice < 80) {
        struct step *step = block_add(program, block, STEP_SCOPE);
        step->group = group_new(program, owner, false);
        block_generate(program, &step->block, owner, step->group, home, depth - 1);
    } else if (choice < 84) {
        struct step *step = block_add(program, block, STEP_RUN);
        step->group = group_new(program, owner, true);
        step->net = net_generate(program, step->group, step->group, random_between(random, 1, 8), depth - 1);
    } else if (choice < 94 && scope && !*detached) {
        struct step *step = block_add(program, block, STEP_GRAPH);
        step->group = scope;
        step->net = net_generate(program, scope, home, random_between(random, 1, 8), depth - 1);
    } else if (scope && home && !*detached) {
        block_add(program, block, STEP_DETACH);
        *detached = true;
    }
}

static void block_generate(struct program *program, struct block *block, struct node *owner, struct group *scope,
                           struct group *home, int depth)
{
    bool detached = false;
    size_t steps = depth <= 0 ? 0 : random_below(&program->random, random_chance(&program->random, 10) ? 30 : 5);
    for (size_t i = 0; i < steps && program->budget; i++)
        step_generate(program, block, owner, scope, home, &detached, depth);
}

static inline void edge_add(struct program *program, struct net *net, size_t from, size_t to)
{
    struct node *node = net->nodes[to];
    if (!node->before)
        node->before = program_take(program, net->count * 2 * sizeof *node->before);
    if (node->before_count < 2 * net->count)
        node->before[node->before_count++] = net->nodes[from];
}

/* Edges of one of several shapes; each leads from a lower place in the net to a higher one. */
static inline void edges_generate(struct program *program, struct net *net)
{
    struct random *random = &program->random;
    size_t shape = random_below(random, 7), width = random_between(random, 1, 6),
           density = random_between(random, 1, 60);
    for (size_t i = 1; i < net->count; i++) {
        if (shape == 0)
            edge_add(program, net, i - 1, i); /* a chain */
        if (shape == 1)
            edge_add(program, net, (i - 1) / 2, i); /* a tree */
        if (shape == 2 && i % width)
            edge_add(program, net, i - 1, i); /* a wavefront: from the left */
        if (shape == 2 && i >= width)
            edge_add(program, net, i - width, i); /* and from above */
        if (shape == 3) {                         /* two of those before */
            edge_add(program, net, random_below(random, i), i);
            edge_add(program, net, random_below(random, i), i);
        }
        if (shape == 4) { /* layers, each after all of the one before */
            for (size_t j = i / width * width; j-- > 0 && j / width + 1 == i / width;)
                edge_add(program, net, j, i);
        }
        if (shape == 5) /* as it comes */
            for (size_t j = i > 40 ? i - 40 : 0; j < i; j++)
                if (random_chance(random, (unsigned)density))
                    edge_add(program, net, j, i);
        /* shape 6: no edges */
    }
}

static struct net *net_generate(struct program *program, struct group *group, struct group *home, size_t count,
                                int depth)
{
    struct random *random = &program->random;
    struct net *net = program_take(program, sizeof *net);
    net->count = count;
    net->nodes = program_take(program, count * sizeof *net->nodes);
    net->creation = program_take(program, count * sizeof *net->creation);
    bool shuffled = random_chance(random, 50);
    for (size_t i = 0; i < count; i++) {
        size_t j = shuffled ? random_below(random, i + 1) : i;
        net->creation[i] = net->creation[j];
        net->creation[j] = i;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node = node_new(program, group, home, random_chance(random, 40));
        node->net = net;
        node->place = i;
        net->nodes[i] = node;
        if (node->scoped || random_chance(random, 15))
            block_generate(program, &node->block, node, node->given, home, depth);
    }
    edges_generate(program, net);
    return net;
}

static inline void failures_generate(struct program *program)
{
    size_t failures = random_between(&program->random, 1, 2);
    for (size_t i = 0; i < failures && program->node_count; i++)
        program->nodes[random_below(&program->random, program->node_count)]->fails =
            random_chance(&program->random, 50) ? FAILS_FIRST : FAILS_LAST;
}

static inline void program_generate(struct program *program, uint64_t seed)
{
    *program = (struct program){.random = random_new(seed)};
    struct random *random = &program->random;
    program->budget = random_chance(random, 3) ? 1500 : random_between(random, 5, 80);
    program->top = (enum top)(random_chance(random, 60) ? TOP_GRAPH : random_below(random, TOPS));
    program->outermost = group_new(program, NULL, program->top != TOP_OPEN_ON);
    program->outside = (struct node){.program = program, .id = -1, .given = program->outermost};
    struct group *home = program->outermost->is_run ? program->outermost : NULL;
    int depth = (int)random_between(random, 0, 6);
    if (program->top == TOP_GRAPH) {
        size_t count = random_between(random, 1, program->budget);
        program->net = net_generate(program, program->outermost, home, count, depth);
    } else if (program->top == TOP_SCOPE_RUN) {
        spawned_generate(program, program->outermost, home, false, depth + 2);
    } else {
        block_generate(program, &program->outside.block, NULL, program->outermost, NULL, depth + 1);
    }
    failures_generate(program);
}

/* ---- Computing --------------------------------------------------------------------------------------------------- */

static inline uint64_t blend(uint64_t sum, uint64_t value)
{
    return random_mix(sum * 3 + value + 1);
}

/* The number of a node and of all that its completion waits for. */
static inline uint64_t tree_value(const struct node *node, int which)
{
    uint64_t sum = node->result[which].value;
    for (size_t i = 0; node->given && i < node->given->count; i++)
        if (!node->given->members[i]->detached)
            sum = blend(sum, tree_value(node->given->members[i], which));
    return sum;
}

static inline uint64_t group_value(const struct group *group, int which)
{
    uint64_t sum = (uint64_t)group->id;
    for (size_t i = 0; i < group->count; i++)
        if (!group->members[i]->detached)
            sum = blend(sum, tree_value(group->members[i], which));
    return sum;
}

static inline void node_compute(struct node *node, int which)
{
    uint64_t round = node->program->epoch * 16 + (which == FOUND ? node->runs++ : node->program->rounds - 1);
    const struct node *parent = node->group->owner;
    uint64_t sum = blend((uint64_t)node->id, round + (parent ? parent->result[which].seed : 0));
    for (size_t i = 0; i < node->before_count; i++)
        sum = blend(sum, tree_value(node->before[i], which));
    node->result[which] = (struct result){sum, sum};
}

static inline void node_add(struct node *node, int which, const struct group *joined)
{
    node->result[which].value = blend(node->result[which].value, group_value(joined, which));
}

/* Outside tasks there is no failure to report to; the run's own code has told it. */
static inline bool is_outside(const struct node *node)
{
    return node->id < 0;
}

/* The sequential evaluation: every node after those it needs. */
static inline void node_evaluate(struct node *node);

static inline void net_evaluate(const struct net *net)
{
    for (size_t i = 0; i < net->count; i++)
        node_evaluate(net->nodes[i]);
}

static inline void block_evaluate(struct node *owner, const struct block *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const struct step *step = &block->steps[i];
        if (step->node)
            node_evaluate(step->node);
        if (step->net)
            net_evaluate(step->net);
        if (step->kind == STEP_SCOPE)
            block_evaluate(owner, &step->block);
        if (step->kind == STEP_SCOPE || step->kind == STEP_RUN)
            node_add(owner, EXPECTED, step->group);
    }
}

static inline void node_evaluate(struct node *node)
{
    node_compute(node, EXPECTED);
    block_evaluate(node, &node->block);
}

static inline void program_evaluate(struct program *program)
{
    program->outside.result[EXPECTED] = program->outside.result[FOUND] = (struct result){0, 0};
    if (program->top == TOP_GRAPH)
        net_evaluate(program->net);
    else if (program->top == TOP_SCOPE_RUN)
        node_evaluate(program->outermost->members[0]);
    else
        block_evaluate(&program->outside, &program->outside.block);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

enum { CODE_OF_NODE_ZERO = 1000 };

static void block_run(struct node *node, const struct block *block, thrum_scope *scope);

static inline void node_fail(struct node *node, int code)
{
    event_log_add(&node->program->log, FAILING, node->id); /* from here on others may be skipped, */
    thrum_fail(code, "node %d fails.", code - CODE_OF_NODE_ZERO);
    /* and from here on all must be. */
    event_log_add(&node->program->log, FAILED, node->id);
}

static inline void node_run(struct node *node, thrum_scope *scope)
{
    struct program *program = node->program;
    event_log_add(&program->log, BEGIN, node->id);
    node_compute(node, FOUND);
    for (volatile unsigned i = 0; i < node->work; i++)
        ;
    if (program->failing && node->fails == FAILS_FIRST)
        node_fail(node, CODE_OF_NODE_ZERO + node->id);
    block_run(node, &node->block, scope);
    if (program->failing && node->fails == FAILS_LAST)
        node_fail(node, CODE_OF_NODE_ZERO + node->id);
    event_log_add(&program->log, END, node->id);
}

static void node_run_plain(void *node)
{
    node_run(node, NULL);
}

static void node_run_scoped(thrum_scope *scope, void *node)
{
    node_run(node, scope);
}

/* The copy begins with the node; the rest are bytes that follow from its number. */
static void node_run_copied(thrum_scope *scope, void *copy)
{
    struct node *node;
    memcpy(&node, copy, sizeof node);
    const unsigned char *bytes = copy;
    for (size_t i = sizeof node; i < node->copy_size; i++)
        if (bytes[i] != (unsigned char)(node->id + (int)i))
            count_up(&node->program->unexpected);
    if ((uintptr_t)copy % _Alignof(max_align_t))
        count_up(&node->program->unexpected);
    node_run(node, scope);
}

static inline void spawn_copied(thrum_scope *scope, struct node *node)
{
    unsigned char bytes[sizeof node + 5000];
    memcpy(bytes, &node, sizeof node);
    for (size_t i = sizeof node; i < node->copy_size; i++)
        bytes[i] = (unsigned char)(node->id + (int)i);
    thrum_spawn_copy(scope, node_run_copied, bytes, node->copy_size);
    memset(bytes, 0xaa, sizeof node);
}

static inline void net_build(const struct net *net, thrum_graph *graph)
{
    thrum_task **tasks = calloc(net->count, sizeof(thrum_task *));
    for (size_t i = 0; i < net->count; i++) {
        struct node *node = net->nodes[net->creation[i]];
        tasks[net->creation[i]] = node->scoped ? thrum_scope_task_new(graph, node_run_scoped, node)
                                               : thrum_task_new(graph, node_run_plain, node);
    }
    for (size_t i = 0; i < net->count; i++)
        for (size_t j = 0; j < net->nodes[i]->before_count; j++)
            thrum_edge(tasks[net->nodes[i]->before[j]->place], tasks[i]);
    free(tasks);
}

static inline void run_inside(struct node *node, const struct step *step)
{
    struct program *program = node->program;
    thrum_graph *graph = thrum_graph_new("inner");
    net_build(step->net, graph);
    event_log_add(&program->log, JOIN, step->group->id);
    int code = thrum_run(program->ex, graph);
    event_log_add(&program->log, JOINED, step->group->id);
    if (thrum_graph_free(graph) || (code && !program->failing))
        count_up(&program->unexpected);
    if (code && !is_outside(node))
        node_fail(node, code);
}

static inline void scope_inside(struct node *node, const struct step *step, thrum_scope *up)
{
    struct program *program = node->program;
    thrum_scope scope;
    thrum_scope_open(&scope, step->open_with_null && !is_outside(node) ? NULL : up);
    block_run(node, &step->block, &scope);
    event_log_add(&program->log, JOIN, step->group->id);
    int code = thrum_join(&scope);
    event_log_add(&program->log, JOINED, step->group->id);
    if (code && !program->failing)
        count_up(&program->unexpected);
}

static inline void step_run(struct node *node, const struct step *step, thrum_scope *scope)
{
    struct program *program = node->program;
    switch (step->kind) {
    case STEP_SPAWN:
        thrum_spawn(scope, node_run_scoped, step->node);
        break;
    case STEP_SPAWN_COPY:
        spawn_copied(scope, step->node);
        break;
    case STEP_SCOPE:
        scope_inside(node, step, scope);
        node_add(node, FOUND, step->group);
        break;
    case STEP_GRAPH:
        net_build(step->net, thrum_scope_graph(scope, "sub"));
        break;
    case STEP_DETACH:
        if (thrum_scope_detach(scope))
            count_up(&program->unexpected);
        break;
    case STEP_RUN:
        run_inside(node, step);
        node_add(node, FOUND, step->group);
        break;
    }
}

static void block_run(struct node *node, const struct block *block, thrum_scope *scope)
{
    for (size_t i = 0; i < block->count; i++)
        step_run(node, &block->steps[i], scope);
}

/* Makes the program ready for its next run of so many rounds. */
static inline void program_prepare(struct program *program, thrum_executor *ex, uint64_t rounds, bool failing)
{
    program->ex = ex;
    program->epoch++;
    program->rounds = rounds;
    program->failing = failing;
    program->outside.result[FOUND] = program->outside.result[EXPECTED] = (struct result){0, 0};
    for (size_t i = 0; i < program->node_count; i++)
        program->nodes[i]->runs = 0;
    /* Two events a node, two a group, and a node may fail on its own account and with each run inside it. */
    size_t most = (3 * program->node_count + 3 * program->group_count) * rounds;
    event_log_close(&program->log);
    if (!event_log_open(&program->log, most))
        abort();
}

/* Runs the outermost group and returns its code. */
static inline int program_run(struct program *program, thrum_graph *graph)
{
    struct group *outermost = program->outermost;
    int code = 0;
    if (program->top == TOP_GRAPH) {
        event_log_add(&program->log, JOIN, outermost->id);
        code = thrum_run_n(program->ex, graph, program->rounds);
    } else if (program->top == TOP_SCOPE_RUN) {
        event_log_add(&program->log, JOIN, outermost->id);
        code = thrum_scope_run(program->ex, node_run_scoped, outermost->members[0]);
    } else {
        thrum_scope scope;
        thrum_scope_open_on(&scope, program->ex);
        block_run(&program->outside, &program->outside.block, &scope);
        event_log_add(&program->log, JOIN, outermost->id);
        code = thrum_join(&scope);
    }
    event_log_add(&program->log, JOINED, outermost->id);
    return code;
}

#endif
