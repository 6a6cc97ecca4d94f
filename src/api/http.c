/* The HTTP server on libevent's buffers; heads and chunks are parsed by http_parse.c.
 *
 * evhttp is not used: it can't be made strict, its error pages are HTML, and reading on while a
 * request is unanswered (the only sure way to see a client leave) crashes it. Here a connection
 * always reads, so a FIN or reset is seen in every state; what is pipelined meanwhile is bounded.
 *
 *   HEAD --(whole)--> BODY --(whole)--> ANSWER --(begin)--> STREAM
 *    ^                                    | reply             | end
 *    +------------(keep alive)------------+-------------------+--> FLUSH --(sent)--> LINGER
 *
 * LINGER reads on for a moment after our FIN, since closing with unread bytes would reset the
 * connection and take our last words with it. One sweep a second looks at all deadlines. */
#include "api/http.h"
#include "api/http_listen.h"
#include "api/http_out.h"
#include "api/http_watches.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_CONNECTIONS_OVER = 256 };                           /* still answered with a refusal */
enum { BURST_BYTES_MAX = 16 << 20 };                         /* of a stream, unsent */
static const int64_t HEAD_NS_MAX = 20 * TIME_NS_PER_S;       /* from its first byte to its last */
static const int64_t BODY_NS_MAX = 60 * TIME_NS_PER_S;       /* without a byte */
static const int64_t NS_PER_BYTE_MAX = TIME_NS_PER_S / 4096; /* what bytes may take beyond that */
static const int64_t IDLE_NS_MAX = 120 * TIME_NS_PER_S;
static const int64_t LINGER_NS_MAX = 2 * TIME_NS_PER_S;
static const int64_t LAG_NS_MAX = 5 * TIME_NS_PER_S;      /* by more than HTTP_LAG_BYTES_MAX */
static const int64_t BODIES_BYTES_MAX = INT64_C(1) << 30; /* of all connections together */

enum connection_state { HEAD, BODY, ANSWER, STREAM, FLUSH, LINGER };

struct connection {
    struct api_http *http;
    struct bufferevent *events;
    struct connection *next, *prev;
    enum connection_state state;
    bool is_tls, is_parsing, is_lost, has_ended; /* has_ended: the client sent its FIN */
    int64_t deadline_ns;
    int64_t reserved;            /* bytes of the budget for bodies: what has arrived */
    int64_t answered_ns, n_sent; /* of the last answer: when it was given, bytes that left since */
    int64_t lags_until_ns;       /* a stream's reader may lag; TIME_NEVER: it does not */
    size_t looked;               /* bytes searched for the end of the head */
    struct str head_text, headers;
    struct api_http_chunks chunks;
    struct api_http_exchange x;
};

struct api_http {
    struct api_http_options options;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *sweep;
    struct connection *connections;
    int32_t n_connections;
    int port;
    bool is_local, is_draining;
    int64_t bodies_bytes, unsent_bytes;
    struct str chunk; /* while it is sent */
    struct api_http_watches watches;
};

static void release_body(struct connection *c)
{
    c->http->bodies_bytes -= c->reserved;
    c->reserved = 0;
    str_free(&c->x.body);
}

int64_t api_http_take_body(struct api_http_exchange *x, struct str *body)
{
    struct connection *c = x->connection;
    int64_t n_reserved = c->reserved;
    *body = x->body;
    str_init(&x->body);
    c->reserved = 0;
    return n_reserved;
}

void api_http_give_body(struct api_http *http, struct str *body, int64_t n_reserved)
{
    str_free(body);
    http->bodies_bytes -= n_reserved;
}

int64_t api_http_body_bytes(const struct api_http *http)
{
    return http->bodies_bytes;
}

int64_t api_http_unsent_bytes(const struct api_http *http)
{
    return http->unsent_bytes;
}

static size_t count_unsent(const struct connection *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->events));
}

/* A reader must get on with its answer, and not drop by drop. */
static void set_answer_deadline(struct connection *c)
{
    int64_t slowest_ns = c->answered_ns + c->n_sent * NS_PER_BYTE_MAX;
    c->deadline_ns = min_i64(time_now_ns(), slowest_ns) + c->http->options.unsent_ns_max;
}

