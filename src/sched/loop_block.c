/* SPDX-License-Identifier: MIT
 *
 * Blocks of the workers' own: each has n/p iterations of its own from the beginning.
 */
#include "sched/loop_int.h"

static void deal_blocks(thrum_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->facts.workers; i++) {
        thrum_chunk block = thrum__block(schedule->facts.iterations, schedule->facts.workers, i);
        schedule->workers[i].begin = block.begin;
        schedule->workers[i].end = block.begin + block.size;
    }
}

static int take_from_front(thrum__loop_worker *owner, uint64_t most, thrum_chunk *chunk)
{
    uint64_t rest = owner->end - owner->begin;
    if (rest == 0)
        return 0;
    *chunk = (thrum_chunk){owner->begin, rest < most ? rest : most};
    owner->begin += chunk->size;
    return 1;
}

static int stat_take(thrum_schedule *schedule, uint32_t worker, thrum_chunk *chunk)
{
    return take_from_front(&schedule->workers[worker], UINT64_MAX, chunk);
}

const thrum__rule thrum__rule_stat = {
    .name = "STAT",
    .text = "static: one block of n/p for each worker, and nothing else",
    .order = THRUM__BY_OWNER,
    .restart = deal_blocks,
    .take = stat_take,
};

enum { CHUNKS_OF_A_BLOCK = 1024 };

static int steal_begin(thrum_schedule *schedule)
{
    thrum_loop_facts *facts = &schedule->facts;
    if (facts->least == 0)
        facts->least = thrum__ceil_div(facts->iterations, (uint64_t)CHUNKS_OF_A_BLOCK * facts->workers);
    return 0;
}

/* The back half of the largest rest becomes the thief's own. */
static void steal_half(thrum_schedule *schedule, thrum__loop_worker *thief)
{
    thrum__loop_worker *victim = schedule->workers;
    for (uint32_t i = 1; i < schedule->facts.workers; i++) {
        thrum__loop_worker *other = &schedule->workers[i];
        if (other->end - other->begin > victim->end - victim->begin)
            victim = other;
    }
    uint64_t middle = victim->begin + (victim->end - victim->begin) / 2;
    thief->end = victim->end;
    thief->begin = victim->end = middle;
}

static int steal_take(thrum_schedule *schedule, uint32_t worker, thrum_chunk *chunk)
{
    thrum__loop_worker *self = &schedule->workers[worker];
    if (self->begin == self->end)
        steal_half(schedule, self);
    return take_from_front(self, schedule->facts.least, chunk);
}

const thrum__rule thrum__rule_steal = {
    .name = "STEAL",
    .text = "blocks of n/p with stealing: who has none left takes half of the largest rest",
    .order = THRUM__BY_OWNER,
    .restart = deal_blocks,
    .begin = steal_begin,
    .take = steal_take,
};
