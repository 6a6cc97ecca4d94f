/* The card of a GGUF file. */
#pragma once
#include "weights/card.h"
#include "weights/gguf.h"

/* Makes the card. Texts are copied into the file's pile. n_vocabulary is the rows of the embedding,
 * which the list of tokens must not exceed; 0 when the file has none. */
enum status weights_gguf_card(struct weights_gguf *gguf, int32_t n_vocabulary,
                              struct weights_card *card, struct fault *fault) MUST_USE;
