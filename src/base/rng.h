/* Counter-based random numbers, as Philox makes them: they depend on nothing but (seed, stream,
 * counter). The same three give the same bits on every machine and in every version. */
#pragma once
#include "base/base.h"

uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t counter); /* 64 random bits */

struct rng { /* a walk along one stream */
    uint64_t seed, stream, counter;
};
void rng_init(struct rng *rng, uint64_t seed, uint64_t stream);
uint64_t rng_u64(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t n); /* uniform in 0..n-1, unbiased; n > 0 */
double rng_unit(struct rng *rng);                /* [0, 1), 53 bits */
double rng_exponential(struct rng *rng);         /* mean 1, by num_log */
double rng_normal(struct rng *rng);              /* mean 0, deviation 1 */
static inline double rng_unit_of(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1.0p-53;
}
uint64_t rng_system(void); /* from the operating system: only for seeds at the program's boundary */
