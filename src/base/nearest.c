/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 63 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be added, left out, changed or swapped with their neighbour to get from one word to the other.
 * Row i holds the distances of the first i letters of `from` to all beginnings of `to`; three of them are needed at a
 * time. */
static size_t distance(const char *from, const char *to)
{
    size_t rows[3][LONGEST_WORD + 1], width = strlen(to), i = 0;
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (; from[i]; i++) {
        size_t *row = rows[(i + 1) % 3], *above = rows[i % 3], *two_above = rows[(i + 2) % 3];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            row[j + 1] = least_of(above[j] + (from[i] != to[j]), 1 + least_of(row[j], above[j + 1]));
            if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
                row[j + 1] = least_of(row[j + 1], two_above[j - 1] + 1);
        }
    }
    return rows[i % 3][width];
}

const char *thrum__nearest(const char *word, const char *const *words, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(word), most = length / 2 + 1;
    for (size_t i = 0; i < count && length <= LONGEST_WORD; i++) {
        size_t wrong = strlen(words[i]) <= LONGEST_WORD ? distance(word, words[i]) : most;
        if (wrong < most) {
            best = words[i];
            most = wrong;
        }
    }
    return best;
}

const char *thrum__meant(const char *word, const char *const *words, size_t count, char text[THRUM__MEANT_TEXT])
{
    const char *nearest = thrum__nearest(word, words, count);
    snprintf(text, THRUM__MEANT_TEXT, nearest ? "; did you mean '%s'?" : ";", nearest);
    return text;
}
