/* SentencePiece as the library of version 0.2.3 decides it.
 *
 * BPE (bpe_model.cc): the best score wins, the leftmost of equals. Unused pieces take part in
 * merging and are taken apart again at the end. Unigram: text/unigram.c. Letters without a piece
 * become byte tokens. Without byte tokens, a whole run of such letters becomes one unknown
 * token. */
#include "text/spm.h"
#include "base/hash.h"
#include "base/mem.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE_BYTES_MAX = 48,
    USER_BYTES_MAX = 256,   /* of a user-defined piece: bounds the time for a letter */
    UNUSED_DEPTH_MAX = 100, /* halves of halves of an unused piece, the library's limit */
};
#define SPACE "\xE2\x96\x81"

struct call {
    const struct text_spm *spm;
    struct text_spm_work *work;
    struct text_ids *ids;
    bool after_unknown;
};

static int32_t find_piece(const struct text_spm *spm, struct view text)
{
    uint32_t id = map_find(&spm->index, hash_fast(text.at, text.n, 0).low);
    return id != MAP_NONE && view_equal(spm->pieces[id], text) ? (int32_t)id : -1;
}

static void note_unused(struct call *call, int32_t id, uint32_t n_left)
{
    if (call->work->unused == NULL)
        call->work->unused = mem_take((size_t)call->spm->vocab->n_tokens * sizeof(uint32_t));
    call->work->unused[id] = n_left;
}

static bool is_user(const struct text_spm *spm, int32_t id)
{
    return id >= 0 && spm->vocab->types[id] == TEXT_USER_DEFINED;
}

static void find_pair(const void *of, const char *text, struct text_symbol *left,
                      const struct text_symbol *right)
{
    struct call *call = (struct call *)(uintptr_t)of;
    const struct text_spm *spm = call->spm;
    size_t n = (size_t)left->n + right->n;
    if (n > spm->piece_bytes_max || is_user(spm, left->id) || is_user(spm, right->id))
        return;
    int32_t id = find_piece(spm, view_of(text + left->start, n));
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
    return find_piece(spm, letter);
}

/* Returns the bytes of the longest user-defined piece at a place. */
static size_t user_at(const struct text_spm *spm, struct view text, size_t at, int32_t *id)
{
    const struct text_prefixes *user = &spm->user;
    unsigned char first = (unsigned char)text.at[at];
    if (user->n == 0 || user->starts[first] == user->starts[first + 1])
        return 0;
    int32_t found = text_prefixes_longest(user, view_of(text.at + at, text.n - at));
    if (found < 0)
        return 0;
    *id = user->ids[found];
    return user->texts[found].n;
}

