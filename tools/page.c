/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 8 };

static const char style[] =
    ":root{color-scheme:light dark;--back:#f6f5f1;--card:#fff;--ink:#1d2129;--soft:#5d6675;--line:#dfddd5;"
    "--code:#f2f0ea;--accent:#b3471d;--keep:#2d6a4f}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#14171c;--card:#1c2027;--ink:#e6e8ec;--soft:#98a2b3;--line:#2f353f;"
    "--code:#14171c;--accent:#f0976c;--keep:#7fc8a4}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,"
    "sans-serif}\n"
    "main{max-width:60rem;margin:0 auto;padding:1.2rem}\n"
    "header{padding:2rem 0 .6rem}\n"
    "h1{font-size:2.6rem;line-height:1.1;margin:0;letter-spacing:-.02em}\n"
    "header p{color:var(--soft);font-size:1.1rem;margin:.5rem 0 0}\n"
    "section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.1rem 1.3rem 1.3rem;"
    "margin:1.1rem 0}\n"
    "h2{font-size:1.25rem;margin:.1rem 0 .5rem}\n"
    "h2 b{color:var(--accent);font-weight:600;margin-right:.5rem}\n"
    "p{margin:.6rem 0}\n"
    "code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.86em}\n"
    "code{background:var(--code);border-radius:4px;padding:.1em .3em}\n"
    "pre{background:var(--code);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem;overflow-x:auto;"
    "line-height:1.45;margin:.8rem 0}\n"
    "pre code{background:none;padding:0;font-size:1em}\n"
    "blockquote{margin:.8rem 0;padding:.6rem 1rem;border-left:4px solid var(--accent);background:var(--code);"
    "border-radius:0 10px 10px 0;overflow-wrap:anywhere}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.7rem;margin:.9rem 0}\n"
    ".facts div{border:1px solid var(--line);border-radius:10px;padding:.5rem .8rem}\n"
    ".facts strong{display:block;font-size:1.3rem;line-height:1.3;color:var(--keep);"
    "font-variant-numeric:tabular-nums}\n"
    ".facts span{color:var(--soft);font-size:.85rem}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.94rem}\n"
    "th,td{text-align:left;vertical-align:top;padding:.32rem .8rem .32rem 0;border-top:1px solid var(--line)}\n"
    "tr:first-child th,tr:first-child td{border-top:0}\n"
    "th{font-weight:500;color:var(--soft);white-space:nowrap}\n"
    "td{overflow-wrap:anywhere}\n"
    "figure{margin:.9rem 0}\n"
    "figcaption{color:var(--soft);font-size:.88rem;margin-top:.4rem}\n"
    ".picture{text-align:center;overflow-x:auto}\n"
    ".picture svg{max-width:100%;height:auto;max-height:22rem}\n"
    ".picture svg>g>polygon:first-of-type{fill:none}\n"
    ".picture svg text{fill:var(--ink);font-family:inherit}\n"
    ".picture .node ellipse,.picture .node polygon,.picture .node path{stroke:var(--accent);fill:var(--code);"
    "stroke-width:1.5}\n"
    ".picture .edge path{stroke:var(--soft)}.picture .edge polygon{stroke:var(--soft);fill:var(--soft)}\n"
    ".lane{display:grid;grid-template-columns:10.5rem 1fr;gap:.6rem;align-items:center;margin:.25rem 0;font-size:.85rem;"
    "color:var(--soft)}\n"
    ".lane svg{display:block;width:100%;height:2.1rem;background:var(--code);border-radius:5px}\n"
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;color:var(--soft);margin:.3rem 0}\n"
    ".key svg{width:.8rem;height:.8rem;margin-right:.35rem;vertical-align:-.08rem}\n"
    ".axis{display:flex;justify-content:space-between}\n"
    "@media(max-width:34rem){.lane{grid-template-columns:1fr;gap:.1rem}h1{font-size:2.1rem}section{padding:.9rem}"
    "pre{font-size:.8em}}\n"
    ".c0{fill:#3f7fbf}.c1{fill:#d9822b}.c2{fill:#4f9d69}.c3{fill:#b8539b}.c4{fill:#c9a227}.c5{fill:#7468c4}"
    ".c6{fill:#c94f4f}.c7{fill:#3a9c9c}\n"
    "footer{color:var(--soft);font-size:.88rem;padding:.6rem 0 2rem}\n";

static void put_escaped(FILE *out, const char *text, bool backquotes)
{
    bool code = false;
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else if (*text == '`' && backquotes)
            fputs((code = !code) ? "<code>" : "</code>", out);
        else
            fputc(*text, out);
    }
}

static void put_formatted(FILE *out, bool backquotes, const char *format, va_list list)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, list);
    put_escaped(out, text, backquotes);
}

void page_open(struct page *page, const char *title, const char *subtitle)
{
    page->sections = 0;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          page->out);
    put_escaped(page->out, title, false);
    fprintf(page->out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", style);
    put_escaped(page->out, title, false);
    fputs("</h1>\n<p>", page->out);
    put_escaped(page->out, subtitle, true);
    fputs("</p>\n</header>\n", page->out);
}

void page_close(struct page *page)
{
    if (page->sections)
        fputs("</section>\n", page->out);
    fputs("<footer>Made by <code>thrum tour</code>. Every number on this page was measured when it was made.</footer>\n"
          "</main>\n</body>\n</html>\n",
          page->out);
}

