/* What a simulation remembers: private to this room. */
#pragma once
#include "engine/engine.h"
#include "sim/events.h"
#include "sim/model_exec.h"
#include "sim/sim.h"
#include "sim/wakes.h"

enum { SIM_LIVE_BITS = 20, SIM_NO_ENGINE = UINT16_MAX };

/* A client and its request, while it lives. Its id is number << SIM_LIVE_BITS | index. */
struct sim_client {
    struct request request; /* as submitted last */
    int64_t first_ns;
    int32_t n_got; /* tokens heard of, prompt included */
    uint32_t next_held;
    uint64_t held_at; /* its place in the order of those who wait */
    uint16_t engine;
    int64_t heard_ns, gap_ns_max; /* its last tokens; the longest wait between two */
    bool is_live, is_cancelled;
};
struct sim_line { /* of clients that wait at the door for one service */
    uint32_t first, last;
};
struct sim_engine {
    struct engine *engine;
    struct sim_model_exec *exec;
    uint64_t services; /* bit per service that it has */
    struct sim *sim;
    uint16_t index;
    uint32_t n_sent;
};
struct sim {
    const struct sim_options *options;
    struct sim_report *report;
    int64_t clock_ns;
    struct sim_engine *engines;
    struct sim_wakes wakes;
    struct sim_events events;   /* cancels */
    struct length_book lengths; /* without a predictor: nothing */
    struct sim_stream stream;
    struct sim_ask ask; /* the next to come */
    bool has_ask;
    struct sim_client *clients;
    uint32_t *free_clients;
    uint32_t n_free_clients, n_clients_max;
    struct sim_line lines[LIMIT_SERVICES];
    uint64_t n_held_ever;
    int64_t n_held;
    bool is_cut; /* ended by until_ns */
    uint64_t n_over;
};

/* check.c: what must hold. Each notes the first thing that does not in report->wrong. */
void sim_check_event(struct sim *sim, const struct sim_client *client,
                     const struct service_event *event);
void sim_check_step(struct sim *sim, const struct sim_engine *engine);
void sim_check_end(struct sim *sim);

/* report.c */
void sim_report_open(struct sim *sim);
void sim_report_add(struct sim *sim, const struct sim_client *client,
                    const struct service_event *event);
void sim_report_unfinished(struct sim *sim); /* records of those who are still there */
