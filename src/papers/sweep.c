/* Sweeps: simulate, show, compare. */
#include "papers/sweep.h"

#include "base/mem.h"
#include "base/num.h"
#include "metrics/interval.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void papers_sweep_key(const struct papers_sweep *sweep, const struct papers_system *system, int i,
                      char key[PAPERS_KEY_MAX])
{
    snprintf(key, PAPERS_KEY_MAX, "%s-%s%g", system->key, sweep->word, sweep->at[i]);
}

bool papers_sweep_has(const struct papers *repro, const struct papers_sweep *sweep,
                      const struct papers_system *system, int i)
{
    char key[PAPERS_KEY_MAX];
    papers_sweep_key(sweep, system, i, key);
    return papers_case(repro, key, 0) != NULL;
}

static enum status run_one(struct papers *repro, const struct papers_sweep *sweep,
                           const struct papers_system *system, int i, struct fault *fault)
{
    char key[PAPERS_KEY_MAX];
    enum status status = STATUS_OK;
    struct str setting;
    papers_sweep_key(sweep, system, i, key);
    str_init(&setting);
    sweep->setting(sweep, sweep->at[i], &setting);
    str_printf(&setting, "duration: %ds\n", sweep->duration_s);
    if (system->planner != NULL) {
        str_printf(&setting, "%snodes: [{count: %d, device: %s, devices: 8}]\n", system->more,
                   sweep->n_nodes(sweep, sweep->at[i]), sweep->device);
        const struct papers_place_ask ask = { system->planner, system->policy, setting.at };
        bool is_placed;
        status = papers_simulate_placed(repro, key, &ask, "", &is_placed, fault);
    } else {
        str_printf(&setting, "%sdevice: %s\nengines:\n%s", system->more, sweep->device,
                   system->engines);
        status = papers_simulate(repro, key, system->policy, setting.at, fault);
    }
    str_free(&setting);
    return status;
}

enum status papers_sweep_run(struct papers *repro, const struct papers_sweep *sweep,
                             const struct papers_system *const *systems, size_t n,
                             struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t s = 0; s < n; s++)
        for (int i = 0; i < sweep->n && status == STATUS_OK; i++)
            status = run_one(repro, sweep, systems[s], i, fault);
    return status;
}

double papers_sweep_mean(const struct papers *repro, const struct papers_sweep *sweep,
                         const struct papers_system *system, int i, papers_figure *figure)
{
    char key[PAPERS_KEY_MAX];
    papers_sweep_key(sweep, system, i, key);
    return papers_mean(repro, key, figure);
}

void papers_sweep_show(struct papers *repro, const struct papers_sweep *sweep,
                       const struct papers_system *const *systems, size_t n,
                       struct papers_shown shown)
{
    for (size_t s = 0; s < n; s++) {
        struct str text;
        str_init(&text);
        for (int i = 0; i < sweep->n; i++) {
            str_printf(&text, "%s%g: ", i > 0 ? ", " : "", sweep->at[i]);
            if (papers_sweep_has(repro, sweep, systems[s], i))
                str_printf(&text, "%.3g",
                           shown.scale *
                               papers_sweep_mean(repro, sweep, systems[s], i, shown.figure));
            else
                str_add_text(&text, "not placed");
        }
        papers_note(repro, systems[s]->key, shown.name, "%s", text.at);
        str_free(&text);
    }
}

/* Returns how many times better one figure is than the other. */
static double ratio_of(const struct papers_duel *duel, double better, double worse)
{
    double low = duel->more_is_better ? worse : better,
           high = duel->more_is_better ? better : worse;
    return low > 0 ? high / low : high > 0 ? 1e9 : 1;
}

/* Sets the 95% interval of the ratio over paired seeds, from the logarithms of their ratios. One
 * seed has no interval, so it is everything. */
static void interval_of(const struct papers *repro, const char *keys[2],
                        const struct papers_duel *duel, double interval[2])
{
    int n = papers_n_seeds(repro);
    double *logs = mem_take((size_t)n * sizeof(*logs));
    for (int seed = 0; seed < n; seed++)
        logs[seed] = num_log(ratio_of(duel, duel->figure(papers_score(repro, keys[0], seed)),
                                      duel->figure(papers_score(repro, keys[1], seed))) +
                             1e-12);
    struct interval of = metrics_interval_of(logs, n);
    mem_give(logs);
    interval[0] = n > 1 ? num_exp(of.low) : 0;
    interval[1] = n > 1 && of.high < 20 ? num_exp(of.high) : 1e9;
}

static void add_point(struct papers_ratios *r, double at, double ratio, const double interval[2])
{
    r->n_better += ratio > 1 + PAPERS_EVEN;
    r->n_worse += ratio < 1 - PAPERS_EVEN;
    r->n_surely_better += ratio > 1 + PAPERS_EVEN && interval[0] > 1;
    r->n_surely_worse += ratio < 1 - PAPERS_EVEN && interval[1] < 1;
    if (r->n == 0 || ratio > r->most) {
        r->most = ratio;
        r->most_at = at;
        memcpy(r->most_in, interval, sizeof(r->most_in));
    }
    if (r->n == 0 || ratio < r->least) {
        r->least = ratio;
        r->least_at = at;
        memcpy(r->least_in, interval, sizeof(r->least_in));
    }
    r->n++;
}

struct papers_ratios papers_sweep_compare(const struct papers *repro,
                                          const struct papers_sweep *sweep, struct papers_duel duel)
{
    struct papers_ratios r = { 0 };
    for (int i = 0; i < sweep->n; i++) {
        char better[PAPERS_KEY_MAX], worse[PAPERS_KEY_MAX];
        const char *keys[2] = { better, worse };
        double interval[2];
        if (!papers_sweep_has(repro, sweep, duel.better, i) ||
            !papers_sweep_has(repro, sweep, duel.worse, i))
            continue;
        papers_sweep_key(sweep, duel.better, i, better);
        papers_sweep_key(sweep, duel.worse, i, worse);
        interval_of(repro, keys, &duel, interval);
        add_point(&r, sweep->at[i],
                  ratio_of(&duel, papers_mean(repro, better, duel.figure),
                           papers_mean(repro, worse, duel.figure)),
                  interval);
    }
    return r;
}

double papers_sweep_size(const char *paper)
{
    for (const char *c = paper; *c != '\0'; c++) {
        char *end;
        if (*c < '0' || *c > '9')
            continue;
        double size = strtod(c, &end);
        if (*end == 'x')
            return size;
        c = end - 1;
    }
    return 0;
}

void papers_sweep_judge(struct papers *repro, const struct papers_sweep *sweep,
                        struct papers_duel duel, const char *what, const char *paper)
{
    struct papers_ratios r = papers_sweep_compare(repro, sweep, duel);
    struct str text;
    str_init(&text);
    str_printf(&text, "%.2fx to %.2fx (at %s %g, %g); better at %d, even at %d, worse at %d",
               r.least, r.most, sweep->word, r.least_at, r.most_at, r.n_better,
               r.n - r.n_better - r.n_worse, r.n_worse);
    if (papers_n_seeds(repro) > 1)
        str_printf(&text, "; 95%%: %.2f..%.2f, %.2f..%.2f; surely better at %d, worse at %d",
                   r.least_in[0], r.least_in[1], r.most_in[0], r.most_in[1], r.n_surely_better,
                   r.n_surely_worse);
    papers_judge(repro, r.n_better > 0 && r.n_worse == 0, what, paper, "%s", text.at);
    if (r.most < PAPERS_SIZE_PART * papers_sweep_size(paper))
        papers_by_direction(repro);
    str_free(&text);
}
