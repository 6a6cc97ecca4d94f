/* The vocabulary as both encoders see it: tokens as bytes of running text, found by their bytes.
 *
 * Byte-level BPE's alphabet is translated to the bytes it stands for, SentencePiece's U+2581 to the
 * space it stands for, <0xNN> to its byte. */
#pragma once
#include "base/pile.h"
#include "base/map.h"
#include "text/tokenizer.h"

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
    struct map index;      /* hash of a token's bytes to its id: tokens that merges may form */
    int32_t byte_ids[256]; /* the token of one byte: BPE's letters, SPM's byte tokens; -1 */
};

enum status text_vocab_open(struct text_vocab *vocab, const struct tokenizer_options *options,
                            struct fault *fault) MUST_USE;
void text_vocab_close(struct text_vocab *vocab);
int32_t text_vocab_find(const struct text_vocab *vocab, struct view bytes); /* -1 when absent */

/* From GPT-2's printable alphabet (in UTF-8) to bytes; false when a letter is not of it. */
bool text_vocab_unprint(struct view letters, unsigned char *out, uint32_t *n_out);
