/* From ids back to text: the text of each token, and the joints between tokens.
 *
 * The library passes a list of texts from decoder to decoder. Here each decoder has its place:
 *
 *   tokens' texts -> token steps -> <0xNN> to bytes -> byte steps -> joined -> joined steps
 *
 * so that a stream can be decoded token by token. Lists that do not fit are refused by name. */
#pragma once
#include "core/tokenizer_steps.h"
#include "text/regex.h"

enum { DECODER_JOINED_MAX = 4 };

struct decoder_step {
    struct tokenizer_step step; /* its texts are in the pile */
    struct regex regex;
};
enum decoder_joint {
    DECODER_PLAIN,  /* texts follow each other directly */
    DECODER_SPACED, /* with a space between them */
    DECODER_BYTES,  /* letters are bytes; a character may cross tokens */
};
enum decoder_first_space { /* of SentencePiece's texts: the space that starts a token */
                           DECODER_KEEPS_SPACE,
                           DECODER_SKIPS_SPACE,      /* of the first token */
                           DECODER_SKIPS_EACH_SPACE, /* of each token that has no text before it yet
                                                      */
};
struct text_decoder {
    int32_t n_token_steps, n_byte_steps, n_joined_steps;
    struct decoder_step token_steps[TOKENIZER_STEPS_MAX], byte_steps[TOKENIZER_STEPS_MAX];
    struct decoder_step joined_steps[DECODER_JOINED_MAX];
    enum decoder_joint joint;
    bool falls_back_to_bytes;
    struct view suffix; /* at a token's end: becomes a space before the next token; or empty */
    enum decoder_first_space first_space;
    /* For each token. */
    int32_t n_tokens;
    const struct view *texts; /* before any step; owned by the caller */
    struct view *pieces;      /* behind another token, in front of another */
    uint8_t *kinds;           /* enum decoder_kind */
    bool *is_kept;            /* its text stays as it is; NULL: for none */
    bool *begins_with_space;  /* used when first_space skips any */
};
enum decoder_kind {
    DECODER_TEXT,
    DECODER_BYTE,      /* the piece is one byte of a character */
    DECODER_ENDS_WORD, /* a space follows, unless the text ends here */
};
struct pile;
/* Opens a decoder. Without has_decoder, tokens are joined by spaces. texts (n_tokens) are the
 * caller's. */
enum status text_decoder_open(struct text_decoder *decoder, const struct tokenizer_steps *steps,
                              const struct view *texts, int32_t n_tokens, struct pile *pile,
                              struct fault *fault) MUST_USE;
void text_decoder_close(struct text_decoder *decoder);
/* Keeps the token's text as it is, whatever the steps do to others. */
void text_decoder_keep(struct text_decoder *decoder, int32_t id);
/* Sets out to the text of the token, without the suffix. is_first: no token comes before it.
 * Returns true when it is one byte of a character. */
bool text_decoder_piece(const struct text_decoder *decoder, int32_t id, bool is_first,
                        struct str *out);
/* Applies the byte steps to characters that come from byte tokens. is_first: no token comes before
 * the run of byte tokens. */
void text_decoder_bytes(const struct text_decoder *decoder, bool is_first, struct str *text);
/* Opens SentencePiece's decoder: texts stay as they are, and those of type TEXT_BYTE are bytes.
 * first_space is DECODER_KEEPS_SPACE until it is set. */
void text_decoder_open_plain(struct text_decoder *decoder, const struct view *texts,
                             const uint8_t *types, int32_t n_tokens, struct pile *pile);
/* Applies one step to one text. Returns false when its pattern takes too many steps. */
bool text_decoder_step(const struct decoder_step *step, bool is_first, struct str *text);
