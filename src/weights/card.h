/* The common part of all makers of cards: checked ids, and tokens that end a generation. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "weights/weights.h"

enum {
    CARD_TOKEN_BYTES_MAX = 1 << 16,
    CARD_MERGES_MAX = 1 << 22,
    CARD_TEMPLATE_BYTES_MAX = 1 << 20,
};

enum weights_token_type { /* GGUF's numbers */
                          TOKEN_NORMAL = 1,
                          TOKEN_UNKNOWN,
                          TOKEN_CONTROL,
                          TOKEN_USER,
                          TOKEN_UNUSED,
                          TOKEN_BYTE,
};

enum weights_strip { STRIP_LEFT = 1, STRIP_RIGHT = 2 };

void weights_card_init(struct weights_card *card);
/* Adds an id that ends a generation, once. Ids outside the vocabulary are skipped. */
void weights_card_add_eog(struct weights_card *card, int64_t id);
/* Adds the well-known end-of-turn tokens ("<|eot_id|>", ...). */
void weights_card_add_known_eog(struct weights_card *card);
/* Checks all that text relies on: byte tokens read <0xHH>, merges are two words, lengths are
 * bounded. */
enum status weights_card_check(const struct weights_card *card, const char *label,
                               struct fault *fault) MUST_USE;
