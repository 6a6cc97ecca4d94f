/* Checks whether a rendering shows the text of the messages. */
#pragma once
#include "template/chat_context.h"

/* STATUS_BAD_INPUT names the first message with a lost text. */
enum status chat_shown_check(const struct chat_template *t, const struct chat_options *options,
                             const void *kwargs, struct view prompt, struct fault *fault) MUST_USE;
