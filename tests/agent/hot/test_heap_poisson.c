/* The mathematics of sampling against libm and against its own promise: estimates are unbiased for any mix of
 * sizes. */
#include <math.h>

#include "agent/hot/heap_poisson.h"

#include "../../t.h"

TEST(logarithm_and_share_agree_with_libm)
{
    double worst_log = 0, worst_share = 0;
    for (double x = 1e-16; x <= 1; x *= 1.0137) worst_log = fmax(worst_log, fabs(poisson_log(x) - log(x)));
    for (double x = 1e-9; x < 60; x *= 1.0137)
        worst_share = fmax(worst_share, fabs(poisson_share(x) / -expm1(-x) - 1));
    CHECK(worst_log < 1e-11);
    CHECK(worst_share < 1e-10);
    CHECK(poisson_share(0) == 0);
    CHECK(poisson_share(1e300) == 1);
    CHECK(poisson_log(1) == 0);
}

TEST(countdowns_are_exponential)
{
    struct poisson p = {.random = 12345};
    double sum = 0, squares = 0;
    int n = 400000, n_above = 0;
    for (int i = 0; i < n; i++) {
        poisson_draw(&p, 524288);
        sum += (double)p.left;
        squares += (double)p.left * (double)p.left;
        n_above += p.left > 524288;
    }
    double mean = sum / n;
    CHECK(fabs(mean / 524288 - 1) < 0.01);
    CHECK(fabs(sqrt(squares / n - mean * mean) / 524288 - 1) < 0.02);
    CHECK(fabs((double)n_above / n - exp(-1)) < 0.005);
}

TEST(a_period_of_one_takes_everything_with_weight_one)
{
    struct poisson p = {.random = 7};
    for (int i = 0; i < 1000; i++) {
        poisson_draw(&p, 1);
        CHECK((p.left -= 1) < 0);
    }
    CHECK(poisson_weight(1, 1) == 1);
}

/* Sizes from 1 byte to several periods on one line, in one order; each size's count and bytes must come out
 * right. */
TEST(mixed_sizes_are_unbiased)
{
    static const int sizes[] = {1, 16, 48, 300, 4096, 70000, 524288, 3000000};
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    double period = 65536, count[N_SIZES] = {0}, bytes = 0, true_bytes = 0;
    long n_true[N_SIZES] = {0}, n_samples = 0;
    struct poisson p = {.random = 99};
    uint64_t choice = 1;
    poisson_draw(&p, period);
    for (int i = 0; i < 3000000; i++) {
        int which = (int)(poisson_random(&choice) % 64);
        which = which < N_SIZES ? which : which % 4; /* small ones are common */
        n_true[which]++;
        true_bytes += sizes[which];
        if ((p.left -= sizes[which] + 1) >= 0) continue;
        double w = poisson_weight(sizes[which] + 1, p.period);
        count[which] += w;
        bytes += w * sizes[which];
        n_samples++;
        poisson_draw(&p, period);
    }
    CHECK(n_samples > 10000);
    CHECK(fabs(bytes / true_bytes - 1) < 0.02);
    for (int i = 3; i < N_SIZES; i++) CHECK(fabs(count[i] / (double)n_true[i] - 1) < 0.05);
}

TEST_MAIN()
