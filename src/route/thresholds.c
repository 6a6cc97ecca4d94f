/* The routers' thresholds by name: what a configuration, a preset or a command line may set. */
#include "base/time.h"
#include "route/policy.h"
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, SEED, BYTES, MILLISECONDS, NUMBER, FLAG, PHASE, MEMORY, COST };

static const struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    double min, max;
} rows[] = {
#define ROW(field, kind, min, max)                                                                 \
    {                                                                                              \
#field, kind, offsetof(struct route_config, field), min, max                               \
    }
    ROW(seed, SEED, 0, 9e15),
    ROW(n_inflight_max, COUNT, 0, 1 << 20),
    ROW(p2c_counts, FLAG, 0, 1),
    ROW(heartbeat_ns, MILLISECONDS, 0.001, 1e6),
    ROW(gamma, NUMBER, 0, 10),
    ROW(theta, NUMBER, 0.01, 1),
    ROW(headroom, NUMBER, 0, 0.99),
    ROW(force_fraction, NUMBER, 0, 1),
    ROW(ttft_ns, MILLISECONDS, 0.001, 1e9),
    ROW(tpot_ns, MILLISECONDS, 0.001, 1e9),
    ROW(has_rebalance, FLAG, 0, 1),
    ROW(is_autoscaled, FLAG, 0, 1),
    ROW(phase, PHASE, 0, 0),
    ROW(n_slice, COUNT, 1, LIMIT_CONTEXT),
    ROW(n_batch, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(interval_factor, NUMBER, 0, 100),
    ROW(interval_ns_min, MILLISECONDS, 1, 1e9),
    ROW(spreads_small, FLAG, 0, 1),
    ROW(memory, MEMORY, 0, 0),
    ROW(zeta, NUMBER, 0.01, 1),
    ROW(block_tokens, COUNT, 1, 4096),
    ROW(kv_bytes, BYTES, 0, 1e15),
    ROW(cost, COST, 0, 0),
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
#undef ROW
};

/* Words of the choices, in the order of their enums. */
static const char *const words[][3] = {
    [PHASE] = { "both", "prefill", "decode" },
    [MEMORY] = { "padded", "rules", "paged" },
    [COST] = { "text", "code", "waste" },
};
_Static_assert(MEMORY_PADDED == 0 && MEMORY_RULES == 1 && MEMORY_PAGED == 2, "as the words");
_Static_assert(ROUTE_COST_TEXT == 0 && ROUTE_COST_CODE == 1 && ROUTE_COST_WASTE == 2, "so, too");
_Static_assert(ROUTE_PHASE_BOTH == 0 && ROUTE_PHASE_PREFILL == 1 && ROUTE_PHASE_DECODE == 2,
               "and these");

static const struct row *find(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            return &rows[i];
    }
    return NULL;
}

static void store(struct route_config *config, const struct row *row, double value)
{
    void *at = (unsigned char *)config + row->offset;
    switch (row->kind) {
    case COUNT:
        *(int32_t *)at = (int32_t)value;
        break;
    case SEED:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case BYTES:
        *(int64_t *)at = (int64_t)value;
        break;
    case MILLISECONDS:
        *(int64_t *)at = (int64_t)(value * (double)TIME_NS_PER_MS);
        break;
    case NUMBER:
        *(double *)at = value;
        break;
    case FLAG:
        *(bool *)at = value > 0;
        break;
    case PHASE:
        *(enum route_phase *)at = (enum route_phase)value;
        break;
    case MEMORY:
        *(enum memory_kind *)at = (enum memory_kind)value;
        break;
    case COST:
        *(enum route_cost *)at = (enum route_cost)value;
        break;
    }
}

static enum status set_word(struct route_config *config, const struct row *row, const char *word,
                            struct fault *fault)
{
    const char *const *choices = words[row->kind];
    for (int i = 0; i < 3; i++) {
        if (strcmp(choices[i], word) != 0)
            continue;
        store(config, row, i);
        return STATUS_OK;
    }
    return fault_set(fault, STATUS_BAD_INPUT, "%s is %s, %s or %s, not \"%.40s\"", row->name,
                     choices[0], choices[1], choices[2], word);
}

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
    const char *equals = strchr(text, '=');
    const struct row *row = equals ? find(text, (size_t)(equals - text)) : NULL;
    if (!row && set_engine(config, text))
        return STATUS_OK;
    if (!row)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "\"%.80s\" is no threshold of a router; one is \"n_slice=128\"", text);
    if (row->kind >= PHASE)
        return set_word(config, row, equals + 1, fault);
    char *end;
    double value = strtod(equals + 1, &end);
    bool is_whole = row->kind != MILLISECONDS && row->kind != NUMBER;
    if (end == equals + 1 || *end != '\0' || !(value >= row->min && value <= row->max) ||
        (is_whole && value != (double)(int64_t)value))
        return fault_set(fault, STATUS_BAD_INPUT, "%s is %s from %g to %g, not \"%.40s\"",
                         row->name,
                         is_whole                    ? "a whole number"
                         : row->kind == MILLISECONDS ? "milliseconds"
                                                     : "a number",
                         row->min, row->max, equals + 1);
    store(config, row, value);
    return STATUS_OK;
}

const char *route_config_name(int i)
{
    return i >= 0 && i < (int)COUNT_OF(rows) ? rows[i].name : NULL;
}
