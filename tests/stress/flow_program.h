/* SPDX-License-Identifier: MIT
 *
 * Random programs with control flow: made of blocks that nest, built as a graph, and interpreted one block after the
 * other by an oracle that knows nothing of edges and counters.
 *
 * A block has one task that it begins with and one that it ends with; both are plain. What is in between:
 *
 *   TASK     nothing: it is one task
 *   CHAIN    blocks one after the other
 *   ALL      blocks side by side, between a task before them and one behind
 *   BRANCH   a condition names one of several blocks; behind each a condition leads to the same task
 *   LOOP     a block, and a condition that leads back to it or out of it; or a condition that names itself
 *   SOME     a choice names some of several blocks, and the task behind them, which does not wait for them. Not inside
 *            a loop: there it could name a block that still runs
 *   MODULE   a block that is a graph of its own
 *
 * A branch may have a *ghost*: a task that waits for the ends of two of its blocks. In one pass at most one of them
 * runs; in a loop the ghost runs whenever two have come by. It has no order to anything else.
 *
 * Some tasks have a priority, are pinned to a worker or a domain, or need tokens of semaphores that all programs share.
 * Some are event tasks, which do nothing but hand themselves to the
 * *postman*: a thread that does their work and releases their events, in its own good time.
 *
 * Each task works out a number from its own, from how often it ran, and from the numbers of those that it comes after;
 * what a condition decides follows from its number. So everything that happens follows from the seed, and the oracle
 * and the graph must agree on every number; a missing order shows as a wrong number, or as a race that ThreadSanitizer
 * sees.
 */
#ifndef TESTS_STRESS_FLOW_PROGRAM_H
#define TESTS_STRESS_FLOW_PROGRAM_H

#include "random.h"
#include "tasks.h"

enum {
    MOST_NODES = 400,
    MOST_PARTS = 5,
    MOST_ROUNDS_OF_LOOP = 4,
    DEEPEST = 4,
    SPAWNED = 2,
    MOST_GRAPHS = 32,
    SEMAPHORES = 3
};

enum node_kind { PLAIN, SCOPED, EVENTUAL, PICKS_ONE, PICKS_SOME, GHOST, MODULE_OF };

struct node {
    struct program *program;
    int id;
    enum node_kind kind;
    int ways;                             /* of conditions: how many successors */
    struct node *sources[MOST_PARTS + 2]; /* whose numbers it uses */
    int source_count;
    int home;   /* the number of the graph that it is in */
    int module; /* of MODULE_OF: the graph that it runs */
    int worker; /* that it is pinned to; -1: none */
    int domain;
    bool needs[SEMAPHORES];
    enum thrum_priority priority;
    atomic_int misplaced;  /* times that it ran elsewhere */
    thrum_event events[2]; /* of EVENTUAL, while the postman has it; the second may be none */
    struct node *next_letter;
    thrum_task *task;
};

/* What a node has done: once in the graph, once in the oracle. */
struct node_state {
    uint64_t value;
    int visits;
};

enum block_kind { TASK, CHAIN, ALL, BRANCH, LOOP, SOME, MODULE, BLOCK_KINDS };

struct block {
    enum block_kind kind;
    struct node *first, *last; /* as a TASK: the same */
    struct node *condition;    /* of BRANCH, LOOP and SOME; of MODULE: the module's task */
    struct node *ghost;        /* of BRANCH, or NULL */
    struct block *parts[MOST_PARTS];
    struct node *leads[MOST_PARTS]; /* of BRANCH: the conditions behind the parts */
    int part_count;                 /* LOOP: 0 if the condition names itself */
};

/* How a run is to end before its time. */
enum trouble { NO_TROUBLE, FAILS, CANCELS };

struct program {
    struct random random;
    struct node nodes[MOST_NODES];
    int node_count;
    struct block blocks[MOST_NODES];
    int block_count;
    struct block *whole;
    int home, graph_count;      /* the graph that nodes are made for; 0 is the outermost */
    const thrum_config *config; /* of the executor, for pins */
    struct postman *postman;

    thrum_graph *graph, *graphs[MOST_GRAPHS];
    struct node_state found[MOST_NODES], expected[MOST_NODES];
    atomic_int spawned[MOST_NODES], ghost_runs[MOST_NODES];
    int expected_ghost_runs[MOST_NODES], ghost_arrivals[MOST_NODES];

    enum trouble trouble;
    int trouble_node, trouble_visit;
    _Atomic(thrum_handle *) handle; /* for CANCELS */
    int rounds_left;                /* for running until */
};

