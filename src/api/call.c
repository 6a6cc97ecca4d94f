/* Calls: from a request through its choices to the answer. */
#include "api/call.h"
#include "api/anthropic.h"
#include "api/ends.h"
#include "api/guided.h"
#include "api/headers.h"
#include "api/reply.h"
#include "api/responses.h"
#include "api/responses_peers.h"
#include "api/responses_store.h"
#include "api/scores.h"
#include "api/seats.h"
#include "api/submit.h"
#include "api/tally.h"
#include "api/vectors.h"
#include "api/wishes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

enum {
    INLINE_BYTES_MAX = 8 << 10, /* larger bodies are read on a worker: about 2 ms of a core */
    WRITE_BYTES_MAX = 64 << 10, /* of tokens and texts: larger answers are written on a worker */
    SUBMIT_BYTES_MAX = 1 << 20, /* of prompts, in one turn of the loop: about 2 ms */
};

/* --- the end of a call --- */

/* Ends a choice whose request is over, at the service or by our cancel. Late events of it are
 * ignored. */
static void drop_choice(struct api_choice *choice, uint8_t why)
{
    struct api_call *call = choice->call;
    struct api *api = call->api;
    choice->is_open = false;
    if (!choice->is_counted)
        api_tally_end(choice, why);
    choice->is_counted = true;
    if (!choice->is_submitted)
        return;
    choice->is_submitted = false;
    map_remove(&api->ids, choice->id);
    api->choices[slots_index(choice->slot)] = NULL;
    slots_put(&api->slots, choice->slot);
}

static void cancel_choice(struct api_choice *choice)
{
    struct api *api = choice->call->api;
    if (choice->is_submitted) {
        api->options.service.cancel(api->options.service.self, choice->id, 0);
        api_nudge(api);
    }
}

static void free_call(struct api_call *call)
{
    struct api *api = call->api;
    for (int32_t i = 0; i < call->n_choices; i++)
        api_choice_free(&call->choices[i]);
    if (call->prev != NULL)
        call->prev->next = call->next;
    else
        api->calls = call->next;
    if (call->next != NULL)
        call->next->prev = call->prev;
    api_seats_put(api, call->party, call->n_seats);
    api->n_unsent -= call->n_unsent;
    api_prompts_free(&call->prompts);
    api_catalog_put(&api->catalog, call->catalog);
    str_free(&call->key);
    str_free(&call->body);
    str_free(&call->prefix);
    str_free(&call->answer);
    mem_give(call->choices);
    struct api_party *party = call->party;
    mem_account_charge(&party->account, -call->guided_bytes);
    mem_give(call);
    api_parties_put(api_http_parties(api->http), party);
}

/* Ends the choices of a call that is over, and cancels those of its requests that are still
 * open. */
static void drop_choices(struct api_call *call, uint8_t why)
{
    if (call->n_choices == 0)
        api_tally_call(call, why);
    for (int32_t i = 0; i < call->n_choices; i++) {
        cancel_choice(&call->choices[i]);
        drop_choice(&call->choices[i], why);
    }
}

/* Logs how the call ended, in one line that has both ids. */
static void log_end(const struct api_call *call, const char *what)
{
    const struct api_model *model = call->prompts.model;
    log_line(LOG_DEBUG, "api", "%s (request %s, model %s) after %.1f ms: %s", call->id,
             call->request_id, model != NULL ? model->name : "none",
             (double)(time_now_ns() - call->arrived_ns) / 1e6, what);
}

/* Called when the client has left. */
static void on_gone(struct api_http_exchange *x)
{
    struct api_call *call = x->user;
    call->x = NULL;
    if (call->is_away)
        return; /* the worker hands it back */
    log_end(call, "the client has left");
    drop_choices(call, SERVICE_CANCELLED);
    free_call(call);
}

/* Sends an error page, or an error event when the answer has begun. */
static void fail_call(struct api_call *call, const struct api_error *error, uint8_t why)
{
    struct api_http_exchange *x = call->x;
    drop_choices(call, why);
    if (x != NULL && x->has_begun) {
        struct str out;
        str_init(&out);
        call->family->fail(call, error, &out);
        api_http_chunk(x, view_of(out.at, out.n));
        api_http_end(x);
        str_free(&out);
    } else if (x != NULL) {
        api_refuse(x, error);
    }
    log_end(call, error->text);
    const char *reason = api_error_reason(error);
    if (reason != NULL && call->prompts.model != NULL)
        metrics_add_refusal(call->api->metrics, call->prompts.model->service, reason);
    free_call(call);
}

