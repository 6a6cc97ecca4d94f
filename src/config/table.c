/* The keys of the configuration, and the conversion of text to each kind of value. */
#include "config/table.h"

#include "base/time.h"
#include <stdlib.h>
#include <string.h>

#define GLOBAL(field) offsetof(struct config, field), 0
#define MODEL(field)  offsetof(struct config_model, field), 0

#define DAY (86400 * INT64_C(1000000000))
#define TIB (INT64_C(1) << 40)

static const struct config_key global_keys[] = {
    { "listen", CONFIG_TEXT, GLOBAL(listen), 0, 0, "address and port, 127.0.0.1:7411",
      CONFIG_TEXT_ADDRESS },
    { "api_key", CONFIG_TEXT, GLOBAL(api_key), 0, 0, "key that clients must send",
      CONFIG_TEXT_KEY },
    { "api_key_file", CONFIG_TEXT, GLOBAL(api_key_file), 0, 0, "a file that holds it",
      CONFIG_TEXT_PATH },
    { "admin_key", CONFIG_TEXT, GLOBAL(admin_key), 0, 0,
      "needed to load, unload, add and remove models", CONFIG_TEXT_KEY },
    { "admin_key_file", CONFIG_TEXT, GLOBAL(admin_key_file), 0, 0, "a file that holds it",
      CONFIG_TEXT_PATH },
    { "tenants", CONFIG_TEXTS, offsetof(struct config, tenants), offsetof(struct config, n_tenants),
      0, CONFIG_TENANTS, "more API keys, NAME=KEY each: no KV block is shared between names",
      CONFIG_TEXT_TENANT },
    { "quotas", CONFIG_TEXTS, offsetof(struct config, quotas), offsetof(struct config, n_quotas), 0,
      CONFIG_TENANTS,
      "bounds of each key, NAME=rpm:60/tpm:10000/rpd:1000/tpd:100000 with any of the four "
      "(requests "
      "and tokens per minute and day, UTC); NAME is a tenant, or * for all other keys",
      CONFIG_TEXT_WORD },
    { "quota_gateways", CONFIG_COUNT, GLOBAL(n_quota_gateways), 1, LIMIT_GATEWAYS,
      "gateways between which quotas are divided: each gives its part" },
    { "usage_file", CONFIG_TEXT, GLOBAL(usage_file), 0, 0,
      "SQLite file for the usage of each tenant and key; absent: it is forgotten at the end",
      CONFIG_TEXT_PATH },
    { "usage_days", CONFIG_COUNT, GLOBAL(n_usage_days), 1, 3660, "days of usage that are kept" },
    { "keyless", CONFIG_BOOL, GLOBAL(is_keyless), 0, 0,
      "a reload may take the last API key, or the admin key, away; false: it is refused" },
    { "model_dirs", CONFIG_TEXTS, offsetof(struct config, model_dirs),
      offsetof(struct config, n_model_dirs), 0, CONFIG_MODEL_DIRS,
      "directories that POST /models/load may take models from, by their path; absent: none",
      CONFIG_TEXT_PATH },
    { "proxies", CONFIG_TEXTS, offsetof(struct config, proxies), offsetof(struct config, n_proxies),
      0, CONFIG_PROXIES,
      "trusted reverse proxies, ADDRESS or ADDRESS/BITS: their X-Forwarded-For names the client",
      CONFIG_TEXT_WORD },
    { "cors_origin", CONFIG_TEXT, GLOBAL(cors_origin), 0, 0,
      "origin of web pages that may call, * for all; absent: the server's own",
      CONFIG_TEXT_ORIGIN },
    { "tls_cert", CONFIG_TEXT, GLOBAL(tls_cert), 0, 0,
      "certificate file, PEM; with it, clients call https", CONFIG_TEXT_PATH },
    { "tls_key", CONFIG_TEXT, GLOBAL(tls_key), 0, 0, "private key file, PEM", CONFIG_TEXT_PATH },
    { "bus_listen", CONFIG_TEXT, GLOBAL(bus_listen), 0, 0,
      "address and port for gateways on other machines; absent: none may connect",
      CONFIG_TEXT_ADDRESS },
    { "nodes", CONFIG_TEXTS, offsetof(struct config, nodes), offsetof(struct config, n_nodes), 0,
      CONFIG_NODES,
      "this process is a gateway: its nodes, HOST:PORT or HOST:PORT=ENGINES (1) of each",
      CONFIG_TEXT_WORD },
    { "bus_cert", CONFIG_TEXT, GLOBAL(bus_cert), 0, 0,
      "certificate file between gateways and nodes, PEM; without it the bus stays on loopback",
      CONFIG_TEXT_PATH },
    { "bus_key", CONFIG_TEXT, GLOBAL(bus_key), 0, 0, "its private key file, PEM",
      CONFIG_TEXT_PATH },
    { "bus_ca", CONFIG_TEXT, GLOBAL(bus_ca), 0, 0,
      "certificate file of the cluster's own authority, PEM: it alone is trusted on the bus",
      CONFIG_TEXT_PATH },
    { "bus_names", CONFIG_TEXTS, offsetof(struct config, bus_names),
      offsetof(struct config, n_bus_names), 0, CONFIG_BUS_NAMES,
      "names in the certificates of gateways that may connect", CONFIG_TEXT_WORD },
    { "bus_advertise", CONFIG_TEXT, GLOBAL(bus_advertise), 0, 0,
      "HOST:PORT under which others reach this node's bus_listen; absent: bus_listen itself",
      CONFIG_TEXT_WORD },
    { "bulk_listen", CONFIG_TEXT, GLOBAL(bulk_listen), 0, 0,
      "address and port at which other nodes get KV and model files from this node; absent: none "
      "may connect",
      CONFIG_TEXT_ADDRESS },
    { "bulk_advertise", CONFIG_TEXT, GLOBAL(bulk_advertise), 0, 0,
      "HOST:PORT under which other nodes reach bulk_listen; absent: bulk_listen itself",
      CONFIG_TEXT_WORD },
    { "bulk_names", CONFIG_TEXTS, offsetof(struct config, bulk_names),
      offsetof(struct config, n_bulk_names), 0, CONFIG_BUS_NAMES,
      "names in the certificates of the other nodes", CONFIG_TEXT_WORD },
    { "store", CONFIG_TEXTS, offsetof(struct config, store), offsetof(struct config, n_store), 0,
      CONFIG_STORES,
      "etcd's endpoints, http://HOST:PORT or https://HOST:PORT: nodes, gateways and managers meet "
      "there",
      CONFIG_TEXT_WORD },
    { "store_cert", CONFIG_TEXT, GLOBAL(store_cert), 0, 0,
      "certificate file for etcd, PEM; only with https", CONFIG_TEXT_PATH },
    { "store_key", CONFIG_TEXT, GLOBAL(store_key), 0, 0, "its private key file, PEM",
      CONFIG_TEXT_PATH },
    { "store_ca", CONFIG_TEXT, GLOBAL(store_ca), 0, 0,
      "certificate file of etcd's authority, PEM: it alone is trusted for etcd", CONFIG_TEXT_PATH },
    { "store_lease", CONFIG_DURATION, GLOBAL(store_lease_ns), 2 * TIME_NS_PER_S,
      600 * TIME_NS_PER_S, "a process that is silent for this long is no member of the cluster" },
    { "cluster", CONFIG_TEXT, GLOBAL(cluster), 0, 0,
      "name of the cluster, part of its keys in etcd", CONFIG_TEXT_WORD },
    { "state_dir", CONFIG_TEXT, GLOBAL(state_dir), 0, 0,
      "folder in which a node or manager remembers which manager it obeyed", CONFIG_TEXT_PATH },
    { "node_slots", CONFIG_COUNT, GLOBAL(n_node_slots), 1, CONFIG_SLOTS,
      "nodes that a gateway or manager can learn of from etcd at once" },
    { "node_engines", CONFIG_COUNT, GLOBAL(n_node_engines), 1, LIMIT_DEVICES,
      "engines that each of these nodes may have" },
    { "model_peers", CONFIG_TEXTS, offsetof(struct config, model_peers),
      offsetof(struct config, n_model_peers), 0, CONFIG_PEERS,
      "HOST:PORT of other nodes' bulk_listen, which are asked for a model's file before its store "
      "is",
      CONFIG_TEXT_WORD },
    { "model_cache", CONFIG_TEXT, GLOBAL(model_cache), 0, 0,
      "folder for model files that are fetched; processes may share it", CONFIG_TEXT_PATH },
    { "model_cache_bytes", CONFIG_BYTES, GLOBAL(model_cache_bytes), 0, 1024 * TIB,
      "the most bytes of files in it: those that no process uses and that were used longest ago "
      "leave; 0: as the disk has room" },
    { "model_rate", CONFIG_BYTES, GLOBAL(model_rate_bytes), 0, TIB,
      "the most bytes that one file is fetched with in a second, and that a node gives to others; "
      "0: no bound" },
    { "model_stall", CONFIG_DURATION, GLOBAL(model_stall_ns), TIME_NS_PER_S, 3600 * TIME_NS_PER_S,
      "a store that is nearly silent for this long (less than 16 KiB a second) is asked again" },
    { "model_ca", CONFIG_TEXT, GLOBAL(model_ca), 0, 0,
      "file of the authorities to trust for https stores, PEM; absent: the system's",
      CONFIG_TEXT_PATH },
    { "model_manifest", CONFIG_TEXT, GLOBAL(model_manifest), 0, 0,
      "file with the SHA-256 of model files, as sha256sum writes it: a line HASH  NAME each",
      CONFIG_TEXT_PATH },
    { "monitor_listen", CONFIG_TEXT, GLOBAL(monitor_listen), 0, 0,
      "address and port of a manager's health, metrics and monitor; absent: it has none",
      CONFIG_TEXT_ADDRESS },
    { "monitor_window", CONFIG_DURATION, GLOBAL(monitor_ns), 2 * TIME_NS_PER_S, DAY,
      "a manager's monitor measures traffic over this long, and plans on it" },
    { "replacement", CONFIG_TEXT, GLOBAL(replacement), 0, 0,
      "a manager plans on live traffic: off, advise (it says what it would move), on (it moves)",
      CONFIG_TEXT_WORD },
    { "replan_interval", CONFIG_DURATION, GLOBAL(replan_ns), TIME_NS_PER_S, DAY,
      "the first interval between live plans; later ones follow SeaLLM's Equation 8" },
    { "preset", CONFIG_TEXT, GLOBAL(preset), 0, 0,
      "scheduler, router, KV pool and thresholds that belong together: %", CONFIG_TEXT_WORD,
      CONFIG_REGISTRY_PRESETS },
    { "policy", CONFIG_TEXT, GLOBAL(policy), 0, 0, "scheduler of the engines: %", CONFIG_TEXT_WORD,
      CONFIG_REGISTRY_SCHEDULERS },
    { "thresholds", CONFIG_TEXTS, offsetof(struct config, thresholds),
      offsetof(struct config, n_thresholds), 0, CONFIG_THRESHOLDS,
      "thresholds of the scheduler, name=value each; docs/POLICIES.md lists them",
      CONFIG_TEXT_WORD },
    { "router", CONFIG_TEXT, GLOBAL(router), 0, 0,
      "chooses the engine of each request, or of whole batches: %", CONFIG_TEXT_WORD,
      CONFIG_REGISTRY_ROUTERS },
    { "router_thresholds", CONFIG_TEXTS, offsetof(struct config, router_thresholds),
      offsetof(struct config, n_router_thresholds), 0, CONFIG_ROUTER_THRESHOLDS,
      "thresholds of the router, name=value each; docs/POLICIES.md lists them", CONFIG_TEXT_WORD },
    { "predictor", CONFIG_TEXT, GLOBAL(predictor), 0, 0,
      "predicts the lengths of answers: % (some take a number, as quantile:0.9 or bucket:2048)",
      CONFIG_TEXT_WORD, CONFIG_REGISTRY_PREDICTORS },
    { "kv", CONFIG_TEXT, GLOBAL(kv), 0, 0, "kind of the KV pool: %; absent: the preset's",
      CONFIG_TEXT_WORD, CONFIG_REGISTRY_POOLS },
    { "kv_type", CONFIG_TEXT, GLOBAL(kv_type), 0, 0,
      "type of cached keys and values: f16, f32, q8_0 (half of f16)", CONFIG_TEXT_WORD },
    { "speculation", CONFIG_TEXT, GLOBAL(speculation), 0, 0,
      "drafts of an answer's next tokens, which change no token: off, lookup (what followed the "
      "same "
      "tokens before)",
      CONFIG_TEXT_WORD },
    { "log_level", CONFIG_TEXT, GLOBAL(log_level), 0, 0,
      "least level of log lines: debug, info, warn, error", CONFIG_TEXT_WORD },
    { "log_json", CONFIG_BOOL, GLOBAL(log_json), 0, 0, "log lines are JSON" },
    { "log_engine", CONFIG_TEXT, GLOBAL(log_engine), 0, 0,
      "file for the log of each engine, for shoal replay; it holds prompts and answers",
      CONFIG_TEXT_PATH },
    { "log_engine_bytes", CONFIG_BYTES, GLOBAL(log_engine_bytes), 1 << 16, TIB,
      "largest size of log_engine and of trace" },
    { "trace", CONFIG_TEXT, GLOBAL(trace), 0, 0,
      "file for a Chrome trace, which shows what each lane computed when", CONFIG_TEXT_PATH },
    { "devices", CONFIG_TEXTS, offsetof(struct config, devices), offsetof(struct config, n_devices),
      0, LIMIT_DEVICES,
      "one engine per device: cpu (all cores that the process may use), cpu:0-1, cuda:0; "
      "group(cpu:0,cpu:1): each rank has a part of every layer; group(cpu:0=20,cpu:1=4): each has "
      "some layers; auto: every GPU, and without any the cores",
      CONFIG_TEXT_WORD },
    { "engines", CONFIG_TEXT, GLOBAL(engine_kind), 0, 0,
      "each engine is a process of its own, which is restarted after a crash, or threads of this "
      "one: processes, threads",
      CONFIG_TEXT_WORD },
    { "planner", CONFIG_TEXT, GLOBAL(planner), 0, 0,
      "assigns cores to models unless devices is set: %; none: one engine for all",
      CONFIG_TEXT_WORD, CONFIG_REGISTRY_PLANNERS },
    { "placement", CONFIG_TEXT, GLOBAL(placement), 0, 0,
      "a file of shoal plan --out, whose engines are used instead of devices and planner",
      CONFIG_TEXT_PATH },
    { "partial", CONFIG_BOOL, GLOBAL(is_partial), 0, 0,
      "start even if a model to be loaded at start has more bytes than an engine" },
    { "lanes", CONFIG_TEXTS, offsetof(struct config, lanes), offsetof(struct config, n_lanes), 0,
      LIMIT_LANES - 1,
      "shares of an engine's cores that compute side by side, such as 1 1; absent: the policy's",
      CONFIG_TEXT_WORD },
    { "memory", CONFIG_BYTES, GLOBAL(memory_bytes), 0, 1024 * TIB,
      "bytes of each engine for weights, activations and KV (of all engines, if a planner places); "
      "0: a fair part of 70% of the machine's or its container's, or of what the rest leaves" },
    { "kv_bytes", CONFIG_BYTES, GLOBAL(kv_bytes), 0, 1024 * TIB,
      "the most bytes of memory that KV may take; 0: what weights leave" },
    { "swap_bytes", CONFIG_BYTES, GLOBAL(swap_bytes), 0, 1024 * TIB,
      "host memory of each engine for the KV of preempted requests; 0: they compute again" },
    { "kv_disk", CONFIG_TEXT, GLOBAL(kv_disk), 0, 0,
      "folder in which each engine keeps the KV of prompts and answers for later prompts, also "
      "after a restart; it is as secret as they are. It needs swap_bytes; absent: none is kept",
      CONFIG_TEXT_PATH },
    { "kv_disk_bytes", CONFIG_BYTES, GLOBAL(kv_disk_bytes), 1 << 20, 1024 * TIB,
      "the most bytes of each engine's files in it: those that were used longest ago leave" },
    { "sleep_bytes", CONFIG_BYTES, GLOBAL(sleep_bytes), 0, 1024 * TIB,
      "host memory of each engine for the packed weights of models that sleep. Idle models that "
      "leave sleep where they fit. 0: they are unloaded" },
    { "max_requests", CONFIG_COUNT, GLOBAL(n_requests_max), 1, 1 << 19,
      "requests admitted at once, shared fairly between tenants; more are answered 429" },
    { "max_batch", CONFIG_COUNT, GLOBAL(n_batch_max), 1, LIMIT_BATCH_ITEMS,
      "most requests of a batch" },
    { "max_batch_tokens", CONFIG_COUNT, GLOBAL(n_batch_tokens_max), 16, LIMIT_BATCH_TOKENS,
      "most tokens of a batch" },
    { "chunk_tokens", CONFIG_COUNT, GLOBAL(chunk_tokens), 0, LIMIT_BATCH_TOKENS,
      "longest chunk in which prompts are computed, in tokens; 0: prompts are computed whole" },
    { "http_memory", CONFIG_BYTES, GLOBAL(http_bytes), 0, TIB,
      "bytes of requests and answers, of all clients, shared fairly between them; 0: an eighth of "
      "the machine's or its container's, at most 1GiB" },
    { "max_connections", CONFIG_COUNT, GLOBAL(n_connections_max), 1, 1 << 20,
      "most open connections" },
    { "max_body", CONFIG_BYTES, GLOBAL(body_bytes_max), 1024, INT64_C(1) << 30,
      "most bytes of a request's body; at most a quarter of http_memory" },
    { "body_timeout", CONFIG_DURATION, GLOBAL(body_ns_max), TIME_NS_PER_S, DAY,
      "how long a request's body may take to arrive" },
    { "responses", CONFIG_TEXT, GLOBAL(responses), 0, 0,
      "file that keeps the answers of /v1/responses; absent: they are kept in memory",
      CONFIG_TEXT_PATH },
    { "responses_peers", CONFIG_TEXTS, offsetof(struct config, responses_peers),
      offsetof(struct config, n_responses_peers), 0, CONFIG_RESPONSES_PEERS,
      "other gateways, http(s)://HOST:PORT each, whose answers of /v1/responses requests may go on "
      "from. They are asked with the client's own key",
      CONFIG_TEXT_WORD },
    { "responses_bytes", CONFIG_BYTES, GLOBAL(responses_bytes), 0, TIB,
      "most bytes of these answers, the oldest of which leave first; 0: none is kept" },
    { "drain", CONFIG_DURATION, GLOBAL(drain_ns), 0, DAY,
      "how long admitted requests may take after SIGTERM" },
    { "stall", CONFIG_DURATION, GLOBAL(stall_ns), TIME_NS_PER_S, DAY,
      "/health fails if an engine has work and makes no step for this time" },
    { "hold", CONFIG_DURATION, GLOBAL(hold_ns), 0, DAY,
      "how long a request waits for its model to load, or for memory that other models have" },
    { "max_held", CONFIG_COUNT, GLOBAL(n_held_max), 1, 1 << 19,
      "requests that may wait for one model to load before any engine has had them" },
    { "keep_alive", CONFIG_DURATION, GLOBAL(keep_alive_ns), -DAY, 365 * DAY,
      "time after which an idle model leaves memory; negative: it stays" },
    { "profile", CONFIG_DURATION, GLOBAL(profile_ns), 0, 60 * TIME_NS_PER_S,
      "time that the micro-profile of a loaded model may take" },
    { "steady", CONFIG_COUNT, GLOBAL(steady), 0, 100000,
      "a batch takes at least this percentage of its profile's time, to measure on a machine of "
      "unsteady speed; 0: off" },
    { "arithmetic", CONFIG_TEXT, GLOBAL(arithmetic), 0, 0,
      "default, or strict: GPUs compute prompts as they compute answers, so that blocks of answers "
      "are reused in prompts; prompts take longer. CPUs always do so",
      CONFIG_TEXT_WORD },
    { "prefix_cache", CONFIG_BOOL, GLOBAL(has_prefix_cache), 0, 0,
      "the KV of equal beginnings of prompts is computed once" },
    { "jump_forward", CONFIG_BOOL, GLOBAL(jumps_forward), 0, 0,
      "text that a structured output leaves no choice in is spelled by the tokenizer and not "
      "drawn, "
      "which takes fewer passes" },
    { "strict", CONFIG_BOOL, GLOBAL(is_strict), 0, 0, "requests with unknown fields are refused" },
    { "default_chat_template", CONFIG_TEXT, GLOBAL(default_chat_template), 0, 0,
      "chat template of models that have none: a file, a template's text, or chatml; absent: they "
      "refuse chats",
      CONFIG_TEXT_TEMPLATE },
    { "template_time", CONFIG_TEXT, GLOBAL(template_time), 0, 0,
      "date and time that chat templates see, such as 2026-01-31T12:30:00; absent: the local time",
      CONFIG_TEXT_WORD },
    { "slo.ttft_ms", CONFIG_COUNT, GLOBAL(ttft_ms), 0, INT32_MAX,
      "target for the time to the first token, in ms; 0: none" },
    { "slo.tpot_ms", CONFIG_COUNT, GLOBAL(tpot_ms), 0, LIMIT_TPOT_MS,
      "target for the time per further token, in ms; 0: none" },
    { "slo.e2e_ms", CONFIG_COUNT, GLOBAL(e2e_ms), 0, INT32_MAX,
      "target for the time of a whole answer, in ms; 0: none" },
};

