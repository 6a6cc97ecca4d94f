/* Sweeps: simulate, show, compare. */
#include "papers/sweep.h"

#include <stdio.h>

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
    struct str setting, yaml;
    papers_sweep_key(sweep, system, i, key);
    str_init(&setting);
    str_init(&yaml);
    sweep->setting(sweep, sweep->at[i], &setting);
    str_printf(&setting, "duration: %ds\n", sweep->duration_s);
    if (system->planner != NULL) {
        struct papers_placed placed;
        str_printf(&setting, "nodes: [{count: %d, device: %s, devices: 8}]\n",
                   sweep->n_nodes(sweep, sweep->at[i]), sweep->device);
        const struct papers_place_ask ask = { system->planner, system->policy, setting.at };
        status = papers_place(repro, &ask, &placed, &yaml, fault);
        str_add_text(&yaml, system->more);
    } else {
        str_printf(&yaml, "%s%sdevice: %s\nengines:\n%s", setting.at, system->more, sweep->device,
                   system->engines);
    }
    if (status == STATUS_OK)
        status = papers_simulate(repro, key, system->policy, yaml.at, fault);
    else if (status == STATUS_UNSUPPORTED)
        status = STATUS_OK;
    str_free(&setting);
    str_free(&yaml);
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

struct papers_ratios papers_sweep_compare(const struct papers *repro,
                                          const struct papers_sweep *sweep, struct papers_duel duel)
{
    struct papers_ratios r = { 0 };
    for (int i = 0; i < sweep->n; i++) {
        if (!papers_sweep_has(repro, sweep, duel.better, i) ||
            !papers_sweep_has(repro, sweep, duel.worse, i))
            continue;
        double a = papers_sweep_mean(repro, sweep, duel.better, i, duel.figure);
        double b = papers_sweep_mean(repro, sweep, duel.worse, i, duel.figure);
        double low = duel.more_is_better ? b : a, high = duel.more_is_better ? a : b;
        double ratio = low > 0 ? high / low : high > 0 ? 1e9 : 1;
        r.n_better += ratio >= 1;
        if (r.n == 0 || ratio > r.most) {
            r.most = ratio;
            r.most_at = sweep->at[i];
        }
        if (r.n == 0 || ratio < r.least) {
            r.least = ratio;
            r.least_at = sweep->at[i];
        }
        r.n++;
    }
    return r;
}

void papers_sweep_judge(struct papers *repro, const struct papers_sweep *sweep,
                        struct papers_duel duel, const char *what, const char *paper)
{
    struct papers_ratios r = papers_sweep_compare(repro, sweep, duel);
    papers_judge(repro, r.n_better == r.n && r.n > 0, what, paper,
                 "%.2fx to %.2fx (at %s %g, %g); better at %d of %d", r.least, r.most, sweep->word,
                 r.least_at, r.most_at, r.n_better, r.n);
}