static void write_answer(void *arg)
{
    struct api_call *call = arg;
    call->family->whole(call, &call->answer);
}

static void write_job(struct api_job *job)
{
    struct api_call *call = (struct api_call *)job;
    if (!api_work_run(&call->work, write_answer, call, &call->prompts.error))
        str_init(&call->answer);
}

static void write_done(struct api_job *job)
{
    struct api_call *call = (struct api_call *)job;
    call->is_away = false;
    if (job->is_dropped && call->x != NULL) {
        struct api_error error = { 0 };
        api_error_set(&error, ERROR_STOPPED, NULL, "the server is stopping");
        fail_call(call, &error, SERVICE_FAILED);
        return;
    }
    log_end(call, call->x == NULL              ? "the client has left"
                  : call->prompts.error.is_set ? call->prompts.error.text
                                               : "answered");
    if (call->x != NULL && call->prompts.error.is_set)
        api_refuse(call->x, &call->prompts.error);
    else if (call->x != NULL)
        api_reply_text(call->x, &call->answer);
    free_call(call);
}

/* Returns whether writing the answer would delay the streams of other clients. */
static bool is_large(const struct api_call *call)
{
    size_t n_bytes = (size_t)call->prompts.n_echo_bytes;
    for (int32_t i = 0; i < call->n_choices; i++)
        n_bytes += call->choices[i].text.n +
                   (call->choices[i].n_tokens + (size_t)call->choices[i].n_scores) *
                       sizeof(struct api_token) +
                   (size_t)call->choices[i].n_vector * 4 * sizeof(float); /* as JSON, about */
    return n_bytes > WRITE_BYTES_MAX;
}

static void write_whole(struct api_call *call)
{
    call->job = (struct api_job){ .work = write_job, .done = write_done, .rank = API_JOB_PATIENT };
    call->work = api_work_for(call->api, call->party, 0);
    call->is_away = true;
    if (!is_large(call) || !api_workers_put(call->api->workers, &call->job)) {
        write_job(&call->job);
        write_done(&call->job);
    }
}

static void finish_call(struct api_call *call)
{
    struct str out;
    if (!call->prompts.ask.streams) {
        write_whole(call);
        return;
    }
    str_init(&out);
    call->family->last(call, &out);
    if (out.n > 0)
        api_http_chunk(call->x, view_of(out.at, out.n));
    api_http_end(call->x);
    str_free(&out);
    log_end(call, "answered");
    free_call(call);
}

static void begin_stream(struct api_call *call)
{
    api_http_header(call->x, "Cache-Control", "no-cache");
    api_http_header(call->x, "X-Accel-Buffering", "no");
    api_http_begin(call->x, 200, call->family->stream_type);
}

static void starve(struct api_call *call)
{
    struct api_error error = { 0 };
    api_error_set(&error, ERROR_STARVED, NULL, "there is no memory for the rest of the answer");
    fail_call(call, &error, SERVICE_FULL);
}

struct chunk {
    struct api_call *call;
    struct api_choice *choice;
    struct str out;
};

static void print_chunk(void *arg)
{
    struct chunk *chunk = arg;
    chunk->call->family->chunk(chunk->call, chunk->choice, &chunk->out);
}

/* Writes the text that the choice can show now. Returns false when there was no memory; then the
 * call is over. */
static bool show(struct api_call *call, struct api_choice *choice, int64_t now_ns)
{
    struct chunk chunk = { .call = call, .choice = choice };
    if (!call->prompts.ask.streams)
        return true;
    if (mem_guard(INT64_MAX, print_chunk, &chunk) != 0) {
        starve(call);
        return false;
    }
    if (chunk.out.n > 0) {
        if (!call->x->has_begun)
            begin_stream(call);
        api_http_chunk(call->x, view_of(chunk.out.at, chunk.out.n));
        call->wrote_ns = now_ns;
    }
    str_free(&chunk.out);
    return true;
}

