/* SPDX-License-Identifier: MIT
 *
 * A spawned function is given a scope of its own and may spawn straight into it: the scope is joined when the function
 * returns. So a walk over a tree needs neither open nor join.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>

enum { CHILDREN = 3, DEPTH = 8, NODES = 9841 }; /* 1 + 3 + 9 + ... + 3^8 */

static atomic_int visited;

/* The node is a few bytes that must outlive this call: spawn_copy keeps them for the child. */
struct node {
    int depth;
};

static void visit(thrum_scope *scope, void *arg)
{
    const struct node *node = arg;
    atomic_fetch_add(&visited, 1);
    if (node->depth == DEPTH)
        return;
    for (int i = 0; i < CHILDREN; i++) {
        struct node child = {node->depth + 1};
        thrum_spawn_copy(scope, visit, &child, sizeof child);
    }
}

int main(void)
{
    struct node root = {0};
    int err = thrum_scope_run(NULL, visit, &root);
    if (err)
        fprintf(stderr, "tree: %s\n", thrum_message(NULL));
    printf("%d nodes visited\n", (int)visited);
    return err != 0 || visited != NODES;
}