/* A stream may be slow, but what it said is taken in time, and who lags catches up. */
static void set_stream_deadline(struct connection *c, bool is_taken)
{
    size_t n_unsent = count_unsent(c);
    if (n_unsent <= HTTP_LAG_BYTES_MAX)
        c->lags_until_ns = TIME_NEVER;
    else if (c->lags_until_ns == TIME_NEVER)
        c->lags_until_ns = time_now_ns() + LAG_NS_MAX;
    if (n_unsent == 0)
        c->deadline_ns = TIME_NEVER;
    else if (is_taken || c->deadline_ns == TIME_NEVER)
        c->deadline_ns = time_now_ns() + c->http->options.unsent_ns_max;
    c->deadline_ns = min_i64(c->deadline_ns, c->lags_until_ns);
}

/* What the connection has to send became more or less. */
static void on_output(struct evbuffer *out, const struct evbuffer_cb_info *change, void *arg)
{
    struct connection *c = arg;
    c->http->unsent_bytes += (int64_t)change->n_added - (int64_t)change->n_deleted;
    c->n_sent += (int64_t)change->n_deleted;
    if (c->state == STREAM)
        set_stream_deadline(c, change->n_deleted > 0);
    if (change->n_deleted == 0 || (c->state != FLUSH && (c->state != HEAD || c->looked > 0)))
        return;
    set_answer_deadline(c);
    if (c->state == HEAD && evbuffer_get_length(out) == 0)
        c->deadline_ns = time_now_ns() + IDLE_NS_MAX;
}

static void close_connection(struct connection *c)
{
    struct api_http *http = c->http;
    bool is_open = c->state == ANSWER || c->state == STREAM;
    c->is_lost = true;
    if (is_open && c->x.on_gone != NULL)
        c->x.on_gone(&c->x);
    release_body(c);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        http->connections = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    http->n_connections--;
    http->unsent_bytes -= (int64_t)count_unsent(c);
    evbuffer_remove_cb(bufferevent_get_output(c->events), on_output, c);
    bufferevent_free(c->events);
    str_free(&c->head_text);
    str_free(&c->headers);
    mem_give(c);
}

/* Closes it from the event loop, so that a caller in the middle of something finds it whole. */
static void lose(struct connection *c)
{
    if (c->is_lost)
        return;
    c->is_lost = true;
    bufferevent_trigger_event(c->events, BEV_EVENT_ERROR, BEV_OPT_DEFER_CALLBACKS);
}

static void expect_head(struct connection *c)
{
    release_body(c);
    str_clear(&c->head_text);
    str_clear(&c->headers);
    c->x = (struct api_http_exchange){ .connection = c };
    c->looked = 0;
    c->state = HEAD;
    c->deadline_ns = time_now_ns() + IDLE_NS_MAX;
    if (count_unsent(c) > 0)
        set_answer_deadline(c);
}

static void flush_and_close(struct connection *c)
{
    c->state = FLUSH;
    set_answer_deadline(c);
    if (count_unsent(c) == 0)
        bufferevent_trigger(c->events, EV_WRITE, BEV_OPT_DEFER_CALLBACKS);
}

/* The reply is whole: the next request, or the end. */
static void finish(struct connection *c)
{
    if (c->is_lost) {
        c->state = LINGER;
        return;
    }
    c->answered_ns = time_now_ns();
    c->n_sent = 0;
    if (!c->x.head.keeps_alive || c->http->is_draining) {
        flush_and_close(c);
        return;
    }
    expect_head(c);
    if (!c->is_parsing && evbuffer_get_length(bufferevent_get_input(c->events)) > 0)
        bufferevent_trigger(c->events, EV_READ, BEV_OPT_DEFER_CALLBACKS);
}

void api_http_header(struct api_http_exchange *x, const char *name, const char *value)
{
    CHECK(strpbrk(name, "\r\n:") == NULL && strpbrk(value, "\r\n") == NULL);
    str_printf(&x->connection->headers, "%s: %s\r\n", name, value);
}

