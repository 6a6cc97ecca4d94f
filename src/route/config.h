/* Every threshold of every router, one row each: the field, its default, its range and its meaning.
 * The numbers in brackets are sections and deviations of docs/ALGORITHMS.md. */
#pragma once
#include "base/settings.h"
#include "core/limits.h"
#include "predict/memory.h"

/* SLO-ODBS's test whether a batch may grow (docs/ALGORITHMS.md section 5.2). */
enum route_cost { ROUTE_COST_TEXT, ROUTE_COST_CODE, ROUTE_COST_WASTE };
/* The constraints that best-fit checks: all; (c) for a pool that only prefills; (b) and (e) for one
 * that only decodes (section 3.9). */
enum route_phase { ROUTE_PHASE_BOTH, ROUTE_PHASE_PREFILL, ROUTE_PHASE_DECODE };

/* T: type, name, kind, default, least, most, help; times in milliseconds, as they are written.
 * W, a word: type, name, default, words, help. */
/* clang-format off */
#define ROUTE_THRESHOLDS(T, W)                                                                     \
    T(uint64_t, seed, SEED, 1, 0, 9e15,                                                            \
      "the seed of all draws of `random` and `p2c`")                                               \
    T(int32_t, n_inflight_max, COUNT, 0, 0, 1 << 20, "requests sent to one engine at most; 0: "    \
      "the engine's own limit")                                                                    \
    T(bool, p2c_counts, FLAG, 0, 0, 1, "compares counts of requests, not predicted tokens to "     \
      "come")                                                                                      \
    T(int64_t, static_ns_wait, MILLISECONDS, 5000, 0, 1e9,                                         \
      "an engine that has been closed (unhealthy, draining, refusing) for this time counts "       \
      "as an engine without the model")                                                            \
    T(int64_t, heartbeat_ns, MILLISECONDS, 50, 0.001, 1e6,                                         \
      "time between two passes over the held requests")                                            \
    T(double, gamma, NUMBER, 0.5, 0, 10,                                                           \
      "a request is taken to hold this part of its predicted tokens in the mean (D-15)")           \
    T(double, theta, NUMBER, 1, 0.01, 1, "safety of the linear models: contexts are divided by "   \
      "it, and a prompt may take this part of the time that decodes have saved (D-16)")            \
    T(double, headroom, NUMBER, 0, 0, 0.99, "decode steps are held to (1 - headroom) times the "   \
      "target per token")                                                                          \
    T(double, force_fraction, NUMBER, 0.3, 0, 1,                                                   \
      "a request is forced onto an engine when less than this part of its TTFT is left")           \
    T(int64_t, ttft_ns, MILLISECONDS, 600, 0.001, 1e9,                                             \
      "target to the first token, for services that name none")                                    \
    T(int64_t, tpot_ns, MILLISECONDS, 30, 0.001, LIMIT_TPOT_MS,                                    \
      "target per token, for services that name none")                                             \
    T(bool, has_rebalance, FLAG, 1, 0, 1, "requests that are not sent yet move between engines "   \
      "(3.5)")                                                                                     \
    T(bool, is_autoscaled, FLAG, 0, 0, 1,                                                          \
      "an engine that was never used counts as an engine that may be opened")                      \
    W(enum route_phase, phase, 0, phase_words,                                                     \
      "the constraints that are checked: all; (c) in a pool that only prefills; (b) and "          \
      "(e) in a pool that only decodes (3.9)")                                                     \
    T(int32_t, n_slice, COUNT, 128, 1, LIMIT_CONTEXT, "tokens of a slice")                         \
    T(int32_t, n_batch, COUNT, 12, 1, LIMIT_BATCH_ITEMS,                                           \
      "requests of a batch where the number is fixed; with `pm`, the most requests")               \
    T(double, interval_factor, NUMBER, 0.5, 0, 100,                                                \
      "lambda: the interval is this part of the time that the least loaded engine still "          \
      "needs")                                                                                     \
    T(int64_t, interval_ns_min, MILLISECONDS, 3000, 1, 1e9,                                        \
      "Gamma: the interval is never shorter than this")                                            \
    T(bool, spreads_small, FLAG, 0, 0, 1,                                                          \
      "a batch has at most as many requests as there are for each idle engine (D-20)")             \
    W(enum memory_kind, memory, 2, memory_words,                                                   \
      "the rule by which a batch fits: padded bytes, DeepSpeed's rules, or blocks")                \
    T(double, zeta, NUMBER, 0.9, 0.01, 1,                                                          \
      "with `padded`: the part of the memory that a batch may take")                               \
    T(int32_t, block_tokens, COUNT, 16, 1, 4096,                                                   \
      "with `paged`: tokens of a block")                                                           \
    T(int64_t, kv_bytes, BYTES, 0, 0, 1e15,                                                        \
      "KV memory of an engine whose report names none; 0: no bound")                               \
    W(enum route_cost, cost, 2, cost_words, "the test whether a batch may grow: the paper's "      \
      "text, its code, or the part that pads waste")                                               \
    T(double, slo_weight, NUMBER, 1, 0, 1e6,                                                       \
      "weight of the deadline, in seconds, in the order of requests")                              \
    T(double, length_weight, NUMBER, 0.5, 0, 1e6,                                                  \
      "weight of the predicted length, in tokens, in the order of requests")                       \
    T(double, cost_w1, NUMBER, 1, 0, 1e6,                                                          \
      "with `text`, a batch may grow while cost_w1 * deadlines * requests * cost_l1 + "            \
      "cost_w2 * lengths * requests * cost_l2 is at most cost_max")                                \
    T(double, cost_w2, NUMBER, 1, 0, 1e6,                                                          \
      "see cost_w1; with `code` this term stands alone, with the difference of lengths")           \
    T(double, cost_l1, NUMBER, 1, 0, 1e6, "see cost_w1")                                           \
    T(double, cost_l2, NUMBER, 1.2, 0, 1e6, "see cost_w1")                                         \
    T(double, cost_max, NUMBER, 15000, 0, 1e12, "see cost_w1")                                     \
    T(double, waste_max, NUMBER, 0.25, 0, 1e3,                                                     \
      "with `waste`: the most tokens that may be computed for nothing, for each token of "         \
      "the longest row")                                                                           \
    T(int32_t, n_odbs_batch, COUNT, 10, 1, LIMIT_BATCH_ITEMS,                                      \
      "with `code`: the most requests of a batch")                                                 \
    T(int32_t, n_margin, COUNT, 50, 0, LIMIT_CONTEXT,                                              \
      "the requests of a batch may generate its longest prediction and this many tokens "          \
      "more")                                                                                      \
    T(double, late_penalty_s, NUMBER, 1, 0, 1e5, "seconds of machine time that a predicted miss "  \
      "costs")
/* clang-format on */

#define FIELD(type, name, ...) type name;
struct route_config { /* times in nanoseconds */
    ROUTE_THRESHOLDS(FIELD, FIELD)
    /* static: the engine of a service; -1 = the first that has the service */
    int16_t engine_of[LIMIT_SERVICES];
};
#undef FIELD

const struct settings_row *route_config_rows(int *n);
void route_config_init(struct route_config *config); /* the defaults */
/* Sets one threshold by its name: "n_slice=64", "heartbeat_ns=50" (those in ns take milliseconds),
 * "cost=code"; "static.SERVICE=ENGINE" maps a service. */
enum status route_config_set(struct route_config *config, const char *text,
                             struct fault *fault) MUST_USE;
