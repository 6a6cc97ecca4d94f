/* Prints a server's GET /models for `shoal ps`. */
#pragma once
#include "base/base.h"
#include <jansson.h>

/* Prints to stdout. Narrow: no line has more than 80 columns; wide: every count of every model. */
void ps_table_print(const json_t *root, bool is_wide);