/* n_body < 0: a stream. */
static void send_head(struct connection *c, int status, const char *type, int64_t n_body)
{
    struct evbuffer *out = bufferevent_get_output(c->events);
    bool keeps =
        c->x.head.keeps_alive && !c->http->is_draining && !(n_body < 0 && c->x.head.is_1_0);
    c->x.head.keeps_alive = keeps;
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nServer: shoal\r\nConnection: %s\r\n", status,
                        api_http_listen_reason(status), keeps ? "keep-alive" : "close");
    if (type != NULL)
        evbuffer_add_printf(out, "Content-Type: %s\r\n", type);
    if (n_body >= 0 && status != 204)
        evbuffer_add_printf(out, "Content-Length: %lld\r\n", (long long)n_body);
    else if (n_body < 0 && !c->x.head.is_1_0)
        evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
    evbuffer_add(out, c->headers.at, c->headers.n);
    evbuffer_add(out, "\r\n", 2);
    c->x.has_begun = true;
}

static void refuse(struct connection *c, int status, const char *why)
{
    c->state = ANSWER;
    c->x.head.keeps_alive = false;
    c->http->options.on_bad(c->http->options.self, &c->x, status, why);
}

/* own: where the body lies, if it may be taken over. */
static void reply(struct connection *c, int status, const char *type, struct view body,
                  struct str *own)
{
    struct api_http *http = c->http;
    CHECK(c->state == ANSWER);
    if (body.n > HTTP_PIPELINE_BYTES_MAX && http->unsent_bytes > http->options.unsent_bytes_max) {
        str_clear(&c->headers);
        refuse(c, 503, "too many large answers wait for their readers, try again later");
        return;
    }
    bool has_body = !c->is_lost && c->x.head.method != HTTP_HEAD && body.n > 0;
    if (!c->is_lost)
        send_head(c, status, type, (int64_t)body.n);
    if (has_body && own != NULL)
        api_http_out_add(bufferevent_get_output(c->events), own);
    else if (has_body)
        bufferevent_write(c->events, body.at, body.n);
    finish(c);
}

void api_http_reply(struct api_http_exchange *x, int status, const char *type, struct view body)
{
    reply(x->connection, status, type, body, NULL);
}

void api_http_reply_text(struct api_http_exchange *x, int status, const char *type,
                         struct str *body)
{
    reply(x->connection, status, type, view_of(body->at, body->n), body);
    str_free(body);
}

void api_http_begin(struct api_http_exchange *x, int status, const char *type)
{
    struct connection *c = x->connection;
    CHECK(c->state == ANSWER);
    c->state = STREAM;
    if (!c->is_lost)
        send_head(c, status, type, -1);
}

/* What a stream says goes to the socket at once: libevent's buffer would have the kernel say first
 * that the socket takes bytes, which costs two more calls and a turn of the loop. What the socket
 * does not take waits in that buffer, and so does all that comes behind it. */
static void send_now(struct connection *c, struct view bytes)
{
    struct evbuffer *out = bufferevent_get_output(c->events);
    ssize_t n_sent = 0;
    if (!c->is_tls && evbuffer_get_length(out) == 0)
        n_sent = send(bufferevent_getfd(c->events), bytes.at, bytes.n, MSG_NOSIGNAL);
    size_t n = n_sent > 0 ? (size_t)n_sent : 0; /* libevent meets an error, too, and tells us */
    if (n < bytes.n)
        evbuffer_add(out, bytes.at + n, bytes.n - n);
    bool is_crowded = c->http->unsent_bytes > c->http->options.unsent_bytes_max;
    if (evbuffer_get_length(out) > (is_crowded ? HTTP_LAG_BYTES_MAX : BURST_BYTES_MAX))
        lose(c);
}

void api_http_chunk(struct api_http_exchange *x, struct view bytes)
{
    struct connection *c = x->connection;
    CHECK(c->state == STREAM && bytes.n > 0);
    if (c->is_lost)
        return;
    if (x->head.is_1_0) {
        send_now(c, bytes);
        return;
    }
    struct str *chunk = &c->http->chunk;
    str_clear(chunk);
    str_printf(chunk, "%zx\r\n", bytes.n);
    str_add(chunk, bytes.at, bytes.n);
    str_add(chunk, "\r\n", 2);
    send_now(c, view_of(chunk->at, chunk->n));
}

