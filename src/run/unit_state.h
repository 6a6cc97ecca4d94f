/* The state of a unit, for its own files alone.
 *
 * There are two threads: the owner's (unit.c, unit_moves.c) and the loader's (unit_loader.c). They
 * share `job` under its phase: the owner sets WANT_*, and the loader answers HAVE_*, NO_* or
 * FAILED. The phase determines which of the two may access the rest of the job. */
#pragma once
#include "base/pace.h"
#include "base/team.h"
#include "base/wake.h"
#include "run/unit_options.h"

enum run_unit_load {
    UNIT_NONE, /* the number has no service */
    UNIT_ADDING,
    UNIT_REFUSED,
    UNIT_READY, /* its engine has it, but it is not visible yet */
    UNIT_REMOVING,
    UNIT_UNLOADED,
    UNIT_QUEUED,
    UNIT_OPENING,
    UNIT_ROOM,
    UNIT_PACKING,
    UNIT_JOINING,
    UNIT_LOADED,
    UNIT_LEAVING, /* the engine checks whether it can release it */
    UNIT_DOZING,  /* its packed weights go to host memory: see unit_sleep.h */
    UNIT_GONE     /* its memory is freed, its bytes are still booked */
};
enum job_phase {
    JOB_NONE,
    JOB_WANT_OPEN,
    JOB_HAVE_OPEN,
    JOB_WANT_PACK,
    JOB_HAVE_PACK,
    JOB_FAILED,
    JOB_WANT_DEVICE, /* to open a lost device again */
    JOB_HAVE_DEVICE,
    JOB_NO_DEVICE
};

/* The state of the device: see unit_device.h. */
enum unit_device { UNIT_DEVICE_OPEN, UNIT_DEVICE_LOST, UNIT_DEVICE_REVIVING };

struct run_unit_job { /* the one load in flight */
    _Atomic int phase;
    int service;
    struct weights *weights;
    struct run_model *model;
    int64_t weights_bytes, activation_bytes;
    struct perf perf;
    int64_t copy_ns; /* that weights were packed or copied */
    int64_t said_ns; /* time of the last change of phase for the other thread */
    enum status status;
    struct fault fault;
};
/* The one model whose weights the loader's thread copies to host memory. */
enum nap_phase { NAP_NONE, NAP_WANTED, NAP_OVER };
struct run_unit_nap {
    _Atomic int phase; /* WANTED: the loader has the rest, and the service's model */
    int service;
    enum status status;
    struct fault fault;
};
struct run_unit_service {
    enum run_unit_load state;
    bool wants_sleep;         /* when it leaves, its packed weights are kept */
    bool is_asleep;           /* they are, and the state is that of an unloaded or coming model */
    int64_t sleep_bytes;      /* of host memory that are booked for it */
    int64_t activation_bytes; /* and the times, by its last load */
    struct perf loaded_perf;
    bool was_asleep; /* its last load was a wake */
    int32_t n_wakes, copy_permille;
    int64_t load_ns;
    bool wants_out;   /* unload as soon as the state allows */
    bool even_busy;   /* also with requests, which are returned */
    bool ask_pending; /* a call to the engine that did not fit its inbox */
    struct service_spec service;
    struct kv_layout layout; /* of a service that is ADDING */
    const char *refusal;     /* of a service that is REFUSED */
    char *path;
    const struct model_spec *spec;     /* expected of the file; NULL = any */
    const struct tokenizer *tokenizer; /* of the process, or own_tokenizer once it has joined */
    struct tokenizer *own_tokenizer;   /* opened with the model; NULL: none */
    enum dtype kv_dtype;
    struct perf perf; /* known already, when has_perf */
    bool has_perf;
    struct run_model model;
    struct compute_memory *lent; /* that the model's weights lie in; NULL: its own memory */
    int64_t begun_ns;
};
struct run_unit {
    struct run_unit_options options;
    struct engine_host *host;
    struct run_executor *executor;
    struct service inner; /* the engine's */
    struct run_unit_service services[LIMIT_MODELS];
    int n_services; /* the highest number that a service ever had, plus one */
    struct thread *loader;
    char name[16];
    struct pace pace; /* for the owner's thread */
    struct wake job_wake, loader_wake;
    struct run_unit_job job;
    struct run_unit_nap nap;
    struct run_progress progress;
    _Atomic bool is_closing;
    bool drain_pending;
    enum unit_device device;
    int64_t reopen_ns, backoff_ns; /* LOST: the next try is then, and a failed one waits as long */
    struct service_change changes[4 * LIMIT_MODELS];
    int n_changes, next_change;
    struct engine_report report;
};
