/* The common part of all makers of cards: checked ids, and tokens that end a generation. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "core/tokenizer_sentence.h"
#include "core/tokenizer_steps.h"

enum weights_tokenizer_kind {
    WEIGHTS_TOKENIZER_NONE,
    WEIGHTS_TOKENIZER_SPM, /* SentencePiece BPE, from its own files */
    WEIGHTS_TOKENIZER_BPE,
    WEIGHTS_TOKENIZER_UNIGRAM,
    WEIGHTS_TOKENIZER_WORDPIECE,
};

struct weights_template {    /* a chat template and its name in the model */
    const char *name, *text; /* zero-terminated UTF-8 */
};

/* The model's card: all that the text room needs, in one neutral form for every kind of file. */
struct weights_card {
    enum weights_tokenizer_kind tokenizer;
    int32_t n_tokens;
    /* (n_tokens) as in the files: SPM's with U+2581 for a space, BPE's in GPT-2's alphabet, which
     * writes each byte as a printable character. Zero-terminated; token_bytes has the lengths. */
    const char *const *tokens;
    const uint32_t *token_bytes; /* (n_tokens) lengths */
    const float *scores;         /* SPM: (n_tokens), else NULL */
    const uint8_t *types;  /* (n_tokens) GGUF's: 1 normal, 2 unknown, 3 control, 4 user defined, 5
                              unused, 6 byte */
    const uint8_t *strips; /* (n_tokens) white space around special tokens that is swallowed: 1
                              before, 2 behind; NULL: none */
    int32_t n_merges;
    const char *const *merges; /* BPE, and SPM from a tokenizer.json: "left right" in rank order */
    char pre[32]; /* BPE: name of the split pattern (GGUF's tokenizer.ggml.pre: "llama-bpe",
                     "qwen2", "gpt-2", ...) */
    bool add_bos, add_eos, add_space_prefix;
    bool ignore_merges; /* whole words that are tokens need no merges (llama-3) */
    bool normalizes_nfc;
    int32_t bos_id, eos_id, unknown_id, pad_id; /* -1 = none */
    bool has_sentence;
    struct tokenizer_sentence sentence;  /* of SentencePiece models; needs has_sentence */
    const struct tokenizer_steps *steps; /* tokenizer.json's; NULL: those that the kind implies */
    int32_t n_eog; /* ids that end a generation: eos, <|eot_id|>, <|im_end|>, ... */
    int32_t eog_ids[16];
    const char *chat_template; /* zero-terminated UTF-8; NULL when there is no default template */
    int32_t n_templates;       /* of all, including the default */
    const struct weights_template *templates;
    const char *specials_json; /* special tokens by transformers' names, as a JSON object:
                                  {"bos_token": "<s>"}; NULL when there are none */
    char name[128];            /* general.name or the directory's */
};

enum {
    CARD_TOKEN_BYTES_MAX = 1 << 16,
    CARD_MERGES_MAX = 1 << 22,
    CARD_TEMPLATE_BYTES_MAX = 1 << 20,
};

enum weights_token_type { /* GGUF's numbers */
                          TOKEN_NORMAL = 1,
                          TOKEN_UNKNOWN,
                          TOKEN_CONTROL,
                          TOKEN_USER,
                          TOKEN_UNUSED,
                          TOKEN_BYTE,
};

enum weights_strip { STRIP_LEFT = 1, STRIP_RIGHT = 2 };

void weights_card_init(struct weights_card *card);
/* Adds an id that ends a generation, once. Ids outside the vocabulary are skipped. */
void weights_card_add_eog(struct weights_card *card, int64_t id);
/* Adds the well-known end-of-turn tokens ("<|eot_id|>", ...). */
void weights_card_add_known_eog(struct weights_card *card);
/* Checks all that text relies on: byte tokens read <0xHH>, merges are two words, lengths are
 * bounded. */
enum status weights_card_check(const struct weights_card *card, const char *label,
                               struct fault *fault) MUST_USE;
