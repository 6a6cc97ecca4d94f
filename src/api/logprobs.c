/* Log probabilities of answers and prompts: in OpenAI's two shapes, and in vLLM's for prompts. */
#include "api/logprobs.h"

#include "base/mem.h"
#include <stdio.h>

static struct view piece_of(const struct api_call *call, int32_t id)
{
    return tokenizer_piece(call->prompts.model->tokenizer, id, true);
}

/* Opens a chat's {token, logprob, bytes}; the object stays open. */
static void open_logprob(struct json_out *json, struct view piece, float logprob)
{
    json_out_open(json, '{');
    json_out_key(json, "token");
    json_out_view(json, piece);
    json_out_key_f64(json, "logprob", (double)logprob);
    json_out_key(json, "bytes");
    json_out_open(json, '[');
    for (size_t i = 0; i < piece.n; i++)
        json_out_i64(json, (unsigned char)piece.at[i]);
    json_out_close(json, ']');
}

static void print_chat_logprobs(struct api_call *call, struct json_out *json,
                                const struct api_token *tokens, size_t n)
{
    json_out_open(json, '{');
    json_out_key(json, "content");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        const struct token_logprobs *logprobs = &tokens[i].logprobs;
        open_logprob(json, piece_of(call, tokens[i].id), logprobs->logprob);
        json_out_key(json, "top_logprobs");
        json_out_open(json, '[');
        for (int32_t j = 0; j < logprobs->n_top; j++) {
            open_logprob(json, piece_of(call, logprobs->top_ids[j]), logprobs->top_logprobs[j]);
            json_out_close(json, '}');
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* Prints {id, token, bytes, logprob}; the object stays open. */
static void open_id(const struct api_call *call, int32_t id, float logprob, struct json_out *json)
{
    open_logprob(json, piece_of(call, id), logprob);
    json_out_key_i64(json, "id", id);
}

void api_logprobs_print_ids(const struct api_call *call, const struct api_token *tokens, size_t n,
                            struct json_out *json)
{
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        const struct token_logprobs *logprobs = &tokens[i].logprobs;
        open_id(call, tokens[i].id, logprobs->logprob, json);
        json_out_key(json, "top_logprobs");
        json_out_open(json, '[');
        for (int32_t k = 0; k < logprobs->n_top; k++) {
            open_id(call, logprobs->top_ids[k], logprobs->top_logprobs[k], json);
            json_out_close(json, '}');
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* Prints a token's text for a text completion. Invalid UTF-8 becomes bytes:\xNN, as OpenAI does
 * it. */
static void print_token_text(struct view piece, struct str *out)
{
    str_clear(out);
    if (utf8_is_valid(piece)) {
        str_add(out, piece.at, piece.n);
        str_add_char(out, '\0');
        return;
    }
    str_add_text(out, "bytes:");
    for (size_t i = 0; i < piece.n; i++)
        str_printf(out, "\\x%02x", (unsigned char)piece.at[i]);
    str_add_char(out, '\0');
}

static void print_top(struct api_call *call, struct json_out *json, const struct api_token *token,
                      struct str *text)
{
    const struct token_logprobs *logprobs = &token->logprobs;
    bool has_own = false;
    json_out_open(json, '{');
    for (int32_t i = 0; i < logprobs->n_top; i++) {
        has_own = has_own || logprobs->top_ids[i] == token->id;
        print_token_text(piece_of(call, logprobs->top_ids[i]), text);
        json_out_key_f64(json, text->at, (double)logprobs->top_logprobs[i]);
    }
    if (!has_own) {
        print_token_text(piece_of(call, token->id), text);
        json_out_key_f64(json, text->at, (double)logprobs->logprob);
    }
    json_out_close(json, '}');
}

/* The tokens of a text: those of an echoed prompt, whose first has no log probability, and those of
 * the answer. */
struct text_tokens {
    const struct api_token *tokens;
    size_t n;
    bool has_first; /* the first is a prompt's first */
    int64_t n_chars_before;
};

static void print_text_logprobs(struct api_call *call, struct json_out *json,
                                const struct text_tokens *text_tokens)
{
    const struct api_token *tokens = text_tokens->tokens;
    size_t n = text_tokens->n;
    struct str text;
    str_init(&text);
    json_out_open(json, '{');
    json_out_key(json, "tokens");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        print_token_text(piece_of(call, tokens[i].id), &text);
        json_out_text(json, text.at);
    }
    json_out_close(json, ']');
    json_out_key(json, "token_logprobs");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++)
        if (i == 0 && text_tokens->has_first)
            json_out_null(json);
        else
            json_out_f64(json, (double)tokens[i].logprobs.logprob);
    json_out_close(json, ']');
    json_out_key(json, "top_logprobs");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++)
        if (i == 0 && text_tokens->has_first)
            json_out_null(json);
        else
            print_top(call, json, &tokens[i], &text);
    json_out_close(json, ']');
    json_out_key(json, "text_offset");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++)
        json_out_i64(json, tokens[i].n_chars_before + text_tokens->n_chars_before);
    json_out_close(json, ']');
    json_out_close(json, '}');
    str_free(&text);
}

