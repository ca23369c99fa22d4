/* SPDX-License-Identifier: MIT
 *
 * thrum bench: what its files share. bench.c reads the command line; bench_rows.c knows what is measured and what it
 * may take, bench_runner.c starts programs and asks them, bench_measure.c takes samples, bench_result.c works out what
 * they say, bench_print.c prints that, and bench_record.c keeps it.
 */
#ifndef THRUM_TOOLS_BENCH_H
#define THRUM_TOOLS_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define BENCH "bench"

/* ---- bench_rows.c ------------------------------------------------------------------------------------------------ */

enum bench_limit {
    NO_LIMIT,
    OF_ONETBB,     /* at most so many times what oneTBB takes */
    OF_SEQUENTIAL, /* at most so many times what sequential code takes */
    ABSOLUTE,      /* at most so much, in the row's unit */
    OF_PEERS,      /* where more is better: the best peer's at most so many times thrum's */
    OF_BEST,       /* at most so many times what the best peer takes */
    OF_EACH,       /* at most `limit` times each peer's own limit: bench_peer_limit */
};

enum bench_flags {
    FEW = 1,        /* a pass takes long or hardly varies: three passes, no warm-up */
    FRESH = 2,      /* needs a heap that nobody has used: a new process for every pass */
    THRUM_ONLY = 4, /* a question to thrum alone */
    COSTS = 8,      /* does not run tasks, or has threads hand over to each other: no comparison of workers */
    SHARED = 16,    /* the limit is for two workers or more */
    MORE = 32,      /* more is better */
    NOT_ONE = 64,   /* with two workers or more only */
    RATE = 128,     /* samples have a second number: GFLOP/s */
    ALONE = 256,    /* samples have a second number: the time until the last task was inserted */
    SCALES = 512,   /* a second limit: BENCH_SCALE of the workers times sequential code */
    RENEWED = 1024, /* where data lies in memory decides: a new process for every pass, asked several times */
};

/* In the flags of a row for co-running processes, whose name ends in "-" and this number. */
#define PROCESSES(count) ((unsigned)(count) << 12)

/* SCALES: at least so much of the workers times the speed of sequential code. */
#define BENCH_SCALE 0.97

/* Works come in groups; the first one is measured when nothing is asked for. */
enum bench_group { BASE, CONTROL, LOOPS, DATA, GROUPS };
extern const char *const bench_groups[GROUPS];

struct bench_row {
    enum bench_group group;
    const char *work, *unit;
    enum bench_limit limit_kind;
    double limit;
    unsigned flags;
    const char *help;
};

enum { MOST_ROWS = 128 };
extern const struct bench_row bench_rows[];
extern const int bench_row_count; /* at most MOST_ROWS */

enum { THRUM, ONETBB, LIBGOMP, LIBOMP, STARPU, STARPU_DMDA, SEQUENTIAL, THRUM_DMDA, IMPLEMENTATIONS };

/* Peers are those between thrum and sequential code; not all of them have a part in each group. thrum with a policy is
 * shown beside them where there is data, and has no limits. */
enum { FIRST_PEER = ONETBB, LAST_PEER = STARPU_DMDA };

struct bench_implementation {
    const char *name, *file;
};

extern const struct bench_implementation bench_implementations[IMPLEMENTATIONS];

/* The limit that a group's rows OF_EACH have for a peer; 0: none. */
double bench_peer_limit(enum bench_group group, int which);

/* Whether somebody has works in the group. */
bool bench_takes_part(enum bench_group group, int which);

/* What the row's second numbers are; NULL: it has none. */
const char *bench_second_name(const struct bench_row *row);

/* ---- What a run of the command knows ----------------------------------------------------------------------------- */

enum { MOST_WORKER_COUNTS = 8, MOST_PASSES = 999, QUIET_TRIES = 4 };
/* Pairs of samples for the comparison of workers in a pass. */
enum { MOST_PAIRS = 24 };

struct bench_runner {
    pid_t pid; /* 0: not started */
    int requests;
    FILE *answers;
};

