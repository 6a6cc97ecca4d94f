/* Pictures of runs: one self-contained HTML page with inline SVG, no script and nothing loaded. */
#pragma once
#include "metrics/score.h"

enum { PLOT_RUNS_MAX = 8 };
struct plot_line {
    const char *name;
    const double *x, *y; /* (n), x ascending */
    size_t n;
};
struct plot_chart {
    const char *title, *x_label, *y_label;
    bool is_log_x; /* values not above 0 are left out */
    const struct plot_line *lines;
    int n_lines; /* at most PLOT_RUNS_MAX */
};
void metrics_plot_chart(const struct plot_chart *chart, struct str *out);

struct plot_bars { /* groups side by side, in each a bar per name */
    const char *title, *y_label;
    const char *const *groups; /* (n_groups) */
    const char *const *names;  /* (n_names) */
    const double *values;      /* (n_groups, n_names) */
    int n_groups, n_names;
};
void metrics_plot_bars(const struct plot_bars *bars, struct str *out);

struct plot_run {
    const char *name;
    const struct record_set *set;
    const struct score *scores; /* (n_services + 1) */
};
/* Prints a page: latency, TTFT and TPOT as distributions, NL and attainment per service, queue and
 * rate over time. Runs are overlaid. `text` is printed above them unchanged. Services are matched
 * by name. */
void metrics_plot_page(const char *title, const char *text, const struct plot_run *runs, int n,
                       struct str *out);
