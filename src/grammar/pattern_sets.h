/* Sets of code points as regular expressions write them: \d, \w, \s, \p, escapes, classes. */
#pragma once
#include "base/status.h"
#include "grammar/dfa.h"

/* Reads an escape at the start of rest. Returns its bytes, 0 with the fault set. */
size_t pattern_sets_escape(struct pile *pile, struct view rest, struct dfa_set *out,
                           struct fault *fault);
/* Reads the content of a class up to its ], as GBNF writes it too. rest: behind the [. Returns the
 * bytes read with the ], 0 with the fault set. */
size_t pattern_sets_class(struct pile *pile, struct view rest, struct dfa_set *out,
                          struct fault *fault);
