/* The door to generation: submit, cancel, and events that come back. Gateway, node and engine all
 * show this face.
 *
 * submit copies both records: the submitter keeps its own, so a request can be submitted again
 * elsewhere. Events carry an absolute position and the epoch of the submission, so a repeated or
 * late event is harmless. RETURNED alone carries slices, drain, unload, migration, refusal and
 * crash: the request goes back to the gateway, which keeps prompt and tokens and submits it again.
 * The gateway itself returns nothing: its submitter hears of tokens and of the end. */
#pragma once
#include "core/pads.h"
#include "core/request.h"

enum service_what { SERVICE_TOKENS, SERVICE_RETURNED, SERVICE_ENDED };
enum service_why {
    SERVICE_WHY_NONE,
    /* of ENDED */
    SERVICE_STOPPED, /* an end token was drawn (it is the last of the tokens) */
    SERVICE_LENGTH,  /* n_tokens_max reached */
    SERVICE_CANCELLED,
    SERVICE_DEADLINE,    /* its deadline passed before it ended */
    SERVICE_FAILED,      /* our side can't serve it: the payload is one sentence (text) */
    SERVICE_TOO_LARGE,   /* it or its model can never fit here: the payload gives the arithmetic */
    SERVICE_NOT_READY,   /* its model was not loaded within the bound: try again later */
    SERVICE_LOAD_FAILED, /* its model could not be loaded, and is tried again after a while */
    /* of RETURNED */
    SERVICE_LEASE_OVER,
    SERVICE_FULL,     /* no room at this engine now */
    SERVICE_NO_SPACE, /* other models' weights have the space that it needs at this engine */
    SERVICE_DRAINING,
    SERVICE_CRASHED,
    SERVICE_WHY_N,
};
const char *service_why_name(enum service_why why);
enum { SERVICE_LOAD_AGAIN_S = 10 }; /* after LOAD_FAILED: not tried again before */

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
    /* While it ran, since it was submitted: batches of its service and their rows (0 on an engine
     * of several lanes, or one that says little); and how often it lost its place to the host pool,
     * and was in a static batch that came back before its time. */
    int32_t n_batches, n_batch_rows, n_swapped, n_early;
    uint32_t queue_us; /* from arrival to its first batch */
    int32_t n_bytes;   /* of the payload that follows */
    int64_t served_ns; /* the request's, so that it keeps its age elsewhere; 0: not known */
};
/* The payload of TOKENS: int32_t ids[n_tokens]; when the request wants logprobs, then per token one
 * struct token_logprobs. */
struct token_logprobs {
    float logprob; /* of the drawn token, after the sampling filters' raw distribution (softmax of
                      the logits) */
    int32_t n_top;
    int32_t top_ids[LIMIT_TOP_LOGPROBS];
    float top_logprobs[LIMIT_TOP_LOGPROBS];
};

struct service {
    void *self;
    bool (*submit)(void *self, const struct request *request,
                   const struct request_body *body); /* false = full */
    /* Ends this submission of the request. Another epoch of it is left alone, so that a late cancel
     * does no harm. */
    void (*cancel)(void *self, uint64_t id, uint32_t epoch);
    /* The next event; payload stays valid until the next call. False when there is none now. */
    bool (*next)(void *self, struct service_event *event, const void **payload);
    int (*wait_fd)(void *self); /* readable when next may have news */
};
