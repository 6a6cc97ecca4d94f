/* Normalizers: the steps that change a text before it is split. */
#pragma once
#include "core/tokenizer_steps.h"
#include "text/charsmap.h"
#include "text/regex.h"
#include "text/unicode.h"

struct normalizer_step {
    struct tokenizer_step step; /* its texts are in the pile */
    struct regex regex;
    struct charsmap charsmap;
};
struct normalizer {
    int32_t n_steps;
    struct normalizer_step steps[TOKENIZER_STEPS_MAX];
    size_t growth; /* a text of n bytes becomes at most n * growth bytes long */
};
struct pile;
/* Copies texts into the pile. The caller closes it by normalizer_close, also after a failure. */
enum status normalizer_open(struct normalizer *normalizer, const struct tokenizer_step *steps,
                            int32_t n_steps, struct pile *pile, struct fault *fault) MUST_USE;
void normalizer_close(struct normalizer *normalizer);

/* One thread's text in progress.
 *
 * The first n_first bytes of text stand for the first character of the source. A space that belongs
 * before the first word only is put before each piece that begins among them. */
struct normalizer_work {
    struct str text;
    size_t n_first;
    bool is_too_long; /* a text grew over the limit and was cut; stays set */
    struct str next;  /* private below */
    size_t n_next_first;
    struct unicode_changes changes;
    struct regex_work *regex;
};
void normalizer_work_init(struct normalizer_work *work, struct regex_work *regex);
void normalizer_work_free(struct normalizer_work *work);
/* Sets work->text to the normal form of text, which must be valid UTF-8. */
void normalizer_run(const struct normalizer *normalizer, struct normalizer_work *work,
                    struct view text);