static const struct config_key model_keys[] = {
    { "path", CONFIG_TEXT, MODEL(path), 0, 0,
      "a GGUF file or a Hugging Face directory; or the http:// or https:// address of a GGUF file, "
      "which is fetched into model_cache; or peer://NAME, a file that only model_peers have",
      CONFIG_TEXT_PATH },
    { "sha256", CONFIG_TEXT, MODEL(sha256), 0, 0,
      "SHA-256 of the file, 64 hexadecimal digits: another file is refused; needed for one that is "
      "fetched, unless model_manifest has it",
      CONFIG_TEXT_WORD },
    { "profile", CONFIG_TEXT, MODEL(profile), 0, 0,
      "a file of shoal profile; absent: the model is measured when it is loaded",
      CONFIG_TEXT_PATH },
    { "chat_template", CONFIG_TEXT, MODEL(chat_template), 0, 0,
      "a file, a template's text, chatml, or the name of one of the model's templates; absent: the "
      "model's own",
      CONFIG_TEXT_TEMPLATE },
    { "aliases", CONFIG_TEXTS, offsetof(struct config_model, aliases),
      offsetof(struct config_model, n_aliases), 0, CONFIG_ALIASES,
      "other names that clients may use", CONFIG_TEXT_NAME },
    { "ctx", CONFIG_COUNT, MODEL(n_context), 0, LIMIT_CONTEXT,
      "tokens of prompt and answer, at most what the model was trained for; 0: that many" },
    { "priority", CONFIG_COUNT, MODEL(priority), -32768, 32767,
      "priority of its requests; the lower number runs first" },
    { "slo.ttft_ms", CONFIG_COUNT, MODEL(ttft_ms), 0, INT32_MAX,
      "target for the time to the first token, in ms; 0: none" },
    { "slo.tpot_ms", CONFIG_COUNT, MODEL(tpot_ms), 0, LIMIT_TPOT_MS,
      "target for the time per further token, in ms; 0: none" },
    { "slo.e2e_ms", CONFIG_COUNT, MODEL(e2e_ms), 0, INT32_MAX,
      "target for the time of a whole answer, in ms; 0: none" },
    { "kv_type", CONFIG_TEXT, MODEL(kv_type), 0, 0,
      "type of its cached keys and values; absent: the global one", CONFIG_TEXT_WORD },
    { "speculation", CONFIG_TEXT, MODEL(speculation), 0, 0,
      "drafts of its answers' next tokens: off, lookup; absent: the global one", CONFIG_TEXT_WORD },
    { "kv.min", CONFIG_BYTES, MODEL(kv_bytes_min), 0, 1024 * TIB,
      "bytes of the pool that are reserved for it" },
    { "kv.max", CONFIG_BYTES, MODEL(kv_bytes_max), 0, 1024 * TIB,
      "most bytes of the pool that it may use; 0: all" },
    { "rate", CONFIG_NUMBER, MODEL(rate_per_s), 0, 1000000,
      "requests a second that the planner expects; set for no model: equal rates that keep the "
      "machine half busy" },
    { "prompt_tokens", CONFIG_COUNT, MODEL(n_prompt), 0, LIMIT_CONTEXT,
      "mean length of a prompt that the planner expects; 0: 256" },
    { "output_tokens", CONFIG_COUNT, MODEL(n_output), 0, LIMIT_CONTEXT,
      "mean length of an answer that the planner expects; 0: 256" },
    { "keep_alive", CONFIG_DURATION, MODEL(keep_alive_ns), -DAY, 365 * DAY,
      "time after which it leaves memory when it is idle; negative: it stays" },
    { "pinned", CONFIG_BOOL, MODEL(is_pinned), 0, 0,
      "never evicted, except for an answer that has begun and finds its memory nowhere else" },
    { "preload", CONFIG_BOOL, MODEL(is_preloaded), 0, 0,
      "it is loaded at start, and not by its first request" },
    { "devices", CONFIG_TEXTS, offsetof(struct config_model, devices),
      offsetof(struct config_model, n_devices), 0, LIMIT_DEVICES,
      "engines that may serve it; absent: all", CONFIG_TEXT_WORD },
};

