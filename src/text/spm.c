/* SentencePiece BPE, as the library's bpe_model.cc decides it: the best score wins, the leftmost
 * of equals; unused pieces take part in merging and are taken apart again at the end; letters
 * without a piece become byte tokens, or else one unknown for a whole run of them. */
#include "text/spm.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE_BYTES_MAX = 48,
    UNUSED_DEPTH_MAX = 64, /* halves of halves of an unused piece */
    UNUSED_JOINS_MAX = 1024,
};

/* How an unused piece was joined last. */
struct unused_join {
    int32_t id;
    uint32_t n_left;
};
struct call {
    const struct text_spm *spm;
    struct text_ids *ids;
    struct unused_join *unused;
    size_t n_unused, unused_capacity;
    bool after_unknown;
};

static void note_unused(struct call *call, int32_t id, uint32_t n_left)
{
    size_t i = 0;
    while (i < call->n_unused && call->unused[i].id != id)
        i++;
    if (i == UNUSED_JOINS_MAX)
        return; /* it stays whole */
    if (i == call->unused_capacity) {
        size_t capacity = i < 16 ? 16 : 2 * i, size = sizeof(*call->unused);
        call->unused = mem_grow(call->unused, i * size, capacity * size);
        call->unused_capacity = capacity;
    }
    call->unused[i] = (struct unused_join){ id, n_left };
    if (i == call->n_unused)
        call->n_unused++;
}

static void find_pair(const void *of, const char *text, struct text_symbol *left,
                      const struct text_symbol *right)
{
    struct call *call = (struct call *)(uintptr_t)of;
    const struct text_spm *spm = call->spm;
    size_t n = (size_t)left->n + right->n;
    if (n > spm->piece_bytes_max)
        return;
    int32_t id = text_vocab_find(spm->vocab, view_of(text + left->start, n));
    if (id < 0)
        return;
    left->rank = spm->ranks[id];
    left->joined = id;
    if (spm->vocab->types[id] == TEXT_UNUSED)
        note_unused(call, id, left->n);
}

static size_t letter_bytes(const char *at, size_t n)
{
    unsigned char c = (unsigned char)*at;
    size_t wanted = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return wanted < n ? wanted : n;
}

static int32_t letter_id(const struct text_spm *spm, struct view letter)
{
    if (letter.n == 1 && (unsigned char)*letter.at < 128)
        return spm->ascii_ids[(unsigned char)*letter.at];
    return text_vocab_find(spm->vocab, letter);
}

static void merge_word(struct call *call, struct text_merge *merge, struct view word)
{
    merge->find = find_pair;
    merge->of = call;
    text_merge_begin(merge, word.n);
    for (size_t i = 0, n; i < word.n; i += n) {
        n = letter_bytes(word.at + i, word.n - i);
        text_merge_add(merge, (uint32_t)i, (uint32_t)n,
                       letter_id(call->spm, view_of(word.at + i, n)));
    }
    text_merge_run(merge, word.at);
}

static void add_unknown(struct call *call)
{
    if (!call->after_unknown && call->spm->unknown_id >= 0)
        text_ids_add(call->ids, call->spm->unknown_id);
    call->after_unknown = true;
}

static void add_id(struct call *call, int32_t id)
{
    text_ids_add(call->ids, id);
    call->after_unknown = false;
}

static void add_piece(struct call *call, struct view piece, int32_t id, int depth)
{
    const struct text_vocab *vocab = call->spm->vocab;
    if (id >= 0 && vocab->types[id] == TEXT_UNUSED && depth < UNUSED_DEPTH_MAX) {
        for (size_t i = 0; i < call->n_unused; i++) {
            if (call->unused[i].id != id)
                continue;
            size_t n = call->unused[i].n_left;
            struct view left = view_of(piece.at, n), right = view_of(piece.at + n, piece.n - n);
            add_piece(call, left, text_vocab_find(vocab, left), depth + 1);
            add_piece(call, right, text_vocab_find(vocab, right), depth + 1);
            return;
        }
    }
    if (id >= 0) {
        add_id(call, id);
        return;
    }
    for (size_t i = 0; i < piece.n; i++) {
        int32_t byte_id = vocab->byte_ids[(unsigned char)piece.at[i]];
        if (byte_id >= 0)
            add_id(call, byte_id);
        else
            add_unknown(call);
    }
}

static void encode_word(struct call *call, struct text_merge *merge, struct view word)
{
    int32_t whole = text_vocab_find(call->spm->vocab, word);
    if (whole >= 0 && call->spm->is_whole[whole]) {
        add_id(call, whole);
        return;
    }
    merge_word(call, merge, word);
    if (merge->n == 0)
        return;
    for (int32_t i = 0; i >= 0; i = merge->symbols[i].next) {
        const struct text_symbol *symbol = &merge->symbols[i];
        add_piece(call, view_of(word.at + symbol->start, symbol->n), symbol->id, 0);
    }
}