static void close_choice(struct api_call *call, struct api_choice *choice, uint8_t why)
{
    drop_choice(choice, why);
    call->n_open--;
    if (show(call, choice, time_now_ns()) && call->n_open == 0)
        finish_call(call);
}

static void house_error(struct api_call *call, const char *text)
{
    struct api_error error = { 0 };
    api_error_set(&error, ERROR_HOUSE, NULL, "%s", text);
    log_line(LOG_ERROR, "api", "%s: %s", call->id, text);
    fail_call(call, &error, SERVICE_FAILED);
}

/* Takes the tokens of an event. Returns false when the call is over. */
static bool take_tokens(struct api_choice *choice, const struct service_event *event,
                        const char *payload)
{
    struct api_call *call = choice->call;
    int64_t now_ns = time_now_ns();
    bool has_logprobs = choice->call->prompts.ask.wants_logprobs;
    size_t n = (size_t)event->n_tokens, n_bytes = n * sizeof(int32_t);
    int32_t expected = choice->n_prompt + choice->n_generated;
    if (!mem_reserve_fill() || api_parties_is_full(api_http_parties(call->api->http))) {
        starve(call);
        return false;
    }
    if (has_logprobs)
        n_bytes += n * sizeof(struct token_logprobs);
    if (event->n_tokens < 0 || (size_t)event->n_bytes < n_bytes || event->position > expected ||
        api_scores_lack(choice)) {
        house_error(call, "tokens were lost on their way");
        return false;
    }
    choice->n_cached = event->n_cached;
    choice->n_preempted = event->n_preempted;
    choice->device_ns = max_i64(choice->device_ns, event->device_ns);
    if (choice->queue_ns == 0)
        choice->queue_ns = (int64_t)event->queue_us * 1000;
    if (expected - event->position >= event->n_tokens)
        return true; /* all of them were seen already */
    if (choice->first_ns == 0)
        choice->first_ns = now_ns;
    else
        metrics_add_gap(call->api->metrics, call->prompts.model->service, now_ns - choice->last_ns);
    choice->last_ns = now_ns;
    for (size_t i = (size_t)(expected - event->position); i < n; i++) {
        int32_t id;
        struct token_logprobs logprobs;
        memcpy(&id, payload + i * sizeof(id), sizeof(id));
        if (id < 0 || id >= call->prompts.model->n_vocabulary) {
            house_error(call, "a token outside of the vocabulary came back");
            return false;
        }
        if (has_logprobs)
            memcpy(&logprobs, payload + n * sizeof(id) + i * sizeof(logprobs), sizeof(logprobs));
        if (!api_choice_make_room(choice, &call->rules, id)) {
            starve(call);
            return false;
        }
        api_tally_tokens(choice, 1);
        if (api_choice_add(choice, &call->rules, id, has_logprobs ? &logprobs : NULL)) {
            if (choice->stop_text != NULL)
                cancel_choice(choice); /* only the api knows the stop strings */
            close_choice(call, choice, SERVICE_STOPPED);
            return false;
        }
    }
    return show(call, choice, now_ns);
}

static void take_scores(struct api_choice *choice, const struct service_event *event,
                        const void *payload)
{
    enum api_scores taken = api_scores_take(choice, event, payload);
    if (taken == API_SCORES_LOST)
        house_error(choice->call, "scores were lost on their way");
    else if (taken == API_SCORES_STARVED)
        starve(choice->call);
}

static void take_vector(struct api_choice *choice, const struct service_event *event,
                        const void *payload)
{
    enum api_vectors taken = api_vectors_take(choice, event, payload);
    if (taken == API_VECTORS_LOST)
        house_error(choice->call, "a part of an embedding was lost on its way");
    else if (taken == API_VECTORS_STARVED)
        starve(choice->call);
}

static void end_by_error(struct api_choice *choice, const struct service_event *event,
                         const char *payload)
{
    struct api_error error = { 0 };
    uint8_t why = api_ends_by(choice, event, payload, &error);
    fail_call(choice->call, &error, why);
}

