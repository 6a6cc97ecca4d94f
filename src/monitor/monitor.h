/* Measures the present state of services: rates, lengths, latencies, attainment and the pace of
 * engines, over a sliding window. Planners, scaling and re-placement read it, in the simulator and
 * live alike.
 *
 * A window is a ring of bins, so that dropping a bin forgets its data. A reading covers the bins
 * that are over and the one being filled. Once the window is full, that is MONITOR_BINS - 1 to
 * MONITOR_BINS bins. All memory is given at the start, and no function reads a clock. */
#pragma once
#include "core/coefficients.h"
#include "core/limits.h"

enum { MONITOR_BINS = 32 };

struct monitor_sum { /* of values: n, sum and sum of squares */
    int64_t n;
    double sum, squares;
};
struct monitor_bin {
    int64_t n_arrived, n_done, n_failed, n_met;
    struct monitor_sum prompt, output; /* tokens */
    struct monitor_sum ttft_s, tpot_s, latency_s, normalized, solo_s;
    double latency_s_max;
};
struct monitor_service {
    struct monitor_bin bins[MONITOR_BINS];
    struct perf perf; /* as last reported; all zero before the first report */
};
struct monitor {
    int64_t bin_ns, begin_ns;
    int64_t bin; /* the one being filled, counted from begin_ns */
    int32_t n_services;
    struct monitor_service *services; /* the caller's: (n_services) */
};
/* Sets up a monitor. services: memory for n_services. The window is MONITOR_BINS bins of bin_ns. */
void monitor_init(struct monitor *monitor, struct monitor_service *services, int32_t n_services,
                  int64_t bin_ns, int64_t now_ns);
/* Time only goes forwards: a late event counts to the open bin. */
void monitor_arrived(struct monitor *monitor, int32_t service, int64_t now_ns, int32_t n_prompt);
struct monitor_end { /* how a request ended */
    int64_t now_ns, latency_ns, ttft_ns;
    int64_t solo_ns; /* what it takes alone; 0: not known */
    int32_t n_output;
    bool is_done; /* stopped or with all its tokens; failed and refused ones are misses */
    bool is_met;  /* its targets */
};
void monitor_ended(struct monitor *monitor, int32_t service, const struct monitor_end *end);
/* Adds the events of a bin that was counted elsewhere. */
void monitor_add(struct monitor *monitor, int32_t service, int64_t now_ns,
                 const struct monitor_bin *bin);
/* An engine's model of its batches, as corrected. */
void monitor_profile(struct monitor *monitor, int32_t service, const struct perf *perf);

struct monitor_mean {
    int64_t n;
    double mean, deviation; /* of the population; 0 when n is 0 */
};
struct monitor_reading {
    double window_s; /* that it covers */
    double rate;     /* arrivals per second */
    int64_t n_done, n_failed;
    struct monitor_mean prompt, output, ttft_s, tpot_s, latency_s, normalized, solo_s;
    double latency_s_max;
    double attainment; /* of the requests that ended; 1 when none did */
    struct perf perf;
};
void monitor_read(struct monitor *monitor, int32_t service, int64_t now_ns,
                  struct monitor_reading *out);

/* ---- Bins by themselves. ---- */

void monitor_bin_arrived(struct monitor_bin *bin, int32_t n_prompt);
/* TPOT is (latency - TTFT) / (n_output - 1), for answers of at least two tokens. */
void monitor_bin_ended(struct monitor_bin *bin, const struct monitor_end *end);
void monitor_bin_merge(struct monitor_bin *into, const struct monitor_bin *from);
/* Sets what was added since `before`, an earlier copy of `now`. The greatest latency is that of
 * `now`. Returns false when `before` is no such copy, since some count would be negative. */
bool monitor_bin_since(const struct monitor_bin *now, const struct monitor_bin *before,
                       struct monitor_bin *out) MUST_USE;
/* Returns whether events of a machine could add up to it: counts and sums are finite, and none is
 * negative. */
bool monitor_bin_is_valid(const struct monitor_bin *bin);
