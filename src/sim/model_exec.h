/* The modelled executor: the performance model gives the time of batches, and tokens are drawn up
 * to the request's true length (n_tokens_max).
 *
 * Lanes run side by side, and the batches of one lane in turn. A lane with a share of the device
 * takes the time from tables of measured slowdowns. The time is multiplied by how far the
 * concurrent steps exceed the memory bandwidth. For prefills it is also multiplied by the sum of
 * shares above one (docs/ALGORITHMS.md section 2.5). These factors hold from one end of a step on
 * any lane to the next. Time is kept in picoseconds, from a base that moves along, so n steps in
 * one hold end at the same instant as n single steps. One hold may take 80 days. */
#pragma once
#include "base/mem.h"
#include "engine/exec.h"
#include "predict/truth.h"

struct sim_model_exec;
/* perfs: (n_services) the truth, which may differ from the engine's belief. clock_ns: virtual
 * time. */
struct sim_model_exec *sim_model_exec_open(int n_services, const struct perf *perfs, int n_lanes,
                                           const int64_t *clock_ns);
/* Makes this service's batches take the time of `truth` from now on, which need not be linear. */
void sim_model_exec_set_truth(struct sim_model_exec *exec, int service, struct perf_truth truth);
struct sim_model_sharer {               /* a service on a device that lanes share */
    int64_t weights_bytes, token_bytes; /* of all devices */
    double beside[2][2]; /* perf_job.beside of its prefills and decodes; 0: by bytes */
};
struct sim_model_device {                    /* of an engine with several lanes */
    int32_t tp;                              /* number of GPUs; 0: the device is cores */
    double bytes_per_s;                      /* of all its devices' memory */
    double shares[LIMIT_LANES];              /* (0, 1] */
    const struct sim_model_sharer *services; /* (n_services), copied */
};
/* Before the first batch. */
void sim_model_exec_set_device(struct sim_model_exec *exec, const struct sim_model_device *device);
/* Sets the measured times of the service on this lane, instead of its share of the whole. Call it
 * after the device is set. */
void sim_model_exec_set_lane(struct sim_model_exec *exec, int lane, int service,
                             const struct perf *perf);
/* Makes it a chain (sim/pipes.h), which the executor closes at its end. The n_lanes above is then
 * the number of places on all lanes. Only a batch that is alone runs for several rounds. Call it
 * before the first batch, and not together with a device. */
struct sim_pipes;
void sim_model_exec_set_pipes(struct sim_model_exec *exec, struct sim_pipes *pipes);
void sim_model_exec_close(struct sim_model_exec *exec);
struct engine_exec sim_model_exec_face(struct sim_model_exec *exec);
/* Sets the bytes a second between device and host, for swapping; the default is 4 GiB. */
void sim_model_exec_set_copies(struct sim_model_exec *exec, int64_t bytes_per_s);
/* Stops it for good: rounds that have ended are reported, and the others never end. */
void sim_model_exec_stop(struct sim_model_exec *exec);
/* Does the same, but reports running batches now as failed: none of them began. */
void sim_model_exec_crash(struct sim_model_exec *exec);
/* Returns how long lanes computed, each weighted by its share of the device; for a chain, how long
 * any did. */
int64_t sim_model_exec_busy_ns(const struct sim_model_exec *exec);
