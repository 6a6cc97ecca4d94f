/* Pictures of runs: figures with inline SVG for a page of base/doc.h. Nothing is loaded, and there
 * is no script: values appear when the pointer rests on a point or bar. */
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
void metrics_plot_chart(const struct plot_chart *chart, struct str *html);

struct plot_bars { /* groups one under another, in each a bar per name */
    const char *title, *x_label;
    const char *const *groups; /* (n_groups) */
    const char *const *names;  /* (n_names), at most PLOT_RUNS_MAX */
    const double *values;      /* (n_groups, n_names) */
    int n_groups, n_names;
};
void metrics_plot_bars(const struct plot_bars *bars, struct str *html);

struct plot_run {
    const char *name;
    const struct record_set *set;
    const struct score *scores; /* (n_services + 1) */
};
/* Writes a page: the report, then latency, TTFT and TPOT as distributions, NL and attainment per
 * service, queue and rate over time. Runs are overlaid. `report` is the HTML form of a document.
 * Services are matched by name. */
void metrics_plot_page(const char *title, const struct str *report, const struct plot_run *runs,
                       int n, struct str *html);
