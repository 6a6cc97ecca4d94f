/* The HTTP server's streams over a socket that takes all, a part or nothing of the bytes: every
 * byte arrives, in order, and the bytes that the socket takes are sent at once.
 *
 * Also answers with readers that take nothing: they have a deadline, and whole ones also a budget.
 * Also clients that vanish. */
#include "test.h"

#include "api/http.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum { N_WAKES = 60, TAKES_ALL = 0, TAKES_SOME = 1, LARGE_BYTES = 12 << 20 };

static struct stage {
    struct api_http *http;
    struct api_http_exchange *x;
    struct rng rng;
    int takes, n_wakes, n_sends, n_chunks;
    struct str said, got;
    int port;
    bool holds_little;                 /* the socket has a small buffer */
    bool is_gone;                      /* the stream was told that its client has left */
    _Atomic bool is_read;              /* the client has it all, or has been given up */
    int silent_s, ask_each_s, gone_ms; /* set on the socket that is sent to */
} stage;

static int option_of(int fd, int level, int name)
{
    int value = 0;
    socklen_t n = sizeof(value);
    CHECK(getsockopt(fd, level, name, &value, &n) == 0);
    return value;
}

/* A socket that is sometimes full. */
ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
    uint64_t kind = stage.takes == TAKES_ALL ? 3 : rng_below(&stage.rng, 4);
    CHECK(option_of(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
    stage.silent_s = option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE);
    stage.ask_each_s = option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL);
    stage.gone_ms = option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT);
    stage.n_sends++;
    if (stage.holds_little) {
        int n_held = 4096;
        CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n_held, sizeof(n_held)) == 0);
    }
    if (kind == 0) {
        errno = EAGAIN;
        return -1;
    }
    return __real_send(fd, bytes, kind == 1 ? 1 + (n - 1) / 2 : n, flags);
}

static void say(size_t n)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < n; i++)
        str_add_char(&text, (char)('a' + rng_below(&stage.rng, 26)));
    str_add(&stage.said, text.at, text.n);
    api_http_chunk(stage.x, view_of(text.at, text.n));
    stage.n_chunks++;
    str_free(&text);
}

static void wake_in_ms(int64_t ms)
{
    api_http_wake_at(stage.http, time_now_ns() + ms * TIME_NS_PER_MS);
}

static void on_request(void *self, struct api_http_exchange *x)
{
    (void)self;
    stage.x = x;
    api_http_begin(x, 200, "text/plain");
    wake_in_ms(5); /* by then the head is sent */
}

static void on_wake(void *self)
{
    (void)self;
    if (stage.n_wakes >= N_WAKES) {
        if (atomic_load(&stage.is_read))
            api_http_stop(stage.http);
        wake_in_ms(5);
        return;
    }
    say(1 + rng_below(&stage.rng, 300));
    say(1 + rng_below(&stage.rng, stage.takes == TAKES_ALL ? 300 : 9000));
    if (++stage.n_wakes == N_WAKES)
        api_http_end(stage.x);
    wake_in_ms(1);
}

static bool on_head(void *self, struct api_http_exchange *x)
{
    (void)self, (void)x;
    return true;
}

static void on_large(void *self, struct api_http_exchange *x)
{
    (void)self;
    static const char zeros[LARGE_BYTES];
    struct str body;
    str_init(&body);
    str_add(&body, zeros, sizeof(zeros));
    api_http_reply_text(x, 200, NULL, &body);
    assert_null(body.at);
}

/* Runs until there is no client any more. */
static void on_watch(void *self)
{
    (void)self;
    int32_t n = api_http_n_connections(stage.http);
    stage.n_wakes += n > 0;
    if (n == 0 && stage.n_wakes > 0) {
        atomic_store(&stage.is_read, true);
        api_http_stop(stage.http);
    }
    wake_in_ms(5);
}

static void on_bad(void *self, struct api_http_exchange *x, int status, const char *why)
{
    (void)self, (void)why;
    api_http_reply(x, status, NULL, view_of("", 0));
}

