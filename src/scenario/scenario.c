/* The settings of a scenario: one table per part, for options and the file. */
#include "scenario/scenario.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "core/device.h"
#include "workload/traffic.h"
#include <stdio.h>
#include <string.h>

void scenario_init(struct scenario *scenario)
{
    *scenario = (struct scenario){
        .device = "a100",
        .preset = "default",
        .slo_rule = "seallm-solo:5",
        .n_seeds = 1,
        .n_context = 16384,
        .router_pass_rate = 10000,
        .n_requests_max = 512,
        .n_seqs_max = 256,
        .n_batch_tokens_max = 2048,
        .chunk_tokens = -1,
        .block_tokens = 16,
        .rate_scale = 1,
        .memory_part = 0.9,
        .target = 0.9,
    };
    pile_init(&scenario->pile);
}

void scenario_close(struct scenario *scenario)
{
    pile_free(&scenario->pile);
}

#define ROW(name, word, type, field, min, max, help)                                               \
    (struct flags_row)                                                                             \
    {                                                                                              \
        name, word, type, &s->field, min, max, help, NULL                                          \
    }

/* The simulated world. */
static int world_rows(struct scenario *s, struct flags_row *rows)
{
    const struct flags_row all[] = {
        ROW("workload", "TEXT", FLAGS_TEXTS, workload, 0, 0, "what is asked (repeatable)"),
        ROW("engines", "N", FLAGS_I64, n_engines, 1, 65535, "engines: as many as are needed"),
        ROW("device", "NAME", FLAGS_TEXT, device, 0, 0, "what they run on: a100"),
        ROW("tp", "N", FLAGS_I64, tp, 1, 64, "devices of an engine: as many as models need"),
        ROW("memory", "BYTES", FLAGS_BYTES, memory_bytes, 1, 1e16, "of an engine: its devices'"),
        ROW("profile", "SERVICE=FILE", FLAGS_TEXTS, profiles, 0, 0,
            "times as `shoal profile` measured them (repeatable)"),
        ROW("memory-part", "X", FLAGS_F64, memory_part, 0.01, 1, "of it is used: 0.9"),
        ROW("lanes", "SHARE", FLAGS_TEXTS, lanes, 0, 0,
            "parts of each engine that run side by side, in proportion (repeatable): none, or two "
            "halves for policies of lanes"),
        ROW("preset", "NAME", FLAGS_TEXT, preset, 0, 0,
            "policies of a paper or a baseline: default"),
        ROW("policy", "NAME", FLAGS_TEXT, policy, 0, 0, "scheduler of the engines"),
        ROW("router", "NAME", FLAGS_TEXT, router, 0, 0, "which engine gets a request"),
        ROW("router-groups", "N|auto", FLAGS_TEXT, router_groups, 0, 0,
            "engines and requests are dealt out to this many routers: 1; auto: by Equation 8"),
        ROW("router-pass-rate", "X", FLAGS_F64, router_pass_rate, 1e-3, 1e9,
            "with auto: requests a second that one router keeps up with: 10000"),
        ROW("predictor", "NAME", FLAGS_TEXT, predictor, 0, 0,
            "of output lengths: the preset's, else oracle; file where the workload has noise"),
        ROW("kv", "KIND", FLAGS_TEXT, kv, 0, 0,
            "of the engines' pools, merged, head-wise or private: the preset's"),
        ROW("thresholds", "NAME=X", FLAGS_TEXTS, thresholds, 0, 0,
            "of the scheduler (repeatable), as docs/POLICIES.md lists them"),
        ROW("router-thresholds", "NAME=X", FLAGS_TEXTS, router_thresholds, 0, 0,
            "of the router (repeatable)"),
        ROW("seed", "N", FLAGS_I64, seed, 1, 9e15, "of everything that is drawn"),
        ROW("requests", "N", FLAGS_I64, n_requests, 1, 1e12, "how many"),
        ROW("duration", "T", FLAGS_DURATION, duration_ns, 0, 0, "arrivals end here"),
        ROW("until", "T", FLAGS_DURATION, until_ns, 0, 0, "the run ends here, finished or not"),
        ROW("rate-scale", "F", FLAGS_F64, rate_scale, 1e-9, 1e9, "times as many a second"),
        ROW("run-length", "N", FLAGS_I64, run_length, 1, 1e6,
            "requests in a row of one source: as they come"),
        ROW("length-noise", "K", FLAGS_F64, length_noise, 0, 1000,
            "true outputs o become o + normal(0, K o), predictions stay: 0"),
        ROW("context", "N", FLAGS_I64, n_context, 16, LIMIT_CONTEXT, "longest request: 16384"),
        ROW("max-requests", "N", FLAGS_I64, n_requests_max, 1, 65536, "of one engine: 512"),
        ROW("max-batch", "N", FLAGS_I64, n_seqs_max, 1, LIMIT_BATCH_ITEMS, "of a batch: 256"),
        ROW("max-batch-tokens", "N", FLAGS_I64, n_batch_tokens_max, 1, LIMIT_BATCH_TOKENS,
            "prompt tokens of a batch: 2048"),
        ROW("chunk-tokens", "N", FLAGS_I64, chunk_tokens, -1, LIMIT_BATCH_TOKENS,
            "prompts in chunks; 0: whole; -1: the preset's"),
        ROW("block-tokens", "N", FLAGS_I64, block_tokens, 0, 4096,
            "of a KV block: 16; 0: what wastes least"),
        ROW("prefix-cache", NULL, FLAGS_SWITCH, has_prefix_cache, 0, 0,
            "engines keep blocks for equal prefixes"),
        ROW("swap-bytes", "BYTES", FLAGS_BYTES, swap_bytes, 0, 1e16,
            "of host memory of each engine for requests that give way: none, they compute again"),
        ROW("swap-bandwidth", "BYTES", FLAGS_BYTES, swap_bytes_per_s, 1, 1e16,
            "a second between them: 4 GiB"),
        ROW("ttft", "T", FLAGS_DURATION, slo.ttft_ns, 0, 0, "target of every service"),
        ROW("tpot", "T", FLAGS_DURATION, slo.tpot_ns, 0, LIMIT_TPOT_MS * 1e6,
            "target of every service"),
        ROW("e2e", "T", FLAGS_DURATION, slo.e2e_ns, 0, 0, "target of every service"),
        ROW("slo", "RULE", FLAGS_TEXT, slo_rule, 0, 0,
            "what MET counts, seallm-solo:5; docs/METRICS.md has the others"),
    };
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

/* The changes of engines while they run, and the bus before them. */
static int change_rows(struct scenario *s, struct flags_row *rows)
{
    const struct flags_row all[] = {
        ROW("planner", "NAME", FLAGS_TEXT, planner, 0, 0,
            "the planner of the services on `nodes:`: default"),
        ROW("replace", "NAME=X", FLAGS_TEXTS, replace, 0, 0,
            "models move when that pays: on, or settings (repeatable); docs/SIMULATOR.md has them"),
        ROW("devices-leave", "N@T", FLAGS_TEXTS, devices_leave, 0, 0,
            "device N of the chains of `engines:` leaves at T, as 3@1h (repeatable)"),
        ROW("devices-crash", "N@T", FLAGS_TEXTS, devices_crash, 0, 0,
            "the same in the middle of a step, which is lost with it (repeatable)"),
        ROW("devices-join", "N@T", FLAGS_TEXTS, devices_join, 0, 0,
            "it joins, or comes back (repeatable)"),
        ROW("chains-stay", NULL, FLAGS_SWITCH, chains_stay, 0, 0,
            "layers are not planned anew: a chain waits for its devices"),
        ROW("kv-bandwidth", "BYTES", FLAGS_BYTES, kv_bytes_per_s, 1, 1e16,
            "a second from engines of the role prefill to those that decode: 25 GB"),
        ROW("bus", NULL, FLAGS_SWITCH, has_bus, 0, 0,
            "with gateway, manager, node and bus between clients and engines: at most 16384"),
        ROW("faults", "NAME=X,...", FLAGS_TEXTS, faults, 0, 0,
            "the bus, and what goes wrong there: latency, late, lost, twice, drop, break, crash, "
            "... (repeatable); docs/SIMULATOR.md has them all"),
    };
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

/* The number of runs, and their output. */
static int run_rows(struct scenario *s, struct flags_row *rows)
{
    const struct flags_row all[] = {
        ROW("compare", "A,B", FLAGS_TEXT, compare, 0, 0,
            "presets or policies (with @PREDICTOR), on equal seeds"),
        ROW("seeds", "N", FLAGS_I64, n_seeds, 1, 1000, "runs with this many seeds"),
        ROW("rates", "X,Y", FLAGS_TEXT, rates, 0, 0,
            "runs at each of these rate scales, on the same engines"),
        ROW("saturate", NULL, FLAGS_SWITCH, saturates, 0, 0,
            "the highest rate of these engines that meets --target"),
        ROW("fewest", NULL, FLAGS_SWITCH, fewest, 0, 0,
            "the fewest engines, up to --engines, of which 100, 99 and 95% meet the SLO"),
        ROW("target", "X", FLAGS_F64, target, 0, 1, "fraction that has to meet the SLO: 0.9"),
        ROW("threads", "N", FLAGS_I64, n_threads, 1, 256, "runs at once: all cores"),
        ROW("each-step", NULL, FLAGS_SWITCH, each_step, 0, 0, "plan every step: no holds"),
        ROW("checks", NULL, FLAGS_SWITCH, checks, 0, 0, "check every plan and engine, each step"),
        ROW("soft-deadlines", NULL, FLAGS_SWITCH, has_soft_deadlines, 0, 0,
            "late requests go on: only routers look at deadlines"),
        ROW("interval", "T", FLAGS_DURATION, interval_ns, 0, 0, "of the series: a hundredth"),
        ROW("csv", "FILE", FLAGS_FILE, csv, 0, 0,
            "write the records (.jsonl: as JSONL); of several runs each its own, FILE with policy, "
            "rate and seed before its ending"),
        ROW("series", "FILE", FLAGS_FILE, series, 0, 0,
            "write queue and rates over time, CSV; files as above"),
        ROW("trace", "FILE", FLAGS_FILE, trace, 0, 0,
            "write every batch, for ui.perfetto.dev; files as above"),
        ROW("log-engine", "FILE", FLAGS_FILE, log_engine, 0, 0,
            "write each engine's log, FILE, FILE.1, ..., for `shoal replay`; files as above"),
        ROW("html", "FILE", FLAGS_FILE, html, 0, 0, "write a page with plots"),
        ROW("json", NULL, FLAGS_SWITCH, is_json, 0, 0, "print JSON"),
    };
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

int scenario_rows(struct scenario *s, struct flags_row rows[SCENARIO_ROWS_MAX])
{
    int n = world_rows(s, rows);
    n += change_rows(s, rows + n);
    n += run_rows(s, rows + n);
    CHECK(n <= SCENARIO_ROWS_MAX);
    return n;
}

int scenario_group_rows(struct scenario_group *s, struct flags_row rows[SCENARIO_ROWS_MAX])
{
    const struct flags_row all[] = {
        ROW("count", "", FLAGS_I64, count, 1, 65535, ""),
        ROW("device", "", FLAGS_TEXT, device, 0, 0, ""),
        ROW("tp", "", FLAGS_I64, tp, 1, 64, ""),
        ROW("ranks", "", FLAGS_I64, n_ranks, 1, DEVICE_RANKS_MAX, ""),
        ROW("memory", "", FLAGS_BYTES, memory_bytes, 1, 1e16, ""),
        ROW("services", "", FLAGS_TEXTS, services, 0, 0, ""),
        ROW("lanes", "", FLAGS_TEXTS, lanes, 0, 0, ""),
        ROW("shares", "", FLAGS_TEXTS, shares, 0, 0, ""),
        ROW("quotas", "", FLAGS_TEXTS, quotas, 0, 0, ""),
        ROW("role", "", FLAGS_TEXT, role, 0, 0, ""),
        ROW("scale", "", FLAGS_TEXTS, scale, 0, 0, ""),
        ROW("chain", "", FLAGS_TEXTS, chain, 0, 0, ""),
        ROW("planner", "", FLAGS_TEXT, planner, 0, 0, ""),
        ROW("links", "", FLAGS_TEXT, links, 0, 0, ""),
        ROW("batch", "", FLAGS_I64, n_batch, 1, 4096, ""),
        ROW("tokens", "", FLAGS_I64, n_context, 1, LIMIT_CONTEXT, ""),
    };
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

int scenario_node_rows(struct scenario_node *s, struct flags_row rows[SCENARIO_ROWS_MAX])
{
    const struct flags_row all[] = {
        ROW("count", "", FLAGS_I64, count, 1, 4096, ""),
        ROW("device", "", FLAGS_TEXT, device, 0, 0, ""),
        ROW("devices", "", FLAGS_I64, n_devices, 1, 64, ""),
        ROW("memory", "", FLAGS_BYTES, memory_bytes, 1, 1e16, ""),
        ROW("cost", "", FLAGS_F64, cost_per_hour, 0, 1e6, ""),
    };
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

int scenario_service_rows(struct scenario_service *s, struct flags_row rows[SCENARIO_ROWS_MAX])
{
    struct flags_row all[] = {
        ROW("model", "", FLAGS_TEXT, model, 0, 0, ""),
        ROW("profile", "", FLAGS_TEXT, profile, 0, 0, ""),
        ROW("profile-cores", "", FLAGS_I64, profile_cores, 1, 1024, ""),
        ROW("profile-scale", "", FLAGS_F64, profile_scale, 0.01, 100, ""),
        ROW("profile-points", "", FLAGS_SWITCH, profile_points, 0, 0, ""),
        ROW("tables", "", FLAGS_TEXTS, tables, 0, 0, ""),
        ROW("table-skew", "", FLAGS_F64, table_skew, 0, 1, ""),
        ROW("table-layers", "", FLAGS_I64, table_layers, 1, 1024, ""),
        ROW("host-ms", "", FLAGS_F64, host.ms, 0, 1e6, ""),
        ROW("host-prompt-ms", "", FLAGS_F64, host.prompt_ms, 0, 1e6, ""),
        ROW("host-us-per-request", "", FLAGS_F64, host.request_us, 0, 1e6, ""),
        ROW("host-us-per-token", "", FLAGS_F64, host.token_us, 0, 1e6, ""),
        ROW("weights-bytes", "", FLAGS_BYTES, weights_bytes, 0, 0, ""),
        ROW("activation-bytes", "", FLAGS_BYTES, activation_bytes, 0, 0, ""),
        ROW("kv-bytes-per-token", "", FLAGS_BYTES, kv_bytes_per_token, 1, 1e9, ""),
        ROW("kv-type", "", FLAGS_TEXT, kv_type, 0, 0, ""),
        ROW("kv-bytes-min", "", FLAGS_BYTES, kv_bytes_min, 0, 0, ""),
        ROW("kv-bytes-max", "", FLAGS_BYTES, kv_bytes_max, 0, 0, ""),
        ROW("ttft", "", FLAGS_DURATION, slo.ttft_ns, 0, 0, ""),
        ROW("tpot", "", FLAGS_DURATION, slo.tpot_ns, 0, LIMIT_TPOT_MS * 1e6, ""),
        ROW("e2e", "", FLAGS_DURATION, slo.e2e_ns, 0, 0, ""),
        ROW("joins", "", FLAGS_DURATION, joins_ns, 0, 0, ""),
        ROW("leaves", "", FLAGS_DURATION, leaves_ns, 0, 0, ""),
        ROW("floor-ms", "", FLAGS_F64, perf.floor_ms, 0, 1e6, ""),
        ROW("prefill-ms", "", FLAGS_F64, perf.c1_ms, 0, 1e6, ""),
        ROW("prefill-us-per-token", "", FLAGS_F64, perf.k1_us, 0, 1e6, ""),
        ROW("prefill-us-per-kilopair", "", FLAGS_F64, perf.q1_us, 0, 1e6, ""),
        ROW("decode-ms", "", FLAGS_F64, perf.c3_ms, 0, 1e6, ""),
        ROW("decode-us-per-request", "", FLAGS_F64, perf.c2_us, 0, 1e6, ""),
        ROW("decode-ns-per-context", "", FLAGS_F64, perf.k2_ns, 0, 1e6, ""),
    };
    bool *const given[] = { &s->perf.has_floor, &s->perf.has_c1, &s->perf.has_k1, &s->perf.has_q1,
                            &s->perf.has_c3,    &s->perf.has_c2, &s->perf.has_k2 };
    for (size_t i = 0; i < COUNT_OF(given); i++)
        all[COUNT_OF(all) - COUNT_OF(given) + i].is_given = given[i];
    memcpy(rows, all, sizeof(all));
    return (int)COUNT_OF(all);
}

const char *scenario_profile(const char *text, const char *service)
{
    size_t n = strlen(service);
    bool is_of_it = strncmp(text, service, n) == 0 && text[n] == '=' && text[n + 1] != '\0';
    return is_of_it ? text + n + 1 : NULL;
}

bool scenario_has_profile(const struct scenario *scenario)
{
    bool has = scenario->profiles.n > 0; /* each belongs to a service, or the scenario is refused */
    for (int i = 0; i < scenario->n_services && !has; i++)
        has = scenario->services[i].profile != NULL;
    return has;
}

bool scenario_has_perf(const struct scenario_service *s)
{
    const struct scenario_perf *p = &s->perf;
    return p->has_floor || p->has_c1 || p->has_k1 || p->has_q1 || p->has_c3 || p->has_c2 ||
           p->has_k2;
}

bool scenario_part(const char *text, bool of_quotas, struct view *name, int64_t *value)
{
    const char *sign = strrchr(text, '=');
    if (sign == NULL)
        return false;
    *name = view_of(text, (size_t)(sign - text));
    return (of_quotas ? parse_bytes(sign + 1, value) : parse_i64(sign + 1, value)) && *value >= 1 &&
           (of_quotas || *value <= 100);
}

enum status scenario_read(struct scenario *scenario, const char *path, struct fault *fault)
{
    char *content;
    size_t n_bytes;
    enum status status = file_read(path, SCENARIO_BYTES_MAX, &content, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = scenario_parse(scenario, path, content, n_bytes, fault);
    mem_give(content);
    return status;
}

static enum status keep(enum status status, const char *path, struct fault *fault)
{
    if (status != STATUS_OK || path == NULL)
        return status;
    return file_keep(path, TRAFFIC_PIPE_BYTES_MAX, fault);
}

enum status scenario_keep_pipes(const struct scenario *scenario, struct fault *fault)
{
    enum status status = traffic_keep_pipes(&scenario->workload, fault);
    if (status == STATUS_OK)
        status = traffic_keep_pipes(&scenario->profiles, fault);
    for (int i = 0; i < scenario->n_services; i++) {
        const struct scenario_service *s = &scenario->services[i];
        status = keep(status, s->profile, fault);
        for (int k = 0; k < s->tables.n; k++)
            status = keep(status, s->tables.at[k], fault);
    }
    for (int i = 0; i < scenario->n_groups; i++)
        status = keep(status, scenario->groups[i].links, fault);
    return status;
}

static bool keep_pipes(const struct scenario *scenario)
{
    struct fault fault;
    if (scenario_keep_pipes(scenario, &fault) == STATUS_OK)
        return true;
    fprintf(stderr, "shoal: %s\n", fault.text);
    return false;
}

/* The file, with what the command line gives over it. */
static bool read_both(struct scenario *scenario, const struct flags *flags,
                      const struct flags_given *given, const char *path)
{
    struct fault fault;
    if (path != NULL && scenario_read(scenario, path, &fault) != STATUS_OK) {
        bool is_traffic = strchr(path, ':') != NULL;
        fprintf(stderr, "shoal: %s%s\n", fault.text,
                is_traffic ? " (a scenario is a file; a workload comes behind --workload)" : "");
        return false;
    }
    if (flags_has(flags, given, "workload"))
        scenario->workload.n = 0;
    return flags_apply(flags, given) && keep_pipes(scenario);
}

bool scenario_open(struct scenario *scenario, int argc, char **argv)
{
    struct flags_row rows[SCENARIO_ROWS_MAX];
    const struct flags flags = {
        "Simulates engines, policies and traffic: the real schedulers and pools on virtual time. "
        "With --workload and nothing else it just runs; docs/SIMULATOR.md tells the rest.",
        "[SCENARIO.yaml]",
        rows,
        scenario_rows(scenario, rows),
        0,
        1
    };
    struct flags_given given;
    const char *path = NULL;
    int n_plain;
    scenario_init(scenario);
    bool is_fine = flags_read(&flags, argc, argv, &given, &path, &n_plain) &&
                   read_both(scenario, &flags, &given, path);
    flags_free(&given);
    return is_fine;
}
