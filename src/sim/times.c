/* SPDX-License-Identifier: MIT
 *
 * Times of iterations (times.h): reading the text, and drawing the time of a chunk.
 */
#include "times.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <thrum/error.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* What is read of a file of times. */
struct reading {
    const char *path;
    double *sums;
    uint64_t lines, room;
    double lost; /* what the last sum was rounded by (Kahan) */
    double mean, squares;
};

static int grow(struct reading *reading)
{
    uint64_t room = reading->room ? 2 * reading->room : 1024;
    double *sums = thrum__alloc(room * sizeof *sums);
    if (!sums)
        return thrum__fault(THRUM_ENOMEM, "there is no memory for the times of '%s'", reading->path);
    if (reading->sums)
        memcpy(sums, reading->sums, (reading->lines + 1) * sizeof *sums);
    else
        sums[0] = 0;
    thrum__free(reading->sums);
    reading->sums = sums;
    reading->room = room;
    return 0;
}

static int take_time(struct reading *reading, double time)
{
    int error = reading->lines + 2 > reading->room ? grow(reading) : 0;
    if (error)
        return error;
    double last = reading->sums[reading->lines], more = time - reading->lost, sum = last + more;
    reading->lost = sum - last - more;
    reading->sums[++reading->lines] = sum;
    double off = time - reading->mean;
    reading->mean += off / (double)reading->lines;
    reading->squares += off * (time - reading->mean);
    return 0;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static int wrong_line(const struct reading *reading, uint64_t number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int wrong_line(const struct reading *reading, uint64_t number, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return thrum__fault(THRUM_EINVAL, "%.200s:%llu: %s", reading->path, (unsigned long long)number, text);
}

/* Of times near the largest number there is. */
static bool can_be_added_up(const struct reading *reading)
{
    return isfinite(reading->sums[reading->lines]) && isfinite(reading->squares);
}

/* A line of the file: a time, or nothing but blanks or a comment. */
static int take_line(struct reading *reading, const char *line, uint64_t number)
{
    char *end;
    line = skip_blanks(line);
    if (!*line || *line == '#')
        return 0;
    double time = strtod(line, &end);
    int length = (int)strcspn(line, "\r\n");
    if (end == line || (*skip_blanks(end) && *skip_blanks(end) != '#'))
        return wrong_line(reading, number, "'%.*s' is no number; a file of times has one in each line",
                          length > 60 ? 60 : length, line);
    if (!(time >= 0 && isfinite(time)))
        return wrong_line(reading, number, "%g is no time: it must be 0 or more, and finite", time);
    int error = take_time(reading, time);
    if (!error && !can_be_added_up(reading))
        return wrong_line(reading, number, "%g is too long a time to be added up with those before it", time);
    return error;
}

static int take_lines(struct reading *reading, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int error = 0;
    for (uint64_t number = 1; !error && (length = getline(&line, &size, file)) >= 0; number++)
        error = memchr(line, 0, (size_t)length)
                    ? wrong_line(reading, number, "there is a byte 0 in this line: it is no text")
                    : take_line(reading, line, number);
    if (!error && ferror(file))
        error =
            thrum__fault(THRUM_ESYSTEM, "the file of times '%s' cannot be read: %s", reading->path, strerror(errno));
    free(line);
    if (!error && reading->lines == 0)
        error = thrum__fault(THRUM_EINVAL, "%.200s: it is empty; a file of times has one in each line", reading->path);
    return error;
}

static int read_file(thrum__times *times, const char *path)
{
    struct reading reading = {.path = path};
    FILE *file = fopen(path, "re");
    if (!file)
        return thrum__fault(THRUM_ESYSTEM, "the file of times '%s' cannot be opened: %s", path, strerror(errno));
    int error = take_lines(&reading, file);
    fclose(file);
    if (error) {
        thrum__free(reading.sums);
        return error;
    }
    times->sums = reading.sums;
    times->lines = reading.lines;
    times->mean = reading.mean;
    times->deviation = sqrt(reading.squares / (double)reading.lines);
    return 0;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static int wrong(const char *text, const char *what)
{
    return thrum__fault(THRUM_EINVAL, "the times '%s' are wrong: %s", text, what);
}

static int set_const(thrum__times *times, const char *text)
{
    if (!(times->a >= 0))
        return wrong(text, "in const:TIME the time is 0 or more");
    times->mean = times->a;
    return 0;
}

static int set_uniform(thrum__times *times, const char *text)
{
    if (!(times->a >= 0 && times->b >= times->a))
        return wrong(text, "in uniform:A,B it must be that 0 <= A <= B");
    times->mean = (times->a + times->b) / 2;
    times->deviation = (times->b - times->a) / sqrt(12);
    return 0;
}

static int set_exp(thrum__times *times, const char *text)
{
    if (!(times->a > 0))
        return wrong(text, "in exp:MEAN the mean is more than 0");
    times->mean = times->deviation = times->a;
    return 0;
}

/* Tables for chunks of up to so many iterations: together they stay in a core's cache. */
enum { TWOPOINT_TABLES = 96 };

/* And of so few that table's numbers suffice (thrum__alias_make_binomial). */
static uint64_t twopoint_tables(double p)
{
    return 10 / p < TWOPOINT_TABLES + 1 ? (uint64_t)ceil(10 / p) - 1 : TWOPOINT_TABLES;
}

static int set_twopoint(thrum__times *times, const char *text)
{
    if (!(times->a > 0 && times->a <= 1))
        return wrong(text, "in twopoint:P the probability P is more than 0 and at most 1");
    times->mean = 1;
    times->deviation = sqrt((1 - times->a) / times->a);
    times->few_count = twopoint_tables(times->a);
    times->few = thrum__alloc(times->few_count * sizeof *times->few);
    if (!times->few)
        return thrum__fault(THRUM_ENOMEM, "there is no memory for the times '%s'", text);
    for (uint64_t i = 0; i < times->few_count; i++)
        thrum__alias_make_binomial(&times->few[i], i + 1, times->a);
    return 0;
}

static int set_normal(thrum__times *times, const char *text)
{
    if (!(times->a >= 0 && times->b >= 0))
        return wrong(text, "in normal:M,S neither the mean M nor the deviation S is below 0");
    times->mean = times->a;
    times->deviation = times->b;
    return 0;
}

static int set_gamma(thrum__times *times, const char *text)
{
    if (!(times->a > 0 && times->b > 0))
        return wrong(text, "in gamma:K,THETA both the shape K and the scale THETA are more than 0");
    times->mean = times->a * times->b;
    times->deviation = sqrt(times->a) * times->b;
    return 0;
}

static const struct form {
    const char *name, *shape;
    enum thrum__times_kind kind;
    int numbers;
    int (*set)(thrum__times *times, const char *text);
} forms[] = {
    {"const", "const:TIME", THRUM__TIMES_CONST, 1, set_const},
    {"uniform", "uniform:A,B", THRUM__TIMES_UNIFORM, 2, set_uniform},
    {"exp", "exp:MEAN", THRUM__TIMES_EXP, 1, set_exp},
    {"twopoint", "twopoint:P", THRUM__TIMES_TWOPOINT, 1, set_twopoint},
    {"normal", "normal:M,S", THRUM__TIMES_NORMAL, 2, set_normal},
    {"gamma", "gamma:K,THETA", THRUM__TIMES_GAMMA, 2, set_gamma},
    {"file", "file:PATH", THRUM__TIMES_FILE, 0, NULL},
};

enum { FORM_COUNT = sizeof forms / sizeof *forms };

static const struct form *find_form(const char *text)
{
    size_t length = strcspn(text, ":");
    for (int i = 0; i < FORM_COUNT; i++)
        if (strlen(forms[i].name) == length && strncmp(forms[i].name, text, length) == 0)
            return &forms[i];
    return NULL;
}

static int unknown_form(const char *text)
{
    return thrum__fault(THRUM_EINVAL,
                        "'%s' is no distribution of times; there are const:TIME, uniform:A,B, exp:MEAN, twopoint:P, "
                        "normal:M,S, gamma:K,THETA and file:PATH",
                        text);
}

/* "1,2.5": exactly `count` finite numbers. */
static bool read_numbers(const char *text, int count, double *numbers)
{
    for (int i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtod(text, &end);
        if (end == text || *text == ' ' || !isfinite(numbers[i]) || *end != (i + 1 < count ? ',' : '\0'))
            return false;
        text = end + 1;
    }
    return true;
}

static int set_numbers(thrum__times *times, const struct form *form, const char *text)
{
    double numbers[2] = {0, 0};
    if (!read_numbers(text + strlen(form->name) + 1, form->numbers, numbers))
        return thrum__fault(THRUM_EINVAL, "the times '%s' are wrong: %s number%s needed, as in %s", text,
                            form->numbers == 1 ? "one finite" : "two finite", form->numbers == 1 ? " is" : "s are",
                            form->shape);
    times->a = numbers[0];
    times->b = numbers[1];
    return form->set(times, text);
}

int thrum__times_begin(thrum__times *times, const char *text)
{
    if (!text)
        return thrum__fault(THRUM_EINVAL, "the times of iterations are missing: 'exp:1', for example");
    const struct form *form = find_form(text);
    if (!form || !strchr(text, ':'))
        return unknown_form(text);
    *times = (thrum__times){.kind = form->kind};
    thrum__draw_tables_make(&times->tables);
    return form->set ? set_numbers(times, form, text) : read_file(times, text + strlen("file:"));
}

void thrum__times_end(thrum__times *times)
{
    thrum__free(times->sums);
    thrum__free(times->few);
    times->sums = NULL;
    times->few = NULL;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

/* So many exponential numbers are quicker drawn one by one. */
enum { EXPONENTIAL_FEW = 3 };

thrum__sum thrum__sum_of(const thrum__times *times, uint64_t begin, uint64_t count)
{
    double k = (double)count;
    thrum__sum sum; /* `how` is set where it is used: clearing it would take as long as drawing */
    sum.begin = begin;
    sum.count = count;
    sum.shift = k * times->mean;
    sum.scale = 0;
    switch (times->kind) {
    case THRUM__TIMES_CONST:
    case THRUM__TIMES_FILE:
        break;
    case THRUM__TIMES_UNIFORM:
        sum.scale = count <= THRUM__UNIFORM_EXACT ? times->b - times->a : sqrt(k) * times->deviation;
        break;
    case THRUM__TIMES_EXP:
        sum.scale = times->a;
        if (count > EXPONENTIAL_FEW)
            sum.how.gamma = thrum__gamma_of(k);
        break;
    case THRUM__TIMES_TWOPOINT:
        sum.scale = 1 / times->a;
        if (count > times->few_count)
            sum.how.binomial = thrum__binomial_of(k, times->a);
        break;
    case THRUM__TIMES_NORMAL:
        sum.scale = sqrt(k) * times->deviation;
        break;
    case THRUM__TIMES_GAMMA:
        sum.scale = times->b;
        sum.how.gamma = thrum__gamma_of(k * times->a);
        break;
    }
    return sum;
}

static double draw_uniform(const thrum__times *times, const thrum__sum *sum, thrum__stream *stream)
{
    double k = (double)sum->count;
    if (sum->count <= THRUM__UNIFORM_EXACT) {
        double units = 0;
        for (uint64_t i = 0; i < sum->count; i++)
            units += thrum__draw_unit(stream);
        return k * times->a + sum->scale * units;
    }
    /* The fourth cumulant of a sum of k uniform numbers is -6/5 k^-1 of its variance's square. */
    double z = thrum__draw_normal(&times->tables, stream), time = z - 0.05 / k * z * (z * z - 3);
    return fmin(fmax(sum->shift + sum->scale * time, k * times->a), k * times->b);
}

static double draw_twopoint(const thrum__times *times, const thrum__sum *sum, thrum__stream *stream)
{
    if (sum->count <= times->few_count)
        return sum->scale * thrum__draw_alias(&times->few[sum->count - 1], stream);
    return sum->scale * thrum__draw_binomial(&times->tables, stream, &sum->how.binomial);
}

static double draw_exponential(const thrum__times *times, const thrum__sum *sum, thrum__stream *stream)
{
    if (sum->count > EXPONENTIAL_FEW)
        return sum->scale * thrum__draw_gamma(&times->tables, stream, &sum->how.gamma);
    double time = 0;
    for (uint64_t i = 0; i < sum->count; i++)
        time += thrum__draw_exponential(&times->tables, stream);
    return sum->scale * time;
}

/* The time of the first `count` lines, the file beginning again behind its end. */
static double file_time(const thrum__times *times, uint64_t count)
{
    return (double)(count / times->lines) * times->sums[times->lines] + times->sums[count % times->lines];
}

static double look_up(const thrum__times *times, const thrum__sum *sum)
{
    uint64_t begin = sum->begin % times->lines;
    return fmax(0, file_time(times, begin + sum->count) - file_time(times, begin)); /* rounded, it might be below 0 */
}

double thrum__sum_draw(const thrum__times *times, const thrum__sum *sum, thrum__stream *stream)
{
    switch (times->kind) {
    case THRUM__TIMES_CONST:
        break;
    case THRUM__TIMES_UNIFORM:
        return draw_uniform(times, sum, stream);
    case THRUM__TIMES_EXP:
        return draw_exponential(times, sum, stream);
    case THRUM__TIMES_TWOPOINT:
        return draw_twopoint(times, sum, stream);
    case THRUM__TIMES_NORMAL:
        return fmax(0, sum->shift + sum->scale * thrum__draw_normal(&times->tables, stream));
    case THRUM__TIMES_GAMMA:
        return sum->scale * thrum__draw_gamma(&times->tables, stream, &sum->how.gamma);
    case THRUM__TIMES_FILE:
        return look_up(times, sum);
    }
    return sum->shift;
}

double thrum__times_sum(const thrum__times *times, thrum__stream *stream, uint64_t begin, uint64_t count)
{
    thrum__sum sum = thrum__sum_of(times, begin, count);
    return thrum__sum_draw(times, &sum, stream);
}
