/* SPDX-License-Identifier: MIT
 *
 * Sets of memory nodes: numbers with a bit for each. All nodes of an executor fit into 64 bits; described machines may
 * have more.
 */
#ifndef THRUM_SCHED_NODE_SET_H
#define THRUM_SCHED_NODE_SET_H

#include <stdbool.h>
#include <stdint.h>

/* A policy, whose state has some of these, may be called by another one that keeps its state among its own things: no
 * more is asked of the place than of any pointer. */
__extension__ typedef unsigned __int128 thrum__nodes __attribute__((aligned(8)));

enum { THRUM__NODES_MOST = 128 };

/* Shifts are of halves, here and below: those of the whole take longer. */
static inline thrum__nodes thrum__node_bit(int node)
{
    uint64_t bit = UINT64_C(1) << node % 64;
    return node < 64 ? bit : (thrum__nodes)bit << 64;
}

/* The first `count`, at least one. */
static inline thrum__nodes thrum__nodes_up_to(int count)
{
    return ~(thrum__nodes)0 >> (THRUM__NODES_MOST - count);
}

static inline bool thrum__nodes_have(thrum__nodes nodes, int node)
{
    uint64_t half = node < 64 ? (uint64_t)nodes : (uint64_t)(nodes >> 64);
    return half >> node % 64 & 1;
}

/* Of a set that is not empty. */
static inline int thrum__nodes_first(thrum__nodes nodes)
{
    uint64_t low = (uint64_t)nodes;
    return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(nodes >> 64));
}

/* The first from `node` on, else the first of all. */
static inline int thrum__nodes_next(thrum__nodes nodes, int node)
{
    thrum__nodes behind = nodes & ~(thrum__nodes)0 << node;
    return thrum__nodes_first(behind ? behind : nodes);
}

/* Whether there is just one; there is at least one. */
static inline bool thrum__nodes_single(thrum__nodes nodes)
{
    uint64_t low = (uint64_t)nodes, high = (uint64_t)(nodes >> 64);
    return low ? !high && !(low & (low - 1)) : !(high & (high - 1));
}

#endif
