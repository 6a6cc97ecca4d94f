/* The host tier: room in host memory for the KV of preempted requests, until they come back. The
 * tier hands out offsets; the executor has the memory and copies. */
#pragma once
#include "core/copy.h"
#include "kv/kv.h"

/* Takes room for the blocks of the slot's first n_tokens positions. Returns false when there is too
 * little. */
bool kv_host_take(struct kv *kv, int service, uint32_t slot, int32_t n_tokens) MUST_USE;
/* The same, for n_blocks blocks of its table from block `from` on. */
bool kv_host_take_some(struct kv *kv, int service, uint32_t slot, int32_t from,
                       int32_t n_blocks) MUST_USE;
void kv_host_put(struct kv *kv, uint32_t slot); /* gives it back, if it has any */
/* Lists the copies out of, or into, the blocks of the slot's table that it has room for. Fills
 * parts with up to n_max of them from part `first` on, and returns how many. Offsets are in the
 * pool's range and in the host tier's (kv_host_bytes). */
int32_t kv_host_parts(const struct kv *kv, uint32_t slot, bool is_out, int64_t first,
                      struct copy_part *parts, int32_t n_max);
/* Moves all that the row has to an empty one. Rows are the slots of requests, and behind them
 * (n_requests_max on) n_keeps that belong to no request, for KV that outlives its request here. */
void kv_host_move(struct kv *kv, uint32_t from, uint32_t to);
/* The places of a row's blocks, one after the other. They are constant while the row keeps them,
 * so that another thread may look. */
struct kv_host_view {
    const uint32_t *next;
    uint32_t page;
    int32_t at, n_blocks, per_page;
    int64_t page_bytes, block_bytes;
};
struct kv_host_view kv_host_view(const struct kv *kv, int service, uint32_t row);
/* Returns the next block's offset in the host tier; -1: there is none. */
int64_t kv_host_view_next(struct kv_host_view *view);
int64_t kv_host_bytes(const struct kv *kv); /* 0: there is no host tier */
int64_t kv_host_free_bytes(const struct kv *kv);
