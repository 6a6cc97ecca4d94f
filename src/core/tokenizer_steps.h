/* The steps of a tokenizer around its vocabulary, as data. The weights room reads them from a
 * model's files, and the text room runs them.
 *
 *   text -> added tokens -> normalizers -> added tokens (normalized) -> splitters -> model -> ids
 *   ids -> the tokens' texts -> decoders -> text
 *
 * Steps, their order and their names are those of Hugging Face's tokenizers library; its version
 * 0.23 defines each one's meaning. The code that fills these structs owns the texts, so opening a
 * tokenizer copies them. */
#pragma once
#include "base/str.h"

enum { TOKENIZER_STEPS_MAX = 16 }; /* of each list, Sequences taken apart */

enum step_kind {
    /* normalizers */
    STEP_NFC,
    STEP_NFD,
    STEP_NFKC,
    STEP_NFKD,
    STEP_LOWERCASE,
    STEP_STRIP_SPACES, /* strips_left, strips_right */
    STEP_STRIP_ACCENTS,
    STEP_REPLACE,  /* pattern, content; also a decoder */
    STEP_PREPEND,  /* content */
    STEP_BERT,     /* cleans_text, spaces_chinese, strips_accents, lowercases */
    STEP_CHARSMAP, /* content: SentencePiece's precompiled character map, decoded from base64 */
    STEP_NMT,
    /* splitters (pre-tokenizers) */
    STEP_SPLIT,       /* pattern, behavior, is_inverted */
    STEP_BYTE_LEVEL,  /* adds_space, uses_regex; also a normalizer and a decoder */
    STEP_METASPACE,   /* content: the replacement, scheme, splits; also a decoder */
    STEP_DIGITS,      /* behavior */
    STEP_PUNCTUATION, /* behavior */
    STEP_WHITESPACE,
    STEP_WHITESPACE_SPLIT,
    STEP_BERT_SPLIT,
    STEP_DELIMITER, /* content: one character */
    /* decoders */
    STEP_BYTE_FALLBACK,
    STEP_FUSE,
    STEP_STRIP_CHARACTER, /* content: one character, start, stop */
    STEP_WORD_PIECE,      /* content: the prefix, cleans_up */
    STEP_BPE_SUFFIX,      /* content: the suffix of words */
};
enum step_behavior {
    BEHAVIOR_ISOLATED,
    BEHAVIOR_REMOVED,
    BEHAVIOR_MERGED_WITH_PREVIOUS,
    BEHAVIOR_MERGED_WITH_NEXT,
    BEHAVIOR_CONTIGUOUS,
};
/* A pair of texts: A, the ids behind a text, perhaps again, then B and the ids behind it. */
enum tokenizer_pair { PAIR_NONE, PAIR_ONCE, PAIR_TWICE };
enum step_scheme { SCHEME_ALWAYS, SCHEME_FIRST, SCHEME_NEVER };

struct tokenizer_step {
    enum step_kind kind;
    enum step_behavior behavior;
    enum step_scheme scheme;
    struct view pattern; /* a regular expression of Oniguruma's if is_regex, else a text */
    struct view content;
    int32_t start, stop; /* characters */
    bool is_regex, is_inverted, splits, adds_space, uses_regex;
    bool strips_left, strips_right, cleans_text, spaces_chinese, strips_accents, lowercases;
    bool cleans_up;
};

/* A token that is found in the text itself, before the model sees it. */
enum added_flag {
    ADDED_SPECIAL = 1,    /* found only where special tokens are looked for; not shown in answers */
    ADDED_NORMALIZED = 2, /* found in normalized text, by its normalized form */
    ADDED_STRIPS_LEFT = 4,
    ADDED_STRIPS_RIGHT = 8,    /* it swallows the white space on that side */
    ADDED_SINGLE_WORD = 16,    /* not found inside a word */
    ADDED_WAS_NORMALIZED = 32, /* it reads as its normalized form, even if it is now found raw */
    ADDED_NAMED = 64, /* the settings name it as bos, eos, ... or an additional special token */
};
struct tokenizer_added {
    int32_t id; /* its text is the vocabulary's */
    unsigned flags;
};

struct tokenizer_steps {
    int32_t n_normalizers, n_splitters, n_decoders;
    const struct tokenizer_step *normalizers, *splitters, *decoders;
    bool has_decoder; /* without one tokens are joined by spaces */
    int32_t n_added;
    const struct tokenizer_added *added;
    /* Ids that are put before and behind every text when special ones are requested. */
    int32_t n_before, n_behind;
    const int32_t *before, *behind;
    enum tokenizer_pair pair; /* NONE: no form is known */
    /* The model: which tokens are its own (added ones may not be), and how it takes words apart. */
    const uint8_t *is_model; /* (n_tokens) */
    int32_t n_merges;
    const int32_t (*merges)[3]; /* BPE: ids of left, right and what they form, the best first */
    bool falls_back_to_bytes, fuses_unknown;
    bool ignores_merges;                  /* whole words that are tokens need no merges */
    struct view word_prefix, word_suffix; /* of pieces inside a word, and of pieces that end one */
    int32_t word_letters_max;             /* WordPiece: longer words are unknown */
    const double *scores;                 /* Unigram: (n_tokens) */
};
