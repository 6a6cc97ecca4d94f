/* Chooses the chat template of a model: its own, or one that the configuration names. */
#pragma once
#include "template/chat.h"
#include "weights/weights.h"

struct model_template_options {
    const char *wanted;   /* chat_template of the configuration; NULL: the model's own */
    const char *fallback; /* default_chat_template, for models without one; NULL: none */
    const char *time;     /* template_time; NULL: the local time */
};
/* Sets *out to NULL when the model has no template (why is empty then), or an unusable one (why has
 * the reason). A template that the configuration names must be usable; else a status with the fault
 * is returned. */
enum status model_template_open(struct chat_template **out, const struct weights_card *card,
                                const struct model_template_options *options, struct fault *why,
                                struct fault *fault) MUST_USE;
/* Checks that a default_chat_template can be used, whichever models there are. */
enum status model_template_check_default(const char *fallback, struct fault *fault) MUST_USE;
