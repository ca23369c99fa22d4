/* SPDX-License-Identifier: MIT
 *
 * Algorithms: words are measured, the lengths added up, and the words sorted, first by calls and then by a graph in
 * which each algorithm is one task.
 */
#include <thrum/thrum.h>

#include <stdio.h>
#include <string.h>

static const char *words[] = {"warp", "weft", "shuttle", "heddle", "loom", "thrum", "reed", "treadle", "selvage"};
enum { WORDS = sizeof words / sizeof *words };
static int length[WORDS];

/* An operator is handed a piece of the arrays, not one element. */
static void measure(const void *in, void *out, size_t count, void *ctx)
{
    const char *const *word = in;
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        ((int *)out)[i] = (int)strlen(word[i]);
}

static void add(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        *(int *)into += ((const int *)elements)[i];
}

static int by_letters(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_length(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    size_t x = strlen(*(const char *const *)a), y = strlen(*(const char *const *)b);
    return (x > y) - (x < y);
}

static void print_words(void *arg)
{
    (void)arg;
    for (int i = 0; i < WORDS; i++)
        printf("%s%s", words[i], i + 1 < WORDS ? " " : "\n");
}

int main(void)
{
    int letters = 0;
    int err = thrum_transform(NULL, words, sizeof *words, length, sizeof *length, WORDS, 0, measure, NULL);
    if (!err)
        err = thrum_reduce(NULL, length, WORDS, sizeof *length, 0, &letters, add, NULL);
    printf("%d letters\n", letters);

    /* Sorting is stable: words of one length stay in the order of the alphabet. */
    thrum_graph *g = thrum_graph_new("sort");
    thrum_task *first = thrum_sort_task_new(g, words, WORDS, sizeof *words, by_letters, NULL);
    thrum_task *second = thrum_sort_task_new(g, words, WORDS, sizeof *words, by_length, NULL);
    thrum_task *last = thrum_task_new(g, print_words, NULL);
    thrum_precede(first, second);
    thrum_precede(second, last);
    if (!err)
        err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "algorithms: %s\n", thrum_message(NULL));
    thrum_graph_free(g);
    return err != 0 || letters != 48 || strcmp(words[0], "loom") != 0 || strcmp(words[WORDS - 1], "treadle") != 0;
}
