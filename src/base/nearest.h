/* SPDX-License-Identifier: MIT
 *
 * What somebody may have meant who wrote a word that does not exist.
 */
#ifndef THRUM_BASE_NEAREST_H
#define THRUM_BASE_NEAREST_H

#include <stddef.h>

/* The word of the list that is the fewest typing mistakes away, or NULL: half of the letters would be wrong. */
const char *thrum__nearest(const char *word, const char *const *words, size_t count);

/* For messages, before what there is: "; did you mean 'X'?", or ";" where nothing is near. Returns `text`. */
enum { THRUM__MEANT_TEXT = 96 };
const char *thrum__meant(const char *word, const char *const *words, size_t count, char text[THRUM__MEANT_TEXT]);

#endif
