/* Takes a model's answer apart: plain text, reasoning, and calls of tools.
 *
 *   TEXT --(mark)--> REASONING --(mark)--> TEXT
 *   TEXT --(mark)--> SECTION --> one call after the other --> TEXT
 *
 * A parser reads a text that grows, by position, and keeps no copy of it. Each decision depends on
 * the bytes alone, so that any division of the text into pieces gives the same result. A mark that
 * is not complete is held back. A call is told as soon as its name and the start of its arguments
 * are there; a call that turns out to be malformed goes on as text, from its first byte. */
#pragma once
#include "calls/state.h"

/* The style and the tools (NULL: none are offered) must outlive the parser. */
void calls_parser_init(struct calls_parser *parser, const struct calls_style *style,
                       const struct calls_tools *tools, bool starts_in_reasoning);
/* Goes on with a text that has grown, or not. is_end: no more will come, so that all that is held
 * back is told. */
void calls_parser_go(struct calls_parser *parser, struct view text, bool is_end,
                     const struct calls_sink *sink);
/* Returns whether a prompt ends inside of open reasoning. */
bool calls_parser_starts_in_reasoning(const struct calls_style *style, struct view prompt);
