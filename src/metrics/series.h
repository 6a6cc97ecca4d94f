/* A run over time, from its records: requests that wait, requests that run, generated tokens and
 * kept tokens.
 *
 * Tokens of a request count as evenly spread from its first to its last, so the KV tokens and the
 * rate between two instants are estimates. Counts are exact. */
#pragma once
#include "metrics/record.h"

enum { SERIES_POINTS_MAX = 1 << 20 };
struct series_point {           /* at the end of an interval */
    int64_t end_ns;             /* since the first arrival */
    int64_t n_arrived, n_ended; /* during the interval */
    int64_t n_waiting;          /* arrived, without a first token */
    int64_t n_running;          /* between its first token and its end */
    double tokens_per_s;        /* generated during the interval */
    double kv_tokens;           /* of running requests: prompt and generated so far */
};
struct series {
    int64_t interval_ns;
    size_t n;
    struct series_point *points; /* for mem_give */
};
/* interval_ns 0 means a hundredth of the run. An interval that would make more than
 * SERIES_POINTS_MAX points is made longer. */
void metrics_series_of(const struct record_set *set, int64_t interval_ns, struct series *out);
void metrics_series_write(const struct series *series, struct str *out); /* CSV */
