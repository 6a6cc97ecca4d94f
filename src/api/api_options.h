/* The settings of the HTTP side: its models as clients see them, its limits, and the callbacks to
 * what serves the requests. */
#pragma once
#include "calls/format.h"
#include "core/control.h"
#include "core/service.h"
#include "core/service_spec.h"
#include "base/status.h"

struct api_net;
struct event_base;
struct grammar_cache;
struct json_out;
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
    int32_t n_vector;    /* floats of a text's embedding */
    int32_t n_labels;    /* 1: a cross-encoder, which scores pairs of texts; else 0 */
    bool is_encoder;     /* it makes embeddings or scores alone */
    bool is_normalized;  /* embeddings have the length 1 */
    const char *pooling; /* "mean", ... */
    const struct tokenizer *tokenizer;
    const struct chat_template *chat_template; /* NULL: chat is refused for it */
    const char *chat_fault;   /* why its template is unusable; NULL: it has none, or it is usable */
    struct calls_style style; /* of reasoning and calls; without a format, answers are plain text */
    int32_t bos_id, eos_id;
    int32_t n_eog;
    const int32_t *eog_ids; /* ids that end a generation */
    struct service_slo slo;
    int32_t priority;
    int64_t created_unix_s;
    const char *path, *format; /* for GET /models */
    struct set engines;        /* engines that may serve it; empty: all */
    const char *kv_type;       /* type of its cached keys and values; NULL: unknown */
};
struct api_add {             /* a model that an operator adds */
    const char *path, *name; /* name NULL: the file's */
    int64_t n_context;       /* 0: the model's own */
};
struct api_adding { /* How operators add models by path, and remove them. When add is NULL they
                       cannot. */
    void *self;
    /* Begins to add a model. On STATUS_OK api_lifecycle_added is called once, later; a fault means
     * that it is not. */
    enum status (*add)(void *self, const struct api_add *add, struct fault *fault);
    /* Removes a model that was added in this way; clients stop seeing it at once. */
    enum status (*remove)(void *self, uint16_t service, struct fault *fault);
};
enum { API_PIN_BYTES = 256 };
struct api_wishes { /* How operators pause models and pin them to an engine. When pause is NULL they
                       cannot. */
    void *self;
    bool (*is_paused)(void *self, uint16_t service);
    /* Writes where the model is pinned: "engine 1", or a node. Returns false if it is not. */
    bool (*pinned)(void *self, uint16_t service, char out[API_PIN_BYTES]);
    enum status (*pause)(void *self, uint16_t service, bool is_paused, struct fault *fault);
    /* engine -1: ends the pin. */
    enum status (*pin)(void *self, uint16_t service, int engine, struct fault *fault);
};
struct api_options {
    const char *version; /* of the program */
    const char *listen;  /* "127.0.0.1:7411", "[::1]:7411"; port 0 takes a free one */
    const char *api_key,
        *admin_key; /* NULL: none is needed; admin routes need the admin key when either is set */
    const char *const *tenants; /* "NAME=KEY": API keys of tenants, which share no KV blocks */
    int n_tenants;
    const char *usage_path;    /* a file for usage (usage/usage.h); NULL: it is not kept */
    int32_t n_usage_days;      /* usage is kept this long */
    const char *const *quotas; /* usage/quotas.h */
    int n_quotas;
    int32_t n_quota_gateways;       /* gateways between which quotas are divided; 0 = 1 */
    const char *cors_origin;        /* NULL = CORS off */
    const char *tls_cert, *tls_key; /* NULL = plain HTTP */
    bool is_strict;                 /* unknown fields are errors */
    bool jumps_forward;             /* grammar_thought.jumps of structured output */
    int32_t n_requests_max;         /* bounded queue: more are answered 429 */
    int32_t n_connections_max;
    /* The account of all memory for clients, with http_memory as its limit. NULL: that memory is
     * not bounded. The account outlives the api and the service. */
    struct mem_account *account;
    const char *responses; /* file of the answers of /v1/responses; NULL: they are in memory */
    int64_t responses_bytes_max;        /* of them; 0: none is kept */
    const char *const *responses_peers; /* api/responses_peers.h */
    int n_responses_peers;
    struct grammar_cache *grammars; /* NULL: structured output is refused */
    const struct api_net *proxies;  /* trusted proxies: their X-Forwarded-For names the client */
    int n_proxies;
    int64_t body_bytes_max, body_ns_max; /* a body's size, and how long it may take to arrive */
    int64_t drain_ns_max; /* after SIGTERM: the longest time that admitted streams may take */
    int64_t stall_ns; /* an engine that has work but takes no step for this long counts as stuck; 0
                         = 30 s */
    int64_t hold_ns_max; /* the longest time that a request may wait for its model to load */
    uint64_t door;       /* high bits of request ids */
    int n_models;        /* models at the start */
    const struct api_model *const *models; /* (n_models) */
    struct event_base *base;    /* the loop that it runs on, the caller's; NULL: one of its own */
    const char *const *devices; /* per engine: "cpu:0-1"; NULL: unknown */
    struct service service;     /* the gateway */
    struct control control;
    /* Runs the gateway's work. It is called on the I/O thread whenever there may be such work, and
     * at the times that it asked for. Returns the next of these times. */
    int64_t (*tick)(void *self, int64_t now_ns);
    void *tick_self;
    /* Called with tick_self after a drain, until it returns that what others have here is gone.
     * NULL: others have nothing here. */
    bool (*leave)(void *self, int64_t now_ns);
    /* Appends Prometheus text of everything below the API. */
    void (*metrics)(void *self, struct str *out);
    void *metrics_self;
    /* Adds keys to an engine's object of GET /models: what its device is. NULL: nothing more. */
    void (*describe_engine)(void *self, int engine, struct json_out *json);
    void *describe_self;
    struct api_adding adding;
    struct api_wishes wishes;
    void (*reload)(void *self); /* called on SIGHUP */
    void *reload_self;
};
