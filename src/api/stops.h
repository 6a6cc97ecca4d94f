/* Finds stop strings in a growing text, and counts the bytes that can be shown already.
 *
 * Text that could still become a stop string is held back, so that no part of one is ever sent. */
#pragma once
#include "core/limits.h"
#include "base/str.h"

struct api_stops {
    int32_t n;
    struct view texts[LIMIT_STOP_TEXTS]; /* not empty */
};
struct api_stops_found {
    bool is_found;
    size_t start, end; /* of the match in the text */
};
/* Searches text[from..) for the match that ends first (the longest of several). from must be a
 * position before which no match can have started: at most n bytes shown. */
struct api_stops_found api_stops_find(const struct api_stops *stops, struct view text, size_t from);
/* Returns the number of leading bytes that cannot belong to a match any more. The text has no match
 * from `from` on. */
size_t api_stops_safe(const struct api_stops *stops, struct view text, size_t from);
