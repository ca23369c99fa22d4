/* SPDX-License-Identifier: MIT
 *
 * The memory of a flow's jobs. Workers say that a job has ended by one store into it; whoever inserts looks there,
 * oldest chunks first, when it wants to know how many are open or needs a chunk. Nothing is counted per job that two
 * threads would write.
 */
#include "front/flow_int.h"

#include "base/alloc.h"

enum { FIRST_BYTES = 1 << 12, CHUNK_BYTES = 1 << 16, FREE_MOST = 64, SOON_BYTES = 1 << 13 };

static thrum__job *job_at(thrum__job_chunk *chunk, size_t offset)
{
    return (thrum__job *)(chunk->room + offset);
}

/* Acquire, with the release in thrum__flow_ended: whoever ended it has read it for the last time. */
static bool has_ended(const thrum__job *job)
{
    return atomic_load_explicit(&job->ended, memory_order_acquire);
}

static void look_at(thrum__job_store *store, thrum__job_chunk *chunk)
{
    size_t seen = chunk->seen, used = chunk->used, ended = 0;
    for (; seen < used && has_ended(job_at(chunk, seen)); ended++)
        seen += thrum__job_size(job_at(chunk, seen));
    chunk->seen = seen;
    store->open -= ended;
}

void thrum__store_look(thrum__job_store *store)
{
    for (thrum__job_chunk *chunk = store->oldest; chunk; chunk = chunk->next)
        look_at(store, chunk);
}

/* ---- Chunks ------------------------------------------------------------------------------------------------------ */

static void chunk_forget(thrum__job_chunk *chunk)
{
    for (size_t at = 0; at < chunk->used; at += thrum__job_size(job_at(chunk, at)))
        thrum__order_forget(job_at(chunk, at));
    chunk->used = chunk->seen = 0;
}

static void chunk_put_away(thrum__job_store *store, thrum__job_chunk *chunk)
{
    if (chunk->size != CHUNK_BYTES || store->free_count >= FREE_MOST) {
        thrum__free(chunk);
        return;
    }
    chunk->next = store->free;
    store->free = chunk;
    store->free_count++;
}

static bool is_done(const thrum__job_chunk *chunk)
{
    return chunk->seen == chunk->used;
}

/* Chunks whose jobs have all ended leave the list, wherever they are in it: one job that takes long does not hold up
 * the rest. */
static void sweep(thrum__job_store *store)
{
    thrum__job_chunk **at = &store->oldest, *last = NULL;
    while (*at) {
        thrum__job_chunk *chunk = *at;
        look_at(store, chunk);
        if (chunk != store->newest && is_done(chunk)) {
            *at = chunk->next;
            chunk_forget(chunk);
            chunk_put_away(store, chunk);
        } else {
            last = chunk;
            at = &chunk->next;
        }
    }
    store->newest = last;
}

static thrum__job_chunk *chunk_new(thrum__job_store *store, size_t size)
{
    thrum__job_chunk *chunk = size == CHUNK_BYTES ? store->free : NULL;
    if (chunk) {
        store->free = chunk->next;
        store->free_count--;
    } else {
        chunk = thrum__alloc_aligned(sizeof *chunk + size);
    }
    if (!chunk)
        return NULL;
    chunk->next = NULL;
    chunk->size = chunk->limit = size;
    chunk->used = chunk->seen = 0;
    return chunk;
}

/* Small jobs have often ended by now: then the same memory, which is in the core's first cache still, is used from its
 * beginning again. */
void thrum__store_may_rest(thrum__job_store *store)
{
    if (store->newest && store->newest->used >= SOON_BYTES)
        store->newest->limit = 0;
}

static bool rests(thrum__job_store *store, size_t bytes)
{
    thrum__job_chunk *chunk = store->newest;
    if (!chunk || chunk->limit == chunk->size)
        return false;
    chunk->limit = chunk->size;
    look_at(store, chunk);
    if (is_done(chunk))
        chunk_forget(chunk);
    return chunk->size - chunk->used >= bytes;
}

static bool add_chunk(thrum__job_store *store, size_t bytes)
{
    if (rests(store, bytes))
        return true;
    sweep(store);
    if (store->newest && is_done(store->newest) && store->newest->size >= bytes) {
        chunk_forget(store->newest);
        return true;
    }
    size_t usual = store->newest || store->free ? CHUNK_BYTES : FIRST_BYTES; /* many flows have few jobs */
    thrum__job_chunk *chunk = chunk_new(store, bytes > usual ? bytes : usual);
    if (!chunk)
        return false;
    if (store->newest)
        store->newest->next = chunk;
    else
        store->oldest = chunk;
    store->newest = chunk;
    return true;
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

thrum__job *thrum__store_reserve_more(thrum__job_store *store, size_t bytes)
{
    return add_chunk(store, bytes) ? job_at(store->newest, store->newest->used) : NULL;
}

void thrum__store_clear(thrum__job_store *store, bool all)
{
    while (store->oldest) {
        thrum__job_chunk *chunk = store->oldest;
        store->oldest = chunk->next;
        chunk_forget(chunk);
        chunk_put_away(store, chunk);
    }
    store->newest = NULL;
    store->open = 0;
    while (all && store->free) {
        thrum__job_chunk *next = store->free->next;
        thrum__free(store->free);
        store->free = next;
        store->free_count--;
    }
}
