/* Model files: GGUF v2/v3 (split too) and Hugging Face directories of safetensors, mapped and
 * checked.
 *
 * weights_open reads the header, checks every count, offset and type against the file's size,
 * builds the spec and finds each tensor by role. Nothing is copied: tensors point into the mapping,
 * which lives until weights_close. */
#pragma once
#include "core/model_weights.h"
#include "core/tokenizer_sentence.h"
#include "core/tokenizer_steps.h"

struct weights;
struct weights_unknown; /* weights/keys.h */

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

/* Opens a model. path is a .gguf file (any part of a split set), or a directory with config.json
 * and *.safetensors. */
enum status weights_open(struct weights **out, const char *path, struct fault *fault) MUST_USE;
void weights_close(struct weights *weights);
const struct model_spec *weights_spec(const struct weights *weights);
const struct model_weights *weights_model(const struct weights *weights);
const struct weights_card *weights_card(const struct weights *weights);
int64_t weights_file_bytes(const struct weights *weights); /* bytes of all tensors as stored */
/* Returns 64 bits over names, shapes, types and a sample of the content of all tensors. They are
 * part of the arithmetic's name. */
uint64_t weights_hash(const struct weights *weights);
/* Returns false when one of its files was changed after it was opened, or could not be read. Then
 * all copies of its data are invalid. */
bool weights_are_whole(const struct weights *weights);
/* Drops the pages of this tensor when they are not needed any more (it was packed). */
void weights_drop(const struct weights *weights, const struct tensor *tensor);
/* Returns the keys of the file without a row in the tables of weights/keys.h. They are ignored. */
const struct weights_unknown *weights_unknown_keys(const struct weights *weights);
const char *weights_format(const struct weights *weights); /* "GGUF v3", "safetensors" */
