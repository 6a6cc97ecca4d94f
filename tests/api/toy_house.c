/* The fake house: requests in a table, each with the time of its next token. */
#include "tests_toy.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct toy_request {
    bool is_live, is_doubled;
    struct request request;
    struct request_body *body;
    uint64_t hash;
    int64_t due_ns, gap_ns, n_end;
    int32_t n_scored;    /* of the prompt, the first token included; 0: it is not */
    const int32_t *says; /* the answer that the prompt asks for; NULL: none */
    int64_t fail_at;     /* number of tokens after which it ends with `why` */
    uint8_t what, why;
};
struct toy_house {
    int n_services;
    int32_t n_max, n_live;
    uint64_t n_cancelled;
    uint64_t n_prompt_tokens, n_tokens; /* computed: of prompts, with the first token, and drawn */
    struct toy_request *requests;
    int32_t cursor; /* where next continues */
    int64_t now_ns;
    struct service_event events[4];
    unsigned char payloads[4][8 + sizeof(struct token_logprobs) + 96];
    int n_events, n_given;
    struct control_ask asks[64];
    int n_asks;
    struct engine_report engine;
    int64_t load_end_ns[LIMIT_SERVICES];
};

/* FNV-1a over the ids, so that Python can compute the same. */
static uint64_t hash_ids(const int32_t *ids, uint32_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < n; i++) {
        hash ^= (uint32_t)ids[i];
        hash *= 0x100000001b3u;
    }
    return hash;
}

/* Token i of an answer: letters, spaces, and now and then an é or an emoji, byte by byte. */
static int32_t token_at(uint64_t hash, int64_t i)
{
    static const unsigned char emoji[] = { 0xF0, 0x9F, 0x90, 0x9F };
    int64_t word = i / 8, place = i % 8;
    uint64_t mixed = (hash ^ (uint64_t)word * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    mixed ^= mixed >> 32;
    if (place == 7)
        return ' ';
    if (mixed % 5 == 0 && place < 4)
        return emoji[place];
    if (mixed % 5 == 1 && place < 2)
        return place == 0 ? 0xC3 : 0xA9;
    return (int32_t)('a' + (mixed >> (8 + 5 * place)) % 26);
}

/* [name=value] or [name] in the prompt; -1 when absent. */
static int64_t word_of(const struct request_body *body, const char *name)
{
    char text[4096];
    size_t n = 0;
    const int32_t *ids = request_body_tokens(body);
    for (uint32_t i = 0; i < body->n_tokens && n + 1 < sizeof(text); i++)
        if (ids[i] > 0 && ids[i] < 256)
            text[n++] = (char)ids[i];
    text[n] = '\0';
    char key[32];
    snprintf(key, sizeof(key), "[%s", name);
    const char *at = strstr(text, key);
    if (at == NULL)
        return -1;
    at += strlen(key);
    return *at == '=' ? atoll(at + 1) : *at == ']' ? 0 : -1;
}

static bool is_word(const int32_t *ids, uint32_t n, const char *word)
{
    size_t n_word = strlen(word);
    bool is_same = n >= n_word;
    for (size_t i = 0; is_same && i < n_word; i++)
        is_same = ids[i] == word[i];
    return is_same;
}

/* Finds the last [say]...[/say]. */
static void find_said(struct toy_request *request)
{
    const int32_t *ids = request_body_tokens(request->body);
    uint32_t n = request->body->n_tokens, end = 0;
    for (uint32_t i = n; i-- > 0 && request->says == NULL;) {
        if (end == 0 && is_word(ids + i, n - i, "[/say]"))
            end = i;
        if (end > 0 && is_word(ids + i, n - i, "[say]")) {
            request->says = ids + i + 5;
            request->n_end = end - (i + 5);
        }
    }
}

static void read_words(struct toy_request *request)
{
    static const struct {
        const char *word;
        uint8_t what, why;
    } ends[] = { { "fail", SERVICE_ENDED, SERVICE_FAILED },
                 { "late", SERVICE_ENDED, SERVICE_DEADLINE },
                 { "huge", SERVICE_ENDED, SERVICE_TOO_LARGE },
                 { "cold", SERVICE_ENDED, SERVICE_NOT_READY },
                 { "torn", SERVICE_ENDED, SERVICE_LOAD_FAILED },
                 { "kill", SERVICE_ENDED, SERVICE_CANCELLED },
                 { "crash", SERVICE_RETURNED, SERVICE_CRASHED },
                 { "full", SERVICE_RETURNED, SERVICE_FULL },
                 { "lose", SERVICE_TOKENS, SERVICE_WHY_NONE } };
    find_said(request);
    int64_t n = word_of(request->body, "n"), first = word_of(request->body, "first");
    int64_t gap = word_of(request->body, "gap");
    if (request->says == NULL)
        request->n_end = n >= 0 ? n : 24;
    request->due_ns = time_now_ns() + (first >= 0 ? first : 0) * TIME_NS_PER_MS;
    request->gap_ns = (gap >= 0 ? gap : 0) * TIME_NS_PER_MS;
    request->is_doubled = word_of(request->body, "dup") >= 0;
    request->fail_at = -1;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        int64_t at = word_of(request->body, ends[i].word);
        if (at < 0)
            continue;
        request->fail_at = at;
        request->what = ends[i].what;
        request->why = ends[i].why;
    }
}

