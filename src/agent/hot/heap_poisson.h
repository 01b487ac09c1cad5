/* heap_poisson.h - the sampling mathematics that allocations (bytes) and lock waits (nanoseconds) share.
 *
 * Marks are thrown on a line (the bytes a thread allocates, the nanoseconds it waits) by a Poisson process of
 * one mark every `period` units on average. An event that covers `size` units is sampled when at least one
 * mark falls on it:
 *
 *     P(size) = 1 - exp(-size / period)
 *
 * so a sampled event stands for 1/P events and size/P units, exactly, whatever other sizes share its stack.
 * Between marks a thread only counts down. The process has no memory, so a countdown may be thrown away, kept
 * through a pause or redrawn at any event without bias. Only the weight of an event must use the period that
 * its countdown was drawn with; that is why the period stands beside the countdown.
 *
 * No libm: the two functions needed are series of our own, good to 1e-11, that touch neither errno nor locks.
 */
#ifndef AGENT_HOT_HEAP_POISSON_H
#define AGENT_HOT_HEAP_POISSON_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct poisson {
    int64_t left;    /* units until the next mark */
    uint64_t random; /* state of the generator; 0: never drawn */
    double period;   /* what `left` was drawn with */
};

/* A weight of 1 as it is counted: weights are kept as integers, so that counters can be added with one
 * instruction. */
#define POISSON_ONE 4096

static inline uint64_t poisson_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Natural logarithm of a positive, normal number. */
static inline double poisson_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m); /* 1 <= m < 2 */
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    /* ln m = 2 atanh(z), |z| < 0.1716: the first term left out is z^17/17 < 1e-14 */
    double z = (m - 1) / (m + 1), zz = z * z;
    double sum =
        1 + zz * (1.0 / 3 + zz * (1.0 / 5 + zz * (1.0 / 7 + zz * (1.0 / 9 + zz * (1.0 / 11 + zz / 13)))));
    return exponent * 0.69314718055994531 + 2 * z * sum;
}

/* 1 - exp(-x) for x >= 0. */
static inline double poisson_share(double x)
{
    if (x > 40) return 1;
    int k = (int)(x * 1.4426950408889634 + 0.5);
    double r = x - k * 0.69314718055994531; /* |r| <= 0.347 */
    /* q = 1 - exp(-r), without the 1 that would eat the small digits */
    double q =
        r *
        (1 -
         r / 2 *
             (1 -
              r / 3 *
                  (1 -
                   r / 4 *
                       (1 - r / 5 * (1 - r / 6 * (1 - r / 7 * (1 - r / 8 * (1 - r / 9 * (1 - r / 10)))))))));
    uint64_t bits = (uint64_t)(1023 - k) << 52;
    double scale; /* 2^-k */
    memcpy(&scale, &bits, sizeof scale);
    return (1 - scale) + scale * q;
}

/* Draws the next countdown. A period of 1 or less marks every unit. */
static inline void poisson_draw(struct poisson *p, double period)
{
    double u = (double)((poisson_random(&p->random) >> 11) + 1) * 0x1p-53; /* 0 < u <= 1 */
    p->period = period;
    double units = period <= 1 ? 0 : -poisson_log(u) * period;
    p->left = units < 0x1p62 ? (int64_t)units : INT64_MAX / 2;
}

/* How many events one sampled event of this size stands for. */
static inline double poisson_weight(double size, double period)
{
    if (period <= 1) return 1;
    double share = poisson_share(size / period);
    return share > 0 ? 1 / share : 1;
}

#endif
