/* Special tokens in running text: which token, if any, is written out at a position. */
#pragma once
#include "text/vocab.h"

/* A set of token texts, sorted by their bytes. */
struct text_special {
    int32_t n;
    int32_t *ids;        /* (n) by text */
    int32_t starts[257]; /* ids[starts[b]..starts[b + 1]-1] begin with byte b */
};
/* Collects the tokens whose type is in type_bits (bit t = type t); closed by text_special_close. */
void text_special_open(struct text_special *special, const struct text_vocab *vocab,
                       unsigned type_bits);
void text_special_close(struct text_special *special);
/* The longest token of the set at the start of text, -1 when there is none. */
int32_t text_special_match(const struct text_special *special, const struct text_vocab *vocab,
                           struct view text);
/* The token with exactly this text, -1 when there is none. */
int32_t text_special_find(const struct text_special *special, const struct text_vocab *vocab,
                          struct view text);
/* The first, and there the longest, token in text at or after `from`: its position, and its id;
 * text.n and -1 when there is none. */
size_t text_special_search(const struct text_special *special, const struct text_vocab *vocab,
                           struct view text, size_t from, int32_t *id);