struct bench_samples {
    bool none; /* the implementation has no such work, or is not here, or failed */
    int count;
    double value[MOST_PASSES];
    double second[MOST_PASSES]; /* RATE and ALONE; NAN: not known */
    double median, least, most; /* once all passes are done */
    double second_median;
};

/* Thrum with more workers / with one, of samples that are next to each other in time: what else the machine does
 * changes both. */
struct bench_pairs {
    int count;
    double ratio[MOST_PASSES * MOST_PAIRS];
    double median;
};

struct bench {
    bool json, quick;
    const char *out;
    char folder[4096]; /* of the runners */
    int passes;
    int worker_counts[MOST_WORKER_COUNTS], worker_count;
    bool selected[MOST_ROWS];
    bool progress;
    int failures;
    int taken, disturbed; /* samples that count; and how often one was taken while a hypervisor had the processors */
    bool missing[IMPLEMENTATIONS];
    char about[IMPLEMENTATIONS][256];
    struct bench_runner runners[IMPLEMENTATIONS][MOST_WORKER_COUNTS];
    struct bench_samples samples[IMPLEMENTATIONS][MOST_WORKER_COUNTS]; /* of the current work */
    struct bench_pairs pairs[MOST_WORKER_COUNTS];                      /* the same */
    json_t *record;                                                    /* all raw samples */
    char path[4200];                                                   /* where they go */
};

/* ---- bench_runner.c ---------------------------------------------------------------------------------------------- */

/* The runner of an implementation for the w-th number of workers, started if need be. NULL: it cannot be. */
struct bench_runner *bench_runner_of(struct bench *b, int which, int w);

/* Lets the runner go on until it has answered. False: it died or did not answer, and has been ended. */
bool bench_ask(struct bench_runner *runner, const char *request, char *answer, size_t size);

void bench_end_runner(struct bench_runner *runner);
void bench_end_all_runners(struct bench *b);

/* Which implementations are here, and of which version. */
void bench_meet_runners(struct bench *b);

/* ---- bench_measure.c --------------------------------------------------------------------------------------------- */

/* Takes all passes of a work. */
void bench_measure(struct bench *b, const struct bench_row *row);

/* Whether the row is for that many workers, and whether thrum's with them are compared with one. */
bool bench_is_measured(const struct bench *b, const struct bench_row *row, int w);
bool bench_is_compared(const struct bench *b, const struct bench_row *row, int w);

/* ---- bench_result.c: of the work that was measured last ---------------------------------------------------------- */

/* A median over passes, and the range in which the true one lies with 95 % certainty, whatever the distribution. NAN:
 * not known. */
struct bench_spread {
    double median, low, high;
};

struct bench_result {
    double thrum, thrum_best;    /* NAN: not known, here and below */
    struct bench_spread ratio;   /* to oneTBB, or to the peer that the row's limit is about */
    struct bench_spread scaling; /* SCALES: the speed over the workers times that of sequential code */
    double to_one_worker;        /* thrum with these workers / with one; NAN where that says nothing */
    int best_peer;               /* -1: none */
    const char *verdict;         /* "ok", "level", "over", "below" or "" */
};

/* Works out the medians of all samples and pairs. */
void bench_summarize(struct bench *b);

bool bench_has_limit(const struct bench *b, const struct bench_row *row, int w);
struct bench_result bench_result_of(const struct bench *b, const struct bench_row *row, int w);

/* ---- bench_print.c ----------------------------------------------------------------------------------------------- */

void bench_print_heading(enum bench_group group);
void bench_print_result(const struct bench *b, const struct bench_row *row, int w);
json_t *bench_result_json(const struct bench *b, const struct bench_row *row, int w);

/* A number, or null where it is not known. */
json_t *bench_number(double value);

#define BENCH_JSON (JSON_COMPACT | JSON_REAL_PRECISION(6))

/* ---- bench_record.c: the file of raw samples --------------------------------------------------------------------- */

/* TOOL_GO_ON, or a code: it could not be written, which has been said. */
int bench_open_record(struct bench *b);
int bench_record_row(struct bench *b, const struct bench_row *row, int w);
int bench_close_record(struct bench *b);

#endif
