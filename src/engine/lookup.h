/* Prompt look-up: guesses how a text of token ids goes on from an earlier place with the same last
 * tokens. The text is a prompt with its answer so far.
 * (A. Saxena, "Prompt Lookup Decoding", 2023; vLLM's method "ngram".) */
#pragma once
#include <stdint.h>

enum {
    ENGINE_LOOKUP_LEAST = 2, /* tokens that must be equal */
    ENGINE_LOOKUP_MOST = 16, /* more are not compared */
};
/* Returns the position behind the earlier place, where its continuation begins; 0: there is none.
 * The place with the most equal tokens wins, and of equal ones the last. Cost: up to n times
 * ENGINE_LOOKUP_MOST comparisons, usually n. */
int32_t engine_lookup(const int32_t *tokens, int32_t n);
