/* The part of the tokenizers library's unigram/model.rs around Viterbi's algorithm.
 *
 * A run of unknown letters counts as one. It becomes a token if one has its text, else its bytes,
 * else the unknown token. */
#include "text/unigram_words.h"
#include "text/bytes.h"
#include "base/mem.h"
#include <math.h>

/* Drops repeated texts: the last of several equal tokens counts. */
static void drop_repeated(const struct text_vocab *vocab, uint8_t *roles, int32_t n_model)
{
    struct map last;
    map_init(&last, (uint32_t)n_model + 1);
    for (int32_t id = vocab->n_tokens - 1; id >= 0; id--) {
        int32_t first = text_vocab_find(vocab, vocab->tokens[id]);
        if (roles[id] == UNIGRAM_NO_PIECE || first < 0)
            continue;
        if (map_find(&last, (uint64_t)first) != MAP_NONE)
            roles[id] = UNIGRAM_NO_PIECE;
        else
            CHECK(map_put(&last, (uint64_t)first, (uint32_t)id));
    }
    map_free(&last);
}

enum status text_unigram_words_open(struct text_unigram_words *u, const struct text_vocab *vocab,
                                    const struct tokenizer_steps *steps, int32_t unknown_id,
                                    struct fault *fault)
{
    *u = (struct text_unigram_words){ .unknown_id = unknown_id };
    if (steps->scores == NULL || unknown_id < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "tokenizer: a Unigram model needs scores and an unknown token");
    struct unigram_options options = { .n_tokens = vocab->n_tokens,
                                       .texts = vocab->tokens,
                                       .scores = steps->scores,
                                       .score_min = INFINITY,
                                       .unknown_id = unknown_id };
    uint8_t *roles = mem_take((size_t)vocab->n_tokens);
    int32_t n_model = 0;
    for (int32_t id = 0; id < vocab->n_tokens; id++) {
        roles[id] = steps->is_model[id] ? UNIGRAM_PIECE : UNIGRAM_NO_PIECE;
        n_model += steps->is_model[id] != 0;
        if (steps->is_model[id] && steps->scores[id] < options.score_min)
            options.score_min = steps->scores[id];
    }
    drop_repeated(vocab, roles, n_model);
    for (int b = 0; b < 256; b++)
        u->byte_ids[b] = -1;
    for (int32_t id = 0; id < vocab->n_tokens && steps->falls_back_to_bytes; id++) {
        struct view token = vocab->tokens[id];
        int byte = roles[id] == UNIGRAM_PIECE ? text_bytes_named(token) : -1;
        if (byte >= 0 && token.at[3] < 'a' && token.at[4] < 'a') /* capitals only */
            u->byte_ids[byte] = id;
    }
    options.roles = roles;
    enum status status = unigram_open(&u->unigram, &options, fault);
    mem_give(roles);
    return status;
}

void text_unigram_words_close(struct text_unigram_words *u)
{
    unigram_close(&u->unigram);
}

static void add_unknown(const struct text_unigram_words *u, struct view text, struct text_ids *ids)
{
    const struct text_prefixes *pieces = &u->unigram.pieces;
    int32_t i = text_prefixes_longest(pieces, text);
    if (i >= 0 && pieces->texts[i].n == text.n) {
        text_ids_add(ids, pieces->ids[i]);
        return;
    }
    bool has_bytes = true;
    for (size_t k = 0; k < text.n && has_bytes; k++)
        has_bytes = u->byte_ids[(unsigned char)text.at[k]] >= 0;
    for (size_t k = 0; k < text.n && has_bytes; k++)
        text_ids_add(ids, u->byte_ids[(unsigned char)text.at[k]]);
    if (!has_bytes)
        text_ids_add(ids, u->unknown_id);
}

void text_unigram_words_encode(const struct text_unigram_words *u, struct unigram_work *work,
                               struct view word, struct text_ids *ids)
{
    unigram_divide(&u->unigram, work, word);
    for (size_t i = 0; i < work->n;) {
        size_t first = i;
        while (i < work->n && work->pieces[i].id == u->unknown_id)
            i++;
        if (i > first) {
            const struct unigram_piece *last = &work->pieces[i - 1];
            size_t start = work->pieces[first].start;
            add_unknown(u, view_of(word.at + start, last->start + last->n - start), ids);
        } else {
            text_ids_add(ids, work->pieces[i++].id);
        }
    }
}
