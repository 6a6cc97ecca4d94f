/* A manager's own HTTP endpoint (monitor_listen): health, metrics, and what the monitor knows.
 *
 *   GET /health    {"status":"ok","leads":true}     always open
 *   GET /metrics   Prometheus text                  with the admin key, if one is configured
 *   GET /monitor   JSON of the window               the same; 503 while another manager leads
 *   GET /plan      JSON of the last live plan       the same */
#pragma once
#include "base/status.h"
#include "base/str.h"

struct config;
struct event_base;
struct fleet_endpoint;
struct fleet_endpoint_options {
    struct event_base *base;
    const struct config *config; /* lent */
    void *self;
    bool (*leads)(void *self);
    /* Each appends its page. Those of monitor and plan are called only while it leads. */
    void (*metrics)(void *self, struct str *out);
    void (*monitor)(void *self, struct str *out);
    void (*plan)(void *self, struct str *out);
};
/* Opens nothing when no address is configured: *out is NULL then. */
enum status fleet_endpoint_open(struct fleet_endpoint **out,
                                const struct fleet_endpoint_options *options,
                                struct fault *fault) MUST_USE;
void fleet_endpoint_close(struct fleet_endpoint *endpoint);
