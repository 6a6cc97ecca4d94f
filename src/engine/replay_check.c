/* Checks whether an engine could have these options and this mail. See replay_check.h. */
#include "engine/replay_check.h"

#include "core/coefficients.h"
#include "core/request.h"
#include "core/service.h"

#include <string.h>

#define BYTES_MAX (INT64_C(1) << 50) /* of anything that a log counts in bytes */

bool engine_replay_check_bytes(int64_t n)
{
    return n >= 0 && n <= BYTES_MAX;
}

static const char *check_layout(const struct kv_layout *layout, uint32_t kind, int64_t unit_bytes)
{
    if (layout->units_per_block < 0 || layout->units_per_block > KV_BLOCK_UNITS_MAX ||
        (kind == KV_HEADS ? layout->blocks_per_unit != 1 : layout->units_per_block > 1))
        return "units and blocks that this kind of pool has not";
    if (unit_bytes > BYTES_MAX / max_i32(layout->units_per_block, 1))
        return "a block of more bytes than any memory has";
    unit_bytes *= max_i32(layout->units_per_block, 1);
    if (layout->block_tokens <= 0 || layout->block_tokens > LIMIT_CONTEXT ||
        layout->blocks_per_unit <= 0 || layout->blocks_per_unit > KV_UNIT_BLOCKS_MAX ||
        layout->bytes_per_token <= 0 ||
        layout->bytes_per_token > unit_bytes / layout->block_tokens ||
        layout->block_bytes != layout->bytes_per_token * layout->block_tokens ||
        layout->block_bytes > unit_bytes / layout->blocks_per_unit)
        return "a layout of blocks that does not fit its unit";
    return NULL;
}

const char *engine_replay_check_opened(const struct engine_log_opened *o)
{
    if (memcmp(o->magic, "shoalog", 8) != 0)
        return "this is no log of an engine";
    if (o->version != ENGINE_LOG_VERSION || o->request_bytes != sizeof(struct request) ||
        o->perf_bytes != sizeof(struct perf) || o->spec_bytes != sizeof(struct service_spec) ||
        o->layout_bytes != sizeof(struct kv_layout) ||
        o->config_bytes != sizeof(struct schedule_config))
        return "it was recorded by another version of shoal";
    if (o->n_services <= 0 || o->n_services_max < o->n_services ||
        o->n_services_max > LIMIT_SERVICES || o->n_lanes <= 0 || o->n_lanes > LIMIT_LANES ||
        o->n_requests_max == 0 || o->n_requests_max > 1u << 24 || o->n_tokens_max <= 0 ||
        o->n_tokens_max > LIMIT_CONTEXT)
        return "options out of range";
    if (!engine_replay_check_bytes(o->memory_bytes) ||
        !engine_replay_check_bytes(o->kv_bytes_max) || !engine_replay_check_bytes(o->swap_bytes) ||
        !engine_replay_check_bytes(o->swap_bytes_per_s) || o->kv_unit_bytes <= 0 ||
        !engine_replay_check_bytes(o->kv_unit_bytes) || o->kv_kind >= KV_KINDS ||
        o->memory_bytes > kv_bytes_most((enum kv_kind)o->kv_kind, o->kv_unit_bytes) ||
        (!o->is_virtual && (o->body_bytes < 4096 || o->body_bytes > INT64_C(1) << 36)))
        return "bytes out of range";
    const struct kv_bounds *b = &o->kv_bounds;
    if (b->block_tokens_min < 1 || b->blocks_per_unit_max < 1 ||
        b->blocks_per_unit_max > KV_UNIT_BLOCKS_MAX || b->units_per_block_min < 1 ||
        b->units_per_block_max < b->units_per_block_min ||
        b->units_per_block_max > KV_BLOCK_UNITS_MAX || b->page_bytes < 1 ||
        !engine_replay_check_bytes(b->page_bytes))
        return "bounds of layouts that no pool can have";
    return NULL;
}

/* Numbers that a policy can reckon with. */
const char *engine_replay_check_config(const struct schedule_config *config)
{
    return schedule_config_is_sound(config) ? NULL : "thresholds that no policy can have";
}

/* Returns about how much memory the engine will take. */
int64_t engine_replay_check_memory(const struct engine_log_opened *o)
{
    int64_t n_requests = o->n_requests_max, stride = o->kv_bounds.blocks_per_unit_max;
    int64_t n_blocks = o->n_tokens_max / o->kv_bounds.block_tokens_min + 1;
    int64_t n_units = o->memory_bytes / o->kv_unit_bytes + 1;
    if (o->is_virtual && !o->has_prefix_cache && stride == 1)
        n_units = 1; /* that pool only counts */
    int64_t per_request = 1024 + 4 * o->n_services_max + 4 * n_blocks;
    if (!o->is_virtual)
        per_request += 4 * (int64_t)sizeof(struct token_logprobs);
    n_units += o->swap_bytes / 256 / (64 + stride * 64) + 1; /* its pages, were blocks tiny */
    return n_requests * per_request + n_units * (64 + stride * 64) +
           (o->is_virtual ? 0 : o->body_bytes + o->body_bytes / 4);
}

const char *engine_replay_check_service(const struct engine_log_opened *o,
                                        const struct service_spec *spec,
                                        const struct kv_layout *layout)
{
    const char *problem = check_layout(layout, o->kv_kind, o->kv_unit_bytes);
    if (problem == NULL)
        problem = kv_cut_refuse((enum kv_kind)o->kv_kind, &o->kv_bounds, o->kv_unit_bytes, layout);
    if (problem != NULL)
        return problem;
    if (spec->name[LIMIT_NAME_BYTES - 1] != '\0' ||
        !engine_replay_check_bytes(spec->kv_bytes_min) ||
        !engine_replay_check_bytes(spec->kv_bytes_max) ||
        !engine_replay_check_bytes(spec->kv_quota_bytes) || spec->share_percent < 0 ||
        spec->share_percent > 100 || spec->n_context_max < 0 ||
        spec->speculation >= SPECULATION_KINDS)
        return "a service that can't be";
    return NULL;
}

const char *engine_replay_check_services(const struct engine_log_opened *o,
                                         const struct service_spec *specs,
                                         const struct kv_layout *layouts)
{
    for (int32_t i = 0; i < o->n_services; i++) {
        const char *problem = engine_replay_check_service(o, &specs[i], &layouts[i]);
        if (problem != NULL)
            return problem;
    }
    return NULL;
}

bool engine_replay_check_perf(const struct perf *perf)
{
    return coefficients_are_sane(perf) && perf->prefill_scale > 0 && perf->decode_scale > 0;
}
