/* SPDX-License-Identifier: MIT */
#include "front/loop_site.h"

#include "base/alloc.h"
#include "sched/auto.h"
#include "sys/park.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { BUCKETS = 256, MOST_SITES = 4096 };

/* Older executions count less and less: by half after some five. */
static const double KEPT = 0.87;

struct thrum__site {
    thrum__site *next; /* in its bucket; constant */
    const char *name;  /* constant, as the two below */
    const void *body;
    uint32_t workers;
    thrum__lock lock; /* for all that follows */
    double chunks, iterations, time, cost;
    double pieces, piece_iterations, piece_time, piece_squares;
    thrum__auto choice;
    uint32_t step;           /* AWF: executions so far */
    double *sums;            /* AWF: 2 p numbers, in one block with the next two */
    double *weights, *times; /* p each */
    uint64_t *shares;        /* p: iterations of one execution */
};

/* Sites are added and never taken away, under the lock, and read under the lock. */
static struct {
    thrum__lock lock;
    uint32_t count;
    thrum__site *buckets[BUCKETS];
} table;

void thrum__measured_add(thrum__measured *sum, const thrum__measured *more)
{
    sum->chunks += more->chunks;
    sum->iterations += more->iterations;
    sum->time += more->time;
    sum->cost += more->cost;
    sum->pieces += more->pieces;
    sum->piece_iterations += more->piece_iterations;
    sum->piece_time += more->piece_time;
    sum->piece_squares += more->piece_squares;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* A child of a fork has the parent's sites, but none of its threads: nobody may be at a site when it is made. */
static void lock_all(void)
{
    thrum__lock_take(&table.lock);
    for (int i = 0; i < BUCKETS; i++)
        for (thrum__site *site = table.buckets[i]; site; site = site->next)
            thrum__lock_take(&site->lock);
}

static void unlock_all(void)
{
    for (int i = 0; i < BUCKETS; i++)
        for (thrum__site *site = table.buckets[i]; site; site = site->next)
            thrum__lock_give(&site->lock);
    thrum__lock_give(&table.lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_all, unlock_all, unlock_all);
}

static const void *body_of(const thrum_loop *loop)
{
    return loop->body ? (const void *)(uintptr_t)loop->body : (const void *)(uintptr_t)loop->map;
}

static uint32_t bucket_of(const char *name, const void *body, uint32_t workers)
{
    uint64_t hash = (uintptr_t)body * UINT64_C(0x9e3779b97f4a7c15) + workers;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash >> 40) % BUCKETS;
}

static thrum__site *find(thrum__site *site, const char *name, const void *body, uint32_t workers)
{
    while (site && (site->body != body || site->workers != workers || strcmp(site->name, name) != 0))
        site = site->next;
    return site;
}

static thrum__site *make(const char *name, const void *body, uint32_t workers)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    thrum__site *site = table.count < MOST_SITES ? thrum__alloc(sizeof *site) : NULL;
    if (!site)
        return NULL;
    pthread_once(&once, watch_forks);
    memset(site, 0, sizeof *site);
    site->name = name;
    site->body = body;
    site->workers = workers;
    return site;
}

thrum__site *thrum__site_of(const thrum_loop *loop, uint32_t workers)
{
    const char *name = loop->site ? loop->site : loop->here_ ? loop->here_ : "";
    const void *body = body_of(loop);
    thrum__site **bucket = &table.buckets[bucket_of(name, body, workers)];
    thrum__lock_take(&table.lock);
    thrum__site *site = find(*bucket, name, body, workers);
    if (!site) {
        site = make(name, body, workers);
        if (site) {
            site->next = *bucket;
            *bucket = site;
            table.count++;
        }
    }
    thrum__lock_give(&table.lock);
    return site;
}

/* ---- Mean, deviation, cost --------------------------------------------------------------------------------------- */

/* From pieces of chunks: one of k iterations has a mean that varies by sigma^2/k, so k times its square distance from
 * the mean of all is an estimate of sigma^2. */
static double deviation_of(const thrum__site *site)
{
    if (site->pieces < 1.5)
        return 0;
    double mean = site->piece_time / site->piece_iterations;
    double spread = site->piece_squares - mean * site->piece_time;
    return spread > 0 ? sqrt(spread / (site->pieces - 1)) : 0;
}

bool thrum__site_facts(thrum__site *site, thrum_loop_facts *facts)
{
    thrum__lock_take(&site->lock);
    bool known = site->iterations > 0 && site->time > 0;
    if (known) {
        facts->mean = site->time / site->iterations;
        facts->deviation = deviation_of(site);
        facts->cost = site->cost / site->chunks;
    }
    thrum__lock_give(&site->lock);
    return known;
}

/* ---- AWF --------------------------------------------------------------------------------------------------------- */

static bool has_sums_locked(thrum__site *site)
{
    size_t p = site->workers;
    if (site->sums)
        return true;
    double *sums = thrum__alloc(4 * p * sizeof *sums);
    uint64_t *shares = thrum__alloc(p * sizeof *shares);
    if (!sums || !shares) {
        thrum__free(sums);
        thrum__free(shares);
        return false;
    }
    memset(sums, 0, 4 * p * sizeof *sums);
    site->sums = sums;
    site->weights = sums + 2 * p;
    site->times = sums + 3 * p;
    site->shares = shares;
    for (size_t i = 0; i < p; i++)
        site->weights[i] = 1;
    return true;
}

void thrum__site_weights(thrum__site *site, double *weights)
{
    thrum__lock_take(&site->lock);
    bool known = has_sums_locked(site);
    for (uint32_t i = 0; i < site->workers; i++)
        weights[i] = known ? site->weights[i] : 1;
    thrum__lock_give(&site->lock);
}

static void learn_speeds_locked(thrum__site *site, const thrum__measured *parts)
{
    if (!has_sums_locked(site))
        return;
    for (uint32_t i = 0; i < site->workers; i++) {
        site->shares[i] = parts[i].iterations;
        site->times[i] = parts[i].time;
    }
    site->step++;
    thrum_awf_step(site->sums, site->workers, site->step, site->shares, site->times, site->weights);
}

/* ---- Learning ---------------------------------------------------------------------------------------------------- */

void thrum__site_learn(thrum__site *site, const thrum__measured *all, const thrum__measured *parts)
{
    thrum__lock_take(&site->lock);
    site->chunks = KEPT * site->chunks + (double)all->chunks;
    site->iterations = KEPT * site->iterations + (double)all->iterations;
    site->time = KEPT * site->time + all->time;
    site->cost = KEPT * site->cost + all->cost;
    site->pieces = KEPT * site->pieces + (double)all->pieces;
    site->piece_iterations = KEPT * site->piece_iterations + (double)all->piece_iterations;
    site->piece_time = KEPT * site->piece_time + all->piece_time;
    site->piece_squares = KEPT * site->piece_squares + all->piece_squares;
    if (parts)
        learn_speeds_locked(site, parts);
    thrum__lock_give(&site->lock);
}

thrum_technique thrum__site_pick(thrum__site *site)
{
    thrum__lock_take(&site->lock);
    thrum_technique technique = thrum__auto_pick(&site->choice);
    thrum__lock_give(&site->lock);
    return technique;
}

void thrum__site_learn_time(thrum__site *site, thrum_technique picked, double time)
{
    thrum__lock_take(&site->lock);
    thrum__auto_learn(&site->choice, picked, time);
    thrum__lock_give(&site->lock);
}
