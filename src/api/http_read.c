/* Reads requests: heads and bodies of either framing, within the bounds on memory. */
#include "api/http_state.h"
#include "api/http.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <string.h>

static const char no_memory[] = "there is no memory for the request now, try again later";

static void hand_over(struct connection *c)
{
    api_http_connection_enter(c, ANSWER);
    c->deadline_ns = c->lags_until_ns = TIME_NEVER;
    c->http->options.on_request(c->http->options.self, &c->x);
}

static void refuse_length(struct connection *c)
{
    char why[96];
    snprintf(why, sizeof(why), "the body is larger than the %lld bytes that this server takes",
             (long long)c->http->options.body_bytes_max);
    api_http_connection_refuse(c, 413, why);
}

/* Returns whether the body may take n more bytes; refuses the request otherwise. Small bodies may
 * take all that is free, large ones their party's share. */
static bool is_in_share(struct connection *c, int64_t n)
{
    if ((int64_t)c->x.body.n + n <= API_PARTY_SMALL_BYTES ||
        api_parties_room(c->http->parties, c->x.party) >= n)
        return true;
    api_http_connection_refuse(c, 503,
                               "the large bodies of this client or tenant hold their share of the "
                               "memory (http_memory), try again when they are done");
    return false;
}

/* Makes room for n more bytes that have arrived. When there is none it refuses the request and
 * returns false. */
static bool make_room(struct connection *c, size_t n)
{
    struct str *body = &c->x.body;
    size_t n_most = (size_t)c->http->options.body_bytes_max + n;
    if (!c->x.head.is_chunked)
        n_most = (size_t)c->x.head.n_body;
    if (body->n + n < body->capacity)
        return true;
    size_t wanted = 2 * body->capacity < n_most ? 2 * body->capacity : n_most;
    wanted = wanted > body->n + n ? wanted : body->n + n;
    if (!is_in_share(c, (int64_t)(wanted - body->n)))
        return false;
    struct mem_account *before = mem_account_use(&c->x.party->account);
    bool has_room = str_try_reserve(body, wanted - body->n);
    (void)mem_account_use(before);
    if (!has_room)
        api_http_connection_refuse(c, 503, no_memory);
    return has_room;
}

/* Lets a large body in only if its request would be accepted: without a key there are no
 * megabytes. */
static bool is_welcome(struct connection *c)
{
    bool keeps_alive = c->x.head.keeps_alive;
    if (!c->x.head.is_chunked && c->x.head.n_body <= API_PARTY_SMALL_BYTES)
        return true;
    api_http_connection_enter(c, ANSWER);
    c->x.head.keeps_alive = false; /* the body is not read */
    if (!c->http->options.on_head(c->http->options.self, &c->x))
        return false;
    c->x.head.keeps_alive = keeps_alive;
    return true;
}

/* Returns whether one more connection may have a request. Addresses share these places. */
static bool has_place(const struct connection *c)
{
    const struct api_http *http = c->http;
    int32_t n_own = c->peer->n_connections - c->peer->n_idle,
            n_max = http->options.n_connections_max;
    int32_t n_busy = http->n_connections - http->n_idle;
    return c->peer->is_proxy ? n_busy < n_max : fair_room(n_own, n_busy, n_max) > 0;
}

/* Returns whether the request is admitted. When connections or memory are short, only vital
 * requests are; others are refused. */
static bool is_admitted(struct connection *c)
{
    const struct api_http_options *options = &c->http->options;
    bool is_short = !mem_reserve_fill() || api_parties_is_full(c->http->parties);
    c->is_spare = c->is_spare && c->http->n_connections > options->n_connections_max;
    bool has_connection = !c->is_spare && has_place(c);
    if (has_connection && !is_short)
        return true;
    if (!has_connection)
        c->x.head.keeps_alive = false;
    if (options->is_vital != NULL && options->is_vital(options->self, &c->x.head))
        return true;
    api_http_connection_refuse(
        c, 503, has_connection ? no_memory : "too many connections, try again later");
    return false;
}

