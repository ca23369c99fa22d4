/* SPDX-License-Identifier: MIT */
#include "sched/hetero.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "model/arch.h"

#include <stdio.h>
#include <string.h>

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static void sort_workers(thrum__hetero *h, const thrum_world *world)
{
    int count = 0;
    for (int arch = 0; arch < THRUM_ARCHS; arch++) {
        h->first[arch] = count;
        for (int worker = 0; worker < world->workers; worker++)
            if ((int)world->place[worker].arch == arch)
                h->workers[count++] = worker;
    }
    h->first[THRUM_ARCHS] = count;
}

int thrum__hetero_begin(thrum__hetero *h, const thrum_world *world, int columns)
{
    size_t lists = (size_t)THRUM__BUCKETS * (size_t)columns;
    h->columns = columns;
    h->buckets = thrum__zalloc(THRUM__BUCKETS * sizeof *h->buckets);
    h->lists = thrum__zalloc(lists * sizeof *h->lists);
    h->waiting = thrum__zalloc(lists * THRUM_ARCHS * sizeof *h->waiting);
    h->workers = thrum__zalloc((size_t)world->workers * sizeof *h->workers);
    h->looks = thrum__zalloc((size_t)world->workers * sizeof *h->looks);
    int err = h->buckets && h->lists && h->waiting && h->workers && h->looks
                  ? thrum__idlers_begin(&h->idlers, world)
                  : thrum__fault(THRUM_ENOMEM, "no memory for %d buckets", THRUM__BUCKETS);
    if (!err) {
        memset(h->looks, 0xff, (size_t)world->workers * sizeof *h->looks);
        sort_workers(h, world);
        err = thrum__hetero_read(h, world);
    }
    if (err)
        thrum__hetero_end(h);
    return err;
}

void thrum__hetero_end(thrum__hetero *h)
{
    thrum__free(h->buckets);
    thrum__free(h->lists);
    thrum__free(h->waiting);
    thrum__free(h->workers);
    thrum__free(h->looks);
    thrum__idlers_end(&h->idlers);
}

/* ---- Buckets ----------------------------------------------------------------------------------------------------- */

static bool has_name(const thrum__bucket *bucket, const char *name)
{
    return strncmp(bucket->name, name, THRUM__BUCKET_NAME - 1) == 0;
}

int thrum__hetero_named(thrum__hetero *h, const char *name)
{
    for (int i = 0; i < h->count; i++)
        if (has_name(&h->buckets[i], name))
            return i;
    if (h->count == THRUM__BUCKETS)
        return THRUM__BUCKETS - 1;
    thrum__bucket *bucket = &h->buckets[h->count];
    *bucket = (thrum__bucket){.fastest = THRUM__NO_ARCH, .given_fastest = THRUM__NO_ARCH, .given_factor = -1};
    snprintf(bucket->name, sizeof bucket->name, "%s", name);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        bucket->given_place[arch] = -1;
    return h->count++;
}

static int bucket_of_number(thrum__hetero *h, int number)
{
    char name[THRUM__BUCKET_NAME];
    if (number < THRUM__BUCKETS && h->by_number[number])
        return h->by_number[number] - 1;
    snprintf(name, sizeof name, "%d", number);
    int bucket = thrum__hetero_named(h, name);
    if (number < THRUM__BUCKETS)
        h->by_number[number] = (int8_t)(bucket + 1);
    return bucket;
}

/* An address may have become another codelet's: the name decides. */
static int bucket_of_codelet(thrum__hetero *h, const thrum_codelet *codelet)
{
    size_t at = ((uintptr_t)codelet >> 4) % THRUM__BUCKETS;
    int known = h->cache[at].bucket;
    if (h->cache[at].codelet == codelet &&
        (h->buckets[known].name[0] == codelet->name[0] || known == THRUM__BUCKETS - 1) &&
        (has_name(&h->buckets[known], codelet->name) || known == THRUM__BUCKETS - 1))
        return known;
    h->cache[at].codelet = codelet;
    return h->cache[at].bucket = thrum__hetero_named(h, codelet->name);
}

int thrum__hetero_bucket(thrum__hetero *h, const thrum_job *job)
{
    return job->bucket >= 0 ? bucket_of_number(h, job->bucket) : bucket_of_codelet(h, job->codelet);
}

static bool is_able(const thrum__hetero *h, const thrum_world *world, const thrum_job *job, int arch)
{
    for (int i = h->first[arch]; i < h->first[arch + 1]; i++)
        if (world->can_run(world, job, h->workers[i]))
            return true;
    return false;
}

unsigned thrum__hetero_able(const thrum__hetero *h, const thrum_world *world, const thrum_job *job)
{
    unsigned has = thrum__arch_set(job), able = 0;
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (has >> arch & 1 && is_able(h, world, job, arch))
            able |= 1u << arch;
    return able;
}

/* ---- The bound --------------------------------------------------------------------------------------------------- */