/* Appends the tokens of a scored prompt. Returns its code points. */
static int64_t add_prompt(const struct api_choice *choice, struct api_token *tokens)
{
    const struct api_prompts *prompts = &choice->call->prompts;
    const int32_t *ids = prompts->of[choice->prompt].ids;
    int32_t n_top = prompts->ask.sampling.n_top_logprobs;
    struct detokenizer detokenizer;
    struct str text;
    int64_t n_chars = 0;
    size_t n_counted = 0;
    str_init(&text);
    detokenizer_init(&detokenizer, prompts->model->tokenizer, false);
    for (int32_t i = 0; i < choice->n_prompt; i++) {
        tokens[i] = (struct api_token){ .id = ids[i], .n_chars_before = n_chars };
        if (i > 0)
            tokens[i].logprobs = choice->scores[i - 1];
        tokens[i].logprobs.n_top = min_i32(tokens[i].logprobs.n_top, n_top);
        detokenizer_add(&detokenizer, ids[i], &text);
        for (; n_counted < text.n; n_counted++)
            n_chars += ((unsigned char)text.at[n_counted] & 0xC0) != 0x80;
    }
    str_free(&text);
    return n_chars;
}

/* Prints the tokens of an echoed prompt and those that belong to the shown text. */
static void print_echoed(struct api_call *call, struct api_choice *choice,
                         const struct api_token *tokens, size_t n, struct json_out *json)
{
    size_t n_prompt = (size_t)choice->n_prompt;
    struct api_token *all = mem_take((n_prompt + n) * sizeof *all);
    int64_t n_chars = choice->n_echoed = add_prompt(choice, all);
    for (size_t i = 0; i < n; i++) {
        all[n_prompt + i] = tokens[i];
        all[n_prompt + i].n_chars_before += n_chars;
    }
    print_text_logprobs(call, json, &(struct text_tokens){ all, n_prompt + n, true, 0 });
    mem_give(all);
}

void api_logprobs_print(struct api_call *call, struct api_choice *choice, struct json_out *json)
{
    size_t n = 0;
    const struct api_token *tokens = api_choice_show_tokens(choice, &n);
    bool echoes = call->prompts.ask.echo;
    if (call->kind == ASK_CHAT)
        print_chat_logprobs(call, json, tokens, n);
    else if (echoes && !choice->has_begun)
        print_echoed(call, choice, tokens, n, json);
    else
        print_text_logprobs(
            call, json, &(struct text_tokens){ tokens, n, false, echoes ? choice->n_echoed : 0 });
}

/* Prints one token of vLLM's prompt_logprobs. The rank is known for the listed ones. */
static void print_ranked(struct api_call *call, int32_t id, float logprob, int32_t rank,
                         struct json_out *json)
{
    char key[16];
    snprintf(key, sizeof key, "%d", id);
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_f64(json, "logprob", (double)logprob);
    json_out_key(json, "rank");
    if (rank > 0)
        json_out_i64(json, rank);
    else
        json_out_null(json);
    json_out_key(json, "decoded_token");
    json_out_view(json, piece_of(call, id));
    json_out_close(json, '}');
}

void api_logprobs_print_prompt(const struct api_choice *choice, struct json_out *json)
{
    struct api_call *call = choice->call;
    const struct api_prompt *prompt = &call->prompts.of[choice->prompt];
    int32_t n_top = call->prompts.ask.n_shown_scores;
    json_out_key(json, "prompt_logprobs");
    json_out_open(json, '[');
    json_out_null(json);
    for (int32_t i = 1; i < choice->n_prompt; i++) {
        const struct token_logprobs *score = &choice->scores[i - 1];
        int32_t rank = 0, n_listed = min_i32(score->n_top, n_top);
        for (int32_t k = 0; k < score->n_top; k++)
            if (score->top_ids[k] == prompt->ids[i])
                rank = k + 1;
        json_out_open(json, '{');
        print_ranked(call, prompt->ids[i], score->logprob, rank, json);
        for (int32_t k = 0; k < n_listed; k++)
            if (k + 1 != rank)
                print_ranked(call, score->top_ids[k], score->top_logprobs[k], k + 1, json);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}
