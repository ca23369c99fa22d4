/* SPDX-License-Identifier: MIT
 *
 * Who is on which core (src/exec/cores.c): with records of workers that the test makes up, and with those of an
 * executor.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "exec/exec_int.h"
#include "sys/clock.h"
#include "sys/sleep.h"

#include <sched.h>
#include <semaphore.h>

static cpu_set_t allowed;

static void ask_allowed(void)
{
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        skip();
}

static void stay_on(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void stay_anywhere(void)
{
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

static int marks(const domain *d)
{
    int sum = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        sum += atomic_load(&d->map.busy[cpu]);
    return sum;
}

/* ---- Made up ----------------------------------------------------------------------------------------------------- */

static worker *made_up(domain *d)
{
    worker *w = thrum__zalloc_aligned(sizeof *w);
    assert_non_null(w);
    w->domain = d;
    w->cpu = w->slept_on = -1;
    return w;
}

static domain *made_up_domain(bool known)
{
    domain *d = thrum__zalloc_aligned(sizeof *d);
    assert_non_null(d);
    thrum__core_map_set(d, known);
    return d;
}

TEST(whoever_takes_up_work_leaves_a_core_that_is_taken)
{
    ask_allowed();
    domain *d = made_up_domain(true);
    worker *a = made_up(d), *b = made_up(d);
    int before = sched_getcpu();
    stay_on(before);
    thrum__core_mark(a);
    assert_int_equal(a->cpu, before);
    thrum__core_take(b); /* it may not be elsewhere */
    assert_int_equal(b->cpu, before);
    assert_int_equal(atomic_load(&d->map.busy[before]), 2);
    stay_anywhere();
    thrum__core_take(b);
    assert_int_not_equal(b->cpu, before);
    assert_int_equal(atomic_load(&d->map.busy[before]), 1);
    assert_int_equal(atomic_load(&d->map.busy[b->cpu]), 1);
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&after, &allowed));
    thrum__core_leave(a);
    thrum__core_leave(b);
    thrum__core_leave(b);
    assert_int_equal(marks(d), 0);
    thrum__free(a);
    thrum__free(b);
    thrum__free(d);
}

TEST(where_nobody_asks_nothing_is_marked)
{
    domain *d = made_up_domain(false);
    worker *w = made_up(d);
    thrum__core_take(w);
    thrum__core_sleep(w);
    thrum__core_wake(w);
    thrum__core_woken(w);
    assert_int_equal(w->cpu, -1);
    assert_int_equal(marks(d), 0);
    thrum__free(w);
    thrum__free(d);
}

struct sleeper {
    worker *w;
    int cpu; /* where it falls asleep */
    sem_t asleep, awake;
    cpu_set_t after;
};

static void *sleep_and_wake(void *arg)
{
    struct sleeper *s = arg;
    stay_on(s->cpu);
    thrum__core_mark(s->w);
    thrum__core_sleep(s->w);
    stay_anywhere();
    sem_post(&s->asleep);
    while (sem_wait(&s->awake) != 0)
        continue;
    thrum__core_woken(s->w);
    sched_getaffinity(0, sizeof s->after, &s->after);
    thrum__core_leave(s->w);
    return NULL;
}

/* The test stays on the core `here`; the sleeper has fallen asleep there, or elsewhere. */
struct bedroom {
    domain *d;
    int here;
    struct sleeper sleeper;
    pthread_t thread;
};

static int another_core(int but)
{
    int cpu = 0;
    while (cpu == but || !CPU_ISSET((size_t)cpu, &allowed))
        cpu++;
    return cpu;
}

static worker *fall_asleep(struct bedroom *room, bool elsewhere)
{
    ask_allowed();
    room->d = made_up_domain(true);
    room->here = sched_getcpu();
    stay_on(room->here);
    struct sleeper *s = &room->sleeper;
    *s = (struct sleeper){.w = made_up(room->d), .cpu = elsewhere ? another_core(room->here) : room->here};
    sem_init(&s->asleep, 0, 0);
    sem_init(&s->awake, 0, 0);
    assert_int_equal(pthread_create(&room->thread, NULL, sleep_and_wake, s), 0);
    while (sem_wait(&s->asleep) != 0)
        continue;
    assert_int_equal(marks(room->d), 0);
    return s->w;
}

