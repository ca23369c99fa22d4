/* SPDX-License-Identifier: MIT
 *
 * The oracle: reads the log of a program's run, event by event, and says what was against the rules.
 *
 * The rules:
 *   once       each node begins and ends once in each round, and rounds do not overlap
 *   order      a node begins when all that it waits for is complete: the function has returned and its children are
 *              joined
 *   joins      when a join returns, all members of the group are complete; at the end of a run its detached ones too
 *   strict     while a thread is inside a join, only what descends from the joined group begins there
 *   subgraphs  nodes of a subgraph begin no earlier than the join that runs them
 *   failing    after a failure nothing begins that waits for the failed node or was spawned after it; with one worker,
 *              nothing of the failed run begins at all
 *
 * Tickets follow "happened before", so what holds at each event in the order of the log is all that can be asked for.
 */
#ifndef TESTS_STRESS_ORACLE_CHECK_H
#define TESTS_STRESS_ORACLE_CHECK_H

#include "oracle_program.h"

enum frame_kind { IN_BODY, IN_JOIN, IN_TAIL }; /* the tail: the implicit join after a node's function has returned */

struct frame {
    enum frame_kind kind;
    const struct node *node;
    const struct group *group;
};

struct frames {
    uint32_t thread;
    struct frame *list;
    size_t count, room;
};

struct node_state {
    bool begun, ended;
    bool tainted;   /* it failed, or something that its completion waits for did */
    size_t pending; /* itself and the children that its completion waits for */
};

struct group_state {
    bool joining, joined;
    bool failing, failed; /* of a run: about to, and for certain */
    size_t pending;       /* members not complete, detached ones not counted */
};

struct oracle {
    const struct program *program;
    bool one_worker;
    struct node_state *nodes;
    struct group_state *groups;
    struct frames *threads;
    size_t thread_count, thread_room;
    size_t left;                          /* nodes not complete in this round */
    size_t rounds;                        /* complete ones */
    bool any_failing, any_failed;         /* any node */
    bool outside_failing, outside_failed; /* one that is in no run */
    char *sentence;                       /* the first rule that was broken; empty: none */
    size_t sentence_size;
};

