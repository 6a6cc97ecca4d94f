/* Answers: heads, whole bodies, and streams that send their chunks at once. */
#include "api/http_listen.h"
#include "api/http_out.h"
#include "api/http_state.h"
#include "api/http.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BURST_BYTES_MAX = 16 << 20 };   /* of a stream, unsent */
enum { CROWDED_BYTES_MAX = 64 << 10 }; /* of a stream, while many wait */
enum { HEAD_BYTES = 1024 };            /* of an answer, without what handlers add */

void api_http_take_body(struct api_http_exchange *x, struct str *body)
{
    *body = x->body;
    str_init(&x->body);
}

void api_http_header(struct api_http_exchange *x, const char *name, const char *value)
{
    CHECK(strpbrk(name, "\r\n:") == NULL && strpbrk(value, "\r\n") == NULL);
    str_printf(&x->connection->headers, "%s: %s\r\n", name, value);
}

/* Returns the time in the format of RFC 9110 (5.6.7), which is made once a second. */
static const char *date_of(struct api_http *http)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int64_t now_s = time_unix_ns() / TIME_NS_PER_S;
    time_t seconds = (time_t)now_s;
    struct tm tm;
    if (now_s == http->date_s || gmtime_r(&seconds, &tm) == NULL)
        return http->date;
    http->date_s = now_s;
    snprintf(http->date, sizeof(http->date), "%s, %02d %s %04d %02d:%02d:%02d GMT",
             days[tm.tm_wday % 7], tm.tm_mday, months[tm.tm_mon % 12], tm.tm_year + 1900,
             tm.tm_hour, tm.tm_min, tm.tm_sec);
    return http->date;
}

/* Empties the buffer that all connections share and makes room for n bytes in it. The buffer is
 * charged to no party. */
static struct str *take_chunk(struct connection *c, size_t n)
{
    struct str *chunk = &c->http->chunk;
    struct mem_account *before = mem_account_use(c->http->options.account);
    str_clear(chunk);
    if (!str_try_reserve(chunk, n))
        api_http_connection_lose(c);
    (void)mem_account_use(before);
    return chunk;
}

/* n_body < 0 means a stream. */
static void send_head(struct connection *c, int status, const char *type, int64_t n_body)
{
    struct str *head = take_chunk(c, HEAD_BYTES + c->headers.n);
    bool keeps =
        c->x.head.keeps_alive && !c->http->is_draining && !(n_body < 0 && c->x.head.is_1_0);
    c->x.head.keeps_alive = keeps;
    if (c->is_lost)
        return;
    str_printf(head, "HTTP/1.1 %d %s\r\nServer: shoal\r\nDate: %s\r\nConnection: %s\r\n", status,
               api_http_listen_reason(status), date_of(c->http), keeps ? "keep-alive" : "close");
    if (type != NULL)
        str_printf(head, "Content-Type: %s\r\n", type);
    if (n_body >= 0 && status != 204)
        str_printf(head, "Content-Length: %lld\r\n", (long long)n_body);
    else if (n_body < 0 && !c->x.head.is_1_0)
        str_add_text(head, "Transfer-Encoding: chunked\r\n");
    str_add(head, c->headers.at != NULL ? c->headers.at : "", c->headers.n);
    str_add_text(head, "\r\n");
    api_http_connection_add(c, view_of(head->at, head->n));
    c->x.has_begun = true;
}

static bool is_crowded(const struct api_http *http)
{
    return http->unsent_bytes > http->options.unsent_bytes_max;
}

/* own is the place of the body, if it may be taken over; else NULL. */
static void reply(struct connection *c, int status, const char *type, struct view body,
                  struct str *own)
{
    CHECK(c->state == ANSWER);
    if (body.n > API_PARTY_SMALL_BYTES && is_crowded(c->http)) {
        str_clear(&c->headers);
        api_http_connection_refuse(
            c, 503, "too many large answers wait for their readers, try again later");
        return;
    }
    bool has_body = c->x.head.method != HTTP_HEAD && body.n > 0;
    if (!c->is_lost)
        send_head(c, status, type, (int64_t)body.n);
    if (has_body && !c->is_lost && own == NULL)
        api_http_connection_add(c, body);
    else if (has_body && !c->is_lost && !api_http_out_add(bufferevent_get_output(c->events), own))
        api_http_connection_lose(c);
    api_http_connection_finish(c);
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
    api_http_connection_enter(c, STREAM);
    if (!c->is_lost)
        send_head(c, status, type, -1);
}

/* Writes a stream's bytes to the socket at once. libevent's buffer would first wait until the
 * kernel reports that the socket takes bytes, which costs two more calls and a turn of the loop.
 * Bytes that the socket does not take wait in that buffer, and so do all that follow. */
static void send_now(struct connection *c, struct view bytes)
{
    ssize_t n_sent = 0;
    if (!c->is_tls && api_http_connection_n_unsent(c) == 0)
        n_sent = send(bufferevent_getfd(c->events), bytes.at, bytes.n, MSG_NOSIGNAL);
    size_t n = n_sent > 0 ? (size_t)n_sent : 0; /* libevent meets the error, too, and reports it */
    if (n < bytes.n)
        api_http_connection_add(c, view_of(bytes.at + n, bytes.n - n));
    if (api_http_connection_n_unsent(c) >
        (is_crowded(c->http) ? CROWDED_BYTES_MAX : BURST_BYTES_MAX))
        api_http_connection_lose(c);
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
    struct str *chunk = take_chunk(c, bytes.n + 32);
    if (c->is_lost)
        return;
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
    api_http_connection_finish(c);
}