enum { CODE_OF_FAILURE = 4000 };

/* ---- What all programs share ------------------------------------------------------------------------------------- */

struct shared {
    thrum_semaphore *semaphore;
    int tokens;
    atomic_int inside, crowded; /* crowded: times that more were inside than there are tokens */
};

static struct shared shared[SEMAPHORES];

static inline void shared_begin(void)
{
    for (int i = 0; i < SEMAPHORES; i++) {
        shared[i] = (struct shared){.semaphore = thrum_semaphore_new("shared", (uint64_t)i + 1), .tokens = i + 1};
        assert_non_null(shared[i].semaphore);
    }
}

static inline void shared_end(void)
{
    for (int i = 0; i < SEMAPHORES; i++) {
        assert_int_equal(atomic_load(&shared[i].crowded), 0);
        assert_int_equal(thrum_semaphore_tokens(shared[i].semaphore), (uint64_t)shared[i].tokens);
        assert_int_equal(thrum_semaphore_free(shared[i].semaphore), 0);
    }
}

static inline void enter(const bool *needs)
{
    for (int i = 0; i < SEMAPHORES; i++)
        if (needs[i] && atomic_fetch_add_explicit(&shared[i].inside, 1, memory_order_relaxed) >= shared[i].tokens)
            count_up(&shared[i].crowded);
}

static inline void leave(const bool *needs)
{
    for (int i = 0; i < SEMAPHORES; i++)
        if (needs[i])
            atomic_fetch_sub_explicit(&shared[i].inside, 1, memory_order_relaxed);
}

/* ---- The postman ------------------------------------------------------------------------------------------------- */

struct postman {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct node *first, *last;
    bool over;
};

static void deliver(struct node *node);

static inline void *postman_walk(void *arg)
{
    struct postman *postman = arg;
    for (;;) {
        pthread_mutex_lock(&postman->lock);
        while (!postman->first && !postman->over)
            pthread_cond_wait(&postman->changed, &postman->lock);
        struct node *node = postman->first;
        if (node)
            postman->first = node->next_letter;
        pthread_mutex_unlock(&postman->lock);
        if (!node)
            return NULL;
        deliver(node);
    }
}

static inline void postman_take(struct postman *postman, struct node *node)
{
    pthread_mutex_lock(&postman->lock);
    node->next_letter = NULL;
    if (postman->first)
        postman->last->next_letter = node;
    else
        postman->first = node;
    postman->last = node;
    pthread_cond_signal(&postman->changed);
    pthread_mutex_unlock(&postman->lock);
}

static inline void postman_begin(struct postman *postman)
{
    *postman = (struct postman){.first = NULL};
    pthread_mutex_init(&postman->lock, NULL);
    pthread_cond_init(&postman->changed, NULL);
    assert_int_equal(pthread_create(&postman->thread, NULL, postman_walk, postman), 0);
}

static inline void postman_end(struct postman *postman)
{
    pthread_mutex_lock(&postman->lock);
    postman->over = true;
    pthread_cond_signal(&postman->changed);
    pthread_mutex_unlock(&postman->lock);
    pthread_join(postman->thread, NULL);
    pthread_cond_destroy(&postman->changed);
    pthread_mutex_destroy(&postman->lock);
}

/* ---- Making a program -------------------------------------------------------------------------------------------- */

static inline struct node *node_new(struct program *program, enum node_kind kind)
{
    struct node *node = &program->nodes[program->node_count];
    struct random *random = &program->random;
    *node = (struct node){
        .program = program, .id = program->node_count++, .kind = kind, .home = program->home, .worker = -1};
    if (random_chance(random, 10))
        node->priority = random_chance(random, 50) ? THRUM_HIGH : THRUM_LOW;
    if (kind == MODULE_OF)
        return node;
    if (program->config->domain_count && random_chance(random, 25))
        node->domain = (int)random_below(random, (size_t)program->config->domain_count + 1);
    int workers = node->domain ? program->config->domains[node->domain - 1].workers : program->config->workers;
    if (workers && random_chance(random, 5))
        node->worker = (int)random_below(random, (size_t)workers);
    for (int i = 0; i < SEMAPHORES; i++)
        node->needs[i] = random_chance(random, 5);
    return node;
}

static inline struct node *plain_node(struct program *program)
{
    static const enum node_kind kinds[] = {SCOPED, EVENTUAL};
    bool plain = random_chance(&program->random, 75);
    return node_new(program, plain ? PLAIN : kinds[random_below(&program->random, COUNT_OF(kinds))]);
}