/* Opens a client that has sent its request. It holds little of the answer, and does not read it. */
static int open_client(void)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)stage.port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n_held = 64 << 10;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_held, sizeof(n_held)) == 0);
    CHECK(connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0);
    CHECK(write(fd, ask, sizeof(ask) - 1) == (ssize_t)sizeof(ask) - 1);
    return fd;
}

static void read_all(void *arg)
{
    char bytes[4096];
    int fd = open_client();
    (void)arg;
    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;)
        str_add(&stage.got, bytes, (size_t)n);
    close(fd);
    atomic_store(&stage.is_read, true);
}

/* Runs a server until its one client has read the answer, which must be the text sent. */
static void serve(int takes, uint64_t seed)
{
    const struct api_http_options options = { .listen = "127.0.0.1:0",
                                              .n_connections_max = 4,
                                              .body_bytes_max = 1024,
                                              .unsent_bytes_max = 1 << 20,
                                              .unsent_ns_max = TIME_NS_PER_S,
                                              .on_head = on_head,
                                              .on_request = on_request,
                                              .on_bad = on_bad,
                                              .on_wake = on_wake };
    struct api_http_chunks chunks = { 0 };
    struct fault fault;
    struct str body;
    size_t n_taken = 0, looked = 0;
    stage = (struct stage){ .takes = takes };
    rng_init(&stage.rng, seed, 3);
    str_init(&stage.said);
    str_init(&stage.got);
    str_init(&body);
    assert_int_equal(api_http_open(&stage.http, &options, &fault), STATUS_OK);
    stage.port = api_http_port(stage.http);
    struct thread *client = thread_start("client", read_all, NULL);
    api_http_run(stage.http);
    thread_join(client);
    api_http_close(stage.http);
    size_t n_head = api_http_parse_extent(view_of(stage.got.at, stage.got.n), &looked);
    assert_true(n_head > 0);
    struct view rest = view_of(stage.got.at + n_head, stage.got.n - n_head);
    assert_int_equal(api_http_parse_chunks(&chunks, rest, &body, &n_taken), HTTP_CHUNKS_DONE);
    assert_int_equal(n_taken, rest.n);
    assert_true(view_equal(view_of(body.at, body.n), view_of(stage.said.at, stage.said.n)));
    str_free(&stage.said);
    str_free(&stage.got);
    str_free(&body);
}

static void test_each_chunk_leaves_at_once_and_in_one_piece(void **state)
{
    (void)state;
    serve(TAKES_ALL, test_seed(1));
    assert_int_equal(stage.n_chunks, 2 * N_WAKES);
    assert_int_equal(stage.n_sends, stage.n_chunks + 1); /* and the end */
}

static void test_nothing_is_lost_or_overtakes_when_the_socket_is_full(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++)
        serve(TAKES_SOME, test_seed(2) + seed);
    assert_true(stage.n_sends > 0 && stage.n_sends < stage.n_chunks + 1);
}

static void test_a_client_whose_machine_vanishes_is_asked_and_given_up(void **state)
{
    (void)state;
    serve(TAKES_ALL, test_seed(3));
    assert_in_range(stage.gone_ms, 1, 30000);
    int n_asks = (stage.gone_ms / 1000 - stage.silent_s) / stage.ask_each_s;
    assert_true(n_asks >= 3); /* one lost probe does not end it */
}

/* Status of the answer, 0 when the connection ended without one. */
static int read_status(int fd)
{
    char head[16] = "";
    ssize_t n = recv(fd, head, sizeof(head) - 1, MSG_WAITALL);
    return n == (ssize_t)sizeof(head) - 1 ? atoi(head + strlen("HTTP/1.1 ")) : 0;
}

/* Runs a server for this client until it has no connection any more. */
static void serve_until_gone(const struct api_http_options *options, void (*client)(void *arg))
{
    struct fault fault;
    assert_int_equal(api_http_open(&stage.http, options, &fault), STATUS_OK);
    stage.port = api_http_port(stage.http);
    wake_in_ms(5);
    struct thread *thread = thread_start("client", client, NULL);
    api_http_run(stage.http);
    thread_join(thread);
    assert_int_equal(api_http_unsent_bytes(stage.http), 0);
    api_http_close(stage.http);
}

