/* Tokenizers: text to token ids and back, SentencePiece BPE and byte-level BPE, from a neutral
 * description.
 *
 * A tokenizer is read-only once open: any number of threads may encode at once. */
#pragma once
#include "base/str.h"
#include "base/status.h"
#include "core/tokenizer_sentence.h"
#include "core/tokenizer_steps.h"

struct tokenizer;

enum tokenizer_kind { TOKENIZER_SPM, TOKENIZER_BPE };
/* A special token written in a text swallows the white space on these sides. */
enum tokenizer_strip { TOKENIZER_STRIP_LEFT = 1, TOKENIZER_STRIP_RIGHT = 2 };
struct tokenizer_options {
    enum tokenizer_kind kind;
    int32_t n_tokens;
    const char *const *tokens;   /* copied */
    const uint32_t *token_bytes; /* lengths, since a token may hold a NUL */
    const float *scores;         /* SPM */
    const uint8_t *types; /* 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; NULL:
                             all normal */
    const uint8_t *strips; /* enum tokenizer_strip of special tokens; NULL: none strips */
    int32_t n_merges;
    const char *const *merges; /* BPE: "left right" */
    const char *pre;           /* BPE: name of the split pattern */
    const char *pattern;       /* BPE: the split pattern, NULL: by name. Several that cut one after
                                  another are separated by U+001F */
    bool add_bos, add_eos, add_space_prefix, ignore_merges, normalizes_nfc;
    int32_t bos_id, eos_id, unknown_id;        /* -1 = none */
    const struct tokenizer_sentence *sentence; /* SPM: the model's settings; NULL: those of a file
                                                  without any (llama.cpp's) */
    const struct tokenizer_steps *steps; /* tokenizer.json's; NULL: those that the kind implies */
};
enum status tokenizer_open(struct tokenizer **out, const struct tokenizer_options *options,
                           struct fault *fault) MUST_USE;
void tokenizer_close(struct tokenizer *tokenizer);
int32_t tokenizer_n_tokens(const struct tokenizer *tokenizer);

enum tokenizer_flag {
    TOKENIZER_ADD_SPECIAL = 1,   /* put bos (and eos) where the model wants them */
    TOKENIZER_PARSE_SPECIAL = 2, /* special tokens written out in the text become their ids
                                    (templates); else they are text */
};
/* Encodes text into ids[0..n_max-1]. Any bytes go: of broken UTF-8 byte-level BPE encodes the bytes
 * themselves, SentencePiece makes each broken byte U+FFFD, as the library does. Returns the number
 * of ids (at most 3 for a byte of text, and 3 more), or one of these. */
enum {
    TOKENIZER_TOO_MANY = -1,   /* more than n_max would be needed */
    TOKENIZER_TOO_COSTLY = -2, /* the model's regular expressions take too many steps for it */
};
int32_t tokenizer_encode(const struct tokenizer *tokenizer, struct view text, unsigned flags,
                         int32_t *ids, int32_t n_max);
/* The bytes of one token as they appear in running text; empty for control tokens unless
 * show_special. */
struct view tokenizer_piece(const struct tokenizer *tokenizer, int32_t id, bool show_special);
/* The token with exactly these bytes of running text, -1 when there is none. */
int32_t tokenizer_find(const struct tokenizer *tokenizer, struct view token);
/* The first token of a text carries a space that was never written. */
bool tokenizer_strips_first_space(const struct tokenizer *tokenizer);

/* Detokenizes a stream: bytes of an unfinished UTF-8 sequence wait until they are whole. */
struct detokenizer {
    const struct tokenizer *tokenizer;
    bool show_special, is_first; /* private below */
    unsigned char held[16];
    int n_held;
};
void detokenizer_init(struct detokenizer *d, const struct tokenizer *tokenizer, bool show_special);
void detokenizer_add(struct detokenizer *d, int32_t id,
                     struct str *out); /* appends what became certain: always valid UTF-8 */
void detokenizer_end(struct detokenizer *d,
                     struct str *out); /* appends U+FFFD for bytes that never became whole */