void api_http_end(struct api_http_exchange *x)
{
    struct connection *c = x->connection;
    CHECK(c->state == STREAM);
    if (!c->is_lost && !x->head.is_1_0)
        send_now(c, view_of("0\r\n\r\n", 5));
    finish(c);
}

static void hand_over(struct connection *c)
{
    c->state = ANSWER;
    c->deadline_ns = c->lags_until_ns = TIME_NEVER;
    c->http->options.on_request(c->http->options.self, &c->x);
}

static void refuse_length(struct connection *c)
{
    char why[96];
    snprintf(why, sizeof(why), "the body is larger than the %lld bytes that this server takes",
             (long long)c->http->options.body_bytes_max);
    refuse(c, 413, why);
}

/* Is there room for n more bytes of bodies? */
static bool has_room(struct connection *c, int64_t n)
{
    if (c->http->bodies_bytes + n <= BODIES_BYTES_MAX)
        return true;
    refuse(c, 503, "too many large bodies are being received, try again later");
    return false;
}

/* Takes n more bytes of the budget for bodies. Only what arrived is taken: promises are free. */
static bool reserve_body(struct connection *c, int64_t n)
{
    if (!has_room(c, n))
        return false;
    c->http->bodies_bytes += n;
    c->reserved += n;
    return true;
}

/* Drop by drop a body would hold its connection for days. */
static void set_body_deadline(struct connection *c)
{
    int64_t slowest_ns = c->x.arrived_ns + (int64_t)c->x.body.n * NS_PER_BYTE_MAX;
    c->deadline_ns = min_i64(time_now_ns(), slowest_ns) + BODY_NS_MAX;
}

/* A large body is let in only if its request would be: no key, no megabytes. */
static bool is_welcome(struct connection *c)
{
    bool keeps_alive = c->x.head.keeps_alive;
    if (!c->x.head.is_chunked && c->x.head.n_body <= HTTP_PIPELINE_BYTES_MAX)
        return true;
    c->state = ANSWER;
    c->x.head.keeps_alive = false; /* the body is not read */
    if (!c->http->options.on_head(c->http->options.self, &c->x))
        return false;
    c->x.head.keeps_alive = keeps_alive;
    return true;
}

/* The head is whole and good: its body, or already the answer. */
static void begin_body(struct connection *c)
{
    const struct api_http_head *head = &c->x.head;
    struct api_http *http = c->http;
    c->x.arrived_ns = time_now_ns();
    if (http->n_connections > http->options.n_connections_max) {
        refuse(c, 503, "too many connections, try again later");
        return;
    }
    if (!head->is_chunked && head->n_body > http->options.body_bytes_max) {
        refuse_length(c);
        return;
    }
    if (!head->is_chunked && head->n_body == 0) {
        hand_over(c);
        return;
    }
    if (!is_welcome(c) || (!head->is_chunked && !has_room(c, head->n_body)))
        return;
    if (head->expects_continue)
        bufferevent_write(c->events, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    c->chunks = (struct api_http_chunks){ 0 };
    c->state = BODY;
    set_body_deadline(c);
}

/* True when it got further. */
static bool read_head(struct connection *c, struct evbuffer *in)
{
    size_t n = evbuffer_get_length(in);
    if (n > HTTP_HEAD_BYTES_MAX)
        n = HTTP_HEAD_BYTES_MAX;
    if (n == 0)
        return false;
    if (count_unsent(c) > HTTP_LAG_BYTES_MAX)
        return false; /* on_written comes back to it */
    const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)n);
    if (c->looked == 0 && n == 1 && bytes[0] == '\r')
        return false;
    if (c->looked == 0 && n >= 2 && memcmp(bytes, "\r\n", 2) == 0) {
        evbuffer_drain(in, 2); /* an empty line before a request is customary */
        return true;
    }
    if (c->looked == 0)
        c->deadline_ns = time_now_ns() + HEAD_NS_MAX;
    size_t extent = api_http_parse_extent(view_of(bytes, n), &c->looked);
    if (c->looked == 0)
        c->looked = 1;
    if (extent == 0) {
        if (n == HTTP_HEAD_BYTES_MAX)
            refuse(c, 431, "the head is too long");
        return n == HTTP_HEAD_BYTES_MAX;
    }
    const char *why = "";
    str_clear(&c->head_text);
    str_add(&c->head_text, bytes, extent);
    evbuffer_drain(in, extent);
    int status = api_http_parse_head(view_of(c->head_text.at, extent), &c->x.head, &why);
    if (status != 0)
        refuse(c, status, why);
    else
        begin_body(c);
    return true;
}

