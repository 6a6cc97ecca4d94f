/* Tables of characters as the tokenizers library sees them. text/unicode.h is their interface. */
#pragma once
#include "base/base.h"

enum unicode_class {
    UNICODE_NUMERIC,     /* Nd, Nl, No */
    UNICODE_PUNCTUATION, /* P, and ASCII's signs */
    UNICODE_WORD,        /* \w of regular expressions */
    UNICODE_CONTROL,     /* removed by BERT's cleaning */
    UNICODE_COMBINING,   /* M, for StripAccents */
    UNICODE_NONSPACING,  /* Mn, for BERT's accent stripping */
    UNICODE_FROZEN,      /* too new for the library's normal forms: stays unchanged */
    UNICODE_EXTENDING,   /* joins the letter before it in a grapheme cluster */
};
struct unicode_table {
    const uint32_t *edges; /* (n): first, behind the last, first, ...; ascending */
    size_t n;
};
extern const struct unicode_table unicode_tables[];

/* Every step-th character of first..last has a lower case at this distance. */
struct unicode_lower {
    uint32_t first, last;
    int32_t distance;
    uint32_t step;
};
extern const struct unicode_lower unicode_tables_lower[]; /* ascending */
extern const int unicode_tables_n_lower;
