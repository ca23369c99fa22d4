/* SPDX-License-Identifier: MIT
 *
 * Single functions without a graph: submitted with a handle, or sent off and waited for all together.
 */
#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdio.h>

static atomic_int letters;

static void answer(void *number)
{
    *(int *)number = 42;
}

static void post(void *arg)
{
    (void)arg;
    atomic_fetch_add(&letters, 1);
}

int main(void)
{
    int number = 0;
    thrum_handle *handle = thrum_submit(NULL, answer, &number);
    int err = handle ? thrum_wait(handle) : THRUM_ENOMEM;
    thrum_release(handle);

    for (int i = 0; i < 100 && !err; i++)
        err = thrum_async(NULL, post, NULL); /* no handle: nobody asks for this one */
    if (!err)
        err = thrum_executor_wait(NULL); /* all of them have ended */

    if (err)
        fprintf(stderr, "async: %s\n", thrum_message(NULL));
    printf("the answer is %d, %d letters posted\n", number, (int)letters);
    return err != 0 || number != 42 || letters != 100;
}
