/* Checks JSON that arrives in pieces, byte by byte, in fixed memory. */
#pragma once
#include "base/str.h"

enum { CALLS_JSON_DEPTH_MAX = 120 }; /* deeper values are refused */

struct calls_json {
    uint8_t state, depth;
    uint8_t n_left;       /* of an escape or a literal: bytes that are still to come */
    const char *literal;  /* the rest of true, false or null */
    uint64_t is_array[2]; /* a bit for each open bracket */
};
enum calls_json_end {
    CALLS_JSON_MORE, /* all bytes were taken, and the value is not complete */
    CALLS_JSON_DONE, /* the value ended; a number ends before the byte behind it */
    CALLS_JSON_BAD,  /* the next byte cannot follow */
};
void calls_json_init(struct calls_json *json);
/* Takes bytes of one value and sets *n to how many belong to it. Control characters inside of
 * strings are accepted, since models write them; they must be escaped on the way out. */
enum calls_json_end calls_json_take(struct calls_json *json, struct view bytes, size_t *n);
bool calls_json_in_string(const struct calls_json *json);
/* Returns whether the bytes are exactly one value, without white space around it. */
bool calls_json_is_value(struct view bytes);
