/* Writes answers: one writer for whole answers and chunks, for chats and text completions. */
#include "api/reply.h"
#include "api/logprobs.h"
#include "api/told.h"
#include "base/json_out.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

const char *api_reply_model(const struct api_call *call)
{
    const char *asked = call->prompts.ask.model;
    return asked != NULL ? asked : call->prompts.model->name;
}

static void print_head(struct api_call *call, const char *object, struct str *out)
{
    struct json_out json;
    str_add_text(out, "{\"id\":");
    json_out_init(&json, out);
    json_out_text(&json, call->id);
    str_printf(out, ",\"object\":\"%s\",\"created\":%lld,\"model\":", object,
               (long long)call->created_unix_s);
    json_out_init(&json, out);
    json_out_text(&json, api_reply_model(call));
    str_add_text(out, ",\"choices\":[");
}

void api_reply_prefix(struct api_call *call)
{
    print_head(call, call->kind == ASK_CHAT ? "chat.completion.chunk" : "text_completion",
               &call->prefix);
}

static void write_error(struct api_call *call, const struct api_error *error, struct str *out)
{
    (void)call;
    str_add_text(out, "data: ");
    api_error_print(error, ERROR_OPENAI, out);
    str_add_text(out, "\n\n");
}

/* Prints the prompt and the generated text as one text. */
static void print_echo(struct api_call *call, const struct api_choice *choice, struct view text,
                       struct json_out *json)
{
    struct view prompt = call->prompts.ask.prompts[choice->prompt].text;
    struct str all;
    str_init(&all);
    str_add(&all, prompt.at, prompt.n);
    str_add(&all, text.at, text.n);
    json_out_view(json, view_of(all.at, all.n));
    str_free(&all);
}

/* choice is NULL in a part of a chat that is not its last. */
static void print_end(const struct api_choice *choice, struct json_out *json)
{
    const char *reason = choice != NULL ? choice->finish_reason : NULL;
    bool has_calls = choice != NULL && choice->is_parsed && choice->parser.n_whole > 0;
    if (reason != NULL && has_calls && strcmp(reason, "stop") == 0)
        reason = "tool_calls";
    json_out_key_text(json, "finish_reason", reason);
    if (choice == NULL || choice->finish_reason == NULL)
        return;
    json_out_key(json, "stop_reason"); /* as vLLM: the client's own stop that matched */
    if (choice->stop_text != NULL)
        json_out_text(json, choice->stop_text);
    else if (choice->stop_id >= 0)
        json_out_i64(json, choice->stop_id);
    else
        json_out_null(json);
}

/* The parts of an answer. A whole answer is one part, as is each chunk of a text completion. A
 * choice of a streamed chat begins with its role and ends with an empty delta. */
enum part {
    PART_WHOLE,
    PART_ROLE,
    PART_TEXT,
    PART_END,
};

/* Prints calls: whole in a message, or pieces in a delta. */
static void print_calls(const struct api_choice *choice, const struct api_told *told, bool is_delta,
                        struct json_out *json)
{
    bool has_any = false;
    for (size_t i = 0; i < told->n; i++) {
        const struct api_told_item *item = &told->items[i];
        char id[TOLD_ID_BYTES];
        if (item->kind != TOLD_CALL || (!item->begins && item->bytes.n == 0))
            continue;
        if (!has_any) {
            json_out_key(json, "tool_calls");
            json_out_open(json, '[');
        }
        has_any = true;
        json_out_open(json, '{');
        if (is_delta)
            json_out_key_i64(json, "index", item->index);
        if (item->begins) {
            api_told_id(choice, item->index, id);
            json_out_key_text(json, "id", id);
            json_out_key_text(json, "type", "function");
        }
        json_out_key(json, "function");
        json_out_open(json, '{');
        if (item->begins) {
            json_out_key(json, "name");
            json_out_view(json, item->name);
        }
        json_out_key(json, "arguments");
        json_out_view(json, view_of(item->bytes.at != NULL ? item->bytes.at : "", item->bytes.n));
        json_out_close(json, '}');
        json_out_close(json, '}');
    }
    if (has_any)
        json_out_close(json, ']');
}

/* Prints what is told inside of a message or a delta. */
static void print_told(const struct api_choice *choice, const struct api_told *told, bool is_delta,
                       struct json_out *json)
{
    struct str text, reasoning;
    if (!choice->is_parsed) {
        json_out_key(json, "content");
        json_out_view(json, told->plain);
        return;
    }
    str_init(&text);
    str_init(&reasoning);
    api_told_join(told, TOLD_TEXT, &text);
    api_told_join(told, TOLD_REASONING, &reasoning);
    if (reasoning.n > 0) {
        json_out_key(json, "reasoning_content");
        json_out_view(json, view_of(reasoning.at, reasoning.n));
    }
    bool is_empty = text.n == 0;
    if (!is_empty || !is_delta)
        json_out_key(json, "content");
    if (is_empty && !is_delta && told->n_calls > 0)
        json_out_null(json);
    else if (!is_empty || !is_delta)
        json_out_view(json, view_of(text.at, text.n));
    print_calls(choice, told, is_delta, json);
    str_free(&text);
    str_free(&reasoning);
}

