/* The host tier: it keeps the KV of preempted requests until they come back.
 *
 * A bounded range of host memory, which the executor has, cut into pages that hold one block of the
 * largest shape, or several of smaller ones. A request's pages are a list through `next`. */
#include "kv/host.h"

#include "kv/pool.h"

#include "base/mem.h"

void kv_host_open(struct kv *kv)
{
    struct kv_host *host = &kv->host;
    host->page_bytes = kv->options.bounds.page_bytes;
    int64_t n_pages = min_i64(kv->options.host_bytes / max_i64(host->page_bytes, 1), KV_NONE - 1);
    host->first_free = KV_NONE;
    if (n_pages <= 0)
        return;
    host->n_pages = host->n_free = (uint32_t)n_pages;
    host->next = mem_take(host->n_pages * sizeof(*host->next));
    host->held =
        mem_take(((size_t)kv->options.n_requests_max + kv->options.n_keeps) * sizeof(*host->held));
    for (uint32_t page = host->n_pages; page-- > 0;) {
        host->next[page] = host->first_free;
        host->first_free = page;
    }
}

void kv_host_close(struct kv *kv)
{
    mem_give(kv->host.next);
    mem_give(kv->host.held);
}

int64_t kv_host_bytes(const struct kv *kv)
{
    return kv->host.n_pages * kv->host.page_bytes;
}

int64_t kv_host_free_bytes(const struct kv *kv)
{
    return kv->host.n_free * kv->host.page_bytes;
}

/* Blocks of the service that one page holds. */
static int64_t blocks_per_page(const struct kv *kv, int service)
{
    return kv->host.page_bytes / kv->services[service].layout.block_bytes;
}

bool kv_host_take(struct kv *kv, int service, uint32_t slot, int32_t n_tokens)
{
    int64_t n_blocks = kv_blocks_for(n_tokens, kv->services[service].layout.block_tokens);
    return kv_host_take_some(kv, service, slot, 0, (int32_t)n_blocks);
}

bool kv_host_take_some(struct kv *kv, int service, uint32_t slot, int32_t from, int32_t n_blocks)
{
    struct kv_host *host = &kv->host;
    if (host->n_pages == 0 || blocks_per_page(kv, service) == 0)
        return false;
    int64_t n_pages = div_up_i64(n_blocks, blocks_per_page(kv, service));
    CHECK(slot < kv->options.n_requests_max && host->held[slot].n_blocks == 0 && n_blocks > 0);
    if (n_pages > host->n_free)
        return false;
    uint32_t last = KV_NONE;
    host->held[slot] =
        (struct kv_host_held){ (uint32_t)n_blocks, host->first_free, (uint32_t)from };
    for (int64_t i = 0; i < n_pages; i++) {
        last = host->first_free;
        host->first_free = host->next[last];
    }
    host->next[last] = KV_NONE;
    host->n_free -= (uint32_t)n_pages;
    return true;
}

void kv_host_put(struct kv *kv, uint32_t slot)
{
    struct kv_host *host = &kv->host;
    if (host->n_pages == 0 || host->held[slot].n_blocks == 0)
        return;
    for (uint32_t page = host->held[slot].first, next; page != KV_NONE; page = next) {
        next = host->next[page];
        host->next[page] = host->first_free;
        host->first_free = page;
        host->n_free++;
    }
    host->held[slot] = (struct kv_host_held){ 0, KV_NONE, 0 };
}

void kv_host_move(struct kv *kv, uint32_t from, uint32_t to)
{
    struct kv_host_held *held = kv->host.held;
    CHECK(to < kv->options.n_requests_max + kv->options.n_keeps && held[to].n_blocks == 0);
    held[to] = held[from];
    held[from] = (struct kv_host_held){ 0, KV_NONE, 0 };
}

struct kv_host_view kv_host_view(const struct kv *kv, int service, uint32_t row)
{
    return (struct kv_host_view){ .next = kv->host.next,
                                  .page = kv->host.held[row].first,
                                  .n_blocks = (int32_t)kv->host.held[row].n_blocks,
                                  .per_page = (int32_t)blocks_per_page(kv, service),
                                  .page_bytes = kv->host.page_bytes,
                                  .block_bytes = kv->services[service].layout.block_bytes };
}

int64_t kv_host_view_next(struct kv_host_view *view)
{
    if (view->at == view->n_blocks)
        return -1;
    if (view->at > 0 && view->at % view->per_page == 0)
        view->page = view->next[view->page];
    return view->page * view->page_bytes + view->at++ % view->per_page * view->block_bytes;
}

/* Returns the offset in the pool of part k of block i of the slot's table. */
static int64_t part_at(const struct kv *kv, uint32_t slot, int64_t i, int64_t k)
{
    const struct kv_layout *layout = &kv->services[kv->owners[slot]].layout;
    uint32_t stride, per_unit = (uint32_t)layout->blocks_per_unit;
    const uint32_t *heads = kv_table_heads(kv, slot, &stride);
    int32_t n_blocks;
    const uint32_t *blocks = kv_table(kv, slot, &n_blocks);
    CHECK(i < n_blocks);
    if (heads != NULL)
        return heads[k * stride + i] * kv->options.unit_bytes;
    return blocks[i] / per_unit * kv->options.unit_bytes +
           blocks[i] % per_unit * layout->block_bytes;
}

int32_t kv_host_parts(const struct kv *kv, uint32_t slot, bool is_out, int64_t first,
                      struct copy_part *parts, int32_t n_max)
{
    const struct kv_host *host = &kv->host;
    int service = kv->owners[slot];
    const struct kv_layout *layout = &kv->services[service].layout;
    int64_t n_parts = layout->units_per_block, part_bytes = layout->block_bytes / n_parts;
    int64_t per_page = blocks_per_page(kv, service), n_all = host->held[slot].n_blocks * n_parts;
    uint32_t page = host->held[slot].first;
    int32_t n = 0;
    for (int64_t i = 0; i < first / n_parts / per_page && first < n_all; i++)
        page = host->next[page];
    for (int64_t at = first; at < n_all && n < n_max; at++, n++) {
        int64_t i = at / n_parts, k = at % n_parts;
        int64_t here = part_at(kv, slot, i + host->held[slot].from, k);
        int64_t there =
            page * host->page_bytes + i % per_page * layout->block_bytes + k * part_bytes;
        parts[n] = (struct copy_part){ is_out ? here : there, is_out ? there : here, part_bytes };
        if (i % per_page == per_page - 1 && k == n_parts - 1)
            page = host->next[page];
    }
    return n;
}
