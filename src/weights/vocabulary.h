/* A vocabulary being put together: tokens by id, and back from text to id. */
#pragma once
#include "base/pile.h"
#include "base/map.h"
#include "base/status.h"
#include "weights/card.h"

struct weights_vocabulary {
    struct pile *pile; /* the arrays live there; texts are the caller's and must live as long */
    int32_t n;
    const char **tokens;
    uint32_t *token_bytes;
    float *scores;  /* 0 */
    uint8_t *types; /* TOKEN_UNUSED until set */
    struct map by_text;
};

/* Room for ids 0..n-1 (n <= LIMIT_VOCABULARY), all of them unused and empty. */
void weights_vocabulary_init(struct weights_vocabulary *vocabulary, struct pile *pile, int32_t n);
void weights_vocabulary_free(struct weights_vocabulary *vocabulary); /* not what lies in the pile */
void weights_vocabulary_set(struct weights_vocabulary *vocabulary, int32_t id, struct view text,
                            enum weights_token_type type);
/* -1 when there is no such token. */
int32_t weights_vocabulary_find(const struct weights_vocabulary *vocabulary, struct view text);
/* Hands the arrays to the card. */
void weights_vocabulary_give(const struct weights_vocabulary *vocabulary,
                             struct weights_card *card);
