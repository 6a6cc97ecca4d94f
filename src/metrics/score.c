/* Figures from records: docs/METRICS.md, formula by formula. */
#include "metrics/score.h"

#include "base/mem.h"
#include "base/num.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double metrics_score_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return 0;
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double deviation_of(const double *values, size_t n)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return n > 0 ? num_sqrt(sum / (double)n) : 0;
}

void metrics_score_spread(double *values, size_t n, struct score_spread *out)
{
    double sum = 0;
    *out = (struct score_spread){ .n = n };
    if (n == 0)
        return;
    qsort(values, n, sizeof(*values), compare);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    out->mean = sum / (double)n;
    out->deviation = deviation_of(values, n);
    out->min = values[0];
    out->p50 = metrics_score_quantile(values, n, 0.5);
    out->p90 = metrics_score_quantile(values, n, 0.9);
    out->p95 = metrics_score_quantile(values, n, 0.95);
    out->p99 = metrics_score_quantile(values, n, 0.99);
    out->max = values[n - 1];
}

/* ---- One request. ---- */

double metrics_score_latency_s(const struct record *record, int64_t end_ns)
{
    int64_t end = record_is_done(record) ? record->end_ns : max_i64(end_ns, record->end_ns);
    return (double)(end - record->arrived_ns) * 1e-9;
}

double metrics_score_ttft_s(const struct record *record, int64_t end_ns)
{
    int64_t first = record->first_ns > 0 ? record->first_ns : max_i64(end_ns, record->end_ns);
    return (double)(first - record->arrived_ns) * 1e-9;
}

double metrics_score_tpot_s(const struct record *record)
{
    double span_s = (double)(record->end_ns - record->first_ns) * 1e-9;
    return record->n_output > 1 ? span_s / (record->n_output - 1) : 0;
}

double metrics_score_tpot_all_s(const struct record *record)
{
    double span_s = (double)(record->end_ns - record->first_ns) * 1e-9;
    return record->n_output > 0 ? span_s / record->n_output : 0;
}

/* ---- Attainment. ---- */

int64_t metrics_score_base_ns(const struct score_base *base, int64_t n_prompt, int64_t n_output)
{
    int32_t i = 0;
    while (i < base->n - 1 && base->tokens[i] < n_prompt)
        i++;
    return base->prefill_ns[i] + base->decode_ns * n_output;
}

const char *metrics_score_kind_name(enum score_kind kind)
{
    static const char *const names[SCORE_KIND_N] = {
        [SCORE_SEALLM_SOLO] = "seallm-solo",
        [SCORE_SEALLM_MEAN] = "seallm-mean",
        [SCORE_MUXSERVE] = "muxserve",
        [SCORE_ALADDIN] = "aladdin",
        [SCORE_UELLM] = "uellm",
        [SCORE_SERVICE] = "service",
    };
    return (unsigned)kind < SCORE_KIND_N ? names[kind] : "unknown";
}

const char *metrics_score_kind_targets(enum score_kind kind)
{
    static const char *const targets[SCORE_KIND_N] = {
        [SCORE_ALADDIN] = "ttft or tpot",
        [SCORE_UELLM] = "e2e",
        [SCORE_SERVICE] = "ttft, tpot or e2e",
    };
    return targets[kind];
}

bool metrics_score_kind_reads(enum score_kind kind, const struct service_slo *slo)
{
    bool has_token = slo->ttft_ns > 0 || slo->tpot_ns > 0, has_end = slo->e2e_ns > 0;
    switch (kind) {
    case SCORE_ALADDIN:
        return has_token;
    case SCORE_UELLM:
        return has_end;
    default:
        return kind == SCORE_SERVICE && (has_token || has_end);
    }
}

static bool within(double seconds, int64_t target_ns)
{
    return target_ns == 0 || seconds <= (double)target_ns * 1e-9;
}

