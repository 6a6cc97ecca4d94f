/* Prints the reports of engines: per service (summed over engines) and per engine. */
#include "metrics/print.h"
#include <string.h>

void metrics_print_name(struct str *out, const char *name, const char *help, const char *type)
{
    str_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_print_label(struct str *out, char before, const char *label, const char *value)
{
    str_add_char(out, before);
    str_printf(out, "%s=\"", label);
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"')
            str_add_char(out, '\\');
        if (*value == '\n')
            str_add_text(out, "\\n");
        else
            str_add_char(out, *value);
    }
    str_add_char(out, '"');
}

enum width { BYTE, INT32, INT64 };
struct field {
    const char *name, *help, *type;
    size_t at; /* in the report */
    enum width width;
    double scale; /* 0 = 1 */
};
static const struct field service_fields[] = {
    { "vllm:num_requests_running", "Requests being computed.", "gauge",
      offsetof(struct service_report, n_running), INT32, 0 },
    { "vllm:num_requests_waiting", "Requests waiting.", "gauge",
      offsetof(struct service_report, n_waiting), INT32, 0 },
    { "vllm:prefix_cache_queries_total", "Prompt tokens looked up.", "counter",
      offsetof(struct service_report, n_prefix_queries), INT64, 0 },
    { "vllm:prefix_cache_hits_total", "Prompt tokens found.", "counter",
      offsetof(struct service_report, n_prefix_hits), INT64, 0 },
    { "vllm:num_preemptions_total", "Preemptions.", "counter",
      offsetof(struct service_report, n_preempted), INT64, 0 },
    { "vllm:spec_decode_num_drafts_total", "Rounds of a request that verified drafts.", "counter",
      offsetof(struct service_report, n_drafts), INT64, 0 },
    { "vllm:spec_decode_num_draft_tokens_total", "Drafts that were verified.", "counter",
      offsetof(struct service_report, n_drafted), INT64, 0 },
    { "vllm:spec_decode_num_accepted_tokens_total", "Drafts that were accepted.", "counter",
      offsetof(struct service_report, n_accepted), INT64, 0 },
    { "shoal_swapped_total", "Preemptions whose KV went to host memory.", "counter",
      offsetof(struct service_report, n_swapped), INT64, 0 },
    { "shoal_kv_kept_total", "Requests whose KV was kept for another engine.", "counter",
      offsetof(struct service_report, n_kept), INT64, 0 },
    { "shoal_kv_handed_over_total", "Requests that came with their KV.", "counter",
      offsetof(struct service_report, n_handed), INT64, 0 },
    { "shoal_kv_handed_over_lost_total",
      "Requests whose KV did not come or did not match: computed again.", "counter",
      offsetof(struct service_report, n_handed_lost), INT64, 0 },
    { "shoal_kv_disk_tokens_total", "Tokens whose KV came from disk.", "counter",
      offsetof(struct service_report, n_disk_tokens), INT64, 0 },
    { "shoal_kv_disk_lost_total",
      "Requests whose KV on disk was damaged, gone or late: computed again.", "counter",
      offsetof(struct service_report, n_disk_lost), INT64, 0 },
    { "shoal_pad_tokens_total", "Pads of padded batches that were computed.", "counter",
      offsetof(struct service_report, n_pad_tokens), INT64, 0 },
    { "shoal_invalid_tokens_total", "Tokens computed for members of a batch that had ended.",
      "counter", offsetof(struct service_report, n_invalid_tokens), INT64, 0 },
    { "shoal_exceeded_total", "Requests that generated more than was predicted.", "counter",
      offsetof(struct service_report, n_exceeded), INT64, 0 },
    { "shoal_forced_total", "Batches that went before all others for a request that starved.",
      "counter", offsetof(struct service_report, n_forced), INT64, 0 },
    { "shoal_weights_bytes", "Weights in memory.", "gauge",
      offsetof(struct service_report, weights_bytes), INT64, 0 },
    { "shoal_sleep_bytes", "Packed weights of a sleeping model in host memory.", "gauge",
      offsetof(struct service_report, sleep_bytes), INT64, 0 },
    { "shoal_wakes_total", "Loads of a model that slept.", "counter",
      offsetof(struct service_report, n_wakes), INT32, 0 },
    { "shoal_load_seconds", "Time that the last load packed or copied weights.", "gauge",
      offsetof(struct service_report, load_ns), INT64, 1e-9 },
    { "shoal_load_copy_share",
      "Bytes a second of the last load, over those of a plain copy to the device; 0: unknown.",
      "gauge", offsetof(struct service_report, copy_permille), INT32, 1e-3 },
    { "shoal_activation_bytes", "Reserved for activations.", "gauge",
      offsetof(struct service_report, activation_bytes), INT64, 0 },
    { "shoal_kv_used_bytes", "KV that requests hold.", "gauge",
      offsetof(struct service_report, kv_used_bytes), INT64, 0 },
    { "shoal_kv_held_bytes", "Units of the KV pool that requests hold.", "gauge",
      offsetof(struct service_report, kv_held_bytes), INT64, 0 },
    { "shoal_kv_quota_bytes", "Bytes of the KV pool that the policy gives it; 0: it has no quotas.",
      "gauge", offsetof(struct service_report, kv_quota_bytes), INT64, 0 },
    { "shoal_kv_cached_bytes", "KV kept for later prompts.", "gauge",
      offsetof(struct service_report, kv_cached_bytes), INT64, 0 },
    { "shoal_remaining_seconds", "Predicted work of all requests.", "gauge",
      offsetof(struct service_report, remaining_ns), INT64, 1e-9 },
};
static const struct field engine_fields[] = {
    { "shoal_engine_healthy", "1 while it works.", "gauge",
      offsetof(struct engine_report, is_healthy), BYTE, 0 },
    { "shoal_engine_down", "1 while its process has ended and another one starts.", "gauge",
      offsetof(struct engine_report, is_down), BYTE, 0 },
    { "shoal_engine_restarts_total", "Processes started anew after one had ended.", "counter",
      offsetof(struct engine_report, n_restarts), INT32, 0 },
    { "shoal_engine_steps_total", "Batches committed.", "counter",
      offsetof(struct engine_report, n_steps), INT64, 0 },
    { "shoal_engine_step_seconds_total", "Time in batches.", "counter",
      offsetof(struct engine_report, step_ns), INT64, 1e-9 },
    { "shoal_engine_host_seconds_total", "The engine's own time between batches.", "counter",
      offsetof(struct engine_report, host_ns), INT64, 1e-9 },
    { "shoal_engine_requests", "Requests held.", "gauge",
      offsetof(struct engine_report, n_requests), INT32, 0 },
    { "shoal_engine_memory_bytes", "Memory of its device group.", "gauge",
      offsetof(struct engine_report, memory_bytes), INT64, 0 },
    { "shoal_engine_kv_table_bytes", "Block tables of all requests.", "gauge",
      offsetof(struct engine_report, kv_table_bytes), INT64, 0 },
    { "shoal_engine_kv_pool_bytes", "The KV pool.", "gauge",
      offsetof(struct engine_report, kv_pool_bytes), INT64, 0 },
    { "shoal_engine_kv_free_bytes", "Free in the KV pool.", "gauge",
      offsetof(struct engine_report, kv_free_bytes), INT64, 0 },
    { "shoal_engine_kv_disk_bytes", "Blocks of KV on disk.", "gauge",
      offsetof(struct engine_report, disk_bytes), INT64, 0 },
    { "shoal_engine_kv_disk_written_total", "Blocks of KV written to disk.", "counter",
      offsetof(struct engine_report, n_disk_written), INT64, 0 },
    { "shoal_engine_kv_disk_read_total", "Blocks of KV read from disk.", "counter",
      offsetof(struct engine_report, n_disk_read), INT64, 0 },
    { "shoal_engine_kv_disk_evicted_total", "Blocks of KV on disk that left for others.", "counter",
      offsetof(struct engine_report, n_disk_evicted), INT64, 0 },
    { "shoal_engine_kv_disk_dropped_total", "Blocks of KV on disk that were damaged.", "counter",
      offsetof(struct engine_report, n_disk_dropped), INT64, 0 },
    { "shoal_engine_kv_disk_failed_total", "Blocks that the disk refused to write or read.",
      "counter", offsetof(struct engine_report, n_disk_failed), INT64, 0 },
};

