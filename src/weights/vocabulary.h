/* A vocabulary while it is built: tokens by id, and ids by text. */
#pragma once
#include "base/pile.h"
#include "base/map.h"
#include "base/status.h"
#include "weights/card.h"

struct weights_vocabulary {
    struct pile *pile; /* owns the arrays; texts are the caller's and must live as long */
    int32_t n;
    const char **tokens;
    uint32_t *token_bytes;
    float *scores;  /* 0 until set */
    uint8_t *types; /* TOKEN_UNUSED until set */
    struct map by_text;
};

/* Makes room for ids 0..n-1 (n <= LIMIT_VOCABULARY), all unused and empty. */
void weights_vocabulary_init(struct weights_vocabulary *vocabulary, struct pile *pile, int32_t n);
void weights_vocabulary_free(struct weights_vocabulary *vocabulary); /* not what lies in the pile */
void weights_vocabulary_set(struct weights_vocabulary *vocabulary, int32_t id, struct view text,
                            enum weights_token_type type);
/* Returns -1 when there is no such token. */
int32_t weights_vocabulary_find(const struct weights_vocabulary *vocabulary, struct view text);
/* Hands the arrays to the card. */
void weights_vocabulary_give(const struct weights_vocabulary *vocabulary,
                             struct weights_card *card);
