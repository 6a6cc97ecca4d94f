/* Letters (Unicode code points) as Python's str sees them: their kinds and their case. */
#pragma once
#include "base/str.h"

/* Returns the letter that begins at byte i of the text, and sets its bytes. A broken byte is
 * U+FFFD. */
uint32_t jinja_letter_at(struct view text, size_t i, size_t *n_bytes);
/* Returns the letter that ends before byte `end`, which is not 0. */
uint32_t jinja_letter_before(struct view text, size_t end, size_t *n_bytes);

enum jinja_trait {
    JINJA_IS_ALPHA = 1,
    JINJA_IS_DECIMAL = 2,
    JINJA_IS_DIGIT = 4,
    JINJA_IS_NUMERIC = 8,
    JINJA_IS_LOWER = 16,
    JINJA_IS_UPPER = 32,
    JINJA_IS_TITLE = 64,
    JINJA_IS_SPACE = 128,
    JINJA_IS_PRINTABLE = 256,
    JINJA_IS_IGNORABLE = 512, /* skipped in the search around a final sigma */
    JINJA_IS_ALNUM = JINJA_IS_ALPHA | JINJA_IS_DECIMAL | JINJA_IS_DIGIT | JINJA_IS_NUMERIC,
    JINJA_IS_CASED = JINJA_IS_LOWER | JINJA_IS_UPPER | JINJA_IS_TITLE,
};
unsigned jinja_letter_traits(uint32_t letter);
bool jinja_letter_is_space(uint32_t letter); /* str.isspace */
int jinja_letter_digit(uint32_t letter);     /* value of a decimal digit, else -1 */

enum jinja_case { JINJA_UPPER, JINJA_LOWER, JINJA_TITLE, JINJA_FOLD };
/* Writes the letter in this case: one to three letters. Returns how many. */
int jinja_letter_map(uint32_t letter, enum jinja_case how, uint32_t out[3]);
