/* shoal sim runs one simulation, a comparison over seeds and rates, or a search for the rate that
 * saturates. */
#include "cmd/verbs.h"
#include "report/files.h"
#include "report/sim.h"
#include "scenario/choice.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "metrics/plot.h"
#include "metrics/series.h"
#include <stdio.h>
#include <string.h>

enum { LABELS_MAX = 32, RATES_MAX = 64, BISECTIONS = 12, DOUBLINGS = 20 };

struct plan { /* of the runs */
    const struct scenario *scenario;
    struct score_rule rule;
    char texts[LABELS_MAX][64];
    const char *labels[LABELS_MAX];
    double rates[RATES_MAX];
    int n_labels, n_rates, n_seeds;
    double packed_rate_scale; /* with several rates, engines without a given number are the same at
                                 all rates */
    int32_t n_engines;        /* 0: the scenario's */
    int *exit_code;           /* of a failed case: 2 when the input itself is wrong */
    bool writes;              /* the files that the scenario names */
};

static bool complain(const struct fault *fault)
{
    fprintf(stderr, "shoal: %s\n", fault->text);
    return false;
}

/* Reads the next word of a list separated by commas. Returns false at its end. */
static bool next_word(const char **list, char word[64])
{
    size_t n = strcspn(*list, ",");
    if (**list == '\0')
        return false;
    snprintf(word, 64, "%.*s", (int)(n < 63 ? n : 63), *list);
    *list += n + ((*list)[n] == ',');
    return true;
}

static bool read_plan(struct plan *plan, const struct scenario *scenario)
{
    const char *compare = scenario->compare != NULL ? scenario->compare : scenario->preset;
    const char *rates = scenario->rates != NULL ? scenario->rates : "1";
    char word[64];
    struct fault fault;
    *plan = (struct plan){ .scenario = scenario, .n_seeds = (int)scenario->n_seeds };
    if (scenario->rates != NULL)
        plan->packed_rate_scale = scenario->rate_scale;
    if (scenario_choice_rule(scenario, &plan->rule, &fault) != STATUS_OK)
        return complain(&fault);
    while (plan->n_labels < LABELS_MAX && next_word(&compare, plan->texts[plan->n_labels])) {
        plan->labels[plan->n_labels] = plan->texts[plan->n_labels];
        plan->n_labels++;
    }
    while (plan->n_rates < RATES_MAX && next_word(&rates, word)) {
        double *rate = &plan->rates[plan->n_rates++];
        if (!parse_f64(word, rate) || *rate <= 0) {
            fprintf(stderr, "shoal: --rates: \"%s\" is not a number above 0\n", word);
            return false;
        }
        *rate *= scenario->rate_scale;
    }
    if (plan->n_labels > 0 && plan->n_rates > 0)
        return true;
    fprintf(stderr, "shoal: --compare and --rates are lists parted by commas\n");
    return false;
}

static void name_files(const struct plan *plan, struct scenario_case *c)
{
    const struct report_files_run run = { plan->n_labels > 1 ? c->label : NULL,
                                          plan->n_rates > 1 ? &c->rate_scale : NULL,
                                          plan->n_seeds > 1 ? &c->seed : NULL };
    c->csv = report_files_name(plan->scenario->csv, &run);
    c->series = report_files_name(plan->scenario->series, &run);
    c->trace = report_files_name(plan->scenario->trace, &run);
    c->log_engine = report_files_name(plan->scenario->log_engine, &run);
}

/* Runs cases in the order of struct report_sim_grid. Returns NULL, after printing the sentence,
 * when one failed. */