static inline void uses(struct node *node, struct node *source)
{
    node->sources[node->source_count++] = source;
}

static inline struct block *block_new(struct program *program, enum block_kind kind)
{
    struct block *block = &program->blocks[program->block_count++];
    *block = (struct block){.kind = kind};
    return block;
}

static struct block *make_block(struct program *program, int depth, bool in_loop);

static inline void make_parts(struct program *program, struct block *block, int depth, bool in_loop)
{
    block->part_count = (int)random_between(&program->random, 2, depth ? MOST_PARTS - 2 : MOST_PARTS);
    for (int i = 0; i < block->part_count; i++)
        block->parts[i] = make_block(program, depth + 1, in_loop);
}

static inline void finish_chain(struct program *program, struct block *block)
{
    (void)program;
    block->first = block->parts[0]->first;
    block->last = block->parts[block->part_count - 1]->last;
    for (int i = 1; i < block->part_count; i++)
        uses(block->parts[i]->first, block->parts[i - 1]->last);
}

static inline void finish_all(struct program *program, struct block *block)
{
    block->first = plain_node(program);
    block->last = plain_node(program);
    for (int i = 0; i < block->part_count; i++) {
        uses(block->parts[i]->first, block->first);
        uses(block->last, block->parts[i]->last);
    }
}

/* The last task reads the ends of all parts: only one has run just now, and none of the others runs. */
static inline void finish_branch(struct program *program, struct block *block)
{
    block->first = plain_node(program);
    block->condition = node_new(program, PICKS_ONE);
    block->condition->ways = block->part_count;
    uses(block->condition, block->first);
    block->last = plain_node(program);
    for (int i = 0; i < block->part_count; i++) {
        uses(block->parts[i]->first, block->condition);
        block->leads[i] = node_new(program, PICKS_ONE);
        block->leads[i]->ways = 1;
        uses(block->leads[i], block->parts[i]->last);
        uses(block->last, block->leads[i]);
    }
    if (random_chance(&program->random, 60))
        block->ghost = node_new(program, GHOST);
}

static inline void finish_loop(struct program *program, struct block *block)
{
    block->first = plain_node(program);
    block->condition = node_new(program, PICKS_ONE);
    block->condition->ways = 2;
    block->last = plain_node(program);
    uses(block->last, block->condition);
    if (block->part_count == 0) {
        uses(block->condition, block->first);
        return;
    }
    uses(block->parts[0]->first, block->first);
    uses(block->parts[0]->first, block->condition);
    uses(block->condition, block->parts[0]->last);
}

static inline void finish_some(struct program *program, struct block *block)
{
    block->first = plain_node(program);
    block->condition = node_new(program, PICKS_SOME);
    block->condition->ways = block->part_count;
    uses(block->condition, block->first);
    block->last = plain_node(program);
    uses(block->last, block->condition);
    for (int i = 0; i < block->part_count; i++)
        uses(block->parts[i]->first, block->condition);
}

static inline void finish_module(struct program *program, struct block *block)
{
    block->first = plain_node(program);
    block->last = plain_node(program);
    uses(block->parts[0]->first, block->first);
    uses(block->last, block->parts[0]->last);
}

/* The module's graph ends when all of it has, so what is in it is in no loop. */
static inline void make_module(struct program *program, struct block *block, int depth)
{
    int outer = program->home;
    block->condition = node_new(program, MODULE_OF);
    program->home = block->condition->module = program->graph_count++;
    block->part_count = 1;
    block->parts[0] = make_block(program, depth + 1, false);
    program->home = outer;
}

static struct block *make_block(struct program *program, int depth, bool in_loop)
{
    bool small = depth >= DEEPEST || program->node_count > MOST_NODES / 4;
    enum block_kind kind = small ? TASK : (enum block_kind)random_below(&program->random, BLOCK_KINDS);
    if (depth == 0 && kind == TASK)
        kind = LOOP;
    if ((kind == SOME && in_loop) || (kind == MODULE && program->graph_count == MOST_GRAPHS))
        kind = ALL;
    struct block *block = block_new(program, kind);
    static void (*const finish[])(struct program *, struct block *) = {
        NULL, finish_chain, finish_all, finish_branch, finish_loop, finish_some, finish_module};
    if (kind == TASK) {
        block->first = block->last = plain_node(program);
        return block;
    }
    if (kind == LOOP && random_chance(&program->random, 75)) {
        block->part_count = 1;
        block->parts[0] = make_block(program, depth + 1, true);
    } else if (kind == MODULE) {
        make_module(program, block, depth);
    } else if (kind != LOOP) {
        make_parts(program, block, depth, in_loop);
    }
    finish[kind](program, block);
    return block;
}

