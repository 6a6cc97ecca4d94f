/* Byte-level BPE: the words of a split text, byte by byte, merged by rank. */
#pragma once
#include "text/merge.h"

struct text_bpe {
    const struct text_vocab *vocab;
    struct map merges;  /* left id << 32 | right id to the rank */
    int32_t *joined;    /* (n_merges) the id that a rank forms */
    uint8_t *is_whole;  /* (n_tokens) the token's bytes encode to the token itself */
    int32_t unknown_id; /* for bytes without a token; -1: they are dropped, as HF does */
};
enum status text_bpe_open(struct text_bpe *bpe, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault) MUST_USE;
void text_bpe_close(struct text_bpe *bpe);
/* Appends the ids of one word (any bytes). */
void text_bpe_encode(const struct text_bpe *bpe, struct text_merge *merge, struct view word,
                     struct text_ids *ids);
