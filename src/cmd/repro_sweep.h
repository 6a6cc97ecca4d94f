/* Systems side by side along an axis: what most of the papers' figures are. */
#pragma once
#include "cmd/repro.h"

enum { REPRO_POINTS_MAX = 8, REPRO_KEY_MAX = 64 };
struct repro_system {
    const char *key, *policy;
    const char *more;    /* lines of the scenario that only it has; "" */
    const char *engines; /* its placement by hand; NULL: */
    const char *planner; /* who places, on the nodes of the sweep's setting */
};
struct repro_sweep {
    const char *word; /* of keys: "rate" */
    double at[REPRO_POINTS_MAX];
    int n;
    int duration_s;
    /* Lines of a scenario: workload, predictor, ... but no devices. */
    void (*setting)(const struct repro_sweep *sweep, double at, struct str *yaml);
    const char *device;
    /* Nodes of eight of them, for planners; NULL: there are none. */
    int (*n_nodes)(const struct repro_sweep *sweep, double at);
    double rate;       /* the setting's own: where the axis is another */
    const char *field; /* likewise: of the workload, that the axis sets */
};
/* Every system at every point, under the keys KEY-WORDVALUE. A planner that leaves a service out
 * has no run at that point. */
enum status repro_sweep_run(struct repro *repro, const struct repro_sweep *sweep,
                            const struct repro_system *const *systems, size_t n,
                            struct fault *fault) MUST_USE;
void repro_sweep_key(const struct repro_sweep *sweep, const struct repro_system *system, int i,
                     char key[REPRO_KEY_MAX]);
bool repro_sweep_has(const struct repro *repro, const struct repro_sweep *sweep,
                     const struct repro_system *system, int i);
/* Mean over seeds at a point that was run. */
double repro_sweep_mean(const struct repro *repro, const struct repro_sweep *sweep,
                        const struct repro_system *system, int i, repro_figure *figure);

/* One line a system, not judged: its figures along the axis. */
struct repro_shown {
    repro_figure *figure;
    double scale;
    const char *name;
};
void repro_sweep_show(struct repro *repro, const struct repro_sweep *sweep,
                      const struct repro_system *const *systems, size_t n,
                      struct repro_shown shown);

struct repro_ratios { /* how much better a system is than another; 1 = the same */
    double most, least;
    double most_at, least_at; /* places on the axis */
    int n_better, n;          /* n: points that both were run at */
};
struct repro_duel {
    const struct repro_system *better, *worse;
    repro_figure *figure;
    bool more_is_better;
};
struct repro_ratios repro_sweep_compare(const struct repro *repro, const struct repro_sweep *sweep,
                                        struct repro_duel duel);
/* One line: is `better` better, or the same, everywhere? */
void repro_sweep_judge(struct repro *repro, const struct repro_sweep *sweep, struct repro_duel duel,
                       const char *what, const char *paper);