static struct toy_request *find(struct toy_house *house, uint64_t id)
{
    for (int32_t i = 0; i < house->n_max; i++)
        if (house->requests[i].is_live && house->requests[i].request.id == id)
            return &house->requests[i];
    return NULL;
}

static void end(struct toy_house *house, struct toy_request *request)
{
    mem_give(request->body);
    *request = (struct toy_request){ 0 };
    house->n_live--;
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct toy_house *house = self;
    CHECK(request_body_is_valid(body, body->n_bytes, TOY_N_TOKENS));
    CHECK(request->n_tokens == (int32_t)body->n_tokens &&
          request->n_tokens_max > request->n_prompt);
    for (int32_t i = 0; i < house->n_max; i++) {
        struct toy_request *to = &house->requests[i];
        if (to->is_live)
            continue;
        *to = (struct toy_request){ .is_live = true, .request = *request };
        to->body = mem_take(body->n_bytes);
        memcpy(to->body, body, body->n_bytes);
        to->hash = hash_ids(request_body_tokens(body), (uint32_t)request->n_prompt);
        if (body->sampling.temperature > 0)
            to->hash ^= body->seed;
        read_words(to);
        to->n_scored = (request->flags & REQUEST_WANTS_SCORES) != 0;
        house->n_live++;
        return true;
    }
    return false;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct toy_house *house = self;
    struct toy_request *request = find(house, id);
    if (request == NULL || request->request.epoch != epoch)
        return;
    house->n_cancelled++;
    end(house, request);
}

static void post(struct toy_house *house, const struct toy_request *request, uint8_t what,
                 uint8_t why, const void *payload, size_t n)
{
    struct service_event *event = &house->events[house->n_events];
    *event = (struct service_event){
        .id = request->request.id,
        .epoch = request->request.epoch,
        .what = what,
        .why = why,
        .position = request->request.n_tokens,
        .n_tokens = what == SERVICE_TOKENS ? 1 : 0,
        .n_cached = min_i32(request->request.n_prompt - 1, 4),
        .n_bytes = (int32_t)n,
    };
    if (n > 0)
        memcpy(house->payloads[house->n_events], payload, n);
    house->n_events++;
}

static bool is_stop(const struct request_body *body, int32_t id)
{
    for (uint32_t i = 0; i < body->n_stop_ids; i++)
        if (request_body_stop_ids(body)[i] == id)
            return true;
    return false;
}

/* Posts the score of one token of the prompt. */
static void post_score(struct toy_house *house, struct toy_request *request)
{
    struct token_logprobs score = { .logprob = -0.5f - (float)request->n_scored,
                                    .n_top = request->body->sampling.n_top_scores };
    for (int32_t i = 0; i < score.n_top; i++) {
        score.top_ids[i] = (request_body_tokens(request->body)[request->n_scored] + i) % 256;
        score.top_logprobs[i] = score.logprob - (float)i;
    }
    post(house, request, SERVICE_SCORES, 0, &score, sizeof score);
    struct service_event *event = &house->events[house->n_events - 1];
    event->position = request->n_scored++;
    event->n_tokens = 1;
}

