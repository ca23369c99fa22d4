/* SPDX-License-Identifier: MIT
 *
 * Scopes: a function spawns one half of its work, does the other half itself, and joins.
 */
#include <thrum/thrum.h>

#include <stdio.h>

struct fib {
    int n;
    long value;
};

static void fib(thrum_scope *up, void *arg)
{
    struct fib *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    struct fib x = {f->n - 1, 0}, y = {f->n - 2, 0};
    thrum_scope s;
    thrum_scope_open(&s, up);
    thrum_spawn(&s, fib, &x); /* may run on another worker */
    fib(&s, &y);              /* runs here */
    thrum_join(&s);           /* waits for x, and only for x */
    f->value = x.value + y.value;
}

int main(void)
{
    struct fib f = {27, 0};
    int err = thrum_scope_run(NULL, fib, &f);
    if (err)
        fprintf(stderr, "fib: %s\n", thrum_message(NULL));
    printf("fib(%d) = %ld\n", f.n, f.value);
    return err != 0 || f.value != 196418;
}
