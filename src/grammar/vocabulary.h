/* A vocabulary as masks need it.
 *
 * A token's plain part is its longest beginning of whole characters that may stand in a JSON string
 * as they are. The rest is its tail. Inside a string, plain tokens are allowed or not all together,
 * and
 * the others by their tails. There are few different tails. */
#pragma once
#include "grammar/grammar.h"
#include "grammar/trie.h"

struct grammar_vocabulary {
    int32_t n, n_words; /* tokens; words of a mask */
    uint32_t n_codes;   /* the most code points of a plain part */
    uint32_t *plain;    /* (n_words) tokens without tail */
    uint32_t *blank;    /* (n_words) tokens without bytes, which only free text has */
    struct trie all;    /* the tokens */
    struct trie mixed;  /* tokens with a tail; its ids are tokens */
    uint32_t *tails_of; /* (mixed.n_entries) the tail of each, an entry of `tails` */
    struct trie tails;  /* different tails; an id is its first in `by_tail` */
    uint32_t n_tails;
    uint32_t *tail_first; /* (n_tails + 1) */
    int32_t *by_tail;     /* tokens, tail by tail */
};
