/* Finds stop strings in a growing text, and says how much of it can be shown already.
 *
 * Whatever could still become a stop string is held back, so that no part of one is ever sent. */
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
/* Looks at text[from..): the match that ends first (of those the longest). from must lie where no
 * match can have started before: at most n bytes shown. */
struct api_stops_found api_stops_find(const struct api_stops *stops, struct view text, size_t from);
/* How many bytes of the text (which has no match from `from` on) can no longer be part of one. */
size_t api_stops_safe(const struct api_stops *stops, struct view text, size_t from);
