/* SPDX-License-Identifier: MIT
 *
 * The radix sort for one type, see algorithm_radix.c, which includes this once for each with these defined:
 *
 *   KEY            the unsigned type of a key, as large as a value
 *   NAME(x)        x, with the type's name added
 *   ENCODE(raw)    the key of a value, whose bits are `raw`: keys are ordered as values are
 *   DECODE(key)    and back
 */

/* Keys to be sorted, in two places: where they are, and as much room beside it. */
struct NAME(part) {
    KEY *from, *other; /* other is NULL if there was no memory */
    size_t n;
    bool raw;        /* `from` holds values still, not keys; then they are to be left there */
    bool into_other; /* where the sorted values are to be */
};

/* What is known of some keys: which bits differ, and whether they are in order. */
struct NAME(survey) {
    KEY varying;
    bool sorted;
};

static inline KEY NAME(key_of)(KEY bits, bool raw)
{
    return raw ? ENCODE(bits) : bits;
}

/* Of the keys begin <= i < end, compared with their left neighbours, and with the first of all. Without a branch in it,
 * so that it can go by vectors. */
static inline struct NAME(survey) NAME(survey_as)(const struct NAME(part) * part, size_t begin, size_t end, bool raw)
{
    const KEY *from = part->from;
    KEY first = NAME(key_of)(from[0], raw), varying = 0;
    unsigned descents = 0;
    varying |= NAME(key_of)(from[begin], raw) ^ first;
    if (begin)
        descents |= NAME(key_of)(from[begin - 1], raw) > NAME(key_of)(from[begin], raw);
    for (size_t i = begin + 1; i < end; i++) {
        KEY key = NAME(key_of)(from[i], raw);
        varying |= key ^ first;
        descents |= NAME(key_of)(from[i - 1], raw) > key;
    }
    return (struct NAME(survey)){varying, !descents};
}

static struct NAME(survey) NAME(survey_range)(const struct NAME(part) * part, size_t begin, size_t end)
{
    return part->raw ? NAME(survey_as)(part, begin, end, true) : NAME(survey_as)(part, begin, end, false);
}

static void NAME(encode_all)(const struct NAME(part) * part)
{
    for (size_t i = 0; part->raw && i < part->n; i++)
        part->from[i] = ENCODE(part->from[i]);
}

/* The sorted keys are at `keys`: brings them home as values. */
static void NAME(finish)(const struct NAME(part) * part, const KEY *keys)
{
    KEY *home = part->into_other ? part->other : part->from;
    for (size_t i = 0; i < part->n; i++)
        home[i] = DECODE(keys[i]);
}

/* ---- In place, where memory is short: by one bit at a time ------------------------------------------------------- */

struct NAME(exchange) {
    KEY *keys;
    size_t n;
    unsigned bits; /* that differ, at most */
};

static void NAME(insertion)(KEY *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        KEY key = keys[i];
        size_t hole = i;
        for (; hole && keys[hole - 1] > key; hole--)
            keys[hole] = keys[hole - 1];
        keys[hole] = key;
    }
}

/* Those whose bit is not set before those whose is: how many they are. */
static size_t NAME(partition)(KEY *keys, size_t n, unsigned bit)
{
    size_t low = 0, high = n;
    for (;;) {
        while (low < high && !(keys[low] >> bit & 1))
            low++;
        while (low < high && (keys[high - 1] >> bit & 1))
            high--;
        if (low == high)
            return low;
        KEY held = keys[low];
        keys[low++] = keys[--high];
        keys[high] = held;
    }
}

static void NAME(exchange_run)(thrum_scope *up, void *arg)
{
    struct NAME(exchange) here = *(const struct NAME(exchange) *)arg, right[sizeof(KEY) * 8];
    size_t spawned = 0;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    while (here.n > INSERTION && here.bits) {
        here.bits--;
        size_t low = NAME(partition)(here.keys, here.n, here.bits);
        right[spawned] = (struct NAME(exchange)){here.keys + low, here.n - low, here.bits};
        thrum_spawn(&scope, NAME(exchange_run), &right[spawned]);
        spawned++;
        here.n = low;
    }
    if (here.bits)
        NAME(insertion)(here.keys, here.n);
    thrum_join(&scope);
}

static void NAME(sort_in_place)(thrum_scope *scope, const struct NAME(part) * part)
{
    struct NAME(exchange) all = {part->from, part->n, sizeof(KEY) * 8};
    NAME(encode_all)(part);
    NAME(exchange_run)(scope, &all);
    NAME(finish)(part, part->from);
}

