/* The engines of a plan as groups of a scenario, with the settings that it was made under. */
#include "scenario/plan.h"

#include "base/mem.h"
#include <string.h>

/* The settings under which a plan is judged, without those about one run and about engines. */
static const char *const kept[] = { "workload",
                                    "profile",
                                    "thresholds",
                                    "router-thresholds",
                                    "seed",
                                    "requests",
                                    "duration",
                                    "until",
                                    "rate-scale",
                                    "context",
                                    "max-requests",
                                    "max-batch",
                                    "max-batch-tokens",
                                    "chunk-tokens",
                                    "block-tokens",
                                    "memory-part",
                                    "preset",
                                    "policy",
                                    "router",
                                    "predictor",
                                    "ttft",
                                    "tpot",
                                    "e2e",
                                    "slo",
                                    "target",
                                    "run-length",
                                    "length-noise",
                                    "kv",
                                    "prefix-cache",
                                    "swap-bytes",
                                    "router-groups",
                                    "swap-bandwidth",
                                    "soft-deadlines" };

static bool is_kept(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (strcmp(kept[i], name) == 0)
            return true;
    return false;
}

static const char *own_text(struct scenario *out, const char *text)
{
    return text != NULL ? pile_text(&out->pile, text, strlen(text)) : NULL;
}

/* Copies a row's value; its texts become the scenario's. */
static void copy_row(struct scenario *out, const struct flags_row *from, const struct flags_row *to)
{
    const struct flags_texts *texts = from->value;
    struct flags_texts *own = to->value;
    switch (from->type) {
    case FLAGS_TEXT:
    case FLAGS_FILE:
        *(const char **)to->value = own_text(out, *(const char *const *)from->value);
        break;
    case FLAGS_TEXTS:
        own->n = texts->n;
        for (int i = 0; i < texts->n; i++)
            own->at[i] = own_text(out, texts->at[i]);
        break;
    case FLAGS_F64:
        *(double *)to->value = *(const double *)from->value;
        break;
    case FLAGS_SWITCH:
        *(bool *)to->value = *(const bool *)from->value;
        break;
    default:
        *(int64_t *)to->value = *(const int64_t *)from->value;
    }
    if (from->is_given != NULL)
        *to->is_given = *from->is_given;
}

/* Rows point at fields that may be changed, so that both sides need one. */
static void copy_settings(struct scenario *from, struct scenario *out)
{
    struct flags_row theirs[SCENARIO_ROWS_MAX], ours[SCENARIO_ROWS_MAX];
    int n = scenario_rows(from, theirs);
    (void)scenario_rows(out, ours);
    for (int i = 0; i < n; i++)
        if (is_kept(theirs[i].name))
            copy_row(out, &theirs[i], &ours[i]);
}

static void copy_services(struct scenario *from, struct scenario *out)
{
    out->n_services = from->n_services;
    for (int s = 0; s < from->n_services; s++) {
        struct flags_row theirs[SCENARIO_ROWS_MAX], ours[SCENARIO_ROWS_MAX];
        int n = scenario_service_rows(&from->services[s], theirs);
        (void)scenario_service_rows(&out->services[s], ours);
        memcpy(out->services[s].name, from->services[s].name, sizeof(out->services[s].name));
        for (int i = 0; i < n; i++)
            copy_row(out, &theirs[i], &ours[i]);
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

static void add_text(struct scenario *out, struct flags_texts *texts, const struct str *text)
{
    CHECK(texts->n < FLAGS_TEXTS_MAX);
    texts->at[texts->n++] = pile_text(&out->pile, text->at, text->n);
}

/* The members' texts: a service, and its share or quota where it has one. */
static void add_members(struct scenario *out, struct scenario_group *own,
                        const struct place_problem *p, const struct place_group *group)
{
    struct str text;
    str_init(&text);
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct place_member *member = &group->members[m];
        const char *name = p->services[member->service].name;
        str_clear(&text);
        str_add_text(&text, name);
        add_text(out, &own->services, &text);
        if (member->share_percent < 100) {
            str_clear(&text);
            str_printf(&text, "%s=%d", name, (int)member->share_percent);
            add_text(out, &own->shares, &text);
        }
        if (member->kv_bytes > 0) {
            str_clear(&text);
            str_printf(&text, "%s=%lld", name, (long long)member->kv_bytes);
            add_text(out, &own->quotas, &text);
        }
    }
    str_free(&text);
}

static void add_lanes(struct scenario *out, struct scenario_group *own,
                      const struct place_division *division)
{
    struct str text;
    str_init(&text);
    for (int32_t i = 0; i < division->n; i++) {
        str_clear(&text);
        str_printf(&text, "%d", division->parts[i]);
        add_text(out, &own->lanes, &text);
    }
    str_free(&text);
}

static void add_engines(struct scenario *out, const struct scenario_problem *of,
                        const struct place_plan *plan)
{
    const struct place_problem *p = &of->problem;
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
        struct scenario_group *own = &out->groups[out->n_groups++];
        *own = (struct scenario_group){
            .count = n,
            .tp = group->n_devices,
            .device = own_text(out, p->kinds[place_group_kind(p, group)].name),
            .memory_bytes = (int64_t)((double)place_group_memory(p, group) / out->memory_part)
        };
        add_members(out, own, p, group);
        add_lanes(out, own, place_division_of(group->division));
    }
}

static bool has_room(const struct place_plan *plan)
{
    for (int32_t g = 0; g < plan->n_groups; g++)
        if (plan->groups[g].n_members > FLAGS_TEXTS_MAX)
            return false;
    return true;
}

enum status scenario_plan(const struct scenario_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct scenario *out, struct fault *fault)
{
    scenario_init(out);
    if (plan->n_refused > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%.80s is not placed: a scenario places every service",
                         of->problem.services[plan->refused[0].service].name);
    if (of->problem.n_services > LIMIT_SERVICES || !has_room(plan) ||
        n_kinds_of_engines(&of->problem, plan) > SCENARIO_GROUPS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "a scenario has at most %d services, %d kinds of engines and %d services "
                         "an engine",
                         LIMIT_SERVICES, SCENARIO_GROUPS_MAX, FLAGS_TEXTS_MAX);
    struct scenario *from = mem_take(sizeof(*from));
    *from = *scenario;
    copy_settings(from, out);
    copy_services(from, out);
    add_engines(out, of, plan);
    mem_give(from);
    return STATUS_OK;
}
