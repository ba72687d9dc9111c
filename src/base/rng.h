/* A small seeded generator (splitmix64): the same numbers on every machine. */
#ifndef AD_BASE_RNG_H
#define AD_BASE_RNG_H

#include <stdint.h>

struct ad_rng {
    uint64_t state;
};

static inline uint64_t ad_rng_next(struct ad_rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [0, n), n >= 1. */
static inline uint32_t ad_rng_below(struct ad_rng *rng, uint32_t n)
{
    return (uint32_t)(((ad_rng_next(rng) >> 32) * n) >> 32);
}

/* Uniform in [-1, 1), a multiple of 2^-23. */
static inline float ad_rng_float(struct ad_rng *rng)
{
    return (float)(ad_rng_next(rng) >> 40) * 0x1p-23f - 1.0f;
}

#endif
