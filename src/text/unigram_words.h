/* Turns words into ids by a tokenizer.json's Unigram model. */
#pragma once
#include "core/tokenizer_steps.h"
#include "text/unigram.h"

struct text_unigram_words {
    struct unigram unigram;
    int32_t unknown_id;
    int32_t byte_ids[256]; /* <0xNN>; -1, also without byte fallback */
};
enum status text_unigram_words_open(struct text_unigram_words *unigram,
                                    const struct text_vocab *vocab,
                                    const struct tokenizer_steps *steps, int32_t unknown_id,
                                    struct fault *fault) MUST_USE;
void text_unigram_words_close(struct text_unigram_words *unigram);
/* Appends the ids of one word, which must be valid UTF-8. */
void text_unigram_words_encode(const struct text_unigram_words *unigram, struct unigram_work *work,
                               struct view word, struct text_ids *ids);
