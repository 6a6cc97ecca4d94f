/* Building and searching the vocabulary.
 *
 * The first of two tokens with equal bytes wins. A hash of 64 bits finds the token and its bytes
 * confirm it: of two tokens with equal hashes (made on purpose, they do not happen) the second is
 * never found, which harms only the file that has them. */
#include "text/vocab.h"
#include "base/hash.h"
#include "core/limits.h"
#include <string.h>

/* GPT-2 prints the bytes 33..126, 161..172 and 174..255 as themselves and the 68 others, in order,
 * as U+0100 and following. */
static int byte_of_letter(uint32_t letter)
{
    if ((letter >= 33 && letter <= 126) || (letter >= 161 && letter <= 255 && letter != 173))
        return (int)letter;
    if (letter < 256 || letter >= 256 + 68)
        return -1;
    uint32_t nth = letter - 256;
    if (nth <= 32)
        return (int)nth;
    return nth < 67 ? (int)(127 + nth - 33) : 173;
}

bool text_vocab_unprint(struct view letters, unsigned char *out, uint32_t *n_out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < letters.n;) {
        uint32_t letter = 0;
        int step = utf8_decode(view_of(letters.at + i, letters.n - i), &letter);
        int byte = step > 0 ? byte_of_letter(letter) : -1;
        if (byte < 0)
            return false;
        out[n++] = (unsigned char)byte;
        i += (size_t)step;
    }
    *n_out = n;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0x0A>" -> 10, -1 when it is not of that form. */
static int byte_of_name(struct view name)
{
    if (name.n != 6 || memcmp(name.at, "<0x", 3) != 0 || name.at[5] != '>')
        return -1;
    int high = hex_digit(name.at[3]), low = hex_digit(name.at[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

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
    uint8_t type = vocab->types[id];
    if (type == TEXT_BYTE) {
        int byte = byte_of_name(raw);
        if (byte < 0)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "tokenizer: byte token %d is not written as <0xNN>", id);
        copy[0] = (char)byte;
        n = 1;
    } else if (kind == TOKENIZER_SPM) {
        n = unescape(raw, copy);
    } else if (type == TEXT_NORMAL) {
        if (!text_vocab_unprint(raw, (unsigned char *)copy, &n)) {
            n = (uint32_t)raw.n;
            memcpy(copy, raw.at, n);
        }
    }
    vocab->tokens[id] = view_of(copy, n);
    return STATUS_OK;
}

static void index_token(struct text_vocab *vocab, enum tokenizer_kind kind, int32_t id)
{
    struct view token = vocab->tokens[id];
    uint8_t type = vocab->types[id];
    bool forms = type == TEXT_NORMAL ||
                 (kind == TOKENIZER_SPM && (type == TEXT_USER_DEFINED || type == TEXT_UNUSED));
    if (forms && token.n > 0) {
        uint64_t key = hash_fast(token.at, token.n, 0).low;
        if (map_find(&vocab->index, key) == MAP_NONE)
            CHECK(map_put(&vocab->index, key, (uint32_t)id));
    }
    bool is_byte = kind == TOKENIZER_SPM ? type == TEXT_BYTE : forms && token.n == 1;
    if (is_byte && vocab->byte_ids[(unsigned char)token.at[0]] < 0)
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
        index_token(vocab, options->kind, id);
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
