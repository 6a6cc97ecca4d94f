/* A small chain for the tests of chains. */
#pragma once
#include "../test.h"
#include "sim/chain.h"
#include "sim/sim.h"
#include <string.h>

#define S         INT64_C(1000000000)
#define MIB       (INT64_C(1) << 20)
#define PS_PER_MS INT64_C(1000000000)
enum { DEVICES = 4, LAYERS = 8 };

/* A model of 8 layers of 100 MiB, with 800 KV bytes a token and layer. On device d it takes, alone,
 * 8 (d + 1) ms a decode step, so a layer takes d + 1 ms; a prompt the same, whatever its length. */
struct small_chain {
    struct sim_chain_device devices[DEVICES];
    struct links_link at[DEVICES * DEVICES];
    struct links links;
    struct sim_chain_event events[8];
    struct sim_chain chain;
    struct sim_service service;
    struct workload workload;
    struct sim_engine_spec engine;
    struct schedule_config config;
    struct sim_options options;
};

static inline void open_small(struct small_chain *c)
{
    memset(c, 0, sizeof(*c));
    for (int d = 0; d < DEVICES; d++) {
        int64_t ps = 8 * (d + 1) * PS_PER_MS;
        c->devices[d] = (struct sim_chain_device){ .perf = { .floor_ps = ps,
                                                             .c1_ps = ps,
                                                             .c3_ps = { ps, ps },
                                                             .b_switch = 64,
                                                             .prefill_scale = 1,
                                                             .decode_scale = 1 },
                                                   .memory_bytes = 450 * MIB };
    }
    for (int i = 0; i < DEVICES * DEVICES; i++) /* 10 us and 1 GB/s; the way back 5 us more */
        c->at[i] = (struct links_link){ i / DEVICES < i % DEVICES ? 10000 : 15000, 1e9 };
    c->links = (struct links){ DEVICES, c->at };
    c->chain = (struct sim_chain){ .n_devices = DEVICES,
                                   .n_layers = LAYERS,
                                   .devices = c->devices,
                                   .links = &c->links,
                                   .layer_bytes = 100 * MIB,
                                   .kv_bytes_per_token = LAYERS * 800,
                                   .weights_bytes = LAYERS * 100 * MIB,
                                   .handed_bytes_per_token = 1000,
                                   .n_batch = 4,
                                   .n_context = 1000,
                                   .aim = LAYERS_HELR,
                                   .events = c->events,
                                   .host_bytes_per_s = 100e6,
                                   .settle_ns = S };
    c->service = (struct sim_service){ .name = "a",
                                       .perf = c->devices[0].perf,
                                       .bytes_per_token = LAYERS * 800,
                                       .weights_bytes = LAYERS * 100 * MIB };
    c->workload = (struct workload){ .seed = 3, .n_requests = 300, .n_services = 1 };
    c->workload.services[0] = (struct workload_traffic){ .rate_per_s = 2,
                                                         .prompt = { 4.6, 0, 1, 400 },
                                                         .output = { 4.0, 0.3, 1, 200 } };
    c->engine =
        (struct sim_engine_spec){ .services = { { 1 } }, .n_devices = DEVICES, .chain = &c->chain };
    schedule_config_init(&c->config);
    c->options = (struct sim_options){ .n_engines = 1,
                                       .n_lanes = 1,
                                       .n_services = 1,
                                       .services = &c->service,
                                       .engines = &c->engine,
                                       .n_requests_max = 256,
                                       .n_tokens_max = 1024,
                                       .block_tokens = 16,
                                       .policy = schedule_find("fcfs"),
                                       .config = &c->config,
                                       .router = route_find("least"),
                                       .workload = &c->workload,
                                       .checks_steps = true };
}

static inline void add_event(struct small_chain *c, int64_t at_s, int32_t device,
                             enum sim_chain_what what)
{
    c->events[c->chain.n_events++] = (struct sim_chain_event){ at_s * S, device, what };
}
