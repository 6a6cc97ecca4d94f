/* The routers' thresholds by name: what a configuration, a preset or a command line may set. */
#include "base/settings.h"
#include "route/policy.h"
#include <stdlib.h>
#include <string.h>

/* In the order of their enums. */
static const char *const phase_words[] = { "both", "prefill", "decode" };
static const char *const memory_words[] = { "padded", "rules", "paged" };
static const char *const cost_words[] = { "text", "code", "waste" };
_Static_assert(MEMORY_PADDED == 0 && MEMORY_RULES == 1 && MEMORY_PAGED == 2, "as the words");
_Static_assert(ROUTE_COST_TEXT == 0 && ROUTE_COST_CODE == 1 && ROUTE_COST_WASTE == 2, "so, too");
_Static_assert(ROUTE_PHASE_BOTH == 0 && ROUTE_PHASE_PREFILL == 1 && ROUTE_PHASE_DECODE == 2,
               "and these");

#define ROW(field, kind, min, max)                                                                 \
    SETTINGS_ROW(struct route_config, field, SETTINGS_##kind, min, max, NULL)
#define WORD(field, words) SETTINGS_ROW(struct route_config, field, SETTINGS_WORD, 0, 0, words)
static const struct settings_row rows[] = {
    ROW(seed, SEED, 0, 9e15),
    ROW(n_inflight_max, COUNT, 0, 1 << 20),
    ROW(p2c_counts, FLAG, 0, 1),
    ROW(static_ns_wait, MILLISECONDS, 0, 1e9),
    ROW(heartbeat_ns, MILLISECONDS, 0.001, 1e6),
    ROW(gamma, NUMBER, 0, 10),
    ROW(theta, NUMBER, 0.01, 1),
    ROW(headroom, NUMBER, 0, 0.99),
    ROW(force_fraction, NUMBER, 0, 1),
    ROW(ttft_ns, MILLISECONDS, 0.001, 1e9),
    ROW(tpot_ns, MILLISECONDS, 0.001, LIMIT_TPOT_MS),
    ROW(has_rebalance, FLAG, 0, 1),
    ROW(is_autoscaled, FLAG, 0, 1),
    WORD(phase, phase_words),
    ROW(n_slice, COUNT, 1, LIMIT_CONTEXT),
    ROW(n_batch, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(interval_factor, NUMBER, 0, 100),
    ROW(interval_ns_min, MILLISECONDS, 1, 1e9),
    ROW(spreads_small, FLAG, 0, 1),
    WORD(memory, memory_words),
    ROW(zeta, NUMBER, 0.01, 1),
    ROW(block_tokens, COUNT, 1, 4096),
    ROW(kv_bytes, BYTES, 0, 1e15),
    WORD(cost, cost_words),
    ROW(slo_weight, NUMBER, 0, 1e6),
    ROW(length_weight, NUMBER, 0, 1e6),
    ROW(cost_w1, NUMBER, 0, 1e6),
    ROW(cost_w2, NUMBER, 0, 1e6),
    ROW(cost_l1, NUMBER, 0, 1e6),
    ROW(cost_l2, NUMBER, 0, 1e6),
    ROW(cost_max, NUMBER, 0, 1e12),
    ROW(waste_max, NUMBER, 0, 1e3),
    ROW(n_odbs_batch, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(n_margin, COUNT, 0, LIMIT_CONTEXT),
    ROW(late_penalty_s, NUMBER, 0, 1e5),
};
#undef ROW
#undef WORD

/* "static.SERVICE=ENGINE" */
static bool set_engine(struct route_config *config, const char *text)
{
    static const char prefix[] = "static.";
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    char *end;
    long service = strtol(text + sizeof prefix - 1, &end, 10);
    if (end == text + sizeof prefix - 1 || *end != '=' || service < 0 || service >= LIMIT_SERVICES)
        return false;
    const char *value = end + 1;
    long engine = strtol(value, &end, 10);
    if (end == value || *end != '\0' || engine < -1 || engine >= INT16_MAX)
        return false;
    config->engine_of[service] = (int16_t)engine;
    return true;
}

enum status route_config_set(struct route_config *config, const char *text, struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(config, row, text, fault);
    if (set_engine(config, text))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no threshold of a router; one is \"n_slice=128\"", text);
}

const char *route_config_name(int i)
{
    return i >= 0 && i < (int)COUNT_OF(rows) ? rows[i].name : NULL;
}
