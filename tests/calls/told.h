/* Runs a parser over a text and writes down what it tells: T(text) R(reasoning) C(name args), and
 * C?(...) for a call that is not complete. */
#pragma once
#include "base/pile.h"
#include "calls/parser.h"
#include <jansson.h>

struct told {
    struct str out;             /* in order */
    struct str text, reasoning; /* joined */
    struct str calls;           /* for each: 0x1e NAME 0x1f ARGUMENTS, then 0x1d if it is cut */
    char kind;
    int32_t n_calls;
};
enum { TOLD_WHOLE = 1 << 20 };
void told_free(struct told *told);
/* n_each: bytes of each piece. is_ended false: the end is not told. */
void told_run(struct told *told, struct calls_parser *parser, const char *text, size_t n_each,
              bool is_ended);
/* Reads tools in OpenAI's form. */
void told_tools(struct calls_tools *tools, struct pile *pile, const json_t *array);
/* Asserts that the style tells the answer so, in pieces of any size. */
void told_assert(const char *format, const char *text, const char *expected);
