/* Reads OpenAI's streams, completions and chats alike, and judges them. */
#include "loadgen/answer.h"

#include "base/hash.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { BODY_BYTES_MAX = 65536 };

void loadgen_answer_init(struct loadgen_answer *answer)
{
    *answer = (struct loadgen_answer){ .n_tokens = -1, .n_prompt_tokens = -1 };
    loadgen_sse_init(&answer->sse);
    str_init(&answer->body);
}

void loadgen_answer_free(struct loadgen_answer *answer)
{
    loadgen_sse_free(&answer->sse);
    str_free(&answer->body);
}

static void wrong(struct loadgen_answer *answer, const char *sentence)
{
    if (answer->wrong[0] == '\0')
        snprintf(answer->wrong, sizeof(answer->wrong), "%s", sentence);
}

static void take_text(struct loadgen_answer *answer, const char *text, size_t n)
{
    if (n == 0)
        return;
    if (answer->n_pieces++ == 0) {
        answer->first_ns = answer->now_ns;
    } else {
        int64_t gap_ns = answer->now_ns - answer->last_ns;
        answer->gap_ns_max = max_i64(answer->gap_ns_max, gap_ns);
        if (answer->gaps != NULL)
            hist_add(answer->gaps, gap_ns);
    }
    answer->last_ns = answer->now_ns;
    for (size_t i = 0; i < n; i++) /* FNV-1a: independent of how the text is cut */
        answer->text_hash = (answer->text_hash ^ (unsigned char)text[i]) * 0x100000001b3u;
}

static int32_t count_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    return n >= 0 && n <= RECORD_TOKENS_MAX ? (int32_t)n : -1;
}

static void take_usage(struct loadgen_answer *answer, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    answer->n_tokens = count_at(usage, "completion_tokens");
    answer->n_prompt_tokens = count_at(usage, "prompt_tokens");
    answer->n_cached =
        max_i32(count_at(json_object_get(usage, "prompt_tokens_details"), "cached_tokens"), 0);
}

/* Takes "the server said: ..." from {"error": {"message": ...}} or {"error": "..."}. */
static void take_error(struct loadgen_answer *answer, const json_t *error)
{
    char sentence[LOADGEN_SENTENCE_BYTES];
    const json_t *message = json_is_object(error) ? json_object_get(error, "message") : error;
    snprintf(sentence, sizeof(sentence), "the server said: %.160s",
             json_is_string(message) ? json_string_value(message) : "an error");
    wrong(answer, sentence);
}

static void take_choice(struct loadgen_answer *answer, const json_t *choice)
{
    const json_t *text = json_object_get(choice, "text");
    const json_t *reason = json_object_get(choice, "finish_reason");
    const json_t *delta = json_object_get(choice, "delta");
    if (text == NULL)
        text = json_object_get(delta, "content");
    if (json_string_length(text) == 0 && delta != NULL) /* what a model thinks is text, too */
        text = json_object_get(delta, "reasoning_content");
    if (json_string_length(text) == 0 && delta != NULL)
        text = json_object_get(delta, "reasoning");
    if (text == NULL && delta == NULL) {
        wrong(answer, "a choice without text");
        return;
    }
    if (json_is_string(text))
        take_text(answer, json_string_value(text), json_string_length(text));
    if (!json_is_string(reason))
        return;
    if (answer->finish[0] != '\0')
        wrong(answer, "two finish reasons");
    snprintf(answer->finish, sizeof(answer->finish), "%s", json_string_value(reason));
    answer->finished_ns = answer->now_ns;
}

static void take_event(void *self, const char *data, size_t n)
{
    struct loadgen_answer *answer = self;
    if (answer->is_done) {
        wrong(answer, "an event after [DONE]");
        return;
    }
    if (n == 6 && memcmp(data, "[DONE]", 6) == 0) {
        answer->is_done = true;
        return;
    }
    json_t *event = json_loadb(data, n, JSON_ALLOW_NUL, NULL);
    const json_t *choices = json_object_get(event, "choices");
    if (event == NULL)
        wrong(answer, "an event that is not JSON");
    else if (json_object_get(event, "error") != NULL)
        take_error(answer, json_object_get(event, "error"));
    else if (!json_is_array(choices) || json_array_size(choices) > 1)
        wrong(answer, "an event without its one choice");
    else if (json_array_size(choices) == 1)
        take_choice(answer, json_array_get(choices, 0));
    take_usage(answer, json_object_get(event, "usage"));
    json_decref(event);
}

