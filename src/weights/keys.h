/* The keys of model files as data: keys that are read, keys that are supported at certain values
 * only, and keys that do not change what a model computes. A key without a row is ignored, as in
 * transformers and llama.cpp; `shoal show` lists it. */
#pragma once
#include "base/pile.h"
#include "base/str.h"

enum weights_key_use {
    WEIGHTS_KEY_READ,
    WEIGHTS_KEY_FIXED, /* other values than those of `only` are refused */
    WEIGHTS_KEY_INERT,
};

struct weights_key {
    const char *families; /* names between spaces, with "!" ahead: all others; NULL: all */
    const char *name;
    const char *only; /* FIXED: the values, with | between them */
    uint8_t use;
};

#define WEIGHTS_READ(families, name)                                                               \
    {                                                                                              \
        families, name, NULL, WEIGHTS_KEY_READ                                                     \
    }
#define WEIGHTS_FIXED(families, name, only)                                                        \
    {                                                                                              \
        families, name, only, WEIGHTS_KEY_FIXED                                                    \
    }
#define WEIGHTS_INERT(families, name)                                                              \
    {                                                                                              \
        families, name, NULL, WEIGHTS_KEY_INERT                                                    \
    }

/* The first keys of a file without a row, in printable form: plain text of at most 80 bytes. */
struct weights_unknown {
    const char *names[16];
    int32_t n;       /* names */
    int32_t n_found; /* including those that did not fit */
};
void weights_keys_unknown(struct weights_unknown *unknown, struct pile *pile, struct view name);

/* Returns whether `words`, a text with separators, holds this word. NULL holds every word. */
bool weights_keys_hold(const char *words, char separator, struct view word);
/* Returns whether a row with these families is one of this family. */
bool weights_keys_are_of(const char *families, struct view family);
/* Returns the row of a key. A NULL name ends the rows. Returns NULL for an unknown key. */
const struct weights_key *weights_keys_find(const struct weights_key *rows, struct view family,
                                            struct view name);
/* Returns whether a number is among the values of `only`. */
bool weights_keys_allow(const char *only, double number);
