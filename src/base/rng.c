/* Random numbers by counter: Philox4x32-10, keyed by the seed, counting (counter, stream).
 *
 * After Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011. Gamma after Marsaglia
 * and Tsang, A simple method for generating gamma variables, 2000. */
#include "base/rng.h"
#include "base/num.h"
#include <errno.h>
#include <sys/random.h>

uint64_t rng_at(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (uint64_t)c1 << 32 | c0;
}

void rng_init(struct rng *rng, uint64_t seed, uint64_t stream)
{
    *rng = (struct rng){ .seed = seed, .stream = stream };
}

uint64_t rng_u64(struct rng *rng)
{
    return rng_at(rng->seed, rng->stream, rng->counter++);
}

/* After Lemire, Fast random integer generation in an interval, 2019. */
uint32_t rng_below(struct rng *rng, uint32_t n)
{
    CHECK(n > 0);
    uint32_t n_rejected = (0u - n) % n; /* 2^32 mod n */
    for (;;) {
        uint64_t product = (rng_u64(rng) >> 32) * n;
        if ((uint32_t)product >= n_rejected)
            return (uint32_t)(product >> 32);
    }
}

double rng_unit(struct rng *rng)
{
    return rng_unit_of(rng_u64(rng));
}

double rng_exponential(struct rng *rng)
{
    return -num_log(1 - rng_unit(rng));
}

double rng_normal(struct rng *rng)
{
    for (;;) { /* the polar method; the second value is thrown away, so that a walk has no hidden
                  state */
        double u = 2 * rng_unit(rng) - 1, v = 2 * rng_unit(rng) - 1;
        double s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * num_sqrt(-2 * num_log(s) / s);
    }
}

uint64_t rng_system(void)
{
    uint64_t bits;
    ssize_t n;
    do {
        n = getrandom(&bits, sizeof(bits), 0);
    } while (n < 0 && errno == EINTR);
    CHECK(n == (ssize_t)sizeof(bits));
    return bits;
}
