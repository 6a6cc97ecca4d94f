/* Finds out what a template expects, by rendering probes. */
#pragma once
#include "template/chat_context.h"

/* Sets t->needs. Each probe has its own bound, so that it does not slow the opening of a model. */
void chat_probe(struct chat_template *t);
