/* SPDX-License-Identifier: MIT
 *
 * Who is the fastest in a bucket, by how much, and in which order architectures look into buckets: by settings, else by
 * what has been measured.
 */
#include "sched/hetero.h"

#include "base/device_list.h"
#include "base/fault.h"
#include "model/arch.h"
#include "sched/policy_settings.h"

#include <stdio.h>
#include <string.h>

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static int read_arch(const char *key, const char *name, int *arch)
{
    *arch = thrum__arch_named(name);
    if (*arch >= 0)
        return 0;
    return thrum__fault(THRUM_EOPTION, "'%s': there is no architecture '%.60s'; there are: cpu, emu", key, name);
}

static int read_bucket(thrum__hetero *h, const char *key, const char *name, int *bucket)
{
    if (!*name || strlen(name) >= THRUM__BUCKET_NAME)
        return thrum__fault(THRUM_EOPTION, "'%s': '%.60s' cannot be a bucket: that is a number or a codelet's name",
                            key, name);
    *bucket = thrum__hetero_named(h, name);
    return 0;
}

/* "2,0,1" */
static int read_order(thrum__hetero *h, const char *key, const char *arch_name, char *list)
{
    int arch = 0, bucket = 0, err = read_arch(key, arch_name, &arch);
    for (int place = 0; !err && list; place++) {
        char *comma = strchr(list, ',');
        if (comma)
            *comma = '\0';
        err = read_bucket(h, key, list, &bucket);
        if (!err && h->buckets[bucket].given_place[arch] >= 0)
            err = thrum__fault(THRUM_EOPTION, "'%s': the bucket '%s' is in the order twice", key, list);
        if (!err) {
            h->buckets[bucket].given_place[arch] = place;
            h->given_order[arch] = true;
        }
        list = comma ? comma + 1 : NULL;
    }
    return err;
}

static int read_lists(thrum__hetero *h, const char *value)
{
    static const char *const names[] = {
        [THRUM__LISTS_OLDEST] = "oldest", [THRUM__LISTS_NEWEST] = "newest", [THRUM__LISTS_PRIORITY] = "priority"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(value, names[i]) == 0) {
            h->first_out = (enum thrum__lists)i;
            return 0;
        }
    return thrum__fault(
        THRUM_EOPTION, "'lists=%.60s': what is taken first out of a list can be the oldest, the newest, or by priority",
        value);
}

static int read_one(thrum__hetero *h, thrum__setting *setting)
{
    const char *behind = strchr(setting->key, '.');
    int bucket = 0;
    if (strcmp(setting->key, "lists") == 0)
        return read_lists(h, setting->value);
    if (!behind)
        return 0; /* those of laheteroprio */
    if (strncmp(setting->key, "order.", 6) == 0)
        return read_order(h, setting->key, behind + 1, setting->value);
    int err = read_bucket(h, setting->key, behind + 1, &bucket);
    if (err)
        return err;
    if (strncmp(setting->key, "factor.", 7) == 0)
        return thrum__setting_number(setting->key, setting->value, 0, 1e6, &h->buckets[bucket].given_factor);
    return read_arch(setting->key, setting->value, &h->buckets[bucket].given_fastest);
}

/* Who has an order has all its buckets in it that it can run: one that is left out and said to be the fastest there
 * would let the others wait for nobody. */
static int check_fastest(const thrum__hetero *h)
{
    for (int i = 0; i < h->count; i++) {
        int fastest = h->buckets[i].given_fastest;
        if (fastest == THRUM__NO_ARCH || !h->given_order[fastest] || h->buckets[i].given_place[fastest] >= 0)
            continue;
        const char *name = thrum__arch_name((enum thrum_arch)fastest);
        return thrum__fault(
            THRUM_EOPTION,
            "'fastest.%s=%s', but order.%s leaves the bucket '%s' out: an architecture that cannot run a "
            "bucket cannot be its fastest",
            h->buckets[i].name, name, name, h->buckets[i].name);
    }
    return 0;
}

