/* A request: two records under one id.
 *
 * Schedulers, KV and engine only ever read struct request: 128 bytes, no pointer. Routers see a
 * part of it (struct route_request). Only the edges (api, run) read struct request_body. It is one
 * flat record of variable length (prompt, sampling, stops), and it travels as bytes.
 *
 * Prefill and decode are not phases of a request: n_computed chases n_tokens (vLLM's catch-up).
 *
 *   WAITING --(first batch)--> RUNNING --(commit finds an end)--> ENDED
 *      ^-------(preempted)--------|
 *
 * From WAITING and RUNNING a request may also be RETURNED, which sends it back to the gateway. */
#pragma once
#include "core/limits.h"

enum request_state {
    REQUEST_FREE,
    REQUEST_WAITING,
    REQUEST_RUNNING,
    REQUEST_ENDED,
    REQUEST_ARRIVING, /* its KV is on the way: engine/handover.h, engine/disk.h */
    REQUEST_LEAVING,  /* it is over here, and its KV is copied out for another engine or the disk */
};
enum request_kind {
    REQUEST_GENERATE,
    REQUEST_EMBED, /* its answer is the vector of its prompt, and nothing is drawn */
    REQUEST_SCORE, /* nothing is drawn */
};
enum request_flag {
    REQUEST_IGNORE_EOS = 1,
    REQUEST_WANTS_LOGPROBS = 2,
    REQUEST_NO_PREFIX_HIT = 4, /* wants logits of its prompt, so every position must be computed */
    REQUEST_CANCELLED = 8,     /* cancelled while in flight: commit ends it */
    REQUEST_GUIDED = 16,       /* its body has a grammar: a draw needs the tokens before it */
    REQUEST_WANTS_SCORES = 32, /* of its prompt's tokens; comes with NO_PREFIX_HIT */
};

/* A step of a running request reads and writes only its first cache line. */
struct request {
    uint64_t id;          /* unique over the cluster: gateway << 48 | counter, see api.c */
    int32_t n_prompt;     /* tokens of the prompt */
    int32_t n_tokens;     /* known tokens: prompt and generated */
    int32_t n_computed;   /* tokens whose KV the device holds; < n_tokens until the request ends */
    int32_t n_tokens_max; /* it ends when n_tokens reaches this */
    int32_t n_predicted;  /* predicted generated tokens, 0 = unknown */
    int32_t n_lease;      /* tokens until it returns to the gateway; 0 = never */
    int32_t n_host;       /* computed tokens whose KV lies in host memory; at submission: those that
                             the ticket names */
    int32_t n_cached;     /* prompt tokens that a prefix hit gave (for usage) */
    int64_t served_ns;    /* last batch that it was part of, anywhere; arrived_ns before any */
    uint32_t batch;       /* batch in flight; its blocks may move only when it is 0, none */
    uint32_t flags;
    uint16_t service;
    int16_t priority; /* lower runs first (vLLM's polarity); 0 is usual */
    uint8_t state, kind;
    uint16_t n_cohort;

    int64_t arrived_ns;   /* when the gateway accepted it */
    int64_t deadline_ns;  /* TIME_NEVER when none */
    int64_t first_ns;     /* first token, 0 before */
    uint32_t body;        /* the engine's handle of the body; 0 in the simulator */
    uint32_t next_unsaid; /* slots: the engine's next request that has news */
    uint64_t tenant; /* hash of the tenant's name, the same at each gateway; 0: no tenant. It and
                   variant (adapter) salt the prefix hash */
    uint32_t cohort; /* a batch composed by the router, 0 = free */
    uint32_t epoch;  /* how often it was submitted, so that late events of an earlier submission are
                   recognised */
    uint16_t variant;
    uint16_t n_preempted; /* at most UINT16_MAX is counted */
    uint32_t queue_us;    /* from arrival to its first batch; 0 before */
    union {
        struct {
            uint32_t next, prev; /* slots: the engine's order of arrival inside a service */
        };
        uint64_t ticket; /* at submission: of its KV elsewhere (service_event); 0 = none */
    };
};
_Static_assert(offsetof(struct request, arrived_ns) == 64, "what a step needs is one line");
_Static_assert(sizeof(struct request) == 128, "a request is 128 bytes");

