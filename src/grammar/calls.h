/* Calls of tools: literal pieces around values of schemas, see grammar.h. The text is JSON. */
#pragma once
#include "grammar/build.h"
#include "grammar/grammar.h"

void calls_read(struct build *build, struct view text);