bool metrics_score_is_met(const struct record *record, const struct score_rule *rule,
                          const struct score_service *service, double solo_s,
                          const struct score_run *run)
{
    struct service_slo slo = rule->slo;
    double latency_s = metrics_score_latency_s(record, run->end_ns);
    double ttft_s = metrics_score_ttft_s(record, run->end_ns);
    double tpot_s = metrics_score_tpot_s(record);
    bool is_own = slo.ttft_ns == 0 && slo.tpot_ns == 0 && slo.e2e_ns == 0;
    if (service != NULL && (is_own || rule->kind == SCORE_SERVICE))
        slo = service->slo;
    if (!record_is_done(record))
        return false;
    switch (rule->kind) {
    case SCORE_SEALLM_SOLO:
        return latency_s <= rule->scale * (double)record->solo_ns * 1e-9;
    case SCORE_SEALLM_MEAN:
        return latency_s <= rule->scale * solo_s;
    case SCORE_MUXSERVE:
        return service != NULL && service->base.n > 0 &&
               latency_s <= rule->scale * 1e-9 *
                                (double)metrics_score_base_ns(&service->base, record->n_prompt,
                                                              record->n_output);
    case SCORE_ALADDIN:
        return within(ttft_s, slo.ttft_ns) && (record->n_output < 2 || within(tpot_s, slo.tpot_ns));
    case SCORE_UELLM:
        return within((double)(record->end_ns - run->begin_ns) * 1e-9, slo.e2e_ns);
    default:
        return within(ttft_s, slo.ttft_ns) && within(tpot_s, slo.tpot_ns) &&
               within(latency_s, slo.e2e_ns);
    }
}

/* Data about the whole set. */
struct frame {
    const struct record_set *set;
    const struct score_options *options;
    struct score_run run;
    int64_t last_arrival_ns;
    double *solo_s; /* (n_services) */
};

static const struct score_service *service_of(const struct frame *frame, int32_t service)
{
    return frame->options->services != NULL ? &frame->options->services[service] : NULL;
}

static void open_frame(struct frame *frame, const struct record_set *set,
                       const struct score_options *options)
{
    size_t n_services = (size_t)set->n_services + 1;
    uint64_t *n_known = mem_take(n_services * sizeof(*n_known));
    *frame = (struct frame){ .set = set, .options = options };
    frame->run.begin_ns = metrics_record_begin_ns(set);
    frame->last_arrival_ns = frame->run.begin_ns;
    frame->solo_s = mem_take(n_services * sizeof(*frame->solo_s));
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        frame->last_arrival_ns = max_i64(frame->last_arrival_ns, r->arrived_ns);
        frame->run.end_ns = max_i64(frame->run.end_ns, r->end_ns);
        if (r->solo_ns > 0) {
            frame->solo_s[r->service] += (double)r->solo_ns * 1e-9;
            n_known[r->service]++;
        }
    }
    if (options->end_ns > 0)
        frame->run.end_ns = options->end_ns;
    for (int32_t s = 0; s < set->n_services; s++) {
        const struct score_service *service = service_of(frame, s);
        if (service != NULL && service->solo_s > 0)
            frame->solo_s[s] = service->solo_s;
        else if (n_known[s] > 0)
            frame->solo_s[s] /= (double)n_known[s];
    }
    mem_give(n_known);
}

static bool is_met(const struct frame *frame, const struct score_rule *rule,
                   const struct record *record)
{
    return metrics_score_is_met(record, rule, service_of(frame, record->service),
                                frame->solo_s[record->service], &frame->run);
}

double metrics_score_attainment(const struct record_set *set, const struct score_options *options,
                                const struct score_rule *rule, int32_t service)
{
    struct frame frame;
    uint64_t n = 0, n_met = 0;
    open_frame(&frame, set, options);
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        if (r->why == RECORD_CANCELLED || (service >= 0 && r->service != service))
            continue;
        n++;
        n_met += is_met(&frame, rule, r);
    }
    mem_give(frame.solo_s);
    return n > 0 ? (double)n_met / (double)n : 1;
}

