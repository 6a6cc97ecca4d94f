/* The engine's log: all inputs of an engine, so that its every plan can be computed again.
 *
 * It is a file of records in the order of events. First come the engine's options. Then each mail
 * and each step follow with their times. Inside a step come the executor's answers, the events that
 * emit refused, and a hash of every plan. It holds prompts and answers as token ids, so it is as
 * secret as they are.
 *
 * The format is little-endian and has this build's record layouts. The first record has the sizes,
 * and another layout is refused. The file is a sequence of
 *   uint16 kind, uint16 check of n_bytes, uint32 n_bytes of the payload, uint64 check, payload,
 *   zeros up to 8 bytes.
 * check = XXH3 of the first 8 bytes and the payload, seeded with the check of the record before. So
 * a record can't be lost, moved or changed unnoticed. A log that its process could not finish ends
 * with a whole record or in the middle of one. */
#pragma once
#include "base/status.h"
#include "core/service_spec.h"
#include "engine/exec.h"
#include "schedule/policy.h"

enum { ENGINE_LOG_VERSION = 8, ENGINE_LOG_RECORD_MAX = 1 << 26 };

enum engine_log_kind {
    ENGINE_LOG_OPENED, /* struct engine_log_opened, specs, layouts, lanes, config */
    ENGINE_LOG_SUBMIT, /* struct engine_log_word, struct request, the body's bytes */
    ENGINE_LOG_CANCEL, /* struct engine_log_word, as all that follow; id, epoch */
    ENGINE_LOG_ROOM,   /* service, bytes of weights and activation */
    ENGINE_LOG_OPEN,   /* service; struct perf */
    ENGINE_LOG_CLOSE,  /* service */
    ENGINE_LOG_DRAIN,
    ENGINE_LOG_STEP,    /* its time */
    ENGINE_LOG_DONE,    /* struct engine_log_done, n_new (n_items), tokens (their sum) */
    ENGINE_LOG_REFUSED, /* id: number of the call of emit that had no room, from 0 */
    ENGINE_LOG_PLAN,    /* id: hash of a plan */
    ENGINE_LOG_FULL,  /* the file reached its limit: the log ends here, while the engine went on */
    ENGINE_LOG_EMPTY, /* service */
    ENGINE_LOG_ADDED, /* service; its spec and layout */
    ENGINE_LOG_REMOVED, /* service */
    ENGINE_LOG_REVIVED,
    ENGINE_LOG_KINDS,
};
struct engine_log_opened {
    char magic[8]; /* "shoalog" */
    uint32_t version, request_bytes, perf_bytes, spec_bytes, layout_bytes, config_bytes;
    uint32_t n_requests_max;
    char policy[32];
    int64_t memory_bytes, body_bytes, kv_unit_bytes, kv_bytes_max;
    int64_t swap_bytes, swap_bytes_per_s;
    int32_t n_tokens_max, n_lanes, n_services;
    uint16_t id;
    uint8_t has_prefix_cache, is_virtual; /* has_prefix_cache: 2 where rows have classes */
    uint32_t kv_kind;                     /* enum kv_kind */
    int32_t n_services_max;
    struct kv_bounds kv_bounds;
};
_Static_assert(sizeof(struct engine_log_opened) % 8 == 0, "what follows is aligned");
struct engine_log_word {
    int64_t now_ns;
    uint64_t id;
    int64_t weights_bytes, activation_bytes;
    int32_t service;
    uint32_t epoch;
};
struct engine_log_done {
    int64_t begin_ns, end_ns;
    uint32_t batch;
    int32_t n_steps, n_items, n_tokens; /* n_tokens: drawn by all items; 0 in the simulator */
    uint32_t is_failed, has_logprobs;   /* is_failed: 2 where the device was lost */
};

/* ---- Writing: by the engine's own thread, into a buffer that is flushed when full. ---- */
struct engine;
struct engine_log;
/* Makes the file anew, readable only by its owner. At most n_bytes_max bytes are written. Then the
 * log ends with FULL, and the engine goes on. */
enum status engine_log_open(struct engine_log **log, const char *path, int64_t n_bytes_max,
                            struct fault *fault) MUST_USE;
/* The same for one of several engines: engine 0 logs to FILE, engine e to FILE.e. */
enum status engine_log_open_numbered(struct engine_log **out, const char *file, int engine,
                                     int64_t n_bytes_max, struct fault *fault) MUST_USE;
/* Writes what is left; NULL: does nothing. Returns false when not all could be written, which was
 * logged. */
bool engine_log_close(struct engine_log *log);
/* Write a record: its payload piece by piece, then its kind. */
void engine_log_add(struct engine_log *log, const void *bytes, size_t n);
void engine_log_put(struct engine_log *log, enum engine_log_kind kind);

/* Records of the engine; they do nothing without a log. */
void engine_log_opened(const struct engine *engine);
void engine_log_submit(const struct engine *engine, const struct request *request,
                       const struct request_body *body, int64_t now_ns);
void engine_log_word(const struct engine *engine, enum engine_log_kind kind,
                     const struct engine_log_word *word);
void engine_log_perf(const struct engine *engine, int service, const struct perf *perf,
                     int64_t now_ns);
void engine_log_added(const struct engine *engine, int service, const struct service_spec *spec,
                      const struct kv_layout *layout, int64_t now_ns);
void engine_log_step(const struct engine *engine, int64_t now_ns);
void engine_log_done(const struct engine *engine, const struct engine_exec_done *done);
/* Returns the number of items in an answer: none for a batch that failed or copied. */
struct engine_flight;
int32_t engine_log_items(const struct engine_flight *flight, bool is_failed);
void engine_log_plan(const struct engine *engine, const struct schedule_plan *plan);
uint64_t engine_log_plan_hash(const struct schedule_plan *plan);

/* ---- Reading. ---- */
struct engine_log_reader {
    const unsigned char *at; /* 8-byte aligned */
    size_t n_bytes, next;
    uint64_t check;
};
struct engine_log_record {
    enum engine_log_kind kind;
    const unsigned char *payload; /* 8-byte aligned */
    size_t n_bytes;
};
enum engine_log_read { ENGINE_LOG_RECORD, ENGINE_LOG_END, ENGINE_LOG_CUT, ENGINE_LOG_BROKEN };
/* Reads the next record. END: no record is left; CUT: the log ends inside of one; BROKEN: its check
 * fails. */
enum engine_log_read engine_log_next(struct engine_log_reader *reader,
                                     struct engine_log_record *record);
