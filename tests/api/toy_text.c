/* A toy of the text room for tests of the API: a token is a byte, plus four special ones. It
 * defines the functions of tokenizers and templates that the API calls, so that tests know each
 * token. The detokenizer is the real one. */
#include "template/chat.h"
#include "text/decoder.h"
#include "text/tokenizer.h"
#include "tests_toy.h"
#include <string.h>

struct tokenizer {
    int unused;
};
struct chat_template {
    int unused;
};
static const struct tokenizer toy_tokenizer_only;
static const struct chat_template toy_template_only;
const struct tokenizer *toy_tokenizer = &toy_tokenizer_only;
const struct chat_template *toy_template = &toy_template_only;

static const char *const specials[] = { "<s>", "</s>", "<|a|>", "<|b|>" };

int32_t tokenizer_n_tokens(const struct tokenizer *tokenizer)
{
    (void)tokenizer;
    return TOY_N_TOKENS;
}

int32_t tokenizer_encode_pair(const struct tokenizer *tokenizer, const struct view texts[2],
                              int32_t *ids, int32_t n_max, int32_t *n_first)
{
    (void)tokenizer;
    (void)texts;
    (void)ids;
    (void)n_max;
    *n_first = 0;
    return TOKENIZER_NO_PAIRS;
}

int32_t tokenizer_encode(const struct tokenizer *tokenizer, struct view text, unsigned flags,
                         int32_t *ids, int32_t n_max)
{
    (void)tokenizer;
    int32_t n = 0;
    if ((flags & TOKENIZER_ADD_SPECIAL) && n_max > 0)
        ids[n++] = TOY_BOS;
    for (size_t i = 0; i < text.n;) {
        int32_t id = (unsigned char)text.at[i];
        size_t n_bytes = 1;
        for (size_t s = 0; s < COUNT_OF(specials) && (flags & TOKENIZER_PARSE_SPECIAL); s++)
            if (view_starts(view_of(text.at + i, text.n - i), specials[s])) {
                id = TOY_BOS + (int32_t)s;
                n_bytes = strlen(specials[s]);
            }
        if (n == n_max)
            return -1;
        ids[n++] = id;
        i += n_bytes;
    }
    return n;
}

struct view tokenizer_piece(const struct tokenizer *tokenizer, int32_t id, bool show_special)
{
    static const unsigned char bytes[256] = {
#define R4(n)  n, n + 1, n + 2, n + 3
#define R16(n) R4(n), R4(n + 4), R4(n + 8), R4(n + 12)
#define R64(n) R16(n), R16(n + 16), R16(n + 32), R16(n + 48)
        R64(0), R64(64), R64(128), R64(192)
    };
    (void)tokenizer;
    if (id >= 0 && id < 256)
        return view_of((const char *)&bytes[id], 1);
    if (!show_special || id < 0 || id >= TOY_N_TOKENS)
        return view_of("", 0);
    return view_text(specials[id - TOY_BOS]);
}

void tokenizer_add_piece(const void *tokenizer, int32_t id, struct str *out)
{
    struct view piece = tokenizer_piece(tokenizer, id, true);
    if (id >= TOY_BOS)
        str_add(out, "\xFF", 1);
    str_add(out, piece.at, piece.n);
}

size_t tokenizer_ids_max(const struct tokenizer *tokenizer, size_t n_bytes)
{
    (void)tokenizer;
    return n_bytes + 1;
}

bool tokenizer_shows(const struct tokenizer *tokenizer, int32_t id, bool show_special)
{
    return tokenizer_piece(tokenizer, id, show_special).n > 0;
}

const struct text_decoder *tokenizer_decoder(const struct tokenizer *tokenizer)
{
    static struct view pieces[TOY_N_TOKENS];
    static uint8_t kinds[TOY_N_TOKENS];
    static const struct text_decoder decoder = { .joint = DECODER_BYTES,
                                                 .n_tokens = TOY_N_TOKENS,
                                                 .texts = pieces,
                                                 .pieces = pieces,
                                                 .kinds = kinds };
    for (int32_t id = 0; id < TOY_N_TOKENS; id++)
        pieces[id] = tokenizer_piece(tokenizer, id, true);
    return &decoder;
}

const char *chat_template_text(const struct chat_template *t)
{
    (void)t;
    return "<tool_call></think>";
}

enum status chat_template_render(const struct chat_template *t, const struct chat_options *options,
                                 struct str *out, struct fault *fault)
{
    (void)t;
    if (options->tools_json != NULL)
        str_printf(out, "<tools>%s</tools>", options->tools_json);
    for (int i = 0; i < options->n_messages; i++) {
        const struct chat_message *message = &options->messages[i];
        if (strcmp(message->role, "tool") == 0 && options->tools_json == NULL)
            return fault_set(fault, STATUS_BAD_INPUT, "this toy knows no tools");
        const char *content = message->content != NULL ? message->content : "";
        const char *thought_end = strstr(content, "</think>"); /* not shown, as in many templates */
        bool is_cut = thought_end != NULL && strstr(content, "[say]") == NULL;
        const char *said = is_cut ? thought_end + strlen("</think>") : content;
        bool has_calls = message->more_json != NULL && strstr(message->more_json, "tool_calls");
        str_printf(out, "<|a|>%s: %s%s<|b|>", message->role, said,
                   has_calls ? message->more_json : "");
    }
    if (options->kwargs_json != NULL)
        str_printf(out, "{%s}", options->kwargs_json);
    if (options->add_generation_prompt)
        str_add_text(out, "<|a|>assistant: ");
    return STATUS_OK;
}
