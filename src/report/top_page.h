/* The page of `shoal top`. */
#pragma once
#include "report/top.h"

/* Writes at most `height` lines, each of at most `width` characters and a newline. 0: no bound.
 * unix_s is the time in the first line. */
void top_page_print(const struct top *top, int width, int height, int64_t unix_s, struct str *out);
