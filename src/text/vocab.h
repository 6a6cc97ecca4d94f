/* The vocabulary as encoders see it: the model's tokens, found by their bytes.
 *
 * In SentencePiece's own files U+2581 is translated to the space that it stands for, and <0xNN> to
 * its byte; other vocabularies stay as their files write them. */
#pragma once
#include "base/map.h"
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "text/tokenizer_options.h"

enum text_type {
    TEXT_NORMAL = 1,
    TEXT_UNKNOWN = 2,
    TEXT_CONTROL = 3,
    TEXT_USER_DEFINED = 4,
    TEXT_UNUSED = 5,
    TEXT_BYTE = 6,
};
enum { TEXT_TOKEN_BYTES_MAX = 1 << 16 };

struct text_vocab {
    struct pile pile;
    int32_t n_tokens;
    struct view *tokens;   /* (n_tokens) */
    uint8_t *types;        /* (n_tokens) enum text_type */
    struct map index;      /* hash of a token's bytes to its id, for tokens that merges may form */
    int32_t byte_ids[256]; /* SentencePiece's byte tokens; -1 */
};

enum status text_vocab_open(struct text_vocab *vocab, const struct tokenizer_options *options,
                            struct fault *fault) MUST_USE;
void text_vocab_close(struct text_vocab *vocab);
int32_t text_vocab_find(const struct text_vocab *vocab, struct view bytes); /* -1 when absent */
