/* The record of one finished or unfinished request, the same from the simulator and from `shoal
 * bench`. Every reported figure comes from such records, and users keep files of them.
 *
 * Times are integer nanoseconds since the run began. A file is CSV (a line of column names first,
 * RFC 4180) or JSONL (an object a line), with the same names; docs/METRICS.md defines each. A
 * reader accepts the columns in any order, and optional ones may be missing. It refuses unknown
 * names, and records that contradict themselves. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/service.h"

enum record_why {                    /* how it ended */
                  RECORD_UNFINISHED, /* not over when the run ended: end_ns is the run's end */
                  RECORD_STOPPED,    /* by an end token or a stop string */
                  RECORD_LENGTH,     /* got all the tokens that it may have */
                  RECORD_CANCELLED,  /* its client went away */
                  RECORD_DEADLINE,
                  RECORD_FAILED, /* the server can't (an HTTP error that is none of these) */
                  RECORD_TOO_LARGE,
                  RECORD_REFUSED, /* not accepted: no room, or its model not ready (HTTP 429, 503)
                                   */
                  RECORD_CUT, /* bench: the connection or the stream ended before the answer did */
                  RECORD_WRONG, /* bench: answered, but not as asked */
                  RECORD_WHY_N
};
struct record {
    uint64_t id;                /* in order of arrival: 0, 1, ...; below 2^63 */
    int64_t arrived_ns;         /* when it was due at the server */
    int64_t first_ns;           /* its first token; 0 = it got none */
    int64_t end_ns;             /* when it ended */
    int64_t solo_ns;            /* X_r: its time alone on its engine; 0 = unknown */
    int64_t gap_ns_max;         /* longest wait between two of its tokens */
    int64_t late_ns;            /* bench: how long after that it was sent (the client's own lag) */
    int64_t n_pad, n_invalid;   /* positions computed in vain: padding, after its end */
    int32_t n_prompt, n_output; /* tokens: of the prompt, and received */
    int32_t n_wanted;           /* tokens that it was to get; 0 = unknown */
    int32_t n_predicted;        /* prediction of n_output; 0 = none */
    int32_t n_cached;           /* prompt tokens from a prefix hit */
    int32_t n_preempted;        /* how often it was preempted */
    int32_t n_slices;           /* how often it was sent to an engine */
    int32_t n_batches, n_batch_rows; /* batches of its service while it ran, requests in them */
    int32_t n_swapped;               /* of n_preempted: swapped to the host's memory */
    int32_t n_early;                 /* of n_slices: its static batch ended early */
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
/* Returns the index of a service's name, new or known; -1 when there are RECORD_SERVICES_MAX
 * others. */
int32_t metrics_record_service(struct record_set *set, struct view name) MUST_USE;
void metrics_record_sort(struct record_set *set); /* by id, which is the order of files */
/* Returns the first arrival: figures count from it, whatever the clock of the records is. 0 when
 * there are none. */
int64_t metrics_record_begin_ns(const struct record_set *set);
const char *metrics_record_why_name(enum record_why why);
enum record_why metrics_record_why_of(enum service_why why);
/* Returns whether it ended normally: stopped or with all its tokens. */
static inline bool record_is_done(const struct record *record)
{
    return record->why == RECORD_STOPPED || record->why == RECORD_LENGTH;
}

enum record_form { RECORD_CSV, RECORD_JSONL };
/* .jsonl and .ndjson are JSONL, all other names are CSV. */
enum record_form metrics_record_form_of(const char *path);
void metrics_record_write(const struct record_set *set, enum record_form form, struct str *out);
/* Adds the records of the text to the set. On a fault the set may hold part of them. */
enum status metrics_record_read(struct record_set *set, enum record_form form, struct view text,
                                struct fault *fault) MUST_USE;
enum status metrics_record_save(const struct record_set *set, const char *path,
                                struct fault *fault) MUST_USE;
enum status metrics_record_load(struct record_set *set, const char *path,
                                struct fault *fault) MUST_USE;
/* Returns a hash of the records in the set's order: equal runs have equal hashes. gap_ns_max is
 * left out, because a simulation with holds receives several tokens at once over a bus. */
uint64_t metrics_record_hash(const struct record_set *set);
