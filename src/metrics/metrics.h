/* Counters, gauges and histograms per service, and their Prometheus text (vLLM's names beside
 * ours).
 *
 * One thread (the I/O side) records; everything is a plain array sized by the number of services.
 */
#pragma once
#include "core/report.h"
#include "core/service.h"
#include "base/hist.h"
#include "base/str.h"

struct metrics;
/* names: (n_services) of the services that there are; NULL: a number that is none's. */
struct metrics *metrics_open(int n_services, const char *const *names);
/* Other services have the numbers. Counts go with names: a service that has the name of one before
 * it counts on where that was. What is still recorded of a service that has no name any more goes
 * to its last name's counts, which are printed as long as another service has that name. */
void metrics_name(struct metrics *metrics, const char *const *names);
void metrics_close(struct metrics *metrics);

enum { METRICS_NO_SERVICE = UINT16_MAX }; /* of a request whose model is not known */
/* One request that is over; times are spans, 0 where not reached. */
struct metrics_request {
    uint16_t service;
    uint8_t
        why; /* enum service_why of its end; SERVICE_WHY_NONE: it was wrong, and not submitted */
    int32_t n_prompt, n_cached, n_generated, n_preempted;
    int64_t queue_ns, ttft_ns, e2e_ns, decode_ns; /* decode_ns: first to last token */
    struct {
        int64_t ttft_ns, tpot_ns, e2e_ns;
    } slo; /* its targets, 0 = none: attainment is counted */
};
/* Each request exactly once: it is one sample of vllm:request_success_total. */
void metrics_add_request(struct metrics *metrics, const struct metrics_request *request);
/* Work that was done: tokens of a prompt with the first one that follows it, and those that follow.
 */
void metrics_add_tokens(struct metrics *metrics, uint16_t service, int32_t n_prompt,
                        int32_t n_generated);
void metrics_add_gap(struct metrics *metrics, uint16_t service,
                     int64_t gap_ns); /* between two tokens of a stream */
void metrics_add_refusal(struct metrics *metrics, uint16_t service,
                         const char *reason); /* one of a fixed set of words */
/* Prometheus text 0.0.4 of everything recorded and of these reports. */
void metrics_print(const struct metrics *metrics, const struct engine_report *engines,
                   int n_engines, struct str *out);
/* A short summary for `ps` and the dashboard: mean TTFT and tokens/s of a service over its life. */
struct metrics_summary {
    uint64_t n_requests, n_tokens;
    double ttft_ms_p50, ttft_ms_p99, tpot_ms_p50;
};
void metrics_summary(const struct metrics *metrics, uint16_t service, struct metrics_summary *out);