static bool may_take(const thrum__hetero *h, const thrum__bucket *bucket, int arch, unsigned set)
{
    int fastest = bucket->fastest;
    if (fastest == THRUM__NO_ARCH || fastest == arch || !(set >> fastest & 1))
        return true;
    int workers = h->first[fastest + 1] - h->first[fastest];
    return (double)bucket->waiting[fastest] >= workers * bucket->factor[arch];
}

/* The architectures whose workers may take a job of the bucket whatever the bound. */
static unsigned entitled(const thrum__bucket *bucket, unsigned set)
{
    return bucket->fastest != THRUM__NO_ARCH && set >> bucket->fastest & 1 ? 1u << bucket->fastest : set;
}

/* ---- Waking ------------------------------------------------------------------------------------------------------ */

/* An idle worker of these architectures that can run the job: one with empty hands rather than others, then one of the
 * column's node. */
static int find_idle(const thrum__hetero *h, const thrum_world *world, const thrum_job *job, unsigned archs, int column)
{
    int found = THRUM_ANY_WORKER, best = -1;
    for (int i = 0; h->idlers.count && best < 3 && i < world->workers; i++) {
        int worker = (h->idlers.next + i) % world->workers;
        const thrum__idler *idler = &h->idlers.of[worker];
        const thrum_place *place = &world->place[worker];
        int worth = (idler->in_hands == 0) * 2 + (h->columns == 1 || place->node == column);
        if (!idler->idle || !(archs >> place->arch & 1) || worth <= best ||
            !thrum__nodes_have(h->looks[worker], column) || !world->can_run(world, job, worker))
            continue;
        found = worker;
        best = worth;
    }
    return found;
}

/* False: nobody who would take it is idle. */
static bool wake_for(thrum__hetero *h, const thrum_world *world, const thrum_job *job, int number, unsigned set,
                     int column)
{
    const thrum__bucket *bucket = &h->buckets[number];
    unsigned first = entitled(bucket, set), then = 0;
    int worker = find_idle(h, world, job, first, column);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if ((set & ~first) >> arch & 1 && may_take(h, bucket, arch, set))
            then |= 1u << arch;
    if (worker == THRUM_ANY_WORKER && then)
        worker = find_idle(h, world, job, then, column);
    return worker != THRUM_ANY_WORKER && thrum__idlers_wake(&h->idlers, world, worker);
}

static void wake_for_row(thrum__hetero *h, const thrum_world *world, int number, unsigned set)
{
    bool woken = false;
    for (int column = 0; column < h->columns && !woken; column++) {
        const thrum_job *job = h->lists[number * h->columns + column].of[set].first;
        woken = job && wake_for(h, world, job, number, set, column);
    }
}

/* What a pop left behind. */
static void pass_on(thrum__hetero *h, const thrum_world *world)
{
    for (int number = 0; number < h->count; number++)
        for (unsigned set = 1; set < THRUM__ARCH_SETS && h->idlers.count; set++)
            if (h->buckets[number].of_set[set])
                wake_for_row(h, world, number, set);
}

/* ---- Putting and taking ------------------------------------------------------------------------------------------ */

static void count(thrum__hetero *h, int number, int column, unsigned set, int one)
{
    thrum__bucket *bucket = &h->buckets[number];
    uint32_t *waiting = &h->waiting[(number * h->columns + column) * THRUM_ARCHS];
    bucket->of_set[set] += (uint64_t)(int64_t)one;
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (set >> arch & 1) {
            bucket->waiting[arch] += (uint64_t)(int64_t)one;
            waiting[arch] += (uint32_t)one;
        }
}

static void add(const thrum__hetero *h, thrum__list *list, thrum_job *job)
{
    if (h->first_out == THRUM__LISTS_OLDEST)
        thrum__list_append(list, job);
    else if (h->first_out == THRUM__LISTS_NEWEST)
        thrum__list_prepend(list, job);
    else
        thrum__list_add_by_priority(list, job);
}

/* Who is given as the fastest of a bucket and has no kernels for what is in it would leave no bound: that is not what
 * was meant. False: it is not so, or there is no way to say it. */
static bool refuse(const thrum_world *world, const thrum__bucket *bucket, const thrum_job *job)
{
    int fastest = bucket->given_fastest;
    if (fastest == THRUM__NO_ARCH || thrum__arch_set(job) >> fastest & 1 || !world->refuse)
        return false;
    char sentence[256];
    const char *name = thrum__arch_name((enum thrum_arch)fastest);
    snprintf(sentence, sizeof sentence,
             "'fastest.%s=%s', but codelet '%.80s' of that bucket is not for %s: an architecture that cannot run a "
             "bucket cannot be its fastest",
             bucket->name, name, job->codelet->name, name);
    world->refuse(world, job, THRUM_EOPTION, sentence);
    return true;
}

void thrum__hetero_put(thrum__hetero *h, const thrum_world *world, thrum_job *job, int column)
{
    int number = thrum__hetero_bucket(h, job);
    thrum__bucket *bucket = &h->buckets[number];
    if (refuse(world, bucket, job))
        return;
    unsigned set = thrum__hetero_able(h, world, job);
    add(h, &h->lists[number * h->columns + column].of[set], job);
    count(h, number, column, set, 1);
    bucket->pushed++;
    bucket->priorities += job->priority;
    if (set & ~bucket->archs) {
        bucket->archs |= set;
        thrum__hetero_settle(h, world);
    }
    if (h->idlers.count)
        wake_for(h, world, job, number, set, column);
}

