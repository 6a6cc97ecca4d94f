/* shoal run: one prompt, one answer, no server. It drives the same struct house itself. */
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include "cmd/wire.h"
#include "cmd/wire_join.h"
#include "config/options.h"
#include "template/chat.h"
#include "text/tokenizer.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char doc[] = "Answers one prompt from a model file, without a server. A model with a "
                          "chat template is asked as a user would ask it, unless --raw. A PROMPT "
                          "that is \"-\" is read from the standard input.";
/* More bytes than any prompt has tokens for. */
#define PROMPT_BYTES_MAX ((size_t)16 << 20)

struct run_options {
    const char *n_tokens, *temperature, *seed, *raw, *top_p, *top_k;
};

/* Makes the prompt's ids, through the chat template if there is one. Returns NULL on failure, after
 * printing the sentence. */
static int32_t *make_prompt(const struct api_model *model, const char *prompt, bool is_raw,
                            int32_t *n_ids)
{
    struct str text;
    struct fault fault;
    int32_t *ids = NULL;
    bool is_chat = model->chat_template && !is_raw;
    str_init(&text);
    if (is_chat) {
        const struct chat_message message = { .role = "user", .content = prompt };
        const struct chat_options options = { .messages = &message,
                                              .n_messages = 1,
                                              .add_generation_prompt = true };
        if (chat_template_render(model->chat_template, &options, &text, &fault) != STATUS_OK) {
            fprintf(stderr, "shoal: %s\n", fault.text);
            str_free(&text);
            return NULL;
        }
    } else {
        str_add_text(&text, prompt);
    }
    int32_t n_max = model->n_context_max;
    ids = mem_take(sizeof *ids * (size_t)n_max);
    *n_ids =
        tokenizer_encode(model->tokenizer, view_of(text.at, text.n),
                         is_chat ? TOKENIZER_PARSE_SPECIAL : TOKENIZER_ADD_SPECIAL, ids, n_max);
    str_free(&text);
    if (*n_ids < 1 || *n_ids >= n_max) {
        if (*n_ids == TOKENIZER_TOO_COSTLY)
            fprintf(stderr, "shoal: the regular expressions in the model's tokenizer take too many "
                            "steps for this prompt\n");
        else if (*n_ids == 0)
            fprintf(stderr, "shoal: the prompt is empty\n");
        else
            fprintf(stderr, "shoal: the prompt is longer than the model's context of %d tokens\n",
                    n_max);
        mem_give(ids);
        return NULL;
    }
    return ids;
}

/* Reads the options as numbers. Returns false after printing the sentence. */
static bool read_options(const struct run_options *options, struct sampling *sampling,
                         int64_t *n_tokens_max, uint64_t *seed)
{
    double temperature = 0.0, top_p = 1.0;
    int64_t top_k = 0, given_seed = 0;
    const char *wrong = NULL;
    *n_tokens_max = 256;
    if (options->n_tokens && (!parse_i64(options->n_tokens, n_tokens_max) || *n_tokens_max < 1))
        wrong = "--max-tokens: expected a whole number from 1";
    else if (options->temperature && (!parse_f64(options->temperature, &temperature) ||
                                      temperature < 0.0 || temperature > 100.0))
        wrong = "--temperature: expected a number from 0 to 100";
    else if (options->top_p && (!parse_f64(options->top_p, &top_p) || top_p <= 0.0 || top_p > 1.0))
        wrong = "--top-p: expected a number over 0, up to 1";
    else if (options->top_k &&
             (!parse_i64(options->top_k, &top_k) || top_k < 0 || top_k > LIMIT_VOCABULARY))
        wrong = "--top-k: expected a whole number from 0";
    else if (options->seed && !parse_i64(options->seed, &given_seed))
        wrong = "--seed: expected a whole number";
    if (wrong) {
        fprintf(stderr, "shoal: %s\n", wrong);
        return false;
    }
    *sampling = (struct sampling){ .temperature = (float)temperature,
                                   .top_p = (float)top_p,
                                   .repetition_penalty = 1.0F,
                                   .top_k = (int32_t)top_k,
                                   .n_top_logprobs = -1 };
    *seed = options->seed ? (uint64_t)given_seed : rng_system();
    return true;
}

/* Reads the standard input to its end, without the final line end. Returns false after printing the
 * sentence. */