static void merge_word(struct call *call, struct view word)
{
    struct text_merge *merge = &call->work->merge;
    merge->find = find_pair;
    merge->of = call;
    text_merge_begin(merge, word.n);
    for (size_t i = 0, n; i < word.n; i += n) {
        int32_t id = -1;
        n = user_at(call->spm, word, i, &id);
        if (n == 0) {
            n = letter_bytes(word.at + i, word.n - i);
            id = letter_id(call->spm, view_of(word.at + i, n));
        }
        text_merge_add(merge, (uint32_t)i, (uint32_t)n, id);
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

/* Adds a text without a piece. */
static void add_bytes(struct call *call, struct view text)
{
    const int32_t *byte_ids = call->spm->vocab->byte_ids;
    if (!call->spm->sentence.falls_back) {
        add_unknown(call);
        return;
    }
    for (size_t i = 0; i < text.n; i++) {
        int32_t id = byte_ids[(unsigned char)text.at[i]];
        if (id >= 0)
            add_id(call, id);
        else
            add_unknown(call);
    }
}

static void add_piece(struct call *call, struct view piece, int32_t id, int depth)
{
    bool is_unused = id >= 0 && call->spm->vocab->types[id] == TEXT_UNUSED;
    uint32_t n = is_unused && call->work->unused != NULL ? call->work->unused[id] : 0;
    if (id < 0 || (is_unused && n == 0 && depth <= UNUSED_DEPTH_MAX)) {
        add_bytes(call, piece);
    } else if (!is_unused || depth > UNUSED_DEPTH_MAX) {
        add_id(call, id);
    } else {
        struct view left = view_of(piece.at, n), right = view_of(piece.at + n, piece.n - n);
        add_piece(call, left, find_piece(call->spm, left), depth + 1);
        add_piece(call, right, find_piece(call->spm, right), depth + 1);
    }
}

static void encode_word(struct call *call, struct view word)
{
    const struct text_merge *merge = &call->work->merge;
    int32_t whole = find_piece(call->spm, word);
    if (whole >= 0 && call->spm->is_whole[whole]) {
        add_id(call, whole);
        return;
    }
    merge_word(call, word);
    if (merge->n == 0)
        return;
    for (int32_t i = 0; i >= 0; i = merge->symbols[i].next) {
        const struct text_symbol *symbol = &merge->symbols[i];
        add_piece(call, view_of(word.at + symbol->start, symbol->n), symbol->id, 0);
    }
}

static bool is_space_at(struct view text, size_t at)
{
    return at + 3 <= text.n && memcmp(text.at + at, SPACE, 3) == 0;
}

/* A piece can't cross from a letter to a following space when no piece holds such a pair. */
static void encode_plain(struct call *call, struct view text)
{
    size_t start = 0;
    for (size_t i = 1; call->spm->splits_words && i + 3 <= text.n; i++) {
        if (is_space_at(text, i) && !(i >= 3 && is_space_at(text, i - 3))) {
            encode_word(call, view_of(text.at + start, i - start));
            start = i;
        }
    }
    if (start < text.n)
        encode_word(call, view_of(text.at + start, text.n - start));
}

/* The way in which an unused piece is taken apart depends on the pair that it was last formed from,
 * in the whole text. So a model with such pieces merges the text as one. */
static void encode_bpe(struct call *call, struct view text)
{
    size_t start = 0;
    if (call->spm->has_unused) {
        encode_word(call, text);
        return;
    }
    for (size_t at = 0; at < text.n;) {
        int32_t id = -1;
        size_t n = user_at(call->spm, text, at, &id);
        if (n == 0) {
            at += letter_bytes(text.at + at, text.n - at);
            continue;
        }
        encode_plain(call, view_of(text.at + start, at - start));
        add_id(call, id);
        start = at += n;
    }
    encode_plain(call, view_of(text.at + start, text.n - start));
}

static void encode_unigram(struct call *call, struct view text)
{
    struct unigram_work *work = &call->work->unigram;
    unigram_divide(&call->spm->unigram, work, text);
    for (size_t i = 0; i < work->n; i++) {
        const struct unigram_piece *piece = &work->pieces[i];
        if (piece->id == call->spm->unknown_id || piece->id < 0)
            add_bytes(call, view_of(text.at + piece->start, piece->n));
        else
            add_id(call, piece->id);
    }
}

void text_spm_work_init(struct text_spm_work *work)
{
    *work = (struct text_spm_work){ 0 };
    text_merge_init(&work->merge);
}

void text_spm_work_free(struct text_spm_work *work)
{
    text_merge_free(&work->merge);
    unigram_work_free(&work->unigram);
    str_free(&work->text);
    str_free(&work->raw);
    str_free(&work->prepared);
    mem_give(work->ids);
    mem_give(work->unused);
}

static void encode(const struct text_spm *spm, struct text_spm_work *work, struct view raw,
                   struct text_ids *ids)
{
    struct call call = { .spm = spm, .work = work, .ids = ids };
    str_clear(&work->text);
    text_spm_normalize(spm, raw, &work->text);
    struct view text = view_of(work->text.at, work->text.n);
    if (text.n > 0 && spm->sentence.is_unigram)
        encode_unigram(&call, text);
    else if (text.n > 0)
        encode_bpe(&call, text);
}

/* --- transformers' "legacy": false ---
 *
 * The model adds no space by itself. A U+2581 is put before the whole text, and each U+2581 in it
 * becomes a space. Then the added tokens are cut out. A part that begins with a space is encoded
 * with the unknown token's text before it, so that the model keeps the space. The ids of that text
 * are then removed. */

static bool begins_with_space(struct view text)
{
    return view_starts(text, " ") || view_starts(text, SPACE);
}

/* Encodes the unknown token's text and a part behind it into work->ids. Returns how many ids there
 * are. */
static int64_t encode_behind_unknown(const struct text_spm *spm, struct text_spm_work *work,
                                     struct view part)
{
    str_clear(&work->raw);
    str_add(&work->raw, spm->unknown.at, spm->unknown.n);
    str_add(&work->raw, part.at, part.n);
    struct view raw = view_of(work->raw.at, work->raw.n);
    struct text_ids counted = { 0 };
    encode(spm, work, raw, &counted);
    if ((size_t)counted.n > work->ids_capacity) {
        mem_give(work->ids);
        work->ids_capacity = (size_t)counted.n;
        work->ids = mem_take(work->ids_capacity * sizeof(*work->ids));
    }
    struct text_ids ids = { .at = work->ids, .n_max = counted.n };
    encode(spm, work, raw, &ids);
    return ids.n;
}

/* Returns whether the result is a single id for U+2581. */
static bool is_lone_space(const struct text_spm *spm, const struct text_spm_work *work,
                          const int32_t *ids, int64_t n)
{
    struct view text = view_of(work->text.at, work->text.n);
    if (n != 1 || text.n < 3 || !is_space_at(text, text.n - 3))
        return false;
    return ids[0] == spm->unknown_id || view_equal_text(spm->pieces[ids[0]], SPACE);
}

bool text_spm_encode(const struct text_spm *spm, struct text_spm_work *work, struct view raw,
                     struct text_ids *ids)
{
    if (!spm->sentence.is_modern || !begins_with_space(raw)) {
        encode(spm, work, raw, ids);
        return false;
    }
    int64_t n = encode_behind_unknown(spm, work, raw);
    int64_t n_unknown = n >= spm->n_unknown ? spm->n_unknown : 0;
    for (int64_t i = n_unknown; i < n; i++)
        text_ids_add(ids, work->ids[i]);
    return is_lone_space(spm, work, work->ids + n_unknown, n - n_unknown);
}

struct view text_spm_prepare(const struct text_spm *spm, struct text_spm_work *work,
                             struct view text)
{
    if (!spm->sentence.is_modern || text.n == 0)
        return text;
    str_clear(&work->prepared);
    if (spm->sentence.adds_prefix)
        str_add_text(&work->prepared, SPACE);
    for (size_t i = 0; i < text.n;) {
        bool is_space = is_space_at(text, i);
        str_add(&work->prepared, is_space ? " " : text.at + i, 1);
        i += is_space ? 3 : 1;
    }
    return view_of(work->prepared.at, work->prepared.n);
}

static void open_modern(struct text_spm *spm)
{
    struct text_spm_work work;
    struct view unknown = spm->sentence.unknown;
    if (!spm->sentence.is_modern)
        return;
    spm->unknown = view_of(pile_text(&spm->pile, unknown.at, unknown.n), unknown.n);
    text_spm_work_init(&work);
    spm->n_unknown = encode_behind_unknown(spm, &work, view_of("", 0));
    text_spm_work_free(&work);
}

/* --- normalizing --- */

/* Returns the bytes of the first unit of the text, and sets its normal form. */
static size_t normal_prefix(const struct text_spm *spm, struct view text, struct view *out)
{
    int32_t id;
    size_t n = user_at(spm, text, 0, &id);
    if (n == 0)
        n = charsmap_longest(&spm->charsmap, text, out);
    else
        *out = view_of(text.at, n);
    if (n > 0)
        return n;
    int letter = utf8_decode(text, NULL);
    *out = letter > 0 ? view_of(text.at, (size_t)letter) : view_of("\xEF\xBF\xBD", 3);
    return letter > 0 ? (size_t)letter : 1;
}

static void add_spaced(struct str *out, struct view text, const char *space)
{
    for (size_t i = 0, start = 0; i <= text.n; i++) {
        if (i < text.n && text.at[i] != ' ')
            continue;
        str_add(out, text.at + start, i - start);
        if (i < text.n)
            str_add_text(out, space);
        start = i + 1;
    }
}

/* Returns the bytes of the spaces at the start of a text. */
static size_t first_spaces(const struct text_spm *spm, struct view text)
{
    size_t at = 0;
    struct view out;
    while (at < text.n) {
        size_t n = normal_prefix(spm, view_of(text.at + at, text.n - at), &out);
        if (!view_equal_text(out, " "))
            break;
        at += n;
    }
    return at;
}

void text_spm_normalize(const struct text_spm *spm, struct view raw, struct str *out)
{
    const struct tokenizer_sentence *sentence = &spm->sentence;
    const char *space = sentence->keeps_spaces ? " " : SPACE;
    size_t start = out->n, n_space = strlen(space);
    bool removes = sentence->removes_spaces, after_space = removes;
    size_t at = removes ? first_spaces(spm, raw) : 0;
    if (at == raw.n)
        return;
    bool is_prefixed = sentence->adds_prefix && !sentence->is_modern;
    if (is_prefixed && !sentence->is_suffix)
        str_add_text(out, space);
    while (at < raw.n) {
        struct view piece;
        at += normal_prefix(spm, view_of(raw.at + at, raw.n - at), &piece);
        while (after_space && piece.n > 0 && piece.at[0] == ' ')
            piece = view_of(piece.at + 1, piece.n - 1);
        if (piece.n == 0)
            continue;
        add_spaced(out, piece, space);
        after_space = removes && piece.at[piece.n - 1] == ' ';
    }
    while (removes && out->n - start >= n_space &&
           memcmp(out->at + out->n - n_space, space, n_space) == 0) {
        out->n -= n_space;
        out->at[out->n] = '\0';
    }
    if (is_prefixed && sentence->is_suffix)
        str_add_text(out, space);
}

/* --- opening --- */

struct scored {
    float score;
    int32_t id;
};

/* Compares as the library does: by the bits, so that -0 is worse than 0. */
static int compare_scores(const void *a, const void *b)
{
    const struct scored *left = a, *right = b;
    if (left->score != right->score)
        return left->score > right->score ? -1 : 1;
    int is_left_negative = __builtin_signbit(left->score) != 0;
    int is_right_negative = __builtin_signbit(right->score) != 0;
    if (is_left_negative != is_right_negative)
        return is_left_negative - is_right_negative;
    return (left->id > right->id) - (left->id < right->id);
}

static bool is_same_score(const struct scored *a, const struct scored *b)
{
    return memcmp(&a->score, &b->score, sizeof(a->score)) == 0;
}

static void rank_scores(struct text_spm *spm, const float *scores)
{
    int32_t n = spm->vocab->n_tokens;
    struct scored *order = mem_take((size_t)n * sizeof(*order));
    for (int32_t id = 0; id < n; id++) {
        float score = scores[id] == scores[id] ? scores[id] : -FLT_MAX; /* NaN sorts last */
        order[id] = (struct scored){ score, id };
    }
    qsort(order, (size_t)n, sizeof(*order), compare_scores);
    uint32_t rank = 0;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && !is_same_score(&order[i], &order[i - 1]))
            rank++;
        spm->ranks[order[i].id] = rank;
    }
    mem_give(order);
}

