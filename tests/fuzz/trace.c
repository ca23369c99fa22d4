/* SPDX-License-Identifier: MIT
 *
 * Texts that may be traces: any is read and summed up, or refused with a sentence.
 */
#include "trace_read.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void look_at(const struct trace *trace)
{
    double slices[40];
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *e = &trace->events[i];
        must(e->lane < trace->lane_count && e->name < trace->name_count, "an event is nowhere");
        must(isfinite(e->begin) && e->begin >= 0 && isfinite(e->length) && e->length >= 0, "an event at no time");
    }
    must(isfinite(trace->makespan) && isfinite(trace->busy), "sums that are no numbers");
    for (size_t lane = 0; lane < trace->lane_count; lane++) {
        trace_slices(trace, lane, slices, 40);
        for (int i = 0; i < 40; i++)
            must(slices[i] >= 0 && slices[i] <= 1, "a share that is none");
    }
    for (size_t i = 0; i < trace->copy_count; i++)
        must(trace->copies[i].link < trace->link_count && trace->copies[i].begin >= 0, "a copy is nowhere");
    for (size_t link = 0; link < trace->link_count; link++) {
        must(isfinite(trace->links[link].busy), "a link whose time is no number");
        trace_link_slices(trace, link, slices, 40);
        for (int i = 0; i < 40; i++)
            must(slices[i] >= 0 && slices[i] <= 1, "a share of a link that is none");
    }
    size_t *ranking = trace_ranking(trace);
    for (size_t i = 0; ranking && i < trace->name_count; i++)
        must(ranking[i] < trace->name_count, "a rank of nobody");
    free(ranking);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace trace;
    char why[400] = "", *text = malloc(size + 1);
    must(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = 0;
    if (trace_read_text(text, size, "fuzz.json", &trace, why, sizeof why) == 0) {
        look_at(&trace);
        trace_free(&trace);
    } else {
        must(strncmp(why, "fuzz.json", 9) == 0, "no sentence");
    }
    free(text);
    return 0;
}
