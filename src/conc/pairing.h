/* SPDX-License-Identifier: MIT
 *
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, 1986) of records that are linked by their own fields, two
 * pointers each: nothing is allocated, so adding cannot fail. Adding is O(1), taking O(log n) amortised. Whoever uses
 * it sees to it that one thread does so at a time.
 *
 * THRUM__PAIRING(heap, node, link, child, set_child, order, sooner) defines
 *
 *   static node *heap_add(order o, node *top, node *one)   the top of the heap with one more; an empty one's is NULL
 *   static node *heap_rest(order o, node *top)             the top of what is left without `top`, not NULL
 *
 * for records with a field `link`, and a place for another pointer that child(node) reads and set_child(node, first)
 * writes. sooner(o, a, b) says whether a comes before b; o is whatever it needs for that.
 */
#ifndef THRUM_CONC_PAIRING_H
#define THRUM_CONC_PAIRING_H

#define THRUM__PAIRING(heap, node, link, child, set_child, order, sooner)                                              \
    /* Two trees into one; neither is empty, and neither has siblings. */                                              \
    static node *heap##_meld(order o, node *a, node *b)                                                                \
    {                                                                                                                  \
        node *upper = sooner(o, a, b) ? a : b, *lower = upper == a ? b : a;                                            \
        lower->link = child(upper);                                                                                    \
        set_child(upper, lower);                                                                                       \
        return upper;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    /* Siblings into pairs, the last pair first. */                                                                    \
    static node *heap##_pairs(order o, node *siblings)                                                                 \
    {                                                                                                                  \
        node *pairs = NULL;                                                                                            \
        while (siblings) {                                                                                             \
            node *a = siblings, *b = a->link;                                                                          \
            siblings = b ? b->link : NULL;                                                                             \
            if (b)                                                                                                     \
                a = heap##_meld(o, a, b);                                                                              \
            a->link = pairs;                                                                                           \
            pairs = a;                                                                                                 \
        }                                                                                                              \
        return pairs;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static node *heap##_rest(order o, node *top)                                                                       \
    {                                                                                                                  \
        node *whole = NULL, *trees = heap##_pairs(o, child(top));                                                      \
        while (trees) {                                                                                                \
            node *tree = trees;                                                                                        \
            trees = tree->link;                                                                                        \
            whole = whole ? heap##_meld(o, whole, tree) : tree;                                                        \
        }                                                                                                              \
        return whole;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static node *heap##_add(order o, node *top, node *one)                                                             \
    {                                                                                                                  \
        set_child(one, NULL);                                                                                          \
        return top ? heap##_meld(o, top, one) : one;                                                                   \
    }

#endif
