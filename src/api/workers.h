/* A few threads for work that would delay the I/O thread: large bodies, long prompts, large
 * answers.
 *
 * A job has one owner at a time: put hands it to a worker, and done (on the I/O thread) hands it
 * back. Each worker has one ring in each direction, and each rank has a worker of its own. So a job
 * never waits behind one of a higher rank: a few texts of megabytes, which take seconds each, delay
 * no other job. */
#pragma once
#include "base/base.h"

enum api_job_rank {
    API_JOB_SHORT,   /* prompts of requests, except long ones */
    API_JOB_LONG,    /* long texts of all kinds */
    API_JOB_PATIENT, /* large answers, and texts that belong to no request */
    API_JOB_RANKS
};
enum { API_JOB_LONG_BYTES = 256 << 10 }; /* a longer body makes a long job: 0.1 s of a core */

struct api_job {
    void (*work)(struct api_job *job); /* on a worker */
    void (*done)(struct api_job *job); /* on the I/O thread, by api_workers_collect */
    enum api_job_rank rank;
    bool is_dropped; /* set for done: the workers closed first, so work was not called */
};
struct api_workers;
struct api_workers *api_workers_open(int32_t n_jobs_max); /* n_jobs_max for each worker */
/* Waits for the jobs at work and drops those that wait. Calls done for both. */
void api_workers_close(struct api_workers *workers);
bool api_workers_put(struct api_workers *workers, struct api_job *job); /* false: full */
int api_workers_fd(const struct api_workers *workers); /* readable when a job is done */
void api_workers_collect(struct api_workers *workers); /* calls done for each finished job */
