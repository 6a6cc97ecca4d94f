/* One request as it went, measured alike by the simulator and by `shoal bench`: the source of every
 * figure that we report, and of the files that people keep.
 *
 * Times are integer nanoseconds since the run began. A file is CSV (a line of column names first,
 * RFC 4180) or JSONL (an object a line), with the same names; docs/METRICS.md says what each
 * means. A reader accepts the columns in any order and misses those that are not required; it
 * refuses names that it does not know, and records that contradict themselves. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/service.h"

enum record_why {                    /* how it ended */
                  RECORD_UNFINISHED, /* not over when the run was: end_ns is the run's end */
                  RECORD_STOPPED,    /* by an end token or a stop string */
                  RECORD_LENGTH,     /* all the tokens that it may have */
                  RECORD_CANCELLED,  /* its client went away */
                  RECORD_DEADLINE,
                  RECORD_FAILED, /* the server says that it can't (an HTTP error that is none of
                                    these) */
                  RECORD_TOO_LARGE,
                  RECORD_REFUSED, /* not taken: no room, or its model not ready (HTTP 429, 503) */
                  RECORD_CUT, /* bench: the connection or the stream ended before the answer did */
                  RECORD_WRONG, /* bench: answered, but not with what was asked for */
                  RECORD_WHY_N
};
struct record {
    uint64_t id;                /* in order of arrival: 0, 1, ...; below 2^63 */
    int64_t arrived_ns;         /* when it was due at the door */
    int64_t first_ns;           /* its first token; 0 = it got none */
    int64_t end_ns;             /* when it was over */
    int64_t solo_ns;            /* X_r: what it takes alone on its engine; 0 = not known */
    int64_t gap_ns_max;         /* longest wait between two of its tokens */
    int64_t late_ns;            /* bench: sent so long after it was due (the client's own lag) */
    struct pads_sum lost;       /* positions that static batches computed for nothing */
    int32_t n_prompt, n_output; /* tokens: of the prompt, and that it got */
    int32_t n_wanted;           /* tokens that it was to get; 0 = not known */
    int32_t n_predicted;        /* what was predicted of n_output; 0 = nothing */
    int32_t n_cached;           /* prompt tokens that a prefix hit gave */
    int32_t n_preempted;        /* how often it lost its place */
    int32_t n_slices;           /* how often it was sent to an engine */
    int32_t n_batches, n_batch_rows; /* batches of its service while it ran, requests in them */
    int32_t n_swapped;               /* of n_preempted: to the host's memory and back */
    int32_t n_early;                 /* of n_slices: its static batch came back before its time */
    int32_t http_status;             /* bench: 0 in the simulator */
    uint16_t service, engine;        /* service: index into the set's names; engine: the last one */
    uint8_t why;                     /* enum record_why */
    uint8_t unused[3];               /* 0: the struct has no padding, so it compares as bytes */
};
enum { RECORD_SERVICES_MAX = 1024, RECORD_TOKENS_MAX = 1 << 30 };
struct record_set { /* zeroed: empty */
    struct record *at;
    size_t n, capacity;
    int32_t n_services;
    char (*names)[LIMIT_NAME_BYTES];
};
void metrics_record_set_free(struct record_set *set);
void metrics_record_add(struct record_set *set, const struct record *record);
/* The index of a service's name, new or known; -1 when there are RECORD_SERVICES_MAX others. */
int32_t metrics_record_service(struct record_set *set, struct view name) MUST_USE;
void metrics_record_sort(struct record_set *set); /* by id: the order that files have */
/* The first arrival: figures count from it, whatever clock the records are of. 0 of none. */
int64_t metrics_record_begin_ns(const struct record_set *set);
const char *metrics_record_why_name(enum record_why why);
enum record_why metrics_record_why_of(enum service_why why);
/* Did it end as it should: stopped or with all its tokens? */
static inline bool record_is_done(const struct record *record)
{
    return record->why == RECORD_STOPPED || record->why == RECORD_LENGTH;
}

enum record_form { RECORD_CSV, RECORD_JSONL };
/* .jsonl and .ndjson are JSONL, all else is CSV. */
enum record_form metrics_record_form_of(const char *path);
void metrics_record_write(const struct record_set *set, enum record_form form, struct str *out);
/* Adds to the set what the text holds. On a fault the set may hold part of it. */
enum status metrics_record_read(struct record_set *set, enum record_form form, struct view text,
                                struct fault *fault) MUST_USE;
enum status metrics_record_save(const struct record_set *set, const char *path,
                                struct fault *fault) MUST_USE;
enum status metrics_record_load(struct record_set *set, const char *path,
                                struct fault *fault) MUST_USE;
/* Of the records in the set's order: equal runs have equal hashes. gap_ns_max is left out:
 * a simulation with holds on a bus hears of several tokens at once. */
uint64_t metrics_record_hash(const struct record_set *set);