static thrum_job *find(const thrum__hetero *h, const thrum_world *world, int worker, int number, int column,
                       unsigned *its_set)
{
    int arch = (int)world->place[worker].arch;
    const thrum__shelf *list = &h->lists[number * h->columns + column];
    thrum_job *best = NULL;
    if (!thrum__hetero_has(h, number, column, arch))
        return NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        if (!(set >> arch & 1) || !list->of[set].first || !may_take(h, &h->buckets[number], arch, set))
            continue;
        thrum_job *job = thrum__list_first_for(&list->of[set], world, worker);
        if (job && (!best || thrum__hetero_before(h, job, best))) {
            best = job;
            *its_set = set;
        }
    }
    return best;
}

const thrum_job *thrum__hetero_find(const thrum__hetero *h, const thrum_world *world, int worker, int number,
                                    int column)
{
    unsigned set = 0;
    return find(h, world, worker, number, column, &set);
}

thrum_job *thrum__hetero_take(thrum__hetero *h, const thrum_world *world, int worker, int number, int column)
{
    unsigned set = 0;
    thrum_job *job = find(h, world, worker, number, column, &set);
    if (!job)
        return NULL;
    thrum__list_remove(&h->lists[number * h->columns + column].of[set], job);
    count(h, number, column, set, -1);
    return job;
}

void thrum__hetero_popped(thrum__hetero *h, const thrum_world *world, int worker, const thrum_job *job,
                          thrum__nodes columns)
{
    thrum__idlers_popped(&h->idlers, worker, job);
    h->looks[worker] = columns;
    if (job && h->idlers.count)
        pass_on(h, world);
}

/* It was refused when it asked ahead of time: now it may look into all columns. */
static void look_again(thrum__hetero *h, const thrum_world *world, int worker)
{
    bool something = false;
    if (h->looks[worker] == THRUM__ALL_COLUMNS || world->is_ahead(world, worker))
        return;
    h->looks[worker] = THRUM__ALL_COLUMNS;
    for (int number = 0; number < h->count; number++)
        something |= h->buckets[number].waiting[world->place[worker].arch] > 0;
    if (something)
        thrum__idlers_wake(&h->idlers, world, worker);
}

/* ---- Learning ---------------------------------------------------------------------------------------------------- */

enum { SAMPLE_EVERY = 64, SAMPLES_KEPT = 64 };

/* The first few, and then some now and then. */
static bool is_sample(uint64_t done)
{
    return (done & (done - 1)) == 0 || done % SAMPLE_EVERY == 0;
}

static double expected(const thrum__hetero *h, const thrum_world *world, const thrum_job *job, int arch)
{
    for (int i = h->first[arch]; i < h->first[arch + 1]; i++)
        if (world->can_run(world, job, h->workers[i]))
            return world->seconds(world, job, h->workers[i]);
    return -1;
}

/* All architectures of the bucket, or none: what is compared must be the same work. */
static void sample(thrum__hetero *h, const thrum_world *world, thrum__bucket *bucket, const thrum_job *job)
{
    double seconds[THRUM_ARCHS] = {0};
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (bucket->archs >> arch & 1 && !((seconds[arch] = expected(h, world, job, arch)) > 0))
            return;
    bool full = bucket->samples == SAMPLES_KEPT; /* then what is old fades */
    bucket->samples = (full ? bucket->samples / 2 : bucket->samples) + 1;
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        bucket->seconds[arch] = (full ? bucket->seconds[arch] / 2 : bucket->seconds[arch]) + seconds[arch];
}

void thrum__hetero_done(thrum__hetero *h, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    thrum__idlers_done(&h->idlers, worker);
    look_again(h, world, worker);
    thrum__bucket *bucket = &h->buckets[thrum__hetero_bucket(h, job)];
    if (seconds < 0 || !is_sample(++bucket->done))
        return;
    sample(h, world, bucket, job);
    thrum__hetero_settle(h, world);
}

void thrum__hetero_report(const thrum__hetero *h, thrum_report_fn *tell, void *arg)
{
    char key[THRUM__BUCKET_NAME + 16];
    for (int i = 0; i < h->count; i++) {
        const thrum__bucket *bucket = &h->buckets[i];
        double factor = 0;
        for (int arch = 0; arch < THRUM_ARCHS; arch++)
            factor = bucket->factor[arch] > factor ? bucket->factor[arch] : factor;
        snprintf(key, sizeof key, "jobs.%s", bucket->name);
        tell(arg, key, (double)bucket->pushed);
        snprintf(key, sizeof key, "fastest.%s", bucket->name);
        tell(arg, key, bucket->fastest);
        snprintf(key, sizeof key, "factor.%s", bucket->name);
        tell(arg, key, factor);
    }
}
