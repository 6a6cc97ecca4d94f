/* Byte-level BPE.
 *
 * Most words are tokens themselves: which tokens their own bytes lead to is found out once, at
 * open, so such a word costs one look-up. After Sennrich et al. 2016 in the form of GPT-2. */
#include "text/bpe.h"
#include "base/mem.h"
#include <string.h>

enum {
    WHOLE_BYTES_MAX = 48, /* longer tokens are merged every time: they are rare */
    MERGES_MAX = 1 << 22,
};

static void find_pair(const void *of, const char *text, struct text_symbol *left,
                      const struct text_symbol *right)
{
    (void)text;
    const struct text_bpe *bpe = of;
    if (left->id < 0 || right->id < 0)
        return;
    uint32_t rank =
        map_find(&bpe->merges, (uint64_t)(uint32_t)left->id << 32 | (uint32_t)right->id);
    if (rank == MAP_NONE)
        return;
    left->rank = rank;
    left->joined = bpe->joined[rank];
}

static void merge_word(const struct text_bpe *bpe, struct text_merge *merge, struct view word)
{
    merge->find = find_pair;
    merge->of = bpe;
    text_merge_begin(merge, word.n);
    for (size_t i = 0; i < word.n; i++)
        text_merge_add(merge, (uint32_t)i, 1, bpe->vocab->byte_ids[(unsigned char)word.at[i]]);
    text_merge_run(merge, word.at);
}

/* The token of one side of a merge: `letters` in GPT-2's alphabet. */
static int32_t find_side(const struct text_vocab *vocab, struct view letters, unsigned char *bytes,
                         uint32_t *n)
{
    if (letters.n == 0 || letters.n > TEXT_TOKEN_BYTES_MAX)
        return -1;
    if (!text_vocab_unprint(letters, bytes, n)) {
        memcpy(bytes, letters.at, letters.n);
        *n = (uint32_t)letters.n;
    }
    return text_vocab_find(vocab, view_of((const char *)bytes, *n));
}

/* A merge of tokens that the vocabulary lacks is passed over. */
static enum status add_merge(struct text_bpe *bpe, int32_t rank, const char *line,
                             unsigned char *bytes, struct fault *fault)
{
    struct view whole = view_text(line);
    const char *space = memchr(whole.at, ' ', whole.n);
    if (space == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: merge %d has no space: \"%.40s\"",
                         rank, line);
    size_t n_left = (size_t)(space - whole.at);
    uint32_t n[2] = { 0 };
    int32_t left = find_side(bpe->vocab, view_of(whole.at, n_left), bytes, &n[0]);
    if (left < 0)
        return STATUS_OK;
    int32_t right =
        find_side(bpe->vocab, view_of(space + 1, whole.n - n_left - 1), bytes + n[0], &n[1]);
    int32_t joined = text_vocab_find(bpe->vocab, view_of((const char *)bytes, n[0] + n[1]));
    bpe->joined[rank] = joined;
    if (right >= 0 && joined >= 0)
        CHECK(map_put(&bpe->merges, (uint64_t)(uint32_t)left << 32 | (uint32_t)right,
                      (uint32_t)rank));
    return STATUS_OK;
}

static void find_whole(struct text_bpe *bpe, bool ignore_merges)
{
    struct text_merge merge;
    text_merge_init(&merge);
    for (int32_t id = 0; id < bpe->vocab->n_tokens; id++) {
        struct view token = bpe->vocab->tokens[id];
        if (text_vocab_find(bpe->vocab, token) != id)
            continue;
        if (ignore_merges) {
            bpe->is_whole[id] = 1;
        } else if (token.n > 0 && token.n <= WHOLE_BYTES_MAX) {
            merge_word(bpe, &merge, token);
            bpe->is_whole[id] = merge.symbols[0].next < 0 && merge.symbols[0].id == id;
        }
    }
    text_merge_free(&merge);
}

enum status text_bpe_open(struct text_bpe *bpe, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault)
{
    *bpe = (struct text_bpe){ .vocab = vocab, .unknown_id = options->unknown_id };
    int32_t n_merges = options->n_merges;
    if (n_merges < 0 || n_merges > MERGES_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: %d merges, expected 0 to %d",
                         n_merges, MERGES_MAX);
    map_init(&bpe->merges, (uint32_t)n_merges);
    bpe->joined = mem_take((size_t)n_merges * sizeof(*bpe->joined));
    bpe->is_whole = mem_take((size_t)vocab->n_tokens);
    unsigned char *bytes = mem_take(2 * (size_t)TEXT_TOKEN_BYTES_MAX);
    enum status status = STATUS_OK;
    for (int32_t rank = 0; rank < n_merges && status == STATUS_OK; rank++)
        status = add_merge(bpe, rank, options->merges[rank], bytes, fault);
    mem_give(bytes);
    if (status == STATUS_OK)
        find_whole(bpe, options->ignore_merges);
    return status;
}

void text_bpe_close(struct text_bpe *bpe)
{
    map_free(&bpe->merges);
    mem_give(bpe->joined);
    mem_give(bpe->is_whole);
}

void text_bpe_encode(const struct text_bpe *bpe, struct text_merge *merge, struct view word,
                     struct text_ids *ids)
{
    int32_t whole = text_vocab_find(bpe->vocab, word);
    if (whole >= 0 && bpe->is_whole[whole]) {
        text_ids_add(ids, whole);
        return;
    }
    merge_word(bpe, merge, word);
    if (merge->n == 0)
        return;
    for (int32_t i = 0; i >= 0; i = merge->symbols[i].next) {
        int32_t id = merge->symbols[i].id >= 0 ? merge->symbols[i].id : bpe->unknown_id;
        if (id >= 0)
            text_ids_add(ids, id);
    }
}
