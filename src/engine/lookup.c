/* Prompt look-up. See lookup.h. */
#include "engine/lookup.h"

#include "base/base.h"

/* Returns how many tokens before position `end` equal the last ones before position n. */
static int32_t n_equal(const int32_t *tokens, int32_t n, int32_t end)
{
    int32_t most = min_i32(end, ENGINE_LOOKUP_MOST), k = 0;
    while (k < most && tokens[end - 1 - k] == tokens[n - 1 - k])
        k++;
    return k;
}

int32_t engine_lookup(const int32_t *tokens, int32_t n)
{
    int32_t best = ENGINE_LOOKUP_LEAST - 1, from = 0;
    if (n <= ENGINE_LOOKUP_LEAST)
        return 0;
    const int32_t last = tokens[n - 1], before = tokens[n - 2];
    for (int32_t end = n - 1; end >= ENGINE_LOOKUP_LEAST && best < ENGINE_LOOKUP_MOST; end--) {
        if (tokens[end - 1] != last || tokens[end - 2] != before)
            continue;
        int32_t k = n_equal(tokens, n, end);
        if (k > best) {
            best = k;
            from = end;
        }
    }
    return from;
}
