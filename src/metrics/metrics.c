/* Metrics: counters and bucketed histograms per service, and one pass that prints them all.
 *
 * Prometheus requires all lines of a name to be together, so the outer loop is over names, the
 * inner one over services. Buckets are vLLM's, so that its dashboards fit. Labels are bounded:
 * models, engines, and fixed sets of words. */
#include "metrics/metrics.h"
#include "metrics/print.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

enum { N_BUCKETS_MAX = 24, N_REASONS_MAX = 16 };

static const double ttft_edges[] = { 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                     0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                                     20,    40,    80,   160,  640,  2560, 0 };
static const double gap_edges[] = { 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                    0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80,  0 };
static const double span_edges[] = { 0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,   20,
                                     30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680, 0 };
static const double token_edges[] = { 1,     2,      5,      10,     20,      50,    100,
                                      200,   500,    1000,   2000,   5000,    10000, 20000,
                                      50000, 100000, 200000, 500000, 1000000, 0 };

enum series {
    TTFT,
    GAP,
    GAP_OLD,
    TPOT,
    E2E,
    QUEUE,
    PREFILL,
    DECODE,
    INFERENCE,
    PROMPT,
    GENERATED,
    N_SERIES
};
static const struct series_row {
    const char *name, *help;
    const double *edges; /* ends with 0 */
} rows[N_SERIES] = {
    [TTFT] = { "vllm:time_to_first_token_seconds", "Time to first token in seconds.", ttft_edges },
    [GAP] = { "vllm:inter_token_latency_seconds", "Time between tokens in seconds.", gap_edges },
    [GAP_OLD] = { "vllm:time_per_output_token_seconds",
                  "Time between tokens in seconds (older name).", gap_edges },
    [TPOT] = { "vllm:request_time_per_output_token_seconds",
               "Mean time per token after the first, of a request.", gap_edges },
    [E2E] = { "vllm:e2e_request_latency_seconds", "From arrival to the end, in seconds.",
              span_edges },
    [QUEUE] = { "vllm:request_queue_time_seconds", "Time spent waiting, in seconds.", span_edges },
    [PREFILL] = { "vllm:request_prefill_time_seconds", "From start to first token, in seconds.",
                  span_edges },
    [DECODE] = { "vllm:request_decode_time_seconds", "From first to last token, in seconds.",
                 span_edges },
    [INFERENCE] = { "vllm:request_inference_time_seconds", "From start to last token, in seconds.",
                    span_edges },
    [PROMPT] = { "vllm:request_prompt_tokens", "Tokens of the prompt.", token_edges },
    [GENERATED] = { "vllm:request_generation_tokens", "Tokens generated.", token_edges },
};

struct buckets {
    uint64_t n, counts[N_BUCKETS_MAX];
    double sum;
};
struct reason {
    char word[40];
    uint64_t n;
};
struct service_metrics {         /* for one name */
    char name[LIMIT_NAME_BYTES]; /* empty: of no service yet */
    bool is_shown;               /* a service has this name */
    uint64_t n_ends[SERVICE_WHY_N];
    uint64_t n_prompt_tokens, n_generated_tokens;
    uint64_t n_slo_asked[3], n_slo_met[3]; /* ttft, tpot, e2e */
    struct buckets series[N_SERIES];
    struct hist ttft, tpot; /* ns, for the summary */
    int n_reasons;
    struct reason reasons[N_REASONS_MAX];
};
struct metrics {
    int n_services;
    char (*names)[LIMIT_NAME_BYTES];  /* by service; empty: it is none, or leaving */
    int *row_of;                      /* by service: its place in services; -1: none */
    struct service_metrics *services; /* (n_services + 1) the last: requests for unknown models */
};

struct metrics *metrics_open(int n_services, const char *const *names)
{
    struct metrics *metrics = mem_take(sizeof(*metrics));
    metrics->n_services = n_services;
    metrics->names = mem_take(sizeof(*metrics->names) * ((size_t)n_services + 1));
    metrics->row_of = mem_take(sizeof(*metrics->row_of) * ((size_t)n_services + 1));
    metrics->services = mem_take(sizeof(*metrics->services) * ((size_t)n_services + 1));
    for (int s = 0; s < n_services; s++)
        metrics->row_of[s] = -1;
    metrics_name(metrics, names);
    return metrics;
}

/* Returns the row of this name, or -1. */
static int find_row(const struct metrics *metrics, const char *name)
{
    for (int i = 0; i < metrics->n_services; i++)
        if (strcmp(metrics->services[i].name, name) == 0)
            return i;
    return -1;
}