/* ---- Parts that fit into a core's cache: from the lowest digit up ------------------------------------------------ */

enum { NAME(DIGITS) = sizeof(KEY) };

static void NAME(count_digits)(const struct NAME(part) * part, uint32_t counts[][256])
{
    memset(counts, 0, NAME(DIGITS) * sizeof *counts);
    for (size_t i = 0; i < part->n; i++)
        for (unsigned digit = 0; digit < NAME(DIGITS); digit++)
            counts[digit][part->from[i] >> (digit * 8) & 255]++;
}

static void NAME(deal)(const KEY *from, KEY *to, size_t n, unsigned shift, uint32_t counts[256])
{
    uint32_t begin = 0;
    for (unsigned value = 0; value < 256; value++) {
        uint32_t count = counts[value];
        counts[value] = begin;
        begin += count;
    }
    for (size_t i = 0; i < n; i++)
        to[counts[from[i] >> shift & 255]++] = from[i];
}

static void NAME(sort_by_digits)(const struct NAME(part) * part, KEY varying)
{
    uint32_t counts[NAME(DIGITS)][256];
    KEY *from = part->from, *to = part->other;
    NAME(count_digits)(part, counts);
    for (unsigned digit = 0; digit < NAME(DIGITS); digit++) {
        if (!(varying >> (digit * 8) & 255))
            continue;
        NAME(deal)(from, to, part->n, digit * 8, counts[digit]);
        KEY *swap = from;
        from = to;
        to = swap;
    }
    NAME(finish)(part, from);
}

static void NAME(sort_small)(const struct NAME(part) * part)
{
    struct NAME(survey) survey = NAME(survey_range)(part, 0, part->n);
    if (survey.sorted && part->raw)
        return;
    NAME(encode_all)(part);
    if (survey.sorted) {
        NAME(finish)(part, part->from);
    } else if (part->n <= INSERTION) {
        NAME(insertion)(part->from, part->n);
        NAME(finish)(part, part->from);
    } else {
        NAME(sort_by_digits)(part, survey.varying);
    }
}

/* ---- Larger ones: dealt out by their highest digit, in parallel -------------------------------------------------- */

static void NAME(sort)(thrum_scope *scope, const struct NAME(part) * part);

struct NAME(dealing) {
    thrum__walk walk;
    const struct NAME(part) * part;
    thrum__pieces chunks;
    struct NAME(survey) surveys[CHUNKS];
    unsigned shift, digits; /* of the digit: where it begins, and how many bits it has */
    size_t *counts;         /* for each chunk and value of the digit: how many; then where the next one goes */
};

static void NAME(survey_leaf)(thrum_scope *scope, const thrum__walk *walk, size_t chunk)
{
    struct NAME(dealing) *d = (struct NAME(dealing) *)(uintptr_t)walk;
    (void)scope;
    d->surveys[chunk] =
        NAME(survey_range)(d->part, thrum__piece_begin(d->chunks, chunk), thrum__piece_end(d->chunks, chunk));
}

static inline void NAME(count_as)(const struct NAME(dealing) * d, size_t chunk, bool raw)
{
    size_t *counts = d->counts + (chunk << d->digits), mask = ((size_t)1 << d->digits) - 1;
    const KEY *from = d->part->from;
    memset(counts, 0, (mask + 1) * sizeof *counts);
    for (size_t i = thrum__piece_begin(d->chunks, chunk), end = thrum__piece_end(d->chunks, chunk); i < end; i++)
        counts[NAME(key_of)(from[i], raw) >> d->shift & mask]++;
}

static void NAME(count_leaf)(thrum_scope *scope, const thrum__walk *walk, size_t chunk)
{
    const struct NAME(dealing) *d = (const struct NAME(dealing) *)walk;
    (void)scope;
    if (d->part->raw)
        NAME(count_as)(d, chunk, true);
    else
        NAME(count_as)(d, chunk, false);
}

static inline void NAME(deal_as)(const struct NAME(dealing) * d, size_t chunk, bool raw)
{
    size_t *counts = d->counts + (chunk << d->digits), mask = ((size_t)1 << d->digits) - 1;
    unsigned shift = d->shift;
    const KEY *from = d->part->from;
    KEY *to = d->part->other;
    for (size_t i = thrum__piece_begin(d->chunks, chunk), end = thrum__piece_end(d->chunks, chunk); i < end; i++) {
        KEY key = NAME(key_of)(from[i], raw);
        to[counts[key >> shift & mask]++] = key;
    }
}