static void post_token(struct toy_house *house, struct toy_request *request, int32_t id)
{
    unsigned char payload[sizeof(id) + sizeof(struct token_logprobs)];
    struct token_logprobs logprobs = { .logprob = -0.25f };
    size_t n = sizeof(id);
    memcpy(payload, &id, sizeof(id));
    if (request->request.flags & REQUEST_WANTS_LOGPROBS) {
        logprobs.n_top = request->body->sampling.n_top_logprobs;
        for (int32_t i = 0; i < logprobs.n_top; i++) {
            logprobs.top_ids[i] = (id + i) % 256;
            logprobs.top_logprobs[i] = -0.25f - (float)i;
        }
        memcpy(payload + n, &logprobs, sizeof(logprobs));
        n += sizeof(logprobs);
    }
    post(house, request, SERVICE_TOKENS, 0, payload, n);
    if (request->request.n_tokens == request->request.n_prompt)
        house->n_prompt_tokens += (uint64_t)request->request.n_prompt;
    house->n_tokens++;
    if (request->is_doubled)
        post(house, request, SERVICE_TOKENS, 0, payload, n);
    request->request.n_tokens++;
}

/* Emits one request's next due event: a token, an end, or a failure. */
static void step(struct toy_house *house, struct toy_request *request)
{
    static const char sentence[] = "toy: it was asked for";
    int64_t n = request->request.n_tokens - request->request.n_prompt;
    if (request->n_scored > 0 && request->n_scored < request->request.n_prompt) {
        post_score(house, request);
        return;
    }
    if (request->request.kind == REQUEST_SCORE) {
        post(house, request, SERVICE_ENDED, SERVICE_LENGTH, NULL, 0);
        end(house, request);
        return;
    }
    if (request->fail_at >= 0 && n >= request->fail_at) {
        if (request->what == SERVICE_TOKENS) {
            request->request.n_tokens++; /* a token goes missing */
            request->fail_at = -1;
            return;
        }
        bool says = request->why == SERVICE_FAILED || request->why == SERVICE_TOO_LARGE;
        post(house, request, request->what, request->why, sentence, says ? strlen(sentence) : 0);
        end(house, request);
        return;
    }
    bool is_end = n >= request->n_end && is_stop(request->body, TOY_EOS) &&
                  n >= request->body->sampling.n_tokens_min;
    bool is_said = request->says != NULL && n < request->n_end;
    int32_t id = is_end ? TOY_EOS : is_said ? request->says[n] : token_at(request->hash, n);
    post_token(house, request, id);
    house->engine.n_steps++;
    n++;
    if (is_end || (is_stop(request->body, id) && n > request->body->sampling.n_tokens_min)) {
        post(house, request, SERVICE_ENDED, SERVICE_STOPPED, NULL, 0);
        end(house, request);
    } else if (request->request.n_tokens >= request->request.n_tokens_max) {
        post(house, request, SERVICE_ENDED, SERVICE_LENGTH, NULL, 0);
        end(house, request);
    } else {
        request->due_ns = max_i64(request->due_ns + request->gap_ns, 1);
    }
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct toy_house *house = self;
    if (house->n_given == house->n_events) {
        house->n_given = house->n_events = 0;
        for (int32_t i = 0; i < house->n_max && house->n_events == 0; i++) {
            struct toy_request *request = &house->requests[house->cursor];
            house->cursor = (house->cursor + 1) % house->n_max;
            if (request->is_live && request->due_ns <= house->now_ns)
                step(house, request);
        }
    }
    if (house->n_given == house->n_events)
        return false;
    *event = house->events[house->n_given];
    *payload = house->payloads[house->n_given];
    house->n_given++;
    return true;
}

