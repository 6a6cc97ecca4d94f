/* The HTTP side: OpenAI endpoints, model lifecycle, health and metrics over one listener.
 *
 * Strings end here: below are token ids. The api submits to a service (the gateway), always, and
 * asks the house through a control. One I/O thread runs api_run; long prompts are rendered and
 * tokenized, and large answers written, on worker threads. Nothing outside http.c, its output and
 * its watches sees libevent. */
#pragma once
#include "core/control.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "base/status.h"

struct api;
struct api_net;
struct mem_account;
struct str;
struct tokenizer;
struct chat_template;

struct api_model {              /* one service as clients see it */
    const char *name;           /* public id; may contain '/' */
    const char *const *aliases; /* n_aliases other names */
    int n_aliases;
    uint16_t service;
    int32_t n_context_max, n_vocabulary;
    const struct tokenizer *tokenizer;
    const struct chat_template *chat_template; /* NULL: chat is refused for it */
    const char *chat_fault; /* why its template cannot be used; NULL: it has none, or it can */
    int32_t bos_id, eos_id;
    int32_t n_eog;
    const int32_t *eog_ids; /* ids that end a generation */
    struct service_slo slo;
    int32_t priority;
    int64_t created_unix_s;
    const char *path, *format; /* for GET /models */
    struct set engines;        /* that may serve it; none: all */
    const char *kv_type;       /* of its cached keys and values; NULL: not told */
};
struct api_add {             /* a model that an operator adds */
    const char *path, *name; /* name NULL: the file's */
    int64_t n_context;       /* 0: the model's own */
};
struct api_adding { /* how operators add models by their path, and take them away; add NULL: not */
    void *self;
    /* Begins to add one: api_lifecycle_added is called once, later, unless this is a fault. */
    enum status (*add)(void *self, const struct api_add *add, struct fault *fault);
    /* Takes one away that was added so, at once as clients see it. */
    enum status (*remove)(void *self, uint16_t service, struct fault *fault);
};
struct api_options {
    const char *version; /* of the program */
    const char *listen;  /* "127.0.0.1:7411", "[::1]:7411"; port 0 takes a free one */
    const char *api_key,
        *admin_key; /* NULL = none asked; admin routes need the admin key when either is set */
    const char *const *tenants; /* "NAME=KEY": API keys of tenants, who share no KV block */
    int n_tenants;
    const char *cors_origin;        /* NULL = CORS off */
    const char *tls_cert, *tls_key; /* NULL = plain HTTP */
    bool is_strict;                 /* unknown fields are errors */
    int32_t n_requests_max;         /* bounded queue: more are answered 429 */
    int32_t n_connections_max;
    struct mem_account *account; /* of all memory for clients, with http_memory as its limit; NULL:
                                    it is not bounded. It outlives the api and the service */
    const struct api_net *proxies; /* trusted proxies: their X-Forwarded-For names the client */
    int n_proxies;
    int64_t body_bytes_max, body_ns_max; /* a body's size, and how long it may take to arrive */
    int64_t drain_ns_max;                /* SIGTERM: how long admitted streams may take */
    int64_t stall_ns;    /* an engine with work and no step for so long is unwell; 0 = 30 s */
    int64_t hold_ns_max; /* how long a request may wait for its model to load */
    uint64_t door;       /* high bits of request ids */
    int n_models;        /* at first */
    const struct api_model *const *models; /* (n_models) */
    struct event_base *base; /* the loop that it runs on, the caller's; NULL: one of its own */
    const char *const *devices;            /* per engine: "cpu:0-1"; NULL = not told */
    struct service service;                /* the gateway */
    struct control control;
    /* Called on the I/O thread whenever the gateway may have work and at its wishes: returns the
     * next wake. */
    int64_t (*tick)(void *self, int64_t now_ns);
    void *tick_self;
    /* Appends Prometheus text of everything below the API. */
    void (*metrics)(void *self, struct str *out);
    void *metrics_self;
    struct api_adding adding;
    void (*reload)(void *self); /* SIGHUP */
    void *reload_self;
};
enum status api_open(struct api **out, const struct api_options *options,
                     struct fault *fault) MUST_USE;
int api_port(const struct api *api);
/* Runs until drained after SIGTERM/SIGINT (a second signal ends the drain, which whoever waits is
 * told; a third stops at once). Returns 0, or 1 after an engine failed. */
int api_run(struct api *api);
struct api_keys { /* as in the options; the two keys must outlive the api or the next reload */
    const char *api_key, *admin_key;
    const char *const *tenants;
    int n_tenants;
    const char *tls_cert, *tls_key;
};
/* Other keys from now on, and for new connections the certificate that its files hold now. A fault
 * changes nothing. Whether TLS is spoken at all does not change. */
enum status api_reload(struct api *api, const struct api_keys *keys, struct fault *fault) MUST_USE;
/* Other models from now on, at most LIMIT_MODELS; what is under way goes on with those that it has.
 * A model that is gone has to stay as long as api_uses_model says. */
void api_set_models(struct api *api, const struct api_model *const *models, int n);
/* What the operator asked to add is there, or why it is not. */
void api_lifecycle_added(struct api *api, enum status status, const struct fault *fault,
                         uint16_t service);
bool api_uses_model(const struct api *api, const struct api_model *model);
void api_close(struct api *api);
