/* A configured model as the edges need it: tokenizer, template and numbers, from its file's
 * header. */
#pragma once
#include "config/model_template.h"
#include "core/model_spec.h"
#include "text/tokenizer.h"

struct weights;
struct weights_card;

struct model_card {
    struct tokenizer *tokenizer;
    struct chat_template *chat_template; /* NULL: it has no usable template */
    struct fault chat_fault;             /* why it can't be used; empty: it can, or is absent */
    struct model_spec spec;
    int64_t file_bytes;
    int32_t bos_id, eos_id, n_eog;
    int32_t eog_ids[16];
    char format[24];
};
/* template: NULL for the model's own. */
enum status model_card_open(struct model_card *card, const char *name,
                            const struct model_template_options *template,
                            const struct weights *weights, struct fault *fault) MUST_USE;
void model_card_close(struct model_card *card);
/* Opens the tokenizer of a file's card, for tokenizer_close; NULL on failure. */
enum status model_card_open_tokenizer(struct tokenizer **out, const struct weights_card *w,
                                      struct fault *fault) MUST_USE;
