/* SentencePiece's precompiled character map: texts and what they are replaced by.
 *
 *   4 bytes  the length of the trie in bytes, little-endian
 *   trie     units of 4 bytes of a double array (Darts-clone)
 *   texts    the replacements, each ended by a zero; a value of the trie is a place in them
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
/* Copies the map. An empty blob is a map of nothing. On failure there is nothing to close. */
enum status charsmap_open(struct charsmap *map, struct view blob, struct fault *fault) MUST_USE;
void charsmap_close(struct charsmap *map); /* fine on a zeroed one */
/* The longest text of the map that begins `text`: its bytes and its replacement. 0: none does. */
size_t charsmap_longest(const struct charsmap *map, struct view text, struct view *replacement);
/* The same of the shortest, as HF's normalizer takes it. */
size_t charsmap_shortest(const struct charsmap *map, struct view text, struct view *replacement);
/* Each byte of a text becomes so many bytes at most, at least 1. */
size_t charsmap_growth(const struct charsmap *map);
