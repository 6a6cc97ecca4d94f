/* Byte pair encoding, after Sennrich et al. 2016, as the tokenizers library's bpe/model.rs does it.
 *
 * Most words are tokens themselves. The ids of their texts are computed once, at open, so that such
 * a word costs one look-up. */
#include "text/bpe.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum {
    WHOLE_BYTES_MAX = 48, /* longer tokens are rare, so they are merged every time */
    MERGES_MAX = 1 << 22,
    AFFIX_BYTES_MAX = 16,
};
#define MARK "\xE2\x96\x81"

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

/* The symbols of a word so far. Unknown letters wait, so that a run of them can become one. */
struct letters {
    const struct text_bpe *bpe;
    struct text_merge *merge;
    bool has_unknown;
};

static void add_symbol(struct letters *l, int32_t id)
{
    text_merge_add(l->merge, 0, 1, id);
}

static void flush_unknown(struct letters *l)
{
    if (l->has_unknown)
        add_symbol(l, l->bpe->unknown_id);
    l->has_unknown = false;
}

/* Adds a letter without a token. The waiting letters are not flushed before bytes, as in the
 * library. */
static void add_unknown(struct letters *l, struct view letter)
{
    const struct text_bpe *bpe = l->bpe;
    bool has_bytes = bpe->falls_back_to_bytes;
    for (size_t i = 0; i < letter.n && has_bytes; i++)
        has_bytes = bpe->byte_ids[(unsigned char)letter.at[i]] >= 0;
    if (has_bytes) {
        for (size_t i = 0; i < letter.n; i++)
            add_symbol(l, bpe->byte_ids[(unsigned char)letter.at[i]]);
    } else if (bpe->unknown_id >= 0) {
        if (!bpe->fuses_unknown)
            flush_unknown(l);
        l->has_unknown = true;
    }
}

static void add_letter(struct letters *l, struct view letter, bool is_first, bool is_last)
{
    const struct text_bpe *bpe = l->bpe;
    char buffer[2 * AFFIX_BYTES_MAX + 4];
    size_t n_prefix = is_first ? 0 : bpe->prefix.n, n_suffix = is_last ? bpe->suffix.n : 0;
    int32_t id = -1;
    if (n_prefix + n_suffix > 0) {
        memcpy(buffer, bpe->prefix.at, n_prefix);
        memcpy(buffer + n_prefix, letter.at, letter.n);
        memcpy(buffer + n_prefix + letter.n, bpe->suffix.at, n_suffix);
        letter = view_of(buffer, n_prefix + letter.n + n_suffix);
        id = text_vocab_find(bpe->vocab, letter);
    } else {
        uint32_t c = 0;
        id = utf8_decode(letter, &c) > 0 && c < TEXT_LETTERS_MAX
                 ? bpe->letter_ids[c]
                 : text_vocab_find(bpe->vocab, letter);
    }
    if (id < 0) {
        add_unknown(l, letter);
        return;
    }
    flush_unknown(l);
    add_symbol(l, id);
}

static size_t letter_bytes(unsigned char c)
{
    return c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

static void merge_word(const struct text_bpe *bpe, struct text_merge *merge, struct view word)
{
    struct letters l = { .bpe = bpe, .merge = merge };
    merge->find = find_pair;
    merge->of = bpe;
    /* Makes room: a letter is one symbol, or one for each of its bytes, including those of its
     * prefix and suffix. */
    text_merge_begin(merge, bpe->falls_back_to_bytes
                                ? word.n * (1 + bpe->prefix.n) + bpe->suffix.n + 1
                                : word.n + 1);
    for (size_t i = 0, n; i < word.n; i += n) {
        n = letter_bytes((unsigned char)word.at[i]);
        n = n < word.n - i ? n : word.n - i;
        add_letter(&l, view_of(word.at + i, n), i == 0, i + n == word.n);
    }
    flush_unknown(&l);
    text_merge_run(merge, word.at);
}

static enum status put_merge(struct text_bpe *bpe, int32_t rank, const int32_t ids[3],
                             struct fault *fault)
{
    for (int i = 0; i < 3; i++)
        if (ids[i] < 0 || ids[i] >= bpe->vocab->n_tokens)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "tokenizer: merge %d has a token that is not in the vocabulary", rank);
    bpe->joined[rank] = ids[2];
    CHECK(
        map_put(&bpe->merges, (uint64_t)(uint32_t)ids[0] << 32 | (uint32_t)ids[1], (uint32_t)rank));
    return STATUS_OK;
}

/* Adds the merge "left right". A merge of tokens that the vocabulary lacks is skipped. */
static enum status put_merge_text(struct text_bpe *bpe, int32_t rank, const char *line,
                                  struct fault *fault)
{
    struct view whole = view_text(line);
    const char *space = memchr(whole.at, ' ', whole.n);
    if (space == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: merge %d has no space: \"%.40s\"",
                         rank, line);
    struct view left = view_of(whole.at, (size_t)(space - whole.at));
    struct view right = view_of(space + 1, whole.n - left.n - 1);
    struct str both;
    str_init(&both);
    str_add(&both, left.at, left.n);
    str_add(&both, right.at, right.n);
    int32_t ids[3] = { text_vocab_find(bpe->vocab, left), text_vocab_find(bpe->vocab, right),
                       text_vocab_find(bpe->vocab, view_of(both.at, both.n)) };
    str_free(&both);
    return ids[0] < 0 || ids[1] < 0 || ids[2] < 0 ? STATUS_OK : put_merge(bpe, rank, ids, fault);
}

