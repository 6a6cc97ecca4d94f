/* A set of unit numbers that finds its lowest member at once: bits, and bits over words of bits.
 *
 * The pool always takes the lowest, so that its choice depends on what is held now and not on
 * history. This keeps the end of the pool free to close, and makes holds exact. */
#pragma once
#include "base/base.h"

#define KV_BITS_NONE UINT32_MAX
enum { KV_BITS_LEVELS = 4 };

struct kv_bits {
    uint64_t *levels[KV_BITS_LEVELS]; /* level 0: a bit per member; above: a bit per word below */
    uint32_t n_members;
};
size_t kv_bits_bytes(uint32_t n_max);
/* Makes an empty set. The memory has kv_bits_bytes(n_max) zero bytes. */
void kv_bits_init(struct kv_bits *bits, uint32_t n_max, void *memory);
void kv_bits_add(struct kv_bits *bits, uint32_t i);
void kv_bits_remove(struct kv_bits *bits, uint32_t i);
bool kv_bits_has(const struct kv_bits *bits, uint32_t i);
uint32_t kv_bits_first(const struct kv_bits *bits); /* KV_BITS_NONE when empty */
