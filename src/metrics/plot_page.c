/* The page: its charts, and the data of the runs that they show. */
#include "metrics/plot.h"

#include "base/doc.h"
#include "base/mem.h"
#include "metrics/series.h"
#include <stdlib.h>
#include <string.h>

enum { CDF_POINTS = 400, GROUPS_MAX = 64 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum row { ROW_LATENCY, ROW_TTFT, ROW_TPOT, ROW_NORMALIZED };

/* Returns the value of a row for a record; negative: it has none. */
static double value_of(const struct plot_run *run, const struct record *r, enum row row)
{
    double solo_s = run->scores[r->service].solo_s;
    if (r->why == RECORD_CANCELLED || !record_is_done(r))
        return -1;
    switch (row) {
    case ROW_LATENCY:
        return metrics_score_latency_s(r, 0);
    case ROW_TTFT:
        return metrics_score_ttft_s(r, 0);
    case ROW_TPOT:
        return r->n_output > 1 ? metrics_score_tpot_s(r) : -1;
    default:
        return solo_s > 0 ? metrics_score_latency_s(r, 0) / solo_s : -1;
    }
}

/* Makes a run's distribution: at most CDF_POINTS of its values, always including the first and the
 * last. */
static void make_cdf(const struct plot_run *run, enum row row, struct plot_line *line)
{
    double *values = mem_take((run->set->n + 1) * sizeof(*values));
    double *x = mem_take((CDF_POINTS + 1) * sizeof(*x)),
           *y = mem_take((CDF_POINTS + 1) * sizeof(*y));
    size_t n = 0, n_points = 0;
    for (size_t i = 0; i < run->set->n; i++) {
        double value = value_of(run, &run->set->at[i], row);
        if (value >= 0)
            values[n++] = value;
    }
    if (n > 1)
        qsort(values, n, sizeof(*values), compare);
    for (size_t i = 0; i <= CDF_POINTS && n > 0; i++) {
        double q = (double)i / CDF_POINTS;
        x[n_points] = metrics_score_quantile(values, n, q);
        y[n_points++] = 100 * q;
    }
    mem_give(values);
    *line = (struct plot_line){ run->name, x, y, n_points };
}

static void free_lines(struct plot_line *lines, int n)
{
    for (int i = 0; i < n; i++) {
        mem_give((void *)(uintptr_t)lines[i].x);
        mem_give((void *)(uintptr_t)lines[i].y);
    }
}

static void add_cdf(const struct plot_run *runs, int n, enum row row, const char *title,
                    const char *label, struct str *out)
{
    struct plot_line lines[PLOT_RUNS_MAX];
    for (int i = 0; i < n; i++)
        make_cdf(&runs[i], row, &lines[i]);
    const struct plot_chart chart = { title, label, "% of requests", true, lines, n };
    metrics_plot_chart(&chart, out);
    free_lines(lines, n);
}

static void add_series(const struct plot_run *runs, int n, bool is_rate, const char *title,
                       const char *label, struct str *out)
{
    struct plot_line lines[PLOT_RUNS_MAX];
    for (int i = 0; i < n; i++) {
        struct series series;
        metrics_series_of(runs[i].set, 0, &series);
        double *x = mem_take(series.n * sizeof(*x)), *y = mem_take(series.n * sizeof(*y));
        for (size_t k = 0; k < series.n; k++) {
            const struct series_point *p = &series.points[k];
            x[k] = (double)p->end_ns * 1e-9;
            y[k] = is_rate ? p->tokens_per_s : (double)p->n_waiting;
        }
        lines[i] = (struct plot_line){ runs[i].name, x, y, series.n };
        mem_give(series.points);
    }
    const struct plot_chart chart = { title, "seconds since the first arrival", label, false, lines,
                                      n };
    metrics_plot_chart(&chart, out);
    free_lines(lines, n);
}

static int32_t index_named(const struct record_set *set, const char *name)
{
    for (int32_t i = 0; i < set->n_services; i++)
        if (strcmp(set->names[i], name) == 0)
            return i;
    return -1;
}

/* Adds bars per service of the first run, by name. */
static void add_bars(const struct plot_run *runs, int n, bool is_met, const char *title,
                     const char *label, struct str *out)
{
    const char *groups[GROUPS_MAX], *names[PLOT_RUNS_MAX];
    double values[GROUPS_MAX * PLOT_RUNS_MAX];
    int n_groups = min_i32(runs[0].set->n_services, GROUPS_MAX);
    for (int g = 0; g < n_groups; g++) {
        groups[g] = runs[0].set->names[g];
        for (int i = 0; i < n; i++) {
            int32_t s = index_named(runs[i].set, groups[g]);
            const struct score *score = s >= 0 ? &runs[i].scores[s] : NULL;
            names[i] = runs[i].name;
            values[g * n + i] = score == NULL ? 0
                                : is_met      ? 100 * score->met
                                              : score->normalized.mean;
        }
    }
    const struct plot_bars bars = { title, label, groups, names, values, n_groups, n };
    metrics_plot_bars(&bars, out);
}

void metrics_plot_page(const char *title, const struct str *report, const struct plot_run *runs,
                       int n, struct str *html)
{
    CHECK(n >= 1 && n <= PLOT_RUNS_MAX);
    doc_page_open(html, title);
    str_add(html, report->at, report->n);
    str_add_text(html, "<div class=\"charts\">\n");
    add_cdf(runs, n, ROW_LATENCY, "Latency", "seconds", html);
    add_cdf(runs, n, ROW_TTFT, "Time to first token", "seconds", html);
    add_cdf(runs, n, ROW_TPOT, "Time per token after the first", "seconds", html);
    add_cdf(runs, n, ROW_NORMALIZED, "Normalized latency (NL)", "times the solo latency", html);
    add_bars(runs, n, false, "Normalized latency per service", "NL, mean", html);
    add_bars(runs, n, true, "SLO attainment per service", "% of requests that meet it", html);
    add_series(runs, n, false, "Waiting for a first token", "requests", html);
    add_series(runs, n, true, "Generated", "tokens/s", html);
    str_add_text(html, "</div>\n");
    doc_page_close(html);
}
