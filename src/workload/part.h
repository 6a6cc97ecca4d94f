/* Reads one part of a workload's text, "kind:key=value,...": its keys, and the sources that its
 * kind makes of them. It is private to this room.
 *
 * A kind reads its keys with workload_part_has / _number / _text. A key that was not read is a
 * fault in the end. */
#pragma once
#include "base/str.h"
#include "workload/workload.h"

enum workload_key {
    WORKLOAD_KEY_RATE,
    WORKLOAD_KEY_IN,
    WORKLOAD_KEY_OUT,
    WORKLOAD_KEY_IN_SIGMA,
    WORKLOAD_KEY_OUT_SIGMA,
    WORKLOAD_KEY_IN_MIN,
    WORKLOAD_KEY_IN_MAX,
    WORKLOAD_KEY_OUT_MIN,
    WORKLOAD_KEY_OUT_MAX,
    WORKLOAD_KEY_TOTAL_MAX,
    WORKLOAD_KEY_SCALE,
    WORKLOAD_KEY_LENGTHS,
    WORKLOAD_KEY_ARRIVALS,
    WORKLOAD_KEY_CV,
    WORKLOAD_KEY_SHAPE,
    WORKLOAD_KEY_ON,
    WORKLOAD_KEY_OFF,
    WORKLOAD_KEY_OFF_RATE,
    WORKLOAD_KEY_PROFILE,
    WORKLOAD_KEY_STEP,
    WORKLOAD_KEY_N,
    WORKLOAD_KEY_SERVICE,
    WORKLOAD_KEY_MODEL,
    WORKLOAD_KEY_PRIORITY,
    WORKLOAD_KEY_TENANT,
    WORKLOAD_KEY_FROM,
    WORKLOAD_KEY_TO,
    WORKLOAD_KEY_SPEED,
    WORKLOAD_KEY_REPEAT,
    WORKLOAD_KEY_SERVICES,
    WORKLOAD_KEY_ALPHA,
    WORKLOAD_KEY_CLIENTS,
    WORKLOAD_KEY_DATA,
    /* Keys of the workload as a whole, in any part. */
    WORKLOAD_KEY_SEED,
    WORKLOAD_KEY_REQUESTS,
    WORKLOAD_KEY_SECONDS,
    WORKLOAD_KEY_RUN,
    WORKLOAD_KEY_NOISE,
    WORKLOAD_KEY_PREDICTION,
    WORKLOAD_KEY_CANCEL,
    WORKLOAD_KEY_CANCEL_AFTER,
    WORKLOAD_KEY_DEADLINE,
    WORKLOAD_KEY_DEADLINES,
    WORKLOAD_KEY_N_KEYS,
};
struct workload_part {
    struct workload *workload;
    struct fault *fault;
    const char *kind;
    const char *trace; /* the table whose rates arrivals=trace takes; NULL: the kind's */
    const char *path;  /* the text before the first key, without a "="; NULL */
    const char *texts[WORKLOAD_KEY_N_KEYS]; /* NULL: not given */
    double numbers[WORKLOAD_KEY_N_KEYS];    /* of the keys that are numbers */
    bool is_used[WORKLOAD_KEY_N_KEYS];
    int32_t first_service; /* the services from here on belong to the part */
    uint32_t first_more;
};
bool workload_part_has(struct workload_part *part, enum workload_key key);
double workload_part_number(struct workload_part *part, enum workload_key key, double otherwise);
const char *workload_part_text(struct workload_part *part, enum workload_key key,
                               const char *otherwise);
/* "workload: kind: <fmt>". Returns STATUS_BAD_INPUT. */
enum status workload_part_bad(struct workload_part *part, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Returns the service of a name, which is added when new; -1, and a fault: there are too many. */
int32_t workload_part_service(struct workload_part *part, const char *name, const char *model);
/* Adds a source to a service: its first one, or a further one. */
void workload_part_add(struct workload_part *part, int32_t service,
                       const struct workload_traffic *traffic);
void *workload_part_take(struct workload_part *part, size_t n_bytes);
const char *workload_part_format(struct workload_part *part, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* lengths.c: fills in the lengths: those of a name ("sharegpt", a table), changed by the
 * keys in, out, ..., total-max. */
enum status workload_lengths_set(struct workload_part *part, struct workload_traffic *traffic,
                                 const char *name) MUST_USE;
/* The keys in-min to total-max alone. */
enum status workload_lengths_bound(struct workload_part *part,
                                   struct workload_filter *filter) MUST_USE;
/* Returns whether a kind of lengths has this name. */
bool workload_lengths_has(const char *name);
/* arrivals.c: fills in rate and gaps from the keys. rate_per_s applies without the key
 * "rate" (0: the key is required). */
enum status workload_arrivals_set(struct workload_part *part, struct workload_traffic *traffic,
                                  double rate_per_s) MUST_USE;
/* expect.c: returns the requests per second when the last of n comes last_ns after the
 * first. Requests that come all at once count as if they came within a second. */
double workload_expect_rate(double n, int64_t last_ns);
/* mixes.c: several services at once. */
struct workload_mix {
    const char *name;
    enum status (*make)(struct workload_part *part);
};
const struct workload_mix *workload_mixes_at(uint32_t index); /* NULL behind the last */
/* replay.c: sources that replay files. */
enum status workload_replay_file(struct workload_part *part) MUST_USE;
enum status workload_replay_functions(struct workload_part *part) MUST_USE;
enum status workload_servegen(struct workload_part *part) MUST_USE; /* from its files */
/* The pairs of lengths in a file. */
enum status workload_replay_pairs(struct workload_part *part, const char *path,
                                  const struct workload_pair **pairs, uint32_t *n) MUST_USE;
