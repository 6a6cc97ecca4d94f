/* The KV pool: one range of memory that all services of an engine share.
 *
 * Memory is cut into units of equal size. There are three kinds of pool:
 *  - merged (SeaLLM, section 4.4): a unit is a merged block; it belongs to one service, which cuts
 *    it into blocks_per_unit blocks of block_tokens tokens (kv/shape.c chooses both to waste the
 *    least). A block is named by unit * blocks_per_unit + index.
 *  - head-wise (MuxServe, sections 3.3 and 3.4): a unit holds the keys and values of one head of
 *    one layer. A block takes units_per_block of them, one for each head of each layer, wherever
 *    they are free; any unit serves any service. A block is named by a number, and a request has a
 *    table of units for every head of every layer beside its table of blocks.
 *  - private: as merged, but each service has a fixed part of the pool for itself, in proportion to
 *    its bytes per token: all parts hold equally many tokens, as caches of one's own would.
 * Invariant: every unit is exactly one of {closed, free, owned by a service}. Every block of an
 * owned unit is exactly one of {free, referenced n >= 1 times, cached (in the prefix index,
 * referenced by no request)}. The pool is part of the ledger's bytes: it grows and shrinks by units
 * at its end as weights leave and come. It enforces the operator's min and max per service. It does
 * nothing adaptive, because quotas are policy arithmetic. One thread owns it. */
#pragma once
#include "base/mem.h"
#include "core/dtype.h"
#include "core/request.h"
#include "kv/choose.h"
#include "kv/cut.h"
#include "kv/ledger.h"
#include <string.h>

struct kv;
struct kv_service_options {
    struct kv_layout layout;
    int64_t bytes_min, bytes_max; /* guaranteed / at most; 0 = none */
};
struct kv_options {
    enum kv_kind kind;
    int64_t pool_bytes_max; /* address range: the pool's upper bound */
    int64_t pool_bytes;     /* open at start */
    int64_t unit_bytes;
    int n_services_max;
    struct kv_bounds bounds; /* of all services that may ever be added */
    uint32_t n_requests_max;
    int32_t n_tokens_max; /* of one request: sizes the block tables */
    bool is_virtual;      /* no memory will be lent to it */
    bool may_count; /* for the simulator: if no two blocks share a unit and no block is ever found
                 again, all blocks are alike. Such a pool only counts, and when units close,
                 those given back first close first */
    bool has_prefix_cache;
    bool has_row_classes; /* generated rows have other bits than prompt rows: see kv/prefix.c */
    uint64_t prefix_salt;
    int64_t host_bytes;    /* of the host tier at most; 0 = none */
    uint32_t n_keeps;      /* rows of the host tier that belong to no request: kv/host.h */
    int64_t n_units_aside; /* units of memory behind the pool that no request gets: kv_aside */
};
struct kv *kv_open(const struct kv_options *options);
void kv_close(struct kv *kv);
/* Adds a service. Its number must be below n_services_max and not in use, and its cut within the
 * bounds (kv_cut_refuse). Takes memory for its lists. A private pool cuts all parts anew. */
void kv_add_service(struct kv *kv, int service, const struct kv_service_options *options);
/* Removes a service with all its cached blocks. No request may hold any of its blocks. */
void kv_remove_service(struct kv *kv, int service);
bool kv_has_service(const struct kv *kv, int service);
/* Names the bits of the service's model (0 at first): blocks of other bits are not found. */
void kv_set_arithmetic(struct kv *kv, int service, uint64_t arithmetic);
enum kv_kind kv_kind(const struct kv *kv);
int64_t kv_unit_bytes(const struct kv *kv);
/* The pool knows units and offsets, never an address. The executor has the memory, one range of
 * kv_range_bytes (with what is set aside), and lends it. The pool names the parts in use. */
