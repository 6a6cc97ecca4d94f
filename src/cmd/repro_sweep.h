/* Compares systems along an axis, as most of the papers' figures do. */
#pragma once
#include "cmd/repro.h"

enum { REPRO_POINTS_MAX = 8, REPRO_KEY_MAX = 64 };
struct repro_system {
    const char *key, *policy;
    const char *more;    /* lines that only its scenario has; "" */
    const char *engines; /* its placement by hand; NULL: */
    const char *planner; /* the planner on the nodes of the sweep's setting */
};
struct repro_sweep {
    const char *word; /* of keys: "rate" */
    double at[REPRO_POINTS_MAX];
    int n;
    int duration_s;
    /* Writes lines of a scenario: workload, predictor, ... but no devices. */
    void (*setting)(const struct repro_sweep *sweep, double at, struct str *yaml);
    const char *device;
    /* Returns the number of nodes with eight devices, for planners; NULL: no nodes. */
    int (*n_nodes)(const struct repro_sweep *sweep, double at);
    double rate;       /* the setting's own: where the axis is another */
    const char *field; /* likewise: the field of the workload that the axis sets */
};
/* Runs every system at every point, under the keys KEY-WORDVALUE. If a planner leaves a service
 * out, its system has no run at that point. */
enum status repro_sweep_run(struct repro *repro, const struct repro_sweep *sweep,
                            const struct repro_system *const *systems, size_t n,
                            struct fault *fault) MUST_USE;
void repro_sweep_key(const struct repro_sweep *sweep, const struct repro_system *system, int i,
                     char key[REPRO_KEY_MAX]);
bool repro_sweep_has(const struct repro *repro, const struct repro_sweep *sweep,
                     const struct repro_system *system, int i);
/* Returns the mean over seeds at a point that was run. */
double repro_sweep_mean(const struct repro *repro, const struct repro_sweep *sweep,
                        const struct repro_system *system, int i, repro_figure *figure);

/* One line per system, without a verdict: its figures along the axis. */
struct repro_shown {
    repro_figure *figure;
    double scale;
    const char *name;
};
void repro_sweep_show(struct repro *repro, const struct repro_sweep *sweep,
                      const struct repro_system *const *systems, size_t n,
                      struct repro_shown shown);

struct repro_ratios { /* how many times better one system is than another; 1 = equal */
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
/* Judges in one line whether `better` is better, or the same, everywhere. */
void repro_sweep_judge(struct repro *repro, const struct repro_sweep *sweep, struct repro_duel duel,
                       const char *what, const char *paper);
