/* Tokenizers: from text to token ids and back.
 *
 * The kinds are SentencePiece and byte-level BPE, given by a neutral description, and the steps of
 * a tokenizer.json. An open tokenizer is read-only: any number of threads may encode at once. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "text/tokenizer_options.h"

struct tokenizer;
struct text_decoder;

enum status tokenizer_open(struct tokenizer **out, const struct tokenizer_options *options,
                           struct fault *fault) MUST_USE;
void tokenizer_close(struct tokenizer *tokenizer);
int32_t tokenizer_n_tokens(const struct tokenizer *tokenizer);

enum tokenizer_flag {
    TOKENIZER_ADD_SPECIAL = 1,   /* put special tokens where the model wants them */
    TOKENIZER_PARSE_SPECIAL = 2, /* special tokens written out in the text become their ids
                                    (templates); else they are text */
};
/* Encodes text into ids[0..n_max-1]. Any bytes are accepted. Byte-level BPE encodes the bytes of
 * broken UTF-8 themselves; for others each broken byte becomes U+FFFD. Returns the number of ids,
 * or one of these. */
enum {
    TOKENIZER_TOO_MANY = -1,   /* more than n_max ids would be needed */
    TOKENIZER_TOO_COSTLY = -2, /* the model's regular expressions take too many steps for it */
    TOKENIZER_NO_PAIRS = -3,   /* the model's files have no form for a pair of texts */
};
int32_t tokenizer_encode(const struct tokenizer *tokenizer, struct view text, unsigned flags,
                         int32_t *ids, int32_t n_max);
/* Encodes a pair of texts with special tokens. Returns the same, and how many ids belong to the
 * first text, with what follows it. Special tokens written out in the texts become their ids. */
int32_t tokenizer_encode_pair(const struct tokenizer *tokenizer, const struct view texts[2],
                              int32_t *ids, int32_t n_max, int32_t *n_first);
/* Returns the most ids that a text of n_bytes may become. */
size_t tokenizer_ids_max(const struct tokenizer *tokenizer, size_t n_bytes);
/* Returns the bytes of one token in running text. They are empty for tokens that are not shown
 * unless show_special. */
struct view tokenizer_piece(const struct tokenizer *tokenizer, int32_t id, bool show_special);
/* Appends the bytes of a token as grammars see it. A special token has the byte 0xFF ahead of its
 * text, so that it can't be taken for text. tokenizer: a struct tokenizer. */
void tokenizer_add_piece(const void *tokenizer, int32_t id, struct str *out);
/* Returns whether the id is a token that is shown in text. */
bool tokenizer_shows(const struct tokenizer *tokenizer, int32_t id, bool show_special);
const struct text_decoder *tokenizer_decoder(const struct tokenizer *tokenizer);

/* Appends the text of ids, which is always valid UTF-8. When a run of byte tokens is broken, each
 * of its bytes becomes U+FFFD, as in the library. */
void tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                      bool show_special, struct str *out);

/* Detokenizes a stream. The bytes of an unfinished UTF-8 sequence wait until it is whole. The
 * pieces add up to the result of tokenizer_decode, with one exception. When a run of byte tokens
 * turns out to be broken, its whole characters have been shown already, and stay. */
struct detokenizer {
    const struct tokenizer *tokenizer;
    bool show_special, is_first; /* is_first: nothing comes before. private below */
    bool has_begun, has_text, in_run, is_first_run, is_broken, owes_space;
    unsigned char held[8];
    int n_held;
    int32_t n_left[4], n_kept[4]; /* characters that Strip may still take, and holds back */
};
void detokenizer_init(struct detokenizer *d, const struct tokenizer *tokenizer, bool show_special);
void detokenizer_add(struct detokenizer *d, int32_t id,
                     struct str *out); /* appends all that is certain: always valid UTF-8 */
void detokenizer_end(struct detokenizer *d,
                     struct str *out); /* appends U+FFFD for bytes that stayed incomplete */
