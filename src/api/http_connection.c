/* A connection: its states, its deadlines, and its end.
 *
 * evhttp is not used, because it cannot be made strict and its error pages are HTML. Also, the only
 * sure way to see a client leave is to read on while a request is unanswered, and that crashes
 * evhttp. Here a connection always reads, so a FIN or reset is seen in every state. Reading pauses
 * only when the client has sent much ahead of an answer; then the sweep asks the socket whether the
 * client has left. */
#include "api/http_state.h"
#include "api/http.h"
#include "api/http_listen.h"
#include "base/mem.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TLS_BYTES = 48 << 10 }; /* OpenSSL's memory for a connection, about */
static const int64_t NS_PER_BYTE_MAX = TIME_NS_PER_S / 4096; /* for an answer, in the long run */
static const int64_t LINGER_NS_MAX = 2 * TIME_NS_PER_S;
static const int64_t LAG_NS_MAX = 5 * TIME_NS_PER_S; /* by more than HTTP_LAG_BYTES_MAX */

size_t api_http_connection_n_unsent(const struct connection *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->events));
}

/* Returns whether no request is under way in this state. */
static bool is_idle(enum http_state state)
{
    return state == HEAD || state == LINGER;
}

void api_http_connection_enter(struct connection *c, enum http_state state)
{
    int32_t change = (int32_t)is_idle(state) - (int32_t)is_idle(c->state);
    c->peer->n_idle += change;
    c->http->n_idle += change;
    c->state = state;
}

/* --- deadlines --- */

/* Sets the deadline of an answer: its reader must make progress, and not drop by drop. */
static void set_answer_deadline(struct connection *c)
{
    int64_t slowest_ns = c->answered_ns + c->n_sent * NS_PER_BYTE_MAX;
    c->deadline_ns = min_i64(time_now_ns(), slowest_ns) + c->http->options.unsent_ns_max;
}

/* Sets the deadline of a stream. A stream may be slow, but its reader must take the bytes in time,
 * and catch up when it lags. */
static void set_stream_deadline(struct connection *c, bool is_taken)
{
    size_t n_unsent = api_http_connection_n_unsent(c);
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

/* Called when the number of bytes to send has changed. */
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
        c->deadline_ns = time_now_ns() + HTTP_IDLE_NS_MAX;
}

/* --- the list of all --- */

static void link_first(struct connection *c)
{
    struct api_http *http = c->http;
    c->prev = NULL;
    c->next = http->first;
    if (c->next != NULL)
        c->next->prev = c;
    else
        http->last = c;
    http->first = c;
}

static void unlink_it(struct connection *c)
{
    struct api_http *http = c->http;
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        http->first = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    else
        http->last = c->prev;
}

/* --- requests --- */

/* Ends the exchange and frees what it held. */
static void drop_exchange(struct connection *c)
{
    str_free(&c->x.body);
    if (c->x.party != NULL && c->x.party != c->peer)
        api_parties_put(c->http->parties, c->x.party);
    c->x = (struct api_http_exchange){ .connection = c, .party = c->peer };
}

static void expect_head(struct connection *c)
{
    drop_exchange(c);
    str_clear(&c->head_text);
    str_clear(&c->headers);
    c->looked = 0;
    api_http_connection_enter(c, HEAD);
    c->deadline_ns = time_now_ns() + HTTP_IDLE_NS_MAX;
    if (api_http_connection_n_unsent(c) > 0)
        set_answer_deadline(c);
    unlink_it(c);
    link_first(c);
}

static void flush_and_close(struct connection *c)
{
    api_http_connection_enter(c, FLUSH);
    set_answer_deadline(c);
    if (api_http_connection_n_unsent(c) == 0)
        bufferevent_trigger(c->events, EV_WRITE, BEV_OPT_DEFER_CALLBACKS);
}