static struct scenario_case *run_grid(const struct plan *plan, size_t *n)
{
    *n = (size_t)plan->n_labels * (size_t)plan->n_rates * (size_t)plan->n_seeds;
    struct scenario_case *cases = mem_take(*n * sizeof(*cases));
    for (size_t i = 0; i < *n; i++) {
        size_t seed = i % (size_t)plan->n_seeds, line = i / (size_t)plan->n_seeds;
        uint64_t first = (uint64_t)plan->scenario->seed;
        if (plan->n_seeds > 1 && first == 0)
            first = 1;
        cases[i] = (struct scenario_case){ .label = plan->labels[line % (size_t)plan->n_labels],
                                           .seed = first + seed,
                                           .rate_scale = plan->rates[line / (size_t)plan->n_labels],
                                           .rule = plan->rule,
                                           .packed_rate_scale = plan->packed_rate_scale,
                                           .n_engines = plan->n_engines };
        if (plan->writes)
            name_files(plan, &cases[i]);
    }
    if (scenario_cases_run(plan->scenario, cases, *n))
        return cases;
    for (size_t i = 0; i < *n; i++) {
        if (cases[i].fault.text[0] != '\0') {
            complain(&cases[i].fault);
            *plan->exit_code = cases[i].is_refused ? 2 : 1;
            break;
        }
    }
    scenario_cases_close(cases, *n);
    mem_give(cases);
    return NULL;
}

static bool save_series(const struct scenario *scenario, const struct scenario_case *c)
{
    struct fault fault;
    struct series series;
    struct str text;
    str_init(&text);
    metrics_series_of(&c->set, scenario->interval_ns, &series);
    metrics_series_write(&series, &text);
    enum status status = file_write(c->series, text.at, text.n, &fault);
    mem_give(series.points);
    str_free(&text);
    return status == STATUS_OK || complain(&fault);
}

/* Writes the page of the first case of each label. */
static bool save_page(const struct plan *plan, const struct scenario_case *cases,
                      const struct str *report)
{
    struct plot_run runs[PLOT_RUNS_MAX];
    struct fault fault;
    struct str page;
    int n = min_i32(plan->n_labels, PLOT_RUNS_MAX);
    for (int i = 0; i < n; i++) {
        const struct scenario_case *c = &cases[i * plan->n_seeds];
        runs[i] = (struct plot_run){ plan->labels[i], &c->set, c->scores };
    }
    str_init(&page);
    metrics_plot_page("Shoal: simulated", report, runs, n, &page);
    enum status status = file_write(plan->scenario->html, page.at, page.n, &fault);
    str_free(&page);
    return status == STATUS_OK || complain(&fault);
}

/* Prints, writes the files that the options name, and frees the cases. */
static bool tell(const struct plan *plan, struct scenario_case *cases, size_t n)
{
    const struct scenario *scenario = plan->scenario;
    const struct report_sim_grid grid = { cases,          plan->labels,  plan->rates,
                                          plan->n_labels, plan->n_rates, plan->n_seeds };
    struct fault fault;
    struct str out, html;
    struct doc doc;
    bool is_fine = true;
    str_init(&out);
    str_init(&html);
    doc_init(&doc, scenario->is_json ? NULL : &out, scenario->html != NULL ? &html : NULL);
    if (n == 1)
        report_sim_one(cases, &doc);
    else
        report_sim_grid(&grid, &doc);
    if (n == 1 && scenario->is_json)
        report_sim_one_json(cases, &out);
    else if (scenario->is_json)
        report_sim_grid_json(&grid, &out);
    fputs(out.at, stdout);
    for (size_t i = 0; i < n && is_fine; i++) {
        if (cases[i].csv != NULL &&
            metrics_record_save(&cases[i].set, cases[i].csv, &fault) != STATUS_OK)
            is_fine = complain(&fault);
        if (cases[i].series != NULL)
            is_fine = save_series(scenario, &cases[i]) && is_fine;
    }
    if (scenario->html != NULL)
        is_fine = save_page(plan, cases, &html) && is_fine;
    doc_free(&doc);
    str_free(&html);
    str_free(&out);
    scenario_cases_close(cases, n);
    mem_give(cases);
    return is_fine;
}

static bool run(struct plan *plan)
{
    size_t n;
    plan->writes = true;
    struct scenario_case *cases = run_grid(plan, &n);
    return cases != NULL && tell(plan, cases, n);
}

