/* The state of the HTTP server, private to its files. These are http.c (open and close, accepting),
 * http_connection.c (states and deadlines of a connection), http_read.c (requests) and http_reply.c
 * (answers).
 *
 *   HEAD --(whole)--> BODY --(whole)--> ANSWER --(begin)--> STREAM
 *    ^                                    | reply             | end
 *    +------------(keep alive)------------+-------------------+--> FLUSH --(sent)--> LINGER
 *
 * LINGER reads on for a moment after our FIN, since a close with unread bytes would reset the
 * connection and lose the last bytes sent. One sweep a second checks all deadlines. */
#pragma once
#include "api/http_exchange.h"
#include "api/http_watches.h"
#include "base/time.h"

struct bufferevent;
struct evbuffer;
struct evbuffer_cb_info;
struct evconnlistener;
struct event;
struct ssl_ctx_st;

enum { HTTP_SPARE_CONNECTIONS = 256 }; /* beyond the bound, for vital requests and refusals */
static const int64_t HTTP_IDLE_NS_MAX = 120 * TIME_NS_PER_S;
static const int64_t HTTP_HEAD_NS_MAX = 20 * TIME_NS_PER_S; /* from its first byte to its last */

enum http_state { HEAD, BODY, ANSWER, STREAM, FLUSH, LINGER };

struct connection {
    struct api_http *http;
    struct bufferevent *events;
    struct connection *next, *prev; /* of all; the least recently used one is last */
    struct api_party *peer;         /* by its address */
    enum http_state state;
    bool is_tls, is_parsing, is_lost, has_ended; /* has_ended: the client sent its FIN */
    bool is_spare;
    int64_t deadline_ns;
    int64_t answered_ns, n_sent; /* of the last answer: its time, and bytes sent since */
    int64_t lags_until_ns; /* until when a stream's reader may lag; TIME_NEVER: it does not lag */
    size_t looked;         /* bytes searched for the end of the head */
    struct str head_text, headers;
    struct api_http_chunks chunks;
    struct event
        *left; /* reports a client that leaves while reading is paused; NULL: not needed yet */
    struct api_http_exchange x;
};

struct api_http {
    struct api_http_options options;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *sweep;
    struct api_parties *parties;
    struct connection *first, *last;
    int32_t n_connections, n_idle; /* n_idle: without a request under way */
    int port;
    bool is_local, is_draining;
    int64_t unsent_bytes;
    struct str chunk; /* while it is sent */
    int64_t date_s;   /* Unix time of the date */
    char date[40];
    struct api_http_watches watches;
};

/* --- http_connection.c --- */

/* Adds a connection that was just accepted. When there is no memory it closes the connection and
 * returns false. */
bool api_http_connection_open(struct api_http *http, int fd, struct api_party *peer);
void api_http_connection_close(struct connection *c);
/* Closes the connection later, from the event loop, so that the caller can still use it. */
void api_http_connection_lose(struct connection *c);
/* Returns whether the client has left while reading waits for an answer. */
bool api_http_connection_is_left(const struct connection *c);
void api_http_connection_enter(struct connection *c, enum http_state state);
size_t api_http_connection_n_unsent(const struct connection *c);
/* Puts bytes behind those to be sent. The connection is lost when there is no memory. */
void api_http_connection_add(struct connection *c, struct view bytes);
/* Called when the reply is whole: goes on with the next request, or closes. */
void api_http_connection_finish(struct connection *c);
/* Answers with an error page and closes. */
void api_http_connection_refuse(struct connection *c, int status, const char *why);
/* Closes up to n connections of this address that have no request under way, longest idle first.
 * Returns how many. */
int api_http_connection_evict(struct api_http *http, const struct api_party *peer, int n);

/* --- http_read.c --- */

/* Handles the bytes that have arrived, as far as possible. */
void api_http_read(struct connection *c);
