/* Prefix reuse: finished blocks, named by all tokens that led to them.
 *
 * The name of a block is SHA-256 (cut to 128 bits) of the name before it and its own tokens. The
 * first name hashes service, arithmetic, tenant, variant and the pool's secret salt.
 *
 * On some devices generated rows have other bits than prompt rows. There a name also hashes how
 * many of the block's rows are of the prompt. So requests share blocks of equal prompts, and a
 * preempted request finds the blocks of its own answer again. A prompt that quotes an answer does
 * not find the answer's blocks, since it would compute them in the other class.
 *
 * A fast hash, with the tokens stored beside it, would not do. A block's content depends on all
 * tokens before it, so comparing tokens would mean comparing whole chains, and their earlier blocks
 * may have been evicted and reused. A 128-bit name covers the whole chain without a pointer, and it
 * can't be forged by choosing prompts. It also differs between tenants by construction, so there is
 * no second check that could be forgotten. It costs about a quarter of a microsecond a block. */
#include "kv/prefix.h"

#include "kv/pool.h"
#include <string.h>

static struct hash128 root_name(const struct kv *kv, const struct request *request)
{
    struct {
        uint64_t salt, arithmetic, tenant;
        uint16_t service, variant;
        uint32_t block_tokens;
    } root = {
        kv->options.prefix_salt, kv->services[request->service].arithmetic,
        request->tenant,         request->service,
        request->variant,        (uint32_t)kv->services[request->service].layout.block_tokens
    };
    _Static_assert(sizeof(root) == 32, "no byte of it is padding");
    return hash_secure(&root, sizeof(root), NULL, 0);
}

struct hash128 kv_prefix_next(const struct kv *kv, const struct request *request,
                              struct hash128 before, const int32_t *tokens, int32_t from)
{
    int32_t n = kv->services[request->service].layout.block_tokens;
    struct {
        struct hash128 before;
        int64_t n_generated; /* its rows behind the prompt, if that makes a difference */
    } head = { before, 0 };
    _Static_assert(sizeof(head) == 24, "no byte of it is padding");
    if (kv->options.has_row_classes)
        head.n_generated = min_i32(max_i32(from + n - request->n_prompt, 0), n);
    return hash_secure(&head, sizeof(head), tokens + from, (size_t)n * sizeof(*tokens));
}

void kv_set_arithmetic(struct kv *kv, int service, uint64_t arithmetic)
{
    CHECK(kv_has_service(kv, service));
    kv->services[service].arithmetic = arithmetic;
}

/* Returns the published block of this name; MAP_NONE when no block has it. */
static uint32_t find(const struct kv *kv, struct hash128 name)
{
    uint32_t index = map_find(&kv->index, name.low);
    if (index == MAP_NONE || kv->blocks[index].name.high != name.high)
        return MAP_NONE;
    return index;
}

int32_t kv_prefix_look(const struct kv *kv, const struct request *request, const int32_t *tokens,
                       int32_t n_tokens)
{
    int32_t block_tokens = kv->services[request->service].layout.block_tokens, n = 0;
    if (!kv->options.has_prefix_cache || (request->flags & REQUEST_NO_PREFIX_HIT) != 0)
        return 0;
    struct hash128 name = root_name(kv, request);
    for (; n + block_tokens < n_tokens; n += block_tokens) {
        name = kv_prefix_next(kv, request, name, tokens, n);
        if (find(kv, name) == MAP_NONE)
            break;
    }
    return n;
}

int32_t kv_match(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                 int32_t n_tokens)
{
    CHECK(slot < kv->options.n_requests_max && kv_has_service(kv, request->service));
    CHECK(kv->sizes[slot] == 0);
    if (!kv->options.has_prefix_cache || tokens == NULL ||
        (request->flags & REQUEST_NO_PREFIX_HIT) != 0)
        return 0;
    struct kv_chain *chain = &kv->chains[slot];
    struct kv_service *service = &kv->services[request->service];
    int32_t block_tokens = service->layout.block_tokens;
    uint32_t *blocks = kv->table_blocks + (size_t)slot * kv->table_stride;
    kv->owners[slot] = request->service;
    chain->name = root_name(kv, request);
    for (int32_t end = block_tokens; end < n_tokens; end += block_tokens) {
        struct hash128 name = kv_prefix_next(kv, request, chain->name, tokens, end - block_tokens);
        uint32_t index = find(kv, name);
        if (index == MAP_NONE || (uint32_t)kv->sizes[slot] == kv->table_stride ||
            !(kv->is_by_head ? kv_heads_share(kv, index) : kv_pool_share(kv, index)))
            break;
        blocks[kv->sizes[slot]++] = kv_pool_id(kv, request->service, index);
        if (kv->is_by_head)
            kv_heads_name(kv, slot, kv->sizes[slot] - 1, kv->sizes[slot]);
        chain->name = name;
    }
    kv_pool_add_entries(kv, request->service, kv->sizes[slot]);
    chain->n_named = (uint32_t)kv->sizes[slot];
    int32_t n_found = kv->sizes[slot] * block_tokens;
    service->stats.n_queries += n_tokens;
    service->stats.n_hits += n_found;
    return n_found;
}

void kv_publish(struct kv *kv, const struct request *request, uint32_t slot, const int32_t *tokens,
                int32_t n_computed)
{
    CHECK(slot < kv->options.n_requests_max);
    if (!kv->options.has_prefix_cache || tokens == NULL || kv->sizes[slot] == 0)
        return;
    struct kv_chain *chain = &kv->chains[slot];
    CHECK(kv->owners[slot] == request->service);
    int32_t block_tokens = kv->services[kv->owners[slot]].layout.block_tokens;
    CHECK(kv_blocks_for(n_computed, block_tokens) <= kv->sizes[slot]);
    const uint32_t *blocks = kv->table_blocks + (size_t)slot * kv->table_stride;
    if (chain->n_named == 0)
        chain->name = root_name(kv, request);
    while (((int32_t)chain->n_named + 1) * block_tokens <= n_computed) {
        int32_t from = (int32_t)chain->n_named * block_tokens;
        chain->name = kv_prefix_next(kv, request, chain->name, tokens, from);
        uint32_t index = kv_pool_index(kv, kv->owners[slot], blocks[chain->n_named++]);
        struct kv_block *block = &kv->blocks[index];
        if (block->is_published || map_find(&kv->index, chain->name.low) != MAP_NONE ||
            kv_pool_is_closing(kv, index) || !map_put(&kv->index, chain->name.low, index))
            continue; /* an equal block is published, or there is no room: this one stays private */
        block->name = chain->name;
        block->is_published = true;
    }
}

void kv_forget(struct kv *kv, int service)
{
    CHECK(kv_has_service(kv, service));
    uint32_t n = (uint32_t)kv->services[service].layout.blocks_per_unit;
    if (kv->is_by_head && kv->options.has_prefix_cache)
        kv_heads_forget(kv, service);
    for (uint32_t u = 0; u < kv->n_units_used && kv->blocks != NULL && !kv->is_by_head; u++) {
        struct kv_unit *unit = &kv->units[u];
        if (unit->service != service ||
            (unit->state != KV_UNIT_ACTIVE && unit->state != KV_UNIT_CACHED))
            continue;
        for (uint64_t mask = unit->cached_mask; mask != 0; mask &= mask - 1)
            kv_pool_evict(kv, u * kv->stride + (uint32_t)__builtin_ctzll(mask));
        for (uint32_t i = 0; unit->state == KV_UNIT_ACTIVE && i < n; i++)
            kv_pool_unpublish(kv, u * kv->stride + i);
    }
}
