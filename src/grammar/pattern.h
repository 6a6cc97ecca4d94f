/* Regular expressions as ECMA-262 has them (with the flag u), as expressions.
 *
 * Supported: classes, groups, alternatives, quantifiers, ^ and $, and a look-ahead at the start of
 * the pattern, behind its ^. Refused by name: back-references, \b, other look-arounds, \p of what
 * is not a general category. */
#pragma once
#include "base/status.h"
#include "grammar/expr.h"

/* Sets out to the automaton of a pattern (valid UTF-8) that is searched: it may lie anywhere in a
 * text, unless ^ and $ hold it. is_whole: it is the whole text. */
enum status pattern_dfa(struct pile *pile, struct view pattern, bool is_whole, struct dfa **out,
                        struct fault *fault) MUST_USE;
/* Reads a pattern without look-arounds, ignoring the case of ASCII letters if asked. */
enum status pattern_read(struct pile *pile, struct view pattern, bool ignores_case,
                         struct expr **out, struct fault *fault) MUST_USE;
