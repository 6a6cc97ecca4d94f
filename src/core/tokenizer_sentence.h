/* What a SentencePiece model says besides its pieces, as data: the weights room reads it from a
 * model's files, the text room follows it. Names and meanings are those of sentencepiece's
 * TrainerSpec and NormalizerSpec. */
#pragma once
#include "core/tokenizer_steps.h"

struct tokenizer_sentence {
    bool is_unigram;     /* else BPE */
    bool falls_back;     /* byte_fallback: a letter that no piece covers becomes its bytes */
    bool adds_prefix;    /* add_dummy_prefix */
    bool removes_spaces; /* remove_extra_whitespaces */
    bool keeps_spaces;   /* not escape_whitespaces: a space is not written as U+2581 */
    bool is_suffix;      /* treat_whitespace_as_suffix: the added space stands at the end */
    bool is_modern;      /* transformers' "legacy": false, see text/spm.c; adds_prefix: a U+2581
                            before the whole text, added tokens included */
    bool cuts_at_user;   /* user-defined tokens cut a text before it is normalized, as llama.cpp
                            does it; else the model finds them in it */
    int32_t n_pieces;    /* tokens that the model knows, those behind were added; 0: all */
    int32_t n_added;
    const struct tokenizer_added *added; /* found in the raw text; NULL: as the types say */
    struct view unknown;                 /* is_modern: the text of the unknown token */
    struct view charsmap;                /* precompiled_charsmap; empty: none */
};
