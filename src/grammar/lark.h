/* The common part of Lark's notation: rules and terminals, literals, regular expressions, ranges,
 * groups, options, repetitions, aliases, comments, and some of %import common. Refused: %ignore,
 * templates, %declare and the like. */
#pragma once
#include "grammar/build.h"

void lark_read(struct build *build, struct view text);