/* ---- All of it. ---- */

enum { LATENCY, TTFT, NORMALIZED, LATE, TPOT, TPOT_ALL, GAP, N_ROWS };
struct rows { /* a row of values per figure */
    double *at[N_ROWS];
    size_t n[N_ROWS];
};

static void push(struct rows *rows, int row, double value)
{
    rows->at[row][rows->n[row]++] = value;
}

static void count(const struct frame *frame, const struct record *r, struct score *out,
                  struct rows *rows)
{
    double latency_s = metrics_score_latency_s(r, frame->run.end_ns);
    double solo_s = frame->solo_s[r->service];
    out->n_preempted += (uint64_t)r->n_preempted;
    out->n_slices += (uint64_t)r->n_slices;
    out->n_early += (uint64_t)r->n_early;
    out->n_swapped += (uint64_t)r->n_swapped;
    out->n_batches += (uint64_t)r->n_batches;
    out->n_batch_rows += (uint64_t)r->n_batch_rows;
    out->n_exceeded += r->n_predicted > 0 && r->n_output > r->n_predicted;
    out->n_prompt_tokens += (uint64_t)r->n_prompt;
    out->n_tokens += (uint64_t)r->n_output;
    out->n_cached_tokens += (uint64_t)r->n_cached;
    out->n_pad_tokens += (uint64_t)r->n_pad;
    out->n_invalid_tokens += (uint64_t)r->n_invalid;
    if (r->why == RECORD_CANCELLED) {
        out->n_cancelled++;
        return;
    }
    out->n_offered++;
    out->slices_mean += r->n_slices;
    out->solo_s += solo_s;
    push(rows, LATENCY, latency_s);
    push(rows, TTFT, metrics_score_ttft_s(r, frame->run.end_ns));
    push(rows, LATE, (double)r->late_ns * 1e-9);
    if (solo_s > 0)
        push(rows, NORMALIZED, latency_s / solo_s);
    if (!record_is_done(r)) {
        out->n_missed++;
        return;
    }
    out->n_done++;
    if (r->n_output > 1) {
        push(rows, TPOT, metrics_score_tpot_s(r));
        push(rows, GAP, (double)r->gap_ns_max * 1e-9);
    }
    if (r->n_output > 0)
        push(rows, TPOT_ALL, metrics_score_tpot_all_s(r));
}

static void finish(const struct frame *frame, int64_t begin_ns, int64_t end_ns, struct rows *rows,
                   struct score *out)
{
    struct score_spread *const spreads[N_ROWS] = {
        [LATENCY] = &out->latency_s, [TTFT] = &out->ttft_s, [NORMALIZED] = &out->normalized,
        [LATE] = &out->late_s,       [TPOT] = &out->tpot_s, [TPOT_ALL] = &out->tpot_all_s,
        [GAP] = &out->gap_s_max,
    };
    for (int row = 0; row < N_ROWS; row++)
        metrics_score_spread(rows->at[row], rows->n[row], spreads[row]);
    double span_s = (double)(end_ns - begin_ns) * 1e-9, n = (double)out->n_offered;
    double arrivals_s = (double)(frame->last_arrival_ns - frame->run.begin_ns) * 1e-9;
    uint64_t n_padded =
        out->n_prompt_tokens + out->n_tokens + out->n_pad_tokens + out->n_invalid_tokens;
    if (out->n_offered > 0) {
        out->slices_mean /= n;
        out->solo_s /= n;
    }
    out->makespan_s = span_s > 0 ? span_s : 0;
    if (span_s > 0) {
        out->requests_per_s = (double)out->n_done / span_s;
        out->tokens_per_s = (double)out->n_tokens / span_s;
        out->padded_tokens_per_s = (double)n_padded / span_s;
        out->goodput_per_s = out->met / span_s;
    }
    if (end_ns > frame->run.begin_ns)
        out->served_per_s = (double)out->n_done / ((double)(end_ns - frame->run.begin_ns) * 1e-9);
    if (out->offered_per_s <= 0 && arrivals_s > 0)
        out->offered_per_s = n / arrivals_s;
    double served = out->offered_per_s > 0 ? out->served_per_s / out->offered_per_s : 1;
    out->served_fraction = served < 1 ? served : 1;
    out->met = out->n_offered > 0 ? out->met / n : 1;
}

