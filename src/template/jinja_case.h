/* Python's str methods about case and kind: upper() to casefold(), isupper() to isprintable(). */
#pragma once
#include "template/jinja.h"

enum jinja_change {
    JINJA_TO_UPPER,
    JINJA_TO_LOWER,
    JINJA_TO_TITLE,
    JINJA_TO_CAPITALIZED,
    JINJA_TO_SWAPPED,
    JINJA_TO_FOLDED,
};
/* Returns a STRING of the run. */
struct jinja_value jinja_case_change(struct jinja_run *run, struct view text,
                                     enum jinja_change how);

enum jinja_test {
    JINJA_ALL_ALPHA,
    JINJA_ALL_ALNUM,
    JINJA_ALL_ASCII,
    JINJA_ALL_DECIMAL,
    JINJA_ALL_DIGIT,
    JINJA_ALL_NUMERIC,
    JINJA_ALL_SPACE,
    JINJA_ALL_PRINTABLE,
    JINJA_ALL_LOWER,
    JINJA_ALL_UPPER,
    JINJA_ALL_TITLE,
};
bool jinja_case_is(struct jinja_run *run, struct view text, enum jinja_test test);
