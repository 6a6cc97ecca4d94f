/* Patterns by which byte-level BPE cuts a text into words, by the names of GGUF's
 * tokenizer.ggml.pre. */
#pragma once
#include "base/base.h"

enum { TOKENIZER_PRE_STAGES_MAX = 8 };
struct tokenizer_pre {
    const char *names; /* separated by spaces */
    /* Regular expressions in Oniguruma's syntax: each stage cuts the pieces of the one before. NULL
     * follows the last. */
    const char *stages[TOKENIZER_PRE_STAGES_MAX];
    bool ignores_merges; /* a word that is a token skips the merges */
    bool adds_bos;       /* when the file does not specify it */
    bool normalizes_nfc;
};
/* Returns NULL when the name is not known. */
const struct tokenizer_pre *tokenizer_pre_find(const char *name);
