/* SPDX-License-Identifier: MIT
 *
 * Recording: a flow becomes a graph once, and the graph runs as often as wanted, without finding the order out again.
 * Handles of the recording can be exchanged for others: here the same steps run on two accounts.
 */
#include <thrum/thrum.h>

#include <stdio.h>

static void pay_in(const thrum_buffer *b, const void *arg)
{
    *(double *)b->ptr += *(const double *)arg;
}

static void add_interest(const thrum_buffer *b, const void *arg) /* a hundredth of the first to the second */
{
    (void)arg;
    *(double *)b[1].ptr += *(double *)b[0].ptr / 100;
}

static const thrum_codelet pay_in_codelet = {.name = "pay in", .cpu = pay_in};
static const thrum_codelet interest_codelet = {.name = "interest", .cpu = add_interest};

int main(void)
{
    double mine = 0, yours = 1000, interest = 0, amount = 100;
    thrum_data *account = thrum_data_variable(NULL, &mine, sizeof mine);
    thrum_data *other = thrum_data_variable(NULL, &yours, sizeof yours);
    thrum_data *earned = thrum_data_variable(NULL, &interest, sizeof interest);

    thrum_graph *month = thrum_graph_new("month");
    thrum_flow *recording = thrum_flow_record(NULL, month);
    thrum_insert(recording, &pay_in_codelet, THRUM_RW(account), THRUM_ARG(amount));
    thrum_insert(recording, &interest_codelet, THRUM_R(account), THRUM_RW(earned));
    int err = thrum_flow_free(recording); /* nothing has run yet */

    if (!err)
        err = thrum_run_n(NULL, month, 12);
    if (!err)
        err = thrum_graph_bind(month, account, other); /* from now on it is the other account */
    if (!err)
        err = thrum_run_n(NULL, month, 12);
    if (err)
        fprintf(stderr, "record: %s\n", thrum_message(NULL));
    thrum_graph_free(month);
    thrum_data_unregister(account);
    thrum_data_unregister(other);
    thrum_data_unregister(earned);
    printf("%g and %g, and %g of interest\n", mine, yours, interest);
    return err != 0 || mine != 1200 || yours != 2200 || interest != 78 + 198;
}
