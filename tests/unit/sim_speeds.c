/* SPDX-License-Identifier: MIT
 *
 * Speeds of simulated workers: when work is done, with changes before, during and after it.
 */
#include "test.h"

#include "sim/speeds.h"

#include <math.h>

static void expect_done(const thrum__speeds *speeds, uint32_t worker, double begin, double work, double right)
{
    double done = thrum__speeds_done(speeds, worker, begin, work);
    if (fabs(done - right) > 1e-12)
        print_error("worker %u, begun at %g, %g of work: done at %g, not %g\n", worker, begin, work, done, right);
    assert_true(fabs(done - right) <= 1e-12);
}

TEST(without_speeds_work_takes_its_time)
{
    thrum__speeds speeds;
    assert_int_equal(thrum__speeds_begin(&speeds, 3, NULL, NULL, 0), 0);
    expect_done(&speeds, 2, 5, 1.5, 6.5);
    thrum__speeds_end(&speeds);
}

TEST(a_fast_worker_takes_less)
{
    thrum__speeds speeds;
    assert_int_equal(thrum__speeds_begin(&speeds, 2, (double[]){1, 4}, NULL, 0), 0);
    expect_done(&speeds, 0, 5, 2, 7);
    expect_done(&speeds, 1, 5, 2, 5.5);
    thrum__speeds_end(&speeds);
}

TEST(a_perturbation_slows_what_lies_in_it)
{
    thrum__speeds speeds;
    const thrum_perturbation slow[] = {{1, 10, 20, 0.5}};
    assert_int_equal(thrum__speeds_begin(&speeds, 2, NULL, slow, 1), 0);
    expect_done(&speeds, 0, 12, 3, 15);
    expect_done(&speeds, 1, 2, 3, 5);   /* before */
    expect_done(&speeds, 1, 7, 3, 10);  /* just until it begins */
    expect_done(&speeds, 1, 8, 3, 12);  /* into it: 2, and 1 at half the speed */
    expect_done(&speeds, 1, 12, 3, 18); /* inside */
    expect_done(&speeds, 1, 18, 3, 22); /* out of it: 1 until 20, and 2 */
    expect_done(&speeds, 1, 5, 20, 30); /* across: 5, 5 and 10 */
    expect_done(&speeds, 1, 20, 3, 23); /* from its end on */
    expect_done(&speeds, 1, 40, 3, 43); /* after */
    expect_done(&speeds, 1, 15, 0, 15);
    thrum__speeds_end(&speeds);
}

TEST(perturbations_that_overlap_multiply)
{
    thrum__speeds speeds;
    const thrum_perturbation both[] = {{0, 10, 30, 0.5}, {0, 20, INFINITY, 0.25}};
    assert_int_equal(thrum__speeds_begin(&speeds, 1, (double[]){2}, both, 2), 0);
    expect_done(&speeds, 0, 0, 20, 10);  /* at 2 */
    expect_done(&speeds, 0, 10, 10, 20); /* at 1 */
    expect_done(&speeds, 0, 20, 1, 24);  /* at 1/4 */
    expect_done(&speeds, 0, 30, 1, 32);  /* at 1/2 */
    expect_done(&speeds, 0, 0, 20 + 10 + 2.5 + 5, 40);
    thrum__speeds_end(&speeds);
}

TEST(a_worker_that_stands_still_goes_on_afterwards)
{
    thrum__speeds speeds;
    const thrum_perturbation still[] = {{0, 10, 20, 0}};
    assert_int_equal(thrum__speeds_begin(&speeds, 1, NULL, still, 1), 0);
    expect_done(&speeds, 0, 8, 3, 21);
    expect_done(&speeds, 0, 12, 3, 23);
    expect_done(&speeds, 0, 8, 2, 10);
    expect_done(&speeds, 0, 12, 0, 12);
    thrum__speeds_end(&speeds);
}

static void expect_wrong(const double *base, thrum_perturbation it, const char *part)
{
    thrum__speeds speeds;
    assert_error(thrum__speeds_begin(&speeds, 2, base, &it, 1), THRUM_EINVAL, part);
}

TEST(wrong_speeds_are_refused_with_a_sentence)
{
    const thrum_perturbation right = {0, 1, 2, 0.5};
    expect_wrong((double[]){1, 0}, right, "the speed of worker 1 is 0");
    expect_wrong((double[]){NAN, 1}, right, "the speed of worker 0 is nan");
    expect_wrong(NULL, (thrum_perturbation){2, 1, 2, 0.5}, "worker 2 is to be perturbed, and there are only 2");
    expect_wrong(NULL, (thrum_perturbation){0, -1, 2, 0.5}, "from -1 until 2");
    expect_wrong(NULL, (thrum_perturbation){0, 2, 2, 0.5}, "from 2 until 2");
    expect_wrong(NULL, (thrum_perturbation){0, 1, NAN, 0.5}, "until nan");
    expect_wrong(NULL, (thrum_perturbation){0, 1, 2, -0.5}, "-0.5 times its speed");
    expect_wrong(NULL, (thrum_perturbation){1, 1, INFINITY, 0}, "worker 1 is to stand still for ever");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_speeds_work_takes_its_time),
        cmocka_unit_test(a_fast_worker_takes_less),
        cmocka_unit_test(a_perturbation_slows_what_lies_in_it),
        cmocka_unit_test(perturbations_that_overlap_multiply),
        cmocka_unit_test(a_worker_that_stands_still_goes_on_afterwards),
        cmocka_unit_test(wrong_speeds_are_refused_with_a_sentence),
    };
    return RUN_TESTS(tests, 60);
}
