/* Opening a pool, services that join and leave it, and its properties. The kinds of pool are below:
 * pool.c (merged), heads.c (head-wise), count.c (either, counted). */
#include "kv/kv.h"
#include "base/mem.h"
#include "kv/parts.h"
#include "kv/pool.h"
#include "kv/range.h"
#include <sys/mman.h>

enum { INDEX_BLOCKS_MAX = 1 << 20, UNITS_AT_FIRST = 256 };

static int64_t quota_units(int64_t n_bytes, int64_t unit_bytes, bool is_floor)
{
    return is_floor ? div_up_i64(max_i64(n_bytes, 0), unit_bytes)
                    : (n_bytes > 0 ? n_bytes / unit_bytes : INT32_MAX);
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
    kv_parts_tell(kv);
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
    kv_parts_tell(kv);
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

int64_t kv_aside(const struct kv *kv, int service, uint32_t *first)
{
    const struct kv_budget_service *s = &kv->budget.services[service];
    *first = kv->n_units_max * (uint32_t)s->blocks_per_unit;
    return kv->options.is_virtual ? 0 : kv_blocks_in(s, kv->options.n_units_aside);
}

enum kv_kind kv_kind(const struct kv *kv)
{
    return kv->options.kind;
}

int64_t kv_range_bytes(const struct kv *kv)
{
    return kv->range_bytes + kv->options.n_units_aside * kv->options.unit_bytes;
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

void kv_stats(const struct kv *kv, int service, struct kv_stats *out)
{
    CHECK(kv_has_service(kv, service));
    *out = kv->services[service].stats;
    out->n_units = kv->budget.services[service].n_units;
}
