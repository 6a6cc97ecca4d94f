/* Writes answers as content blocks: thinking, text and tool_use, in the order in which the model
 * wrote them. In a stream each block begins, grows and stops before the next one begins. */
#include "api/anthropic.h"
#include "api/anthropic_ask.h"
#include "api/reply.h"
#include "api/told.h"
#include "base/json_out.h"
#include <string.h>

/* Clients send a thinking block back with its signature. Here it proves nothing. */
static const char signature[] = "unsigned";

static void open_event(struct str *out, const char *name, struct json_out *json)
{
    str_printf(out, "event: %s\ndata: ", name);
    json_out_init(json, out);
    json_out_open(json, '{');
    json_out_key_text(json, "type", name);
}

static void close_event(struct str *out, struct json_out *json)
{
    json_out_close(json, '}');
    str_add_text(out, "\n\n");
}

/* The service counts tokens that came from its cache apart. */
static void print_usage(const struct api_call *call, struct json_out *json)
{
    struct api_reply_sums sums = api_reply_sum_up(call);
    json_out_key(json, "usage");
    json_out_open(json, '{');
    json_out_key_i64(json, "input_tokens", sums.n_prompt - sums.n_cached);
    json_out_key_i64(json, "cache_creation_input_tokens", 0);
    json_out_key_i64(json, "cache_read_input_tokens", sums.n_cached);
    json_out_key_i64(json, "output_tokens", sums.n_generated);
    json_out_close(json, '}');
}

static void print_stop(const struct api_choice *choice, struct json_out *json)
{
    const char *reason = choice->finish_reason;
    bool has_calls = choice->is_parsed && choice->parser.n_whole > 0;
    bool is_length = reason != NULL && strcmp(reason, "length") == 0;
    json_out_key_text(json, "stop_reason",
                      reason == NULL              ? NULL
                      : is_length                 ? "max_tokens"
                      : has_calls                 ? "tool_use"
                      : choice->stop_text != NULL ? "stop_sequence"
                                                  : "end_turn");
    json_out_key_text(json, "stop_sequence", choice->stop_text);
}

static void print_head(const struct api_call *call, struct json_out *json)
{
    json_out_key_text(json, "id", call->id);
    json_out_key_text(json, "type", "message");
    json_out_key_text(json, "role", "assistant");
    json_out_key_text(json, "model", api_reply_model(call));
}

/* Prints the members of a tool_use block, except its input. */
static void print_use(const struct api_choice *choice, const struct api_told_item *item,
                      struct json_out *json)
{
    char id[TOLD_ID_BYTES];
    api_told_id(choice, item->index, id);
    json_out_key_text(json, "type", "tool_use");
    json_out_key_text(json, "id", id);
    json_out_key(json, "name");
    json_out_view(json, item->name);
    json_out_key(json, "input");
}

static void close_block(struct api_call *call, struct str *out)
{
    struct json_out json;
    if (!call->blocks.is_open)
        return;
    if (call->blocks.kind == TOLD_REASONING) {
        open_event(out, "content_block_delta", &json);
        json_out_key_i64(&json, "index", call->blocks.n - 1);
        json_out_key(&json, "delta");
        json_out_open(&json, '{');
        json_out_key_text(&json, "type", "signature_delta");
        json_out_key_text(&json, "signature", signature);
        json_out_close(&json, '}');
        close_event(out, &json);
    }
    open_event(out, "content_block_stop", &json);
    json_out_key_i64(&json, "index", call->blocks.n - 1);
    close_event(out, &json);
    call->blocks.is_open = false;
}

static void open_block(struct api_call *call, const struct api_choice *choice,
                       const struct api_told_item *item, struct str *out)
{
    struct json_out json;
    close_block(call, out);
    call->blocks.is_open = true;
    call->blocks.kind = (int)item->kind;
    open_event(out, "content_block_start", &json);
    json_out_key_i64(&json, "index", call->blocks.n++);
    json_out_key(&json, "content_block");
    json_out_open(&json, '{');
    if (item->kind == TOLD_CALL) {
        print_use(choice, item, &json);
        json_out_open(&json, '{');
        json_out_close(&json, '}');
    } else if (item->kind == TOLD_REASONING) {
        json_out_key_text(&json, "type", "thinking");
        json_out_key_text(&json, "thinking", "");
        json_out_key_text(&json, "signature", "");
    } else {
        json_out_key_text(&json, "type", "text");
        json_out_key_text(&json, "text", "");
    }
    json_out_close(&json, '}');
    close_event(out, &json);
}