/* ---- What a node does -------------------------------------------------------------------------------------------- */

static inline uint64_t node_step(const struct node *node, struct node_state *states)
{
    struct node_state *state = &states[node->id];
    uint64_t value = random_mix((uint64_t)node->id * 1000003 + (uint64_t)++state->visits);
    for (int i = 0; i < node->source_count; i++)
        value = random_mix(value * 31 + states[node->sources[i]->id].value);
    return state->value = value;
}

/* A loop's condition goes out once in MOST_ROUNDS_OF_LOOP times or sooner. */
static inline int decide_one(const struct node *node, const struct node_state *states)
{
    uint64_t value = states[node->id].value;
    if (node->ways == 1)
        return 0;
    if (node->ways == 2 && states[node->id].visits % MOST_ROUNDS_OF_LOOP == 0)
        return 1;
    return (int)((value >> 20) % (uint64_t)node->ways);
}

/* Whether a choice names this one of its parts. */
static inline bool decides_for(const struct node *node, const struct node_state *states, int part)
{
    return states[node->id].value >> part & 1;
}

/* ---- The oracle -------------------------------------------------------------------------------------------------- */

static inline void interpret(struct program *program, const struct block *block);

static inline void interpret_branch(struct program *program, const struct block *block)
{
    node_step(block->condition, program->expected);
    int part = decide_one(block->condition, program->expected);
    interpret(program, block->parts[part]);
    if (block->ghost && part < 2 && ++program->ghost_arrivals[block->ghost->id] == 2) {
        program->ghost_arrivals[block->ghost->id] = 0;
        program->expected_ghost_runs[block->ghost->id]++;
    }
    node_step(block->leads[part], program->expected);
}

static inline void interpret_loop(struct program *program, const struct block *block)
{
    do {
        if (block->part_count)
            interpret(program, block->parts[0]);
        node_step(block->condition, program->expected);
    } while (decide_one(block->condition, program->expected) == 0);
}

/* A graph that runs anew counts anew. */
static inline void interpret_module(struct program *program, const struct block *block)
{
    for (int i = 0; i < program->node_count; i++)
        if (program->nodes[i].home == block->condition->module)
            program->ghost_arrivals[i] = 0;
    interpret(program, block->parts[0]);
}

static inline void interpret(struct program *program, const struct block *block)
{
    if (block->kind != CHAIN)
        node_step(block->first, program->expected);
    if (block->kind == BRANCH)
        interpret_branch(program, block);
    else if (block->kind == LOOP)
        interpret_loop(program, block);
    else if (block->kind == SOME)
        node_step(block->condition, program->expected);
    else if (block->kind == MODULE)
        interpret_module(program, block);
    for (int i = 0; i < block->part_count; i++)
        if (block->kind == CHAIN || block->kind == ALL ||
            (block->kind == SOME && decides_for(block->condition, program->expected, i)))
            interpret(program, block->parts[i]);
    if (block->kind != TASK && block->kind != CHAIN)
        node_step(block->last, program->expected);
}

/* ---- The graph --------------------------------------------------------------------------------------------------- */

static inline bool has_trouble(const struct node *node)
{
    const struct program *program = node->program;
    return program->trouble != NO_TROUBLE && node->id == program->trouble_node &&
           program->found[node->id].visits == program->trouble_visit;
}

static inline void make_trouble(const struct node *node)
{
    struct program *program = node->program;
    if (!has_trouble(node))
        return;
    if (program->trouble == FAILS) {
        thrum_fail(CODE_OF_FAILURE + node->id, "node %d fails.", node->id);
        return;
    }
    thrum_handle *handle;
    while (!(handle = atomic_load(&program->handle)))
        sched_yield();
    thrum_cancel(handle);
}

static inline void check_place(struct node *node)
{
    if ((node->worker >= 0 && !node->domain && thrum_worker_index() != node->worker) ||
        thrum_domain_index() != node->domain)
        count_up(&node->misplaced);
}

static void run_node(void *arg)
{
    struct node *node = arg;
    check_place(node);
    enter(node->needs);
    node_step(node, node->program->found);
    make_trouble(node);
    leave(node->needs);
}