static inline void broken(struct oracle *oracle, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void broken(struct oracle *oracle, const char *format, ...)
{
    if (oracle->sentence[0])
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(oracle->sentence, oracle->sentence_size, format, args);
    va_end(args);
}

static inline size_t joined_members(const struct group *group)
{
    size_t count = 0;
    for (size_t i = 0; group && i < group->count; i++)
        count += !group->members[i]->detached;
    return count;
}

static inline void oracle_new_round(struct oracle *oracle)
{
    const struct program *program = oracle->program;
    oracle->left = program->node_count;
    for (size_t i = 0; i < program->node_count; i++)
        oracle->nodes[i] = (struct node_state){.pending = 1 + joined_members(program->nodes[i]->given)};
    for (size_t i = 0; i < program->group_count; i++)
        if (program->groups[i] != program->outermost)
            oracle->groups[i] = (struct group_state){.pending = joined_members(program->groups[i])};
    oracle->groups[program->outermost->id].pending = joined_members(program->outermost);
    for (size_t i = 0; i < oracle->thread_count; i++) /* tails of the last round are over */
        while (oracle->threads[i].count && oracle->threads[i].list[oracle->threads[i].count - 1].kind == IN_TAIL)
            oracle->threads[i].count--;
}

static inline bool descends_from_group(const struct node *node, const struct group *group)
{
    for (; node; node = node->group->owner)
        if (node->group == group)
            return true;
    return false;
}

static inline bool descends_from_node(const struct node *node, const struct node *ancestor)
{
    for (; node; node = node->group->owner)
        if (node->group->owner == ancestor)
            return true;
    return false;
}

static inline bool is_complete(const struct oracle *oracle, const struct node *node)
{
    return oracle->nodes[node->id].pending == 0;
}

static inline bool run_failed(const struct oracle *oracle, const struct node *node)
{
    return node->home ? oracle->groups[node->home->id].failed : oracle->outside_failed;
}

/* From here on children may be skipped. */
static inline bool run_failing(const struct oracle *oracle, const struct node *node)
{
    return node->home ? oracle->groups[node->home->id].failing : oracle->outside_failing;
}

static inline struct frames *frames_of(struct oracle *oracle, uint32_t thread)
{
    for (size_t i = 0; i < oracle->thread_count; i++)
        if (oracle->threads[i].thread == thread)
            return &oracle->threads[i];
    oracle->threads = grown(oracle->threads, oracle->thread_count, &oracle->thread_room, sizeof *oracle->threads);
    oracle->threads[oracle->thread_count] = (struct frames){.thread = thread};
    return &oracle->threads[oracle->thread_count++];
}

static inline void frame_push(struct frames *frames, struct frame frame)
{
    frames->list = grown(frames->list, frames->count, &frames->room, sizeof *frames->list);
    frames->list[frames->count++] = frame;
}

/* The innermost frame; tails that are over are taken away first. In a failed run children may never begin, so there a
 * tail is over as soon as anything else is seen. */
static inline struct frame *frame_top(const struct oracle *oracle, struct frames *frames)
{
    while (frames->count) {
        struct frame *top = &frames->list[frames->count - 1];
        if (top->kind != IN_TAIL || !(is_complete(oracle, top->node) || run_failing(oracle, top->node)))
            return top;
        frames->count--;
    }
    return NULL;
}

/* Whether a join that waits for the node has returned already. */
static inline const struct group *joined_too_early(const struct oracle *oracle, const struct node *node)
{
    while (node) {
        const struct group *group = node->detached ? node->home : node->group;
        if (oracle->groups[group->id].joined)
            return group;
        node = group->owner;
    }
    return NULL;
}

static inline void check_strict(struct oracle *oracle, const struct node *node, struct frames *frames)
{
    const struct frame *top = frame_top(oracle, frames);
    if (!top)
        return;
    if (top->kind == IN_JOIN && !descends_from_group(node, top->group))
        broken(oracle, "node %d began in a thread that was joining group %d", node->id, top->group->id);
    if (top->kind == IN_TAIL && !descends_from_node(node, top->node))
        broken(oracle, "node %d began in a thread that was joining the scope given to node %d", node->id,
               top->node->id);
    if (top->kind == IN_BODY && !descends_from_node(node, top->node))
        broken(oracle, "node %d began in the middle of node %d", node->id, top->node->id);
}

static inline void check_failing(struct oracle *oracle, const struct node *node)
{
    if (oracle->one_worker && run_failed(oracle, node))
        broken(oracle, "node %d began in a run that had failed, with only one worker", node->id);
    for (size_t i = 0; i < node->before_count; i++)
        if (oracle->nodes[node->before[i]->id].tainted)
            broken(oracle, "node %d began although node %d, which it waits for, failed", node->id, node->before[i]->id);
    const struct node *parent = node->group->owner;
    if (parent && parent->fails == FAILS_FIRST && oracle->program->failing && !node->group->is_run)
        broken(oracle, "node %d began although node %d failed before spawning it", node->id, parent->id);
}

static inline void on_begin(struct oracle *oracle, const struct node *node, struct frames *frames)
{
    if (oracle->left == 0 && oracle->rounds < oracle->program->rounds)
        oracle_new_round(oracle);
    struct node_state *state = &oracle->nodes[node->id];
    if (state->begun)
        broken(oracle, "node %d began twice in round %zu", node->id, oracle->rounds);
    for (size_t i = 0; i < node->before_count; i++)
        if (!is_complete(oracle, node->before[i]))
            broken(oracle, "node %d began before node %d was complete", node->id, node->before[i]->id);
    const struct node *owner = node->group->owner;
    if (owner && !oracle->nodes[owner->id].begun)
        broken(oracle, "node %d began before its parent %d", node->id, owner->id);
    bool in_tail = owner && node->group == owner->given && oracle->nodes[owner->id].ended;
    if (node->net && !in_tail && !oracle->groups[node->group->id].joining)
        broken(oracle, "node %d of a graph began before group %d was joined", node->id, node->group->id);
    const struct group *joined = joined_too_early(oracle, node);
    if (joined)
        broken(oracle, "node %d began after the join of group %d had returned", node->id, joined->id);
    check_strict(oracle, node, frames);
    check_failing(oracle, node);
    state->begun = true;
    frame_push(frames, (struct frame){.kind = IN_BODY, .node = node});
}

/* Counts down for what has ended or completed; a node that completes counts for what it is part of. */
static inline void count_down(struct oracle *oracle, const struct node *node)
{
    while (node && --oracle->nodes[node->id].pending == 0) {
        oracle->left--;
        const struct group *group = node->group;
        if (node->detached)
            return;
        oracle->groups[group->id].pending--;
        node = group->owner && group->owner->given == group ? group->owner : NULL;
    }
}

static inline void on_end(struct oracle *oracle, const struct node *node, struct frames *frames)
{
    const struct frame *top = frame_top(oracle, frames);
    if (!top || top->kind != IN_BODY || top->node != node) {
        broken(oracle, "node %d ended in another place than it began", node->id);
        return;
    }
    frames->count--;
    const struct group *joined = joined_too_early(oracle, node);
    if (joined)
        broken(oracle, "node %d ended after the join of group %d had returned", node->id, joined->id);
    oracle->nodes[node->id].ended = true;
    count_down(oracle, node);
    if (!is_complete(oracle, node))
        frame_push(frames, (struct frame){.kind = IN_TAIL, .node = node});
    oracle->rounds += oracle->left == 0;
}

static inline void on_join(struct oracle *oracle, const struct group *group, struct frames *frames)
{
    oracle->groups[group->id].joining = true;
    frame_push(frames, (struct frame){.kind = IN_JOIN, .group = group});
}

static inline void on_joined(struct oracle *oracle, const struct group *group, struct frames *frames)
{
    const struct frame *top = frame_top(oracle, frames);
    bool failed = oracle->any_failing;
    if (!top || top->kind != IN_JOIN || top->group != group)
        broken(oracle, "the join of group %d returned in another place than it was called", group->id);
    else
        frames->count--;
    oracle->groups[group->id].joined = true;
    if (!failed && group != oracle->program->outermost && oracle->groups[group->id].pending)
        broken(oracle, "the join of group %d returned with %zu members not complete", group->id,
               oracle->groups[group->id].pending);
}

static inline void on_failing(struct oracle *oracle, const struct node *node)
{
    oracle->any_failing = true;
    if (node->home)
        oracle->groups[node->home->id].failing = true;
    else
        oracle->outside_failing = true;
}

/* The failed run is known; so is every node whose completion waits for the failed one. */
static inline void on_failed(struct oracle *oracle, const struct node *node)
{
    oracle->any_failed = true;
    if (node->home)
        oracle->groups[node->home->id].failed = true;
    else
        oracle->outside_failed = true;
    for (const struct node *n = node; n && n->home == node->home; n = n->detached ? NULL : n->group->owner)
        oracle->nodes[n->id].tainted = true;
}

static inline void oracle_read(struct oracle *oracle, const struct event *event)
{
    const struct program *program = oracle->program;
    struct frames *frames = frames_of(oracle, event->thread);
    size_t subject = (size_t)event->subject;
    switch ((enum event_kind)event->kind) {
    case BEGIN:
        on_begin(oracle, program->nodes[subject], frames);
        break;
    case END:
        on_end(oracle, program->nodes[subject], frames);
        break;
    case JOIN:
        on_join(oracle, program->groups[subject], frames);
        break;
    case JOINED:
        on_joined(oracle, program->groups[subject], frames);
        break;
    case FAILING:
        on_failing(oracle, program->nodes[subject]);
        break;
    case FAILED:
        on_failed(oracle, program->nodes[subject]);
        break;
    }
}

static inline void check_code(struct oracle *oracle, int code)
{
    const struct program *program = oracle->program;
    bool failed = program->outermost->is_run ? oracle->groups[program->outermost->id].failed : oracle->outside_failed;
    bool known = false;
    for (size_t i = 0; i < event_log_length(&program->log); i++) {
        const struct event *event = &program->log.events[i];
        const struct node *node = event->kind == FAILED ? program->nodes[event->subject] : NULL;
        known = known || (node && code == CODE_OF_NODE_ZERO + node->id);
    }
    if (failed ? !known : code != 0)
        broken(oracle, "the program returned %d, but %s", code, failed ? "failed with another code" : "nothing failed");
}

static inline void check_all_ended(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->program->node_count; i++)
        if (oracle->nodes[i].begun && !oracle->nodes[i].ended)
            broken(oracle, "node %zu had not ended when the program had", i);
}