static double value_of(const struct field *field, const void *report)
{
    const char *at = (const char *)report + field->at;
    int32_t narrow;
    int64_t wide;
    double value = (unsigned char)*at;
    if (field->width == INT32) {
        memcpy(&narrow, at, sizeof(narrow));
        value = narrow;
    } else if (field->width == INT64) {
        memcpy(&wide, at, sizeof(wide));
        value = (double)wide;
    }
    return field->scale != 0 ? value * field->scale : value;
}

/* Prints the pool. It is one for all models, so its fill is every model's. Capacity is in
 * tokens. */
static void print_pool(const struct engine_report *engines, int n_engines, int n_services,
                       const char (*names)[LIMIT_NAME_BYTES], struct str *out)
{
    int64_t pool = 0, free_bytes = 0;
    for (int e = 0; e < n_engines; e++) {
        pool += engines[e].kv_pool_bytes;
        free_bytes += engines[e].kv_free_bytes;
    }
    metrics_print_name(out, "vllm:kv_cache_usage_perc", "Share of the KV pool in use, 0 to 1.",
                       "gauge");
    for (int s = 0; s < n_services; s++) {
        if (names[s][0] == '\0')
            continue;
        str_add_text(out, "vllm:kv_cache_usage_perc");
        metrics_print_label(out, '{', "model_name", names[s]);
        str_printf(out, "} %.6g\n", pool > 0 ? (double)(pool - free_bytes) / (double)pool : 0);
    }
    metrics_print_name(out, "vllm:cache_config_info", "The KV pool in blocks of one token.",
                       "gauge");
    for (int s = 0; s < n_services; s++) {
        int64_t per_token = 0;
        if (names[s][0] == '\0')
            continue;
        for (int e = 0; e < n_engines; e++)
            if (s < engines[e].n_services)
                per_token = max_i64(per_token, engines[e].services[s].kv_bytes_per_token);
        str_add_text(out, "vllm:cache_config_info");
        metrics_print_label(out, '{', "model_name", names[s]);
        str_printf(out, ",block_size=\"1\",num_gpu_blocks=\"%lld\"} 1\n",
                   (long long)(per_token > 0 ? pool / per_token : 0));
    }
}