int64_t toy_tick(void *self, int64_t now_ns)
{
    struct toy_house *house = self;
    int64_t next_ns = TIME_NEVER;
    house->now_ns = now_ns;
    for (int32_t i = 0; i < house->n_max; i++) {
        const struct toy_request *request = &house->requests[i];
        if (request->is_live && request->due_ns > now_ns)
            next_ns = min_i64(next_ns, request->due_ns);
        else if (request->is_live) /* now, and again one gap later */
            next_ns = min_i64(next_ns, request->gap_ns > 0 ? now_ns + request->gap_ns : 0);
    }
    for (int s = 0; s < house->n_services; s++) {
        struct service_report *report = &house->engine.services[s];
        int64_t left_ns = house->load_end_ns[s] - now_ns;
        if (report->status != SERVICE_LOADING)
            continue;
        report->progress_percent = (uint8_t)(100 - max_i64(left_ns, 0) / (3 * TIME_NS_PER_MS));
        if (left_ns <= 0)
            report->status = SERVICE_LOADED;
        next_ns = min_i64(next_ns, now_ns + 20 * TIME_NS_PER_MS);
    }
    return next_ns;
}

static bool ask(void *self, const struct control_ask *wanted)
{
    struct toy_house *house = self;
    if (house->n_asks == (int)COUNT_OF(house->asks))
        return false;
    house->asks[house->n_asks++] = *wanted;
    return true;
}

static bool has_requests(const struct toy_house *house, uint16_t service)
{
    for (int32_t i = 0; i < house->n_max; i++)
        if (house->requests[i].is_live && house->requests[i].request.service == service)
            return true;
    return false;
}

static bool answer(void *self, struct control_answer *out)
{
    struct toy_house *house = self;
    if (house->n_asks == 0)
        return false;
    struct control_ask asked = house->asks[0];
    memmove(house->asks, house->asks + 1, sizeof(asked) * (size_t)--house->n_asks);
    *out = (struct control_answer){ .id = asked.id, .is_healthy = true };
    struct service_report *report = &house->engine.services[asked.service];
    bool is_leave = asked.kind == CONTROL_UNLOAD || asked.kind == CONTROL_SLEEP;
    if (asked.kind == CONTROL_LIST) {
        house->engine.n_requests = house->n_live;
        house->engine.now_ns = time_now_ns();
        out->n_engines = 1;
        out->engines = &house->engine;
    } else if (asked.kind == CONTROL_LOAD && report->status == SERVICE_UNLOADED) {
        report->status = SERVICE_LOADING;
        house->load_end_ns[asked.service] = time_now_ns() + 300 * TIME_NS_PER_MS;
    } else if (is_leave && has_requests(house, asked.service)) {
        out->status = fault_set(&out->fault, STATUS_BUSY, "it has requests");
    } else if (is_leave) { /* it has no host memory to sleep in */
        report->status = SERVICE_UNLOADED;
    } else if (asked.kind == CONTROL_DRAIN) {
        out->status = fault_set(&out->fault, STATUS_UNSUPPORTED, "toy: no drains");
    }
    return true;
}

struct toy_house *toy_open(int n_services, int32_t n_requests_max)
{
    struct toy_house *house = mem_take(sizeof(*house));
    house->n_services = n_services;
    house->n_max = n_requests_max;
    house->requests = mem_take(sizeof(*house->requests) * (size_t)n_requests_max);
    house->engine = (struct engine_report){ .is_healthy = true,
                                            .memory_bytes = 1 << 30,
                                            .kv_pool_bytes = 1 << 28,
                                            .kv_free_bytes = 1 << 27,
                                            .n_services = n_services };
    for (int s = 0; s < n_services; s++)
        house->engine.services[s] = (struct service_report){ .status = SERVICE_LOADED,
                                                             .weights_bytes = 1 << 20,
                                                             .kv_bytes_per_token = 1024 };
    return house;
}

void toy_close(struct toy_house *house)
{
    for (int32_t i = 0; i < house->n_max; i++)
        mem_give(house->requests[i].body);
    mem_give(house->requests);
    mem_give(house);
}

struct service toy_service(struct toy_house *house)
{
    return (struct service){ house, submit, cancel, next, NULL };
}

struct control toy_control(struct toy_house *house)
{
    return (struct control){ house, ask, answer };
}

void toy_metrics(void *self, struct str *out)
{
    const struct toy_house *house = self;
    str_printf(out, "toy_live_requests %d\ntoy_cancelled_total %llu\n", house->n_live,
               (unsigned long long)house->n_cancelled);
    str_printf(out, "toy_prompt_tokens_total %llu\ntoy_tokens_total %llu\n",
               (unsigned long long)house->n_prompt_tokens, (unsigned long long)house->n_tokens);
}
