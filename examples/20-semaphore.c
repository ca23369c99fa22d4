/* SPDX-License-Identifier: MIT
 *
 * Semaphores: at most two tasks use the printer at once, and a region of two tasks has the till to itself.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>

enum { CUSTOMERS = 20 };

static atomic_int printing, most_printing;
static int till; /* a plain number: only who has the token touches it */

static void print_receipt(void *arg)
{
    (void)arg;
    int now = atomic_fetch_add(&printing, 1) + 1, most = atomic_load(&most_printing);
    while (now > most && !atomic_compare_exchange_weak(&most_printing, &most, now))
        ;
    atomic_fetch_sub(&printing, 1);
}

static void open_till(void *arg)
{
    (void)arg;
    till++;
}

static void close_till(void *arg)
{
    (void)arg;
    till++;
}

int main(void)
{
    thrum_semaphore *printers = thrum_semaphore_new("printers", 2), *key = thrum_semaphore_new("key of the till", 1);
    thrum_graph *g = thrum_graph_new("shop");
    for (int i = 0; i < CUSTOMERS; i++) {
        thrum_task *opens = thrum_task_new(g, open_till, NULL), *closes = thrum_task_new(g, close_till, NULL);
        thrum_task *prints = thrum_task_new(g, print_receipt, NULL);
        thrum_precede(opens, closes);
        thrum_precede(closes, prints);
        thrum_task_acquire(opens, key);  /* from here ... */
        thrum_task_release(closes, key); /* ... to here nobody else is at the till */
        thrum_task_acquire(prints, printers);
        thrum_task_release(prints, printers);
    }
    int err = thrum_run(NULL, g);
    if (err)
        fprintf(stderr, "%s\n", thrum_message(g));
    printf("till used %d times; at most two printed at once: %s\n", till,
           atomic_load(&most_printing) <= 2 ? "yes" : "no");
    thrum_graph_free(g);
    thrum_semaphore_free(printers);
    thrum_semaphore_free(key);
    return err != 0 || till != 2 * CUSTOMERS || atomic_load(&most_printing) > 2;
}
