/* Sets of code points by the names of Unicode properties, as Oniguruma 6.9.10 knows them (Unicode
 * 16.0). */
#pragma once
#include "base/str.h"

enum { LETTERS_CODES = 0x110000, LETTERS_WORDS = LETTERS_CODES / 32 };
struct letters { /* a set: bit c of at[c / 32] */
    uint32_t at[LETTERS_WORDS];
};
static inline bool letters_has(const struct letters *set, uint32_t code)
{
    return code < LETTERS_CODES && (set->at[code / 32] >> code % 32 & 1) != 0;
}
void letters_add(struct letters *set, uint32_t from, uint32_t to); /* both ends included */
void letters_join(struct letters *set, const struct letters *other);
void letters_keep(struct letters *set, const struct letters *other); /* keeps letters of both */
void letters_invert(struct letters *set);

/* Adds the property of this name: a general category ("Lu", "Uppercase_Letter", "L"), a script, or
 * one of POSIX ("Space"). Case, spaces, '-' and '_' do not count. Returns false for an unknown
 * name. */
bool letters_add_property(struct letters *set, struct view name);
/* Adds the class of a bracket's name, such as "space" of [[:space:]]. */
bool letters_add_bracket(struct letters *set, struct view name);
/* Adds the letters of \w. Outside of a class Oniguruma also counts six of Latin-1's numbers. */
void letters_add_word(struct letters *set, bool is_in_class);
/* Returns whether the code point is one of several that differ only in case, or takes part in a
 * folding that changes the number of letters. */
bool letters_has_case(uint32_t code);
