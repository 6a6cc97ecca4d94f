/* The modelled executor: batches take the time that the performance model says, tokens are drawn
 * until the request's true length (n_tokens_max).
 *
 * Lanes run side by side, the batches of one lane in turn. A lane with a share of the device takes
 * as long as tables of measured slowdowns say, times how far the steps that run side by side ask
 * together for more memory bandwidth than there is, prefills also times the sum of shares above one
 * (docs/ALGORITHMS.md section 2.5). These factors hold from one end of a step on any lane to the
 * next. Time is kept in picoseconds, from a base that moves along, so n steps in one hold end at
 * the very instant at which n single steps would. One hold may take 80 days. */
#pragma once
#include "base/mem.h"
#include "engine/exec.h"
#include "predict/truth.h"

struct sim_model_exec;
/* perfs: (n_services) the truth; the engine may believe something else. clock_ns: virtual time. */
struct sim_model_exec *sim_model_exec_open(int n_services, const struct perf *perfs, int n_lanes,
                                           const int64_t *clock_ns);
/* From now on this service's batches take what the truth says, which may be no line. */
void sim_model_exec_set_truth(struct sim_model_exec *exec, int service, struct perf_truth truth);
struct sim_model_sharer {               /* a service on a device that lanes share */
    int64_t weights_bytes, token_bytes; /* of all devices */
    double beside[2][2]; /* perf_job.beside of its prefills and decodes; 0: by bytes */
};
struct sim_model_device {                    /* of an engine with several lanes */
    int32_t tp;                              /* GPUs; 0: it is cores */
    double bytes_per_s;                      /* of all its devices' memory */
    double shares[LIMIT_LANES];              /* (0, 1] */
    const struct sim_model_sharer *services; /* (n_services), copied */
};
/* Before the first batch. */
void sim_model_exec_set_device(struct sim_model_exec *exec, const struct sim_model_device *device);
/* What the service takes on this lane, as measured, in the place of its share of the whole. After
 * the device. */
void sim_model_exec_set_lane(struct sim_model_exec *exec, int lane, int service,
                             const struct perf *perf);
/* It is a chain (sim/pipes.h), which it closes in the end: n_lanes above is the number of places on
 * all lanes. Only what has it for itself runs for several rounds. Before the first batch, not with
 * a device. */
struct sim_pipes;
void sim_model_exec_set_pipes(struct sim_model_exec *exec, struct sim_pipes *pipes);
void sim_model_exec_close(struct sim_model_exec *exec);
struct engine_exec sim_model_exec_face(struct sim_model_exec *exec);
/* Bytes a second between device and host, for swapping; 4 GiB when not told. */
void sim_model_exec_set_copies(struct sim_model_exec *exec, int64_t bytes_per_s);
/* It stops at once, for good: the rounds that have ended are told of, the others never end. */
void sim_model_exec_stop(struct sim_model_exec *exec);
/* The same, but what runs is told of now, as batches that failed: none of them began. */
void sim_model_exec_crash(struct sim_model_exec *exec);
/* For how long lanes computed, each counting as its share of the device; of a chain any of them. */
int64_t sim_model_exec_busy_ns(const struct sim_model_exec *exec);
