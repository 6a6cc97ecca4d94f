/* A tokenizer's description read from the plain JSON that agreement.py writes: {"kind", "tokens",
 * "types", "scores", "merges", ...}. */
#pragma once
#include "text/tokenizer.h"

struct card {
    struct tokenizer_options options;
    struct json_t *root; /* private */
    void *owned[5];      /* private */
};
enum status card_open(struct card *card, const char *path, struct fault *fault) MUST_USE;
void card_close(struct card *card);
