/* Reads calls in Python's form. */
#pragma once
#include "calls/step.h"

bool calls_python_step(struct calls_parser *p, const struct calls_input *in);
