/* WordPiece: the longest token that begins a word, then the longest one that continues it. */
#pragma once
#include "text/merge.h"
#include "text/prefixes.h"

struct text_wordpiece {
    struct text_prefixes first; /* tokens at the start of a word */
    struct text_prefixes inner; /* the texts behind the continuing prefix */
    int32_t unknown_id, letters_max;
};
enum status text_wordpiece_open(struct text_wordpiece *wordpiece, const struct text_vocab *vocab,
                                const struct tokenizer_steps *steps, int32_t unknown_id,
                                struct fault *fault) MUST_USE;
void text_wordpiece_close(struct text_wordpiece *wordpiece);
/* Appends the ids of one word, which must be valid UTF-8. It is one unknown token when no tokens
 * form the word. */
void text_wordpiece_encode(const struct text_wordpiece *wordpiece, struct view word,
                           struct text_ids *ids);
