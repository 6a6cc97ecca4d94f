/* Splitters (pre-tokenizers): cutting a normalized text into the words that the model sees. */
#pragma once
#include "core/tokenizer_steps.h"
#include "text/regex.h"

enum { SPLITTER_STEPS_MAX = 3 * TOKENIZER_STEPS_MAX }; /* some consist of three */
struct splitter_step {
    struct tokenizer_step step; /* its texts are in the pile */
    struct regex regex;
};
/* Each step cuts every piece of the step before. */
struct splitter {
    int32_t n_steps;
    struct splitter_step steps[SPLITTER_STEPS_MAX];
    size_t growth; /* a text of n bytes makes pieces of at most n * growth bytes */
};
struct pile;
/* Copies texts into the pile. The caller closes it by splitter_close, also after a failure. */
enum status splitter_open(struct splitter *splitter, const struct tokenizer_step *steps,
                          int32_t n_steps, struct pile *pile, struct fault *fault) MUST_USE;
void splitter_close(struct splitter *splitter);

/* One thread's splitting. */
struct splitter_work {
    const struct splitter *splitter;
    struct regex_work *regex;
    struct str buffers[SPLITTER_STEPS_MAX]; /* the result of a step for its piece */
    void (*word)(void *of, struct view word);
    void *of;
};
void splitter_work_init(struct splitter_work *work, const struct splitter *splitter,
                        struct regex_work *regex);
void splitter_work_free(struct splitter_work *work);
/* Calls word for each piece of text, which must be valid UTF-8; no piece is empty. The first
 * n_first bytes of text stand for the start of the source (text/normalizer.h). */
void splitter_run(struct splitter_work *work, struct view text, size_t n_first);
/* Calls word for bytes that are not UTF-8, as byte-level vocabularies spell them. */
void splitter_add_bytes(struct splitter_work *work, struct view bytes);
