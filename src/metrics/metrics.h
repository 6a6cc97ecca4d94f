/* Counters, gauges and histograms per service, and their Prometheus text (vLLM's names beside
 * ours).
 *
 * One thread (the I/O side) records. All data is in plain arrays sized by the number of
 * services. */
#pragma once
#include "core/report.h"
#include "core/service.h"
#include "base/hist.h"
#include "base/str.h"

struct metrics;
/* names: (n_services) of the existing services; NULL: a number without a service. */
struct metrics *metrics_open(int n_services, const char *const *names);
/* Gives the numbers to other services. Counts belong to names: a service with the name of an
 * earlier one continues its counts. Later records of a service that has no name any more go to its
 * last name's counts, which are printed as long as another service has that name. */
void metrics_name(struct metrics *metrics, const char *const *names);
void metrics_close(struct metrics *metrics);

enum { METRICS_NO_SERVICE = UINT16_MAX }; /* of a request for an unknown model */
/* One request that is over. Times are spans, 0 when not reached. */
struct metrics_request {
    uint16_t service;
    uint8_t
        why; /* enum service_why of its end; SERVICE_WHY_NONE: it was invalid, and not submitted */
    int32_t n_prompt, n_cached, n_generated, n_preempted;
    int64_t queue_ns, ttft_ns, e2e_ns, decode_ns; /* decode_ns: first to last token */
    struct {
        int64_t ttft_ns, tpot_ns, e2e_ns;
    } slo; /* its targets, 0 = none: attainment is counted */
};
/* Adds a request, each exactly once: it is one sample of vllm:request_success_total. */
void metrics_add_request(struct metrics *metrics, const struct metrics_request *request);
/* Count work done: the tokens of a prompt with the first one that follows it, and further
 * tokens. */
void metrics_add_tokens(struct metrics *metrics, uint16_t service, int32_t n_prompt,
                        int32_t n_generated);
void metrics_add_gap(struct metrics *metrics, uint16_t service,
                     int64_t gap_ns); /* between two tokens of a stream */
void metrics_add_refusal(struct metrics *metrics, uint16_t service,
                         const char *reason); /* one of a fixed set of words */
/* Prints Prometheus text 0.0.4 of everything recorded and of these reports. */
void metrics_print(const struct metrics *metrics, const struct engine_report *engines,
                   int n_engines, struct str *out);
/* A short summary for `ps` and the dashboard: mean TTFT and tokens/s of a service over its life. */
struct metrics_summary {
    uint64_t n_requests, n_tokens;
    double ttft_ms_p50, ttft_ms_p99, tpot_ms_p50;
};
void metrics_summary(const struct metrics *metrics, uint16_t service, struct metrics_summary *out);
