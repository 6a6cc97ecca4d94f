/* Regular expressions of model files, searched as the tokenizers library searches them.
 *
 * A pattern comes from a model file, so its length, nesting and match effort are bounded. */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct regex {
    struct pcre2_real_code_8 *code;
};
/* Compiles a pattern as Oniguruma would read it. */
enum status regex_open(struct regex *regex, struct view pattern, struct fault *fault) MUST_USE;
void regex_close(struct regex *regex); /* fine on a zeroed one */

/* One thread's memory for matching with any regex. */
struct regex_work {
    struct pcre2_real_match_data_8 *match;
    struct pcre2_real_match_context_8 *context;
};
void regex_work_init(struct regex_work *work);
void regex_work_free(struct regex_work *work);

/* A walk over the matches in a text, which must be valid UTF-8. Matches may be empty; one that is
 * empty and begins where the last one ended is passed over, as in Oniguruma's bindings. */
struct regex_walk {
    const struct regex *regex;
    struct regex_work *work;
    struct view text;
    size_t from, last_end; /* private; last_end SIZE_MAX: no match yet */
};
void regex_walk_begin(struct regex_walk *walk, const struct regex *regex, struct regex_work *work,
                      struct view text);
/* The next match: bytes bounds[0]..bounds[1]-1. False: there is none, or its effort ran out. */
bool regex_walk_next(struct regex_walk *walk, size_t bounds[2]);
