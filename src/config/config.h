/* The configuration: one YAML file. One table describes it, and also yields the JSON Schema and
 * checks the command line.
 *
 * Precedence: command line > environment (SHOAL_*) > per model > global > default. Unknown and
 * repeated keys are errors. Text may contain ${env.NAME}. The table here walks libyaml's document,
 * because libcyaml's schemas have no free keys, and the names of models are free keys. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "core/device.h"
#include "core/service_spec.h"

enum { CONFIG_ALIASES = 8, CONFIG_BYTES_MAX = 1 << 20, CONFIG_TENANTS = 256 };
enum { CONFIG_THRESHOLDS = 40, CONFIG_PROXIES = 16, CONFIG_MODEL_DIRS = 16 };
enum {
    CONFIG_NODES = 256,
    CONFIG_BUS_NAMES = 64,
    CONFIG_STORES = 16,
    CONFIG_SLOTS = 256,
    CONFIG_PEERS = 64,
    CONFIG_RESPONSES_PEERS = 16
};
enum { CONFIG_HTTP_BYTES_MIN = 16 << 20 };
enum { CONFIG_ROUTER_THRESHOLDS = 40, CONFIG_KEYS_MAX = 128 };

struct config_model {
    char name[LIMIT_NAME_BYTES];
    const char *path, *profile;        /* profile: NULL = measured when it is loaded */
    const char *sha256;                /* of the file; NULL = it is not checked */
    const char *kv_type, *speculation; /* NULL = the global one */
    const char *chat_template; /* a file, a text, chatml or a name; NULL = the model's own */
    const char *aliases[CONFIG_ALIASES];
    int n_aliases;
    int64_t n_context; /* 0 = the model's own */
    int64_t priority;
    int64_t ttft_ms, tpot_ms, e2e_ms; /* -1 = the global ones */
    int64_t kv_bytes_min, kv_bytes_max;
    int64_t keep_alive_ns; /* CONFIG_UNSET = the global one */
    /* The expected load, for planners: requests a second, -1 = not set; mean lengths, 0 = 256. */
    double rate_per_s;
    int64_t n_prompt, n_output;
    bool is_pinned, is_preloaded;
    const char *devices[LIMIT_DEVICES];
    int n_devices; /* 0 = all */
};
#define CONFIG_UNSET INT64_MIN
/* An engine that a planner placed (serve/place.h); the file never has these fields. */
struct config_engine {
    int64_t memory_bytes;                /* 0 = the key `memory` */
    int32_t share_percent[LIMIT_MODELS]; /* percent of its cores, for decodes; 0 = no model has a
                                            share */
    int64_t kv_bytes[LIMIT_MODELS];      /* quota; 0 = none */
    uint8_t role;                        /* enum engine_role */
};