void page_section(struct page *page, const char *id, const char *title)
{
    if (page->sections++)
        fputs("</section>\n", page->out);
    fprintf(page->out, "<section id=\"%s\">\n<h2><b>%d</b>", id, page->sections);
    put_escaped(page->out, title, false);
    fputs("</h2>\n", page->out);
}

void page_text(struct page *page, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("<p>", page->out);
    put_formatted(page->out, true, format, list);
    fputs("</p>\n", page->out);
    va_end(list);
}

void page_quote(struct page *page, const char *sentence)
{
    fputs("<blockquote>", page->out);
    put_escaped(page->out, sentence, false);
    fputs("</blockquote>\n", page->out);
}

void page_code(struct page *page, const char *code)
{
    fputs("<pre><code>", page->out);
    put_escaped(page->out, code, false);
    fputs("</code></pre>\n", page->out);
}

void page_facts_open(struct page *page)
{
    fputs("<div class=\"facts\">\n", page->out);
}

void page_fact(struct page *page, const char *label, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("<div><strong>", page->out);
    put_formatted(page->out, false, format, list);
    fputs("</strong><span>", page->out);
    put_escaped(page->out, label, true);
    fputs("</span></div>\n", page->out);
    va_end(list);
}

void page_facts_close(struct page *page)
{
    fputs("</div>\n", page->out);
}

void page_table_open(struct page *page)
{
    fputs("<div class=\"wide\"><table>\n", page->out);
}

void page_row(struct page *page, const char *label, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("<tr><th scope=\"row\">", page->out);
    put_escaped(page->out, label, true);
    fputs("</th><td>", page->out);
    put_formatted(page->out, true, format, list);
    fputs("</td></tr>\n", page->out);
    va_end(list);
}

void page_table_close(struct page *page)
{
    fputs("</table></div>\n", page->out);
}

static void put_caption(struct page *page, const char *caption)
{
    fputs("<figcaption>", page->out);
    put_escaped(page->out, caption, true);
    fputs("</figcaption></figure>\n", page->out);
}

void page_picture(struct page *page, const char *svg, const char *caption)
{
    const char *begin = strstr(svg, "<svg");
    fprintf(page->out, "<figure class=\"picture\">%s", begin ? begin : svg);
    put_caption(page, caption);
}

/* Few names have the same colours in all charts: by their order in the alphabet. */
static size_t colour_of(const struct trace *trace, size_t name)
{
    size_t before = 0;
    if (trace->name_count > COLOURS)
        return name % COLOURS;
    for (size_t i = 0; i < trace->name_count; i++)
        before += strcmp(trace->names[i].text, trace->names[name].text) < 0;
    return before;
}

/* The box is a million units wide and stretched to the lane's width, so it is as sharp on a phone as on a wall. */
static void put_event(FILE *out, const struct trace *trace, double span, const struct trace_event *event)
{
    char length[TOOL_TIME_SIZE];
    double scale = 1e6 / span;
    fprintf(out, "<rect class=\"c%zu\" x=\"%.0f\" y=\"%s\" width=\"%.0f\" height=\"%s\"><title>",
            colour_of(trace, event->name), event->begin * scale, event->nested ? "5" : "1",
            event->length * scale > 1 ? event->length * scale : 1, event->nested ? "4" : "8");
    put_escaped(out, trace->names[event->name].text, false);
    fprintf(out, ", %s</title></rect>\n", tool_time(event->length, length));
}

static void put_lanes(struct page *page, const struct trace *trace, double span)
{
    for (size_t lane = 0, i = 0; lane < trace->lane_count; lane++) {
        fputs("<div class=\"lane\"><span>", page->out);
        put_escaped(page->out, trace->lanes[lane].label, false);
        fprintf(page->out, " · %.0f %%</span>", 100 * trace->lanes[lane].busy / trace->makespan);
        fputs("<svg viewBox=\"0 0 1000000 10\" preserveAspectRatio=\"none\" role=\"img\">\n", page->out);
        for (; i < trace->event_count && trace->events[i].lane == lane; i++)
            put_event(page->out, trace, span, &trace->events[i]);
        fputs("</svg></div>\n", page->out);
    }
}

static void put_key(struct page *page, const struct trace *trace)
{
    fputs("<div class=\"key\">", page->out);
    for (size_t i = 0; i < trace->name_count; i++) {
        fprintf(page->out, "<span><svg viewBox=\"0 0 1 1\"><rect class=\"c%zu\" width=\"1\" height=\"1\"/></svg>",
                colour_of(trace, i));
        put_escaped(page->out, trace->names[i].text, false);
        fputs("</span>", page->out);
    }
    fputs("</div>\n", page->out);
}

void page_gantt(struct page *page, const struct trace *trace, double span, const char *caption)
{
    char end[TOOL_TIME_SIZE];
    fputs("<figure class=\"gantt\">\n", page->out);
    put_lanes(page, trace, span);
    fprintf(page->out,
            "<div class=\"lane\"><span>time</span><div class=\"axis\"><span>0</span><span>%s</span></div></div>\n",
            tool_time(span, end));
    if (trace->name_count > 1 && trace->name_count <= COLOURS)
        put_key(page, trace);
    put_caption(page, caption);
}