const struct config_key *config_table_globals(int *n)
{
    *n = (int)COUNT_OF(global_keys);
    return global_keys;
}

const struct config_key *config_table_models(int *n)
{
    *n = (int)COUNT_OF(model_keys);
    return model_keys;
}

void config_table_add_help(const struct config_key *key, struct str *out)
{
    const char *at = key->names != CONFIG_REGISTRY_NONE ? strchr(key->help, '%') : NULL;
    if (at == NULL) {
        str_add_text(out, key->help);
        return;
    }
    str_add(out, key->help, (size_t)(at - key->help));
    config_registry_add(key->names, out);
    str_add_text(out, at + 1);
}

/* Replaces ${env.NAME} by the environment's value. */
static enum status expand(const char *value, struct str *out, struct fault *fault)
{
    for (const char *at = value; *at;) {
        if (strncmp(at, "${env.", 6) != 0) {
            str_add_char(out, *at++);
            continue;
        }
        const char *end = strchr(at, '}');
        if (!end)
            return fault_set(fault, STATUS_BAD_INPUT, "%.140s has no closing }", at);
        char name[128];
        size_t n = (size_t)(end - at) - 6;
        if (n == 0 || n >= sizeof name)
            return fault_set(fault, STATUS_BAD_INPUT, "the name in %.140s is empty or too long",
                             at);
        memcpy(name, at + 6, n);
        name[n] = '\0';
        if (!getenv(name))
            return fault_set(fault, STATUS_BAD_INPUT, "the environment has no %s", name);
        str_add_text(out, getenv(name));
        at = end + 1;
    }
    return STATUS_OK;
}

