/* The state of a unit whose engine is a process, for its own files alone. One thread uses it. */
#pragma once
#include "base/map.h"
#include "process/channel.h"
#include "process/child.h"
#include "process/record.h"
#include "process/unit_options.h"

enum process_unit_state { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_OVER, PROCESS_DOWN };
enum { PROCESS_UNIT_RECORD_BYTES = 256 << 10 };
enum { PROCESS_UNIT_BLAME = 9 }; /* a model is set aside for so much */

struct process_unit_request { /* submitted, and neither ended nor returned */
    uint64_t id;
    uint32_t epoch;
    int32_t n_tokens, n_tokens_max; /* known: prompt and generated */
    int32_t n_vector, n_floats;     /* of its embedding, and those that came so far */
    int32_t n_scored, n_scores;     /* prompt tokens that are scored, and those that were so far */
    uint16_t service;
    bool is_there, has_logprobs;
    bool wants_cancel; /* the ring was full */
};
struct process_unit_service {
    enum run_unit_presence presence;
    enum service_status status;       /* as it was reported last */
    bool wants_loaded;                /* also in the next process */
    bool has_add, has_admit, has_ask; /* records that found a full ring; ask: load or unload */
    bool even_busy;
    struct fault refusal;
    int64_t want_bytes; /* of packed weights that the child waits for; 0: it does not */
    int n_live;         /* requests */
    int64_t blame_ns[PROCESS_UNIT_BLAME]; /* the latest, oldest first */
    int n_blame;
    int64_t aside_until_ns; /* 0: it is not set aside */
    bool is_by_tie;         /* another model was at work in as many crashes */
};
struct process_unit {
    struct process_unit_options options;
    uint16_t id;
    char name[16];
    struct process_options *flat; /* with LIMIT_MODELS services */
    int n_services;               /* the highest number that a service ever had, plus one */
    struct process_unit_service services[LIMIT_MODELS];

    enum process_unit_state state;
    struct process_child child;
    struct process_channel channel;
    bool is_distrusted;                /* nothing of it counts any more */
    bool is_killed, is_stuck, has_run; /* stuck: it was killed since it made no step */
    char why[256];                     /* it was killed */
    int64_t started_ns, over_ns, again_ns;
    int n_fast; /* processes in a row that lived for less than a minute */
    uint64_t beat;
    int64_t seen_ns, silent_ns; /* the last look at its heart; its silence since it beat */
    int64_t n_steps, moved_ns;  /* of the last report */

    struct map by_id;
    struct process_unit_request *requests; /* (n_requests_max) */
    uint32_t *free_requests, n_free, n_requests_max;
    uint32_t n_cancels;          /* requests with wants_cancel */
    bool wants_drain, has_drain; /* has: it found a full ring */

    unsigned char *record;       /* the copy of the record that is read */
    unsigned char *event_record; /* the same of an event, whose payload its reader may keep */
    struct service_change changes[8 * LIMIT_MODELS];
    int n_changes, next_change;
    struct engine_report report;
};

/* ---- unit_requests.c ---- */
void process_unit_requests_open(struct process_unit *unit, uint32_t n_max);
void process_unit_requests_close(struct process_unit *unit);
struct process_unit_request *process_unit_requests_find(const struct process_unit *unit,
                                                        uint64_t id);
bool process_unit_requests_add(struct process_unit *unit, const struct request *request);
void process_unit_requests_remove(struct process_unit *unit, uint64_t id);
/* Judges an event, and takes its tokens or its end. Returns false when the child may not send it.
 */
bool process_unit_requests_take(struct process_unit *unit, const struct service_event *event,
                                const void *payload);
/* Returns the next request of an engine that is over, as an event; false: there is none. */
bool process_unit_requests_next_lost(struct process_unit *unit, struct service_event *event);

/* ---- unit_life.c ---- */
void process_unit_life_start(struct process_unit *unit, int64_t now_ns);
/* Looks after the process: its end, its heart, its restart. Returns the next wake. */
int64_t process_unit_life_step(struct process_unit *unit, int64_t now_ns);
/* Kills it for this reason. */
void process_unit_life_kill(struct process_unit *unit, const char *why);
/* All of its requests are returned. */
void process_unit_life_down(struct process_unit *unit, int64_t now_ns);

/* ---- unit_mail.c: false when the ring is full, or the process is not up ---- */
bool process_unit_mail_put(struct process_unit *unit, const void *part1, size_t n1,
                           const void *part2, size_t n2);
bool process_unit_mail_put_simple(struct process_unit *unit, enum process_record_kind kind,
                                  int service);
bool process_unit_mail_put_cancel(struct process_unit *unit,
                                  const struct process_unit_request *request);
bool process_unit_mail_put_add(struct process_unit *unit, int service);
/* Asks the process to load or unload, as services[service] wants it. */
void process_unit_mail_ask(struct process_unit *unit, int service);
/* Sends again what found a full ring. Returns false while some is left. */
bool process_unit_mail_repeat(struct process_unit *unit);
/* Sends what a new process has to know beyond its options. */
void process_unit_mail_brief(struct process_unit *unit);
void process_unit_mail_tell(struct process_unit *unit, int service, enum service_status status,
                            enum status cause, const struct fault *fault);
void process_unit_mail_take(struct process_unit *unit); /* all records of the ring up */
/* Returns the next event of a request, checked; false: there is none now. */
bool process_unit_mail_next(struct process_unit *unit, struct service_event *event,
                            const void **payload);
/* Answers a process that waits for weights, when they are there. */
void process_unit_mail_lend(struct process_unit *unit, int service);

/* ---- unit.c ---- */
struct process_unit *process_unit_make(const struct process_unit_options *options); /* DOWN */
