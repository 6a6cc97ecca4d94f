/* A few threads for what would hold up the I/O thread: large bodies, long prompts, large answers.
 *
 * A job belongs to whoever holds it: put hands it over, done (on the I/O thread) hands it back.
 * Each worker has one ring in each direction. The first one has no patient jobs, and the others'
 * patient jobs are waited for by patient ones alone. */
#pragma once
#include "base/base.h"

struct api_job {
    void (*work)(struct api_job *job); /* on a worker */
    void (*done)(struct api_job *job); /* on the I/O thread, by api_workers_collect */
    bool is_patient;                   /* no job that isn't waits behind it */
};
struct api_workers;
struct api_workers *api_workers_open(int n_workers, int32_t n_jobs_max);
void api_workers_close(struct api_workers *workers); /* after all that was put is done */
bool api_workers_put(struct api_workers *workers, struct api_job *job); /* false = full */
int api_workers_fd(const struct api_workers *workers); /* readable when a job is done */
void api_workers_collect(struct api_workers *workers); /* calls done of each finished job */
