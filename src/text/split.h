/* Cutting text into words by regular expressions, as tokenizers ask for it. */
#pragma once
#include "text/regex.h"

enum { SPLIT_STAGES_MAX = 8 };

/* Every stage cuts each piece of the stage before: what matches is a piece, and so is what lies
 * between two matches. */
struct split {
    struct regex stages[SPLIT_STAGES_MAX];
    int n_stages;
};
/* patterns: n regular expressions, one per stage. */
enum status split_open(struct split *split, const char *const *patterns, int n_patterns,
                       struct fault *fault) MUST_USE;
void split_close(struct split *split);

/* The state of one thread's splitting. */
struct split_work {
    const struct split *split;
    struct regex_work regex;
    void (*word)(void *of, struct view word);
    void *of;
};
void split_work_init(struct split_work *work, const struct split *split);
void split_work_free(struct split_work *work);
/* Calls word for each piece of text, which must be valid UTF-8. work->regex.is_spent afterwards:
 * the patterns took too many steps, and the pieces are not all. */
void split_work_run(struct split_work *work, struct view text);
