/* The API over the toy service while allocations fail. Whichever allocation fails, the request ends
 * with its right answer, with 503, or with its connection. The server goes on and leaks nothing.
 *
 * The server allocates only through base/mem.c, including libevent and jansson, so failures are
 * injected below it. */
#include "test.h"
#include "tests_toy.h"

#include "api/api.h"
#include "template/chat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/team.h"
#include "base/time.h"
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 1 << 20, ROUNDS_MAX = 4000, BODY_BYTES_MAX = 1 << 20 };

static _Thread_local bool is_client;
static _Atomic int n_until, n_failures; /* allocations until the first failure, and failures */
static _Atomic size_t least_bytes;      /* allocations of at least this size fail; 0: none */
static _Atomic uint64_t random_state;   /* one of 64 allocations fails; 0: none */
static _Atomic int n_failed;

static bool fails(size_t n_bytes)
{
    if (is_client)
        return false;
    if (atomic_load(&least_bytes) > 0 && n_bytes >= atomic_load(&least_bytes))
        return true;
    if (atomic_load(&random_state) != 0)
        return rng_at(atomic_fetch_add(&random_state, 1), 1, 1) % 64 == 0;
    return atomic_load(&n_until) > 0 && atomic_fetch_sub(&n_until, 1) <= 1 &&
           (atomic_store(&n_until, 1), atomic_fetch_sub(&n_failures, 1) > 0);
}

int __real_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes)
{
    if (!fails(n_bytes))
        return __real_posix_memalign(p, align, n_bytes);
    atomic_fetch_add(&n_failed, 1);
    return ENOMEM;
}

static void disarm(void)
{
    atomic_store(&n_until, 0);
    atomic_store(&least_bytes, 0);
    atomic_store(&random_state, 0);
}

/* --- the server --- */

static const int32_t eog_ids[] = { TOY_EOS };
static struct mem_account account = { .n_bytes_max = 64 << 20 };
static struct api_model model = { .name = "toy",
                                  .n_context_max = 4096,
                                  .n_vocabulary = TOY_N_TOKENS,
                                  .bos_id = TOY_BOS,
                                  .eos_id = TOY_EOS,
                                  .n_eog = 1,
                                  .eog_ids = eog_ids };
static int port;
static size_t least_bytes_first; /* least_bytes when the server starts */
static char answer[ANSWER_BYTES_MAX + 1];
static char body[BODY_BYTES_MAX + 1];

static size_t ask(const char *head, const char *text);

/* Runs a server while client runs on a thread. The client ends the server. */
static void serve(void (*client)(void *arg))
{
    struct toy_house *house = toy_open(1, 64);
    struct fault fault;
    struct api *api;
    model.tokenizer = toy_tokenizer;
    model.chat_template = toy_template;
    model.style = calls_format_style(chat_template_text(toy_template));
    const struct api_options options = { .version = "0",
                                         .listen = "127.0.0.1:0",
                                         .responses_bytes_max = 1 << 20,
                                         .n_requests_max = 64,
                                         .n_connections_max = 64,
                                         .account = &account,
                                         .body_bytes_max = 8 << 20,
                                         .body_ns_max = 20 * TIME_NS_PER_S,
                                         .n_models = 1,
                                         .models = (const struct api_model *[]){ &model },
                                         .service = toy_service(house),
                                         .control = toy_control(house),
                                         .tick = toy_tick,
                                         .tick_self = house,
                                         .metrics = toy_metrics,
                                         .metrics_self = house };
    log_set(LOG_ERROR, false);
    assert_int_equal(api_open(&api, &options, &fault), STATUS_OK);
    port = api_port(api);
    (void)mem_reserve_fill();
    atomic_store(&least_bytes, least_bytes_first);
    struct thread *thread = thread_start("client", client, NULL);
    assert_int_equal(api_run(api), 0);
    thread_join(thread);
    api_close(api);
    toy_close(house);
    assert_int_equal(mem_account_bytes(&account), 0);
}

/* --- the client, which takes no memory --- */

/* Sends a request and reads until the server closes. The bytes are in answer. */
static size_t ask(const char *head, const char *text)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0);
    (void)send(fd, head, strlen(head), MSG_NOSIGNAL);
    for (size_t at = 0, n_text = strlen(text), n_sent; at < n_text; at += n_sent) {
        ssize_t sent = send(fd, text + at, n_text - at, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        n_sent = (size_t)sent;
    }
    for (ssize_t got; n < ANSWER_BYTES_MAX; n += (size_t)got)
        if ((got = recv(fd, answer + n, ANSWER_BYTES_MAX - n, 0)) <= 0)
            break;
    answer[n] = '\0';
    close(fd);
    return n;
}

