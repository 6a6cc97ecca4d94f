/* Operations on texts that methods and filters share. Positions and lengths count letters. */
#pragma once
#include "template/jinja.h"

int64_t jinja_text_length(struct jinja_run *run, struct view text);
/* Returns the byte of a letter; the end for a letter behind the last. Negative numbers count from
 * the end, as in a slice. */
size_t jinja_text_offset(struct view text, int64_t letter);
/* Returns text[first:end] with the bounds of a slice. */
struct view jinja_text_part(struct jinja_run *run, struct view text, int64_t first, int64_t end);

enum jinja_side { JINJA_LEFT = 1, JINJA_RIGHT = 2 };
/* Strips any of the letters of chars; white space when chars.at is NULL. */
struct view jinja_text_strip(struct jinja_run *run, struct view text, struct view chars,
                             unsigned sides);
/* Returns the byte of the first (last) occurrence, -1 when there is none. */
int64_t jinja_text_find(struct jinja_run *run, struct view text, struct view what);
int64_t jinja_text_find_last(struct jinja_run *run, struct view text, struct view what);
int64_t jinja_text_count(struct jinja_run *run, struct view text, struct view what);
/* Makes at most `limit` replacements; -1 means all. Returns a STRING. */
struct jinja_value jinja_text_replace(struct jinja_run *run, struct view text, struct view old,
                                      struct view with, int64_t limit);
/* Splits at the separator, or at white space when separator.at is NULL. limit -1 means no limit.
 * Returns a LIST of strings. */
struct jinja_value jinja_text_split(struct jinja_run *run, struct view text, struct view separator,
                                    int64_t limit);
struct jinja_value jinja_text_split_right(struct jinja_run *run, struct view text,
                                          struct view separator, int64_t limit);
/* Does splitlines(): splits at every line end that Python knows. */
struct jinja_value jinja_text_lines(struct jinja_run *run, struct view text, bool keeps_ends);
/* Returns a TUPLE of three. */
struct jinja_value jinja_text_partition(struct jinja_run *run, struct view text, struct view what,
                                        bool last);
/* Returns a and then b as one STRING. */
struct jinja_value jinja_text_concat(struct jinja_run *run, struct view a, struct view b);
/* Joins the strings of items with the separator between. With prints it takes str() of each. */
struct jinja_value jinja_text_join(struct jinja_run *run, struct view separator,
                                   struct jinja_value items, bool prints);
/* Fills up to this many letters, left and right of the text. */
struct jinja_value jinja_text_pad(struct jinja_run *run, struct view text, struct view fill,
                                  int64_t n_left, int64_t n_right);
struct jinja_value jinja_text_tabs(struct jinja_run *run, struct view text, int64_t width);