int thrum__hetero_read(thrum__hetero *h, const thrum_world *world)
{
    thrum__setting setting;
    const char *rest = world->settings;
    int err = 0;
    while (!err && thrum__setting_next(&rest, &setting, &err))
        err = read_one(h, &setting);
    return err ? err : check_fastest(h);
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

static int quickest(const thrum__bucket *bucket)
{
    int best = THRUM__NO_ARCH;
    for (int arch = 0; bucket->samples && arch < THRUM_ARCHS; arch++)
        if (bucket->archs >> arch & 1 && (best == THRUM__NO_ARCH || bucket->seconds[arch] < bucket->seconds[best]))
            best = arch;
    return best;
}

/* True: another one is the fastest now. What was given and not measured counts as once as fast. */
static bool settle_bound(thrum__bucket *bucket)
{
    int before = bucket->fastest;
    bucket->fastest = bucket->given_fastest != THRUM__NO_ARCH ? bucket->given_fastest : quickest(bucket);
    for (int arch = 0; arch < THRUM_ARCHS; arch++) {
        bool other = bucket->fastest != THRUM__NO_ARCH && arch != bucket->fastest;
        bool measured = bucket->samples && other && bucket->seconds[bucket->fastest] > 0 && bucket->seconds[arch] > 0;
        bucket->factor[arch] = !other                      ? 0
                               : bucket->given_factor >= 0 ? bucket->given_factor
                               : measured                  ? bucket->seconds[arch] / bucket->seconds[bucket->fastest]
                                                           : 1;
    }
    return bucket->fastest != before;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */

/* How many times as long the best of the others would need; infinite if there is nobody else. */
static double advantage(const thrum__bucket *bucket, int arch)
{
    double best = 0;
    if (bucket->archs == 1u << arch)
        return 1e300;
    if (!bucket->samples || !(bucket->seconds[arch] > 0))
        return 1;
    for (int other = 0; other < THRUM_ARCHS; other++)
        if (other != arch && bucket->archs >> other & 1 && (best == 0 || bucket->seconds[other] < best))
            best = bucket->seconds[other];
    return best / bucket->seconds[arch];
}

static double mean_priority(const thrum__bucket *bucket)
{
    return bucket->pushed ? bucket->priorities / (double)bucket->pushed : 0;
}

static bool comes_first(const thrum__hetero *h, int a, int b, int arch)
{
    const thrum__bucket *x = &h->buckets[a], *y = &h->buckets[b];
    int place_x = x->given_place[arch], place_y = y->given_place[arch];
    if (place_x >= 0 || place_y >= 0)
        return place_x >= 0 && (place_y < 0 || place_x < place_y);
    double of_x = advantage(x, arch), of_y = advantage(y, arch);
    if (of_x != of_y)
        return of_x > of_y;
    if (mean_priority(x) != mean_priority(y))
        return mean_priority(x) > mean_priority(y);
    return a < b;
}

/* The buckets that the architecture can run, or is said to. True: they are not the same as before. */
static bool settle_order(thrum__hetero *h, int arch)
{
    int order[THRUM__BUCKETS], count = 0;
    for (int number = 0; number < h->count; number++) {
        const thrum__bucket *bucket = &h->buckets[number];
        if (!(bucket->archs >> arch & 1) && bucket->given_place[arch] < 0)
            continue;
        int at = count++;
        for (; at > 0 && comes_first(h, number, order[at - 1], arch); at--)
            order[at] = order[at - 1];
        order[at] = number;
    }
    size_t bytes = (size_t)count * sizeof *order;
    if (count == h->order_count[arch] && memcmp(order, h->order[arch], bytes) == 0)
        return false;
    memcpy(h->order[arch], order, bytes);
    h->order_count[arch] = count;
    return true;
}

void thrum__hetero_settle(thrum__hetero *h, const thrum_world *world)
{
    unsigned newly_entitled = 0;
    bool moved = false;
    for (int number = 0; number < h->count; number++)
        if (settle_bound(&h->buckets[number]) && h->buckets[number].fastest != THRUM__NO_ARCH)
            newly_entitled |= 1u << h->buckets[number].fastest;
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        moved |= settle_order(h, arch);
    h->version += moved;
    for (int worker = 0; newly_entitled && worker < world->workers; worker++)
        if (newly_entitled >> world->place[worker].arch & 1)
            thrum__idlers_wake(&h->idlers, world, worker);
}