static enum status assign_number(int64_t *out, const struct config_key *key, const char *text,
                                 struct fault *fault)
{
    static const char *const expected[] = { [CONFIG_COUNT] = "a whole number",
                                            [CONFIG_BYTES] = "bytes such as 512MiB",
                                            [CONFIG_DURATION] = "a duration such as 30s" };
    static const char *const units[] = {
        [CONFIG_COUNT] = "", [CONFIG_BYTES] = " bytes", [CONFIG_DURATION] = " seconds"
    };
    int64_t value = 0;
    bool is_number = key->type == CONFIG_COUNT   ? parse_i64(text, &value)
                     : key->type == CONFIG_BYTES ? parse_bytes(text, &value)
                                                 : parse_duration_ns(text, &value);
    if (!is_number)
        return fault_set(fault, STATUS_BAD_INPUT, "%s is \"%.60s\", expected %s", key->name, text,
                         expected[key->type]);
    double one = key->type == CONFIG_DURATION ? (double)TIME_NS_PER_S : 1;
    if (value < key->min || value > key->max)
        return fault_set(fault, STATUS_BAD_INPUT, "%s is %.60s, expected %.16g to %.16g%s",
                         key->name, text, (double)key->min / one, (double)key->max / one,
                         units[key->type]);
    *out = value;
    return STATUS_OK;
}

