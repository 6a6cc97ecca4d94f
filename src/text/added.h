/* Added tokens: those that are found in the text itself, before the model sees it. */
#pragma once
#include "base/status.h"
#include "core/tokenizer_steps.h"
#include "text/prefixes.h"

/* Two sets, by the text in which they are looked for: as it came, and normalized. */
struct text_added {
    int32_t n;
    struct tokenizer_added *tokens; /* (n) */
    struct text_prefixes sets[2];   /* [0] raw, [1] normalized; their ids are indexes of tokens */
};
/* texts[i] is what tokens[i] is found by, the caller's as long as this is open. Two that are found
 * by one text, and one by none, are refused; or the first counts, if is_lenient. */
enum status text_added_open(struct text_added *added, const struct tokenizer_added *tokens,
                            const struct view *texts, int32_t n, bool is_lenient,
                            struct fault *fault) MUST_USE;
void text_added_close(struct text_added *added);

/* The flags of a token, 0 for an id that is none. */
unsigned text_added_flags(const struct text_added *added, int32_t id);

/* A walk through a text: what lies before a token, then the token. */
struct text_added_walk {
    const struct text_added *added;
    struct view text;
    bool is_normalized, skips_special;
    size_t scanned, taken; /* private below */
};
void text_added_begin(struct text_added_walk *walk, const struct text_added *added,
                      struct view text, bool is_normalized, bool skips_special);
/* *before: the text up to the next token, perhaps empty; *id: that token, -1 at the end. False when
 * nothing was left. */
bool text_added_next(struct text_added_walk *walk, struct view *before, int32_t *id);
