/* Reads one part of a workload's text, "kind:key=value,...": its keys, and the sources that its
 * kind makes of them. It is private to this room.
 *
 * A kind reads its keys with sim_workload_part_has / _number / _text. A key that was not read is a
 * fault in the end. */
#pragma once
#include "base/str.h"
#include "sim/workload.h"

enum sim_workload_key {
    SIM_KEY_RATE,
    SIM_KEY_IN,
    SIM_KEY_OUT,
    SIM_KEY_IN_SIGMA,
    SIM_KEY_OUT_SIGMA,
    SIM_KEY_IN_MIN,
    SIM_KEY_IN_MAX,
    SIM_KEY_OUT_MIN,
    SIM_KEY_OUT_MAX,
    SIM_KEY_TOTAL_MAX,
    SIM_KEY_SCALE,
    SIM_KEY_LENGTHS,
    SIM_KEY_ARRIVALS,
    SIM_KEY_CV,
    SIM_KEY_SHAPE,
    SIM_KEY_ON,
    SIM_KEY_OFF,
    SIM_KEY_OFF_RATE,
    SIM_KEY_PROFILE,
    SIM_KEY_STEP,
    SIM_KEY_N,
    SIM_KEY_SERVICE,
    SIM_KEY_MODEL,
    SIM_KEY_PRIORITY,
    SIM_KEY_TENANT,
    SIM_KEY_FROM,
    SIM_KEY_TO,
    SIM_KEY_SPEED,
    SIM_KEY_REPEAT,
    SIM_KEY_SERVICES,
    SIM_KEY_ALPHA,
    SIM_KEY_CLIENTS,
    SIM_KEY_DATA,
    /* Keys of the workload as a whole, in any part. */
    SIM_KEY_SEED,
    SIM_KEY_REQUESTS,
    SIM_KEY_SECONDS,
    SIM_KEY_RUN,
    SIM_KEY_NOISE,
    SIM_KEY_PREDICTION,
    SIM_KEY_CANCEL,
    SIM_KEY_CANCEL_AFTER,
    SIM_KEY_DEADLINE,
    SIM_KEY_DEADLINES,
    SIM_KEY_N_KEYS,
};
struct sim_workload_part {
    struct sim_workload *workload;
    struct fault *fault;
    const char *kind;
    const char *trace; /* its arrival times serve arrivals=trace; NULL: the kind's */
    const char *path;  /* the text before the first key, without a "="; NULL */
    const char *texts[SIM_KEY_N_KEYS]; /* NULL: not given */
    double numbers[SIM_KEY_N_KEYS];    /* of the keys that are numbers */
    bool is_used[SIM_KEY_N_KEYS];
    int32_t first_service; /* the services from here on belong to the part */
    uint32_t first_more;
};
bool sim_workload_part_has(struct sim_workload_part *part, enum sim_workload_key key);
double sim_workload_part_number(struct sim_workload_part *part, enum sim_workload_key key,
                                double otherwise);
const char *sim_workload_part_text(struct sim_workload_part *part, enum sim_workload_key key,
                                   const char *otherwise);
/* "workload: kind: <fmt>". Returns STATUS_BAD_INPUT. */
enum status sim_workload_part_bad(struct sim_workload_part *part, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* Returns the service of a name, which is added when new; -1, and a fault: there are too many. */
int32_t sim_workload_part_service(struct sim_workload_part *part, const char *name,
                                  const char *model);
/* Adds a source to a service: its first one, or a further one. */
void sim_workload_part_add(struct sim_workload_part *part, int32_t service,
                           const struct sim_traffic *traffic);
void *sim_workload_part_take(struct sim_workload_part *part, size_t n_bytes);
const char *sim_workload_part_format(struct sim_workload_part *part, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* workload_lengths.c: fills in the lengths: those of a name ("sharegpt", a table), changed by the
 * keys in, out, ..., total-max. */
enum status sim_workload_lengths_set(struct sim_workload_part *part, struct sim_traffic *traffic,
                                     const char *name) MUST_USE;
/* The keys in-min to total-max alone. */
enum status sim_workload_lengths_bound(struct sim_workload_part *part,
                                       struct sim_filter *filter) MUST_USE;
/* Returns whether a kind of lengths has this name. */
bool sim_workload_lengths_has(const char *name);
/* workload_arrivals.c: fills in rate and gaps from the keys. rate_per_s applies without the key
 * "rate" (0: the key is required). */
enum status sim_workload_arrivals_set(struct sim_workload_part *part, struct sim_traffic *traffic,
                                      double rate_per_s) MUST_USE;
/* workload_expect.c: returns the requests per second when the last of n comes last_ns after the
 * first. Requests that come all at once count as if they came within a second. */
double sim_workload_expect_rate(double n, int64_t last_ns);
/* workload_mixes.c: several services at once. */
struct sim_workload_mix {
    const char *name;
    enum status (*make)(struct sim_workload_part *part);
};
const struct sim_workload_mix *sim_workload_mixes_at(uint32_t index); /* NULL behind the last */
/* workload_replay.c: sources that replay files. */
enum status sim_workload_replay_file(struct sim_workload_part *part) MUST_USE;
enum status sim_workload_replay_functions(struct sim_workload_part *part) MUST_USE;
enum status sim_workload_servegen(struct sim_workload_part *part) MUST_USE; /* from its files */
/* The pairs of lengths in a file. */
enum status sim_workload_replay_pairs(struct sim_workload_part *part, const char *path,
                                      const struct sim_pair **pairs, uint32_t *n) MUST_USE;