/* Called when the head is whole and valid. Begins the body, or answers already. */
static void begin_body(struct connection *c)
{
    const struct api_http_head *head = &c->x.head;
    struct api_http *http = c->http;
    c->x.arrived_ns = time_now_ns();
    struct api_party *party =
        http->options.party_of != NULL ? http->options.party_of(http->options.self, &c->x) : NULL;
    c->x.party = party != NULL ? party : c->peer;
    if (!is_admitted(c))
        return;
    if (!head->is_chunked && head->n_body > http->options.body_bytes_max) {
        refuse_length(c);
        return;
    }
    if (!head->is_chunked && head->n_body == 0) {
        hand_over(c);
        return;
    }
    if (!is_welcome(c) || (!head->is_chunked && !is_in_share(c, head->n_body)))
        return;
    if (head->expects_continue)
        api_http_connection_add(c, view_text("HTTP/1.1 100 Continue\r\n\r\n"));
    c->chunks = (struct api_http_chunks){ 0 };
    api_http_connection_enter(c, BODY);
    c->deadline_ns = c->x.arrived_ns + http->options.body_ns_max;
}

/* Copies the head and parses it. */
static void take_head(struct connection *c, struct view head)
{
    const char *why = "";
    str_clear(&c->head_text);
    struct mem_account *before = mem_account_use(&c->peer->account);
    bool has_room = str_try_reserve(&c->head_text, head.n);
    (void)mem_account_use(before);
    if (!has_room) {
        api_http_connection_refuse(c, 503, no_memory);
        return;
    }
    str_add(&c->head_text, head.at, head.n);
    int status = api_http_parse_head(view_of(c->head_text.at, head.n), &c->x.head, &why);
    if (status != 0)
        api_http_connection_refuse(c, status, why);
    else
        begin_body(c);
}

/* Returns true when the state has changed. */
static bool read_head(struct connection *c, struct evbuffer *in)
{
    size_t n = evbuffer_get_length(in);
    if (n > HTTP_HEAD_BYTES_MAX)
        n = HTTP_HEAD_BYTES_MAX;
    if (n == 0)
        return false;
    if (api_http_connection_n_unsent(c) > HTTP_LAG_BYTES_MAX)
        return false; /* it is read again when that is sent */
    const char *bytes = (const char *)evbuffer_pullup(in, (ev_ssize_t)n);
    if (bytes == NULL) {
        api_http_connection_lose(c);
        return false;
    }
    if (c->looked == 0 && n == 1 && bytes[0] == '\r')
        return false;
    if (c->looked == 0 && n >= 2 && memcmp(bytes, "\r\n", 2) == 0) {
        evbuffer_drain(in, 2); /* clients often send an empty line before a request */
        return true;
    }
    if (c->looked == 0)
        c->deadline_ns = time_now_ns() + HTTP_HEAD_NS_MAX;
    size_t extent = api_http_parse_extent(view_of(bytes, n), &c->looked);
    if (c->looked == 0)
        c->looked = 1;
    if (extent == 0) {
        if (n == HTTP_HEAD_BYTES_MAX)
            api_http_connection_refuse(c, 431, "the head is too long");
        return n == HTTP_HEAD_BYTES_MAX;
    }
    take_head(c, view_of(bytes, extent));
    evbuffer_drain(in, extent);
    return true;
}

static bool read_chunked(struct connection *c, struct evbuffer *in)
{
    for (size_t n; (n = evbuffer_get_contiguous_space(in)) > 0;) {
        size_t n_taken = 0;
        if (!make_room(c, n))
            return true;
        struct view bytes = view_of((const char *)evbuffer_pullup(in, (ev_ssize_t)n), n);
        enum api_http_chunks_said said =
            api_http_parse_chunks(&c->chunks, bytes, &c->x.body, &n_taken);
        evbuffer_drain(in, n_taken);
        if (said == HTTP_CHUNKS_BAD)
            api_http_connection_refuse(c, 400, "the chunked body is malformed");
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
    if (c->x.head.is_chunked)
        return read_chunked(c, in);
    size_t missing = (size_t)c->x.head.n_body - c->x.body.n;
    for (size_t n; missing > 0 && (n = evbuffer_get_contiguous_space(in)) > 0;) {
        n = n < missing ? n : missing;
        if (!make_room(c, n))
            return true;
        str_add(&c->x.body, (const char *)evbuffer_pullup(in, (ev_ssize_t)n), n);
        evbuffer_drain(in, n);
        missing -= n;
    }
    if (missing == 0)
        hand_over(c);
    return missing == 0;
}

void api_http_read(struct connection *c)
{
    struct evbuffer *in = bufferevent_get_input(c->events);
    bool is_moving = !c->is_lost;
    c->is_parsing = true;
    while (is_moving && !c->is_lost && (c->state == HEAD || c->state == BODY))
        is_moving = c->state == HEAD ? read_head(c, in) : read_body(c, in);
    c->is_parsing = false;
}
