/* How byte-level BPE cuts a text into words, by the names of GGUF's tokenizer.ggml.pre. */
#pragma once
#include "base/base.h"

enum { TOKENIZER_PRE_STAGES_MAX = 8 };
struct tokenizer_pre {
    const char *names; /* separated by spaces */
    /* Regular expressions, in Oniguruma's syntax: each cuts the pieces of the one before. NULL
     * behind the last. */
    const char *stages[TOKENIZER_PRE_STAGES_MAX];
    bool ignores_merges; /* a word that is a token needs no merges */
    bool adds_bos;       /* where the file does not say */
    bool normalizes_nfc;
};
/* NULL: the name is not known. */
const struct tokenizer_pre *tokenizer_pre_find(const char *name);
