/* Builds and searches the vocabulary.
 *
 * The first of two tokens with equal bytes wins. A hash of 64 bits finds the token and its bytes
 * confirm it. When two tokens have equal hashes, the second is never found. Such hashes are made
 * only on purpose, and harm only the file that has them. */
#include "text/vocab.h"
#include "text/bytes.h"
#include "base/hash.h"
#include "core/limits.h"
#include <string.h>

/* Replaces U+2581 by the space that it stands for. */
static uint32_t unescape(struct view token, char *out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < token.n;) {
        if (token.n - i >= 3 && memcmp(token.at + i, "\xE2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            i += 3;
        } else {
            out[n++] = token.at[i++];
        }
    }
    return n;
}

static enum status add_token(struct text_vocab *vocab, enum tokenizer_kind kind, int32_t id,
                             struct view raw, struct fault *fault)
{
    if (raw.n > TEXT_TOKEN_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "tokenizer: token %d has %zu bytes, at most %d",
                         id, raw.n, TEXT_TOKEN_BYTES_MAX);
    char *copy = pile_text(&vocab->pile, raw.at, raw.n);
    uint32_t n = (uint32_t)raw.n;
    if (vocab->types[id] == TEXT_BYTE && text_bytes_named(raw) < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "tokenizer: byte token %d is not written as <0xNN>", id);
    if (kind == TOKENIZER_SPM && vocab->types[id] == TEXT_BYTE) {
        copy[0] = (char)text_bytes_named(raw);
        n = 1;
    } else if (kind == TOKENIZER_SPM) {
        n = unescape(raw, copy);
    }
    vocab->tokens[id] = view_of(copy, n);
    return STATUS_OK;
}

static void index_token(struct text_vocab *vocab, const struct tokenizer_options *options,
                        int32_t id)
{
    struct view token = vocab->tokens[id];
    uint8_t type = vocab->types[id];
    bool is_spm = options->kind == TOKENIZER_SPM;
    bool forms =
        type == TEXT_NORMAL || (is_spm && (type == TEXT_USER_DEFINED || type == TEXT_UNUSED));
    if (options->steps != NULL)
        forms = options->steps->is_model[id] != 0;
    if (forms && token.n > 0) {
        uint64_t key = hash_fast(token.at, token.n, 0).low;
        if (map_find(&vocab->index, key) == MAP_NONE)
            CHECK(map_put(&vocab->index, key, (uint32_t)id));
    }
    if (is_spm && type == TEXT_BYTE && vocab->byte_ids[(unsigned char)token.at[0]] < 0)
        vocab->byte_ids[(unsigned char)token.at[0]] = id;
}

enum status text_vocab_open(struct text_vocab *vocab, const struct tokenizer_options *options,
                            struct fault *fault)
{
    *vocab = (struct text_vocab){ 0 };
    pile_init(&vocab->pile);
    int32_t n = options->n_tokens;
    if (n < 1 || n > LIMIT_VOCABULARY)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: %d tokens, expected 1 to %d", n,
                         LIMIT_VOCABULARY);
    vocab->n_tokens = n;
    vocab->tokens = pile_take(&vocab->pile, (size_t)n * sizeof(*vocab->tokens));
    vocab->types = pile_take(&vocab->pile, (size_t)n);
    memset(vocab->byte_ids, 0xFF, sizeof(vocab->byte_ids));
    map_init(&vocab->index, (uint32_t)n);
    for (int32_t id = 0; id < n; id++) {
        uint8_t type = options->types != NULL ? options->types[id] : TEXT_NORMAL;
        vocab->types[id] = type >= TEXT_NORMAL && type <= TEXT_BYTE ? type : TEXT_NORMAL;
        struct view raw = options->token_bytes != NULL
                              ? view_of(options->tokens[id], options->token_bytes[id])
                              : view_text(options->tokens[id]);
        enum status status = add_token(vocab, options->kind, id, raw, fault);
        if (status != STATUS_OK)
            return status;
        index_token(vocab, options, id);
    }
    return STATUS_OK;
}

void text_vocab_close(struct text_vocab *vocab)
{
    map_free(&vocab->index);
    pile_free(&vocab->pile);
}

int32_t text_vocab_find(const struct text_vocab *vocab, struct view bytes)
{
    uint32_t id = map_find(&vocab->index, hash_fast(bytes.at, bytes.n, 0).low);
    if (id == MAP_NONE)
        return -1;
    return view_equal(vocab->tokens[id], bytes) ? (int32_t)id : -1;
}