static void NAME(deal_leaf)(thrum_scope *scope, const thrum__walk *walk, size_t chunk)
{
    const struct NAME(dealing) *d = (const struct NAME(dealing) *)walk;
    (void)scope;
    if (d->part->raw)
        NAME(deal_as)(d, chunk, true);
    else
        NAME(deal_as)(d, chunk, false);
}

/* After dealing, the last chunk's places are where each value's keys end. */
static void NAME(value_leaf)(thrum_scope *scope, const thrum__walk *walk, size_t value)
{
    const struct NAME(dealing) *d = (const struct NAME(dealing) *)walk;
    const struct NAME(part) *part = d->part;
    const size_t *ends = d->counts + ((thrum__piece_count(d->chunks) - 1) << d->digits);
    size_t begin = value ? ends[value - 1] : 0;
    struct NAME(part) dealt = {part->other + begin, part->from + begin, ends[value] - begin, false, !part->into_other};
    if (dealt.n)
        NAME(sort)(scope, &dealt);
}

/* Each chunk's keys of a value go behind those of the chunks before it. */
static void NAME(place)(const struct NAME(dealing) * d)
{
    size_t next = 0, chunks = thrum__piece_count(d->chunks);
    for (size_t value = 0; value < (size_t)1 << d->digits; value++) {
        for (size_t chunk = 0; chunk < chunks; chunk++) {
            size_t *count = &d->counts[(chunk << d->digits) + value], n = *count;
            *count = next;
            next += n;
        }
    }
}

static struct NAME(survey) NAME(survey_all)(thrum_scope *scope, struct NAME(dealing) * d)
{
    struct NAME(survey) all = {0, true};
    size_t chunks = thrum__piece_count(d->chunks);
    d->walk.leaf = NAME(survey_leaf);
    thrum__walk_pieces(scope, &d->walk, 0, chunks);
    for (size_t i = 0; i < chunks && !thrum__scope_failed(scope); i++) {
        all.varying |= d->surveys[i].varying;
        all.sorted &= d->surveys[i].sorted;
    }
    return all;
}

static void NAME(deal_and_sort)(thrum_scope *scope, struct NAME(dealing) * d)
{
    size_t chunks = thrum__piece_count(d->chunks);
    d->walk.leaf = NAME(count_leaf);
    thrum__walk_pieces(scope, &d->walk, 0, chunks);
    if (thrum__scope_failed(scope))
        return;
    NAME(place)(d);
    d->walk.leaf = NAME(deal_leaf);
    thrum__walk_pieces(scope, &d->walk, 0, chunks);
    if (thrum__scope_failed(scope))
        return;
    d->walk.leaf = NAME(value_leaf);
    thrum__walk_pieces(scope, &d->walk, 0, (size_t)1 << d->digits);
}

static void NAME(sort_large)(thrum_scope *scope, const struct NAME(part) * part)
{
    struct NAME(dealing) d = {.part = part, .chunks = chunks_of(part->n)};
    struct NAME(survey) all = NAME(survey_all)(scope, &d);
    if (thrum__scope_failed(scope) || (all.sorted && part->raw))
        return;
    if (all.sorted) {
        NAME(finish)(part, part->from);
        return;
    }
    unsigned bits = 64 - (unsigned)__builtin_clzll(all.varying);
    d.digits = digits_for(part->n, bits);
    d.shift = bits - d.digits;
    d.counts = thrum__alloc(thrum__piece_count(d.chunks) * sizeof *d.counts << d.digits);
    if (d.counts)
        NAME(deal_and_sort)(scope, &d);
    else
        NAME(sort_in_place)(scope, part);
    thrum__free(d.counts);
}

static void NAME(sort)(thrum_scope *scope, const struct NAME(part) * part)
{
    if (!part->other)
        NAME(sort_in_place)(scope, part);
    else if (part->n <= BLOCK)
        NAME(sort_small)(part);
    else
        NAME(sort_large)(scope, part);
}

static void NAME(run)(thrum_scope *scope, void *arg)
{
    const struct numbers *job = arg;
    size_t bytes = job->n * sizeof(KEY);
    if (job->n < 2)
        return;
    KEY small[64], *large = job->n <= 64 ? NULL : thrum__array(bytes);
    struct NAME(part) all = {job->base, job->n <= 64 ? small : large, job->n, true, false};
    NAME(sort)(scope, &all);
    if (large)
        thrum__array_free(large, bytes);
}

#undef KEY
#undef NAME
#undef ENCODE
#undef DECODE
