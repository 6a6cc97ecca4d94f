/* SentencePiece: normalizes a text, and divides it into pieces by BPE or unigram. */
#pragma once
#include "core/tokenizer_sentence.h"
#include "text/charsmap.h"
#include "text/merge.h"
#include "text/prefixes.h"
#include "text/unigram.h"

struct text_spm {
    const struct text_vocab *vocab;
    struct tokenizer_sentence sentence; /* without its texts */
    struct view *pieces;                /* (n_tokens) as they appear in normalized text */
    struct pile pile;                   /* of those */
    struct map index;                   /* hash of a piece that text may become to its id */
    struct charsmap charsmap;
    struct text_prefixes user; /* user-defined pieces, which are never changed or merged */
    struct unigram unigram;
    uint32_t *ranks;   /* BPE: (n_tokens) rank of the score, best first; equal scores share one */
    uint8_t *is_whole; /* BPE: (n_tokens) the piece encodes to itself */
    int32_t ascii_ids[128];
    size_t piece_bytes_max;
    struct view unknown;           /* is_modern: text put before a part that begins with a space */
    int64_t n_unknown;             /* the ids of it */
    bool has_unused, splits_words; /* splits_words: no piece has a space behind another letter */
    int32_t unknown_id;
};
enum status text_spm_open(struct text_spm *spm, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault) MUST_USE;
void text_spm_close(struct text_spm *spm);

struct text_spm_work { /* one thread's memory */
    struct text_merge merge;
    struct unigram_work unigram;
    struct str text, raw, prepared;
    int32_t *ids; /* is_modern: of one part */
    size_t ids_capacity;
    uint32_t *unused; /* (n_tokens) bytes of the left half that an unused piece was joined from */
};
void text_spm_work_init(struct text_spm_work *work);
void text_spm_work_free(struct text_spm_work *work);
/* Appends the normalized form of a raw text. */
void text_spm_normalize(const struct text_spm *spm, struct view raw, struct str *out);
/* Sets for each token whether its piece begins with U+2581. */
void text_spm_find_spaces(const struct text_spm *spm, bool *begins_with_space);
/* Appends the ids of a part of a raw text that holds no added token. Returns true when is_modern
 * and the result is one id that stands for U+2581. Such an id is dropped when the text begins with
 * it and a named token follows. */
bool text_spm_encode(const struct text_spm *spm, struct text_spm_work *work, struct view raw,
                     struct text_ids *ids);
/* is_modern: returns the text in which added tokens are searched. It lies in the work. */
struct view text_spm_prepare(const struct text_spm *spm, struct text_spm_work *work,
                             struct view text);
