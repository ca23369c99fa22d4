/* SPDX-License-Identifier: MIT
 *
 * Events: tasks that are not complete when their function has returned.
 *
 * Roles
 *   The worker that calls an event task's function makes a *hold*: what has to happen before the task is complete, as a
 *   number. One for the function itself, one for each event. Each event is a *slot* with a number that is odd while the
 *   event is held; releasing it moves the number on, by compare-and-swap, so only one release succeeds. Slots are
 *   used again but never freed, so a release that comes too late finds a number that has moved on.
 *
 *   Whoever lowers the hold to zero completes the task. If that is the worker, when its function has returned, it goes
 *   on as behind any other task. If it is somebody else, the worker has left a strand in the run (as modules do), and
 *   the hold is posted to the first domain: the worker that finds it goes on with that strand.
 *
 * Orders: lowering is a release, and the last lowering an acquire: what everybody did before releasing an event happens
 * before the task's successors.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"

typedef struct hold {
    thrum__post post; /* first: posted with it */
    _Atomic uint32_t missing;
    thrum_executor *ex;
    thrum__root *root;
} hold;

struct thrum__event_slot {
    _Atomic uint64_t number; /* odd: held */
    hold *hold;              /* constant while held */
    struct thrum__event_slot *next_free;
};

enum { SLOTS_AT_ONCE = 64 };

static thrum__lock slots_lock;
static struct thrum__event_slot *free_slots;

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static void slots_add_locked(void)
{
    struct thrum__event_slot *slots = thrum__zalloc(SLOTS_AT_ONCE * sizeof *slots);
    for (int i = 0; slots && i < SLOTS_AT_ONCE; i++) {
        slots[i].next_free = free_slots;
        free_slots = &slots[i];
    }
}

static void slot_give(struct thrum__event_slot *slot)
{
    thrum__lock_take(&slots_lock);
    slot->next_free = free_slots;
    free_slots = slot;
    thrum__lock_give(&slots_lock);
}

/* An event of this hold, which counts it already. All zeros without memory. */
static thrum_event slot_take(hold *h)
{
    thrum__lock_take(&slots_lock);
    if (!free_slots)
        slots_add_locked();
    struct thrum__event_slot *slot = free_slots;
    if (slot)
        free_slots = slot->next_free;
    thrum__lock_give(&slots_lock);
    if (!slot)
        return (thrum_event){NULL, 0};
    slot->hold = h;
    uint64_t number = atomic_load_explicit(&slot->number, memory_order_relaxed) + 1;
    /* Relaxed: others come by the number through the event, which the caller hands on. */
    atomic_store_explicit(&slot->number, number, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->ex->held, 1, memory_order_seq_cst);
    return (thrum_event){slot, number};
}

/* ---- The task's side --------------------------------------------------------------------------------------------- */

static hold *hold_new(worker *w, thrum__run *run, thrum_task *task, thrum_event *event)
{
    hold *h = thrum__alloc(sizeof *h);
    if (!h)
        return NULL;
    *h = (hold){.post = {.run = run, .task = task, .completed = true, .owned = true}, .ex = w->ex, .root = run->root};
    atomic_init(&h->missing, 2);
    *event = slot_take(h);
    if (event->slot)
        return h;
    thrum__free(h);
    return NULL;
}

bool thrum__event_call(worker *w, thrum__run *run, thrum_task *task)
{
    thrum_event event;
    hold *h = hold_new(w, run, task, &event);
    if (!h) {
        thrum__root_fail(run->root, THRUM_ENOMEM, "no memory for an event");
        return true;
    }
    /* A source may have to be looked at from now on: as after a push. */
    if (atomic_load_explicit(&w->ex->source_count, memory_order_relaxed))
        thrum__wake(&w->ex->cpu.workers[0]->spawn);
    task->fn.event(event, task->arg);
    if (atomic_load_explicit(&h->missing, memory_order_acquire) != 1) {
        thrum__keep_strand(w, run);
        if (atomic_fetch_sub_explicit(&h->missing, 1, memory_order_acq_rel) != 1)
            return false;
        atomic_fetch_sub_explicit(&run->strands, 1, memory_order_relaxed); /* its own is still there */
    }
    thrum__free(h);
    return true;
}

/* ---- The others' side -------------------------------------------------------------------------------------------- */

static bool is_held(thrum_event event)
{
    return event.slot && atomic_load_explicit(&event.slot->number, memory_order_relaxed) == event.number;
}

static int not_held(const char *what, thrum_event event)
{
    if (!event.slot)
        return thrum__fault(THRUM_EEVENT, "%s: this is no event (all zeros)", what);
    return thrum__fault(THRUM_EEVENT, "%s: the event has been released before", what);
}

thrum_event thrum_event_hold(thrum_event event)
{
    if (!is_held(event)) {
        not_held("thrum_event_hold", event);
        return (thrum_event){NULL, 0};
    }
    hold *h = event.slot->hold;
    /* Relaxed: the given event keeps it from zero. */
    atomic_fetch_add_explicit(&h->missing, 1, memory_order_relaxed);
    thrum_event more = slot_take(h);
    if (!more.slot) {
        atomic_fetch_sub_explicit(&h->missing, 1, memory_order_relaxed);
        thrum__fault(THRUM_ENOMEM, "thrum_event_hold: no memory for an event");
    }
    return more;
}

/* The event is no longer held: its hold, to be lowered. NULL: it was not. */
static hold *take_hold(thrum_event event)
{
    uint64_t number = event.number;
    if (!event.slot || !atomic_compare_exchange_strong_explicit(&event.slot->number, &number, number + 1,
                                                                memory_order_relaxed, memory_order_relaxed))
        return NULL;
    hold *h = event.slot->hold;
    slot_give(event.slot);
    return h;
}

/* From the lowering of `held` on, and before the hold is lowered, the run keeps the executor. */
static void lower(hold *h)
{
    atomic_fetch_sub_explicit(&h->ex->held, 1, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&h->missing, 1, memory_order_acq_rel) != 1)
        return;
    thrum__post_put(&h->ex->cpu, thrum__priority_of(h->post.task) > 0 ? POST_HIGH : POST_NORMAL, &h->post);
}

int thrum_event_release(thrum_event event)
{
    hold *h = take_hold(event);
    if (!h)
        return not_held("thrum_event_release", event);
    lower(h);
    return 0;
}

int thrum_event_fail(thrum_event event, int code, const char *format, ...)
{
    hold *h = take_hold(event);
    if (!h)
        return not_held("thrum_event_fail", event);
    va_list args;
    va_start(args, format);
    thrum__vfault(code ? code : THRUM_EINVAL, format ? format : "", args);
    va_end(args);
    thrum__root_fail(h->root, thrum__last_code(), thrum__last_fault());
    lower(h);
    return 0;
}