/* ---- The rate that saturates. ---- */

struct rate {
    double scale, met, requests_per_s;
};

/* Measures the part that meets the rule at this scale, as a mean over seeds. Returns false when it
 * could not run. */
static bool measure(const struct plan *plan, int label, struct rate *rate)
{
    struct plan one = *plan;
    size_t n;
    one.labels[0] = plan->labels[label];
    one.n_labels = one.n_rates = 1;
    one.rates[0] = rate->scale;
    struct scenario_case *cases = run_grid(&one, &n);
    if (cases == NULL)
        return false;
    rate->met = rate->requests_per_s = 0;
    for (size_t i = 0; i < n; i++) {
        const struct score *all = &cases[i].scores[cases[i].set.n_services];
        rate->met += all->met / (double)n;
        rate->requests_per_s += all->offered_per_s / (double)n;
    }
    scenario_cases_close(cases, n);
    mem_give(cases);
    return true;
}

/* Doubles or halves until the target lies between two scales, then bisects by ratio. */
static bool saturate(const struct plan *plan, int label, struct rate *best)
{
    double target = plan->scenario->target;
    struct rate low = { 0 }, high = { 0 }, at = { .scale = plan->rates[0] };
    for (int i = 0; i < DOUBLINGS && (low.scale == 0 || high.scale == 0); i++) {
        if (!measure(plan, label, &at))
            return false;
        if (at.met >= target)
            low = at;
        else
            high = at;
        at.scale *= at.met >= target ? 2 : 0.5;
    }
    for (int i = 0; i < BISECTIONS && low.scale > 0 && high.scale > low.scale * 1.01; i++) {
        at.scale = (low.scale + high.scale) / 2;
        if (!measure(plan, label, &at))
            return false;
        if (at.met >= target)
            low = at;
        else
            high = at;
    }
    *best = low;
    return true;
}

static bool run_saturation(const struct plan *plan)
{
    struct str out;
    struct json_out json;
    bool is_json = plan->scenario->is_json;
    str_init(&out);
    json_out_init(&json, &out);
    if (is_json)
        json_out_open(&json, '[');
    else
        str_printf(&out, "%-16s %12s %14s %8s   (highest rate of which %.4g%% meet %s x%g)\n",
                   "POLICY", "RATE SCALE", "REQUESTS/S", "MET", 100 * plan->scenario->target,
                   metrics_score_kind_name(plan->rule.kind), plan->rule.scale);
    for (int l = 0; l < plan->n_labels; l++) {
        struct rate best;
        if (!saturate(plan, l, &best)) {
            str_free(&out);
            return false;
        }
        if (!is_json) {
            str_printf(&out, "%-16.16s %12.5g %14.6g %7.2f%%\n", plan->labels[l], best.scale,
                       best.requests_per_s, 100 * best.met);
            continue;
        }
        json_out_open(&json, '{');
        json_out_key_text(&json, "label", plan->labels[l]);
        json_out_key_f64(&json, "rate_scale", best.scale);
        json_out_key_f64(&json, "requests_per_s", best.requests_per_s);
        json_out_key_f64(&json, "slo_attainment", best.met);
        json_out_close(&json, '}');
    }
    if (is_json) {
        json_out_close(&json, ']');
        str_add_char(&out, '\n');
    }
    fputs(out.at, stdout);
    str_free(&out);
    return true;
}

/* ---- The fewest engines. ---- */

struct trial {
    const struct plan *plan;
    int label;
    bool is_failed;
};

/* Returns the part that meets the rule with n engines, as a mean over seeds; 0 when they are too
 * few to hold all models. */
static double attained(void *self, int32_t n)
{
    struct trial *trial = self;
    struct plan one = *trial->plan;
    struct rate rate = { .scale = one.rates[0] };
    one.n_engines = n;
    if (trial->is_failed)
        return 0;
    if (!measure(&one, trial->label, &rate))
        trial->is_failed = n == trial->plan->scenario->n_engines;
    return rate.met;
}

