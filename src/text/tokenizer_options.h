/* The description that a tokenizer is made from: neutral, whatever the file. */
#pragma once
#include "core/tokenizer_sentence.h"
#include "core/tokenizer_steps.h"
#include <stdbool.h>

enum tokenizer_kind { TOKENIZER_SPM, TOKENIZER_BPE, TOKENIZER_UNIGRAM, TOKENIZER_WORDPIECE };
/* A special token in a text swallows the white space on these sides. */
enum tokenizer_strip { TOKENIZER_STRIP_LEFT = 1, TOKENIZER_STRIP_RIGHT = 2 };
struct tokenizer_options {
    enum tokenizer_kind kind;
    int32_t n_tokens;
    const char *const *tokens;   /* copied */
    const uint32_t *token_bytes; /* lengths, since a token may hold a NUL */
    const float *scores;         /* SPM */
    const uint8_t *types; /* 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; NULL:
                             all normal */
    int32_t unknown_id;   /* -1 = none */
    /* The steps of tokenizer.json, which replace all settings that follow; NULL: those that the
     * kind implies. */
    const struct tokenizer_steps *steps;
    const struct tokenizer_sentence *sentence; /* SPM: the model's settings; NULL: those of a file
                                                  without any (llama.cpp's) */
    const uint8_t *strips; /* enum tokenizer_strip of special tokens; NULL: no strips */
    int32_t n_merges;
    const char *const *merges; /* BPE: "left right" */
    const char *pre;           /* BPE: name of the split pattern */
    bool add_bos, add_eos, add_space_prefix, ignore_merges, normalizes_nfc;
    int32_t bos_id, eos_id; /* -1 = none */
};