static bool read_chunked(struct connection *c, struct evbuffer *in)
{
    for (size_t n; (n = evbuffer_get_contiguous_space(in)) > 0;) {
        size_t n_before = c->x.body.n, n_taken = 0;
        struct view bytes = view_of((const char *)evbuffer_pullup(in, (ev_ssize_t)n), n);
        enum api_http_chunks_said said =
            api_http_parse_chunks(&c->chunks, bytes, &c->x.body, &n_taken);
        evbuffer_drain(in, n_taken);
        if (!reserve_body(c, (int64_t)(c->x.body.n - n_before)))
            return true;
        if (said == HTTP_CHUNKS_BAD)
            refuse(c, 400, "the chunked body is malformed");
        else if ((int64_t)c->x.body.n > c->http->options.body_bytes_max)
            refuse_length(c);
        else if (said == HTTP_CHUNKS_DONE)
            hand_over(c);
        if (c->state != BODY)
            return true;
    }
    return false;
}

static bool read_body(struct connection *c, struct evbuffer *in)
{
    set_body_deadline(c);
    if (c->x.head.is_chunked)
        return read_chunked(c, in);
    size_t missing = (size_t)c->x.head.n_body - c->x.body.n;
    for (size_t n; missing > 0 && (n = evbuffer_get_contiguous_space(in)) > 0;) {
        n = n < missing ? n : missing;
        if (!reserve_body(c, (int64_t)n))
            return true;
        str_add(&c->x.body, (const char *)evbuffer_pullup(in, (ev_ssize_t)n), n);
        evbuffer_drain(in, n);
        missing -= n;
    }
    if (missing == 0)
        hand_over(c);
    return missing == 0;
}

static void on_readable(struct bufferevent *events, void *arg)
{
    struct connection *c = arg;
    struct evbuffer *in = bufferevent_get_input(events);
    bool is_moving = !c->is_lost;
    c->is_parsing = true;
    while (is_moving && (c->state == HEAD || c->state == BODY))
        is_moving = c->state == HEAD ? read_head(c, in) : read_body(c, in);
    c->is_parsing = false;
    if (c->state == FLUSH || c->state == LINGER)
        evbuffer_drain(in, evbuffer_get_length(in));
    else if (evbuffer_get_length(in) > HTTP_PIPELINE_BYTES_MAX)
        lose(c);
}

static void on_written(struct bufferevent *events, void *arg)
{
    struct connection *c = arg;
    if (c->state == HEAD)
        on_readable(events, c);
    if (c->state != FLUSH || evbuffer_get_length(bufferevent_get_output(events)) > 0)
        return;
    SSL *ssl = bufferevent_openssl_get_ssl(events);
    if (c->is_tls && ssl != NULL)
        SSL_shutdown(ssl);
    shutdown(bufferevent_getfd(events), SHUT_WR);
    c->state = LINGER;
    c->deadline_ns = time_now_ns() + LINGER_NS_MAX;
    if (c->has_ended)
        lose(c);
}

static void on_event(struct bufferevent *events, short what, void *arg)
{
    struct connection *c = arg;
    size_t n_unsent = evbuffer_get_length(bufferevent_get_output(events));
    bool is_answered = c->state == HEAD || c->state == FLUSH;
    bool is_reset = what & BEV_EVENT_ERROR; /* then the end of what it sends is told, too */
    if ((what & BEV_EVENT_EOF) && !is_reset && is_answered && n_unsent > 0 && !c->is_lost) {
        c->has_ended = true; /* a half-close while the last answer is on its way */
        flush_and_close(c);
    } else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        close_connection(c);
    }
}

