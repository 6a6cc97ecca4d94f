/* Reads gpt-oss's messages. */
#pragma once
#include "calls/step.h"

bool calls_harmony_step(struct calls_parser *p, const struct calls_input *in);