static enum status assign_f64(double *out, const struct config_key *key, const char *text,
                              struct fault *fault)
{
    double value = 0;
    if (!parse_f64(text, &value) || !(value >= (double)key->min && value <= (double)key->max))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s is \"%.60s\", expected a number from %lld to %lld", key->name, text,
                         (long long)key->min, (long long)key->max);
    *out = value;
    return STATUS_OK;
}

static enum status assign_bool(bool *out, const struct config_key *key, const char *text,
                               struct fault *fault)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%s is \"%.60s\", expected true or false",
                         key->name, text);
    *out = strcmp(text, "true") == 0;
    return STATUS_OK;
}

enum status config_table_assign(struct pile *pile, void *base, const struct config_key *key,
                                const char *value, struct fault *fault)
{
    unsigned char *at = (unsigned char *)base + key->offset;
    struct str text;
    str_init(&text);
    enum status status = expand(value, &text, fault);
    const char *v = text.at ? text.at : "";
    bool is_text = key->type == CONFIG_TEXT || key->type == CONFIG_TEXTS;
    if (status == STATUS_OK && is_text)
        status = config_text_check(key->text, key->name, view_of(v, text.n), fault);
    if (status == STATUS_OK && key->type == CONFIG_TEXT) {
        *(const char **)(void *)at = pile_text(pile, v, text.n);
    } else if (status == STATUS_OK && key->type == CONFIG_TEXTS) {
        int *n = (int *)(void *)((unsigned char *)base + key->n_offset);
        if (*n >= key->max)
            status = fault_set(fault, STATUS_TOO_LARGE, "%s has more than %d entries", key->name,
                               (int)key->max);
        else
            ((const char **)(void *)at)[(*n)++] = pile_text(pile, v, text.n);
    } else if (status == STATUS_OK && key->type == CONFIG_BOOL) {
        status = assign_bool((bool *)at, key, v, fault);
    } else if (status == STATUS_OK && key->type == CONFIG_NUMBER) {
        status = assign_f64((double *)(void *)at, key, v, fault);
    } else if (status == STATUS_OK) {
        status = assign_number((int64_t *)(void *)at, key, v, fault);
    }
    str_free(&text);
    return status;
}
