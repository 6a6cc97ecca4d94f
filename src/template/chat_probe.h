/* What a template expects, found by rendering probes. */
#pragma once
#include "template/chat_context.h"

/* Sets t->needs. Each probe has a bound of its own, so that opening a model takes no longer. */
void chat_probe(struct chat_template *t);
