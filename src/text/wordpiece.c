/* WordPiece, as the tokenizers library's wordpiece/mod.rs does it. */
#include "text/wordpiece.h"
#include "base/mem.h"
#include <string.h>

enum { PIECE_BYTES_MAX = 256 }; /* bounds the time for a letter */

enum status text_wordpiece_open(struct text_wordpiece *wordpiece, const struct text_vocab *vocab,
                                const struct tokenizer_steps *steps, int32_t unknown_id,
                                struct fault *fault)
{
    *wordpiece =
        (struct text_wordpiece){ .unknown_id = unknown_id, .letters_max = steps->word_letters_max };
    if (unknown_id < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "tokenizer: a WordPiece model needs an unknown token");
    size_t n_tokens = (size_t)vocab->n_tokens;
    struct view *texts = mem_take(n_tokens * sizeof(*texts));
    struct view *inner = mem_take(n_tokens * sizeof(*inner));
    int32_t *ids = mem_take(n_tokens * sizeof(*ids)), n = 0;
    struct view prefix = steps->word_prefix;
    enum status status = STATUS_OK;
    for (int32_t id = 0; id < vocab->n_tokens; id++) {
        struct view token = vocab->tokens[id];
        if (!steps->is_model[id])
            continue;
        if (token.n > PIECE_BYTES_MAX)
            status = fault_set(fault, STATUS_UNSUPPORTED,
                               "tokenizer: piece %d of a WordPiece model has %zu bytes, at most %d "
                               "are supported",
                               id, token.n, PIECE_BYTES_MAX);
        bool goes_on =
            token.n >= prefix.n && (prefix.n == 0 || memcmp(token.at, prefix.at, prefix.n) == 0);
        texts[n] = token;
        inner[n] = goes_on ? view_of(token.at + prefix.n, token.n - prefix.n) : view_of("", 0);
        ids[n++] = id;
    }
    text_prefixes_open(&wordpiece->first, texts, ids, n, false);
    text_prefixes_open(&wordpiece->inner, inner, ids, n, false);
    mem_give(texts);
    mem_give(inner);
    mem_give(ids);
    return status;
}

void text_wordpiece_close(struct text_wordpiece *wordpiece)
{
    text_prefixes_close(&wordpiece->first);
    text_prefixes_close(&wordpiece->inner);
}

static int64_t count_letters(struct view word)
{
    int64_t n = 0;
    for (size_t i = 0; i < word.n; i++)
        n += ((unsigned char)word.at[i] & 0xC0) != 0x80;
    return n;
}

void text_wordpiece_encode(const struct text_wordpiece *wordpiece, struct view word,
                           struct text_ids *ids)
{
    int64_t n_before = ids->n;
    bool is_known = count_letters(word) <= wordpiece->letters_max;
    for (size_t start = 0; start < word.n && is_known;) {
        const struct text_prefixes *set = start == 0 ? &wordpiece->first : &wordpiece->inner;
        int32_t i = text_prefixes_longest(set, view_of(word.at + start, word.n - start));
        is_known = i >= 0;
        if (!is_known)
            break;
        text_ids_add(ids, set->ids[i]);
        start += set->texts[i].n;
    }
    if (!is_known) {
        ids->n = n_before;
        text_ids_add(ids, wordpiece->unknown_id);
    }
}
