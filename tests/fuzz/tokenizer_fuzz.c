/* Fuzzes tokenizers of GGUF files. The input describes a small vocabulary, merges and the name of a
 * split pattern. The rest is text, which is encoded, and decoded in one go and as a stream. */
#include "text/tokenizer.h"
#include "base/log.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { TOKENS_MAX = 300, MERGES_MAX = 64, TEXT_MAX = 96 };

struct input {
    const uint8_t *at;
    size_t n;
};

static uint8_t next(struct input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->at++;
}

/* Takes up to n_max bytes into out, which stays zero-terminated; a length comes first. */
static uint32_t take_text(struct input *in, char *out, size_t n_max)
{
    size_t n = next(in) % n_max;
    n = n < in->n ? n : in->n;
    if (n > 0)
        memcpy(out, in->at, n);
    out[n] = '\0';
    in->at += n;
    in->n -= n;
    return (uint32_t)n;
}

static struct {
    char texts[TOKENS_MAX][TEXT_MAX], lines[MERGES_MAX][TEXT_MAX];
    const char *tokens[TOKENS_MAX], *merges[MERGES_MAX];
    uint32_t n_bytes[TOKENS_MAX];
    uint8_t types[TOKENS_MAX];
    float scores[TOKENS_MAX];
} card;

static const char *const names[] = { "gpt-2",  "llama-bpe", "qwen2",    "deepseek-llm",
                                     "falcon", "tekken",    "nobody's", "" };

/* The bytes of byte-level BPE, or SPM's byte tokens, so that most inputs have something to do. */
static void add_letters(struct tokenizer_options *options)
{
    for (int b = 0; b < 256; b++) {
        char letter[4];
        int32_t i = options->n_tokens++;
        int letters[3] = { b, 256 + (b < 33 ? b : b < 127 ? 0 : b < 161 ? b - 94 : 67), 0 };
        bool prints = (b >= 33 && b <= 126) || (b >= 161 && b != 173);
        int n = utf8_encode((uint32_t)letters[!prints], letter);
        if (options->kind == TOKENIZER_BPE)
            (void)snprintf(card.texts[i], TEXT_MAX, "%.*s", n, letter);
        else
            (void)snprintf(card.texts[i], TEXT_MAX, "<0x%02X>", b);
        card.types[i] = options->kind == TOKENIZER_BPE ? 1 : 6;
        card.n_bytes[i] = (uint32_t)strlen(card.texts[i]);
    }
}

static void read_card(struct input *in, struct tokenizer_options *options)
{
    uint8_t flags = next(in), more = next(in);
    *options = (struct tokenizer_options){ .kind = flags & 1 ? TOKENIZER_SPM : TOKENIZER_BPE };
    options->add_bos = (flags & 2) != 0;
    options->add_eos = (flags & 4) != 0;
    options->add_space_prefix = (flags & 8) != 0;
    options->ignore_merges = (flags & 16) != 0;
    options->normalizes_nfc = (flags & 32) != 0;
    if (flags & 64)
        add_letters(options);
    for (int n = next(in) % 44; n > 0; n--) {
        int32_t i = options->n_tokens++;
        card.types[i] = next(in) % 8;
        card.scores[i] = (float)(int8_t)next(in);
        card.n_bytes[i] = take_text(in, card.texts[i], 32);
    }
    for (int32_t i = 0; i < options->n_tokens; i++)
        card.tokens[i] = card.texts[i];
    for (int n = next(in) % MERGES_MAX; n > 0; n--) {
        int32_t i = options->n_merges++;
        (void)take_text(in, card.lines[i], 24);
        card.merges[i] = card.lines[i];
    }
    options->pre = names[more % COUNT_OF(names)];
    options->tokens = card.tokens;
    options->token_bytes = card.n_bytes;
    options->types = card.types;
    options->scores = card.scores;
    options->merges = card.merges;
    options->bos_id = (int8_t)next(in);
    options->eos_id = (int8_t)next(in);
    options->unknown_id = (int8_t)next(in);
}

static void check_stream(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n)
{
    struct detokenizer d;
    struct str out;
    str_init(&out);
    detokenizer_init(&d, tokenizer, n % 2 == 0);
    for (int32_t i = 0; i < n; i++) {
        detokenizer_add(&d, ids[i], &out);
        CHECK(utf8_is_valid(view_of(out.at, out.n)));
    }
    detokenizer_end(&d, &out);
    CHECK(utf8_is_valid(view_of(out.at, out.n)));
    str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    log_set(LOG_ERROR, false);
    struct input in = { data, n };
    struct tokenizer_options options;
    read_card(&in, &options);
    struct tokenizer *tokenizer = NULL;
    struct fault fault = { "" };
    if (tokenizer_open(&tokenizer, &options, &fault) != STATUS_OK) {
        CHECK(fault.text[0] != '\0' && tokenizer == NULL);
        return 0;
    }
    struct view text = view_of((const char *)in.at, in.n);
    int32_t n_max = 3 * (int32_t)in.n + 8;
    int32_t *ids = mem_take((size_t)n_max * sizeof(*ids));
    for (unsigned flags = 0; flags < 4; flags++) {
        int32_t n_ids = tokenizer_encode(tokenizer, text, flags, ids, n_max);
        for (int32_t i = 0; i < n_ids; i++)
            CHECK(ids[i] >= 0 && ids[i] < options.n_tokens);
        CHECK(n_ids <= 0 || tokenizer_encode(tokenizer, text, flags, ids, n_ids - 1) == -1);
        check_stream(tokenizer, ids, n_ids < n_max ? n_ids : 0);
    }
    mem_give(ids);
    tokenizer_close(tokenizer);
    return 0;
}
