/* Tells what the monitor knows: as JSON for operators and tools, and as Prometheus text. */
#pragma once
#include "base/json_out.h"
#include "monitor/gather.h"

struct monitor_names {
    const char *(*service)(const void *self, int32_t service); /* NULL: the number is free */
    const char *(*engine)(const void *self, int32_t engine);   /* NULL: the engine is not there */
    const void *self;
};
/* Writes the members "window_s", "services" and "engines" into an open object. */
void monitor_tell_json(struct monitor_gather *gather, const struct monitor_names *names,
                       int64_t now_ns, struct json_out *json);
void monitor_tell_metrics(struct monitor_gather *gather, const struct monitor_names *names,
                          int64_t now_ns, struct str *out);