static enum status read_merges(struct text_bpe *bpe, const struct text_bpe_options *options,
                               struct fault *fault)
{
    int32_t n = options->n_merges;
    enum status status = STATUS_OK;
    if (n < 0 || n > MERGES_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: %d merges, expected 0 to %d", n,
                         MERGES_MAX);
    map_init(&bpe->merges, (uint32_t)n);
    bpe->joined = mem_take((size_t)n * sizeof(*bpe->joined));
    for (int32_t rank = 0; rank < n && status == STATUS_OK; rank++)
        status = options->merges != NULL
                     ? put_merge(bpe, rank, options->merges[rank], fault)
                     : put_merge_text(bpe, rank, options->merge_texts[rank], fault);
    return status;
}

static void find_letters(struct text_bpe *bpe)
{
    for (uint32_t c = 0; c < TEXT_LETTERS_MAX; c++) {
        char letter[4];
        int n = utf8_encode(c, letter);
        bpe->letter_ids[c] = text_vocab_find(bpe->vocab, view_of(letter, (size_t)n));
    }
    for (int b = 0; b < 256; b++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "<0x%02X>", b);
        bpe->byte_ids[b] = text_vocab_find(bpe->vocab, view_text(name));
    }
}

/* Vocabularies with U+2581 for spaces: a whole text is one word. It is cut at places that no token
 * can cross. */
static void find_mark(struct text_bpe *bpe)
{
    struct view mark = view_text(MARK);
    if (bpe->prefix.n + bpe->suffix.n > 0 || bpe->ignores_merges ||
        text_vocab_find(bpe->vocab, mark) < 0)
        return;
    for (int32_t id = 0; id < bpe->vocab->n_tokens; id++) {
        struct view token = bpe->vocab->tokens[id];
        for (size_t i = mark.n; i + mark.n <= token.n; i++)
            if (memcmp(token.at + i, mark.at, mark.n) == 0 &&
                memcmp(token.at + i - mark.n, mark.at, mark.n) != 0)
                return;
        for (size_t i = 1; i < mark.n && i + mark.n <= token.n; i++)
            if (memcmp(token.at + i, mark.at, mark.n) == 0)
                return;
    }
    bpe->mark = mark;
}

static void find_whole(struct text_bpe *bpe)
{
    struct text_merge merge;
    text_merge_init(&merge);
    for (int32_t id = 0; id < bpe->vocab->n_tokens; id++) {
        struct view token = bpe->vocab->tokens[id];
        bpe->whole_ids[id] = -1;
        if (text_vocab_find(bpe->vocab, token) != id)
            continue;
        if (bpe->ignores_merges) {
            bpe->whole_ids[id] = id;
        } else if (token.n > 0 && token.n <= WHOLE_BYTES_MAX) {
            merge_word(bpe, &merge, token);
            if (merge.n > 0 && merge.symbols[0].next < 0)
                bpe->whole_ids[id] = merge.symbols[0].id;
        }
    }
    text_merge_free(&merge);
}

enum status text_bpe_open(struct text_bpe *bpe, const struct text_vocab *vocab,
                          const struct text_bpe_options *options, struct fault *fault)
{
    *bpe = (struct text_bpe){ .vocab = vocab,
                              .unknown_id = options->unknown_id,
                              .falls_back_to_bytes = options->falls_back_to_bytes,
                              .fuses_unknown = options->fuses_unknown,
                              .ignores_merges = options->ignores_merges,
                              .prefix = options->prefix,
                              .suffix = options->suffix };
    if (bpe->prefix.n > AFFIX_BYTES_MAX || bpe->suffix.n > AFFIX_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "tokenizer: the prefix or suffix of words has more than %d bytes",
                         AFFIX_BYTES_MAX);
    enum status status = read_merges(bpe, options, fault);
    if (status != STATUS_OK)
        return status;
    bpe->whole_ids = mem_take((size_t)vocab->n_tokens * sizeof(*bpe->whole_ids));
    find_letters(bpe);
    find_mark(bpe);
    find_whole(bpe);
    return STATUS_OK;
}

void text_bpe_close(struct text_bpe *bpe)
{
    map_free(&bpe->merges);
    mem_give(bpe->joined);
    mem_give(bpe->whole_ids);
    *bpe = (struct text_bpe){ 0 };
}

static void encode_part(const struct text_bpe *bpe, struct text_merge *merge, struct view word,
                        struct text_ids *ids)
{
    int32_t id = text_vocab_find(bpe->vocab, word);
    if (id >= 0 && bpe->whole_ids[id] >= 0) {
        text_ids_add(ids, bpe->whole_ids[id]);
        return;
    }
    merge_word(bpe, merge, word);
    for (int32_t i = merge->n > 0 ? 0 : -1; i >= 0; i = merge->symbols[i].next)
        text_ids_add(ids, merge->symbols[i].id);
}

void text_bpe_encode(const struct text_bpe *bpe, struct text_merge *merge, struct view word,
                     struct text_ids *ids)
{
    size_t start = 0, n_mark = bpe->mark.n;
    for (size_t i = n_mark; n_mark > 0 && i + n_mark <= word.n; i++) {
        if (word.at[i] == *MARK && memcmp(word.at + i, MARK, n_mark) == 0 &&
            memcmp(word.at + i - n_mark, MARK, n_mark) != 0) {
            encode_part(bpe, merge, view_of(word.at + start, i - start), ids);
            start = i;
        }
    }
    encode_part(bpe, merge, view_of(word.at + start, word.n - start), ids);
}
