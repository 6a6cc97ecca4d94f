/* The interface to generation: submit, cancel, and events that come back. Gateway, node and engine
 * all implement it.
 *
 * submit copies both records, so that the caller keeps its own and can submit the request again
 * elsewhere. Events carry an absolute position and the epoch of the submission, so a repeated or
 * late event is harmless. One event, RETURNED, serves slices, drain, unload, migration, refusal and
 * crash. The request goes back to the gateway, which keeps prompt and tokens and submits it again.
 * The gateway itself returns nothing: its caller gets tokens and the end. */
#pragma once
#include "core/pads.h"
#include "core/request.h"

enum service_what {
    SERVICE_TOKENS,
    SERVICE_RETURNED,
    SERVICE_ENDED,
    SERVICE_SCORES,
    SERVICE_VECTOR
};
enum service_why {
    SERVICE_WHY_NONE,
    /* of ENDED */
    SERVICE_STOPPED, /* an end token was drawn (it is the last of the tokens) */
    SERVICE_LENGTH,  /* n_tokens_max reached */
    SERVICE_CANCELLED,
    SERVICE_DEADLINE,    /* its deadline passed before it ended */
    SERVICE_FAILED,      /* our side can't serve it; the payload is one sentence (text) */
    SERVICE_TOO_LARGE,   /* it or its model can never fit here; the payload gives the arithmetic */
    SERVICE_NOT_READY,   /* its model was not loaded within the bound: try again later */
    SERVICE_LOAD_FAILED, /* its model could not be loaded; the load is retried after a while */
    /* of RETURNED */
    SERVICE_LEASE_OVER,
    SERVICE_FULL,     /* no room at this engine now */
    SERVICE_NO_SPACE, /* other models' weights have the space that it needs at this engine */
    SERVICE_DRAINING,
    SERVICE_CRASHED,
    SERVICE_WHY_N,
};
const char *service_why_name(enum service_why why);
enum { SERVICE_LOAD_AGAIN_S = 10 }; /* after LOAD_FAILED: seconds before the next try */

struct service_event {
    uint64_t id;
    uint32_t epoch;
    uint8_t what, why;
    uint16_t engine;
    int32_t position; /* of the first token in the payload: index in prompt + generated */
    int32_t n_tokens;
    int32_t n_cached; /* prompt tokens that were a prefix hit */
    int32_t n_preempted;
    struct pads_lost lost; /* since it was submitted */
    /* Counts while it ran, since it was submitted. Batches of its service and their rows are 0 on
     * an engine of several lanes, or on one that reports little. The others count how often its
     * blocks were swapped to the host pool, and how often its static batch came back early. */
    int32_t n_batches, n_batch_rows, n_swapped, n_early;
    uint32_t queue_us; /* from arrival to its first batch */
    int32_t n_bytes;   /* of the payload that follows */
    int64_t device_ns; /* its share of the time of its batches, by rows, since it was submitted */
    int64_t served_ns; /* the request's, so that it keeps its age elsewhere; 0: unknown */
    /* RETURNED: the engine keeps the KV of the first n_kept positions for the next submission,
     * which names this ticket. 0: it keeps none. */
    uint64_t ticket;
    int32_t n_kept, unused;
};
/* The payload of TOKENS is int32_t ids[n_tokens], followed by one struct token_logprobs per token
 * when the request wants logprobs.
 * The payload of SCORES is one struct token_logprobs for each prompt token from `position` on,
 * given the tokens before it. The first prompt token has none. They are sent in order, ahead of
 * TOKENS.
 * The payload of VECTOR is float[n_tokens]: the floats of an embedding from `position` on. They are
 * sent in order, ahead of ENDED. */
struct token_logprobs {
    float logprob; /* of the drawn token, in the raw distribution without sampling filters (softmax
                      of the logits) */
    int32_t n_top;
    int32_t top_ids[LIMIT_TOP_LOGPROBS];
    float top_logprobs[LIMIT_TOP_LOGPROBS];
};

/* Checks an event and its payload of n_bytes, which came from another process or machine: its
 * kind, its counts, and the lists of log probabilities. */
bool service_event_is_valid(const struct service_event *event, const void *payload, size_t n_bytes);

struct service {
    void *self;
    bool (*submit)(void *self, const struct request *request,
                   const struct request_body *body); /* false = full */
    /* Ends this submission of the request. Another epoch is left alone, so that a late cancel does
     * no harm. */
    void (*cancel)(void *self, uint64_t id, uint32_t epoch);
    /* Returns the next event, whose payload stays valid until the next call. False when there is no
     * event now. */
    bool (*next)(void *self, struct service_event *event, const void **payload);
    int (*wait_fd)(void *self); /* readable when next may have an event */
};
