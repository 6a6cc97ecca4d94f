/* Reads calls that are JSON objects. */
#pragma once
#include "calls/step.h"

bool calls_object_step(struct calls_parser *p, const struct calls_input *in);
