/* A set of unit numbers over four levels of 64-bit words. It has up to 2^24 members and finds the
 * lowest in four steps. */
#include "kv/bits.h"

static size_t level_words(uint32_t n_max, int level)
{
    size_t n = n_max > 0 ? n_max : 1;
    for (int i = 0; i <= level; i++)
        n = (n + 63) / 64;
    return n;
}

size_t kv_bits_bytes(uint32_t n_max)
{
    size_t n = 0;
    for (int i = 0; i < KV_BITS_LEVELS; i++)
        n += level_words(n_max, i);
    return n * sizeof(uint64_t);
}

void kv_bits_init(struct kv_bits *bits, uint32_t n_max, void *memory)
{
    CHECK(n_max <= 1u << 24);
    uint64_t *words = memory;
    for (int i = 0; i < KV_BITS_LEVELS; i++) {
        bits->levels[i] = words;
        words += level_words(n_max, i);
    }
    bits->n_members = 0;
}

bool kv_bits_has(const struct kv_bits *bits, uint32_t i)
{
    return bits->levels[0][i / 64] >> (i % 64) & 1;
}

void kv_bits_add(struct kv_bits *bits, uint32_t i)
{
    CHECK(!kv_bits_has(bits, i));
    bits->n_members++;
    for (int level = 0; level < KV_BITS_LEVELS; level++, i /= 64) {
        uint64_t *word = &bits->levels[level][i / 64];
        bool was_empty = *word == 0;
        *word |= UINT64_C(1) << (i % 64);
        if (!was_empty)
            return;
    }
}

void kv_bits_remove(struct kv_bits *bits, uint32_t i)
{
    CHECK(kv_bits_has(bits, i));
    bits->n_members--;
    for (int level = 0; level < KV_BITS_LEVELS; level++, i /= 64) {
        uint64_t *word = &bits->levels[level][i / 64];
        *word &= ~(UINT64_C(1) << (i % 64));
        if (*word != 0)
            return;
    }
}

uint32_t kv_bits_first(const struct kv_bits *bits)
{
    if (bits->n_members == 0)
        return KV_BITS_NONE;
    uint32_t i = 0;
    for (int level = KV_BITS_LEVELS - 1; level >= 0; level--)
        i = i * 64 + (uint32_t)__builtin_ctzll(bits->levels[level][i]);
    return i;
}