static void serve_large(void (*client)(void *arg), int64_t unsent_bytes_max, int64_t unsent_ns_max)
{
    const struct api_http_options options = { .listen = "127.0.0.1:0",
                                              .n_connections_max = 4,
                                              .body_bytes_max = 1024,
                                              .unsent_bytes_max = unsent_bytes_max,
                                              .unsent_ns_max = unsent_ns_max,
                                              .on_head = on_head,
                                              .on_request = on_large,
                                              .on_bad = on_bad,
                                              .on_wake = on_watch };
    stage = (struct stage){ 0 };
    serve_until_gone(&options, client);
}

/* The first answer is longer than the budget, so there is no second one until it is given up. */
static void ask_beside_a_sleeper(void *arg)
{
    (void)arg;
    int sleeper = open_client();
    CHECK(read_status(sleeper) == 200);
    int second = open_client();
    CHECK(read_status(second) == 503);
    close(second);
    close(sleeper);
    for (int status = 0; status != 200;) {
        int third = open_client();
        status = read_status(third);
        CHECK(status == 200 || status == 503); /* perhaps the close was not seen yet */
        close(third);
    }
}

static void test_answers_that_nobody_reads_have_a_budget(void **state)
{
    (void)state;
    serve_large(ask_beside_a_sleeper, 1 << 20, 60 * TIME_NS_PER_S);
}

/* Reads to the end, with a pause before each piece. */
static void read_slowly(void *arg)
{
    static char bytes[128 << 10];
    int fd = open_client();
    size_t n_read = 0;
    (void)arg;
    for (ssize_t n = 1; n > 0; n_read += (size_t)n) {
        time_sleep_ns(20 * TIME_NS_PER_MS);
        n = recv(fd, bytes, sizeof(bytes), MSG_WAITALL);
        CHECK(n >= 0);
    }
    CHECK(n_read > LARGE_BYTES);
    close(fd);
}

static void test_who_gets_on_is_waited_for(void **state)
{
    (void)state;
    int64_t begun_ns = time_now_ns();
    serve_large(read_slowly, 0, TIME_NS_PER_S);
    assert_true(time_now_ns() - begun_ns > TIME_NS_PER_S); /* longer than nothing may be taken */
}

/* Reads the start of the answer, then nothing, until it is given up. */
static void fall_asleep(void *arg)
{
    int fd = open_client();
    (void)arg;
    CHECK(read_status(fd) == 200);
    int64_t end_ns = time_now_ns() + 30 * TIME_NS_PER_S;
    while (!atomic_load(&stage.is_read) && time_now_ns() < end_ns)
        time_sleep_ns(5 * TIME_NS_PER_MS);
    close(fd);
}

static void test_who_takes_nothing_is_given_up(void **state)
{
    (void)state;
    int64_t begun_ns = time_now_ns();
    serve_large(fall_asleep, 0, 100 * TIME_NS_PER_MS);
    assert_true(time_now_ns() - begun_ns < 20 * TIME_NS_PER_S);
}

static void on_gone(struct api_http_exchange *x)
{
    (void)x;
    stage.is_gone = true;
}

static void begin_stream(void *self, struct api_http_exchange *x)
{
    (void)self;
    x->on_gone = on_gone;
    stage.x = x;
    api_http_begin(x, 200, "text/plain");
}

/* Is quiet for longer than an answer may wait. Then it writes more than the sockets hold but less
 * than a reader may lag, then nothing more. */
static void on_sleepy_wake(void *self)
{
    static const char zeros[16 << 10];
    bool is_open = stage.x != NULL && !stage.is_gone;
    if (is_open && ++stage.n_wakes == 300)
        for (int i = 0; i < 32; i++)
            api_http_chunk(stage.x, view_of(zeros, sizeof(zeros)));
    if (is_open)
        wake_in_ms(5);
    else
        on_watch(self);
}

