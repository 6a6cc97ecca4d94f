/* Runs the thread of the disk tier. A lock guards jobs and index, and is never held while the disk
 * is used. */
#include "kv/disk.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include "kv/disk_file.h"
#include "kv/disk_index.h"

#define REST_NS      (10 * TIME_NS_PER_S) /* without writes, after one that failed */
#define QUIET_NS     (60 * TIME_NS_PER_S)
#define CLOSE_NS     (2 * TIME_NS_PER_S) /* for what waits at the end */
#define BLOCK_AGE_NS 1000  /* a block counts as used by so much earlier than the one before it */
enum { FREE_AT_ONCE = 8 }; /* blocks that leave when the disk is full */

enum job_state { JOB_FREE, JOB_WAITS, JOB_OVER };
struct job {
    enum job_state state;
    bool is_dropped;
    uint64_t serial;
    struct kv_disk_work work;
    int32_t n_done;
    int64_t begin_ns; /* wall clock, of its first block */
};
struct kv_disk {
    struct kv_disk_options options;
    struct kv_disk_folder folder;
    struct thread *thread;
    struct wake wake, settled;
    struct lock *lock; /* of all below */
    struct kv_disk_index index;
    struct kv_disk_stats stats;
    struct job jobs[KV_DISK_JOBS];
    uint64_t n_serials;
    bool is_listed, is_over, is_failing;
    int64_t rest_until_ns, quiet_until_ns, end_ns;
};

/* ---- The thread. ---- */

/* Removes the oldest block. Returns false when there is none. */
static bool evict(struct kv_disk *d)
{
    struct hash128 name;
    lock_take(d->lock);
    bool is_there = kv_disk_index_oldest(&d->index, &name);
    if (is_there)
        kv_disk_index_remove(&d->index, name);
    d->stats.n_evicted += is_there;
    lock_put(d->lock);
    if (is_there)
        kv_disk_file_remove(&d->folder, name);
    return is_there;
}

static bool has_room(struct kv_disk *d, int64_t n_bytes)
{
    lock_take(d->lock);
    bool has = d->index.n < d->index.n_max && d->index.n_bytes + n_bytes <= d->options.bytes_max;
    lock_put(d->lock);
    return has;
}

static void list(struct kv_disk *d)
{
    struct kv_disk_found *found;
    int64_t n = kv_disk_file_list(&d->folder, &found);
    for (int64_t i = 0; i < n; i++) {
        bool fits = found[i].n_bytes <= d->options.bytes_max;
        while (fits && !has_room(d, found[i].n_bytes) && evict(d))
            ;
        lock_take(d->lock);
        bool is_added = fits && kv_disk_index_add(&d->index, found[i].name, found[i].n_bytes);
        lock_put(d->lock);
        if (!is_added)
            kv_disk_file_remove(&d->folder, found[i].name);
    }
    mem_give(found);
    lock_take(d->lock);
    d->is_listed = true;
    lock_put(d->lock);
}

/* Logs the first failure of many, and the end of them, once a minute at most. */
static void note_failure(struct kv_disk *d, bool is_failing, const char *what)
{
    lock_take(d->lock);
    int64_t now_ns = time_now_ns();
    bool is_news = is_failing != d->is_failing && (!is_failing || now_ns >= d->quiet_until_ns);
    if (is_news && is_failing)
        d->quiet_until_ns = now_ns + QUIET_NS;
    d->is_failing = is_news ? is_failing : d->is_failing;
    d->stats.n_failed += is_failing;
    lock_put(d->lock);
    if (is_news && is_failing)
        log_line(LOG_WARN, "kv", "kv_disk: engine %d: %s", d->options.engine, what);
    else if (is_news)
        log_line(LOG_INFO, "kv", "kv_disk: engine %d: the disk takes blocks again",
                 d->options.engine);
}

static struct kv_disk_file file_of(const struct job *job)
{
    const struct kv_disk_work *work = &job->work;
    int32_t i = work->first + job->n_done;
    return (struct kv_disk_file){ .key = work->key,
                                  .name = work->names[i],
                                  .position = i * work->key.block_tokens,
                                  .used_ns = job->begin_ns - (int64_t)i * BLOCK_AGE_NS };
}

