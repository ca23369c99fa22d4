/* SPDX-License-Identifier: MIT
 *
 * A link carries one copy after the other. When a copy is queued it is known when a link of the set speed would be
 * through with it: its own time after the later of now and the end of what is queued already. Its thread copies, and
 * then sleeps until that moment. So a thread that wakes late delays what it carries, but not the copies that follow.
 */
#include "device/emu_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sys/clock.h"
#include "sys/sleep.h"

#include <string.h>

/* ---- Copying ----------------------------------------------------------------------------------------------------- */

static void copy_plane(char *to, const char *from, const thrum_copy *copy)
{
    if (copy->rows == 1 || (copy->to_row == copy->bytes && copy->from_row == copy->bytes)) {
        memcpy(to, from, copy->rows * copy->bytes);
        return;
    }
    for (size_t row = 0; row < copy->rows; row++)
        memcpy(to + row * copy->to_row, from + row * copy->from_row, copy->bytes);
}

static void copy_all(const thrum_copy *copy)
{
    for (size_t plane = 0; plane < copy->planes; plane++)
        copy_plane((char *)copy->to + plane * copy->to_plane, (const char *)copy->from + plane * copy->from_plane,
                   copy);
}

/* A device that breaks takes what is on its links with it. */
static int check_ends(const thrum_device *device, const thrum_copy *copy)
{
    int err = thrum__emu_check(device);
    if (!err && copy->direction == THRUM_COPY_ACROSS)
        err = thrum__emu_check(copy->from_device);
    return err;
}

static void carry_out(const thrum_device *device, emu_request *request)
{
    if (!device->settings.timing && check_ends(device, &request->copy) == 0)
        copy_all(&request->copy);
    thrum__sleep_until(request->finish);
    thrum_done_fn *done = request->done;
    void *ctx = request->ctx;
    int err = check_ends(device, &request->copy);
    thrum__free(request); /* whoever waits for `done` may look for leaks right after it */
    done(ctx, err);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* The next one in line; NULL: the link is being closed. The parker holds a token from every queueing, so that what
 * comes between looking and parking is not slept through. */
static emu_request *take(emu_link *link)
{
    for (;;) {
        thrum__lock_take(&link->lock);
        emu_request *request = link->first;
        bool closing = link->closing;
        if (request && !(link->first = request->next))
            link->last = &link->first;
        thrum__lock_give(&link->lock);
        if (request || closing)
            return request;
        thrum__park(&link->parker);
    }
}

static void *serve(void *arg)
{
    emu_link *link = arg;
    for (emu_request *request; (request = take(link));)
        carry_out(link->device, request);
    return NULL;
}

int thrum__emu_link_open(emu_link *link, thrum_device *device)
{
    link->device = device;
    link->last = &link->first;
    int err = pthread_create(&link->thread, NULL, serve, link);
    return err ? thrum__fault(THRUM_ESYSTEM, "no thread for a link of emu %d: %s", device->number, strerror(err)) : 0;
}

void thrum__emu_link_close(emu_link *link)
{
    thrum__lock_take(&link->lock);
    link->closing = true;
    thrum__lock_give(&link->lock);
    thrum__unpark(&link->parker);
    pthread_join(link->thread, NULL);
}

/* ---- Queueing ---------------------------------------------------------------------------------------------------- */

static int64_t finish_locked(emu_link *link, double seconds)
{
    int64_t now = thrum__now();
    link->free_at = thrum__moment_after(link->free_at > now ? link->free_at : now, seconds);
    return link->free_at;
}

int thrum__emu_link_carry(emu_link *link, const thrum_copy *copy, double seconds, thrum_done_fn *done, void *ctx)
{
    emu_request *request = thrum__alloc(sizeof *request);
    if (!request)
        return thrum__fault(THRUM_ENOMEM, "no memory to queue a copy of emu %d", link->device->number);
    *request = (emu_request){.copy = *copy, .done = done, .ctx = ctx};
    thrum__lock_take(&link->lock);
    request->finish = finish_locked(link, seconds);
    *link->last = request;
    link->last = &request->next;
    thrum__lock_give(&link->lock);
    thrum__unpark(&link->parker);
    return 0;
}