/* What the postman does: the node's work. If the node fails, it does so by its event. */
static void deliver(struct node *node)
{
    thrum_event events[2] = {node->events[0], node->events[1]};
    node_step(node, node->program->found);
    leave(node->needs);
    if (events[1].slot)
        thrum_event_release(events[1]);
    bool fails = has_trouble(node) && node->program->trouble == FAILS;
    if (!fails) {
        make_trouble(node);
        thrum_event_release(events[0]);
        return;
    }
    thrum_event_fail(events[0], CODE_OF_FAILURE + node->id, "node %d fails.", node->id);
}

static void run_eventual(thrum_event event, void *arg)
{
    struct node *node = arg;
    check_place(node);
    enter(node->needs);
    node->events[0] = event;
    node->events[1] = node->id % 3 ? (thrum_event){NULL, 0} : thrum_event_hold(event);
    if (node->id % 4)
        postman_take(node->program->postman, node);
    else
        deliver(node);
}

static void run_scoped(thrum_scope *scope, void *arg)
{
    const struct node *node = arg;
    for (int i = 0; i < SPAWNED; i++)
        thrum_spawn(scope, count_up_in_scope, &node->program->spawned[node->id]);
    run_node(arg);
}

static void run_ghost(void *arg)
{
    const struct node *node = arg;
    count_up(&node->program->ghost_runs[node->id]);
}

static int run_condition(void *arg)
{
    const struct node *node = arg;
    run_node(arg);
    return decide_one(node, node->program->found);
}

/* Number `ways` is the task behind the parts. */
static size_t run_choice(int *picks, size_t room, void *arg)
{
    const struct node *node = arg;
    size_t count = 0;
    run_node(arg);
    if (room != (size_t)node->ways + 1)
        return room + 1;
    for (int i = 0; i < node->ways; i++)
        if (decides_for(node, node->program->found, i))
            picks[count++] = i;
    picks[count++] = node->ways;
    return count;
}

static inline void build_task(struct program *program, struct node *node)
{
    thrum_graph *graph = program->graphs[node->home];
    switch (node->kind) {
    case PLAIN:
        node->task = thrum_task_new(graph, run_node, node);
        break;
    case SCOPED:
        node->task = thrum_scope_task_new(graph, run_scoped, node);
        break;
    case EVENTUAL:
        node->task = thrum_event_task_new(graph, run_eventual, node);
        break;
    case PICKS_ONE:
        node->task = thrum_condition_new(graph, run_condition, node);
        break;
    case PICKS_SOME:
        node->task = thrum_choice_new(graph, run_choice, node);
        break;
    case GHOST:
        node->task = thrum_task_new(graph, run_ghost, node);
        break;
    case MODULE_OF:
        node->task = thrum_module_new(graph, program->graphs[node->module]);
        break;
    }
    if (node->priority != THRUM_NORMAL)
        thrum_task_set_priority(node->task, node->priority);
    if (node->worker >= 0)
        thrum_task_pin_worker(node->task, node->worker);
    if (node->domain)
        thrum_task_pin_domain(node->task, node->domain);
    for (int i = 0; i < SEMAPHORES; i++)
        if (node->needs[i]) {
            thrum_task_acquire(node->task, shared[i].semaphore);
            thrum_task_release(node->task, shared[i].semaphore);
        }
}

static inline void before(const struct node *a, const struct node *b)
{
    thrum_edge(a->task, b->task);
}

static inline void build_edges(const struct block *block)
{
    for (int i = 0; i < block->part_count; i++)
        build_edges(block->parts[i]);
    switch (block->kind) {
    case TASK:
        break;
    case CHAIN:
        for (int i = 1; i < block->part_count; i++)
            before(block->parts[i - 1]->last, block->parts[i]->first);
        break;
    case ALL:
        for (int i = 0; i < block->part_count; i++) {
            before(block->first, block->parts[i]->first);
            before(block->parts[i]->last, block->last);
        }
        break;
    case BRANCH:
        before(block->first, block->condition);
        for (int i = 0; i < block->part_count; i++) {
            before(block->condition, block->parts[i]->first);
            before(block->parts[i]->last, block->leads[i]);
            before(block->leads[i], block->last);
            if (block->ghost && i < 2)
                before(block->parts[i]->last, block->ghost);
        }
        break;
    case LOOP:
        before(block->first, block->part_count ? block->parts[0]->first : block->condition);
        before(block->condition, block->part_count ? block->parts[0]->first : block->condition);
        if (block->part_count)
            before(block->parts[0]->last, block->condition);
        before(block->condition, block->last);
        break;
    case SOME:
        before(block->first, block->condition);
        for (int i = 0; i < block->part_count; i++)
            before(block->condition, block->parts[i]->first);
        before(block->condition, block->last);
        break;
    case MODULE:
        before(block->first, block->condition);
        before(block->condition, block->last);
        break;
    case BLOCK_KINDS:
        break;
    }
}

