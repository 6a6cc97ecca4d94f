/* The public functions of a pool: memory, block tables, reservation, growing and shrinking. The
 * kinds of pool are below: pool.c (merged), heads.c (head-wise), count.c (either, counted). */
#include "base/mem.h"
#include "kv/kv.h"
#include "kv/pool.h"
#include <string.h>
#include <sys/mman.h>

enum { INDEX_BLOCKS_MAX = 1 << 20, UNITS_AT_FIRST = 256 };

/* Reserves address space that costs nothing until it is touched. */
unsigned char *kv_range_take(int64_t n_bytes)
{
    void *p = mmap(NULL, (size_t)max_i64(n_bytes, 1), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        mem_refuse((size_t)n_bytes);
    /* Blocks of one sequence lie far apart, so each misses the translation buffer. */
    mem_wish_huge(p, (size_t)max_i64(n_bytes, 1));
    return p;
}

void kv_range_give(unsigned char *base, int64_t n_bytes)
{
    munmap(base, (size_t)max_i64(n_bytes, 1));
}

static int64_t quota_units(int64_t n_bytes, int64_t unit_bytes, bool is_floor)
{
    return is_floor ? div_up_i64(max_i64(n_bytes, 0), unit_bytes)
                    : (n_bytes > 0 ? n_bytes / unit_bytes : INT32_MAX);
}

/* Cuts a private pool: sets each service's part of what is open, at most what the operator allows.
 */
static void cut_parts(const struct kv *kv, struct kv_budget *budget)
{
    int64_t sum = 0;
    budget->n_units_owed = budget->n_units_floors = 0;
    for (int i = 0; i < budget->n_services; i++)
        sum += kv->services[i].layout.bytes_per_token; /* 0 of one that is none */
    for (int i = 0; i < budget->n_services; i++) {
        struct kv_budget_service *s = &budget->services[i];
        int64_t part = kv->services[i].layout.bytes_per_token;
        int64_t n_units = part > 0 ? budget->n_units_open * part / sum : 0;
        s->n_units_min = s->n_units_max = min_i64(n_units, kv->services[i].n_units_most);
        budget->n_units_owed += max_i64(0, s->n_units_min - s->n_units);
        budget->n_units_floors += s->n_units_min;
    }
}

static void tell_budget(struct kv *kv)
{
    kv->budget.n_units_open = kv->n_units_target;
    if (kv->options.kind == KV_PRIVATE)
        cut_parts(kv, &kv->budget);
}

bool kv_has_service(const struct kv *kv, int service)
{
    return service >= 0 && service < kv->budget.n_services &&
           kv->services[service].layout.block_tokens > 0;
}

/* Opens a service's lists of units that have some blocks free. */
static void open_partial(struct kv *kv, struct kv_service *service)
{
    size_t n_bytes = kv_bits_bytes(kv->n_units_max);
    int32_t n = service->layout.blocks_per_unit;
    if (kv->is_counted || kv->is_by_head || n == 1)
        return;
    unsigned char *memory = mem_take((size_t)(n - 1) * n_bytes);
    service->bits_memory = memory;
    for (int j = 1; j < n; j++, memory += n_bytes)
        kv_bits_init(&service->partial[j], kv->n_units_max, memory);
}

void kv_add_service(struct kv *kv, int i, const struct kv_service_options *options)
{
    CHECK(i >= 0 && i < kv->options.n_services_max && !kv_has_service(kv, i));
    struct kv_service *service = &kv->services[i];
    const struct kv_layout *layout = &options->layout;
    CHECK(kv_cut_refuse(kv->options.kind, &kv->options.bounds, kv->options.unit_bytes, layout) ==
          NULL);
    *service = (struct kv_service){ .layout = *layout, .oldest = KV_NONE, .newest = KV_NONE };
    service->layout.units_per_block = max_i32(layout->units_per_block, 1);
    open_partial(kv, service);
    int64_t unit_bytes = kv->options.unit_bytes;
    int64_t most = quota_units(options->bytes_max, unit_bytes, false);
    service->n_units_most = most;
    kv->budget.services[i] = (struct kv_budget_service){
        .block_tokens = layout->block_tokens,
        .blocks_per_unit = layout->blocks_per_unit,
        .units_per_block = service->layout.units_per_block,
        .n_units_min = min_i64(quota_units(options->bytes_min, unit_bytes, true), most),
        .n_units_max = most,
    };
    kv->budget.n_units_owed += kv->budget.services[i].n_units_min;
    kv->budget.n_units_floors += kv->budget.services[i].n_units_min;
    kv->budget.n_services = max_i32(kv->budget.n_services, i + 1);
    tell_budget(kv);
}

void kv_remove_service(struct kv *kv, int i)
{
    CHECK(kv_has_service(kv, i));
    kv_forget(kv, i);
    struct kv_service *service = &kv->services[i];
    struct kv_budget_service *s = &kv->budget.services[i];
    CHECK(s->n_units == 0 && service->stats.n_blocks_used == 0);
    kv->budget.n_units_owed -= s->n_units_min;
    kv->budget.n_units_floors -= s->n_units_min;
    mem_give(service->bits_memory);
    *service = (struct kv_service){ .oldest = KV_NONE, .newest = KV_NONE };
    *s = (struct kv_budget_service){ 0 };
    tell_budget(kv);
}

static void open_bits(struct kv *kv)
{
    if (kv->is_counted || kv->is_by_head)
        return;
    kv->bits_memory = mem_take(kv_bits_bytes(kv->n_units_max));
    kv_bits_init(&kv->free, kv->n_units_max, kv->bits_memory);
}

static void open_tables(struct kv *kv)
{
    size_t n = kv->options.n_requests_max;
    kv->sizes = mem_take(n * sizeof(*kv->sizes));
    kv->owners = mem_take(n * sizeof(*kv->owners));
    kv->table_stride =
        (uint32_t)kv_blocks_for(kv->options.n_tokens_max, kv->options.bounds.block_tokens_min);
    if (kv->is_counted)
        return;
    kv->table_bytes = (int64_t)n * kv->table_stride * (int64_t)sizeof(*kv->table_blocks);
    kv->table_blocks = (void *)kv_range_take(kv->table_bytes);
    if (kv->options.is_virtual) /* many are simulated, hardly touched: small pages suffice */
        (void)madvise((void *)kv->table_blocks, (size_t)kv->table_bytes, MADV_NOHUGEPAGE);
    if (kv->options.has_prefix_cache)
        kv->chains = mem_take(n * sizeof(*kv->chains));
}

static void open_units(struct kv *kv)
{
    kv->stride = (uint32_t)kv->options.bounds.blocks_per_unit_max;
    kv->heads.n_blocks_max = kv->n_units_max / (uint32_t)kv->options.bounds.units_per_block_min;
    size_t n_blocks =
        kv->is_by_head ? kv->heads.n_blocks_max : (size_t)kv->n_units_max * kv->stride;
    size_t n_index = n_blocks < INDEX_BLOCKS_MAX ? n_blocks : INDEX_BLOCKS_MAX;
    kv->is_counted = kv->options.may_count && kv->options.is_virtual &&
                     !kv->options.has_prefix_cache && kv->stride == 1;
    kv->oldest_unit = kv->newest_unit = KV_NONE;
    if (!kv->is_counted && !kv->is_by_head) {
        /* Simulated pools are many and hardly used. A real one takes no memory within a step. */
        bool grows = kv->options.is_virtual && kv->n_units_max > UNITS_AT_FIRST;
        kv->n_units_room = grows ? UNITS_AT_FIRST : kv->n_units_max;
        kv->units = mem_take(kv->n_units_room * sizeof(*kv->units));
    }
    if (kv->options.has_prefix_cache)
        kv->blocks = mem_take(n_blocks * sizeof(*kv->blocks));
    map_init(&kv->index, kv->options.has_prefix_cache ? (uint32_t)n_index : 0);
    open_bits(kv);
}

struct kv *kv_open(const struct kv_options *options)
{
    const struct kv_bounds *bounds = &options->bounds;
    CHECK(options->n_services_max > 0 && options->n_services_max <= KV_SERVICES_MAX);
    CHECK(bounds->blocks_per_unit_max > 0 && bounds->blocks_per_unit_max <= KV_UNIT_BLOCKS_MAX);
    CHECK(bounds->block_tokens_min > 0 && bounds->units_per_block_min > 0 &&
          bounds->units_per_block_max <= KV_BLOCK_UNITS_MAX);
    CHECK(options->unit_bytes > 0 && options->pool_bytes <= options->pool_bytes_max);
    CHECK(options->pool_bytes_max <= kv_bytes_most(options->kind, options->unit_bytes));
    struct kv *kv =
        mem_take(offsetof(struct kv, budget) + kv_budget_bytes(options->n_services_max));
    kv->options = *options;
    kv->is_by_head = options->kind == KV_HEADS;
    kv->services = mem_take((size_t)options->n_services_max * sizeof(*kv->services));
    for (int i = 0; i < options->n_services_max; i++)
        kv->services[i].oldest = kv->services[i].newest = KV_NONE;
    kv->n_units_max = (uint32_t)(options->pool_bytes_max / options->unit_bytes);
    kv->range_bytes = kv->n_units_max * options->unit_bytes;
    open_units(kv);
    open_tables(kv);
    if (kv->is_by_head && !kv->is_counted)
        kv_heads_open(kv);
    kv_host_open(kv);
    kv_grow(kv, options->pool_bytes);
    return kv;
}

void kv_close(struct kv *kv)
{
    if (kv == NULL)
        return;
    if (kv->table_blocks != NULL)
        munmap(kv->table_blocks, (size_t)max_i64(kv->table_bytes, 1));
    kv_host_close(kv);
    kv_heads_close(kv);
    map_free(&kv->index);
    for (int i = 0; i < kv->budget.n_services; i++)
        mem_give(kv->services[i].bits_memory);
    mem_give(kv->bits_memory);
    mem_give(kv->sizes);
    mem_give(kv->owners);
    mem_give(kv->chains);
    mem_give(kv->blocks);
    mem_give(kv->units);
    mem_give(kv->services);
    mem_give(kv);
}

int64_t kv_pads(const struct kv *kv, int service, uint32_t *first)
{
    const struct kv_budget_service *s = &kv->budget.services[service];
    *first = kv->n_units_max * (uint32_t)s->blocks_per_unit;
    return kv->options.is_virtual ? 0 : kv_blocks_in(s, kv->options.n_pad_units);
}

enum kv_kind kv_kind(const struct kv *kv)
{
    return kv->options.kind;
}

int64_t kv_range_bytes(const struct kv *kv)
{
    return kv->range_bytes + kv->options.n_pad_units * kv->options.unit_bytes;
}

/* Units below the target are open; those above that are still closing have had memory all along. */
static bool back_open(const struct kv *kv)
{
    return kv->memory.back == NULL ||
           kv->memory.back(kv->memory.self, 0, kv->n_units_target * kv->options.unit_bytes);
}

bool kv_lend(struct kv *kv, const struct kv_memory *memory)
{
    CHECK(!kv->options.is_virtual && kv->memory.back == NULL);
    kv->memory = *memory;
    return back_open(kv) && memory->back(memory->self, kv->range_bytes, kv_range_bytes(kv));
}

int64_t kv_unit_bytes(const struct kv *kv)
{
    return kv->options.unit_bytes;
}

const struct kv_layout *kv_layout(const struct kv *kv, int service)
{
    CHECK(kv_has_service(kv, service));
    return &kv->services[service].layout;
}

const struct kv_budget *kv_budget(const struct kv *kv)
{
    return &kv->budget;
}

static uint32_t *table_of(const struct kv *kv, uint32_t slot)
{
    return kv->table_blocks + (size_t)slot * kv->table_stride;
}

const uint32_t *kv_table(const struct kv *kv, uint32_t slot, int32_t *n_blocks)
{
    CHECK(slot < kv->options.n_requests_max);
    *n_blocks = kv->sizes[slot];
    return kv->is_counted ? NULL : table_of(kv, slot);
}

const int32_t *kv_table_sizes(const struct kv *kv)
{
    return kv->sizes;
}

const uint32_t *kv_table_heads(const struct kv *kv, uint32_t slot, uint32_t *stride)
{
    CHECK(slot < kv->options.n_requests_max);
    *stride = kv->table_stride;
    return kv->heads.tables == NULL
               ? NULL
               : kv->heads.tables + (size_t)slot * kv->heads.n_heads_max * kv->table_stride;
}

int64_t kv_table_bytes(const struct kv *kv, int64_t *most)
{
    *most = kv->n_entries_most * (int64_t)sizeof(uint32_t);
    return kv->n_entries * (int64_t)sizeof(uint32_t);
}

void kv_pool_add_entries(struct kv *kv, int service, int64_t n_blocks)
{
    kv->n_entries += n_blocks * kv->services[service].layout.units_per_block;
    kv->n_entries_most = max_i64(kv->n_entries_most, kv->n_entries);
}

bool kv_pool_is_closing(const struct kv *kv, uint32_t index)
{
    return kv->is_by_head ? kv_heads_is_closing(kv, index)
                          : kv->units[index / kv->stride].is_closing;
}

/* ---- Reservation. ---- */

static void extend(struct kv *kv, int service, uint32_t slot, int64_t n_blocks)
{
    int64_t n = n_blocks - kv->sizes[slot];
    if (n <= 0)
        return;
    CHECK(n_blocks <= kv->table_stride);
    CHECK(kv->sizes[slot] == 0 || kv->owners[slot] == service);
    kv->owners[slot] = (uint16_t)service;
    uint32_t *ids = kv->is_counted ? NULL : table_of(kv, slot) + kv->sizes[slot];
    if (kv->is_by_head && ids != NULL) {
        kv_heads_take(kv, service, ids, (uint32_t)n);
        kv_heads_name(kv, slot, kv->sizes[slot], n_blocks);
    } else if (ids != NULL) {
        kv_pool_take(kv, service, ids, (uint32_t)n);
    }
    if (ids != NULL)
        kv_pool_add_entries(kv, service, n);
    kv->sizes[slot] = (int32_t)n_blocks;
}

/* Returns the first round of a hold (from 1) in which single steps would take a block for it. */
static int32_t first_round(const struct kv_need *need, int32_t block_tokens)
{
    return 1 + (block_tokens - need->n_first % block_tokens) % block_tokens;
}

/* Takes the later rounds of a hold in the order of single steps: by round, then by item. Cutting
 * the hold short and trimming then leaves the very blocks that stepping would have taken. Every
 * item takes a block each block_tokens rounds, so one order of items repeats until all have theirs.
 */
static void extend_by_round(struct kv *kv, int service, const struct kv_need *needs, int n_needs)
{
    int32_t block_tokens = kv->services[service].layout.block_tokens, n_left = 0;
    uint16_t order[LIMIT_BATCH_ITEMS];
    CHECK(n_needs <= LIMIT_BATCH_ITEMS);
    for (int32_t round = 1; round <= block_tokens; round++)
        for (int i = 0; i < n_needs; i++)
            if (first_round(&needs[i], block_tokens) == round)
                order[n_left++] = (uint16_t)i;
    for (int32_t past = 0; n_left > 0; past += block_tokens) {
        int32_t n = n_left;
        n_left = 0;
        for (int32_t k = 0; k < n; k++) {
            const struct kv_need *need = &needs[order[k]];
            int32_t n_tokens = need->n_first + past + first_round(need, block_tokens);
            if (n_tokens > need->n_tokens)
                continue;
            extend(kv, service, need->slot, kv_blocks_for(n_tokens, block_tokens));
            order[n_left++] = order[k];
        }
    }
}

static int64_t blocks_lacking(const struct kv *kv, const struct kv_need *need, int32_t block_tokens)
{
    CHECK(need->slot < kv->options.n_requests_max && need->n_tokens >= 0);
    int64_t n = (int64_t)kv->sizes[need->slot] * block_tokens;
    return n >= need->n_tokens
               ? 0
               : kv_blocks_for(need->n_tokens, block_tokens) - kv->sizes[need->slot];
}

/* A head-wise pool evicts whole blocks, so it may free a few units more than were lacking. */
static bool counts_agree(const struct kv *kv, const struct kv_budget *a, int service)
{
    const struct kv_budget *b = &kv->budget;
    const struct kv_budget_service *s = &a->services[service], *t = &b->services[service];
    return a->n_units_free == b->n_units_free &&
           (a->n_units_cached == b->n_units_cached ||
            (kv->is_by_head && b->n_units_cached < a->n_units_cached)) &&
           a->n_units_owed == b->n_units_owed && s->n_units == t->n_units &&
           s->n_blocks_free == t->n_blocks_free && s->n_blocks_cached == t->n_blocks_cached;
}

bool kv_reserve(struct kv *kv, int service, const struct kv_need *needs, int n_needs)
{
    CHECK(kv_has_service(kv, service));
    int32_t block_tokens = kv->services[service].layout.block_tokens;
    int64_t n = 0;
    bool is_hold = false;
    for (int i = 0; i < n_needs; i++) {
        n += blocks_lacking(kv, &needs[i], block_tokens);
        is_hold |= needs[i].n_first != 0 && needs[i].n_first < needs[i].n_tokens;
    }
    if (n == 0)
        return true;
    struct kv_budget after;
    struct kv_budget *budget = kv->is_counted ? &kv->budget : &after;
    if (!kv->is_counted)
        kv_budget_copy(&after, &kv->budget);
    if (!kv_budget_take(budget, service, n))
        return false;
    if (kv->is_counted) {
        kv->services[service].stats.n_blocks_used += n;
        kv_pool_add_entries(kv, service, n);
    }
    for (int i = 0; i < n_needs; i++) {
        bool is_ahead = needs[i].n_first != 0 && !kv->is_counted;
        int32_t n_tokens =
            is_ahead ? min_i32(needs[i].n_first, needs[i].n_tokens) : needs[i].n_tokens;
        extend(kv, service, needs[i].slot, kv_blocks_for(n_tokens, block_tokens));
    }
    if (is_hold && !kv->is_counted)
        extend_by_round(kv, service, needs, n_needs);
    CHECK(kv->is_counted || counts_agree(kv, budget, service));
    return true;
}

/* Drops the last block first, so that the tail of a cached prefix is evicted before its head. */
static void shorten(struct kv *kv, uint32_t slot, int64_t n_blocks)
{
    int64_t n = kv->sizes[slot] - n_blocks;
    if (n <= 0)
        return;
    kv->sizes[slot] = (int32_t)n_blocks;
    if (kv->is_counted) {
        kv_count_put(kv, kv->owners[slot], n);
        return;
    }
    kv_pool_add_entries(kv, kv->owners[slot], -n);
    if (kv->is_by_head)
        kv_heads_put_all(kv, table_of(kv, slot) + n_blocks, (uint32_t)n);
    else
        kv_pool_put_all(kv, kv->owners[slot], table_of(kv, slot) + n_blocks, (uint32_t)n);
}

void kv_release(struct kv *kv, uint32_t slot)
{
    CHECK(slot < kv->options.n_requests_max);
    shorten(kv, slot, 0);
    if (kv->chains != NULL)
        kv->chains[slot].n_named = 0;
}

void kv_trim(struct kv *kv, uint32_t slot, int32_t n_tokens)
{
    CHECK(slot < kv->options.n_requests_max && n_tokens >= 0);
    if (kv->sizes[slot] == 0)
        return; /* its owner may have left the pool */
    int32_t block_tokens = kv->services[kv->owners[slot]].layout.block_tokens;
    CHECK(kv->chains == NULL || n_tokens / block_tokens >= (int32_t)kv->chains[slot].n_named);
    if ((int64_t)(kv->sizes[slot] - 1) * block_tokens >= n_tokens)
        shorten(kv, slot, kv_blocks_for(n_tokens, block_tokens));
}

/* ---- Growing and shrinking. ---- */

int64_t kv_open_bytes(const struct kv *kv)
{
    return ((int64_t)kv->n_units_target + kv->n_units_closing) * kv->options.unit_bytes;
}

static bool is_closed(const struct kv *kv, uint32_t u)
{
    return (kv->is_by_head ? kv->heads.states[u] : kv->units[u].state) == KV_UNIT_CLOSED;
}

/* Hands back the memory between the units that are still held. */
static void forget_closed(const struct kv *kv)
{
    int64_t unit_bytes = kv->options.unit_bytes;
    uint32_t from = kv->n_units_target, left = kv->n_units_closing;
    if (kv->memory.drop == NULL)
        return;
    for (uint32_t u = from; left > 0; u++) {
        if (is_closed(kv, u))
            continue;
        kv->memory.drop(kv->memory.self, from * unit_bytes, u * unit_bytes);
        from = u + 1;
        left--;
    }
    kv->memory.drop(kv->memory.self, from * unit_bytes, kv->range_bytes);
}

static void open_some(struct kv *kv, int64_t n_opens)
{
    for (uint32_t u = kv->n_units_target; u < kv->n_units_used; u = ++kv->n_units_target) {
        if (kv->units[u].state != KV_UNIT_CLOSED)
            kv_pool_keep_unit(kv, u);
        else if (n_opens-- > 0)
            kv_pool_open_unit(kv, u);
        else
            return;
    }
    n_opens = min_i64(max_i64(n_opens, 0), kv->n_units_max - kv->n_units_target);
    kv->n_units_target += (uint32_t)n_opens;
    kv->budget.n_units_free += n_opens;
}

int64_t kv_most_blocks(const struct kv *kv, int service, int64_t n_units_open)
{
    struct kv_budget budget;
    if (kv->options.kind != KV_PRIVATE)
        return kv_budget_most_of(&kv->budget, service, n_units_open);
    kv_budget_copy(&budget, &kv->budget);
    budget.n_units_open = n_units_open;
    cut_parts(kv, &budget);
    return kv_budget_most_blocks(&budget, service);
}

int64_t kv_grow(struct kv *kv, int64_t n_bytes)
{
    int64_t before = kv_open_bytes(kv), n_opens = n_bytes / kv->options.unit_bytes;
    if (kv->is_counted)
        kv_count_grow(kv, n_opens);
    else if (kv->is_by_head)
        kv_heads_grow(kv, n_opens);
    else
        open_some(kv, n_opens);
    tell_budget(kv);
    if (kv->n_units_closed > 0)
        forget_closed(kv);
    kv->n_units_closed = 0;
    if (!back_open(kv)) /* what was opened is free, and closes at once */
        (void)kv_shrink(kv, kv_open_bytes(kv) - before);
    return kv_open_bytes(kv) - before;
}

int64_t kv_shrink(struct kv *kv, int64_t n_bytes)
{
    int64_t unit_bytes = kv->options.unit_bytes;
    int64_t n = div_up_i64(max_i64(n_bytes, 0), unit_bytes) - kv->n_units_closing;
    if (kv->is_counted)
        kv_count_shrink(kv, n);
    else if (kv->is_by_head)
        kv_heads_shrink(kv, n);
    for (; n > 0 && kv->n_units_target > 0 && kv->units != NULL; n--)
        kv_pool_close_unit(kv, --kv->n_units_target);
    tell_budget(kv);
    int64_t closed = kv->n_units_closed * unit_bytes;
    kv->n_units_closed = 0;
    if (closed > 0)
        forget_closed(kv);
    return closed;
}

uint32_t kv_busy_closing(const struct kv *kv)
{
    if (kv->n_units_closing == 0)
        return KV_NONE;
    for (uint32_t slot = 0; slot < kv->options.n_requests_max; slot++) {
        if (kv->is_counted && kv->sizes[slot] > 0)
            return slot; /* whatever it gives back closes */
        for (int32_t i = 0; i < kv->sizes[slot] && !kv->is_counted; i++) {
            uint32_t index = kv_pool_index(kv, kv->owners[slot], table_of(kv, slot)[i]);
            if (kv_pool_is_closing(kv, index))
                return slot;
        }
    }
    return KV_NONE;
}

void kv_stats(const struct kv *kv, int service, struct kv_stats *out)
{
    CHECK(kv_has_service(kv, service));
    *out = kv->services[service].stats;
    out->n_units = kv->budget.services[service].n_units;
}