/* Takes a row without a name, or one with a name that no service has any more; its counts are
 * dropped. */
static int take_row(struct metrics *metrics)
{
    int row = 0;
    for (int i = metrics->n_services - 1; i >= 0; i--)
        if (!metrics->services[i].is_shown)
            row = metrics->services[row].is_shown || metrics->services[i].name[0] == '\0' ? i : row;
    CHECK(!metrics->services[row].is_shown);
    for (int s = 0; s < metrics->n_services; s++)
        if (metrics->row_of[s] == row)
            metrics->row_of[s] = -1;
    struct service_metrics *service = &metrics->services[row];
    memset(service, 0, sizeof(*service));
    hist_init(&service->ttft);
    hist_init(&service->tpot);
    return row;
}

void metrics_name(struct metrics *metrics, const char *const *names)
{
    int n = metrics->n_services;
    for (int i = 0; i < n; i++)
        metrics->services[i].is_shown = false;
    for (int s = 0; s < n; s++) {
        int row = names[s] != NULL ? find_row(metrics, names[s]) : -1;
        if (row >= 0)
            metrics->services[row].is_shown = true;
    }
    for (int s = 0; s < n; s++) {
        memset(metrics->names[s], 0, sizeof(metrics->names[s]));
        if (names[s] == NULL)
            continue;
        snprintf(metrics->names[s], sizeof(metrics->names[s]), "%s", names[s]);
        int row = find_row(metrics, metrics->names[s]);
        if (row < 0) {
            row = take_row(metrics);
            memcpy(metrics->services[row].name, metrics->names[s], LIMIT_NAME_BYTES);
        }
        metrics->services[row].is_shown = true;
        metrics->row_of[s] = row;
    }
}

static struct service_metrics *row_of(const struct metrics *metrics, uint16_t service)
{
    int row = service < metrics->n_services ? metrics->row_of[service] : metrics->n_services;
    return &metrics->services[row >= 0 ? row : metrics->n_services];
}

/* Returns false for an unknown service. */
static bool is_known(const struct metrics *metrics, uint16_t service)
{
    return service < metrics->n_services && metrics->row_of[service] >= 0;
}

void metrics_close(struct metrics *metrics)
{
    mem_give(metrics->names);
    mem_give(metrics->row_of);
    mem_give(metrics->services);
    mem_give(metrics);
}