static bool read_prompt(struct str *prompt)
{
    char bytes[4096];
    size_t n;
    while ((n = fread(bytes, 1, sizeof bytes, stdin)) > 0 && prompt->n <= PROMPT_BYTES_MAX)
        str_add(prompt, bytes, n);
    const char *wrong = ferror(stdin)                  ? "the standard input can't be read"
                        : prompt->n > PROMPT_BYTES_MAX ? "the prompt is longer than 16 MiB"
                        : prompt->n > 0 && memchr(prompt->at, '\0', prompt->n) != NULL
                            ? "the prompt holds a zero byte, so it is no text"
                            : NULL;
    if (wrong != NULL)
        fprintf(stderr, "shoal: %s\n", wrong);
    if (prompt->n > 0 && prompt->at[prompt->n - 1] == '\n')
        prompt->n--;
    if (prompt->n > 0 && prompt->at[prompt->n - 1] == '\r')
        prompt->n--;
    str_add_text(prompt, ""); /* ends there */
    return wrong == NULL;
}

static struct request_body *make_body(const struct api_model *model, const int32_t *ids,
                                      int32_t n_ids, const struct sampling *sampling, uint64_t seed)
{
    size_t n_bytes = request_body_bytes((uint32_t)n_ids, (uint32_t)model->n_eog, 0);
    struct request_body *body = mem_take(n_bytes);
    *body = (struct request_body){ .n_bytes = (uint32_t)n_bytes,
                                   .n_tokens = (uint32_t)n_ids,
                                   .n_stop_ids = (uint32_t)model->n_eog,
                                   .seed = seed,
                                   .sampling = *sampling };
    memcpy(request_body_tokens(body), ids, sizeof(int32_t) * (size_t)n_ids);
    memcpy(request_body_stop_ids(body), model->eog_ids, sizeof(int32_t) * (size_t)model->n_eog);
    return body;
}

static bool is_end_token(const struct api_model *model, int32_t id)
{
    for (int32_t i = 0; i < model->n_eog; i++) {
        if (model->eog_ids[i] == id)
            return true;
    }
    return false;
}

struct answer {
    const struct api_model *model;
    struct detokenizer detokenizer;
    struct str text; /* for a person: the latest part; as JSON: all of it */
    bool is_json;
    int64_t begun_ns, first_ns, last_ns;
    int32_t n_tokens;
};

/* A token may end inside a character, so that there is no text yet. */
static void print_text(const struct answer *answer)
{
    if (answer->text.n > 0)
        fwrite(answer->text.at, 1, answer->text.n, stdout);
    fflush(stdout);
}

static void print_tokens(struct answer *answer, const int32_t *ids, int32_t n)
{
    answer->last_ns = time_now_ns();
    if (answer->n_tokens == 0)
        answer->first_ns = answer->last_ns;
    answer->n_tokens += n;
    if (!answer->is_json)
        str_clear(&answer->text);
    for (int32_t i = 0; i < n; i++) {
        if (!is_end_token(answer->model, ids[i]))
            detokenizer_add(&answer->detokenizer, ids[i], &answer->text);
    }
    if (!answer->is_json)
        print_text(answer);
}

/* Drives the house until the request ends. Returns the exit code. */
static int drive(struct house *house, struct answer *answer)
{
    struct service service = wire_service(house);
    for (;;) {
        struct service_event event;
        const void *payload;
        int64_t wake = wire_step(house, time_now_ns());
        while (service.next(service.self, &event, &payload)) {
            if (event.what == SERVICE_TOKENS)
                print_tokens(answer, payload, event.n_tokens);
            if (ferror(stdout)) {
                fprintf(stderr, "shoal: not all of the output could be written\n");
                return 1;
            }
            if (event.what != SERVICE_ENDED)
                continue;
            if (event.why == SERVICE_STOPPED || event.why == SERVICE_LENGTH)
                return 0;
            if (event.n_bytes > 0)
                fprintf(stderr, "shoal: %.*s\n", event.n_bytes, (const char *)payload);
            else
                fprintf(stderr, "shoal: %s\n", service_why_name(event.why));
            return 1;
        }
        struct pollfd fd = { .fd = service.wait_fd(service.self), .events = POLLIN };
        int64_t wait_ns = wake == TIME_NEVER ? TIME_NS_PER_S : wake - time_now_ns();
        poll(&fd, 1,
             (int)min_i64(max_i64(0, (wait_ns + TIME_NS_PER_MS - 1) / TIME_NS_PER_MS), 1000));
    }
}

static void print_json(const struct answer *answer, double ttft_ms, double tokens_per_s)
{
    struct json_out json;
    struct str out;
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key(&json, "text");
    json_out_view(&json, view_of(answer->text.at, answer->text.n));
    json_out_key_i64(&json, "tokens", answer->n_tokens);
    json_out_key_f64(&json, "ttft_ms", ttft_ms);
    json_out_key_f64(&json, "tokens_per_s", tokens_per_s);
    json_out_close(&json, '}');
    printf("%s\n", out.at);
    str_free(&out);
}

