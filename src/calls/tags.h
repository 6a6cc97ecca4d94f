/* Reads calls whose parameters stand in tags. */
#pragma once
#include "calls/step.h"

bool calls_tags_step(struct calls_parser *p, const struct calls_input *in);
