/* An HTTP/1.1 server on one thread: exchanges in, replies and event streams out. Only the files
 * called http_* use libevent; this header shows nothing of it.
 *
 * A handler gets an exchange when its request is whole (head and body). It answers at once or
 * later: reply, or begin, chunk*, end. A client may leave first (FIN, reset, or a reader that lags
 * by more than HTTP_LAG_BYTES_MAX). Then the event loop calls on_gone once and the exchange is
 * over. All functions are for the thread of api_http_run, except wakes through a watched fd.
 *
 * Connections are bounded. When all are taken, a new one replaces one that has no request under
 * way: the longest idle one of the address that has the most of these. Connections with a request
 * are shared between addresses by base/fair.h. When there is no place, requests that is_vital
 * accepts are still answered, on spare connections. */
#pragma once
#include "api/parties.h"
#include "base/status.h"

enum {
    HTTP_LAG_BYTES_MAX = 1 << 20,       /* unsent bytes that a stream's reader may lag by */
    HTTP_PIPELINE_BYTES_MAX = 64 << 10, /* read ahead of an answer; the rest is not read yet */
};

struct api_http;
struct ssl_ctx_st;
struct api_http_exchange {
    struct api_http_head head; /* its views live as long as the exchange */
    struct str body;           /* api_http_take_body takes it over */
    int64_t arrived_ns;        /* when the head was whole */
    struct api_party *party;   /* the party that it is charged to: that of party_of, else the
                                  connection's address */
    uint16_t tenant;           /* as party_of set it; 0: none */
    void *user;                /* the handler's */
    void (*on_gone)(struct api_http_exchange *x);
    bool has_begun;                /* the head of the reply is out */
    struct connection *connection; /* private */
};

struct api_http_options {
    const char *listen;
    /* For new connections. Another one may take its place at any time. NULL, or a pointer to NULL,
     * means plain HTTP. */
    struct ssl_ctx_st *const *tls;
    int32_t n_connections_max;
    int64_t body_bytes_max, body_ns_max; /* a body's size, and how long it may take to arrive */
    int64_t unsent_bytes_max; /* of answers that wait for their readers; above it no large answer is
                                 begun */
    int64_t unsent_ns_max; /* an answer is given up when its reader takes nothing for this long */
    struct mem_account *account;   /* of all memory for clients; NULL: it is not bounded */
    const struct api_net *proxies; /* their connections are not shared between addresses */
    int n_proxies;
    void *self;
    /* Returns the party of a request with a whole head, with one more user. NULL stands for the
     * connection's address. The callback may be NULL. */
    struct api_party *(*party_of)(void *self, struct api_http_exchange *x);
    /* Is this request answered even when connections or memory are short? NULL: no request is. */
    bool (*is_vital)(void *self, const struct api_http_head *head);
    /* Called when the head is whole and announces a large body. Returns true to accept the body;
     * otherwise it must reply. */
    bool (*on_head)(void *self, struct api_http_exchange *x);
    void (*on_request)(void *self, struct api_http_exchange *x);
    /* Called for a request that was refused below the handlers. It must reply. */
    void (*on_bad)(void *self, struct api_http_exchange *x, int status, const char *why);
    void (*on_wake)(void *self); /* called when the time of api_http_wake_at has come */
};
enum status api_http_open(struct api_http **out, const struct api_http_options *options,
                          struct fault *fault) MUST_USE;
void api_http_close(struct api_http *http); /* drops all connections; on_gone is called for each */
int api_http_port(const struct api_http *http);
bool api_http_is_local(const struct api_http *http); /* true: only this machine can reach it */
void api_http_run(struct api_http *http);            /* until api_http_stop */
void api_http_stop(struct api_http *http);
/* Makes every further reply close its connection. */
void api_http_drain(struct api_http *http);
int32_t api_http_n_connections(const struct api_http *http);
/* Calls f(arg) whenever fd is readable; f must clear it. At most 8 watches. */
void api_http_watch(struct api_http *http, int fd, void (*f)(void *arg), void *arg);
/* Calls f(arg) whenever the signal arrives. After api_http_close the signal is ignored. */
void api_http_watch_signal(struct api_http *http, int number, void (*f)(void *arg), void *arg);
void api_http_wake_at(struct api_http *http, int64_t at_ns); /* replaces an earlier time */

struct api_parties *api_http_parties(const struct api_http *http);

/* Moves the body out of the exchange, so that it can be read even after the client has left. */
void api_http_take_body(struct api_http_exchange *x, struct str *body);
/* Returns the bytes of answers and streams that wait for their readers. */
int64_t api_http_unsent_bytes(const struct api_http *http);

void api_http_header(struct api_http_exchange *x, const char *name, const char *value);
/* Replies. When the body is large and too many bytes already wait for readers, on_bad replies
 * instead. */
void api_http_reply(struct api_http_exchange *x, int status, const char *type, struct view body);
/* Like api_http_reply, but takes the body over instead of copying it. */
void api_http_reply_text(struct api_http_exchange *x, int status, const char *type,
                         struct str *body);
void api_http_begin(struct api_http_exchange *x, int status, const char *type);
void api_http_chunk(struct api_http_exchange *x, struct view bytes); /* not empty */
void api_http_end(struct api_http_exchange *x);
