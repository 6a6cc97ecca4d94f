/* Compares systems along an axis, as most of the papers' figures do. */
#pragma once
#include "papers/papers.h"

enum { PAPERS_POINTS_MAX = 8 };
struct papers_system {
    const char *key, *policy;
    const char *more;    /* lines that only its scenario has, which its planner sees too; "" */
    const char *engines; /* its placement by hand; NULL: */
    const char *planner; /* the planner on the nodes of the sweep's setting */
};
struct papers_sweep {
    const char *word; /* of keys: "rate" */
    double at[PAPERS_POINTS_MAX];
    int n;
    int duration_s;
    /* Writes lines of a scenario: workload, predictor, ... but no devices. */
    void (*setting)(const struct papers_sweep *sweep, double at, struct str *yaml);
    const char *device;
    /* Returns the number of nodes with eight devices, for planners; NULL: no nodes. */
    int (*n_nodes)(const struct papers_sweep *sweep, double at);
    double rate;       /* the setting's own: where the axis is another */
    const char *field; /* likewise: the field of the workload that the axis sets */
};
/* Runs every system at every point, under the keys KEY-WORDVALUE. If a planner leaves a service
 * out, its system has no run at that point. */
enum status papers_sweep_run(struct papers *repro, const struct papers_sweep *sweep,
                             const struct papers_system *const *systems, size_t n,
                             struct fault *fault) MUST_USE;
void papers_sweep_key(const struct papers_sweep *sweep, const struct papers_system *system, int i,
                      char key[PAPERS_KEY_MAX]);
bool papers_sweep_has(const struct papers *repro, const struct papers_sweep *sweep,
                      const struct papers_system *system, int i);
/* Returns the mean over seeds at a point that was run. */
double papers_sweep_mean(const struct papers *repro, const struct papers_sweep *sweep,
                         const struct papers_system *system, int i, papers_figure *figure);

/* One line per system, without a verdict: its figures along the axis. */
struct papers_shown {
    papers_figure *figure;
    double scale;
    const char *name;
};
void papers_sweep_show(struct papers *repro, const struct papers_sweep *sweep,
                       const struct papers_system *const *systems, size_t n,
                       struct papers_shown shown);

/* Figures that differ by less than this part are even, and no win. */
#define PAPERS_EVEN 0.005
/* A gain below this part of the paper's holds by its direction alone. */
#define PAPERS_SIZE_PART 0.8
struct papers_ratios { /* how many times better one system is than another; 1 = equal */
    double most, least;
    double most_at, least_at;            /* places on the axis */
    double most_in[2], least_in[2];      /* 95% intervals over paired seeds there */
    int n_better, n_worse, n;            /* n: points that both were run at */
    int n_surely_better, n_surely_worse; /* whose interval is on one side of 1 */
};
struct papers_duel {
    const struct papers_system *better, *worse;
    papers_figure *figure;
    bool more_is_better;
};
struct papers_ratios papers_sweep_compare(const struct papers *repro,
                                          const struct papers_sweep *sweep,
                                          struct papers_duel duel);
/* Returns the first number of the paper's words that an x follows, as in "up to 1.8x"; 0: none. */
double papers_sweep_size(const char *paper);
/* Judges in one line whether `better` is better somewhere and worse nowhere; a tie is no win. If
 * the paper's words have a size ("up to 1.8x") that ours is far from, it holds by direction. */
void papers_sweep_judge(struct papers *repro, const struct papers_sweep *sweep,
                        struct papers_duel duel, const char *what, const char *paper);