static void take_end(struct api_choice *choice, const struct service_event *event,
                     const char *payload)
{
    struct api_call *call = choice->call;
    choice->n_cached = max_i32(choice->n_cached, event->n_cached);
    choice->n_preempted = max_i32(choice->n_preempted, event->n_preempted);
    choice->device_ns = max_i64(choice->device_ns, event->device_ns);
    if (event->why != SERVICE_STOPPED && event->why != SERVICE_LENGTH) {
        end_by_error(choice, event, payload);
        return;
    }
    if (api_scores_lack(choice) || api_vectors_lack(choice)) {
        house_error(call, "a part of the answer was lost on its way");
        return;
    }
    api_choice_end(choice, event->why == SERVICE_STOPPED ? "stop" : "length");
    close_choice(call, choice, event->why);
}

void api_call_event(struct api *api, const struct service_event *event, const void *payload)
{
    uint32_t slot = map_find(&api->ids, event->id);
    if (slot == MAP_NONE)
        return; /* a late event: the request has ended here */
    struct api_choice *choice = api->choices[slot];
    struct mem_account *before = mem_account_use(&choice->call->party->account);
    if (event->what == SERVICE_TOKENS)
        (void)take_tokens(choice, event, payload);
    else if (event->what == SERVICE_SCORES)
        take_scores(choice, event, payload);
    else if (event->what == SERVICE_VECTOR)
        take_vector(choice, event, payload);
    else if (event->what == SERVICE_ENDED)
        take_end(choice, event, payload);
    else if (event->what == SERVICE_RETURNED) /* the gateway resumes it when it can */
        end_by_error(choice, event, payload);
    (void)mem_account_use(before);
}

static void refuse_full(struct api_call *call)
{
    struct api_error error = { 0 };
    api_error_set(&error, ERROR_CROWDED, NULL,
                  "there is no place or no memory for the request now, try again later");
    fail_call(call, &error, SERVICE_FULL);
}

/* Takes a seat for each answer but the first, since the call has that one. Returns false when the
 * call is over. */
static bool take_seats(struct api_call *call, int32_t n)
{
    struct api_error error = { 0 };
    int32_t n_most = api_seats_most(call->api);
    if (n > n_most) /* then a retry would not help */
        api_error_set(&error, ERROR_TOO_LARGE,
                      call->prompts.ask.n > 1 ? "n" : api_prompts_field(&call->prompts),
                      "the request asks for %d answers, this server admits %d at once", n, n_most);
    else if (api_seats_take(call->api, call->party, n - 1, &error))
        call->n_seats = n;
    if (error.is_set)
        fail_call(call, &error, api_tally_why(error.kind));
    return !error.is_set;
}

static void open_choices(void *arg)
{
    struct api_call *call = arg;
    int32_t n = call->n_seats;
    call->choices = mem_take(sizeof(*call->choices) * (size_t)n);
    for (int32_t i = 0; i < n; i++)
        api_submit_open(call, i);
    if (call->kind != ASK_EMBED)
        api_reply_prefix(call);
    call->n_choices = call->n_open = n;
}

/* Answers at once when nothing is to be generated: with the echo, or with an empty text. */
static void answer_at_once(struct api_call *call)
{
    for (int32_t i = 0; i < call->n_choices; i++) {
        api_choice_end(&call->choices[i], "length");
        drop_choice(&call->choices[i], SERVICE_LENGTH);
        call->n_open--;
        if (!show(call, &call->choices[i], time_now_ns()))
            return;
    }
    finish_call(call);
}

/* Submits choices, but only a few at a time, so that the streams of other clients do not wait. */
static void submit_some(struct api_call *call)
{
    int64_t n_bytes = 0;
    while (call->n_unsent > 0 && n_bytes < SUBMIT_BYTES_MAX) {
        struct api_choice *choice = &call->choices[call->n_choices - call->n_unsent];
        call->n_unsent--;
        call->api->n_unsent--;
        n_bytes += (int64_t)sizeof(int32_t) * choice->n_prompt;
        if (!api_submit(choice)) {
            refuse_full(call);
            return;
        }
    }
    if (call->n_unsent == 0)
        api_prompts_sent(&call->prompts);
}

