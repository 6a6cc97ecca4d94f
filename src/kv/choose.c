/* The unit of a pool and the cut of each of its services, by the kind of pool. */
#include "kv/cut.h"
#include "kv/kind.h"

#include "kv/ledger.h"
#include <string.h>

enum { UNIT_ALIGN = 64 };

int64_t kv_choose_heads(int n_services, const struct kv_shape *shapes, struct kv_layout *layouts,
                        double *waste)
{
    CHECK(n_services > 0 && n_services <= KV_SERVICES_MAX);
    int64_t unit_bytes = 0;
    *waste = 0;
    for (int i = 0; i < n_services; i++) {
        int64_t head_bytes = div_up_i64(shapes[i].bytes_per_token, kv_cut_heads_of(&shapes[i]));
        CHECK(head_bytes > 0);
        unit_bytes = max_i64(unit_bytes, KV_CUT_HEAD_TOKENS * head_bytes);
    }
    unit_bytes = (int64_t)align_up_u64((uint64_t)unit_bytes, UNIT_ALIGN);
    for (int i = 0; i < n_services; i++) {
        int64_t n_heads = kv_cut_heads_of(&shapes[i]), bytes = shapes[i].bytes_per_token;
        int64_t n_tokens = unit_bytes / div_up_i64(bytes, n_heads);
        n_tokens = min_i64(n_tokens / KV_CUT_HEAD_TOKENS_STEP * KV_CUT_HEAD_TOKENS_STEP,
                           KV_CUT_HEAD_TOKENS_MAX);
        layouts[i] =
            (struct kv_layout){ bytes, (int32_t)n_tokens, 1, n_tokens * bytes, (int32_t)n_heads };
        double lost = 1 - (double)(n_tokens * bytes) / (double)(unit_bytes * n_heads);
        *waste = lost > *waste ? lost : *waste;
    }
    return unit_bytes;
}

int64_t kv_choose(enum kv_kind kind, int n_services, const struct kv_shape *shapes,
                  int64_t unit_bytes_max, struct kv_layout *layouts, double *waste)
{
    int64_t bytes_per_token[KV_SERVICES_MAX];
    if (kind == KV_HEADS)
        return kv_choose_heads(n_services, shapes, layouts, waste);
    CHECK(n_services > 0 && n_services <= KV_SERVICES_MAX);
    for (int i = 0; i < n_services; i++)
        bytes_per_token[i] = shapes[i].bytes_per_token;
    return kv_choose_layout(n_services, bytes_per_token, unit_bytes_max, layouts, waste);
}