void text_spm_find_spaces(const struct text_spm *spm, bool *begins_with_space)
{
    for (int32_t id = 0; id < spm->vocab->n_tokens; id++)
        begins_with_space[id] = is_space_at(spm->pieces[id], 0);
}

static bool may_form(const struct text_spm *spm, int32_t id)
{
    uint8_t type = spm->vocab->types[id];
    bool is_user = type == TEXT_USER_DEFINED && !spm->sentence.cuts_at_user;
    int32_t n = spm->sentence.n_pieces;
    if (n > 0 && id >= n)
        return false; /* it was added */
    return spm->pieces[id].n > 0 && (type == TEXT_NORMAL || type == TEXT_UNUSED || is_user);
}

/* Returns whether the piece has a space behind another letter. */
static bool crosses_words(struct view piece)
{
    for (size_t i = 1; i + 3 <= piece.n; i++)
        if (is_space_at(piece, i) && !(i >= 3 && is_space_at(piece, i - 3)))
            return true;
    return false;
}

/* Among equal pieces the last one counts, as in llama.cpp. sentencepiece has no equal pieces, since
 * weights refuses them. */
static enum status index_pieces(struct text_spm *spm, struct fault *fault)
{
    int32_t n = spm->vocab->n_tokens, n_user = 0;
    enum status status = STATUS_OK;
    int32_t *user_ids = mem_take((size_t)n * sizeof(*user_ids));
    struct view *users = mem_take((size_t)n * sizeof(*users));
    spm->splits_words = true;
    map_init(&spm->index, (uint32_t)n);
    for (int32_t id = 0; id < n; id++) {
        struct view piece = spm->pieces[id];
        if (!may_form(spm, id))
            continue;
        CHECK(map_put(&spm->index, hash_fast(piece.at, piece.n, 0).low, (uint32_t)id));
        spm->piece_bytes_max = piece.n > spm->piece_bytes_max ? piece.n : spm->piece_bytes_max;
        spm->splits_words = spm->splits_words && !crosses_words(piece);
        spm->has_unused = spm->has_unused || spm->vocab->types[id] == TEXT_UNUSED;
        if (spm->vocab->types[id] != TEXT_USER_DEFINED)
            continue;
        if (piece.n > USER_BYTES_MAX)
            status = fault_set(fault, STATUS_UNSUPPORTED,
                               "tokenizer: the user-defined piece %d has %zu bytes, at most %d are "
                               "supported",
                               id, piece.n, USER_BYTES_MAX);
        users[n_user] = piece;
        user_ids[n_user++] = id;
    }
    text_prefixes_open(&spm->user, users, user_ids, n_user, true);
    mem_give(users);
    mem_give(user_ids);
    for (int c = 0; c < 128; c++) {
        char letter = (char)c;
        spm->ascii_ids[c] = find_piece(spm, view_of(&letter, 1));
    }
    return status;
}

