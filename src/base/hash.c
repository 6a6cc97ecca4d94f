/* Hashes: XXH3-128 for our own data, SHA-256 for data that untrusted parties may choose. */
#define OPENSSL_API_COMPAT 10101 /* the SHA256_* calls: unlike EVP they take no memory */
#include "base/hash.h"
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <xxhash.h>

struct hash128 hash_fast(const void *bytes, size_t n, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, n, seed);
    return (struct hash128){ .low = hash.low64, .high = hash.high64 };
}

struct hash128 hash_secure(const void *a, size_t n_a, const void *b, size_t n_b)
{
    SHA256_CTX context;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_Init(&context);
    if (n_a > 0)
        SHA256_Update(&context, a, n_a);
    if (n_b > 0)
        SHA256_Update(&context, b, n_b);
    SHA256_Final(digest, &context);
    struct hash128 hash;
    memcpy(&hash.low, digest, 8);
    memcpy(&hash.high, digest + 8, 8);
    return hash;
}

bool hash_equal_const_time(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
