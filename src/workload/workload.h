/* A workload: one seeded stream of requests in order of arrival, from any number of sources. A
 * source is drawn (a traffic) or a replayed trace.
 *
 * A source's requests depend only on the seed, the source's place and its own description. Two
 * simulations with one seed see the same traffic whatever they do with it, and changing one source
 * does not change the others' requests. Requests of one instant come in the order of their sources:
 * the services' own, then the further ones, then the traces.
 *
 * A workload is a plain value that may be written by hand (zeros are the usual), or read from a
 * text by workload_parse, which then owns memory: workload_free. */
#pragma once
#include "base/pile.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/str.h"
#include "core/limits.h"

struct workload_trace;       /* trace.h */
struct workload_joint_table; /* tables.h */

/* Arrivals end there, after 285 years: later requests are left out. Nanoseconds reach seven years
 * further, for serving the last ones. */
#define WORKLOAD_S_MAX 9e9

/* exp(normal(mean_log, sigma_log)) tokens, cut to [min, max]; sigma_log 0 is constant. */
struct workload_lengths {
    double mean_log, sigma_log;
    int32_t min, max;
};
struct workload_pair {
    int32_t n_prompt, n_output;
};
/* Pairs outside of it are drawn again, at most 63 times, then cut; a 0 sets no bound. */
struct workload_filter {
    int32_t prompt_min, prompt_max, output_min, output_max, total_max;
};
/* A rate that changes: factor i of the mean rate holds in [i, i + 1) steps; afterwards from the
 * beginning again. Factors are finite, >= 0, and not all 0. */
struct workload_profile {
    double step_s;
    uint32_t n;
    const float *factors; /* (n) */
};
enum workload_arrivals {
    WORKLOAD_POISSON,
    WORKLOAD_GAMMA,   /* gaps of the coefficient of variation cv */
    WORKLOAD_WEIBULL, /* gaps of a Weibull shape */
    WORKLOAD_CONSTANT,
    WORKLOAD_ONCE, /* all n_requests at t = 0 */
};
struct workload_traffic { /* of one source */
    double rate_per_s;
    struct workload_lengths prompt, output;
    /* Both lengths at once instead; the first of these that is set: */
    const struct workload_pair *pairs; /* (n_pairs) each as likely */
    uint32_t n_pairs;
    const struct workload_joint_table *table;
    double table_scale; /* of the table's lengths; 0 = 1 */
    struct workload_filter filter;

    enum workload_arrivals arrivals;
    double cv, shape; /* of WORKLOAD_GAMMA, of WORKLOAD_WEIBULL; > 0 */
    /* Bursts: the rate alternates between a high one for on_s and a low one for off_s (exponential
     * means). The low one is off_factor (< 1) of the mean. 0, 0: none. */
    double on_s, off_s, off_factor;
    const struct workload_profile *profile; /* or a rate by the clock; NULL: none */
    const int64_t *times_ns;                /* (n_times) ascending, instead of all of the above */
    uint64_t n_times;
    double times_speed;  /* those times as fast; 0 = 1 */
    uint64_t n_requests; /* at most this many; 0 = no end */

    int16_t priority; /* lower is sooner */
    uint16_t tenant;
    uint16_t service;         /* of a further source; a service's own source has its place */
    const char *name, *model; /* of a service: its public name, and its model's; may be NULL */
};
/* A trace that is played again. Its services are the trace's models, through service_of. */
struct workload_replay {
    const struct workload_trace *trace;
    int64_t from_ns, to_ns; /* only these arrivals, and the first instant becomes 0; 0, 0 = all */
    double speed;           /* times as fast; 0 = 1 */
    uint32_t n_repeats;     /* one after the other; 0 = 1 */
    struct workload_filter filter; /* what lies outside is cut */
    uint16_t service_of[LIMIT_SERVICES];
};
enum { WORKLOAD_REPLAYS_MAX = 8 };