/* Writes the job's next block. Returns false when the job can't go on. */
static bool write_block(struct kv_disk *d, struct job *job, const unsigned char *bytes)
{
    struct kv_disk_file file = file_of(job);
    int64_t n_bytes = kv_disk_file_bytes(file.key.block_bytes);
    if (kv_disk_has(d, file.name))
        return true;
    /* a prefix must not evict itself */
    if (n_bytes * (job->n_done + 1) > d->options.bytes_max / 2 || !kv_disk_may_write(d))
        return false;
    while (!has_room(d, n_bytes))
        if (!evict(d))
            return false;
    enum kv_disk_result result = kv_disk_file_write(&d->folder, &file, bytes);
    for (int i = 0; i < FREE_AT_ONCE && result == KV_DISK_FULL && evict(d);)
        if (++i == FREE_AT_ONCE)
            result = kv_disk_file_write(&d->folder, &file, bytes);
    if (result != KV_DISK_DONE) {
        lock_take(d->lock);
        d->rest_until_ns = time_now_ns() + REST_NS;
        lock_put(d->lock);
        note_failure(d, true,
                     result == KV_DISK_FULL ? "the disk is full: blocks are not kept"
                                            : "the disk refuses a block: blocks are not kept");
        return false;
    }
    note_failure(d, false, "");
    lock_take(d->lock);
    bool is_added = kv_disk_index_add(&d->index, file.name, n_bytes);
    d->stats.n_written += is_added;
    lock_put(d->lock);
    if (!is_added)
        kv_disk_file_remove(&d->folder, file.name);
    return is_added;
}

/* Reads the job's next block. Returns false when it is not usable. */
static bool read_block(struct kv_disk *d, struct job *job, unsigned char *bytes)
{
    struct kv_disk_file file = file_of(job);
    enum kv_disk_result result = kv_disk_file_read(&d->folder, &file, bytes);
    lock_take(d->lock);
    if (result == KV_DISK_DONE)
        d->stats.n_read++;
    else
        kv_disk_index_remove(&d->index, file.name);
    d->stats.n_dropped += result == KV_DISK_BAD;
    lock_put(d->lock);
    if (result == KV_DISK_DONE)
        return true;
    if (result == KV_DISK_BAD)
        log_line(LOG_WARN, "kv", "kv_disk: engine %d: a damaged block is dropped",
                 d->options.engine);
    if (result == KV_DISK_FAILED)
        note_failure(d, true, "the disk does not give a block back");
    kv_disk_file_remove(&d->folder, file.name);
    return false;
}

/* Returns the job whose block is next: the oldest read, else the oldest write. Needs the lock. */
static struct job *next_job(struct kv_disk *d)
{
    struct job *best = NULL;
    for (int i = 0; i < KV_DISK_JOBS; i++) {
        struct job *job = &d->jobs[i];
        if (job->state != JOB_WAITS)
            continue;
        if (best == NULL || (best->work.is_write && !job->work.is_write) ||
            (best->work.is_write == job->work.is_write && job->serial < best->serial))
            best = job;
    }
    return best;
}

/* The blocks are now the newest, the last one of the prefix before the others. Needs the lock. */
static void touch(struct kv_disk *d, const struct hash128 *names, int32_t n)
{
    while (n-- > 0)
        kv_disk_index_touch(&d->index, names[n]);
}

/* Ends the job. Its owner may free its memory as soon as the lock is given back. */
static void end(struct kv_disk *d, struct job *job)
{
    struct kv_disk_work work = job->work;
    lock_take(d->lock);
    touch(d, work.names, work.first + job->n_done);
    job->state = JOB_OVER;
    lock_put(d->lock);
    if (work.wake != NULL)
        work.wake(work.wake_self);
}

/* Does one block of one job. Returns false when there is none. */
static bool step(struct kv_disk *d)
{
    lock_take(d->lock);
    struct job *job = next_job(d);
    bool is_dropped =
        job != NULL && (job->is_dropped || (d->is_over && time_now_ns() >= d->end_ns));
    lock_put(d->lock);
    if (job == NULL)
        return false;
    struct kv_disk_work *work = &job->work;
    if (job->n_done == 0)
        job->begin_ns = time_unix_ns();
    bool goes_on = !is_dropped && job->n_done < work->n_blocks;
    if (goes_on) {
        struct kv_host_view view = work->view;
        unsigned char *bytes = work->base + kv_host_view_next(&view);
        goes_on = work->is_write ? write_block(d, job, bytes) : read_block(d, job, bytes);
        work->view = view;
        job->n_done += goes_on;
    }
    if (!goes_on || job->n_done == work->n_blocks)
        end(d, job);
    return true;
}