static void find_whole(struct text_spm *spm)
{
    struct text_spm_work work;
    text_spm_work_init(&work);
    struct call call = { .spm = spm, .work = &work };
    for (int32_t id = 0; id < spm->vocab->n_tokens; id++) {
        struct view piece = spm->pieces[id];
        if (spm->vocab->types[id] != TEXT_NORMAL || piece.n == 0 || piece.n > WHOLE_BYTES_MAX ||
            find_piece(spm, piece) != id)
            continue;
        merge_word(&call, piece);
        const struct text_symbol *first = &work.merge.symbols[0];
        spm->is_whole[id] = first->next < 0 && first->id == id;
    }
    text_spm_work_free(&work);
}

static enum status open_unigram(struct text_spm *spm, const float *scores, struct fault *fault)
{
    size_t n = (size_t)spm->vocab->n_tokens;
    double *wide = mem_take(n * sizeof(*wide)), least = (double)FLT_MAX;
    uint8_t *roles = mem_take(n);
    for (size_t id = 0; id < n; id++) {
        uint8_t type = spm->vocab->types[id];
        wide[id] = (double)scores[id];
        if (type == TEXT_NORMAL && wide[id] < least)
            least = wide[id];
        if (may_form(spm, (int32_t)id) && type != TEXT_UNUSED)
            roles[id] = type == TEXT_USER_DEFINED ? UNIGRAM_USER_DEFINED : UNIGRAM_PIECE;
    }
    const struct unigram_options options = { .n_tokens = spm->vocab->n_tokens,
                                             .texts = spm->pieces,
                                             .scores = wide,
                                             .roles = roles,
                                             .score_min = least,
                                             .unknown_id = spm->unknown_id,
                                             .is_single = true };
    enum status status = unigram_open(&spm->unigram, &options, fault);
    mem_give(wide);
    mem_give(roles);
    return status;
}

