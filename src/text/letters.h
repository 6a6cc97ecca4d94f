/* Letters and digits that Unicode got after the version that our PCRE2 knows (14.0). */
#pragma once
#include "base/str.h"

/* Appends the pattern with \p{L} and \p{N} widened to those of Unicode 16.0, which HF tokenizers
 * know. */
void text_letters_widen(const char *pattern, struct str *out);
