/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 63 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be added, left out or changed to get from one word to the other. Row i holds the distances of the first i
 * letters of `from` to all beginnings of `to`. */
static size_t distance(const char *from, const char *to)
{
    size_t row[LONGEST_WORD + 1], width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; from[i]; i++) {
        size_t above_left = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t changed = above_left + (from[i] != to[j]);
            above_left = row[j + 1];
            row[j + 1] = least_of(changed, 1 + least_of(row[j], above_left));
        }
    }
    return row[width];
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