struct sampling {
    float temperature;                         /* 0 = greedy */
    float top_p;                               /* 1 = off */
    float min_p;                               /* 0 = off */
    float frequency_penalty, presence_penalty; /* 0 = off */
    float repetition_penalty;                  /* 1 = off */
    int32_t top_k;                             /* 0 = off */
    int32_t n_tokens_min;   /* generated tokens before an end token may be drawn */
    int32_t n_top_logprobs; /* -1: no logprobs; 0..LIMIT_TOP_LOGPROBS */
    int32_t n_top_scores;   /* beside each score of the prompt: 0..LIMIT_TOP_LOGPROBS */
};
struct logit_bias {
    int32_t id;
    float bias;
};
/* The record is flat: the struct, int32_t tokens[n_tokens], int32_t stop_ids[n_stop_ids], struct
 * logit_bias biases[n_biases], the text of a grammar (filled up with zeros to a multiple of 4). */
struct request_body {
    uint32_t n_bytes; /* of the whole record */
    uint32_t n_tokens, n_stop_ids,
        n_biases;  /* n_tokens: prompt, and what earlier submissions generated */
    uint64_t seed; /* drawn by the API when the client gave none; the draw at position p is
                      rng_at(seed, 0, p) */
    struct sampling sampling;
    /* The grammar of its answer (grammar/grammar.h): kind 0 is none, n_grammar is the text's
     * bytes. */
    uint32_t grammar_kind, n_grammar;
    uint32_t n_first; /* EMBED of a pair of texts: tokens of the first one; 0: a single text */
    uint32_t unused;
};
static inline size_t request_body_bytes(uint32_t n_tokens, uint32_t n_stop_ids, uint32_t n_biases)
{
    return sizeof(struct request_body) + 4 * (size_t)n_tokens + 4 * (size_t)n_stop_ids +
           sizeof(struct logit_bias) * n_biases;
}
/* Returns the bytes of the record that this head belongs to. */
static inline size_t request_body_whole_bytes(const struct request_body *body)
{
    return request_body_bytes(body->n_tokens, body->n_stop_ids, body->n_biases) +
           (((size_t)body->n_grammar + 3) & ~(size_t)3);
}
static inline int32_t *request_body_tokens(const struct request_body *body)
{
    return (int32_t *)(uintptr_t)(body + 1);
}
static inline int32_t *request_body_stop_ids(const struct request_body *body)
{
    return request_body_tokens(body) + body->n_tokens;
}
static inline struct logit_bias *request_body_biases(const struct request_body *body)
{
    return (struct logit_bias *)(void *)(request_body_stop_ids(body) + body->n_stop_ids);
}
static inline char *request_body_grammar(const struct request_body *body)
{
    return (char *)(void *)(request_body_biases(body) + body->n_biases);
}
/* Returns how many prompt tokens of a submission are scored, the first included, which has no
 * score; 0: none. The scores have all been sent when the first token of the answer is. */
static inline int32_t request_n_scored(const struct request *request)
{
    bool is_scored =
        (request->flags & REQUEST_WANTS_SCORES) != 0 && request->n_tokens == request->n_prompt;
    return is_scored ? request->n_prompt : 0;
}
/* Returns whether the token is one of its stop ids. */
bool request_body_stops(const struct request_body *body, int32_t token);
/* Returns whether this record of n_bytes is consistent, within limits and with tokens inside the
 * vocabulary. Records that came over a wire need this check. */
bool request_body_is_valid(const struct request_body *body, size_t n_bytes, int32_t n_vocabulary);
