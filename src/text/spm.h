/* SentencePiece BPE: letters merged by the score of the piece they form. */
#pragma once
#include "text/merge.h"
#include "text/special.h"

struct text_spm {
    const struct text_vocab *vocab;
    uint32_t *ranks;          /* (n_tokens) place of the score, best first; equals share one */
    uint8_t *is_whole;        /* (n_tokens) the piece encodes to itself */
    struct text_special user; /* user-defined pieces: found first, never merged */
    size_t piece_bytes_max;
    int32_t ascii_ids[128];
    bool splits_words; /* no piece has a space behind another letter */
    int32_t unknown_id;
};
enum status text_spm_open(struct text_spm *spm, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault) MUST_USE;
void text_spm_close(struct text_spm *spm);
/* Appends what the pieces see of raw text: U+2581 becomes a space, a byte that is not UTF-8
 * U+FFFD (as sentencepiece does). */
void text_spm_normalize(struct view raw, struct str *out);
/* Appends the ids of normalized text. */
void text_spm_encode(const struct text_spm *spm, struct text_merge *merge, struct view text,
                     struct text_ids *ids);