static void print_delta(struct api_call *call, int kind, struct view bytes, struct str *out)
{
    static const char *const names[][2] = { [TOLD_TEXT] = { "text_delta", "text" },
                                            [TOLD_REASONING] = { "thinking_delta", "thinking" },
                                            [TOLD_CALL] = { "input_json_delta", "partial_json" } };
    struct json_out json;
    if (bytes.n == 0)
        return;
    open_event(out, "content_block_delta", &json);
    json_out_key_i64(&json, "index", call->blocks.n - 1);
    json_out_key(&json, "delta");
    json_out_open(&json, '{');
    json_out_key_text(&json, "type", names[kind][0]);
    json_out_key(&json, names[kind][1]);
    json_out_view(&json, bytes);
    json_out_close(&json, '}');
    close_event(out, &json);
}

static void write_start(struct api_call *call, struct str *out)
{
    struct json_out json;
    open_event(out, "message_start", &json);
    json_out_key(&json, "message");
    json_out_open(&json, '{');
    print_head(call, &json);
    json_out_key(&json, "content");
    json_out_open(&json, '[');
    json_out_close(&json, ']');
    json_out_key_text(&json, "stop_reason", NULL);
    json_out_key_text(&json, "stop_sequence", NULL);
    print_usage(call, &json);
    json_out_close(&json, '}');
    close_event(out, &json);
}

static void write_chunk(struct api_call *call, struct api_choice *choice, struct str *out)
{
    struct api_told told;
    struct json_out json;
    api_told_open(&told, call, choice, true);
    if (!choice->has_begun && (!api_told_is_empty(&told) || !choice->is_open)) {
        write_start(call, out);
        choice->has_begun = true;
    }
    for (size_t i = 0; i < told.n; i++) {
        const struct api_told_item *item = &told.items[i];
        if (item->begins || !call->blocks.is_open || call->blocks.kind != (int)item->kind)
            open_block(call, choice, item, out);
        print_delta(call, (int)item->kind, view_of(item->bytes.at, item->bytes.n), out);
    }
    if (!choice->is_open) {
        close_block(call, out);
        open_event(out, "message_delta", &json);
        json_out_key(&json, "delta");
        json_out_open(&json, '{');
        print_stop(choice, &json);
        json_out_close(&json, '}');
        print_usage(call, &json);
        close_event(out, &json);
    }
    api_told_free(&told);
}

static void write_last(struct api_call *call, struct str *out)
{
    struct json_out json;
    (void)call;
    open_event(out, "message_stop", &json);
    close_event(out, &json);
}

/* Prints a block of a whole answer. A call that is cut has no input that is an object, so that its
 * bytes are shown as text. */
static void print_block(const struct api_choice *choice, const struct api_told_item *item,
                        struct str *out, struct json_out *json)
{
    json_out_open(json, '{');
    if (item->kind == TOLD_CALL && item->ends) {
        print_use(choice, item, json);
        str_add(out, item->bytes.at, item->bytes.n);
        json->after_key = false; /* the value was written beside it */
    } else if (item->kind == TOLD_REASONING) {
        json_out_key_text(json, "type", "thinking");
        json_out_key(json, "thinking");
        json_out_view(json, view_of(item->bytes.at, item->bytes.n));
        json_out_key_text(json, "signature", signature);
    } else {
        json_out_key_text(json, "type", "text");
        json_out_key(json, "text");
        json_out_view(json, view_of(item->bytes.at, item->bytes.n));
    }
    json_out_close(json, '}');
}

static void write_whole(struct api_call *call, struct str *out)
{
    struct api_choice *choice = &call->choices[0];
    struct api_told told;
    struct json_out json;
    api_told_open(&told, call, choice, true);
    json_out_init(&json, out);
    json_out_open(&json, '{');
    print_head(call, &json);
    json_out_key(&json, "content");
    json_out_open(&json, '[');
    for (size_t i = 0; i < told.n; i++) {
        const struct api_told_item *item = &told.items[i];
        if (item->kind != TOLD_CALL || item->ends ||
            i + 1 == told.n) /* else the text behind has it */
            print_block(choice, item, out, &json);
    }
    json_out_close(&json, ']');
    print_stop(choice, &json);
    print_usage(call, &json);
    json_out_close(&json, '}');
    api_told_free(&told);
}

static void write_error(struct api_call *call, const struct api_error *error, struct str *out)
{
    (void)call;
    str_add_text(out, "event: error\ndata: ");
    api_error_print(error, ERROR_ANTHROPIC, out);
    str_add_text(out, "\n\n");
}

const struct api_family api_anthropic_messages = {
    .kind = ASK_CHAT,
    .id_prefix = "msg_",
    .stream_type = "text/event-stream; charset=utf-8",
    .ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    .clamps_length = true,
    .takes_any_budget = true,
    .translate = api_anthropic_ask,
    .chunk = write_chunk,
    .last = write_last,
    .whole = write_whole,
    .fail = write_error,
};