/* Prints one choice: as a message or a delta of a chat, or as a text. */
static void print_choice(struct api_call *call, struct api_choice *choice,
                         const struct api_told *told, enum part part, struct json_out *json)
{
    bool has_tokens = part == PART_WHOLE || part == PART_TEXT;
    bool is_last = part == PART_WHOLE || part == PART_END;
    json_out_open(json, '{');
    json_out_key_i64(json, "index", choice->index);
    if (call->kind == ASK_CHAT) {
        json_out_key(json, part == PART_WHOLE ? "message" : "delta");
        json_out_open(json, '{');
        if (part == PART_WHOLE || part == PART_ROLE)
            json_out_key_text(json, "role", "assistant");
        if (part == PART_ROLE)
            json_out_key_text(json, "content", "");
        else if (part != PART_END)
            print_told(choice, told, part == PART_TEXT, json);
        json_out_close(json, '}');
    } else {
        json_out_key(json, "text");
        if (call->prompts.ask.echo && !choice->has_begun)
            print_echo(call, choice, told->plain, json);
        else
            json_out_view(json, told->plain);
    }
    json_out_key(json, "logprobs");
    if (call->prompts.ask.wants_logprobs && has_tokens)
        api_logprobs_print(call, choice, json);
    else
        json_out_null(json);
    print_end(is_last ? choice : NULL, json);
    if (call->prompts.ask.shows_scores && call->kind == ASK_COMPLETION)
        api_logprobs_print_prompt(choice, json);
    json_out_close(json, '}');
    choice->has_begun = true;
}

struct api_reply_sums api_reply_sum_up(const struct api_call *call)
{
    struct api_reply_sums sums = { .n_choices = call->n_choices, .first_ns = TIME_NEVER };
    for (int32_t i = 0; i < call->prompts.n; i++)
        sums.n_prompt += call->prompts.of[i].n;
    for (int32_t i = 0; i < call->n_choices; i++) {
        const struct api_choice *choice = &call->choices[i];
        sums.n_generated += choice->n_generated;
        sums.n_preempted += choice->n_preempted;
        sums.queue_ns = max_i64(sums.queue_ns, choice->queue_ns);
        if (choice->index % call->prompts.ask.n == 0)
            sums.n_cached += choice->n_cached;
        if (choice->first_ns > 0)
            sums.first_ns = min_i64(sums.first_ns, choice->first_ns);
        sums.last_ns = max_i64(sums.last_ns, choice->last_ns);
    }
    if (sums.first_ns == TIME_NEVER)
        sums.first_ns = sums.last_ns = call->arrived_ns;
    return sums;
}

static double ms_of(int64_t ns)
{
    return (double)ns / 1e6;
}

void api_reply_print_timings(const struct api_call *call, const struct api_reply_sums *sums,
                             struct json_out *json)
{
    double prompt_ms = ms_of(max_i64(sums->first_ns - call->arrived_ns - sums->queue_ns, 0));
    double decode_ms = ms_of(sums->last_ns - sums->first_ns);
    double n_computed = (double)(sums->n_prompt - sums->n_cached);
    double n_drawn = (double)max_i64(sums->n_generated - sums->n_choices, 0);
    json_out_open(json, '{');
    json_out_key_i64(json, "cache_n", sums->n_cached);
    json_out_key_i64(json, "prompt_n", sums->n_prompt - sums->n_cached);
    json_out_key_f64(json, "prompt_ms", prompt_ms);
    json_out_key_f64(json, "prompt_per_token_ms", n_computed > 0 ? prompt_ms / n_computed : 0);
    json_out_key_f64(json, "prompt_per_second", prompt_ms > 0 ? n_computed / prompt_ms * 1e3 : 0);
    json_out_key_i64(json, "predicted_n", sums->n_generated);
    json_out_key_f64(json, "predicted_ms", decode_ms);
    json_out_key_f64(json, "predicted_per_token_ms", n_drawn > 0 ? decode_ms / n_drawn : 0);
    json_out_key_f64(json, "predicted_per_second", decode_ms > 0 ? n_drawn / decode_ms * 1e3 : 0);
    json_out_close(json, '}');
}

/* Prints our figures under one key, and the figures that llama.cpp's users know. */
static void print_figures(struct api_call *call, const struct api_reply_sums *sums, struct str *out)
{
    struct json_out json;
    str_printf(out, ",\"shoal\":{\"queue_ms\":%.3f,\"ttft_ms\":%.3f,\"preemptions\":%lld}",
               ms_of(sums->queue_ns), ms_of(sums->first_ns - call->arrived_ns),
               (long long)sums->n_preempted);
    str_add_text(out, ",\"timings\":");
    json_out_init(&json, out);
    api_reply_print_timings(call, sums, &json);
}

