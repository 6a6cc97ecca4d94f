/* The split patterns of known tokenizers by name. */
#pragma once
#include "base/base.h"

enum { SPLIT_STAGES_MAX = 8 };

/* The stages for a name as GGUF's tokenizer.ggml.pre gives it. An unknown name (NULL too) gets
 * GPT-2's and *is_known = false. */
const char *const *text_patterns_find(const char *name, int *n_stages, bool *is_known);
