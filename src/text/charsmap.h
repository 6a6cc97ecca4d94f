/* SentencePiece's precompiled character map: texts and their replacements.
 *
 *   4 bytes  the length of the trie in bytes, little-endian
 *   trie     units of 4 bytes of a double array (Darts-clone)
 *   texts    the replacements, each ended by a zero; a value of the trie points into them
 *
 * The map of HF's normalizer "Precompiled" is the same. */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct charsmap {
    uint32_t *units; /* private */
    size_t n_units;
    char *texts;
    size_t n_texts;
};
/* Copies the map. An empty blob makes an empty map. On failure there is nothing to close. */
enum status charsmap_open(struct charsmap *map, struct view blob, struct fault *fault) MUST_USE;
void charsmap_close(struct charsmap *map); /* a zeroed one is fine */
/* Finds the longest text of the map that begins `text`. Returns its bytes and sets its replacement;
 * 0 when there is none. */
size_t charsmap_longest(const struct charsmap *map, struct view text, struct view *replacement);
/* Does the same for the shortest one, which HF's normalizer takes. */
size_t charsmap_shortest(const struct charsmap *map, struct view text, struct view *replacement);
/* Returns the most bytes that one byte of a text can become, at least 1. */
size_t charsmap_growth(const struct charsmap *map);
