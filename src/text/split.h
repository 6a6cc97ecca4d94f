/* Cutting text into words by regular expressions, as tokenizers ask for it. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum { TEXT_SPLIT_STAGES_MAX = 8 };

/* Every stage cuts each piece of the stage before: what matches is a piece, and so is what lies
 * between two matches. */
struct text_split {
    struct pcre2_real_code_8 *stages[TEXT_SPLIT_STAGES_MAX];
    int n_stages;
};
/* patterns: n regular expressions, one per stage. */
enum status text_split_open(struct text_split *split, const char *const *patterns, int n_patterns,
                            struct fault *fault) MUST_USE;
void text_split_close(struct text_split *split);

/* The state of one thread's splitting. */
struct text_splitter {
    const struct text_split *split;
    struct pcre2_real_match_data_8 *matches[TEXT_SPLIT_STAGES_MAX];
    struct pcre2_real_match_context_8 *context;
    void (*word)(void *of, struct view word);
    void *of;
};
void text_splitter_init(struct text_splitter *splitter, const struct text_split *split);
void text_splitter_free(struct text_splitter *splitter);
/* Calls word for each piece of text, which must be valid UTF-8. */
void text_splitter_run(struct text_splitter *splitter, struct view text);
