/* The inside of the pool: units, blocks and tables. Only the files of this room include it.
 *
 *            kv_pool_open            first block taken           last reference gone,
 *   CLOSED ------------> FREE -----------------------> ACTIVE ----------------------> CACHED
 *     ^   <------------   ^ <------------------------- ^  |    nothing cached: FREE     |
 *     |    kv_pool_close  |                            |  |                             |
 *     |                   +----------------------------|--|------- evicted -------------+
 *     |                                                +--|------- a block is hit ------+
 *     +---------- closing, last reference gone -----------+
 *
 * An ACTIVE unit holds at least one referenced block and counts against its service's quota. A
 * CACHED unit holds only published blocks without a reference, and counts as free. A closing unit
 * gives out no blocks and keeps none cached. */
#pragma once
#include "base/hash.h"
#include "base/map.h"
#include "kv/bits.h"
#include "kv/kv.h"

#define KV_NONE UINT32_MAX
enum kv_unit_state { KV_UNIT_CLOSED, KV_UNIT_FREE, KV_UNIT_ACTIVE, KV_UNIT_CACHED };

struct kv_unit {
    uint64_t free_mask;    /* blocks that hold nothing */
    uint64_t cached_mask;  /* published and not referenced */
    uint32_t older, newer; /* among CACHED units */
    uint16_t service;
    uint8_t state;
    uint8_t n_free; /* bits of free_mask */
    bool is_closing;
};
struct kv_block {        /* index: unit * stride + index in the unit, whichever service owns it */
    struct hash128 name; /* name of the whole prefix that ends with this block, when published */
    uint32_t n_refs;
    uint32_t older, newer; /* among the cached blocks in ACTIVE units of its service */
    bool is_published;
};
struct kv_chain {
    uint32_t
        n_named; /* leading blocks of the table with computed names; `name` is the last one's */
    struct hash128 name;
};
struct kv_service {
    struct kv_layout layout;
    uint64_t arithmetic; /* of its model: kv_set_arithmetic */
    struct kv_stats stats;
    int64_t n_units_most;                       /* the operator's */
    struct kv_bits partial[KV_UNIT_BLOCKS_MAX]; /* ACTIVE units with n free blocks, by n */
    uint64_t partial_counts;                    /* bit n: partial[n] has members */
    uint32_t oldest, newest; /* cached blocks in its ACTIVE units, least recently used first */
    void *bits_memory;       /* of `partial` */
};
struct kv_host_held { /* of a request: how many blocks of its table it holds, its first page, and
                         the number of the first of these blocks */
    uint32_t n_blocks, first, from;
};
struct kv_host {
    int64_t page_bytes;
    uint32_t n_pages, n_free, first_free;
    uint32_t *next;            /* (n_pages) */
    struct kv_host_held *held; /* (n_requests_max + n_keeps) */
};
/* A head-wise pool: see heads.c. */
struct kv_heads {
    uint32_t *next;        /* (n_units_max) the next unit, in the free list or in its block */
    uint32_t *before;      /* (n_units_max) for a free unit: the free one before it */
    uint8_t *states;       /* (n_units_max) enum kv_unit_state, never CACHED */
    uint32_t first_free;   /* unit; KV_NONE: none */
    uint32_t *first_units; /* (n_blocks_max) per block: its unit of the first head */
    uint16_t *services;    /* (n_blocks_max) by block */
    uint32_t *free_blocks; /* (n_blocks_max) unused block numbers, as a stack */
    uint32_t n_blocks_max; /* if all blocks were of the model with the fewest heads */
    uint32_t n_free_blocks;
    uint32_t oldest, newest; /* cached blocks of all services */
    uint32_t n_heads_max;    /* of all services */
    uint32_t *tables;        /* (n_requests_max, n_heads_max, table_stride); NULL without memory */
    int64_t table_bytes;
};
struct kv {
    struct kv_options options;
    struct kv_service *services; /* (n_services_max); a row without block_tokens is unused */
    struct kv_host host;
    struct kv_memory memory; /* NULL functions: no memory was lent */
    int64_t range_bytes;     /* without what is set aside */
    uint32_t n_units_max;
    uint32_t n_units_target; /* units below are open; above, CLOSED or closing */
    uint32_t n_units_used; /* no unit from here on was ever written; those that are open are FREE */
    uint32_t n_units_closing;
    uint32_t n_units_closed; /* since the last report of kv_shrink */
    uint32_t stride;         /* blocks of a unit in `blocks` */
    bool is_counted;         /* all blocks are alike: see count.c */
    bool is_by_head;         /* `heads` describes units and blocks, unless the pool is counted */
    struct kv_heads heads;
    struct kv_unit *units; /* (n_units_room) those used; NULL when counted or head-wise */
    uint32_t n_units_room;
    struct kv_block *blocks; /* NULL without a prefix cache: a block is free or has one owner */
    struct kv_bits free;     /* FREE units below n_units_used */
    uint32_t oldest_unit, newest_unit; /* CACHED units */
    int32_t *sizes;                    /* by slot: blocks in its table */
    uint16_t *owners;                  /* by slot: the service of its table */
    struct kv_chain *chains;           /* by slot; NULL without a prefix cache */
    uint32_t *table_blocks;            /* (n_requests_max, table_stride); NULL when counted */
    int64_t table_bytes;
    int64_t n_entries, n_entries_most; /* of all requests' tables */
    uint32_t table_stride;
    struct map index;        /* low half of a published block's name -> block */
    void *bits_memory;       /* of `free` */
    struct kv_budget budget; /* the last: there is memory for n_services_max only */
};

