/* Characters as the tokenizers library sees them: classes, lower case, normal forms. */
#pragma once
#include "text/unicode_tables.h"
#include "base/str.h"

bool unicode_is(enum unicode_class class, uint32_t c);
/* Writes the lower case of one character: one or two characters. Returns how many. */
int unicode_lower(uint32_t c, uint32_t out[2]);
/* Returns whether no boundary of grapheme clusters lies between two neighbouring characters. state
 * is 0 at the start of a text, and is passed from one pair to the next. */
bool unicode_joins(uint32_t left, uint32_t right, int32_t *state);

/* One character that a step writes. change tells which characters of the source it stands for: 0
 * means the next one, -n the next one and n behind it. 1 means none of its own, since it belongs to
 * the one before. */
struct unicode_change {
    uint32_t c;
    int32_t change;
};
struct unicode_changes {
    struct unicode_change *at;
    size_t n, capacity;
};
void unicode_changes_add(struct unicode_changes *changes, uint32_t c, int32_t change);
void unicode_changes_free(struct unicode_changes *changes);

enum unicode_form { UNICODE_COMPOSED = 1, UNICODE_COMPATIBLE = 2 }; /* both: NFKC, none: NFD */
/* Appends the normal form of text, which must be valid UTF-8. */
void unicode_normalize(struct view text, unsigned form, struct unicode_changes *out);
