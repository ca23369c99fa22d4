/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include "base/fault.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of sizes and rates `scale` is bytes; of times, nanoseconds. */
struct unit {
    const char *name;
    uint64_t scale;
};

static const struct unit size_units[] = {
    {"B", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {NULL, 0},
};
static const struct unit time_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

static const struct kind {
    const char *what, *example, *names, *suffix;
    const struct unit *units;
} size_kind = {"size", "64MiB", "B, KiB, MiB, GiB, KB, MB, GB", "", size_units},
  rate_kind = {"rate", "2GB/s", "B/s, KiB/s, MiB/s, GiB/s, KB/s, MB/s, GB/s", "/s", size_units},
  time_kind = {"time", "10us", "ns, us, ms, s", "", time_units};

struct number {
    uint64_t whole;
    double fraction;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What follows the number, or NULL: there is none, or one beyond 64 bits. */
static const char *read_number(const char *text, struct number *number)
{
    const char *c = text;
    number->whole = 0;
    number->fraction = 0;
    for (; is_digit(*c); c++)
        if (__builtin_mul_overflow(number->whole, 10, &number->whole) ||
            __builtin_add_overflow(number->whole, (uint64_t)(*c - '0'), &number->whole))
            return NULL;
    if (c == text || *c != '.')
        return c == text ? NULL : c;
    const char *point = c++;
    for (double place = 0.1; is_digit(*c); c++, place /= 10)
        number->fraction += place * (*c - '0');
    return c == point + 1 ? NULL : c;
}

static uint64_t find_scale(const struct kind *kind, const char *name)
{
    for (const struct unit *unit = kind->units; unit->name; unit++) {
        size_t length = strlen(unit->name);
        if (strncmp(name, unit->name, length) == 0 && strcmp(name + length, kind->suffix) == 0)
            return unit->scale;
    }
    return 0;
}

static int no_quantity(const struct kind *kind, const char *text)
{
    return thrum__fault(THRUM_EOPTION, "'%.60s' is no %s: it must be a number with a unit, like %s; the units are %s",
                        text, kind->what, kind->example, kind->names);
}

/* Scale 1 for a plain 0. */
static int read_quantity(const struct kind *kind, const char *text, struct number *number, uint64_t *scale)
{
    const char *name = read_number(text, number);
    if (!name)
        return no_quantity(kind, text);
    bool zero = number->whole == 0 && number->fraction == 0;
    *scale = *name == '\0' && zero ? 1 : find_scale(kind, name);
    return *scale ? 0 : no_quantity(kind, text);
}

int thrum__size_parse(const char *text, size_t *bytes)
{
    struct number number;
    uint64_t scale, whole;
    int err = read_quantity(&size_kind, text, &number, &scale);
    if (err)
        return err;
    if (__builtin_mul_overflow(number.whole, scale, &whole) ||
        __builtin_add_overflow(whole, (uint64_t)(number.fraction * (double)scale), &whole) || whole > SIZE_MAX)
        return thrum__fault(THRUM_EOPTION, "'%.60s' is more bytes than can be counted", text);
    *bytes = (size_t)whole;
    return 0;
}

int thrum__rate_parse(const char *text, double *bytes_per_second)
{
    struct number number;
    uint64_t scale;
    int err = read_quantity(&rate_kind, text, &number, &scale);
    if (err)
        return err;
    double rate = ((double)number.whole + number.fraction) * (double)scale;
    if (!(rate > 0))
        return thrum__fault(THRUM_EOPTION, "'%.60s' is no rate: it must be above 0, like %s", text, rate_kind.example);
    *bytes_per_second = rate;
    return 0;
}

int thrum__time_parse(const char *text, double *seconds)
{
    struct number number;
    uint64_t scale;
    int err = read_quantity(&time_kind, text, &number, &scale);
    if (err)
        return err;
    *seconds = ((double)number.whole + number.fraction) * (double)scale / 1e9;
    return 0;
}

int thrum__count_parse(const char *text, long least, long most, long *count)
{
    struct number number;
    const char *rest = read_number(text, &number);
    if (!rest || *rest || strchr(text, '.') || number.whole > (uint64_t)most || (long)number.whole < least)
        return thrum__fault(THRUM_EOPTION, "'%.60s' must be a whole number from %ld to %ld", text, least, most);
    *count = (long)number.whole;
    return 0;
}

const char *thrum__size_text(size_t bytes, char text[THRUM__SIZE_TEXT])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB"};
    int power = 0;
    while (power < 3 && bytes >> (10 * (power + 1)))
        power++;
    double value = (double)bytes / (double)(UINT64_C(1) << (10 * power));
    snprintf(text, THRUM__SIZE_TEXT, "%.4g %s", value, names[power]);
    return text;
}
