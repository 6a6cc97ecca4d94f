/* Writes answers as output items: reasoning, messages and calls of functions, in the order in which
 * the model wrote them. In a stream each item is added, grows and is done before the next one. A
 * call that breaks off in the middle of a stream is done as "incomplete", and its whole text
 * follows; the answer itself holds that text alone. */
#include "api/responses.h"
#include "api/reply.h"
#include "api/responses_ask.h"
#include "api/responses_store.h"
#include "api/told.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <stdio.h>
#include <string.h>

enum { ITEM_ID_BYTES = 64, FRAME_BYTES = 4096 };

struct item {
    const struct api_told_item *told;
    size_t index;       /* among all that the model wrote */
    const char *status; /* "in_progress", "completed", "incomplete" */
};

static const struct api_responses_ask *kept_of(const struct api_call *call)
{
    return call->prompts.ask.kept;
}

static struct view bytes_of(const struct api_told_item *told)
{
    return view_of(told->bytes.at != NULL ? told->bytes.at : "", told->bytes.n);
}

static void print_id(const struct api_call *call, int kind, size_t index, char out[ITEM_ID_BYTES])
{
    static const char *const prefixes[] = {
        [TOLD_TEXT] = "msg_", [TOLD_REASONING] = "rs_", [TOLD_CALL] = "fc_"
    };
    snprintf(out, ITEM_ID_BYTES, "%s%s_%zu", prefixes[kind], call->id + strlen("resp_"), index);
}