struct workload {
    uint64_t seed;
    uint64_t n_requests; /* at most this many in all; UINT64_MAX = no end */
    int64_t until_ns;    /* none arrive at this time or later; 0 = no end */
    int32_t n_services;
    struct workload_traffic
        services[LIMIT_SERVICES];  /* a service without requests has the rate 0 */
    struct workload_traffic *more; /* (n_more) further drawn sources, any service */
    uint32_t n_more;
    struct workload_replay replays[WORKLOAD_REPLAYS_MAX];
    uint32_t n_replays;

    uint32_t run_length;    /* this many consecutive requests are of one source; 0, 1: as they come.
                               Only without replayed traces (SeaLLM, Fig. 12) */
    double cancelled;       /* fraction of requests whose client disconnects */
    int64_t cancel_ns_mean; /* after so long, exponential */
    double with_deadline;   /* fraction that has one */
    int64_t deadline_ns;    /* so long after arrival */
    /* True outputs become o + normal(0, output_noise * o), drawn again until >= 1, while the
     * predictions stay at o (SeaLLM, Fig. 13). */
    double output_noise;
    double prediction_noise; /* predictions are off by exp(normal(0, noise)); < 0: none are made */
    struct pile *owned;      /* private: memory that workload_parse took */
};
struct workload_ask {
    uint64_t number; /* 0, 1, ... */
    int64_t arrived_ns;
    uint16_t service, tenant;
    int16_t priority;
    int32_t n_prompt, n_output, n_predicted;
    int64_t cancel_ns, deadline_ns; /* TIME_NEVER: none */
    /* The beginning of the prompt: block i, tokens [i, i + 1) * prefix_tokens, has the name
     * prefix[i]. Equal names mean equal tokens. Valid until the stream's end. */
    const uint64_t *prefix;
    uint32_t n_prefix;
    int32_t prefix_tokens;
};
struct workload_source;
struct workload_stream {
    const struct workload *workload;
    uint64_t next; /* requests so far */
    /* Private. */
    struct workload_source *sources;
    uint32_t n_sources, n_heap;
    uint32_t *heap; /* sources that have more, the earliest first */
    double *shares; /* (n_sources) cumulative rates, for runs */
    uint64_t n_runs;
    uint32_t run_source, run_left;
};
/* Begins the stream. The workload must stay unchanged until the end, and must be sound.
 * workload_parse makes sound ones, and code that fills one by hand must. */
void workload_begin(struct workload_stream *stream, const struct workload *workload);
/* False when all have come. */
bool workload_next(struct workload_stream *stream, struct workload_ask *ask);
void workload_end(struct workload_stream *stream);
void workload_free(struct workload *workload); /* what workload_parse took */

/* ---- Workloads as text: "azure-conv:rate=5", "sharegpt:rate=2,cv=4+file:trace.csv". The command
 * line and configuration files use the same syntax; docs/SIMULATOR.md explains every word. ---- */

/* Sets a workload without services and without an end, with seed 1 and predictions that are the
 * true lengths. */
void workload_init(struct workload *workload);
/* Adds what the text describes to an initialized workload. After a fault the workload has the parts
 * before it, and must still be freed. */
enum status workload_parse(struct workload *workload, const char *text,
                           struct fault *fault) MUST_USE;

/* Writes the token ids of positions [from, from + n) of a virtual prompt, in [0, 32768). They are a
 * function of the names of its prefix blocks, and beyond these of seed and number. So equal
 * prefixes have equal ids, and other ids are equal only by chance. For prefix caches, and for
 * servers that need real ids. */
void workload_tokens(const struct workload *workload, const struct workload_ask *ask, int32_t from,
                     int32_t n, int32_t *tokens);

/* Multiplies all rates by factor: the same requests, sooner. */
void workload_scale(struct workload *workload, double factor);

/* The expected load of a service: its mean rate and mean lengths (of 4,096 draws; of all rows of a
 * trace). All are zero for a service without requests. */
struct workload_expected {
    double rate_per_s, n_prompt, n_output;
};
void workload_expect(const struct workload *workload, int32_t service,
                     struct workload_expected *expected);

/* Returns Azure's conversations (medians 1,020 and 129 tokens), as a lognormal fit, for one service
 * with this rate. The table "azure-conv" is closer. */
struct workload_traffic workload_conversations(double rate_per_s);