static void start_call(struct api_call *call)
{
    struct api *api = call->api;
    struct api_error error = { 0 };
    struct api_work work = api_work_for(api, call->party, 0);
    api_submit_rules(call);
    if (!take_seats(call, call->prompts.n * call->prompts.ask.n))
        return;
    if (!api_submit_charge(call, &work, &error) ||
        !api_work_run(&work, open_choices, call, &error)) {
        call->choices = NULL;
        str_init(&call->prefix);
        fail_call(call, &error, api_tally_why(error.kind));
        return;
    }
    call->wrote_ns = time_now_ns();
    if (call->kind != ASK_EMBED && call->prompts.n_tokens_max == 0 &&
        !call->prompts.ask.wants_scores) {
        answer_at_once(call);
        return;
    }
    call->n_unsent = call->n_choices;
    api->n_unsent += call->n_choices;
    submit_some(call);
}

static void read_body(void *arg)
{
    struct api_call *call = arg;
    const struct api_options *options = &call->api->options;
    struct api_responses_peers peers = api_responses_peers_of(options, &call->key);
    const struct api_past past = { call->api->responses, call->tenant_hash,
                                   call->has_peers ? &peers : NULL };
    (void)api_prompts_make(&call->prompts, call->family, view_of(call->body.at, call->body.n),
                           &past, options, call->catalog);
}

static void read_job(struct api_job *job)
{
    struct api_call *call = (struct api_call *)job;
    struct api_error error = { 0 };
    if (!api_work_run(&call->work, read_body, call, &error))
        call->prompts = (struct api_prompts){ .error = error };
}

static void read_done(struct api_job *job)
{
    struct api_call *call = (struct api_call *)job;
    struct api_error error = { 0 };
    call->is_away = false;
    str_free(&call->body);
    if (call->x == NULL) {
        api_tally_call(call, SERVICE_CANCELLED);
        free_call(call);
        return;
    }
    if (job->is_dropped)
        api_error_set(&call->prompts.error, ERROR_STOPPED, NULL, "the server is stopping");
    if (!call->prompts.error.is_set) {
        if (call->slo.ttft_ns == 0)
            call->slo.ttft_ns = call->prompts.model->slo.ttft_ns;
        if (call->slo.tpot_ns == 0)
            call->slo.tpot_ns = call->prompts.model->slo.tpot_ns;
        if (call->slo.e2e_ns == 0)
            call->slo.e2e_ns = call->prompts.model->slo.e2e_ns;
    }
    if (call->prompts.error.is_set)
        error = call->prompts.error;
    else if (call->api->is_draining)
        api_error_set(&error, ERROR_DRAINING, NULL, "the server is shutting down");
    else if (api_wishes_is_paused(call->api, call->prompts.model))
        api_error_set(
            &error, ERROR_PAUSED, "model",
            "the model \"%.200s\" is paused by an operator and takes no new requests: try "
            "again later",
            call->prompts.model->name);
    else if (time_now_ns() >= call->deadline_ns)
        api_error_set(&error, ERROR_LATE, NULL, "the deadline passed before the prompt was read");
    if (error.is_set)
        fail_call(call, &error, api_tally_why(error.kind));
    else
        start_call(call);
}

/* Opens a call for which the caller has taken a seat. Returns NULL when there is no memory. */
static struct api_call *open_call(struct api *api, struct api_http_exchange *x,
                                  const struct api_family *family)
{
    struct mem_account *before = mem_account_use(&x->party->account);
    struct api_call *call = mem_try(sizeof(*call));
    (void)mem_account_use(before);
    if (call == NULL)
        return NULL;
    call->job = (struct api_job){ .work = read_job, .done = read_done };
    call->api = api;
    call->catalog = api_catalog_use(api->catalog);
    call->x = x;
    call->party = x->party;
    call->tenant = x->tenant;
    call->tenant_hash = api_tenants_hash(&api->tenants, x->tenant);
    call->family = family;
    call->kind = family->kind;
    call->is_away = true;
    call->arrived_ns = x->arrived_ns;
    call->created_unix_s = time_unix_ns() / TIME_NS_PER_S;
    call->n_seats = 1;
    call->next = api->calls;
    if (call->next != NULL)
        call->next->prev = call;
    api->calls = call;
    api_parties_use(call->party);
    x->user = call;
    x->on_gone = on_gone;
    memcpy(call->request_id, api->request_id, sizeof(call->request_id));
    char gateway[RESPONSES_GATEWAY_BYTES] = "";
    if (family->is_stored)
        api_responses_store_gateway(api->responses, gateway);
    snprintf(call->id, sizeof(call->id), "%s%s%016llx%08x", family->id_prefix, gateway,
             (unsigned long long)api_next_id(api), (unsigned)(rng_system() & 0xffffffffu));
    return call;
}