struct kv_memory {
    void *self;
    /* Backs all of [from, to) with memory. Returns false when there is too little. */
    bool (*back)(void *self, int64_t from, int64_t to);
    void (*drop)(void *self, int64_t from, int64_t to); /* the range is not used any more */
};
int64_t kv_range_bytes(const struct kv *kv);
/* Lends memory to an idle pool, also in place of earlier memory. Returns false when there is no
 * memory for the open units. */
bool kv_lend(struct kv *kv, const struct kv_memory *memory) MUST_USE;
const struct kv_layout *kv_layout(const struct kv *kv, int service);
/* Returns the block table of a request's slot: block ids in order of position; NULL when the pool
 * only counts. */
const uint32_t *kv_table(const struct kv *kv, uint32_t slot, int32_t *n_blocks);
/* Returns the number of blocks in the table of every slot (n_requests_max), kept up to date. */
const int32_t *kv_table_sizes(const struct kv *kv);
/* Returns the units of those blocks in a head-wise pool with memory, (layers * KV heads, *stride),
 * which attention reads. NULL for any other pool. */
const uint32_t *kv_table_heads(const struct kv *kv, uint32_t slot, uint32_t *stride);
/* Returns the bytes of the tables that requests hold now, and sets *most to the maximum so far. A
 * device that gets the tables at every step is sent these bytes. */
int64_t kv_table_bytes(const struct kv *kv, int64_t *most);
/* Returns the number of blocks behind the pool, cut as the service's, for positions that are
 * computed and thrown away. It sets *first to the first one's id, or in a head-wise pool its first
 * unit. The units of a block, and the blocks, follow each other. The simulator has no such
 * blocks. */
int64_t kv_aside(const struct kv *kv, int service, uint32_t *first);

/* ---- The budget of policies: a value that a plan copies and subtracts from. ---- */
struct kv_budget {
    int32_t n_services;     /* one more than the highest number that a service ever had */
    int64_t n_units_free;   /* free, or holding nothing but cached blocks */
    int64_t n_units_cached; /* the units of n_units_free that hold cached blocks */
    int64_t n_units_open;   /* all units of the pool now, without those that are closing */
    int64_t n_units_owed, n_units_floors; /* guaranteed: to services that do not use them; to all */
    struct kv_budget_service {
        int32_t block_tokens, blocks_per_unit;
        int64_t n_blocks_free;   /* in units that it keeps anyway */
        int64_t n_blocks_cached; /* in units that it keeps anyway; evicted when nothing is free */
        int64_t n_units;         /* owned, those that are only cached not counted */
        int64_t n_units_min, n_units_max;
        int32_t units_per_block; /* in a head-wise pool; else 0 or 1 */
    } services[KV_SERVICES_MAX];
};
/* Returns the budget. Every operation keeps it up to date, so reading it costs nothing. */
const struct kv_budget *kv_budget(const struct kv *kv);
size_t kv_budget_bytes(int32_t n_services);
/* A copy to subtract from. */
static inline void kv_budget_copy(struct kv_budget *to, const struct kv_budget *from)
{
    memcpy(to, from, kv_budget_bytes(from->n_services));
}
/* Takes n_blocks of the service from the copy, in the same order as kv_reserve: free blocks of its
 * units, free units, its cached blocks, units that are only cached. Returns false, with the copy
 * unchanged, when kv_reserve would refuse them. */
bool kv_budget_take(struct kv_budget *budget, int service, int64_t n_blocks);
/* Returns how many blocks the service can take without evicting a cached one. A hold may reserve
 * this many ahead. */
int64_t kv_budget_idle_blocks(const struct kv_budget *budget, int service);
/* Returns the most blocks that the service could ever hold at once if the pool, as large as it is
 * now, were empty. A request that needs more can never run. */
