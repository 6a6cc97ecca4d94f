/* Whether a rendering shows what the messages say. */
#pragma once
#include "template/chat_context.h"

/* STATUS_BAD_INPUT names the first message whose text is lost. */
enum status chat_shown_check(const struct chat_template *t, const struct chat_options *options,
                             const void *kwargs, struct view prompt, struct fault *fault) MUST_USE;