static void test_a_stream_of_which_nothing_is_taken_is_given_up(void **state)
{
    (void)state;
    const struct api_http_options options = { .listen = "127.0.0.1:0",
                                              .n_connections_max = 4,
                                              .body_bytes_max = 1024,
                                              .unsent_ns_max = 100 * TIME_NS_PER_MS,
                                              .on_head = on_head,
                                              .on_request = begin_stream,
                                              .on_bad = on_bad,
                                              .on_wake = on_sleepy_wake };
    int64_t begun_ns = time_now_ns();
    stage = (struct stage){ .holds_little = true };
    serve_until_gone(&options, fall_asleep);
    assert_true(stage.is_gone);
    assert_true(stage.n_wakes >= 300); /* it was kept as long as there was nothing to take */
    assert_true(time_now_ns() - begun_ns < 20 * TIME_NS_PER_S);
}

/* Writes 4 MiB at once, which is more than a reader may lag, then nothing more; for a fast reader
 * also the end. */
static void on_burst_wake(void *self)
{
    static const char zeros[16 << 10];
    bool is_open = stage.x != NULL && !stage.is_gone && stage.n_wakes < 2;
    if (is_open && ++stage.n_wakes == 2) {
        for (int i = 0; i < 256; i++)
            api_http_chunk(stage.x, view_of(zeros, sizeof(zeros)));
        if (stage.takes == TAKES_ALL)
            api_http_end(stage.x);
    }
    if (stage.n_wakes < 2)
        wake_in_ms(5);
    else
        on_watch(self);
}

static void serve_burst(int takes, void (*client)(void *arg))
{
    const struct api_http_options options = { .listen = "127.0.0.1:0",
                                              .n_connections_max = 4,
                                              .body_bytes_max = 1024,
                                              .unsent_bytes_max = 64 << 20,
                                              .unsent_ns_max = 20 * TIME_NS_PER_S,
                                              .on_head = on_head,
                                              .on_request = begin_stream,
                                              .on_bad = on_bad,
                                              .on_wake = on_burst_wake };
    stage = (struct stage){ .takes = takes, .holds_little = true };
    rng_init(&stage.rng, test_seed(4), 3);
    str_init(&stage.got);
    serve_until_gone(&options, client);
}

static void test_who_is_told_much_at_once_may_catch_up(void **state)
{
    (void)state;
    serve_burst(TAKES_ALL, read_all);
    assert_false(stage.is_gone);
    assert_true(stage.got.n > 4 << 20);
    assert_memory_equal(stage.got.at + stage.got.n - 5, "0\r\n\r\n", 5);
    str_free(&stage.got);
}

/* Takes a little each time, but never catches up. */
static void read_drops(void *arg)
{
    char bytes[4096];
    int fd = open_client();
    (void)arg;
    while (!atomic_load(&stage.is_read) && read(fd, bytes, sizeof(bytes)) > 0)
        time_sleep_ns(20 * TIME_NS_PER_MS);
    close(fd);
}

static void test_who_lags_and_does_not_catch_up_is_given_up(void **state)
{
    (void)state;
    int64_t begun_ns = time_now_ns();
    serve_burst(TAKES_SOME, read_drops);
    assert_true(stage.is_gone);
    assert_in_range(time_now_ns() - begun_ns, 5 * TIME_NS_PER_S, 18 * TIME_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_chunk_leaves_at_once_and_in_one_piece),
        cmocka_unit_test(test_nothing_is_lost_or_overtakes_when_the_socket_is_full),
        cmocka_unit_test(test_a_client_whose_machine_vanishes_is_asked_and_given_up),
        cmocka_unit_test(test_answers_that_nobody_reads_have_a_budget),
        cmocka_unit_test(test_who_gets_on_is_waited_for),
        cmocka_unit_test(test_who_takes_nothing_is_given_up),
        cmocka_unit_test(test_a_stream_of_which_nothing_is_taken_is_given_up),
        cmocka_unit_test(test_who_is_told_much_at_once_may_catch_up),
        cmocka_unit_test(test_who_lags_and_does_not_catch_up_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