/* Converts a block's name in tables (unit * blocks_per_unit + index) to its index in `blocks`. */
static inline uint32_t kv_pool_index(const struct kv *kv, int service, uint32_t id)
{
    uint32_t n = (uint32_t)kv->services[service].layout.blocks_per_unit;
    return id / n * kv->stride + id % n;
}
static inline uint32_t kv_pool_id(const struct kv *kv, int service, uint32_t index)
{
    uint32_t n = (uint32_t)kv->services[service].layout.blocks_per_unit;
    return index / kv->stride * n + index % kv->stride;
}
/* Returns the number of open units that were never used. A pool costs what is used of it, however
 * large it is. */
static inline uint32_t kv_pool_n_fresh(const struct kv *kv)
{
    return kv->n_units_target > kv->n_units_used ? kv->n_units_target - kv->n_units_used : 0;
}
static inline uint32_t *kv_pool_table(const struct kv *kv, uint32_t slot)
{
    return kv->table_blocks + (size_t)slot * kv->table_stride;
}
void kv_pool_open_unit(struct kv *kv, uint32_t u);  /* CLOSED -> FREE */
void kv_pool_close_unit(struct kv *kv, uint32_t u); /* now, or when its last reference goes */
void kv_pool_keep_unit(struct kv *kv, uint32_t u);  /* closing no more */
/* Takes n blocks with one reference each, named as in tables. Each is the lowest free block of the
 * fullest unit, else of the lowest free unit, else the least recently used cached block. The caller
 * has checked the budget. */
void kv_pool_take(struct kv *kv, int service, uint32_t *ids, uint32_t n);
/* Adds a reference to a published block. Returns false when the quota refuses its unit. */
bool kv_pool_share(struct kv *kv, uint32_t index);
void kv_pool_put(struct kv *kv, uint32_t index); /* one reference less; with a prefix cache */
/* Does the same for many blocks, from the last to the first. */
void kv_pool_put_all(struct kv *kv, int service, const uint32_t *ids, uint32_t n);
/* Adds n units to the service's count, and updates what is guaranteed and unused. */
void kv_pool_add_units(struct kv *kv, int service, int64_t n);
void kv_pool_evict(struct kv *kv, uint32_t index);
void kv_pool_unpublish(struct kv *kv, uint32_t index); /* out of the index, even if referenced */
/* Adds n_blocks (may be negative) to the table entries of the service's requests. */
void kv_pool_add_entries(struct kv *kv, int service, int64_t n_blocks);
/* Returns whether the block's units close as soon as its last reference is gone. */
bool kv_pool_is_closing(const struct kv *kv, uint32_t index);
/* heads.c: the same functions for a head-wise pool, where a block's index is its number. */
void kv_heads_open(struct kv *kv);
void kv_heads_close(struct kv *kv);
void kv_heads_take(struct kv *kv, int service, uint32_t *ids, uint32_t n);
bool kv_heads_share(struct kv *kv, uint32_t block);
void kv_heads_put_all(struct kv *kv, const uint32_t *ids, uint32_t n);
/* Writes the units of the blocks from `at` to `end` into the slot's table. */
void kv_heads_name(struct kv *kv, uint32_t slot, int64_t at, int64_t end);
void kv_heads_grow(struct kv *kv, int64_t n_units);
void kv_heads_shrink(struct kv *kv, int64_t n_units);
void kv_heads_forget(struct kv *kv, int service);
bool kv_heads_is_closing(const struct kv *kv, uint32_t block);
bool kv_heads_are_sound(const struct kv *kv); /* with check.c's share */
/* count.c: the same functions for a pool that only counts. */
void kv_count_put(struct kv *kv, int service, int64_t n);
void kv_count_grow(struct kv *kv, int64_t n_units);
void kv_count_shrink(struct kv *kv, int64_t n_units);
bool kv_count_is_sound(const struct kv *kv);
/* Returns how many free units the service may still take. */
int64_t kv_budget_units(const struct kv_budget *budget, int service);
/* Does what kv_budget_most_blocks does, for a pool of n_units_open units. */
int64_t kv_budget_most_of(const struct kv_budget *budget, int service, int64_t n_units_open);

/* host.c */
void kv_host_open(struct kv *kv);
void kv_host_close(struct kv *kv);