static void on_accepted(struct evconnlistener *listener, evutil_socket_t fd,
                        struct sockaddr *address, int n_address, void *arg)
{
    (void)listener, (void)address, (void)n_address;
    struct api_http *http = arg;
    int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    if (http->n_connections >= http->options.n_connections_max + N_CONNECTIONS_OVER) {
        close(fd);
        return;
    }
    SSL_CTX *tls = http->options.tls != NULL ? *http->options.tls : NULL;
    SSL *ssl = tls != NULL ? SSL_new(tls) : NULL;
    mem_need(ssl != NULL || tls == NULL);
    struct bufferevent *events =
        ssl != NULL ? bufferevent_openssl_socket_new(http->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                     options)
                    : bufferevent_socket_new(http->base, fd, options);
    if (events == NULL) {
        close(fd);
        return;
    }
    struct connection *c = mem_take(sizeof(*c));
    c->http = http;
    c->events = events;
    c->is_tls = ssl != NULL;
    c->next = http->connections;
    if (c->next != NULL)
        c->next->prev = c;
    http->connections = c;
    http->n_connections++;
    expect_head(c);
    mem_need(evbuffer_add_cb(bufferevent_get_output(events), on_output, c) != NULL);
    bufferevent_setcb(events, on_readable, on_written, on_event, c);
    bufferevent_enable(events, EV_READ | EV_WRITE);
}

/* Out of descriptors: no spinning; the sweep listens again. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    log_line(LOG_WARN, "http", "can't accept: %s", strerror(errno));
    evconnlistener_disable(listener);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct api_http *http = arg;
    int64_t now_ns = time_now_ns();
    for (struct connection *c = http->connections, *next; c != NULL; c = next) {
        next = c->next;
        if (now_ns < c->deadline_ns)
            continue;
        if (c->state == BODY || (c->state == HEAD && c->looked > 0))
            refuse(c, 408, "the request took too long to arrive");
        else
            close_connection(c);
    }
    evconnlistener_enable(http->listener);
}

void api_http_watch(struct api_http *http, int fd, void (*f)(void *arg), void *arg)
{
    api_http_watches_add(&http->watches, http->base, fd, f, arg);
}

void api_http_watch_signal(struct api_http *http, int number, void (*f)(void *arg), void *arg)
{
    api_http_watches_add_signal(&http->watches, http->base, number, f, arg);
}

void api_http_wake_at(struct api_http *http, int64_t at_ns)
{
    api_http_watches_wake_at(&http->watches, at_ns);
}

enum status api_http_open(struct api_http **out, const struct api_http_options *options,
                          struct fault *fault)
{
    struct api_http *http = mem_take(sizeof(*http));
    http->options = *options;
    int fd = api_http_listen_open(options->listen, fault);
    if (fd < 0) {
        mem_give(http);
        return STATUS_IO;
    }
    signal(SIGPIPE, SIG_IGN);
    api_http_listen_raise(options->n_connections_max + N_CONNECTIONS_OVER + 256);
    http->port = api_http_listen_port(fd);
    http->is_local = api_http_listen_is_local(fd);
    http->base = api_http_watches_base();
    http->listener = evconnlistener_new(http->base, on_accepted, http,
                                        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    http->sweep = event_new(http->base, -1, EV_PERSIST, on_sweep, http);
    mem_need(http->listener != NULL && http->sweep != NULL);
    api_http_watches_open(&http->watches, http->base, options->on_wake, options->self);
    evconnlistener_set_error_cb(http->listener, on_accept_error);
    event_add(http->sweep, &(struct timeval){ .tv_sec = 1 });
    *out = http;
    return STATUS_OK;
}

void api_http_close(struct api_http *http)
{
    if (http == NULL)
        return;
    while (http->connections != NULL)
        close_connection(http->connections);
    api_http_watches_close(&http->watches);
    event_free(http->sweep);
    evconnlistener_free(http->listener);
    event_base_loop(http->base, EVLOOP_NONBLOCK); /* buffers are freed from the loop */
    event_base_free(http->base);
    str_free(&http->chunk);
    mem_give(http);
}

bool api_http_is_local(const struct api_http *http)
{
    return http->is_local;
}

int api_http_port(const struct api_http *http)
{
    return http->port;
}

void api_http_run(struct api_http *http)
{
    event_base_dispatch(http->base);
}

void api_http_stop(struct api_http *http)
{
    event_base_loopbreak(http->base);
}

void api_http_drain(struct api_http *http)
{
    http->is_draining = true;
}

int32_t api_http_n_connections(const struct api_http *http)
{
    return http->n_connections;
}
