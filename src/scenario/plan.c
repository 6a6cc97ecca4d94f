/* A plan as a scenario, so that `shoal sim` runs what `shoal plan` said. */
#include "scenario/plan.h"

#include "base/mem.h"
#include <string.h>

/* In double quotes, as YAML reads it. */
static void add_quoted(struct str *out, const char *text)
{
    str_add_char(out, '"');
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20)
            str_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\')
            str_printf(out, "\\%c", *text);
        else
            str_add_char(out, *text);
    }
    str_add_char(out, '"');
}

static void add_text(struct str *out, const char *key, const char *value)
{
    if (value == NULL)
        return;
    str_printf(out, "%s: ", key);
    add_quoted(out, value);
    str_add_char(out, '\n');
}

static void add_texts(struct str *out, const char *key, const struct flags_texts *texts)
{
    if (texts->n == 0)
        return;
    str_printf(out, "%s:\n", key);
    for (int i = 0; i < texts->n; i++) {
        str_add_text(out, "  - ");
        add_quoted(out, texts->at[i]);
        str_add_char(out, '\n');
    }
}

/* Writes a row's value unless it is zero, which means unset. */
static void add_row(struct str *out, const char *indent, const struct flags_row *row)
{
    const void *value = row->value;
    if (row->type == FLAGS_TEXT && *(const char *const *)value != NULL) {
        str_printf(out, "%s", indent);
        add_text(out, row->name, *(const char *const *)value);
    } else if ((row->type == FLAGS_I64 || row->type == FLAGS_BYTES) &&
               *(const int64_t *)value != 0) {
        str_printf(out, "%s%s: %lld\n", indent, row->name, (long long)*(const int64_t *)value);
    } else if (row->type == FLAGS_F64 && *(const double *)value != 0) {
        str_printf(out, "%s%s: %.17g\n", indent, row->name, *(const double *)value);
    } else if (row->type == FLAGS_DURATION && *(const int64_t *)value != 0) {
        str_printf(out, "%s%s: %lldns\n", indent, row->name, (long long)*(const int64_t *)value);
    } else if (row->type == FLAGS_SWITCH && *(const bool *)value) {
        str_printf(out, "%s%s: true\n", indent, row->name);
    } else if (row->type == FLAGS_TEXTS) {
        const struct flags_texts *texts = value;
        for (int i = 0; i < texts->n; i++) {
            str_printf(out, i == 0 ? "%s%s: [" : ", ", indent, row->name);
            add_quoted(out, texts->at[i]);
        }
        str_add_text(out, texts->n > 0 ? "]\n" : "");
    }
}

static void add_services(struct str *out, const struct scenario *scenario)
{
    if (scenario->n_services > 0)
        str_add_text(out, "services:\n");
    for (int i = 0; i < scenario->n_services; i++) {
        struct scenario_service service = scenario->services[i];
        struct flags_row rows[SCENARIO_ROWS_MAX];
        int n = scenario_service_rows(&service, rows);
        str_add_text(out, "  ");
        add_quoted(out, service.name);
        str_add_text(out, ":\n");
        for (int r = 0; r < n; r++)
            add_row(out, "    ", &rows[r]);
    }
}

static bool is_same_engine(const struct place_problem *p, const struct place_group *a,
                           const struct place_group *b)
{
    bool is_same = place_group_kind(p, a) == place_group_kind(p, b) &&
                   a->n_devices == b->n_devices && a->division == b->division &&
                   a->n_members == b->n_members;
    for (int32_t m = 0; m < a->n_members && is_same; m++)
        is_same = a->members[m].service == b->members[m].service &&
                  a->members[m].share_percent == b->members[m].share_percent &&
                  a->members[m].kv_bytes == b->members[m].kv_bytes;
    return is_same;
}

static int32_t n_kinds_of_engines(const struct place_problem *p, const struct place_plan *plan)
{
    int32_t n = 0;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        int32_t k = 0;
        while (k < g && !is_same_engine(p, &plan->groups[g], &plan->groups[k]))
            k++;
        n += k == g;
    }
    return n;
}

