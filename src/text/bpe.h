/* Byte pair encoding: the letters of a word, joined pair by pair in the order of their ranks. */
#pragma once
#include "text/bytes.h"
#include "text/merge.h"

struct text_bpe {
    const struct text_vocab *vocab;
    struct map merges;  /* left id << 32 | right id to the rank */
    int32_t *joined;    /* (n_merges) the id that a rank forms */
    int32_t *whole_ids; /* (n_tokens) the single id of the token's text; -1: it becomes several */
    int32_t letter_ids[TEXT_LETTERS_MAX]; /* of words' letters without prefix and suffix; -1 */
    int32_t byte_ids[256];                /* <0xNN>; -1 */
    int32_t unknown_id;                   /* for letters without a token; -1: they are dropped */
    bool falls_back_to_bytes, fuses_unknown, ignores_merges;
    struct view prefix, suffix;
    struct view mark; /* no token crosses it, so words can be cut before it; empty: none */
};
/* Merges as a file has them: by ids, or as texts "left right". Merges of tokens that the vocabulary
 * lacks are skipped. */
struct text_bpe_options {
    int32_t n_merges;
    const int32_t (*merges)[3];
    const char *const *merge_texts;
    int32_t unknown_id;
    bool falls_back_to_bytes, fuses_unknown, ignores_merges;
    struct view prefix, suffix; /* they stay the caller's as long as this is open */
};
enum status text_bpe_open(struct text_bpe *bpe, const struct text_vocab *vocab,
                          const struct text_bpe_options *options, struct fault *fault) MUST_USE;
void text_bpe_close(struct text_bpe *bpe);
/* Appends the ids of one word, which must be valid UTF-8. */
void text_bpe_encode(const struct text_bpe *bpe, struct text_merge *merge, struct view word,
                     struct text_ids *ids);
