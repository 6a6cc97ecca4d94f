/* The options of an engine's process, as flat bytes in its channel. Parent and child are the same
 * program, so that its structs serve, without their pointers. */
#pragma once
#include "core/device.h"
#include "run/unit.h"
#include <limits.h>

struct process_service {
    struct service_spec spec;
    struct kv_layout layout;
    struct model_spec model; /* the file as it was read at start */
    struct perf perf;
    int32_t kv_dtype;
    bool has_model;
    char path[PATH_MAX];
};
struct process_device { /* of an engine; lane 0 is all of it */
    struct device_spec spec;
    int32_t n_lanes;
    struct device_spec lanes[LIMIT_LANES];
};
struct process_options {
    struct engine_options engine; /* its pointers are NULL */
    uint32_t inbox_bytes, outbox_bytes;
    int64_t report_ns, profile_ns;
    double steady;
    int32_t n_rows_max, n_logit_rows_max;
    char policy[64];
    char kv_disk[PATH_MAX]; /* folder of the disk tier; empty: none */
    struct schedule_config schedule;
    struct schedule_lane lanes[LIMIT_LANES];
    struct process_device device;
    bool is_lent;      /* weights come from the parent */
    bool has_exchange; /* requests come and go with their KV, over the descriptor behind the
                          channel's */
    int32_t n_services;
    struct process_service services[]; /* (n_services) */
};
static inline size_t process_options_bytes(int n_services)
{
    return sizeof(struct process_options) + (size_t)n_services * sizeof(struct process_service);
}
/* Writes the options without services. */
void process_options_write(struct process_options *out, const struct run_unit_options *options,
                           const struct process_device *device);
/* Returns false when the path is too long. */
bool process_options_write_service(struct process_service *out,
                                   const struct run_unit_joins *joins) MUST_USE;

/* Options as a unit takes them, pointing into the flat ones. */
struct process_options_read {
    struct run_unit_options unit;
    const char *paths[LIMIT_MODELS];
    const struct model_spec *specs[LIMIT_MODELS];
    struct perf perfs[LIMIT_MODELS];
    enum dtype kv_dtypes[LIMIT_MODELS];
    struct service_spec services[LIMIT_MODELS];
    struct kv_layout layouts[LIMIT_MODELS];
};
void process_options_read(struct process_options_read *out, const struct process_options *options);
