/* What a unit remembers: for its own files alone.
 *
 * Two threads: the owner's (unit.c, unit_moves.c) and the loader's (unit_loader.c). They share
 * `job` under its phase: the owner sets WANT_*, the loader answers HAVE_* or FAILED; which of them
 * may touch the rest of the job follows from the phase. */
#pragma once
#include "base/pace.h"
#include "base/team.h"
#include "base/wake.h"
#include "run/unit_options.h"

enum run_unit_load {
    UNIT_NONE, /* the number is no service's */
    UNIT_ADDING,
    UNIT_REFUSED,
    UNIT_READY, /* its engine has it, and it is not visible yet */
    UNIT_REMOVING,
    UNIT_UNLOADED,
    UNIT_QUEUED,
    UNIT_OPENING,
    UNIT_ROOM,
    UNIT_PACKING,
    UNIT_JOINING,
    UNIT_LOADED,
    UNIT_LEAVING, /* the engine is asked whether it can do without */
    UNIT_GONE     /* its memory is given back, its bytes are still booked */
};
enum job_phase { JOB_NONE, JOB_WANT_OPEN, JOB_HAVE_OPEN, JOB_WANT_PACK, JOB_HAVE_PACK, JOB_FAILED };

struct run_unit_job { /* the one load under way */
    _Atomic int phase;
    int service;
    struct weights *weights;
    struct run_model *model;
    int64_t weights_bytes, activation_bytes;
    struct perf perf;
    int64_t said_ns; /* when the phase was last changed for the other thread to go on */
    enum status status;
    struct fault fault;
};
struct run_unit_service {
    enum run_unit_load state;
    bool wants_out;   /* unload as soon as the state allows */
    bool even_busy;   /* with requests, too: they go home */
    bool ask_pending; /* an ask to the engine that its inbox had no room for */
    struct service_spec service;
    struct kv_layout layout; /* of one that is ADDING */
    const char *refusal;     /* of one that is REFUSED */
    char *path;
    const struct model_spec *spec; /* expected of the file; NULL = any */
    enum dtype kv_dtype;
    struct perf perf; /* known already, when has_perf */
    bool has_perf;
    struct run_model model;
    int64_t begun_ns;
};
struct run_unit {
    struct run_unit_options options;
    struct engine_host *host;
    struct run_executor *executor;
    struct run_unit_service services[LIMIT_MODELS];
    int n_services; /* the highest number that ever was a service's, and one */
    struct thread *loader;
    char name[16];
    struct pace pace; /* of the owner's thread */
    struct wake job_wake, loader_wake;
    struct run_unit_job job;
    struct run_progress progress;
    _Atomic bool is_closing;
    bool drain_pending;
    struct service_change changes[4 * LIMIT_MODELS];
    int n_changes, next_change;
    struct engine_report report;
};
