/* Cuts texts to a model's context, where a client's API promises so. */
#pragma once
#include "api/api_options.h"
#include "base/pile.h"

enum { TRUNCATE_TOKEN_BYTES_MAX = 1024 }; /* no token has more text than this */
/* Returns the text, or its longest beginning (within a few tokens) that fits the context with the
 * special tokens of the flags. A shorter text lies in the pile. A text that can't be cut is returned
 * as it is. flags: enum tokenizer_flag. */
struct view api_truncate(const struct api_model *model, struct view text, unsigned flags,
                         struct pile *pile);