static void run(void *self)
{
    struct kv_disk *d = self;
    list(d);
    for (;;) {
        wake_clear(&d->wake);
        while (step(d))
            wake_up(&d->settled);
        wake_up(&d->settled);
        lock_take(d->lock);
        bool is_over = d->is_over && next_job(d) == NULL;
        lock_put(d->lock);
        if (is_over)
            return;
        (void)wake_wait(&d->wake, -1);
    }
}

/* ---- Its owner. ---- */

enum status kv_disk_open(struct kv_disk **out, const struct kv_disk_options *options,
                         struct fault *fault)
{
    struct kv_disk_folder folder;
    enum status status = kv_disk_file_open(&folder, options->path, options->engine, fault);
    if (status != STATUS_OK)
        return status;
    struct kv_disk *d = mem_take(sizeof *d);
    d->options = *options;
    d->options.path = NULL; /* the caller's */
    d->folder = folder;
    d->lock = lock_open();
    int64_t n_files = options->bytes_max / kv_disk_file_bytes(options->block_bytes_min) + 1;
    kv_disk_index_open(&d->index, (uint32_t)min_i64(n_files, KV_DISK_FILES_MAX));
    wake_open(&d->wake);
    wake_open(&d->settled);
    d->thread = thread_start("kv-disk", run, d);
    *out = d;
    return STATUS_OK;
}

void kv_disk_close(struct kv_disk *d)
{
    if (d == NULL)
        return;
    lock_take(d->lock);
    d->is_over = true;
    d->end_ns = time_now_ns() + CLOSE_NS;
    lock_put(d->lock);
    wake_up(&d->wake);
    thread_join(d->thread);
    kv_disk_index_close(&d->index);
    kv_disk_file_close(&d->folder);
    wake_close(&d->wake);
    wake_close(&d->settled);
    lock_close(d->lock);
    mem_give(d);
}

enum status kv_disk_check(const char *path, int engine, struct fault *fault)
{
    struct kv_disk_folder folder;
    enum status status = kv_disk_file_open(&folder, path, engine, fault);
    if (status == STATUS_OK)
        kv_disk_file_close(&folder);
    return status;
}

bool kv_disk_has(struct kv_disk *d, struct hash128 name)
{
    lock_take(d->lock);
    bool has = kv_disk_index_has(&d->index, name);
    lock_put(d->lock);
    return has;
}

void kv_disk_touch(struct kv_disk *d, const struct hash128 *names, int32_t n)
{
    lock_take(d->lock);
    touch(d, names, n);
    lock_put(d->lock);
}

bool kv_disk_may_write(struct kv_disk *d)
{
    lock_take(d->lock);
    bool may = time_now_ns() >= d->rest_until_ns;
    lock_put(d->lock);
    return may;
}

void kv_disk_begin(struct kv_disk *d, int i, const struct kv_disk_work *work)
{
    CHECK(i >= 0 && i < KV_DISK_JOBS && work->view.n_blocks == work->n_blocks);
    CHECK(work->view.block_bytes == work->key.block_bytes);
    lock_take(d->lock);
    CHECK(d->jobs[i].state == JOB_FREE);
    d->jobs[i] = (struct job){ .state = JOB_WAITS, .serial = d->n_serials++, .work = *work };
    lock_put(d->lock);
    wake_up(&d->wake);
}

void kv_disk_drop(struct kv_disk *d, int i)
{
    lock_take(d->lock);
    CHECK(d->jobs[i].state != JOB_FREE);
    d->jobs[i].is_dropped = true;
    lock_put(d->lock);
}

bool kv_disk_ended(struct kv_disk *d, int i, int32_t *n_done)
{
    lock_take(d->lock);
    struct job *job = &d->jobs[i];
    bool is_over = job->state == JOB_OVER;
    if (is_over) {
        *n_done = job->n_done;
        job->state = JOB_FREE;
    }
    lock_put(d->lock);
    return is_over;
}

void kv_disk_settle(struct kv_disk *d)
{
    for (bool is_settled = false; !is_settled;) {
        wake_clear(&d->settled);
        lock_take(d->lock);
        is_settled = d->is_listed && next_job(d) == NULL;
        lock_put(d->lock);
        if (!is_settled)
            (void)wake_wait(&d->settled, -1);
    }
}

void kv_disk_stats(struct kv_disk *d, struct kv_disk_stats *stats)
{
    lock_take(d->lock);
    *stats = d->stats;
    stats->n_files = d->index.n;
    stats->n_bytes = d->index.n_bytes;
    lock_put(d->lock);
}
