/* SPDX-License-Identifier: MIT */
#include "trace/chrome.h"

#include <thrum/observer.h>

#include "base/fault.h"
#include "model/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

static void put_name(FILE *out, const thrum__event *event)
{
    const char *name = event->number == THRUM__EVENT_SUBMITTED ? "function" : "spawned";
    if (event->number == THRUM__EVENT_JOB)
        name = event->names ? event->names : "job";
    else if (event->names)
        name = thrum__names_task(event->names, event->number);
    if (*name) {
        put_text(out, name);
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "task %lld", (long long)event->number);
    put_text(out, text);
}

static void put_event(FILE *out, const thrum__event *event, int tid, int64_t begin)
{
    const thrum__names *names = event->number == THRUM__EVENT_JOB ? NULL : event->names;
    fprintf(out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":", tid,
            (double)(event->begin - begin) / 1000, (double)(event->end - event->begin) / 1000);
    put_name(out, event);
    fputs(",\"cat\":", out);
    put_text(out, names && *names->graph ? names->graph : "thrum");
    putc('}', out);
}

/* Nothing is said of who has counted nothing: whoever waited for anything has slept, or tried to steal. */
static void put_stats(FILE *out, const thrum__track *track)
{
    const thrum_worker_stats *s = &track->stats;
    if (!(s->steals | s->wasted_steals | s->sleeps | s->wakes | s->naps))
        return;
    fprintf(out,
            ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thrum_stats\",\"args\":{\"steals\":%llu,"
            "\"wasted_steals\":%llu,\"sleeps\":%llu,\"wakes\":%llu,\"naps\":%llu}}",
            track->number, (unsigned long long)s->steals, (unsigned long long)s->wasted_steals,
            (unsigned long long)s->sleeps, (unsigned long long)s->wakes, (unsigned long long)s->naps);
}

static void put_track(FILE *out, const thrum__track *track, int64_t begin, const char *comma)
{
    char name[160];
    snprintf(name, sizeof name, "%.100s%s%s %d", track->domain, *track->domain ? " " : "", track->kind, track->index);
    fprintf(out, "%s\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":", comma,
            track->number);
    put_text(out, name);
    fputs("}}", out);
    put_stats(out, track);
    for (uint64_t i = 0; i < thrum__ring_count(track->ring); i++)
        put_event(out, thrum__ring_get(track->ring, i), track->number, begin);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static void put_copy(FILE *out, const thrum__event *event, int tid, int64_t begin)
{
    static const char *const reasons[] = {[THRUM_COPY_NEEDED] = "needed",
                                          [THRUM_COPY_PREFETCHED] = "prefetched",
                                          [THRUM_COPY_WRITTEN_BACK] = "written back",
                                          [THRUM__THROWN_OUT] = "thrown out"};
    int what = thrum__copy_what(event->number);
    fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,", what == THRUM__THROWN_OUT ? "i" : "X", tid,
            (double)(event->begin - begin) / 1000);
    if (what == THRUM__THROWN_OUT)
        fputs("\"s\":\"t\",\"name\":", out);
    else
        fprintf(out, "\"dur\":%.3f,\"name\":", (double)(event->end - event->begin) / 1000);
    put_text(out, event->names ? event->names : "data");
    fprintf(out, ",\"cat\":\"copy\",\"args\":{\"bytes\":%llu,\"reason\":\"%s\"}}",
            (unsigned long long)thrum__copy_bytes(event->number), reasons[what]);
}

static void put_link(FILE *out, const thrum__link_track *link, int64_t begin)
{
    uint64_t count = thrum__ring_count(link->ring);
    if (link->ring->written == 0)
        return;
    fprintf(out, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thrum_link\",\"args\":{\"from\":%d,\"to\":%d}}",
            link->number, link->from, link->to);
    fprintf(out, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"link %d>%d\"}}",
            link->number, link->from, link->to);
    for (uint64_t i = 0; i < count; i++)
        put_copy(out, thrum__ring_get(link->ring, i), link->number, begin);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static unsigned long long count_lost(const thrum__trace *trace)
{
    unsigned long long lost = 0;
    for (size_t i = 0; i < trace->track_count; i++)
        lost += thrum__ring_lost(trace->tracks[i].ring);
    for (size_t i = 0; i < trace->link_count; i++)
        lost += thrum__ring_lost(trace->links[i].ring);
    return lost;
}

int thrum__chrome_write(const char *path, const thrum__trace *trace)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return thrum__fault(THRUM_ESYSTEM, "the trace cannot be written to '%s': %s", path, strerror(errno));
    fprintf(
        out,
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"thrum\":\"%s\",\"format\":\"1\",\"lost_events\":\"%llu\"},\"traceEvents\":[",
        thrum_version(), count_lost(trace));
    for (size_t i = 0; i < trace->track_count; i++)
        put_track(out, &trace->tracks[i], trace->begin, i ? "," : "");
    for (size_t i = 0; i < trace->link_count; i++)
        put_link(out, &trace->links[i], trace->begin);
    fputs("\n]}\n", out);
    int failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return thrum__fault(THRUM_ESYSTEM, "the trace cannot be written to '%s': the file is incomplete", path);
    return 0;
}