/* Scores one service, or all (-1). */
static void score_one(const struct frame *frame, int32_t service, struct rows *rows,
                      struct score *out)
{
    const struct score_service *s = service >= 0 ? service_of(frame, service) : NULL;
    int64_t begin_ns = INT64_MAX, end_ns = 0;
    *out = (struct score){ .offered_per_s = s != NULL ? s->rate_per_s : 0 };
    memset(rows->n, 0, sizeof(rows->n));
    for (size_t i = 0; i < frame->set->n; i++) {
        const struct record *r = &frame->set->at[i];
        if (service >= 0 && r->service != service)
            continue;
        begin_ns = min_i64(begin_ns, r->arrived_ns);
        end_ns = max_i64(end_ns, r->end_ns);
        count(frame, r, out, rows);
        out->met += r->why != RECORD_CANCELLED && is_met(frame, &frame->options->rule, r);
    }
    finish(frame, min_i64(begin_ns, end_ns), end_ns, rows, out);
}

void metrics_score(const struct record_set *set, const struct score_options *options,
                   struct score *out)
{
    struct frame frame;
    struct rows rows;
    double least = 1;
    open_frame(&frame, set, options);
    for (int row = 0; row < N_ROWS; row++)
        rows.at[row] = mem_take((set->n + 1) * sizeof(double));
    for (int32_t s = 0; s < set->n_services; s++) {
        score_one(&frame, s, &rows, &out[s]);
        if (out[s].n_offered > 0 && out[s].served_fraction < least)
            least = out[s].served_fraction;
    }
    score_one(&frame, -1, &rows, &out[set->n_services]);
    out[set->n_services].served_fraction = least;
    for (int row = 0; row < N_ROWS; row++)
        mem_give(rows.at[row]);
    mem_give(frame.solo_s);
}

/* ---- Over services, engines and runs. ---- */

double metrics_score_weighted(const struct score *scores, int32_t n)
{
    double sum = 0, rates = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += scores[i].offered_per_s * scores[i].served_per_s;
        rates += scores[i].offered_per_s;
    }
    return rates > 0 ? sum / rates : 0;
}

double metrics_score_weighted_notebook(const struct score *scores, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += num_floor(scores[i].offered_per_s) * scores[i].served_per_s;
    return n > 0 ? sum / n : 0;
}

double metrics_score_completion_deviation_s(const struct record_set *set)
{
    double *ends_s = mem_take((UINT16_MAX + 1) * sizeof(*ends_s));
    int64_t begin_ns = metrics_record_begin_ns(set);
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        double end_s = (double)(r->end_ns - begin_ns) * 1e-9;
        if (record_is_done(r) && end_s > ends_s[r->engine])
            ends_s[r->engine] = end_s;
    }
    for (size_t e = 0; e <= UINT16_MAX; e++)
        if (ends_s[e] > 0)
            ends_s[n++] = ends_s[e];
    double deviation = deviation_of(ends_s, n);
    mem_give(ends_s);
    return deviation;
}

int32_t metrics_score_devices_needed(double target, int32_t n_max,
                                     double (*attained)(void *self, int32_t n), void *self)
{
    int32_t low = 1, high = n_max;
    if (n_max < 1 || attained(self, n_max) < target)
        return 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (attained(self, middle) >= target)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