static void add(struct service_metrics *service, enum series series, double value)
{
    struct buckets *buckets = &service->series[series];
    const double *edges = rows[series].edges;
    int i = 0;
    while (edges[i] != 0 && value > edges[i])
        i++;
    buckets->counts[i]++;
    buckets->n++;
    buckets->sum += value;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void count_slo(struct service_metrics *service, int which, int64_t target_ns, int64_t ns)
{
    if (target_ns <= 0)
        return;
    service->n_slo_asked[which]++;
    service->n_slo_met[which] += ns <= target_ns;
}

void metrics_add_tokens(struct metrics *metrics, uint16_t index, int32_t n_prompt,
                        int32_t n_generated)
{
    if (!is_known(metrics, index))
        return;
    row_of(metrics, index)->n_prompt_tokens += (uint64_t)max_i32(n_prompt, 0);
    row_of(metrics, index)->n_generated_tokens += (uint64_t)max_i32(n_generated, 0);
}

void metrics_add_request(struct metrics *metrics, const struct metrics_request *request)
{
    if (request->why >= SERVICE_WHY_N)
        return;
    struct service_metrics *service = row_of(metrics, request->service);
    bool is_whole = request->why == SERVICE_STOPPED || request->why == SERVICE_LENGTH;
    int64_t tpot_ns =
        request->n_generated > 1 ? request->decode_ns / (request->n_generated - 1) : 0;
    service->n_ends[request->why]++;
    if (request->ttft_ns > 0) {
        add(service, TTFT, seconds(request->ttft_ns));
        hist_add(&service->ttft, request->ttft_ns);
    }
    if (request->n_generated > 1) {
        add(service, TPOT, seconds(tpot_ns));
        hist_add(&service->tpot, tpot_ns);
    }
    if (request->why != SERVICE_CANCELLED) { /* a cancelled request tells nothing about targets */
        int64_t ttft_ns = request->ttft_ns > 0 ? request->ttft_ns : INT64_MAX;
        count_slo(service, 0, request->slo.ttft_ns, ttft_ns);
        count_slo(service, 1, request->slo.tpot_ns, is_whole ? tpot_ns : INT64_MAX);
        count_slo(service, 2, request->slo.e2e_ns, is_whole ? request->e2e_ns : INT64_MAX);
    }
    if (!is_whole)
        return;
    int64_t prefill_ns = max_i64(request->ttft_ns - request->queue_ns, 0);
    add(service, E2E, seconds(request->e2e_ns));
    add(service, QUEUE, seconds(request->queue_ns));
    add(service, PREFILL, seconds(prefill_ns));
    add(service, DECODE, seconds(request->decode_ns));
    add(service, INFERENCE, seconds(prefill_ns + request->decode_ns));
    add(service, PROMPT, request->n_prompt);
    add(service, GENERATED, request->n_generated);
}

void metrics_add_gap(struct metrics *metrics, uint16_t service, int64_t gap_ns)
{
    if (!is_known(metrics, service))
        return;
    add(row_of(metrics, service), GAP, seconds(gap_ns));
    add(row_of(metrics, service), GAP_OLD, seconds(gap_ns));
}

void metrics_add_refusal(struct metrics *metrics, uint16_t index, const char *reason)
{
    struct service_metrics *service = row_of(metrics, index);
    int i = 0;
    while (i < service->n_reasons && strcmp(service->reasons[i].word, reason) != 0)
        i++;
    if (i == N_REASONS_MAX)
        return;
    if (i == service->n_reasons) {
        size_t n = strnlen(reason, sizeof(service->reasons[i].word) - 1);
        memcpy(service->reasons[i].word, reason, n);
        service->n_reasons++;
    }
    service->reasons[i].n++;
}

/* --- printing --- */

static void print_series(const struct metrics *metrics, enum series series, struct str *out)
{
    const struct series_row *row = &rows[series];
    metrics_print_name(out, row->name, row->help, "histogram");
    for (int s = 0; s < metrics->n_services; s++) {
        const struct buckets *buckets = &metrics->services[s].series[series];
        uint64_t sum = 0;
        if (!metrics->services[s].is_shown)
            continue;
        for (int i = 0;; i++) {
            sum += buckets->counts[i];
            str_printf(out, "%s_bucket", row->name);
            metrics_print_label(out, '{', "model_name", metrics->services[s].name);
            if (row->edges[i] == 0) {
                str_printf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
                break;
            }
            str_printf(out, ",le=\"%.10g\"} %llu\n", row->edges[i], (unsigned long long)sum);
        }
        str_printf(out, "%s_sum", row->name);
        metrics_print_label(out, '{', "model_name", metrics->services[s].name);
        str_printf(out, "} %.9g\n%s_count", buckets->sum, row->name);
        metrics_print_label(out, '{', "model_name", metrics->services[s].name);
        str_printf(out, "} %llu\n", (unsigned long long)buckets->n);
    }
}

/* Prints one counter per service. value is its offset in struct service_metrics. */
static void print_counter(const struct metrics *metrics, const char *name, const char *help,
                          size_t value, struct str *out)
{
    metrics_print_name(out, name, help, "counter");
    for (int s = 0; s < metrics->n_services; s++) {
        const char *at = (const char *)&metrics->services[s] + value;
        uint64_t n;
        if (!metrics->services[s].is_shown)
            continue;
        memcpy(&n, at, sizeof(n));
        str_add_text(out, name);
        metrics_print_label(out, '{', "model_name", metrics->services[s].name);
        str_printf(out, "} %llu\n", (unsigned long long)n);
    }
}

/* Every request ends with one of these. */
static const char *const reasons[] = { "stop", "length", "abort", "timeout", "error", "refused" };

static const char *reason_of(enum service_why why)
{
    switch (why) {
    case SERVICE_STOPPED:
        return "stop";
    case SERVICE_LENGTH:
        return "length";
    case SERVICE_CANCELLED:
        return "abort";
    case SERVICE_DEADLINE:
        return "timeout";
    case SERVICE_WHY_NONE:
    case SERVICE_TOO_LARGE:
    case SERVICE_NOT_READY:
    case SERVICE_FULL:
    case SERVICE_NO_SPACE:
    case SERVICE_DRAINING:
        return "refused";
    default:
        return "error";
    }
}

static uint64_t count_ends(const struct service_metrics *service, const char *reason)
{
    uint64_t n = 0;
    for (int why = 0; why < SERVICE_WHY_N; why++)
        if (strcmp(reason_of((enum service_why)why), reason) == 0)
            n += service->n_ends[why];
    return n;
}

/* The model's name is empty when it is unknown. Such rows appear when they count something. */
static void print_success(const struct metrics *metrics, struct str *out)
{
    metrics_print_name(out, "vllm:request_success_total", "Requests that are over.", "counter");
    for (int s = 0; s <= metrics->n_services; s++)
        for (size_t i = 0; i < COUNT_OF(reasons); i++) {
            uint64_t n = count_ends(&metrics->services[s], reasons[i]);
            if (s < metrics->n_services ? !metrics->services[s].is_shown : n == 0)
                continue;
            str_add_text(out, "vllm:request_success_total");
            metrics_print_label(out, '{', "model_name", metrics->services[s].name);
            metrics_print_label(out, ',', "finished_reason", reasons[i]);
            str_printf(out, "} %llu\n", (unsigned long long)n);
        }
}

static bool is_row_shown(const struct metrics *metrics, int row)
{
    return row == metrics->n_services || metrics->services[row].is_shown;
}

static void print_ends(const struct metrics *metrics, struct str *out)
{
    metrics_print_name(out, "shoal_requests_total", "Requests by how they ended.", "counter");
    for (int s = 0; s <= metrics->n_services; s++)
        for (int why = 0; why < SERVICE_WHY_N; why++) {
            uint64_t n = metrics->services[s].n_ends[why];
            if (n == 0 || !is_row_shown(metrics, s))
                continue;
            str_add_text(out, "shoal_requests_total");
            metrics_print_label(out, '{', "model_name", metrics->services[s].name);
            metrics_print_label(out, ',', "why",
                                why == SERVICE_WHY_NONE ? "invalid"
                                                        : service_why_name((enum service_why)why));
            str_printf(out, "} %llu\n", (unsigned long long)n);
        }
    metrics_print_name(out, "shoal_refusals_total", "Requests refused or given up.", "counter");
    for (int s = 0; s <= metrics->n_services; s++)
        for (int i = 0; i < metrics->services[s].n_reasons && is_row_shown(metrics, s); i++) {
            const struct reason *reason = &metrics->services[s].reasons[i];
            str_add_text(out, "shoal_refusals_total");
            metrics_print_label(out, '{', "model_name", metrics->services[s].name);
            metrics_print_label(out, ',', "reason", reason->word);
            str_printf(out, "} %llu\n", (unsigned long long)reason->n);
        }
}

static void print_slo(const struct metrics *metrics, const char *name, const char *help, bool met,
                      struct str *out)
{
    static const char *const targets[] = { "ttft", "tpot", "e2e" };
    metrics_print_name(out, name, help, "counter");
    for (int s = 0; s < metrics->n_services; s++)
        for (int i = 0; i < 3; i++) {
            const struct service_metrics *service = &metrics->services[s];
            if (service->n_slo_asked[i] == 0 || !service->is_shown)
                continue;
            str_add_text(out, name);
            metrics_print_label(out, '{', "model_name", metrics->services[s].name);
            metrics_print_label(out, ',', "target", targets[i]);
            str_printf(out, "} %llu\n",
                       (unsigned long long)(met ? service->n_slo_met[i] : service->n_slo_asked[i]));
        }
}

void metrics_print(const struct metrics *metrics, const struct engine_report *engines,
                   int n_engines, struct str *out)
{
    metrics_print_engines(engines, n_engines, metrics->n_services,
                          (const char(*)[LIMIT_NAME_BYTES])metrics->names, out);
    print_counter(metrics, "vllm:prompt_tokens_total", "Tokens of prompts whose first token came.",
                  offsetof(struct service_metrics, n_prompt_tokens), out);
    print_counter(metrics, "vllm:generation_tokens_total", "Tokens generated.",
                  offsetof(struct service_metrics, n_generated_tokens), out);
    print_success(metrics, out);
    for (int i = 0; i < N_SERIES; i++)
        print_series(metrics, (enum series)i, out);
    print_ends(metrics, out);
    print_slo(metrics, "shoal_slo_requests_total", "Requests that had such a target.", false, out);
    print_slo(metrics, "shoal_slo_met_total", "Requests that met their target.", true, out);
}

void metrics_summary(const struct metrics *metrics, uint16_t service, struct metrics_summary *out)
{
    *out = (struct metrics_summary){ 0 };
    if (!is_known(metrics, service))
        return;
    const struct service_metrics *of = row_of(metrics, service);
    for (int why = 0; why < SERVICE_WHY_N; why++)
        out->n_requests += of->n_ends[why];
    out->n_tokens = of->n_generated_tokens;
    out->ttft_ms_p50 = (double)hist_quantile(&of->ttft, 0.5) / 1e6;
    out->ttft_ms_p99 = (double)hist_quantile(&of->ttft, 0.99) / 1e6;
    out->tpot_ms_p50 = (double)hist_quantile(&of->tpot, 0.5) / 1e6;
}
