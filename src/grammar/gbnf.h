/* llama.cpp's notation for grammars. A rule is `name ::= alternatives`; the first one is root. */
#pragma once
#include "grammar/build.h"

void gbnf_read(struct build *build, struct view text);
