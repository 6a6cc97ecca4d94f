/* Turns a unit's options into flat bytes, and back. */
#include "process/options.h"

#include <stdio.h>
#include <string.h>

void process_options_write(struct process_options *out, const struct run_unit_options *options,
                           const struct process_device *device)
{
    const struct engine_options *engine = &options->host.engine;
    *out = (struct process_options){ .engine = *engine,
                                     .inbox_bytes = options->host.inbox_bytes,
                                     .outbox_bytes = options->host.outbox_bytes,
                                     .report_ns = options->host.report_ns,
                                     .profile_ns = options->profile_ns,
                                     .steady = options->steady,
                                     .n_rows_max = options->n_rows_max,
                                     .n_logit_rows_max = options->n_logit_rows_max,
                                     .schedule = *engine->config,
                                     .device = *device };
    snprintf(out->policy, sizeof out->policy, "%s", engine->policy->name);
    memcpy(out->lanes, engine->lanes, sizeof out->lanes[0] * (size_t)engine->n_lanes);
    if (engine->kv_disk != NULL && strlen(engine->kv_disk) < sizeof out->kv_disk)
        snprintf(out->kv_disk, sizeof out->kv_disk, "%s", engine->kv_disk);
    out->engine.kv_disk = NULL;
    out->engine.lanes = NULL;
    out->engine.services = NULL;
    out->engine.layouts = NULL;
    out->engine.policy = NULL;
    out->engine.config = NULL;
    out->engine.log = NULL;
    out->engine.trace = NULL;
    out->engine.exchange = NULL;
}

bool process_options_write_service(struct process_service *out, const struct run_unit_joins *joins)
{
    *out = (struct process_service){ .spec = *joins->service,
                                     .layout = *joins->layout,
                                     .perf = joins->perf,
                                     .kv_dtype = (int32_t)joins->kv_dtype,
                                     .has_model = joins->spec != NULL };
    if (joins->spec != NULL)
        out->model = *joins->spec;
    size_t n = strlen(joins->path);
    if (n >= sizeof out->path)
        return false;
    memcpy(out->path, joins->path, n);
    return true;
}

void process_options_read(struct process_options_read *out, const struct process_options *options)
{
    struct engine_options engine = options->engine;
    engine.lanes = options->lanes;
    engine.kv_disk = options->kv_disk[0] != '\0' ? options->kv_disk : NULL;
    engine.policy = schedule_find(options->policy);
    engine.config = &options->schedule;
    engine.services = out->services;
    engine.layouts = out->layouts;
    engine.n_services = options->n_services;
    for (int s = 0; s < options->n_services; s++) {
        const struct process_service *from = &options->services[s];
        out->paths[s] = from->path;
        out->specs[s] = from->has_model ? &from->model : NULL;
        out->perfs[s] = from->perf;
        out->kv_dtypes[s] = (enum dtype)from->kv_dtype;
        out->services[s] = from->spec;
        out->layouts[s] = from->layout;
    }
    out->unit = (struct run_unit_options){ .host = { .engine = engine,
                                                     .inbox_bytes = options->inbox_bytes,
                                                     .outbox_bytes = options->outbox_bytes,
                                                     .report_ns = options->report_ns },
                                           .paths = out->paths,
                                           .specs = out->specs,
                                           .perfs = out->perfs,
                                           .kv_dtypes = out->kv_dtypes,
                                           .n_rows_max = options->n_rows_max,
                                           .n_logit_rows_max = options->n_logit_rows_max,
                                           .profile_ns = options->profile_ns,
                                           .steady = options->steady };
}
