/* Added tokens: tokens that are found in the text itself, before the model sees it. */
#pragma once
#include "base/status.h"
#include "core/tokenizer_steps.h"
#include "text/prefixes.h"

/* Two sets, by the text that is searched for them: the raw one, and the normalized one. */
struct text_added {
    int32_t n;
    struct tokenizer_added *tokens; /* (n) */
    struct text_prefixes sets[2];   /* [0] raw, [1] normalized; their ids are indexes of tokens */
};
/* texts[i] is the text that finds tokens[i]; it stays the caller's as long as this is open. An
 * empty text is refused, and so is one that two tokens of a set share. With is_lenient neither is:
 * an empty text finds no token, and the first of two tokens counts. */
enum status text_added_open(struct text_added *added, const struct tokenizer_added *tokens,
                            const struct view *texts, int32_t n, bool is_lenient,
                            struct fault *fault) MUST_USE;
void text_added_close(struct text_added *added);

/* Returns the flags of a token, 0 for an id that is no added token. */
unsigned text_added_flags(const struct text_added *added, int32_t id);

/* A walk through a text: the part before a token, then the token. */
struct text_added_walk {
    const struct text_added *added;
    struct view text;
    bool is_normalized, skips_special;
    size_t scanned, taken; /* private below */
};
void text_added_begin(struct text_added_walk *walk, const struct text_added *added,
                      struct view text, bool is_normalized, bool skips_special);
/* Sets before to the text up to the next token (may be empty) and *id to that token, -1 at the end.
 * Returns false when nothing was left. */
bool text_added_next(struct text_added_walk *walk, struct view *before, int32_t *id);