static inline void check_values(struct oracle *oracle)
{
    const struct program *program = oracle->program;
    if (oracle->rounds != program->rounds || oracle->left != 0)
        broken(oracle, "%zu rounds are complete, not %zu, and %zu nodes are missing", oracle->rounds,
               (size_t)program->rounds, oracle->left);
    for (size_t i = 0; i < program->node_count; i++) {
        const struct node *node = program->nodes[i];
        if (node->result[FOUND].value != node->result[EXPECTED].value)
            broken(oracle, "node %zu computed another number than the sequential evaluation", i);
    }
}

/* Checks a run that returned `code`. The sentence stays empty when all is right. Returns how many events were read. */
static inline size_t oracle_check(const struct program *program, bool one_worker, int code, char *sentence, size_t size)
{
    struct oracle oracle = {.program = program, .one_worker = one_worker, .sentence = sentence, .sentence_size = size};
    sentence[0] = 0;
    oracle.nodes = calloc(program->node_count + 1, sizeof *oracle.nodes);
    oracle.groups = calloc(program->group_count, sizeof *oracle.groups);
    if (!oracle.nodes || !oracle.groups)
        abort();
    oracle_new_round(&oracle);
    if (event_log_overflowed(&program->log))
        broken(&oracle, "more happened than the program has nodes for");
    size_t length = event_log_length(&program->log), read = 0;
    while (read < length && !sentence[0])
        oracle_read(&oracle, &program->log.events[read++]);
    if (atomic_load(&program->unexpected))
        broken(&oracle, "a call inside a node returned an error, or a copied argument arrived damaged");
    if (!sentence[0] && oracle.any_failed)
        check_all_ended(&oracle);
    else if (!sentence[0] && program->node_count)
        check_values(&oracle);
    if (!sentence[0])
        check_code(&oracle, code);
    for (size_t i = 0; i < oracle.thread_count; i++)
        free(oracle.threads[i].list);
    free(oracle.threads);
    free(oracle.groups);
    free(oracle.nodes);
    return read;
}

#endif