static void add_lanes(struct str *out, const struct place_division *division)
{
    for (int32_t i = 0; i < division->n; i++)
        str_printf(out, "%s\"%d\"", i == 0 ? ", lanes: [" : ", ", division->parts[i]);
    str_add_text(out, division->n > 0 ? "]" : "");
}

/* Writes , shares: ["chat=40"] of members that have one; or quotas. */
static void add_parts(struct str *out, const struct place_problem *p,
                      const struct place_group *group, bool of_quotas)
{
    bool is_first = true;
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct place_member *member = &group->members[m];
        struct str text;
        if (of_quotas ? member->kv_bytes == 0 : member->share_percent >= 100)
            continue;
        str_init(&text);
        str_printf(&text, "%s=%lld", p->services[member->service].name,
                   (long long)(of_quotas ? member->kv_bytes : member->share_percent));
        str_add_text(out, !is_first ? ", " : of_quotas ? ", quotas: [" : ", shares: [");
        add_quoted(out, text.at);
        str_free(&text);
        is_first = false;
    }
    str_add_text(out, is_first ? "" : "]");
}

static void add_engines(struct str *out, const struct scenario_problem *of,
                        const struct scenario *scenario, const struct place_plan *plan)
{
    const struct place_problem *p = &of->problem;
    str_add_text(out, "engines:\n");
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        int32_t n = 0, before = 0;
        for (int32_t k = 0; k < plan->n_groups; k++) {
            bool is_same = is_same_engine(p, group, &plan->groups[k]);
            before += is_same && k < g;
            n += is_same;
        }
        if (before > 0)
            continue;
        int64_t bytes = (int64_t)((double)place_group_memory(p, group) / scenario->memory_part);
        str_printf(out, "  - {count: %d, device: %s, tp: %d, memory: %lld, services: [", n,
                   p->kinds[place_group_kind(p, group)].name, group->n_devices, (long long)bytes);
        for (int32_t m = 0; m < group->n_members; m++) {
            str_add_text(out, m > 0 ? ", " : "");
            add_quoted(out, p->services[group->members[m].service].name);
        }
        str_add_char(out, ']');
        add_lanes(out, place_division_of(group->division));
        add_parts(out, p, group, false);
        add_parts(out, p, group, true);
        str_add_text(out, "}\n");
    }
}

enum status scenario_plan(const struct scenario_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct str *out, struct fault *fault)
{
    static const char *const kept[] = { "seed",         "requests",     "duration",
                                        "until",        "rate-scale",   "context",
                                        "max-requests", "max-batch",    "max-batch-tokens",
                                        "chunk-tokens", "block-tokens", "memory-part",
                                        "preset",       "policy",       "router",
                                        "predictor",    "ttft",         "tpot",
                                        "e2e",          "slo",          "target",
                                        "run-length",   "length-noise" };
    if (plan->n_refused > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%.80s is not placed: a scenario places every service",
                         of->problem.services[plan->refused[0].service].name);
    if (of->problem.n_services > LIMIT_SERVICES ||
        n_kinds_of_engines(&of->problem, plan) > SCENARIO_GROUPS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "a scenario has at most %d services and %d kinds of engines",
                         LIMIT_SERVICES, SCENARIO_GROUPS_MAX);
    struct scenario *copy = mem_take(sizeof(*copy)); /* rows point at fields that may be changed */
    struct flags_row rows[SCENARIO_ROWS_MAX];
    *copy = *scenario;
    int n = scenario_rows(copy, rows);
    add_texts(out, "workload", &scenario->workload);
    add_texts(out, "profile", &scenario->profiles);
    add_texts(out, "thresholds", &scenario->thresholds);
    add_texts(out, "router-thresholds", &scenario->router_thresholds);
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < COUNT_OF(kept); k++)
            if (strcmp(rows[i].name, kept[k]) == 0)
                add_row(out, "", &rows[i]);
    add_services(out, scenario);
    add_engines(out, of, scenario, plan);
    mem_give(copy);
    return STATUS_OK;
}
