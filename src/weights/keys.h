/* The keys of model files, as data: which are read, which are supported at one value only, and
 * which are known not to change what a model computes. A key in none of these rows is ignored, as
 * transformers and llama.cpp do; `shoal show` lists it. */
#pragma once
#include "base/pile.h"
#include "base/str.h"

enum weights_key_use {
    WEIGHTS_KEY_READ,
    WEIGHTS_KEY_FIXED, /* another value than those of `only` is refused */
    WEIGHTS_KEY_INERT,
};

struct weights_key {
    const char *families; /* names between spaces; NULL: all */
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

/* The first keys of a file that have no row, as they can be shown: plain text of at most 80 bytes.
 */
struct weights_unknown {
    const char *names[16];
    int32_t n;       /* names */
    int32_t n_found; /* those that are left off too */
};
void weights_keys_unknown(struct weights_unknown *unknown, struct pile *pile, struct view name);

/* Whether `words`, text between separators, holds this word; NULL words hold every one. */
bool weights_keys_hold(const char *words, char separator, struct view word);
/* The row of a key in the rows that end at name NULL; NULL: it is unknown. */
const struct weights_key *weights_keys_find(const struct weights_key *rows, struct view family,
                                            struct view name);
/* Whether a number is among the values of `only`. */
bool weights_keys_allow(const char *only, double number);
