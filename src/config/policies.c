/* Tables of the policies. See policies.h. */
#include "config/policies.h"

#include "base/settings.h"
#include "config/presets.h"
#include "config/registry.h"
#include "place/planner.h"
#include "route/policy.h"
#include "schedule/policy.h"
#include <string.h>

static void add_row(struct str *out, const char *const *cells, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(out, "| %s ", cells[i]);
    str_add_text(out, "|\n");
}

static void add_head(struct str *out, const char *const *cells, int n)
{
    add_row(out, cells, n);
    for (int i = 0; i < n; i++)
        str_add_text(out, "|---");
    str_add_text(out, "|\n");
}

/* "| `name` " */
static void add_name(struct str *out, const char *name)
{
    str_printf(out, "| `%s` ", name);
}

/* ---- Presets. ---- */

/* `a=1 b=2`, behind what tells them from others; nothing where there are none. */
static void add_texts(struct str *out, const char *before, const char *const *texts)
{
    for (int i = 0; texts[i] != NULL; i++)
        str_printf(out, "%s%s", i == 0 ? before : " ", texts[i]);
    if (texts[0] != NULL)
        str_add_char(out, '`');
}

static void presets(struct str *out)
{
    static const char *const head[] = { "preset",  "scheduler",  "router",
                                        "KV pool", "thresholds", "after" };
    int n;
    const struct preset *all = presets_all(&n);
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < n; i++) {
        const struct preset *p = &all[i];
        add_name(out, p->name);
        add_name(out, p->policy);
        add_name(out, p->router);
        str_printf(out, "| %s | ", kv_kind_name(p->kv));
        size_t before = out->n;
        add_texts(out, "`", p->thresholds);
        if (p->predictor != NULL)
            str_printf(out, "%spredictor `%s`", out->n > before ? "; " : "", p->predictor);
        add_texts(out, out->n > before ? "; router `" : "router `", p->router_thresholds);
        str_printf(out, " | %s |\n", p->after);
    }
}

/* ---- Schedulers and routers. ---- */

static void schedulers(struct str *out)
{
    static const char *const head[] = { "scheduler", "chooses", "prompts and decodes", "KV",
                                        "starvation" };
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < n; i++) {
        const char *const cells[] = { all[i]->chooses, all[i]->batches, all[i]->memory,
                                      all[i]->starvation };
        add_name(out, all[i]->name);
        add_row(out, cells, COUNT_OF(cells));
    }
}

static void routers(struct str *out)
{
    static const char *const head[] = { "router", "what it does", "source", "when" };
    int n;
    const struct route_policy *const *all = route_all(&n);
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < n; i++) {
        const char *const cells[] = { all[i]->does, all[i]->source, all[i]->when };
        add_name(out, all[i]->name);
        add_row(out, cells, COUNT_OF(cells));
    }
}

/* ---- Thresholds. ---- */

struct readers { /* policies by name, and what each reads: names separated by spaces */
    int n;
    const char *names[64], *reads[64];
};

static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

enum { ALL_BUT_MAX = 3 };

/* "`a`, `b`", "all", or "all but `a`". */
static void add_readers(struct str *out, const struct readers *readers, const char *threshold)
{
    int n_readers = 0, n_said = 0;
    for (int i = 0; i < readers->n; i++)
        n_readers += is_listed(readers->reads[i], threshold);
    bool is_few = readers->n - n_readers > ALL_BUT_MAX;
    if (!is_few)
        str_add_text(out, n_readers == readers->n ? "all" : "all but ");
    for (int i = 0; i < readers->n; i++)
        if (is_listed(readers->reads[i], threshold) == is_few)
            str_printf(out, "%s`%s`", n_said++ > 0 ? ", " : "", readers->names[i]);
}

static void add_thresholds(struct str *out, const struct readers *readers,
                           const struct settings_row *rows, int n_rows)
{
    static const char *const head[] = { "threshold", "default", "range", "of", "meaning" };
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < n_rows; i++) {
        add_name(out, rows[i].name);
        str_add_text(out, "| ");
        settings_add_initial(&rows[i], out);
        str_add_text(out, " | ");
        settings_add_range(&rows[i], out);
        str_add_text(out, " | ");
        add_readers(out, readers, rows[i].name);
        str_printf(out, " | %s |\n", rows[i].help);
    }
}

