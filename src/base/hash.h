/* Hashes: XXH3 is fast and serves inside a trust domain; SHA-256 serves where an untrusted party
 * may choose the input. */
#pragma once
#include "base/base.h"

struct hash128 {
    uint64_t low, high;
};
struct hash128 hash_fast(const void *bytes, size_t n, uint64_t seed); /* XXH3-128 */
struct hash128 hash_secure(const void *a, size_t n_a, const void *b,
                           size_t n_b); /* first 128 bits of SHA-256(a || b) */
bool hash_equal_const_time(const void *a, const void *b, size_t n); /* for keys */