int64_t kv_budget_most_blocks(const struct kv_budget *budget, int service);
/* Returns the same for a pool of n_units_open units, which this pool could become. */
int64_t kv_most_blocks(const struct kv *kv, int service, int64_t n_units_open);
static inline int64_t kv_blocks_for(int64_t n_tokens, int32_t block_tokens)
{
    return (n_tokens + block_tokens - 1) / block_tokens;
}
/* Returns how many units n_blocks take, including a last unit that is not full. */
static inline int64_t kv_units_for(const struct kv_budget_service *s, int64_t n_blocks)
{
    return s->units_per_block > 1 ? n_blocks * s->units_per_block
                                  : div_up_i64(n_blocks, s->blocks_per_unit);
}
/* Return how many whole units n_blocks fill, and how many whole blocks n_units hold. */
static inline int64_t kv_units_in(const struct kv_budget_service *s, int64_t n_blocks)
{
    return s->units_per_block > 1 ? n_blocks * s->units_per_block : n_blocks / s->blocks_per_unit;
}
static inline int64_t kv_blocks_in(const struct kv_budget_service *s, int64_t n_units)
{
    return s->units_per_block > 1 ? n_units / s->units_per_block : n_units * s->blocks_per_unit;
}
/* ---- What the engine does. ---- */
struct kv_need {
    uint32_t slot;
    int32_t n_tokens; /* its table must cover this many positions */
    int32_t n_first;  /* those of a hold's first round among them; 0 = all (no hold). Blocks for
                         later rounds are chosen in the same order as by single steps */
};
/* Extends the tables of a batch, all or nothing, evicting cached blocks (oldest first). When
 * it returns false, nothing changed. */
bool kv_reserve(struct kv *kv, int service, const struct kv_need *needs, int n_needs) MUST_USE;
/* Looks for the longest cached prefix of tokens (whole blocks, at most n_tokens - 1 positions) and
 * puts those blocks, shared, at the start of the slot's empty table. Returns the positions found; 0
 * when the request wants none or tokens is NULL. A block's name is a SHA-256 of all that sets its
 * content, of tenant and a secret salt, so no client can name another's. It takes only what the
 * quota allows: the budget afterwards is the same as after reserving those blocks. */
int32_t kv_match(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                 int32_t n_tokens);
/* Offers the slot's full blocks up to n_computed positions to later requests. Idempotent. */
void kv_publish(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                int32_t n_computed);
/* Gives the slot's blocks back. Shared blocks lose a reference; published blocks stay cached. */
void kv_release(struct kv *kv, uint32_t slot);
/* Shortens the table to cover n_tokens positions (rejected drafts, rounds of a hold not done).
 * Published blocks can't be cut, since their positions are final. */
void kv_trim(struct kv *kv, uint32_t slot, int32_t n_tokens);
/* Evicts every cached block of a service (its model leaves). */
void kv_forget(struct kv *kv, int service);

/* Open or close units at the end of the pool, whole units only (shrink rounds up, grow down). Units
 * that are free or cached there close at once, and kv_shrink marks the rest as closing. A closing
 * unit gives out nothing new, and it closes when its requests leave. Bytes that are closing already
 * count towards n_bytes, so that asking again for what is still missing marks nothing twice. Both
 * return the bytes that really closed (opened) since the last call, and hand back the memory of
 * what closed since then. The pool may still touch kv_open_bytes, which includes closing units. A
 * call of kv_grow first takes back closing units. They count nothing against n_bytes, because they
 * are still open. The function kv_busy_closing names a request that holds a closing unit (to
 * preempt), or UINT32_MAX. */
int64_t kv_grow(struct kv *kv, int64_t n_bytes);
int64_t kv_shrink(struct kv *kv, int64_t n_bytes);
uint32_t kv_busy_closing(const struct kv *kv);
int64_t kv_open_bytes(const struct kv *kv);

struct kv_stats {
    int64_t n_blocks_used, n_blocks_cached, n_units; /* n_units: those that requests use */
    int64_t n_queries, n_hits;                       /* tokens */
    int64_t n_evicted;
};
void kv_stats(const struct kv *kv, int service, struct kv_stats *out);
/* Checks the invariants above in full (for VERIFY: O(pool)). Returns true when they hold. */
bool kv_is_sound(const struct kv *kv);
/* Returns true when no request holds anything: every unit is closed, free or only cached. */
bool kv_is_idle(const struct kv *kv);
