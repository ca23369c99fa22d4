/* SPDX-License-Identifier: MIT
 *
 * Quantities with units, as they stand in settings: sizes "64MiB", rates "2GB/s", times "10us".
 *
 * A number is decimal, not negative, and may have a fraction ("1.5GiB"). The unit follows at once and is spelled as in
 * the list of units; only 0 goes without. Locales do not matter.
 */
#ifndef THRUM_BASE_QUANTITY_H
#define THRUM_BASE_QUANTITY_H

#include <stddef.h>

/* 0, or THRUM_EOPTION with a sentence that quotes the text and lists the units; then nothing is written. A size is cut
 * to whole bytes. A rate of 0 and what does not fit are refused. */
int thrum__size_parse(const char *text, size_t *bytes);
int thrum__rate_parse(const char *text, double *bytes_per_second);
int thrum__time_parse(const char *text, double *seconds);

/* A whole number from `least` to `most`, without a unit; "workers=2". */
int thrum__count_parse(const char *text, long least, long most, long *count);

/* For messages: "64 MiB", "1.5 GiB", "100 B". Returns `text`. */
enum { THRUM__SIZE_TEXT = 32 };
const char *thrum__size_text(size_t bytes, char text[THRUM__SIZE_TEXT]);

#endif