static void wake_up(struct bedroom *room, int marks_after)
{
    struct sleeper *s = &room->sleeper;
    sem_post(&s->awake);
    pthread_join(room->thread, NULL);
    assert_true(CPU_EQUAL(&s->after, &allowed)); /* it is bound to nothing */
    assert_false(s->w->sent);
    assert_int_equal(marks(room->d), marks_after);
    thrum__free(s->w);
    sem_destroy(&s->asleep);
    sem_destroy(&s->awake);
    stay_anywhere();
    thrum__free(room->d);
}

TEST(whoever_fell_asleep_where_the_waker_is_is_sent_elsewhere)
{
    struct bedroom room;
    worker *w = fall_asleep(&room, false);
    thrum__core_wake(w);
    assert_true(w->sent);
    assert_int_not_equal(w->cpu, room.here);
    assert_int_equal(atomic_load(&room.d->map.busy[w->cpu]), 1);
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(w->system_id, sizeof now, &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET((size_t)w->cpu, &now));
    wake_up(&room, 0);
}

TEST(whoever_fell_asleep_on_a_free_core_is_left_there)
{
    struct bedroom room;
    worker *w = fall_asleep(&room, true);
    thrum__core_wake(w);
    assert_false(w->sent);
    assert_int_equal(w->cpu, room.sleeper.cpu);
    wake_up(&room, 0);
}

TEST(nobody_is_sent_where_all_cores_are_taken)
{
    struct bedroom room;
    worker *w = fall_asleep(&room, false);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        atomic_store(&room.d->map.busy[cpu], 1);
    thrum__core_wake(w);
    assert_false(w->sent);
    assert_int_equal(w->cpu, room.here);
    wake_up(&room, CPU_SETSIZE);
}

/* ---- An executor's ----------------------------------------------------------------------------------------------- */

static void spend(int64_t ns)
{
    int64_t until = thrum__now() + ns;
    while (thrum__now() < until)
        continue;
}

static void run_body(const thrum_buffer *b, const void *arg)
{
    *(long *)b[0].ptr += 1;
    spend(*(const int *)arg);
}

static const thrum_codelet body = {.name = "body", .cpu = run_body};

/* They say so before they do. */
static void await_sleep(const domain *d)
{
    for (int i = 0; i < d->own; i++)
        while (!atomic_load(&d->workers[i]->asleep))
            sched_yield();
    for (int64_t until = thrum__now() + 2000000000; marks(d) != 0 && thrum__now() < until;)
        sched_yield();
}

TEST(when_all_sleep_nobody_is_marked)
{
    enum { CELLS = 8, TASKS = 200 };
    thrum_executor *ex = executor_with(2);
    thrum_flow *flow = thrum_flow_new(ex);
    long cells[CELLS] = {0}, sum = 0;
    thrum_data *data[CELLS];
    for (int i = 0; i < CELLS; i++)
        data[i] = thrum_data_variable(ex, &cells[i], sizeof(long));
    int lengths[] = {500, 10000, 100000};
    for (int round = 0; round < 9; round++) {
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(thrum_insert(flow, &body, THRUM_RW(data[i % CELLS]), THRUM_ARG(lengths[round % 3])), 0);
        if (round % 2)
            thrum__sleep_ns(2000000); /* the lender of the seat takes its place back */
        assert_int_equal(thrum_flow_wait(flow), 0);
        await_sleep(&ex->cpu);
        assert_int_equal(marks(&ex->cpu), 0);
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    for (int i = 0; i < CELLS; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        sum += cells[i];
    }
    assert_int_equal(sum, 9 * TASKS);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_takes_up_work_leaves_a_core_that_is_taken),
        cmocka_unit_test(where_nobody_asks_nothing_is_marked),
        cmocka_unit_test(whoever_fell_asleep_where_the_waker_is_is_sent_elsewhere),
        cmocka_unit_test(whoever_fell_asleep_on_a_free_core_is_left_there),
        cmocka_unit_test(nobody_is_sent_where_all_cores_are_taken),
        cmocka_unit_test(when_all_sleep_nobody_is_marked),
    };
    return RUN_TESTS(tests, 30);
}
