/* An exchange of the HTTP server (one request and its answer), and the server's settings. */
#pragma once
#include "api/parties.h"

enum {
    HTTP_LAG_BYTES_MAX = 1 << 20,       /* unsent bytes that a stream's reader may lag by */
    HTTP_PIPELINE_BYTES_MAX = 64 << 10, /* read ahead of an answer; the rest is not read yet */
};

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
    struct event_base *base; /* the caller's; NULL: one of its own */
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