/* Prints shares by engine, since parts of different pools are not comparable. */
static void print_shares(const struct engine_report *engines, int n_engines, int n_services,
                         const char (*names)[LIMIT_NAME_BYTES], struct str *out)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } fields[] = {
        { "shoal_kv_share", "Part of the KV that all models hold there.",
          offsetof(struct service_report, kv_share) },
        { "shoal_kv_r", "That part over the model's due (MuxServe's R): 1 is fair.",
          offsetof(struct service_report, kv_r) },
    };
    for (size_t f = 0; f < COUNT_OF(fields); f++) {
        metrics_print_name(out, fields[f].name, fields[f].help, "gauge");
        for (int s = 0; s < n_services; s++)
            for (int e = 0; e < n_engines; e++) {
                double value;
                if (s >= engines[e].n_services || names[s][0] == '\0')
                    continue;
                memcpy(&value, (const char *)&engines[e].services[s] + fields[f].offset,
                       sizeof(value));
                str_add_text(out, fields[f].name);
                metrics_print_label(out, '{', "model_name", names[s]);
                str_printf(out, ",engine=\"%d\"} %.6g\n", engines[e].engine, value);
            }
    }
}

static void print_states(const struct engine_report *engines, int n_engines, int n_services,
                         const char (*names)[LIMIT_NAME_BYTES], struct str *out)
{
    metrics_print_name(out, "shoal_model_status", "1 for the model's state at the engine.",
                       "gauge");
    for (int s = 0; s < n_services; s++)
        for (int e = 0; e < n_engines; e++) {
            if (s >= engines[e].n_services || names[s][0] == '\0')
                continue;
            str_add_text(out, "shoal_model_status");
            metrics_print_label(out, '{', "model_name", names[s]);
            str_printf(out, ",engine=\"%d\"", engines[e].engine);
            enum service_status status = (enum service_status)engines[e].services[s].status;
            metrics_print_label(out, ',', "status", service_status_name(status));
            str_add_text(out, "} 1\n");
        }
}

void metrics_print_engines(const struct engine_report *engines, int n_engines, int n_services,
                           const char (*names)[LIMIT_NAME_BYTES], struct str *out)
{
    for (size_t f = 0; f < COUNT_OF(service_fields); f++) {
        const struct field *field = &service_fields[f];
        metrics_print_name(out, field->name, field->help, field->type);
        for (int s = 0; s < n_services; s++) {
            double sum = 0;
            if (names[s][0] == '\0')
                continue;
            for (int e = 0; e < n_engines; e++)
                if (s < engines[e].n_services)
                    sum += value_of(field, &engines[e].services[s]);
            str_add_text(out, field->name);
            metrics_print_label(out, '{', "model_name", names[s]);
            str_printf(out, "} %.15g\n", sum);
        }
    }
    print_pool(engines, n_engines, n_services, names, out);
    print_shares(engines, n_engines, n_services, names, out);
    print_states(engines, n_engines, n_services, names, out);
    for (size_t f = 0; f < COUNT_OF(engine_fields); f++) {
        const struct field *field = &engine_fields[f];
        metrics_print_name(out, field->name, field->help, field->type);
        for (int e = 0; e < n_engines; e++)
            str_printf(out, "%s{engine=\"%d\"} %.15g\n", field->name, engines[e].engine,
                       value_of(field, &engines[e]));
    }
}
