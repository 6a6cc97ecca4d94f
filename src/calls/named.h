/* Reads calls whose name stands before their arguments in JSON, and the heads of calls in tags. */
#pragma once
#include "calls/step.h"

bool calls_named_step(struct calls_parser *p, const struct calls_input *in);