static void print_part(int kind, struct view text, struct json_out *json)
{
    json_out_open(json, '{');
    json_out_key_text(json, "type", kind == TOLD_TEXT ? "output_text" : "reasoning_text");
    json_out_key(json, "text");
    json_out_view(json, text);
    if (kind == TOLD_TEXT) {
        json_out_key(json, "annotations");
        json_out_open(json, '[');
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
}

static void print_item(const struct api_choice *choice, const struct item *item,
                       struct json_out *json)
{
    static const char *const types[] = {
        [TOLD_TEXT] = "message", [TOLD_REASONING] = "reasoning", [TOLD_CALL] = "function_call"
    };
    bool is_empty = strcmp(item->status, "in_progress") == 0;
    const struct api_told_item *told = item->told;
    char id[ITEM_ID_BYTES], call_id[TOLD_ID_BYTES];
    print_id(choice->call, (int)told->kind, item->index, id);
    json_out_open(json, '{');
    json_out_key_text(json, "id", id);
    json_out_key_text(json, "type", types[told->kind]);
    json_out_key_text(json, "status", item->status);
    if (told->kind == TOLD_CALL) {
        api_told_id(choice, told->index, call_id);
        json_out_key_text(json, "call_id", call_id);
        json_out_key(json, "name");
        json_out_view(json, told->name);
        json_out_key(json, "arguments");
        json_out_view(json, is_empty ? view_of("", 0) : bytes_of(told));
        json_out_close(json, '}');
        return;
    }
    if (told->kind == TOLD_TEXT)
        json_out_key_text(json, "role", "assistant");
    if (told->kind == TOLD_REASONING) {
        json_out_key(json, "summary");
        json_out_open(json, '[');
        json_out_close(json, ']');
    }
    json_out_key(json, "content");
    json_out_open(json, '[');
    if (!is_empty)
        print_part((int)told->kind, bytes_of(told), json);
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* Returns item i of what the choice has told. */
static struct item item_of(const struct api_choice *choice, const struct api_told *told, size_t i)
{
    bool is_last = i + 1 == told->n, is_call = told->items[i].kind == TOLD_CALL;
    bool is_cut =
        is_last && choice->finish_reason != NULL && strcmp(choice->finish_reason, "length") == 0;
    bool is_whole = is_call ? told->items[i].ends : !is_cut;
    return (struct item){ &told->items[i], i, is_whole ? "completed" : "incomplete" };
}

/* Prints the items, and returns how many tokens their reasoning has. */
static int64_t print_output(struct api_call *call, struct json_out *json)
{
    struct api_choice *choice = &call->choices[0];
    struct api_told told;
    struct str thoughts;
    str_init(&thoughts);
    api_told_again(&told, call, choice);
    api_told_join(&told, TOLD_REASONING, &thoughts);
    json_out_open(json, '[');
    for (size_t i = 0; i < told.n; i++) {
        struct item item = item_of(choice, &told, i);
        bool is_broken = item.told->kind == TOLD_CALL && !item.told->ends && i + 1 < told.n;
        if (!is_broken) /* else the text behind has it */
            print_item(choice, &item, json);
    }
    json_out_close(json, ']');
    const struct tokenizer *tokenizer = call->prompts.model->tokenizer;
    int32_t n_max = (int32_t)tokenizer_ids_max(tokenizer, thoughts.n), n = 0;
    if (thoughts.n > 0) {
        int32_t *ids = mem_take(sizeof(*ids) * (size_t)n_max);
        n = tokenizer_encode(tokenizer, view_of(thoughts.at, thoughts.n), 0, ids, n_max);
        mem_give(ids);
    }
    str_free(&thoughts);
    api_told_free(&told);
    return min_i64(max_i32(n, 0), choice->n_generated);
}

static void print_usage(const struct api_call *call, int64_t n_thoughts, struct json_out *json)
{
    struct api_reply_sums sums = api_reply_sum_up(call);
    json_out_open(json, '{');
    json_out_key_i64(json, "input_tokens", sums.n_prompt);
    json_out_key(json, "input_tokens_details");
    json_out_open(json, '{');
    json_out_key_i64(json, "cached_tokens", sums.n_cached);
    json_out_key_i64(json, "cache_write_tokens", 0);
    json_out_close(json, '}');
    json_out_key_i64(json, "output_tokens", sums.n_generated);
    json_out_key(json, "output_tokens_details");
    json_out_open(json, '{');
    json_out_key_i64(json, "reasoning_tokens", n_thoughts);
    json_out_close(json, '}');
    json_out_key_i64(json, "total_tokens", sums.n_prompt + sums.n_generated);
    json_out_close(json, '}');
}

/* Returns whether the answer is kept, however many bytes its text takes in JSON. */
static bool is_kept(const struct api_call *call)
{
    const struct api_responses_ask *kept = kept_of(call);
    size_t n = strlen(kept->items) + 2 * strlen(kept->fields) + FRAME_BYTES;
    if (call->n_choices > 0)
        n += 6 * call->choices[0].text.n;
    return kept->is_kept && api_responses_store_may_keep(call->api->responses, n);
}

static const char *code_of(const struct api_error *error)
{
    return error->status == 429 ? "rate_limit_exceeded" : "server_error";
}

/* Prints the whole object. error: of an answer that failed; NULL: it did not. */
static void print_response(struct api_call *call, const char *status, const struct api_error *error,
                           struct json_out *json)
{
    bool is_over = strcmp(status, "in_progress") != 0 && error == NULL;
    int64_t n_thoughts = 0;
    json_out_open(json, '{');
    json_out_key_text(json, "id", call->id);
    json_out_key_text(json, "object", "response");
    json_out_key_i64(json, "created_at", call->created_unix_s);
    json_out_key_text(json, "status", status);
    json_out_key(json, "error");
    if (error != NULL) {
        json_out_open(json, '{');
        json_out_key_text(json, "code", code_of(error));
        json_out_key_text(json, "message", error->text);
        json_out_close(json, '}');
    } else {
        json_out_null(json);
    }
    json_out_key(json, "incomplete_details");
    if (strcmp(status, "incomplete") == 0) {
        json_out_open(json, '{');
        json_out_key_text(json, "reason", "max_output_tokens");
        json_out_close(json, '}');
    } else {
        json_out_null(json);
    }
    json_out_key_text(json, "model", api_reply_model(call));
    json_out_key_bool(json, "store", is_kept(call));
    str_printf(json->to, ",%s", kept_of(call)->fields);
    json_out_key(json, "output");
    if (is_over) {
        n_thoughts = print_output(call, json);
    } else {
        json_out_open(json, '[');
        json_out_close(json, ']');
    }
    json_out_key(json, "usage");
    if (is_over)
        print_usage(call, n_thoughts, json);
    else
        json_out_null(json);
    json_out_close(json, '}');
}

static const char *status_of(const struct api_choice *choice)
{
    return strcmp(choice->finish_reason, "length") == 0 ? "incomplete" : "completed";
}

/* Prints the finished answer, and keeps it if that was asked for. */
static void print_finished(struct api_call *call, struct json_out *json)
{
    size_t n_before = json->to->n;
    print_response(call, status_of(&call->choices[0]), NULL, json);
    if (!is_kept(call))
        return;
    struct view response = view_of(json->to->at + n_before, json->to->n - n_before);
    const struct api_responses_store_row row = {
        .id = call->id,
        .previous = kept_of(call)->previous,
        .tenant = call->tenant_hash,
        .items = kept_of(call)->items,
        .response = response,
    };
    api_responses_store_keep(call->api->responses, &row);
}

/* --- streams --- */

static void open_event(struct api_call *call, const char *name, struct str *out,
                       struct json_out *json)
{
    str_printf(out, "event: %s\ndata: ", name);
    json_out_init(json, out);
    json_out_open(json, '{');
    json_out_key_text(json, "type", name);
    json_out_key_i64(json, "sequence_number", call->blocks.sequence++);
}

static void close_event(struct str *out, struct json_out *json)
{
    json_out_close(json, '}');
    str_add_text(out, "\n\n");
}

/* Opens an event about the item that is open. */
static void open_item_event(struct api_call *call, const char *name, struct str *out,
                            struct json_out *json)
{
    char id[ITEM_ID_BYTES];
    print_id(call, call->blocks.kind, (size_t)call->blocks.n - 1, id);
    open_event(call, name, out, json);
    json_out_key_text(json, "item_id", id);
    json_out_key_i64(json, "output_index", call->blocks.n - 1);
    if (call->blocks.kind != TOLD_CALL)
        json_out_key_i64(json, "content_index", 0);
}

static void print_text(struct api_call *call, const char *name, const char *key, struct view text,
                       struct str *out)
{
    struct json_out json;
    open_item_event(call, name, out, &json);
    json_out_key(&json, key);
    json_out_view(&json, text);
    if (call->blocks.kind == TOLD_TEXT) {
        json_out_key(&json, "logprobs");
        json_out_open(&json, '[');
        json_out_close(&json, ']');
    }
    close_event(out, &json);
}

static void print_part_event(struct api_call *call, const char *name, struct view text,
                             struct str *out)
{
    struct json_out json;
    if (call->blocks.kind == TOLD_CALL)
        return;
    open_item_event(call, name, out, &json);
    json_out_key(&json, "part");
    print_part(call->blocks.kind, text, &json);
    close_event(out, &json);
}

static void print_item_event(struct api_call *call, const char *name, const struct item *item,
                             struct str *out)
{
    struct json_out json;
    open_event(call, name, out, &json);
    json_out_key_i64(&json, "output_index", call->blocks.n - 1);
    json_out_key(&json, "item");
    print_item(&call->choices[0], item, &json);
    close_event(out, &json);
}

static const char *const names[][3] = {
    [TOLD_TEXT] = { "response.output_text.delta", "response.output_text.done", "text" },
    [TOLD_REASONING] = { "response.reasoning_text.delta", "response.reasoning_text.done", "text" },
    [TOLD_CALL] = { "response.function_call_arguments.delta",
                    "response.function_call_arguments.done", "arguments" },
};

/* Ends the item that is open. Its whole text is read again, so that none is kept meanwhile. */
static void close_item(struct api_call *call, struct str *out)
{
    struct api_told told;
    if (!call->blocks.is_open)
        return;
    api_told_again(&told, call, &call->choices[0]);
    size_t index = (size_t)call->blocks.n - 1;
    CHECK(index < told.n);
    struct item item = item_of(&call->choices[0], &told, index);
    struct view text = bytes_of(item.told);
    print_text(call, names[call->blocks.kind][1], names[call->blocks.kind][2], text, out);
    print_part_event(call, "response.content_part.done", text, out);
    print_item_event(call, "response.output_item.done", &item, out);
    call->blocks.is_open = false;
    api_told_free(&told);
}

static void open_item(struct api_call *call, const struct api_told_item *told, struct str *out)
{
    close_item(call, out);
    call->blocks.is_open = true;
    call->blocks.kind = (int)told->kind;
    call->blocks.n++;
    const struct item item = { told, (size_t)call->blocks.n - 1, "in_progress" };
    print_item_event(call, "response.output_item.added", &item, out);
    print_part_event(call, "response.content_part.added", view_of("", 0), out);
}

static void print_state(struct api_call *call, const char *name, struct str *out)
{
    struct json_out json;
    open_event(call, name, out, &json);
    json_out_key(&json, "response");
    print_response(call, "in_progress", NULL, &json);
    close_event(out, &json);
}

static void write_chunk(struct api_call *call, struct api_choice *choice, struct str *out)
{
    struct api_told told;
    struct json_out json;
    char name[32];
    api_told_open(&told, call, choice, true);
    if (!choice->has_begun && (!api_told_is_empty(&told) || !choice->is_open)) {
        print_state(call, "response.created", out);
        print_state(call, "response.in_progress", out);
        choice->has_begun = true;
    }
    for (size_t i = 0; i < told.n; i++) {
        const struct api_told_item *item = &told.items[i];
        if (item->begins || !call->blocks.is_open || call->blocks.kind != (int)item->kind)
            open_item(call, item, out);
        if (item->bytes.n > 0)
            print_text(call, names[item->kind][0], "delta", bytes_of(item), out);
    }
    if (!choice->is_open) {
        close_item(call, out);
        snprintf(name, sizeof(name), "response.%s", status_of(choice));
        open_event(call, name, out, &json);
        json_out_key(&json, "response");
        print_finished(call, &json);
        close_event(out, &json);
    }
    api_told_free(&told);
}

static void write_last(struct api_call *call, struct str *out)
{
    (void)call;
    (void)out; /* the answer's own event is the last one */
}

static void write_whole(struct api_call *call, struct str *out)
{
    struct json_out json;
    (void)api_choice_show(&call->choices[0], &call->stops); /* all of it */
    json_out_init(&json, out);
    print_finished(call, &json);
}

static void write_error(struct api_call *call, const struct api_error *error, struct str *out)
{
    struct json_out json;
    open_event(call, "error", out, &json);
    json_out_key_text(&json, "code", code_of(error));
    json_out_key_text(&json, "message", error->text);
    json_out_key_text(&json, "param", error->param[0] != '\0' ? error->param : NULL);
    close_event(out, &json);
    open_event(call, "response.failed", out, &json);
    json_out_key(&json, "response");
    print_response(call, "failed", error, &json);
    close_event(out, &json);
}

const struct api_family api_responses_family = {
    .kind = ASK_CHAT,
    .id_prefix = "resp_",
    .stream_type = "text/event-stream; charset=utf-8",
    .ping = ": ping\n\n",
    .is_stored = true,
    .clamps_length = true,
    .translate = api_responses_ask,
    .keep = api_responses_ask_keep,
    .chunk = write_chunk,
    .last = write_last,
    .whole = write_whole,
    .fail = write_error,
};