/* A piece can't cross from a letter to a following space when no piece holds such a pair. */
static void encode_plain(struct call *call, struct text_merge *merge, struct view text)
{
    size_t start = 0;
    if (call->spm->splits_words) {
        for (size_t i = 1; i < text.n; i++) {
            if (text.at[i] == ' ' && text.at[i - 1] != ' ') {
                encode_word(call, merge, view_of(text.at + start, i - start));
                start = i;
            }
        }
    }
    encode_word(call, merge, view_of(text.at + start, text.n - start));
}

void text_spm_encode(const struct text_spm *spm, struct text_merge *merge, struct view text,
                     struct text_ids *ids)
{
    struct call call = { .spm = spm, .ids = ids };
    for (size_t at = 0; at < text.n;) {
        int32_t id = -1;
        size_t end = text_special_search(&spm->user, spm->vocab, text, at, &id);
        if (end > at)
            encode_plain(&call, merge, view_of(text.at + at, end - at));
        if (id >= 0) {
            add_id(&call, id);
            end += spm->vocab->tokens[id].n;
        }
        at = end;
    }
    mem_give(call.unused);
}

void text_spm_normalize(struct view raw, struct str *out)
{
    for (size_t i = 0; i < raw.n;) {
        if ((unsigned char)raw.at[i] < 128) {
            size_t start = i;
            while (i < raw.n && (unsigned char)raw.at[i] < 128)
                i++;
            str_add(out, raw.at + start, i - start);
            continue;
        }
        uint32_t letter = 0;
        int n = utf8_decode(view_of(raw.at + i, raw.n - i), &letter);
        if (n <= 0)
            str_add(out, "\xEF\xBF\xBD", 3);
        else if (letter == 0x2581)
            str_add_char(out, ' ');
        else
            str_add(out, raw.at + i, (size_t)n);
        i += n > 0 ? (size_t)n : 1;
    }
}

struct scored {
    float score;
    int32_t id;
};

static int compare_scores(const void *a, const void *b)
{
    const struct scored *left = a, *right = b;
    if (left->score > right->score)
        return -1;
    if (left->score < right->score)
        return 1;
    return (left->id > right->id) - (left->id < right->id);
}

static void rank_scores(struct text_spm *spm, const float *scores)
{
    int32_t n = spm->vocab->n_tokens;
    struct scored *order = mem_take((size_t)n * sizeof(*order));
    for (int32_t id = 0; id < n; id++) {
        float score = scores[id] == scores[id] ? scores[id] : -3.0e38f; /* NaN sorts last */
        order[id] = (struct scored){ score, id };
    }
    qsort(order, (size_t)n, sizeof(*order), compare_scores);
    uint32_t rank = 0;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && order[i].score < order[i - 1].score)
            rank++;
        spm->ranks[order[i].id] = rank;
    }
    mem_give(order);
}

static void survey(struct text_spm *spm)
{
    const struct text_vocab *vocab = spm->vocab;
    spm->splits_words = true;
    for (int32_t id = 0; id < vocab->n_tokens; id++) {
        struct view token = vocab->tokens[id];
        if (text_vocab_find(vocab, token) != id)
            continue;
        spm->piece_bytes_max = token.n > spm->piece_bytes_max ? token.n : spm->piece_bytes_max;
        for (size_t i = 1; i < token.n && spm->splits_words; i++)
            spm->splits_words = token.at[i] != ' ' || token.at[i - 1] == ' ';
    }
    for (int c = 0; c < 128; c++) {
        char letter = (char)c;
        spm->ascii_ids[c] = text_vocab_find(vocab, view_of(&letter, 1));
    }
}

static void find_whole(struct text_spm *spm)
{
    struct text_merge merge;
    text_merge_init(&merge);
    struct call call = { .spm = spm };
    for (int32_t id = 0; id < spm->vocab->n_tokens; id++) {
        struct view token = spm->vocab->tokens[id];
        if (spm->vocab->types[id] != TEXT_NORMAL || token.n == 0 || token.n > WHOLE_BYTES_MAX ||
            text_vocab_find(spm->vocab, token) != id)
            continue;
        merge_word(&call, &merge, token);
        spm->is_whole[id] = merge.symbols[0].next < 0 && merge.symbols[0].id == id;
    }
    mem_give(call.unused);
    text_merge_free(&merge);
}

enum status text_spm_open(struct text_spm *spm, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault)
{
    *spm = (struct text_spm){ .vocab = vocab, .unknown_id = options->unknown_id };
    if (options->scores == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: a SentencePiece model needs scores");
    spm->ranks = mem_take((size_t)vocab->n_tokens * sizeof(*spm->ranks));
    spm->is_whole = mem_take((size_t)vocab->n_tokens);
    rank_scores(spm, options->scores);
    text_special_open(&spm->user, vocab, 1u << TEXT_USER_DEFINED);
    survey(spm);
    find_whole(spm);
    return STATUS_OK;
}

void text_spm_close(struct text_spm *spm)
{
    mem_give(spm->ranks);
    mem_give(spm->is_whole);
    text_special_close(&spm->user);
}