/* Prints the end of the text, and the figures. For a person they go to stderr, so that stdout is
 * the answer alone. */
static void print_end(struct answer *answer)
{
    double ttft_ms = (double)(answer->first_ns - answer->begun_ns) * 1e-6;
    double decode_s = (double)(answer->last_ns - answer->first_ns) * 1e-9;
    double tokens_per_s = decode_s > 0.0 ? (double)(answer->n_tokens - 1) / decode_s : 0.0;
    if (!answer->is_json)
        str_clear(&answer->text);
    detokenizer_end(&answer->detokenizer, &answer->text);
    if (answer->is_json) {
        print_json(answer, ttft_ms, tokens_per_s);
        return;
    }
    print_text(answer);
    fprintf(stderr, "\n[%d tokens, first after %.1f ms with loading, then %.1f tokens/s]\n",
            answer->n_tokens, ttft_ms, tokens_per_s);
}

static int run(struct house *house, const char *prompt, const struct run_options *options,
               bool is_json)
{
    const struct api_model *models[API_MODELS_MAX];
    CHECK(wire_models(house, models) == 1);
    const struct api_model *model = models[0];
    struct sampling sampling;
    int64_t n_tokens_max;
    uint64_t seed;
    int32_t n_ids;
    if (!read_options(options, &sampling, &n_tokens_max, &seed))
        return 2;
    int32_t *ids = make_prompt(model, prompt, options->raw != NULL, &n_ids);
    if (!ids)
        return 1;
    struct request_body *body = make_body(model, ids, n_ids, &sampling, seed);
    int64_t now_ns = time_now_ns();
    const struct request request = {
        .id = UINT64_C(1) << 48 | 1,
        .n_prompt = n_ids,
        .n_tokens = n_ids,
        .n_tokens_max = (int32_t)min_i64(n_ids + n_tokens_max, model->n_context_max),
        .arrived_ns = now_ns,
        .served_ns = now_ns,
        .deadline_ns = TIME_NEVER,
    };
    struct answer answer = { .model = model, .begun_ns = now_ns, .is_json = is_json };
    detokenizer_init(&answer.detokenizer, model->tokenizer, false);
    str_init(&answer.text);
    struct service service = wire_service(house);
    int code = service.submit(service.self, &request, body) ? drive(house, &answer) : 1;
    if (code == 0)
        print_end(&answer);
    str_free(&answer.text);
    mem_give(ids);
    mem_give(body);
    return code;
}

int verbs_run(int argc, char **argv)
{
    struct config config;
    struct run_options options = { NULL, NULL, NULL, NULL, NULL, NULL };
    const struct options_extra extras[] = {
        { "max-tokens", "tokens of the answer: 256", &options.n_tokens, true },
        { "temperature", "0 (greedy) unless given", &options.temperature, true },
        { "top-p", "keep the likeliest tokens that hold this much", &options.top_p, true },
        { "top-k", "keep this many of the likeliest tokens", &options.top_k, true },
        { "seed", "the same seed gives the same tokens", &options.seed, true },
        { "raw", "continue the prompt as it stands, without a chat template", &options.raw, false },
    };
    bool is_json = false;
    const struct options_verb verb = {
        .doc = doc,
        .arguments = "MODEL PROMPT",
        .has_config = true,
        .keys = "chunk_tokens default_chat_template devices kv kv_bytes kv_type log_engine "
                "log_engine_bytes log_json log_level max_batch_tokens memory profile speculation "
                "template_time trace",
        .is_json = &is_json,
        .n_min = 2,
        .n_max = 2,
        .extras = extras,
        .n_extras = COUNT_OF(extras)
    };
    const char *plain[2];
    struct fault fault;
    struct house *house;
    struct str piped;
    int n_plain, code = 2;

    str_init(&piped);
    log_set(LOG_WARN, false);
    config_init(&config);
    enum status status = config_read_environment(&config, &fault);
    if (status == STATUS_OK && config_options_parse(&verb, argc, argv, &config, plain, &n_plain)) {
        bool is_piped = strcmp(plain[1], "-") == 0;
        bool has_prompt = !is_piped || read_prompt(&piped);
        if (has_prompt)
            status = config_add_model(&config, plain[0], &fault);
        if (has_prompt && status == STATUS_OK)
            status = wire_open(&house, &config, &fault);
        if (has_prompt && status == STATUS_OK) {
            code = run(house, is_piped ? piped.at : plain[1], &options, is_json);
            if (!wire_close(house) && code == 0) {
                fprintf(stderr, "shoal: not all of log_engine or trace could be written\n");
                code = 1;
            }
        }
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    str_free(&piped);
    config_free(&config);
    return code;
}