/* Returns the settings for a file without SentencePiece's: those of llama.cpp. */
static struct tokenizer_sentence plain_sentence(const struct tokenizer_options *options)
{
    return (struct tokenizer_sentence){ .falls_back = true,
                                        .adds_prefix = options->add_space_prefix,
                                        .cuts_at_user = true };
}

static void keep_pieces(struct text_spm *spm, const struct tokenizer_options *options)
{
    size_t n = (size_t)options->n_tokens;
    pile_init(&spm->pile);
    spm->pieces = mem_take(n * sizeof(*spm->pieces));
    for (size_t id = 0; id < n; id++) {
        size_t bytes =
            options->token_bytes != NULL ? options->token_bytes[id] : strlen(options->tokens[id]);
        spm->pieces[id] = view_of(pile_text(&spm->pile, options->tokens[id], bytes), bytes);
    }
}

enum status text_spm_open(struct text_spm *spm, const struct text_vocab *vocab,
                          const struct tokenizer_options *options, struct fault *fault)
{
    *spm = (struct text_spm){ .vocab = vocab, .unknown_id = options->unknown_id };
    spm->sentence = options->sentence != NULL ? *options->sentence : plain_sentence(options);
    if (options->scores == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: a SentencePiece model needs scores");
    enum status status = charsmap_open(&spm->charsmap, spm->sentence.charsmap, fault);
    spm->sentence.charsmap = view_of("", 0);
    spm->sentence.added = NULL;
    if (status != STATUS_OK)
        return status;
    keep_pieces(spm, options);
    status = index_pieces(spm, fault);
    if (status != STATUS_OK)
        return status;
    if (spm->sentence.is_unigram) {
        status = open_unigram(spm, options->scores, fault);
        open_modern(spm);
        return status;
    }
    spm->ranks = mem_take((size_t)vocab->n_tokens * sizeof(*spm->ranks));
    spm->is_whole = mem_take((size_t)vocab->n_tokens);
    rank_scores(spm, options->scores);
    if (!spm->has_unused)
        find_whole(spm);
    open_modern(spm);
    return STATUS_OK;
}

void text_spm_close(struct text_spm *spm)
{
    charsmap_close(&spm->charsmap);
    unigram_close(&spm->unigram);
    text_prefixes_close(&spm->user);
    map_free(&spm->index);
    pile_free(&spm->pile);
    mem_give(spm->pieces);
    mem_give(spm->ranks);
    mem_give(spm->is_whole);
}