/* The tasks are made in a random order: which is nearest in memory must not matter. */
static inline void build_graph(struct program *program)
{
    int order[MOST_NODES];
    for (int i = 0; i < program->graph_count; i++)
        program->graphs[i] = thrum_graph_new(i ? "module" : "flow");
    program->graph = program->graphs[0];
    for (int i = 0; i < program->node_count; i++) {
        int j = (int)random_below(&program->random, (size_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < program->node_count; i++)
        build_task(program, &program->nodes[order[i]]);
    build_edges(program->whole);
}

static inline struct program *program_new(uint64_t seed, const thrum_config *config, struct postman *postman)
{
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        abort();
    program->random = random_new(seed);
    program->config = config;
    program->postman = postman;
    program->graph_count = 1;
    program->whole = make_block(program, 0, false);
    build_graph(program);
    return program;
}

static inline bool program_free(struct program *program)
{
    bool freed = true;
    for (int i = 0; i < program->graph_count; i++)
        freed = thrum_graph_free(program->graphs[i]) == 0 && freed;
    free(program);
    return freed;
}

/* ---- A run and what it must have done ---------------------------------------------------------------------------- */

/* Forgets the last run, and has the oracle find out what `rounds` rounds do. */
static inline void program_prepare(struct program *program, int rounds)
{
    memset(program->found, 0, sizeof program->found);
    memset(program->expected, 0, sizeof program->expected);
    memset(program->expected_ghost_runs, 0, sizeof program->expected_ghost_runs);
    memset((void *)program->spawned, 0, sizeof program->spawned);
    memset((void *)program->ghost_runs, 0, sizeof program->ghost_runs);
    for (int i = 0; i < rounds; i++) {
        memset(program->ghost_arrivals, 0, sizeof program->ghost_arrivals);
        interpret(program, program->whole);
    }
    program->trouble = NO_TROUBLE;
    program->rounds_left = rounds;
    atomic_store(&program->handle, NULL);
}

/* One node that does run fails, or cancels the run. */
static inline void program_plan_trouble(struct program *program, enum trouble trouble)
{
    int node;
    do
        node = (int)random_below(&program->random, (size_t)program->node_count);
    while (program->expected[node].visits == 0);
    program->trouble = trouble;
    program->trouble_node = node;
    program->trouble_visit = (int)random_between(&program->random, 1, (size_t)program->expected[node].visits);
}

/* The first thing that is wrong, or an empty sentence. A run that ended early has done a part of what it should do, and
 * what each node has done is the beginning of it. */
static inline void program_check(const struct program *program, bool ended_early, char *sentence, size_t size)
{
    sentence[0] = 0;
    for (int i = 0; i < program->node_count && !sentence[0]; i++) {
        const struct node_state *found = &program->found[i], *expected = &program->expected[i];
        int spawned = program->nodes[i].kind == SCOPED ? SPAWNED * found->visits : 0;
        if (ended_early ? found->visits > expected->visits : found->visits != expected->visits)
            snprintf(sentence, size, "node %d ran %d times instead of %d", i, found->visits, expected->visits);
        else if (!ended_early && found->value != expected->value)
            snprintf(sentence, size, "node %d came to another number than the oracle", i);
        else if (ended_early ? program->spawned[i] > spawned : program->spawned[i] != spawned)
            snprintf(sentence, size, "node %d ran %d times, and what it spawned %d times", i, found->visits,
                     (int)program->spawned[i]);
        else if (ended_early ? program->ghost_runs[i] > program->expected_ghost_runs[i]
                             : program->ghost_runs[i] != program->expected_ghost_runs[i])
            snprintf(sentence, size, "ghost %d ran %d times instead of %d", i, (int)program->ghost_runs[i],
                     program->expected_ghost_runs[i]);
        else if (program->nodes[i].misplaced)
            snprintf(sentence, size, "node %d, pinned to worker %d of domain %d, ran elsewhere", i,
                     program->nodes[i].worker, program->nodes[i].domain);
    }
}

#endif