void api_http_connection_finish(struct connection *c)
{
    if (c->is_lost) {
        api_http_connection_enter(c, LINGER);
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

void api_http_connection_refuse(struct connection *c, int status, const char *why)
{
    str_free(&c->x.body);
    api_http_connection_enter(c, ANSWER);
    c->x.head.keeps_alive = false;
    c->http->options.on_bad(c->http->options.self, &c->x, status, why);
}

void api_http_connection_add(struct connection *c, struct view bytes)
{
    if (evbuffer_add(bufferevent_get_output(c->events), bytes.at, bytes.n) != 0)
        api_http_connection_lose(c);
}

/* --- events --- */

static void on_readable(struct bufferevent *events, void *arg)
{
    struct connection *c = arg;
    struct evbuffer *in = bufferevent_get_input(events);
    api_http_read(c);
    if (c->state == FLUSH || c->state == LINGER)
        evbuffer_drain(in, evbuffer_get_length(in));
}

static void on_written(struct bufferevent *events, void *arg)
{
    struct connection *c = arg;
    if (c->state == HEAD)
        on_readable(events, c);
    if (c->state != FLUSH || api_http_connection_n_unsent(c) > 0)
        return;
    SSL *ssl = bufferevent_openssl_get_ssl(events);
    if (c->is_tls && ssl != NULL)
        SSL_shutdown(ssl);
    shutdown(bufferevent_getfd(events), SHUT_WR);
    api_http_connection_enter(c, LINGER);
    c->deadline_ns = time_now_ns() + LINGER_NS_MAX;
    if (c->has_ended)
        api_http_connection_lose(c);
}

static void on_event(struct bufferevent *events, short what, void *arg)
{
    (void)events;
    struct connection *c = arg;
    bool is_answered = c->state == HEAD || c->state == FLUSH;
    bool is_reset = what & BEV_EVENT_ERROR; /* then the end of its bytes is reported too */
    if ((what & BEV_EVENT_EOF) && !is_reset && is_answered && !c->is_lost &&
        api_http_connection_n_unsent(c) > 0) {
        c->has_ended = true; /* a half-close while the last answer is sent */
        flush_and_close(c);
    } else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        api_http_connection_close(c);
    }
}

/* --- open and close --- */

static struct bufferevent *open_events(struct api_http *http, int fd)
{
    int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
    SSL_CTX *tls = http->options.tls != NULL ? *http->options.tls : NULL;
    if (tls == NULL)
        return bufferevent_socket_new(http->base, fd, options);
    SSL *ssl = SSL_new(tls);
    if (ssl == NULL)
        return NULL;
    struct bufferevent *events =
        bufferevent_openssl_socket_new(http->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, options);
    if (events == NULL)
        SSL_free(ssl);
    return events;
}

bool api_http_connection_open(struct api_http *http, int fd, struct api_party *peer)
{
    struct connection *c = mem_try(sizeof(*c));
    struct bufferevent *events = c != NULL ? open_events(http, fd) : NULL;
    if (events == NULL) {
        mem_give(c);
        close(fd);
        return false;
    }
    *c = (struct connection){ .http = http,
                              .events = events,
                              .peer = peer,
                              .state = FLUSH,
                              .is_tls = bufferevent_openssl_get_ssl(events) != NULL,
                              .is_spare = http->n_connections >= http->options.n_connections_max,
                              .x.party = peer };
    api_parties_use(peer);
    peer->n_connections++;
    http->n_connections++;
    link_first(c);
    if (c->is_tls)
        mem_account_charge(http->options.account, TLS_BYTES);
    expect_head(c);
    bool is_open = evbuffer_add_cb(bufferevent_get_output(events), on_output, c) != NULL;
    bufferevent_setcb(events, on_readable, on_written, on_event, c);
    bufferevent_setwatermark(events, EV_READ, 0, HTTP_PIPELINE_BYTES_MAX);
    is_open = is_open && bufferevent_enable(events, EV_READ | EV_WRITE) == 0;
    if (!is_open)
        api_http_connection_close(c);
    return is_open;
}

void api_http_connection_close(struct connection *c)
{
    struct api_http *http = c->http;
    bool is_open = c->state == ANSWER || c->state == STREAM;
    c->is_lost = true;
    if (is_open && c->x.on_gone != NULL)
        c->x.on_gone(&c->x);
    drop_exchange(c);
    api_http_connection_enter(c, FLUSH); /* a closed connection is not idle */
    unlink_it(c);
    http->n_connections--;
    http->unsent_bytes -= (int64_t)api_http_connection_n_unsent(c);
    evbuffer_remove_cb(bufferevent_get_output(c->events), on_output, c);
    bufferevent_free(c->events);
    if (c->is_tls)
        mem_account_charge(http->options.account, -TLS_BYTES);
    str_free(&c->head_text);
    str_free(&c->headers);
    c->peer->n_connections--;
    struct api_party *peer = c->peer;
    mem_give(c);
    api_parties_put(http->parties, peer);
}

bool api_http_connection_is_left(const struct connection *c)
{
    bool is_answering = c->state == ANSWER || c->state == STREAM;
    size_t n_ahead = evbuffer_get_length(bufferevent_get_input(c->events));
    struct pollfd socket = { .fd = bufferevent_getfd(c->events), .events = POLLRDHUP };
    return is_answering && n_ahead >= HTTP_PIPELINE_BYTES_MAX && poll(&socket, 1, 0) > 0;
}

void api_http_connection_lose(struct connection *c)
{
    if (c->is_lost)
        return;
    c->is_lost = true;
    bufferevent_trigger_event(c->events, BEV_EVENT_ERROR, BEV_OPT_DEFER_CALLBACKS);
}

/* Returns whether bytes, or the end of the connection, wait in the socket. */
static bool has_news(const struct connection *c)
{
    struct pollfd socket = { .fd = bufferevent_getfd(c->events), .events = POLLIN };
    return poll(&socket, 1, 0) > 0;
}

int api_http_connection_evict(struct api_http *http, const struct api_party *peer, int n)
{
    int n_closed = 0;
    for (struct connection *c = http->last, *before; c != NULL && n_closed < n; c = before) {
        before = c->prev;
        bool may_go = is_idle(c->state) && api_http_connection_n_unsent(c) == 0;
        if (!may_go || c->peer != peer || (c->state == HEAD && has_news(c)))
            continue;
        api_http_connection_close(c);
        n_closed++;
    }
    return n_closed;
}
