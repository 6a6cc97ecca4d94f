/* Renders a chat template: what a render, the probes and the check share. */
#pragma once
#include "template/chat.h"

/* Renders without a check of the result. kwargs is a json_t or NULL. On failure out is as
 * before. */
enum status chat_template_run(const struct chat_template *t, const struct chat_options *options,
                              const void *kwargs, int64_t steps_max, struct str *out,
                              struct fault *fault) MUST_USE;
