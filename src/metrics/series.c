/* Sums by differences: each request adds at its begin and subtracts at its end, so that a million
 * requests over a thousand intervals take a million steps. */
#include "metrics/series.h"

#include "base/mem.h"

struct step { /* the changes at the end of an interval */
    int64_t waiting, running;
    double kept, kept_per_s, made, made_per_s; /* lines: value = constant + slope * seconds */
};

/* Returns the first interval with an end not before `at`. */
static size_t index_of(int64_t at_ns, int64_t interval_ns)
{
    return at_ns <= interval_ns ? 0 : (size_t)((at_ns - 1) / interval_ns);
}

static void add(const struct record *r, int64_t interval_ns, struct series_point *points,
                struct step *steps)
{
    size_t arrived = index_of(r->arrived_ns, interval_ns), end = index_of(r->end_ns, interval_ns);
    size_t first = r->first_ns > 0 ? index_of(r->first_ns, interval_ns) : end;
    points[arrived].n_arrived++;
    points[end].n_ended++;
    steps[arrived].waiting++;
    steps[first].waiting--;
    if (r->first_ns == 0)
        return;
    double first_s = (double)r->first_ns * 1e-9, span_s = (double)r->end_ns * 1e-9 - first_s;
    double per_s = span_s > 0 ? r->n_output / span_s : 0;
    steps[first].running++;
    steps[end].running--;
    if (end > first) {
        steps[first].kept += r->n_prompt - per_s * first_s;
        steps[first].kept_per_s += per_s;
        steps[first].made -= per_s * first_s;
        steps[first].made_per_s += per_s;
        steps[end].kept -= r->n_prompt - per_s * first_s;
        steps[end].kept_per_s -= per_s;
        steps[end].made += per_s * first_s;
        steps[end].made_per_s -= per_s;
    }
    steps[end].made += r->n_output;
}

void metrics_series_of(const struct record_set *set, int64_t interval_ns, struct series *out)
{
    int64_t begin_ns = metrics_record_begin_ns(set), end_ns = 1;
    for (size_t i = 0; i < set->n; i++)
        end_ns = max_i64(end_ns, set->at[i].end_ns - begin_ns);
    if (interval_ns <= 0)
        interval_ns = max_i64(end_ns / 100, 1);
    interval_ns = max_i64(interval_ns, end_ns / SERIES_POINTS_MAX + 1);
    size_t n = index_of(end_ns, interval_ns) + 1;
    struct step *steps = mem_take(n * sizeof(*steps)), now = { 0 };
    *out = (struct series){ .interval_ns = interval_ns, .n = n };
    out->points = mem_take(n * sizeof(*out->points));
    for (size_t i = 0; i < set->n; i++) {
        struct record r = set->at[i];
        r.arrived_ns -= begin_ns;
        r.end_ns -= begin_ns;
        r.first_ns -= r.first_ns > 0 ? begin_ns : 0;
        add(&r, interval_ns, out->points, steps);
    }
    double made_before = 0, interval_s = (double)interval_ns * 1e-9;
    for (size_t i = 0; i < n; i++) {
        struct series_point *point = &out->points[i];
        point->end_ns = (int64_t)(i + 1) * interval_ns;
        double end_s = (double)point->end_ns * 1e-9;
        now.waiting += steps[i].waiting;
        now.running += steps[i].running;
        now.kept += steps[i].kept;
        now.kept_per_s += steps[i].kept_per_s;
        now.made += steps[i].made;
        now.made_per_s += steps[i].made_per_s;
        double made = now.made + now.made_per_s * end_s;
        point->n_waiting = now.waiting;
        point->n_running = now.running;
        point->kv_tokens = now.running > 0 ? now.kept + now.kept_per_s * end_s : 0;
        point->tokens_per_s = (made - made_before) / interval_s;
        made_before = made;
    }
    mem_give(steps);
}

void metrics_series_write(const struct series *series, struct str *out)
{
    str_add_text(out, "end_s,arrived,ended,waiting,running,tokens_per_s,kv_tokens\n");
    for (size_t i = 0; i < series->n; i++) {
        const struct series_point *p = &series->points[i];
        str_printf(out, "%.9g,%lld,%lld,%lld,%lld,%.6g,%.9g\n", (double)p->end_ns * 1e-9,
                   (long long)p->n_arrived, (long long)p->n_ended, (long long)p->n_waiting,
                   (long long)p->n_running, p->tokens_per_s, p->kv_tokens);
    }
}
