/* Names of blocks: the hash of all tokens up to a block's end. */
#pragma once
#include "base/hash.h"
#include "kv/kv.h"

/* Returns the name of the block of tokens [from, from + block_tokens), which follows the named
 * one. */
struct hash128 kv_prefix_next(const struct kv *kv, const struct request *request,
                              struct hash128 before, const int32_t *tokens, int32_t from);
/* Returns how many positions kv_match could find now, and changes nothing. */
int32_t kv_prefix_look(const struct kv *kv, const struct request *request, const int32_t *tokens,
                       int32_t n_tokens);
