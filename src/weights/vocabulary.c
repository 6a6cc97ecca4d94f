/* Tokens by id and by text. When two tokens have one text, the text leads to the first. */
#include "weights/vocabulary.h"
#include "base/hash.h"
#include "core/limits.h"
#include <string.h>

void weights_vocabulary_init(struct weights_vocabulary *vocabulary, struct pile *pile, int32_t n)
{
    CHECK(n >= 0 && n <= LIMIT_VOCABULARY);
    size_t count = (size_t)n;
    *vocabulary = (struct weights_vocabulary){ .pile = pile, .n = n };
    vocabulary->tokens = pile_take(pile, count * sizeof(*vocabulary->tokens));
    vocabulary->token_bytes = pile_take(pile, count * sizeof(*vocabulary->token_bytes));
    vocabulary->scores = pile_take(pile, count * sizeof(*vocabulary->scores));
    vocabulary->types = pile_take(pile, count);
    map_init(&vocabulary->by_text, (uint32_t)n + 1);
    for (size_t i = 0; i < count; i++)
        vocabulary->tokens[i] = "";
    memset(vocabulary->types, TOKEN_UNUSED, count);
}

void weights_vocabulary_free(struct weights_vocabulary *vocabulary)
{
    if (vocabulary->pile != NULL)
        map_free(&vocabulary->by_text);
    *vocabulary = (struct weights_vocabulary){ 0 };
}

static uint64_t key_of(struct view text)
{
    return hash_fast(text.at, text.n, 0).low;
}

void weights_vocabulary_set(struct weights_vocabulary *vocabulary, int32_t id, struct view text,
                            enum weights_token_type type)
{
    CHECK(id >= 0 && id < vocabulary->n);
    vocabulary->tokens[id] = text.at;
    vocabulary->token_bytes[id] = text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX;
    vocabulary->types[id] = (uint8_t)type;
    uint64_t key = key_of(text);
    if (map_find(&vocabulary->by_text, key) == MAP_NONE)
        (void)map_put(&vocabulary->by_text, key, (uint32_t)id); /* full: ids were set twice */
}

int32_t weights_vocabulary_find(const struct weights_vocabulary *vocabulary, struct view text)
{
    if (vocabulary->n == 0)
        return -1;
    uint32_t id = map_find(&vocabulary->by_text, key_of(text));
    if (id == MAP_NONE)
        return -1;
    struct view found = view_of(vocabulary->tokens[id], vocabulary->token_bytes[id]);
    return view_equal(found, text) ? (int32_t)id : -1;
}

void weights_vocabulary_give(const struct weights_vocabulary *vocabulary, struct weights_card *card)
{
    card->n_tokens = vocabulary->n;
    card->tokens = vocabulary->tokens;
    card->token_bytes = vocabulary->token_bytes;
    card->scores = card->tokenizer == WEIGHTS_TOKENIZER_SPM ? vocabulary->scores : NULL;
    card->types = vocabulary->types;
}
