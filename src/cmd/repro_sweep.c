/* Sweeps: simulate, show, compare. */
#include "cmd/repro_sweep.h"

#include <stdio.h>

void repro_sweep_key(const struct repro_sweep *sweep, const struct repro_system *system, int i,
                     char key[REPRO_KEY_MAX])
{
    snprintf(key, REPRO_KEY_MAX, "%s-%s%g", system->key, sweep->word, sweep->at[i]);
}

bool repro_sweep_has(const struct repro *repro, const struct repro_sweep *sweep,
                     const struct repro_system *system, int i)
{
    char key[REPRO_KEY_MAX];
    repro_sweep_key(sweep, system, i, key);
    return repro_case(repro, key, 0) != NULL;
}

static enum status run_one(struct repro *repro, const struct repro_sweep *sweep,
                           const struct repro_system *system, int i, struct fault *fault)
{
    char key[REPRO_KEY_MAX];
    enum status status = STATUS_OK;
    struct str setting, yaml;
    repro_sweep_key(sweep, system, i, key);
    str_init(&setting);
    str_init(&yaml);
    sweep->setting(sweep, sweep->at[i], &setting);
    str_printf(&setting, "duration: %ds\n", sweep->duration_s);
    if (system->planner != NULL) {
        struct repro_placed placed;
        str_printf(&setting, "nodes: [{count: %d, device: %s, devices: 8}]\n",
                   sweep->n_nodes(sweep, sweep->at[i]), sweep->device);
        const struct repro_place_ask ask = { system->planner, system->policy, setting.at };
        status = repro_place(repro, &ask, &placed, &yaml, fault);
        str_add_text(&yaml, system->more);
    } else {
        str_printf(&yaml, "%s%sdevice: %s\nengines:\n%s", setting.at, system->more, sweep->device,
                   system->engines);
    }
    if (status == STATUS_OK)
        status = repro_simulate(repro, key, system->policy, yaml.at, fault);
    else if (status == STATUS_UNSUPPORTED)
        status = STATUS_OK;
    str_free(&setting);
    str_free(&yaml);
    return status;
}

enum status repro_sweep_run(struct repro *repro, const struct repro_sweep *sweep,
                            const struct repro_system *const *systems, size_t n,
                            struct fault *fault)
{
    enum status status = STATUS_OK;
    for (size_t s = 0; s < n; s++)
        for (int i = 0; i < sweep->n && status == STATUS_OK; i++)
            status = run_one(repro, sweep, systems[s], i, fault);
    return status;
}

double repro_sweep_mean(const struct repro *repro, const struct repro_sweep *sweep,
                        const struct repro_system *system, int i, repro_figure *figure)
{
    char key[REPRO_KEY_MAX];
    repro_sweep_key(sweep, system, i, key);
    return repro_mean(repro, key, figure);
}

void repro_sweep_show(struct repro *repro, const struct repro_sweep *sweep,
                      const struct repro_system *const *systems, size_t n, struct repro_shown shown)
{
    for (size_t s = 0; s < n; s++) {
        struct str text;
        str_init(&text);
        for (int i = 0; i < sweep->n; i++) {
            str_printf(&text, "%s%g: ", i > 0 ? ", " : "", sweep->at[i]);
            if (repro_sweep_has(repro, sweep, systems[s], i))
                str_printf(&text, "%.3g",
                           shown.scale *
                               repro_sweep_mean(repro, sweep, systems[s], i, shown.figure));
            else
                str_add_text(&text, "not placed");
        }
        repro_note(repro, systems[s]->key, shown.name, "%s", text.at);
        str_free(&text);
    }
}

struct repro_ratios repro_sweep_compare(const struct repro *repro, const struct repro_sweep *sweep,
                                        struct repro_duel duel)
{
    struct repro_ratios r = { 0 };
    for (int i = 0; i < sweep->n; i++) {
        if (!repro_sweep_has(repro, sweep, duel.better, i) ||
            !repro_sweep_has(repro, sweep, duel.worse, i))
            continue;
        double a = repro_sweep_mean(repro, sweep, duel.better, i, duel.figure);
        double b = repro_sweep_mean(repro, sweep, duel.worse, i, duel.figure);
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

void repro_sweep_judge(struct repro *repro, const struct repro_sweep *sweep, struct repro_duel duel,
                       const char *what, const char *paper)
{
    struct repro_ratios r = repro_sweep_compare(repro, sweep, duel);
    repro_judge(repro, r.n_better == r.n && r.n > 0, what, paper,
                "%.2fx to %.2fx (at %s %g, %g); better at %d of %d", r.least, r.most, sweep->word,
                r.least_at, r.most_at, r.n_better, r.n);
}
