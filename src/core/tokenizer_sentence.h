/* The settings of a SentencePiece model besides its pieces, as data. The weights room reads them
 * from a model's files, and the text room follows them. Names and meanings are those of
 * sentencepiece's TrainerSpec and NormalizerSpec. */
#pragma once
#include "core/tokenizer_steps.h"

struct tokenizer_sentence {
    bool is_unigram;     /* else BPE */
    bool falls_back;     /* byte_fallback: a letter without a piece becomes its bytes */
    bool adds_prefix;    /* add_dummy_prefix */
    bool removes_spaces; /* remove_extra_whitespaces */
    bool keeps_spaces;   /* not escape_whitespaces: spaces are not written as U+2581 */
    bool is_suffix;      /* treat_whitespace_as_suffix: the added space goes to the end */
    bool is_modern; /* transformers' "legacy": false, see text/spm.c; then adds_prefix puts a U+2581
                       before the whole text, added tokens included */
    bool cuts_at_user; /* user-defined tokens cut a text before it is normalized, as in llama.cpp;
                          else the model finds them in it */
    int32_t n_pieces;  /* tokens of the model itself, those behind were added; 0 = all */
    int32_t n_added;
    const struct tokenizer_added *added; /* found in the raw text; NULL: by the tokens' types */
    struct view unknown;                 /* is_modern: the text of the unknown token */
    struct view charsmap;                /* precompiled_charsmap; empty: none */
};