static const double targets[] = { 1, 0.99, 0.95 };

static void print_fewest(struct str *out, const char *label, const int32_t *needed)
{
    str_printf(out, "%-16.16s", label);
    for (size_t t = 0; t < COUNT_OF(targets); t++) {
        if (needed[t] > 0)
            str_printf(out, " %8d", needed[t]);
        else
            str_printf(out, " %8s", "more");
    }
    str_add_char(out, '\n');
}

/* Null means more than the permitted number. */
static void fewest_json(struct json_out *json, const char *label, const int32_t *needed)
{
    static const char *const keys[] = { "engines_100", "engines_99", "engines_95" };
    json_out_open(json, '{');
    json_out_key_text(json, "label", label);
    for (size_t t = 0; t < COUNT_OF(targets); t++) {
        json_out_key(json, keys[t]);
        if (needed[t] > 0)
            json_out_i64(json, needed[t]);
        else
            json_out_null(json);
    }
    json_out_close(json, '}');
}

static bool run_fewest(const struct plan *plan)
{
    struct str out;
    struct json_out json;
    bool is_json = plan->scenario->is_json, is_fine = true;
    int32_t n_max = (int32_t)plan->scenario->n_engines;
    str_init(&out);
    json_out_init(&json, &out);
    if (is_json)
        json_out_open(&json, '[');
    else
        str_printf(
            &out, "%-16s %8s %8s %8s   (fewest engines of at most %d, by the part that meets %s)\n",
            "POLICY", "100%", "99%", "95%", n_max, metrics_score_kind_name(plan->rule.kind));
    for (int l = 0; l < plan->n_labels && is_fine; l++) {
        struct trial trial = { plan, l, false };
        int32_t needed[COUNT_OF(targets)];
        for (size_t t = 0; t < COUNT_OF(targets); t++)
            needed[t] = metrics_score_devices_needed(targets[t], n_max, attained, &trial);
        is_fine = !trial.is_failed;
        if (is_json)
            fewest_json(&json, plan->labels[l], needed);
        else
            print_fewest(&out, plan->labels[l], needed);
    }
    if (is_json) {
        json_out_close(&json, ']');
        str_add_char(&out, '\n');
    }
    if (is_fine)
        fputs(out.at, stdout);
    str_free(&out);
    return is_fine;
}

static bool refuse(const char *why)
{
    fprintf(stderr, "shoal: %s\n", why);
    return false;
}

/* A search runs many times at rates or engines that no option named, so there is no single run to
 * write. Engines whose number follows each rate never saturate. */
static bool check_search(const struct scenario *s)
{
    bool counts_engines = s->n_engines > 0 || s->n_groups > 0 || s->n_nodes > 0;
    bool writes = s->csv != NULL || s->series != NULL || s->trace != NULL || s->html != NULL ||
                  s->log_engine != NULL;
    if (s->saturates && s->fewest)
        return refuse("--saturate and --fewest are two searches: one at a time");
    if (s->saturates && !counts_engines)
        return refuse("--saturate asks for --engines N, or engines: of a scenario: without them "
                      "there are as many as each rate needs");
    if (s->fewest && (s->n_engines == 0 || s->n_groups > 0))
        return refuse("--fewest asks for --engines N, the most there may be");
    if (writes && (s->saturates || s->fewest))
        return refuse("--saturate and --fewest write no files: run once more at what they find");
    return true;
}

int verbs_sim(int argc, char **argv)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct plan *plan = mem_take(sizeof(*plan));
    int code = 2, failed = 1;
    if (scenario_open(scenario, argc, argv) && read_plan(plan, scenario) &&
        check_search(scenario)) {
        plan->exit_code = &failed;
        bool is_fine = scenario->saturates ? run_saturation(plan)
                       : scenario->fewest  ? run_fewest(plan)
                                           : run(plan);
        code = is_fine ? 0 : failed;
    }
    scenario_close(scenario);
    mem_give(plan);
    mem_give(scenario);
    return code;
}