struct config {
    const char *listen, *api_key, *admin_key, *api_key_file, *admin_key_file, *cors_origin,
        *tls_cert, *tls_key;
    const char *bus_listen, *bus_cert, *bus_key, *bus_ca;
    const char *bus_names[CONFIG_BUS_NAMES]; /* in certificates of gateways */
    int n_bus_names;
    const char *bulk_listen, *bulk_advertise;
    const char *bulk_names[CONFIG_BUS_NAMES]; /* in certificates of nodes */
    int n_bulk_names;
    const char *model_peers[CONFIG_PEERS]; /* HOST:PORT of other nodes' doors */
    int n_model_peers;
    const char *nodes[CONFIG_NODES]; /* "HOST:PORT" or "HOST:PORT=ENGINES" */
    int n_nodes;
    const char *store[CONFIG_STORES]; /* etcd's endpoints */
    int n_store;
    const char *store_cert, *store_key, *store_ca, *cluster, *bus_advertise, *state_dir, *responses;
    int64_t store_lease_ns, n_node_slots, n_node_engines;
    const char *monitor_listen, *replacement;
    int64_t monitor_ns; /* of its window */
    int64_t replan_ns;  /* the first interval between plans */
    const char *preset, *policy, *router, *predictor, *kv, *kv_disk, *kv_type, *speculation,
        *log_level, *log_engine, *trace, *planner, *placement, *engine_kind, *arithmetic,
        *default_chat_template, *template_time;
    const char *devices[LIMIT_DEVICES];
    int n_devices;
    const char *lanes[LIMIT_LANES - 1];  /* shares of an engine's cores */
    int n_lanes;                         /* 0 = one lane, all of the device */
    const char *tenants[CONFIG_TENANTS]; /* "NAME=KEY" */
    int n_tenants;
    const char *quotas[CONFIG_TENANTS]; /* usage/quotas.h */
    int n_quotas;
    int64_t n_quota_gateways, n_usage_days;
    const char *usage_file;
    const char *model_cache, *model_ca, *model_manifest; /* for files that are fetched */
    int64_t model_cache_bytes, model_rate_bytes, model_stall_ns;
    const char *model_dirs[CONFIG_MODEL_DIRS]; /* that operators may load models from */
    int n_model_dirs;
    const char *proxies[CONFIG_PROXIES]; /* "ADDRESS" or "ADDRESS/BITS" */
    int n_proxies;
    const char *responses_peers[CONFIG_RESPONSES_PEERS]; /* api/responses_peers.h */
    int n_responses_peers;
    const char *thresholds[CONFIG_THRESHOLDS]; /* of the scheduler: "lease_tokens=64" */
    int n_thresholds;
    const char *router_thresholds[CONFIG_ROUTER_THRESHOLDS]; /* "n_slice=64" */
    int n_router_thresholds;
    int64_t memory_bytes, kv_bytes, n_requests_max, n_batch_max, n_batch_tokens_max, chunk_tokens,
        n_connections_max;
    int64_t http_bytes, body_bytes_max, body_ns_max;
    int64_t drain_ns, stall_ns, hold_ns, n_held_max, keep_alive_ns, profile_ns, report_ns, steady;
    int64_t log_engine_bytes, swap_bytes, kv_disk_bytes, sleep_bytes, responses_bytes;
    int64_t ttft_ms, tpot_ms, e2e_ms;
    bool has_prefix_cache, is_strict, jumps_forward, log_json, is_partial, is_keyless;
    int n_models;
    struct config_model models[LIMIT_MODELS];
    struct config_engine engines[LIMIT_DEVICES];
    struct pile pile; /* owns the texts */
};
void config_init(struct config *config); /* the defaults */
void config_free(struct config *config);
/* Reads a file, which overrides the present values. The sentence names line, column and key. */
enum status config_read(struct config *config, const char *path, struct fault *fault) MUST_USE;
/* The same from memory; name stands in messages. */
enum status config_parse(struct config *config, const char *name, const char *text, size_t n_bytes,
                         struct fault *fault) MUST_USE;
/* Sets one global key from text, as the command line and the environment do: config_set(c,
 * "kv-bytes", "2GiB", ...). A list is replaced by the words of value. */
enum status config_set(struct config *config, const char *key, const char *value,
                       struct fault *fault) MUST_USE;
/* Adds "NAME=PATH", or "PATH" (its name is then the file's). */
enum status config_add_model(struct config *config, const char *name_and_path,
                             struct fault *fault) MUST_USE;
/* SHOAL_LISTEN=... and so on. */
enum status config_read_environment(struct config *config, struct fault *fault) MUST_USE;
/* Refuses a variable SHOAL_... that matches no setting, since it is probably mistyped. Variables
 * that container managers set to announce services are ignored. */
enum status config_check_environment(struct fault *fault) MUST_USE;
/* Returns whether the devices are `auto`: those that the machine has are found at the start. */
bool config_devices_are_auto(const struct config *config);
/* Checks rules over several keys: names are unique, devices parse, policies are known. */
enum status config_check(const struct config *config, struct fault *fault) MUST_USE;
