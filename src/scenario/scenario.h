/* The input of `shoal sim`: engines, services, traffic and policies, from a YAML file and options
 * of the same names. docs/SIMULATOR.md shows one. */
#pragma once
#include "base/flags.h"
#include "base/pile.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/report.h"
#include "core/service_spec.h"
#include "predict/perf.h"

enum { SCENARIO_GROUPS_MAX = 1024, SCENARIO_NODES_MAX = 64, SCENARIO_BYTES_MAX = 1 << 20 };
struct scenario_perf { /* instead of its model's, or of no model; both decode regimes are one */
    double floor_ms, c1_ms, k1_us, q1_us, c3_ms, c2_us, k2_ns;
    bool has_floor, has_c1, has_k1, has_q1, has_c3, has_c2, has_k2;
};
struct scenario_host { /* ms of every step, of one with prompts besides; us of each request, token
                        */
    double ms, prompt_ms, request_us, token_us;
};
struct scenario_service {
    char name[LIMIT_NAME_BYTES]; /* as in the workload */
    const char *model;           /* a known model; NULL: the workload's, or the numbers below */
    struct scenario_perf perf;
    const char *profile;       /* a file of shoal profile, instead of model and numbers */
    double profile_scale;      /* factor on its times; 0 = 1 */
    bool profile_points;       /* its points are the truth, while engines believe its line */
    int64_t profile_cores;     /* of its groups; 0 = the largest */
    struct flags_texts tables; /* files of measured times: the truth; engines believe a line */
    double table_skew;         /* what decodes of unlike lengths cost more: struct costs */
    int64_t table_layers;      /* that the tables of a layer stand for */
    struct scenario_host host; /* what the host adds to every step, whatever the times come from */
    int64_t weights_bytes, activation_bytes, kv_bytes_per_token; /* 0: the model's */
    const char *kv_type; /* for a model of the tables: as in a config; NULL: f16 */
    int64_t kv_bytes_min, kv_bytes_max;
    struct service_slo slo;      /* 0: the scenario's */
    int64_t joins_ns, leaves_ns; /* while the simulation runs; 0: it is there all the time */
};
struct scenario_group { /* equal engines */
    int64_t count, tp;
    const char *device;
    int64_t n_ranks; /* equal parts of its cores that are a group (scenario/ranks.h); 0, 1: none */
    int64_t memory_bytes; /* of all its devices; 0: the memory of each device */
    struct flags_texts services;
    const char *role;         /* mixed, prefill, decode; NULL: mixed */
    struct flags_texts lanes; /* parts of each that run side by side; none: the scenario's */
    struct flags_texts shares, quotas; /* "chat=40": percent for its decodes; bytes of the pool */
    struct flags_texts chain;          /* devices that hold its service by layers; none: no chain */
    const char *planner;               /* of layers; NULL: helr */
    const char *links;                 /* a file for links_read; NULL: by the kinds of devices */
    int64_t n_batch, n_context;        /* the step that the layers are planned for */
    struct flags_texts scale;          /* "k5=0.1": the group grows and shrinks, up to count */
};
struct scenario_node { /* equal machines of a cluster, for `shoal plan` */
    int64_t count, n_devices;
    const char *device;
    int64_t memory_bytes; /* of each device; 0: the table's */
    double cost_per_hour; /* of each device; 0: not known */
};
struct scenario {
    struct flags_texts workload;
    struct flags_texts profiles; /* SERVICE=FILE, before the services' own */
    struct flags_texts faults;   /* of the bus, as faults.h reads them */
    struct flags_texts lanes;    /* shares of each engine; none: the policy's */
    struct flags_texts replace;  /* models move, by the settings of sim/replan.h; none: they stay */
    struct flags_texts devices_leave, devices_crash, devices_join; /* of chains: "3@3600s" */
    struct flags_texts thresholds, router_thresholds; /* "lease_tokens=64", after the preset's */
    int64_t memory_bytes; /* of an engine that the scenario does not list; 0: its devices' */
    const char *device, *preset, *policy, *router, *predictor, *kv, *slo_rule, *planner;
    const char *csv, *series, *trace, *html, *log_engine, *compare, *rates;
    int64_t swap_bytes, swap_bytes_per_s, kv_bytes_per_s;
    int64_t seed, n_requests, duration_ns, until_ns, n_seeds, n_threads;
    int64_t n_engines, tp, n_context, n_requests_max, n_seqs_max, n_batch_tokens_max, chunk_tokens,
        block_tokens, interval_ns, run_length;
    const char *router_groups; /* NULL: one; a number, or auto */
    double router_pass_rate, rate_scale, memory_part, target, length_noise;
    struct service_slo slo;
    bool is_json, saturates, fewest, each_step, checks, has_bus, has_soft_deadlines,
        has_prefix_cache, chains_stay;
    int n_groups, n_nodes, n_services;
    struct scenario_node nodes[SCENARIO_NODES_MAX];
    struct scenario_group groups[SCENARIO_GROUPS_MAX];
    struct scenario_service services[LIMIT_SERVICES];
    struct pile pile; /* owns the file's texts */
};
/* Reads options, and a file when argv names one; options override it. Returns false, after printing
 * the sentence, when something is wrong. */
bool scenario_open(struct scenario *scenario, int argc, char **argv) MUST_USE;
void scenario_close(struct scenario *scenario);
/* Reads YAML, which overrides the present values; name stands in messages. */
/* Reads the role of a group's engines. */
enum status scenario_role(const struct scenario_group *group, enum engine_role *role,
                          struct fault *fault) MUST_USE;
enum status scenario_parse(struct scenario *scenario, const char *name, const char *text,
                           size_t n_bytes, struct fault *fault) MUST_USE;
/* The same of a file. */
enum status scenario_read(struct scenario *scenario, const char *path,
                          struct fault *fault) MUST_USE;
void scenario_init(struct scenario *scenario); /* the defaults */
/* Keeps the content of named pipes, since each simulation reads it anew. */
enum status scenario_keep_pipes(const struct scenario *scenario, struct fault *fault) MUST_USE;

/* Returns the file of a text of --profile, SERVICE=FILE, if it is for this service; else NULL. */
const char *scenario_profile(const char *text, const char *service);
/* Returns whether any service has a profile. Engines then are cores of this machine. */
bool scenario_has_profile(const struct scenario *scenario);

/* Returns whether it sets any time of its own. */
bool scenario_has_perf(const struct scenario_service *service);

/* Reads a row of a group's shares or quotas: "chat=40", percent from 1 to 100, or "chat=2GiB".
 * Returns false when it is neither. name lies in text. */
bool scenario_part(const char *text, bool of_quotas, struct view *name, int64_t *value);

/* The rows of each part, over that part's fields (yaml.c reads with them). */
enum { SCENARIO_ROWS_MAX = 64 };
int scenario_rows(struct scenario *scenario, struct flags_row rows[SCENARIO_ROWS_MAX]);
int scenario_group_rows(struct scenario_group *group, struct flags_row rows[SCENARIO_ROWS_MAX]);
int scenario_node_rows(struct scenario_node *node, struct flags_row rows[SCENARIO_ROWS_MAX]);
int scenario_service_rows(struct scenario_service *service,
                          struct flags_row rows[SCENARIO_ROWS_MAX]);
