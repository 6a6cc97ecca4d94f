/* Which chat template a model has: its own, or one that the configuration names. */
#pragma once
#include "template/chat.h"
#include "weights/weights.h"

struct model_template_options {
    const char *wanted;   /* chat_template of the configuration; NULL: the model's own */
    const char *fallback; /* default_chat_template: of models that have none; NULL: none */
    const char *time;     /* template_time; NULL: the local time */
};
/* *out is NULL when the model has no template (why is empty then), or one that cannot be used (why
 * tells). A template that the configuration names must be usable: else a status with the fault. */
enum status model_template_open(struct chat_template **out, const struct weights_card *card,
                                const struct model_template_options *options, struct fault *why,
                                struct fault *fault) MUST_USE;
/* Whether a default_chat_template can be used, whichever models there are. */
enum status model_template_check_default(const char *fallback, struct fault *fault) MUST_USE;
