/* The unified KV pool: one range of memory shared by all services of an engine (SeaLLM,
 * section 4.4).
 *
 * Memory is cut into merged blocks ("units") of equal size; a unit belongs to one service, which
 * cuts it into blocks_per_unit blocks of block_tokens tokens (kv/shape.c chooses both to waste the
 * least). A block is named by unit * blocks_per_unit + index. Invariant: every unit is in exactly
 * one of {closed, free, owned by a service}; every block of an owned unit is exactly one of {free,
 * referenced n >= 1 times, cached (in the prefix index, referenced by nobody)}. The pool is part of
 * the ledger's bytes: it grows and shrinks by units at its end as weights leave and come. It
 * enforces the operator's min and max per service and nothing adaptive: quotas are policy
 * arithmetic. One thread owns it. */
#pragma once
#include "core/request.h"
#include "core/dtype.h"

struct kv;

/* How a service cuts its units. */
struct kv_layout {
    int64_t bytes_per_token; /* of the model, all layers */
    int32_t block_tokens;
    int32_t blocks_per_unit;
    int64_t block_bytes; /* block_tokens * bytes_per_token */
};
/* Chooses the unit and each service's cut so that the worst waste is least (ALGORITHMS D-10):
 * block_tokens in {8, 16, 32}, at most 16 blocks a unit, unit <= unit_bytes_max. Returns the unit's
 * bytes; *waste is the worst fraction lost. */
int64_t kv_choose_layout(int n_services, const int64_t *bytes_per_token, int64_t unit_bytes_max,
                         struct kv_layout *layouts, double *waste);

struct kv_service_options {
    struct kv_layout layout;
    int64_t bytes_min, bytes_max; /* guaranteed / at most; 0 = none */
};
struct kv_options {
    int64_t pool_bytes_max; /* address range: the pool never grows beyond */
    int64_t pool_bytes;     /* open at start */
    int64_t unit_bytes;
    int n_services;
    const struct kv_service_options *services;
    uint32_t n_requests_max;
    int32_t n_tokens_max; /* of one request: sizes the block tables */
    bool is_virtual;      /* the simulator: no memory behind it */
    bool has_prefix_cache;
    uint64_t prefix_salt;
};
struct kv *kv_open(const struct kv_options *options);
void kv_close(struct kv *kv);

unsigned char *kv_base(const struct kv *kv);
int64_t kv_unit_bytes(const struct kv *kv);
const struct kv_layout *kv_layout(const struct kv *kv, int service);
/* The block table of a request's slot: block ids in order of position. */
const uint32_t *kv_table(const struct kv *kv, uint32_t slot, int32_t *n_blocks);

/* ---- What policies reckon with: a value that a plan copies and subtracts from. ---- */
struct kv_budget {
    int32_t n_services;
    int64_t n_units_free; /* free, or holding nothing but cached blocks */
    int64_t n_units_open; /* all units of the pool now */
    int64_t n_units_owed; /* guaranteed to services that do not use them yet */
    struct kv_budget_service {
        int32_t block_tokens, blocks_per_unit;
        int64_t n_blocks_free; /* free or cached blocks inside units that it keeps anyway */
        int64_t n_units;       /* owned, those that are only cached not counted */
        int64_t n_units_min, n_units_max;
    } services[LIMIT_SERVICES];
};
const struct kv_budget *kv_budget(const struct kv *kv);
/* Takes n_blocks of the service from the copy; false (and unchanged) when kv_reserve would refuse
 * them. */
bool kv_budget_take(struct kv_budget *budget, int service, int64_t n_blocks);
/* Blocks that a request of n_have tokens' blocks lacks for n_tokens. */
static inline int64_t kv_blocks_for(int64_t n_tokens, int32_t block_tokens)
{
    return (n_tokens + block_tokens - 1) / block_tokens;
}

/* ---- What the engine does. ---- */
struct kv_need {
    uint32_t slot;
    int32_t n_tokens; /* its table must cover this many positions */
};
/* Extends the tables of a batch, all or nothing, evicting cached blocks (oldest first). False:
 * nothing changed. */
bool kv_reserve(struct kv *kv, int service, const struct kv_need *needs, int n_needs) MUST_USE;
/* Looks for the longest cached prefix of tokens (whole blocks, at most n_tokens - 1 positions) and
 * puts those blocks, shared, at the start of the slot's empty table. Returns the positions found.
 * The key chains block hashes salted by service, tenant, variant. */
int32_t kv_match(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                 int32_t n_tokens);
/* Offers the slot's full blocks up to n_computed positions to later requests. Idempotent. */
void kv_publish(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                int32_t n_computed);
/* Gives the slot's blocks back: shared ones lose a reference, published ones stay cached. */
void kv_release(struct kv *kv, uint32_t slot);
/* Shortens the table to cover n_tokens positions (rejected drafts). */
void kv_trim(struct kv *kv, uint32_t slot, int32_t n_tokens);
/* Forgets every cached block of a service (its model leaves). */
void kv_forget(struct kv *kv, int service);

/* Opens or closes units at the end of the pool. kv_shrink closes what is free or cached there and
 * marks the rest closing: it returns the bytes that are closed by now; call again as requests
 * leave. kv_busy_above names a request that holds a closing unit (to preempt), or TREE_NONE-like
 * UINT32_MAX. */
void kv_grow(struct kv *kv, int64_t n_bytes);
int64_t kv_shrink(struct kv *kv, int64_t n_bytes);
uint32_t kv_busy_closing(const struct kv *kv);
int64_t kv_open_bytes(const struct kv *kv);

struct kv_stats {
    int64_t n_blocks_used, n_blocks_cached, n_units;
    int64_t n_queries, n_hits; /* tokens */
    int64_t n_evicted;
};
void kv_stats(const struct kv *kv, int service, struct kv_stats *out);
/* Full self-check of the invariants above (VERIFY-class: O(pool)). True when sound. */
bool kv_is_sound(const struct kv *kv);
/* True when no request holds anything: every unit is closed, free or only cached. */
bool kv_is_idle(const struct kv *kv);