static int status_of_answer(size_t n)
{
    return n >= 12 && strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

struct scene {
    const char *name, *head, *body, *expected; /* expected: part of a good answer */
};

#define POST(path)                                                                                 \
    "POST " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "           \
    "%zu\r\n\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static const struct scene scenes[] = {
    { "completion", POST("/v1/completions"),
      "{\"model\":\"toy\",\"prompt\":\"hi [n=200]\",\"temperature\":0,\"max_tokens\":100,"
      "\"logprobs\":2,\"n\":2,\"stop\":[\"<never>\"],\"logit_bias\":{\"7\":1}}",
      "\"completion_tokens\":200" },
    { "stream", POST("/v1/chat/completions"),
      "{\"model\":\"toy\",\"messages\":[{\"role\":\"user\",\"content\":\"hi [n=40]\"}],\"stream\":"
      "true,\"n\":2,\"stream_options\":{\"include_usage\":true}}",
      "data: [DONE]" },
    { "chat", POST("/v1/chat/completions"),
      "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
      "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\"}]},{\"role\":"
      "\"user\","
      "\"content\":\"[n=2]\"}],\"chat_template_kwargs\":{\"a\":[1,2,{}]}}",
      "\"finish_reason\":\"stop\"" },
    { "messages", POST("/v1/messages"),
      "{\"model\":\"toy\",\"max_tokens\":9,\"system\":\"s\",\"messages\":[{\"role\":\"user\","
      "\"content\":[{\"type\":\"text\",\"text\":\"hi [n=2]\"}]}]}",
      "\"stop_reason\":\"end_turn\"" },
    { "responses", POST("/v1/responses"),
      "{\"model\":\"toy\",\"instructions\":\"s\",\"tools\":[{\"type\":\"function\",\"name\":\"f\","
      "\"parameters\":{}}],\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":"
      "\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":"
      "\"function_call_output\",\"call_id\":\"c\",\"output\":\"o\"},{\"role\":\"user\","
      "\"content\":[{\"type\":\"input_text\",\"text\":\"hi [n=2]\"}]}]}",
      "\"status\":\"completed\"" },
    { "items", POST("/v1/responses"),
      "{\"model\":\"toy\",\"stream\":true,\"tools\":[{\"type\":\"function\",\"name\":\"f\"}],"
      "\"input\":\"[say]<think>a</think>b<tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{}}"
      "</tool_call>[/say]\"}",
      "event: response.completed" },
    { "ollama", POST("/api/chat"),
      "{\"model\":\"toy\",\"options\":{\"seed\":1},\"tools\":[{\"type\":\"function\",\"function\":"
      "{\"name\":\"f\"}}],\"messages\":[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{"
      "\"function\":{\"name\":\"f\",\"arguments\":{}}}]},{\"role\":\"tool\",\"tool_name\":\"f\","
      "\"content\":\"o\"},{\"role\":\"user\",\"content\":\"[say]<tool_call>{\\\"name\\\":\\\"f\\\","
      "\\\"arguments\\\":{}}</tool_call>[/say]\"}]}",
      "\"done_reason\":\"stop\"" },
    { "show", POST("/api/show"), "{\"model\":\"toy\"}", "\"capabilities\"" },
    { "tokenize", POST("/tokenize"), "{\"prompt\":\"hello\",\"return_token_strs\":true}",
      "\"count\":6" },
    { "detokenize", POST("/detokenize"), "{\"tokens\":[97,98,99]}", "\"prompt\":\"abc\"" },
    { "chunked",
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n11\r\n{\"prompt\":\"[n=1]\"\r\n1\r\n}\r\n0\r\n\r\n",
      "", "\"completion_tokens\":2" },
    { "wrong", POST("/v1/completions"), "{\"prompt\":1}", "invalid_request_error" },
    { "models", GET("/v1/models"), "", "\"toy\"" },
    { "states", GET("/models"), "", "\"status\"" },
    { "metrics", GET("/metrics"), "", "shoal_healthy" },
    { "none", GET("/none"), "", "not_found" },
};

/* Plays a scene. Returns true when the answer is good. A refusal or no answer is allowed; other
 * answers fail. */
static bool play(const struct scene *scene, bool must_be_good)
{
    char head[512];
    int status = 0;
    snprintf(head, sizeof(head), scene->head, strlen(scene->body));
    size_t n = ask(head, scene->body);
    status = status_of_answer(n);
    bool is_good = strstr(answer, scene->expected) != NULL;
    bool is_refused = status == 503 || n == 0;
    bool is_cut =
        status == 200 && (strstr(answer, "\r\n\r\n") == NULL || /* not all was sent */
                          strstr(answer, "chunked") != NULL || strstr(answer, "crowded") != NULL);
    if (!is_good && (must_be_good || !(is_refused || is_cut))) {
        fprintf(stderr, "%s: %zu bytes: %.600s\n", scene->name, n, answer);
        CHECK(is_good);
    }
    return is_good;
}

static void stop_server(void)
{
    disarm();
    kill(getpid(), SIGTERM);
}

/* Fails each allocation of each scene in turn, alone or with those that follow it. */
static void fail_each(void *arg)
{
    (void)arg;
    is_client = true;
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        int n_rounds = 0, n_good = 0;
        (void)play(&scenes[i], true);
        for (int is_over = 0; !is_over && n_rounds < ROUNDS_MAX; n_rounds++) {
            int before = atomic_load(&n_failed);
            atomic_store(&n_failures, n_rounds % 3 == 2 ? 5 : 1);
            atomic_store(&n_until, 1 + n_rounds);
            n_good += play(&scenes[i], false);
            disarm();
            is_over = atomic_load(&n_failed) == before;
            if (n_rounds % 16 == 0 || is_over)
                (void)play(&scenes[i], true);
        }
        CHECK(n_rounds > 5 && n_rounds < ROUNDS_MAX);
        printf("%s: %d allocations failed one by one; %d answers were right all the same\n",
               scenes[i].name, n_rounds - 1, n_good);
    }
    stop_server();
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    serve(fail_each);
}

static void fail_at_random(void *arg)
{
    (void)arg;
    is_client = true;
    int n_good = 0, n = 600;
    uint64_t seed = test_seed(7);
    for (int i = 0; i < n; i++) {
        atomic_store(&random_state, seed + (uint64_t)i * 100000);
        n_good += play(&scenes[(size_t)i % COUNT_OF(scenes)], false);
    }
    disarm();
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        (void)play(&scenes[i], true);
    CHECK(n_good > n / 10 && atomic_load(&n_failed) > n / 2);
    stop_server();
}

static void test_many_allocations_may_fail(void **state)
{
    (void)state;
    serve(fail_at_random);
}

/* Large bodies and answers while large allocations fail. */
static void fail_large(void *arg)
{
    static const char start[] = "{\"prompt\":\"[n=1]\",\"pad\":\"";
    char head[512];
    (void)arg;
    is_client = true;
    memset(body, 'p', BODY_BYTES_MAX - 2);
    memcpy(body, start, strlen(start));
    memcpy(body + BODY_BYTES_MAX - 2, "\"}", 2);
    snprintf(head, sizeof(head), POST("/v1/completions"), strlen(body));
    for (size_t least = 1 << 14; least <= 4 << 20; least *= 2) {
        atomic_store(&least_bytes, least);
        int status = status_of_answer(ask(head, body));
        CHECK(status == 503 || status == (least < BODY_BYTES_MAX ? 0 : 200));
        for (size_t i = 0; i < COUNT_OF(scenes); i++)
            (void)play(&scenes[i], false);
        disarm();
        CHECK(status_of_answer(ask(head, body)) == 200);
    }
    stop_server();
}

static void test_large_allocations_may_fail(void **state)
{
    (void)state;
    serve(fail_large);
}

/* The engines' first reports find no memory. */
static void fail_first(void *arg)
{
    (void)arg;
    is_client = true;
    for (int i = 0; i < 1000 && atomic_load(&n_failed) == 0; i++)
        time_sleep_ns(10 * TIME_NS_PER_MS);
    CHECK(atomic_load(&n_failed) > 0);
    disarm();
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        (void)play(&scenes[i], true);
    stop_server();
}

static void test_the_first_reports_may_fail(void **state)
{
    (void)state;
    atomic_store(&n_failed, 0);
    least_bytes_first = 1 << 14;
    serve(fail_first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_allocation_may_fail),
        cmocka_unit_test(test_many_allocations_may_fail),
        cmocka_unit_test(test_large_allocations_may_fail),
        cmocka_unit_test(test_the_first_reports_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
