/* Each line of a stream carries what can be shown now; the last one carries the figures alone. A
 * call of a function is shown when it is whole, since its arguments are an object. */
#include "api/ollama.h"
#include "api/call.h"
#include "api/ollama_ask.h"
#include "api/ollama_models.h"
#include "api/reply.h"
#include "api/told.h"
#include "base/json_out.h"
#include "base/time.h"
#include <string.h>

static const struct api_family chats;

struct line { /* what a line shows */
    struct str text, thoughts;
    struct str calls; /* elements of a JSON array */
    size_t n_calls;
};

static void free_line(struct line *line)
{
    str_free(&line->text);
    str_free(&line->thoughts);
    str_free(&line->calls);
}

static void add_call(struct line *line, const struct api_told_item *item)
{
    struct json_out json;
    if (line->n_calls++ > 0)
        str_add_char(&line->calls, ',');
    str_add_text(&line->calls, "{\"function\":{\"name\":");
    json_out_init(&json, &line->calls);
    json_out_view(&json, item->name);
    str_add_text(&line->calls, ",\"arguments\":");
    str_add(&line->calls, item->bytes.at, item->bytes.n);
    str_add_text(&line->calls, "}}");
}

/* Adds what was told. In a stream a call that has ended here may have begun in an earlier line, so
 * that it is read again. */
static void fill(struct line *line, struct api_call *call, struct api_choice *choice,
                 const struct api_told *told)
{
    for (size_t i = 0; i < told->n; i++) {
        const struct api_told_item *item = &told->items[i];
        if (item->begins || !call->blocks.is_open || call->blocks.kind != (int)item->kind)
            call->blocks.n++;
        call->blocks.is_open = true;
        call->blocks.kind = (int)item->kind;
        struct str *to = item->kind == TOLD_TEXT ? &line->text : &line->thoughts;
        if (item->kind != TOLD_CALL)
            str_add(to, item->bytes.at, item->bytes.n);
        if (item->kind != TOLD_CALL || !item->ends)
            continue;
        struct api_told all;
        api_told_again(&all, call, choice);
        CHECK((size_t)call->blocks.n <= all.n);
        add_call(line, &all.items[call->blocks.n - 1]);
        api_told_free(&all);
    }
}

/* A call that the end of the answer cuts off is shown as text, with what there is of it. */
static void fill_cut(struct line *line, struct api_call *call, struct api_choice *choice)
{
    struct api_told all;
    api_told_again(&all, call, choice);
    const struct api_told_item *last = all.n > 0 ? &all.items[all.n - 1] : NULL;
    if (last != NULL && last->kind == TOLD_CALL && !last->ends) {
        str_add(&line->text, last->name.at, last->name.n);
        str_add_char(&line->text, ' ');
        str_add(&line->text, last->bytes.at, last->bytes.n);
    }
    api_told_free(&all);
}

static void print_text(const char *key, const struct str *text, struct json_out *json)
{
    json_out_key(json, key);
    json_out_view(json, view_of(text->at != NULL ? text->at : "", text->n));
}

/* Prints the members that show the answer. */
static void print_shown(const struct api_call *call, const struct line *line, struct json_out *json)
{
    bool is_chat = call->family == &chats;
    if (is_chat) {
        json_out_key(json, "message");
        json_out_open(json, '{');
        json_out_key_text(json, "role", "assistant");
    }
    print_text(is_chat ? "content" : "response", &line->text, json);
    if (line->thoughts.n > 0)
        print_text("thinking", &line->thoughts, json);
    if (line->n_calls > 0) {
        json_out_key(json, "tool_calls");
        json_out_open(json, '[');
        str_add(json->to, line->calls.at, line->calls.n);
        json_out_close(json, ']');
    }
    if (is_chat)
        json_out_close(json, '}');
}

/* Prints the figures of the answer; times are in nanoseconds. */
static void print_end(const struct api_call *call, struct json_out *json)
{
    struct api_reply_sums sums = api_reply_sum_up(call);
    int64_t prompt_ns = max_i64(sums.first_ns - call->arrived_ns - sums.queue_ns, 0);
    json_out_key_text(json, "done_reason", call->choices[0].finish_reason);
    json_out_key_i64(json, "total_duration", max_i64(time_now_ns() - call->arrived_ns, 0));
    json_out_key_i64(json, "load_duration", sums.queue_ns);
    json_out_key_i64(json, "prompt_eval_count", sums.n_prompt);
    json_out_key_i64(json, "prompt_eval_duration", prompt_ns);
    json_out_key_i64(json, "eval_count", sums.n_generated);
    json_out_key_i64(json, "eval_duration", sums.last_ns - sums.first_ns);
}

static void print_line(struct api_call *call, const struct line *line, bool is_last,
                       struct str *out)
{
    struct json_out json;
    char time[OLLAMA_TIME_BYTES];
    api_ollama_models_time(time_unix_ns(), time);
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", api_reply_model(call));
    json_out_key_text(&json, "created_at", time);
    print_shown(call, line, &json);
    json_out_key_bool(&json, "done", is_last);
    if (is_last)
        print_end(call, &json);
    json_out_close(&json, '}');
}

static void write_chunk(struct api_call *call, struct api_choice *choice, struct str *out)
{
    struct api_told told;
    struct line line = { 0 };
    const struct line none = { 0 };
    api_told_open(&told, call, choice, true);
    fill(&line, call, choice, &told);
    if (!choice->is_open)
        fill_cut(&line, call, choice);
    if (line.text.n > 0 || line.thoughts.n > 0 || line.n_calls > 0) {
        print_line(call, &line, false, out);
        str_add_char(out, '\n');
    }
    if (!choice->is_open) {
        print_line(call, &none, true, out);
        str_add_char(out, '\n');
    }
    free_line(&line);
    api_told_free(&told);
}

static void write_last(struct api_call *call, struct str *out)
{
    (void)call;
    (void)out; /* the line with the figures is the last one */
}

static void write_whole(struct api_call *call, struct str *out)
{
    struct api_choice *choice = &call->choices[0];
    struct api_told told;
    struct line line = { 0 };
    api_told_open(&told, call, choice, true);
    fill(&line, call, choice, &told);
    fill_cut(&line, call, choice);
    print_line(call, &line, true, out);
    free_line(&line);
    api_told_free(&told);
}

static void write_error(struct api_call *call, const struct api_error *error, struct str *out)
{
    (void)call;
    api_error_print(error, ERROR_OLLAMA, out);
    str_add_char(out, '\n');
}

/* A blank in front of the next line keeps a quiet stream alive. */
#define WRITERS                                                                                    \
    .id_prefix = "ollama-", .stream_type = "application/x-ndjson", .ping = " ",                    \
    .clamps_length = true, .chunk = write_chunk, .last = write_last, .whole = write_whole,         \
    .fail = write_error

static const struct api_family chats = { .kind = ASK_CHAT,
                                         .translate = api_ollama_ask_chat,
                                         WRITERS };
static const struct api_family texts = {
    .kind = ASK_CHAT, .kind_of = api_ollama_ask_kind, .translate = api_ollama_ask_generate, WRITERS
};

void api_ollama_chat(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &chats);
}

void api_ollama_text(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &texts);
}