/* Makes a call that has a seat. Returns NULL with the error set when it is refused. */
static struct api_call *admit(struct api *api, struct api_http_exchange *x,
                              const struct api_family *family, struct api_error *error)
{
    int64_t deadline_ns = TIME_NEVER;
    struct service_slo slo = { 0 };
    if (api->is_draining)
        api_error_set(error, ERROR_DRAINING, NULL, "the server is shutting down");
    else
        (void)api_headers_targets(&x->head, x->arrived_ns, &deadline_ns, &slo, error);
    struct api_spend spend;
    if (error->is_set || !api_seats_take(api, x->party, 1, error))
        return NULL;
    if (!api_spend_enter(api, x, &spend, error)) {
        api_seats_put(api, x->party, 1);
        return NULL;
    }
    struct api_call *call = open_call(api, x, family);
    if (call == NULL) {
        api_seats_put(api, x->party, 1);
        api_error_set(error, ERROR_CROWDED, NULL,
                      "there is no memory for the request now, try again later");
        return NULL;
    }
    call->deadline_ns = deadline_ns;
    call->slo = slo;
    call->spend = spend;
    return call;
}

void api_call_take(struct api *api, struct api_http_exchange *x, const struct api_family *family)
{
    struct api_error error = { 0 };
    struct api_call *call = admit(api, x, family, &error);
    if (call == NULL) {
        api_tally_refused(api, &error);
        api_refuse(x, &error);
        return;
    }
    /* The body is taken over, since a worker may read it after the client has left. */
    api_http_take_body(x, &call->body);
    call->work = api_work_for(api, call->party, call->body.n);
    call->job.rank = call->body.n > API_JOB_LONG_BYTES ? API_JOB_LONG : API_JOB_SHORT;
    bool goes_on = family->is_stored && api_responses_peers_may_go_on(&call->body);
    call->has_peers = goes_on && api->options.n_responses_peers > 0;
    if (call->has_peers) {
        call->job.rank = API_JOB_PATIENT;
        api_headers_key(&x->head, &call->key);
    }
    bool is_small = call->body.n <= INLINE_BYTES_MAX && !goes_on &&
                    !api_guided_may_have(view_of(call->body.at, call->body.n));
    bool is_put = !is_small && api_workers_put(api->workers, &call->job);
    if (!is_put && goes_on) {
        refuse_full(call); /* this thread waits for no disk and no peer */
    } else if (!is_put) {
        read_job(&call->job);
        read_done(&call->job);
    }
}

void api_call_chat(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &api_reply_chats);
}

void api_call_completion(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &api_reply_completions);
}

void api_call_messages(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &api_anthropic_messages);
}

void api_call_responses(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &api_responses_family);
}

void api_call_submit(struct api *api)
{
    struct api_call *oldest = NULL;
    for (struct api_call *call = api->calls; call != NULL && api->n_unsent > 0; call = call->next)
        if (call->n_unsent > 0)
            oldest = call;
    if (oldest != NULL)
        submit_some(oldest);
}

void api_call_sweep(struct api *api, int64_t now_ns)
{
    for (struct api_call *call = api->calls; call != NULL; call = call->next) {
        if (call->is_away || !call->prompts.ask.streams ||
            now_ns - call->wrote_ns < API_PING_S * TIME_NS_PER_S)
            continue;
        if (!call->x->has_begun)
            begin_stream(call);
        api_http_chunk(call->x, view_text(call->family->ping));
        call->wrote_ns = now_ns;
    }
}

void api_call_fail_all(struct api *api, const struct api_error *error)
{
    for (struct api_call *call = api->calls, *next; call != NULL; call = next) {
        next = call->next;
        if (!call->is_away)
            fail_call(call, error, SERVICE_CANCELLED);
    }
}
