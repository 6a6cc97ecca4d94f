/* Worker threads: a ring to each, a ring from each, and one eventfd for results. */
#include "api/workers.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/team.h"
#include "base/wake.h"
#include <stdatomic.h>
#include <string.h>

enum { RECORD_BYTES = 16 }; /* a pointer in a ring */

struct worker {
    struct api_workers *workers;
    struct thread *thread;
    struct wake wake;
    struct ring *in, *out;
    int32_t n_jobs, n_own; /* jobs not handed back yet; those of its rank; for the I/O thread */
};
struct api_workers {
    int32_t n_jobs_max;
    struct worker workers[API_JOB_RANKS]; /* one for each rank */
    struct wake wake;
    _Atomic bool is_closing;
};

static struct api_job *take_job(struct ring *ring)
{
    const void *record;
    size_t n = 0;
    struct api_job *job = NULL;
    if (!ring_peek(ring, &record, &n))
        return NULL;
    CHECK(n == sizeof(job));
    memcpy(&job, record, sizeof(job));
    ring_pop(ring);
    return job;
}

static void run(void *arg)
{
    struct worker *worker = arg;
    struct api_workers *workers = worker->workers;
    for (;;) {
        bool is_closing = atomic_load(&workers->is_closing); /* then no more jobs come */
        for (struct api_job *job; (job = take_job(worker->in)) != NULL;) {
            job->is_dropped = atomic_load(&workers->is_closing);
            if (!job->is_dropped)
                job->work(job);
            CHECK(ring_put(worker->out, &job, sizeof(job), NULL, 0));
            wake_up(&workers->wake);
        }
        if (is_closing)
            return;
        wake_wait(&worker->wake, -1);
        wake_clear(&worker->wake);
    }
}

static struct ring *open_ring(int32_t n_jobs)
{
    uint64_t capacity = 64;
    while (capacity < (uint64_t)RECORD_BYTES * (uint64_t)(n_jobs + 2))
        capacity *= 2;
    struct ring *ring = mem_take(ring_bytes(capacity));
    ring_init(ring, capacity);
    return ring;
}

struct api_workers *api_workers_open(int32_t n_jobs_max)
{
    struct api_workers *workers = mem_take(sizeof(*workers));
    workers->n_jobs_max = n_jobs_max;
    wake_open(&workers->wake);
    for (int i = 0; i < API_JOB_RANKS; i++) {
        struct worker *worker = &workers->workers[i];
        worker->workers = workers;
        worker->in = open_ring(n_jobs_max);
        worker->out = open_ring(n_jobs_max);
        wake_open(&worker->wake);
        worker->thread = thread_start("api-text", run, worker);
    }
    return workers;
}

void api_workers_close(struct api_workers *workers)
{
    atomic_store(&workers->is_closing, true);
    for (int i = 0; i < API_JOB_RANKS; i++) {
        struct worker *worker = &workers->workers[i];
        wake_up(&worker->wake);
        thread_join(worker->thread);
        wake_close(&worker->wake);
    }
    api_workers_collect(workers);
    for (int i = 0; i < API_JOB_RANKS; i++) {
        mem_give(workers->workers[i].in);
        mem_give(workers->workers[i].out);
    }
    wake_close(&workers->wake);
    mem_give(workers);
}

/* Picks a worker. Rings are first in, first out. Short jobs also use workers of other ranks that
 * have no jobs. */
static struct worker *pick_worker(struct api_workers *workers, enum api_job_rank rank)
{
    struct worker *least = &workers->workers[rank];
    for (int i = 1; rank == API_JOB_SHORT && i < API_JOB_RANKS; i++) {
        struct worker *worker = &workers->workers[i];
        if (worker->n_jobs < least->n_jobs && worker->n_own == 0)
            least = worker;
    }
    return least;
}

static int32_t is_own(const struct worker *worker, const struct api_job *job)
{
    return worker == &worker->workers->workers[job->rank];
}

bool api_workers_put(struct api_workers *workers, struct api_job *job)
{
    struct worker *least = pick_worker(workers, job->rank);
    if (least->n_jobs >= workers->n_jobs_max || !ring_put(least->in, &job, sizeof(job), NULL, 0))
        return false;
    least->n_jobs++;
    least->n_own += is_own(least, job);
    wake_up(&least->wake);
    return true;
}

int api_workers_fd(const struct api_workers *workers)
{
    return workers->wake.fd;
}

void api_workers_collect(struct api_workers *workers)
{
    wake_clear(&workers->wake);
    for (int i = 0; i < API_JOB_RANKS; i++) {
        struct worker *worker = &workers->workers[i];
        for (struct api_job *job; (job = take_job(worker->out)) != NULL;) {
            worker->n_jobs--;
            worker->n_own -= is_own(worker, job);
            job->done(job);
        }
    }
}
