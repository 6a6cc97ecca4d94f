/* A service: a model with its traffic class and its targets, as the operator configured it. */
#pragma once
#include "base/set.h"
#include "core/limits.h"

_Static_assert((int)LIMIT_SERVICES <= (int)SET_MAX, "sets hold them");

struct service_slo {
    int64_t ttft_ns, tpot_ns, e2e_ns; /* 0 = none */
};
/* How drafts of an answer's next tokens are found. No draft changes a token (engine/draft.h). */
enum service_speculation {
    SPECULATION_OFF,
    SPECULATION_LOOKUP, /* n-grams of the prompt and the answer */
    SPECULATION_KINDS
};
struct service_spec {
    char name[LIMIT_NAME_BYTES];
    uint64_t identity;     /* hash of the model file and the settings that its tokens depend on */
    uint16_t life;         /* tells it from an earlier one with the same name and identity */
    uint8_t speculation;   /* enum service_speculation */
    uint16_t n_adapters;   /* a request may use one of them: request.variant */
    int32_t n_context_max; /* tokens of prompt and answer; 0 = the model's own */
    int32_t priority;      /* default of its requests */
    int32_t n_vector;      /* floats of a text's embedding; 0: it makes none */
    bool pools_mean;       /* it is the mean over all positions of the text */
    bool is_encoder;       /* it makes embeddings alone, of texts that are computed in one pass */
    struct service_slo slo;
    int64_t kv_bytes_min, kv_bytes_max; /* of the pool; 0 = none / all */
    int64_t keep_alive_ns; /* idle time before it may be unloaded by itself; negative = pinned */
    bool is_loaded_at_start;
    int32_t n_held_max;  /* requests held while it loads */
    int64_t hold_ns_max; /* how long they are held */
    struct set engines;  /* of the first SET_MAX engines, those that may serve it; none = all */
    /* Its share of this engine in a placement; 0 = the placement sets none. */
    int32_t share_percent;  /* of the device, for its decodes: policies that use shares */
    int64_t kv_quota_bytes; /* of the pool, where schedulers with quotas begin; relative */
};
/* Returns whether this engine may serve the service. */
static inline bool service_spec_allows(const struct set *engines, int engine)
{
    return set_is_empty(engines) || (engine < SET_MAX && set_has(engines, engine));
}