static void print_usage(const struct api_reply_sums *sums, struct str *out)
{
    str_printf(out,
               ",\"usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,"
               "\"total_tokens\":%lld,\"prompt_tokens_details\":{\"cached_tokens\":%lld}}",
               (long long)sums->n_prompt, (long long)sums->n_generated,
               (long long)(sums->n_prompt + sums->n_generated), (long long)sums->n_cached);
}

/* Prints one event with this part of a choice. The answer's last event carries the figures. */
static void print_event(struct api_call *call, struct api_choice *choice,
                        const struct api_told *told, enum part part, struct str *out)
{
    struct json_out json;
    bool is_last = part == PART_WHOLE || part == PART_END;
    str_add_text(out, "data: ");
    str_add(out, call->prefix.at, call->prefix.n);
    json_out_init(&json, out);
    print_choice(call, choice, told, part, &json);
    str_add_char(out, ']');
    bool has_figures = call->n_open == 0 && is_last && !call->prompts.ask.include_usage;
    if (call->prompts.ask.include_usage)
        str_add_text(out, ",\"usage\":null");
    if (has_figures || (call->prompts.ask.has_timings && part != PART_ROLE)) {
        struct api_reply_sums sums = api_reply_sum_up(call);
        print_figures(call, &sums, out);
    }
    str_add_text(out, "}\n\n");
}

static const struct api_told nothing = { .plain = { "", 0 } };

/* Prints the chunks that carry a role alone, up to this choice's. OpenAI's client appends a chat's
 * choices to a list as they first appear, so they must appear in their order. */
static void print_roles(struct api_call *call, const struct api_choice *choice, struct str *out)
{
    for (int32_t i = 0; i <= choice->index; i++)
        if (!call->choices[i].has_begun)
            print_event(call, &call->choices[i], &nothing, PART_ROLE, out);
}

static void write_chunk(struct api_call *call, struct api_choice *choice, struct str *out)
{
    struct api_told told;
    api_told_open(&told, call, choice, false);
    bool has_tokens = !choice->is_open && choice->n_tokens_shown < choice->n_tokens;
    if (api_told_is_empty(&told) && choice->is_open &&
        (choice->has_begun || choice->n_generated == 0))
        return;
    if (call->kind != ASK_CHAT) {
        print_event(call, choice, &told, PART_WHOLE, out);
    } else {
        print_roles(call, choice, out);
        if (!api_told_is_empty(&told) || has_tokens)
            print_event(call, choice, &told, PART_TEXT, out);
        if (!choice->is_open)
            print_event(call, choice, &nothing, PART_END, out);
    }
    api_told_free(&told);
}

static void write_last(struct api_call *call, struct str *out)
{
    if (call->prompts.ask.include_usage) {
        struct api_reply_sums sums = api_reply_sum_up(call);
        str_add_text(out, "data: ");
        str_add(out, call->prefix.at, call->prefix.n);
        str_add_char(out, ']');
        print_usage(&sums, out);
        print_figures(call, &sums, out);
        str_add_text(out, "}\n\n");
    }
    str_add_text(out, "data: [DONE]\n\n");
}

/* Prints the scores of a chat's prompt beside its choices, as vLLM does. */
static void print_prompt_of_chat(struct api_call *call, struct str *out)
{
    struct str members;
    struct json_out json;
    str_init(&members);
    json_out_init(&json, &members);
    json_out_open(&json, '{');
    api_logprobs_print_prompt(&call->choices[0], &json);
    str_add_char(out, ',');
    str_add(out, members.at + 1, members.n - 1); /* without the brace */
    str_free(&members);
}

static void write_whole(struct api_call *call, struct str *out)
{
    print_head(call, call->kind == ASK_CHAT ? "chat.completion" : "text_completion", out);
    for (int32_t i = 0; i < call->n_choices; i++) {
        struct api_choice *choice = &call->choices[i];
        struct json_out json;
        if (i > 0)
            str_add_char(out, ',');
        json_out_init(&json, out);
        struct api_told told;
        api_told_open(&told, call, choice, false);
        print_choice(call, choice, &told, PART_WHOLE, &json);
        api_told_free(&told);
    }
    struct api_reply_sums sums = api_reply_sum_up(call);
    str_add_char(out, ']');
    if (call->prompts.ask.shows_scores && call->kind == ASK_CHAT)
        print_prompt_of_chat(call, out);
    print_usage(&sums, out);
    print_figures(call, &sums, out);
    str_add_char(out, '}');
}

#define WRITERS                                                                                    \
    .stream_type = "text/event-stream; charset=utf-8", .ping = ": ping\n\n", .chunk = write_chunk, \
    .last = write_last, .whole = write_whole, .fail = write_error

const struct api_family api_reply_chats = { .kind = ASK_CHAT, .id_prefix = "chatcmpl-", WRITERS };
const struct api_family api_reply_completions = { .kind = ASK_COMPLETION,
                                                  .id_prefix = "cmpl-",
                                                  WRITERS };
