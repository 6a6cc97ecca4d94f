/* Unigram: divides a text into the pieces with the greatest sum of scores.
 *
 * Two libraries agree on the result except for arithmetic: sentencepiece adds in single precision,
 * HF's in double. Among equal sums the piece that begins first wins, as in both. */
#pragma once
#include "text/merge.h"
#include "text/prefixes.h"

enum unigram_role { UNIGRAM_NO_PIECE, UNIGRAM_PIECE, UNIGRAM_USER_DEFINED };
struct unigram_options {
    int32_t n_tokens;
    const struct view *texts; /* (n_tokens) the caller's; they must live as long */
    const double *scores;     /* (n_tokens) */
    const uint8_t *roles;     /* (n_tokens) enum unigram_role */
    double score_min;         /* the lowest of the model, for unknown letters */
    int32_t unknown_id;       /* -1: none */
    bool is_single;           /* sentencepiece's arithmetic */
};
struct unigram {
    struct text_prefixes pieces;
    double *scores; /* (n_tokens) */
    uint8_t *roles; /* (n_tokens) */
    double score_unknown;
    int32_t unknown_id;
    bool is_single;
};
enum status unigram_open(struct unigram *unigram, const struct unigram_options *options,
                         struct fault *fault) MUST_USE;
void unigram_close(struct unigram *unigram); /* a zeroed one is fine */

/* The best division of a text, which must be valid UTF-8: the pieces in order. */
struct unigram_piece {
    size_t start, n; /* bytes */
    int32_t id;      /* unknown_id: one letter without a piece */
};
struct unigram_work {             /* one thread's memory */
    struct unigram_piece *pieces; /* (n) the answer */
    size_t n, capacity;
    struct unigram_end *ends; /* private */
    size_t n_ends;
};
void unigram_divide(const struct unigram *unigram, struct unigram_work *work, struct view text);
void unigram_work_free(struct unigram_work *work);
