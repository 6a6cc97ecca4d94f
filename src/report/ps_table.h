/* What `shoal ps` prints of a server's GET /models. */
#pragma once
#include "base/base.h"
#include <jansson.h>

/* To stdout. Narrow: no line of more than 80 columns; wide: every count of every model. */
void ps_table_print(const json_t *root, bool is_wide);
