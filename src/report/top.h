/* The state of a running server for `shoal top`: what two samples of its endpoints tell of models,
 * engines, nodes, rates and events.
 *
 * A sample is an answer of GET /models and one of GET /metrics. Rates and latencies are those
 * between the last two samples. Events are differences between them. Everything comes from outside,
 * so missing or absurd values read as 0. */
#pragma once
#include "base/str.h"
#include "core/limits.h"
#include <jansson.h>

enum { TOP_EVENTS_MAX = 200, TOP_TEXT_BYTES = 160, TOP_DEVICE_BYTES = 272 };

struct top_counts { /* counters of a model, each rising */
    double n_requests, n_tokens, ttft_s, n_ttft, gap_s, n_gaps, n_refused, n_failed;
};
struct top_model {
    char name[LIMIT_NAME_BYTES], status[16];
    bool is_paused, is_pinned;
    int n_copies; /* engines that have it in memory */
    double n_running, n_waiting, kv_bytes;
    struct top_counts counts;
};
struct top_engine {
    char device[TOP_DEVICE_BYTES];
    int n_node; /* bytes of the device that name its node; 0: this server */
    bool is_healthy, is_down;
    double n_requests, n_restarts, n_steps, kv_pool_bytes, kv_free_bytes;
};
struct top_sample {
    int64_t now_ns; /* 0: there is none */
    int n_models, n_engines;
    struct top_model *models;   /* (n_models) */
    struct top_engine *engines; /* (n_engines) those that are there */
};
struct top_event {
    int64_t unix_s;
    char text[TOP_TEXT_BYTES];
};
struct top {
    char server[128];
    struct top_sample last, before;
    struct top_event events[TOP_EVENTS_MAX]; /* the newest is at (n_events - 1) % TOP_EVENTS_MAX */
    int64_t n_events;
    bool is_lost;             /* the last call gave no sample */
    char why[TOP_TEXT_BYTES]; /* then: the reason */
};

void report_top_open(struct top *top, const char *server);
void report_top_close(struct top *top);
/* Takes a sample. now_ns rises; unix_s is for events. */
void report_top_take(struct top *top, const json_t *states, struct view metrics, int64_t now_ns,
                     int64_t unix_s);
/* Notes that there was no sample. */
void report_top_lose(struct top *top, const char *why, int64_t unix_s);
/* Return what model or engine i of the last sample was in the one before; NULL: it was not there.
 */
const struct top_model *report_top_model_before(const struct top *top, int i);
const struct top_engine *report_top_engine_before(const struct top *top, int i);