static void thresholds(struct str *out)
{
    struct readers readers = { .n = 0 };
    int n, n_rows;
    const struct schedule_policy *const *all = schedule_all(&n);
    const struct settings_row *rows = schedule_config_rows(&n_rows);
    CHECK(n <= (int)COUNT_OF(readers.names));
    for (; readers.n < n; readers.n++) {
        readers.names[readers.n] = all[readers.n]->name;
        readers.reads[readers.n] = all[readers.n]->thresholds;
    }
    add_thresholds(out, &readers, rows, n_rows);
}

static void router_thresholds(struct str *out)
{
    struct readers readers = { .n = 0 };
    int n, n_rows;
    const struct route_policy *const *all = route_all(&n);
    const struct settings_row *rows = route_config_rows(&n_rows);
    CHECK(n <= (int)COUNT_OF(readers.names));
    for (; readers.n < n; readers.n++) {
        readers.names[readers.n] = all[readers.n]->name;
        readers.reads[readers.n] = all[readers.n]->thresholds;
    }
    add_thresholds(out, &readers, rows, n_rows);
}

/* ---- The others. ---- */

static void planners(struct str *out)
{
    static const char *const head[] = { "planner", "what it optimises", "source", "cost",
                                        "when it fails" };
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < n; i++) {
        const char *const cells[] = { all[i]->optimises, all[i]->source, all[i]->cost,
                                      all[i]->fails };
        add_name(out, all[i]->name);
        add_row(out, cells, COUNT_OF(cells));
    }
}

/* Names and summaries alone. */
static void summaries(struct str *out, const char *what, enum config_registry which)
{
    const char *const head[] = { what, "what it is" };
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; config_registry_name(which, i) != NULL; i++) {
        add_name(out, config_registry_name(which, i));
        str_printf(out, "| %s |\n", config_registry_summary(which, i));
    }
}

static void predictors(struct str *out)
{
    summaries(out, "predictor", CONFIG_REGISTRY_SIMULATED);
}

static void pools(struct str *out)
{
    static const char *const head[] = { "KV pool", "a unit of memory", "note" };
    add_head(out, head, COUNT_OF(head));
    for (int i = 0; i < KV_KINDS; i++) {
        const char *const cells[] = { kv_kind_summary((enum kv_kind)i),
                                      kv_kind_note((enum kv_kind)i) };
        add_name(out, kv_kind_name((enum kv_kind)i));
        add_row(out, cells, COUNT_OF(cells));
    }
}

static void layers(struct str *out)
{
    summaries(out, "planner of layers", CONFIG_REGISTRY_LAYERS);
}

static const struct {
    const char *title;
    void (*print)(struct str *out);
} tables[CONFIG_POLICIES_N] = {
    [CONFIG_POLICIES_PRESETS] = { "Presets: --preset", presets },
    [CONFIG_POLICIES_SCHEDULERS] = { "Schedulers: --policy", schedulers },
    [CONFIG_POLICIES_THRESHOLDS] = { "Their thresholds: --thresholds", thresholds },
    [CONFIG_POLICIES_ROUTERS] = { "Routers: --router", routers },
    [CONFIG_POLICIES_ROUTER_THRESHOLDS] = { "Their thresholds: --router-thresholds",
                                            router_thresholds },
    [CONFIG_POLICIES_PREDICTORS] = { "Predictors: --predictor", predictors },
    [CONFIG_POLICIES_POOLS] = { "KV pools: --kv", pools },
    [CONFIG_POLICIES_PLANNERS] = { "Planners: --planner", planners },
    [CONFIG_POLICIES_LAYERS] = { "Planners of layers: shoal plan --layers --planner", layers },
};

void config_policies_table(enum config_policies which, struct str *out)
{
    tables[which].print(out);
}

void config_policies_print(struct str *out)
{
    for (int i = 0; i < CONFIG_POLICIES_N; i++) {
        str_printf(out, "%s## %s\n\n", i > 0 ? "\n" : "", tables[i].title);
        tables[i].print(out);
    }
}