void loadgen_answer_feed(struct loadgen_answer *answer, bool is_stream, const char *bytes, size_t n)
{
    if (is_stream)
        loadgen_sse_feed(&answer->sse, bytes, n, take_event, answer);
    else if (answer->body.n + n <= BODY_BYTES_MAX)
        str_add(&answer->body, bytes, n);
}

/* Judges an answer that came with an error's status, or with none. */
static enum record_why judge_refusal(struct loadgen_answer *answer, const struct loadgen_end *end)
{
    char sentence[LOADGEN_SENTENCE_BYTES];
    json_t *body = answer->body.n > 0 ? json_loadb(answer->body.at, answer->body.n, 0, NULL) : NULL;
    if (json_object_get(body, "error") != NULL)
        take_error(answer, json_object_get(body, "error"));
    json_decref(body);
    snprintf(sentence, sizeof(sentence), "HTTP status %ld", end->http_status);
    wrong(answer, end->http_status > 0 ? sentence : end->transport);
    switch (end->http_status) {
    case 0:
        return RECORD_CUT;
    case 413:
        return RECORD_TOO_LARGE;
    case 429:
    case 503:
        return RECORD_REFUSED;
    case 504:
        return RECORD_DEADLINE;
    default:
        return RECORD_FAILED;
    }
}

static void judge_count(struct loadgen_answer *answer, const struct loadgen_end *end,
                        int32_t n_output)
{
    char sentence[LOADGEN_SENTENCE_BYTES];
    bool is_short_rightly = end->may_stop_early && strcmp(answer->finish, "stop") == 0;
    if (end->ends_by_stop && n_output > end->n_wanted && strcmp(answer->finish, "length") == 0)
        wrong(answer, "the answer went on to max_tokens: a server without min_tokens, "
                      "stop_token_ids and logit_bias needs --end max_tokens");
    if (n_output > end->n_wanted || (n_output < end->n_wanted && !is_short_rightly)) {
        snprintf(sentence, sizeof(sentence), "%d tokens instead of %d", n_output, end->n_wanted);
        wrong(answer, sentence);
    }
}

static enum record_why judge_stream(struct loadgen_answer *answer, const struct loadgen_end *end,
                                    int32_t n_output)
{
    bool has_error = strncmp(answer->wrong, "the server said", 15) == 0;
    if (has_error)
        return RECORD_FAILED;
    if (answer->sse.wrong != NULL)
        wrong(answer, answer->sse.wrong);
    if (answer->wrong[0] != '\0')
        return RECORD_WRONG;
    if (end->transport != NULL || !answer->is_done || !loadgen_sse_is_whole(&answer->sse)) {
        wrong(answer, end->transport != NULL ? end->transport : "the stream ended without [DONE]");
        return RECORD_CUT;
    }
    if (answer->n_pieces == 0 && n_output == 0)
        wrong(answer, "an empty answer");
    else if (strcmp(answer->finish, "length") != 0 && strcmp(answer->finish, "stop") != 0)
        wrong(answer, answer->finish[0] != '\0' ? "a finish_reason that is not stop or length"
                                                : "no finish_reason");
    else
        judge_count(answer, end, n_output);
    if (answer->wrong[0] != '\0')
        return RECORD_WRONG;
    return strcmp(answer->finish, "stop") == 0 ? RECORD_STOPPED : RECORD_LENGTH;
}

void loadgen_answer_judge(struct loadgen_answer *answer, const struct loadgen_end *end,
                          struct record *record)
{
    int32_t n_output = answer->n_tokens >= 0 ? answer->n_tokens : answer->n_pieces;
    record->http_status = (int32_t)end->http_status;
    if (end->http_status != 200)
        record->why = (uint8_t)judge_refusal(answer, end);
    else
        record->why = (uint8_t)judge_stream(answer, end, n_output);
    record->n_output = answer->n_pieces > 0 || record_is_done(record) ? max_i32(n_output, 1) : 0;
    record->first_ns = answer->first_ns;
    if (answer->n_pieces == 0 && record_is_done(record))
        record->first_ns = answer->finished_ns;
    record->gap_ns_max = answer->gap_ns_max;
    record->n_cached = answer->n_cached;
}
