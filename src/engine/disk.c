/* See disk.h: how blocks of prefixes go to the disk tier, and how they come back. */
#include "engine/disk.h"

#include "base/log.h"
#include "base/mem.h"
#include "engine/copies.h"
#include "engine/handover.h"
#include "engine/stats.h"
#include "kv/disk.h"
#include "kv/prefix.h"

enum { BLOCKS_MAX = 16384 }; /* of a prefix; later ones stay away */

enum disk_job_state {
    DISK_FREE,
    DISK_LEAVING, /* its request waits for the copy, or is copied */
    DISK_WRITING,
    DISK_READING,   /* its request is ARRIVING */
    DISK_ABANDONED, /* the disk's thread still has the memory */
};
struct disk_job {
    enum disk_job_state state;
    uint32_t slot;           /* LEAVING, READING */
    int32_t first, n_blocks; /* of the request's prefix */
    int64_t until_ns;        /* READING: the request goes on without it then */
    struct kv_disk_key key;
    struct hash128 *names; /* (n_blocks_max) of the blocks from 0 on */
};
struct engine_disk {
    struct kv_disk *disk;
    int32_t n_blocks_max;
    int n_busy; /* jobs that are not FREE */
    struct disk_job jobs[KV_DISK_JOBS];
    struct hash128 *memory;
};

uint32_t engine_disk_keeps(const struct engine_options *o)
{
    bool has_disk = o->kv_disk != NULL && o->kv_disk_bytes > 0 && o->swap_bytes > 0;
    return has_disk && o->has_prefix_cache && !o->is_virtual && o->exec.host != NULL ? KV_DISK_JOBS
                                                                                     : 0;
}

/* Without its folder, the engine serves all the same. */
void engine_disk_open(struct engine *e)
{
    const struct engine_options *o = &e->options;
    struct fault fault;
    struct kv_disk *disk;
    if (engine_disk_keeps(o) == 0 || kv_host_bytes(e->kv) == 0)
        return;
    const struct kv_bounds *bounds = &o->kv_bounds;
    const struct kv_disk_options options = {
        .path = o->kv_disk,
        .engine = o->id,
        .bytes_max = o->kv_disk_bytes,
        .block_bytes_min = o->kv_unit_bytes * max_i32(bounds->units_per_block_min, 1) /
                           max_i32(bounds->blocks_per_unit_max, 1),
    };
    if (kv_disk_open(&disk, &options, &fault) != STATUS_OK) {
        log_line(LOG_ERROR, "engine", "engine %d keeps no blocks on disk: %s", o->id, fault.text);
        return;
    }
    struct engine_disk *d = mem_take(sizeof *d);
    d->disk = disk;
    d->n_blocks_max = min_i32(o->n_tokens_max / bounds->block_tokens_min + 1, BLOCKS_MAX);
    d->memory = mem_take((size_t)d->n_blocks_max * KV_DISK_JOBS * sizeof *d->memory);
    for (int i = 0; i < KV_DISK_JOBS; i++)
        d->jobs[i].names = d->memory + (size_t)d->n_blocks_max * (size_t)i;
    e->disk = d;
    e->options.kv_disk = NULL; /* the caller's */
}

void engine_disk_close(struct engine *e)
{
    if (e->disk == NULL)
        return;
    kv_disk_close(e->disk->disk);
    mem_give(e->disk->memory);
    mem_give(e->disk);
}

static struct disk_job *free_job(struct engine_disk *d)
{
    for (int i = 0; i < KV_DISK_JOBS; i++)
        if (d->jobs[i].state == DISK_FREE)
            return &d->jobs[i];
    return NULL;
}

/* Returns the job of a request that leaves or arrives; NULL: it has none. */
static struct disk_job *find(const struct engine *e, uint32_t slot)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++) {
        struct disk_job *job = &e->disk->jobs[i];
        if ((job->state == DISK_LEAVING || job->state == DISK_READING) && job->slot == slot)
            return job;
    }
    return NULL;
}

static void set_state(struct engine_disk *d, struct disk_job *job, enum disk_job_state state)
{
    d->n_busy += (state != DISK_FREE) - (job->state != DISK_FREE);
    job->state = state;
}

static int number_of(const struct engine *e, const struct disk_job *job)
{
    return (int)(job - e->disk->jobs);
}

static uint32_t row_of(const struct engine *e, const struct disk_job *job)
{
    uint32_t n_before = e->options.n_requests_max + engine_handover_keeps(&e->options);
    return n_before + (uint32_t)number_of(e, job);
}

/* ---- Names. ---- */

static struct kv_disk_key key_of(const struct engine *e, const struct request *r)
{
    const struct kv_layout *layout = kv_layout(e->kv, r->service);
    const struct engine_exec *exec = &e->options.exec;
    return (struct kv_disk_key){
        .file = exec->file != NULL ? exec->file(exec->self, r->service) : 0,
        .identity = e->specs[r->service].identity,
        .arithmetic = exec->arithmetic != NULL ? exec->arithmetic(exec->self, r->service) : 0,
        .tenant = r->tenant,
        .bytes_per_token = layout->bytes_per_token,
        .block_bytes = layout->block_bytes,
        .block_tokens = layout->block_tokens,
        .units_per_block = layout->units_per_block,
        .kind = kv_kind(e->kv),
        .has_row_classes = exec->has_row_classes,
    };
}

/* Returns whether blocks of the request may be on the disk at all. An adapter's number is of this
 * process alone, so that blocks of adapters stay away. */
static bool is_eligible(const struct engine *e, const struct request *r)
{
    return r->kind == REQUEST_GENERATE && r->variant == 0 && !e->is_lost &&
           !e->specs[r->service].is_encoder;
}

static void begin(struct engine *e, struct disk_job *job, bool is_write, int service)
{
    const struct kv_disk_work work = {
        .is_write = is_write,
        .key = job->key,
        .names = job->names,
        .first = job->first,
        .n_blocks = job->n_blocks,
        .view = kv_host_view(e->kv, service, row_of(e, job)),
        .base = e->options.exec.host(e->options.exec.self),
        .wake = e->options.wake,
        .wake_self = e->options.wake_self,
    };
    set_state(e->disk, job, is_write ? DISK_WRITING : DISK_READING);
    kv_disk_begin(e->disk->disk, number_of(e, job), &work);
}

/* ---- To the disk. ---- */

bool engine_disk_leaves(struct engine *e, uint32_t slot, enum service_why why)
{
    struct engine_disk *d = e->disk;
    const struct request *r = &e->requests[slot];
    if (d == NULL || why == SERVICE_CRASHED || r->state != REQUEST_RUNNING || !is_eligible(e, r))
        return false;
    struct disk_job *job = free_job(d);
    int32_t block_tokens = kv_layout(e->kv, r->service)->block_tokens;
    int32_t n_full = min_i32(r->n_computed / block_tokens, d->n_blocks_max), n_there = n_full;
    if (job == NULL || n_full == 0 || !kv_disk_may_write(d->disk))
        return false;
    const int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    job->key = key_of(e, r);
    struct hash128 before = kv_disk_key_root(&job->key);
    for (int32_t i = 0; i < n_full; i++) {
        job->names[i] = before = kv_prefix_next(e->kv, r, before, tokens, i * block_tokens);
        if (n_there == n_full && !kv_disk_has(d->disk, before))
            n_there = i;
    }
    if (n_there == n_full) {
        kv_disk_touch(d->disk, job->names, n_full);
        return false;
    }
    job->slot = slot;
    job->first = n_there;
    job->n_blocks = n_full - n_there;
    set_state(d, job, DISK_LEAVING);
    return true;
}

static void over(struct engine *e, struct disk_job *job)
{
    uint32_t slot = job->slot;
    if (job->state == DISK_LEAVING)
        set_state(e->disk, job, DISK_FREE);
    engine_queue_over(e, slot);
}

bool engine_disk_gives_up(struct engine *e, uint32_t slot)
{
    struct disk_job *job = find(e, slot);
    if (job == NULL)
        return false;
    CHECK(e->requests[slot].state == REQUEST_LEAVING && e->requests[slot].batch == 0);
    over(e, job);
    return true;
}

bool engine_disk_came_out(struct engine *e, uint32_t slot, bool is_failed)
{
    struct request *r = &e->requests[slot];
    struct disk_job *job = find(e, slot);
    if (job == NULL)
        return false;
    r->batch = 0;
    if (is_failed || e->is_lost) {
        kv_host_put(e->kv, slot);
    } else {
        kv_host_move(e->kv, slot, row_of(e, job));
        begin(e, job, true, r->service);
    }
    over(e, job);
    return true;
}

/* Begins the copies of one service's requests, if a lane is free. */
static void begin_leaving(struct engine *e)
{
    struct engine_flight *flight = NULL;
    int32_t lane = engine_copies_lane(e);
    for (int i = 0; i < KV_DISK_JOBS; i++) {
        struct disk_job *job = &e->disk->jobs[i];
        struct request *r = &e->requests[job->slot];
        if (job->state != DISK_LEAVING || r->batch != 0 ||
            (flight != NULL && flight->batch.service != r->service))
            continue;
        if (flight == NULL && !e->is_lost && (lane < 0 || engine_step_free_flight(e) == NULL))
            break;
        if (e->is_lost ||
            !kv_host_take_some(e->kv, r->service, job->slot, job->first, job->n_blocks)) {
            over(e, job);
            continue;
        }
        if (flight == NULL) {
            flight = engine_step_free_flight(e);
            engine_copies_start(e, flight, BATCH_COPY_OUT, r->service, (uint16_t)lane);
        }
        flight->batch.items[flight->batch.n_items++] =
            (struct batch_item){ job->slot,
                                 job->n_blocks * kv_layout(e->kv, r->service)->block_tokens, 0 };
        r->batch = flight->batch.id;
        e->view.n_in_flight++;
    }
    if (flight != NULL)
        engine_copies_begin(e, &flight->batch, 1);
}

/* ---- From the disk. ---- */

/* Returns how many blocks of the request's prefix the disk has, and names them. At least one token
 * is left to compute. */
static int32_t look(struct engine *e, struct disk_job *job, const struct request *r,
                    const int32_t *tokens)
{
    int32_t block_tokens = kv_layout(e->kv, r->service)->block_tokens, n = 0;
    struct hash128 before = kv_disk_key_root(&job->key);
    for (; (n + 1) * block_tokens < r->n_tokens && n < e->disk->n_blocks_max; n++) {
        before = kv_prefix_next(e->kv, r, before, tokens, n * block_tokens);
        if (!kv_disk_has(e->disk->disk, before))
            break;
        job->names[n] = before;
    }
    return n;
}

static int64_t time_to_compute_ns(const struct engine *e, const struct request *r, int32_t n)
{
    const struct perf_load load = { .n_new = n, .n_new_squared = (int64_t)n * n };
    return perf_step_ps(&e->services[r->service].perf, &load) / 1000;
}

bool engine_disk_arrives(struct engine *e, uint32_t slot)
{
    struct engine_disk *d = e->disk;
    struct request *r = &e->requests[slot];
    if (d == NULL || !is_eligible(e, r) || (r->flags & REQUEST_NO_PREFIX_HIT) != 0)
        return false;
    struct disk_job *job = free_job(d);
    if (job == NULL)
        return false;
    const int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    int32_t block_tokens = kv_layout(e->kv, r->service)->block_tokens;
    job->key = key_of(e, r);
    int32_t n_blocks = look(e, job, r, tokens), n = n_blocks * block_tokens;
    /* All of it is read, so most of it must be new. */
    if (n_blocks == 0 || 2 * kv_prefix_look(e->kv, r, tokens, r->n_tokens) > n ||
        !kv_host_take(e->kv, r->service, slot, n))
        return false;
    kv_host_move(e->kv, slot, row_of(e, job));
    job->slot = slot;
    job->first = 0;
    job->n_blocks = n_blocks;
    job->until_ns = e->view.now_ns + ENGINE_DISK_LATE_NS + time_to_compute_ns(e, r, n);
    r->state = REQUEST_ARRIVING;
    begin(e, job, false, r->service);
    return true;
}

/* The request of the job does not wait for it any more. */
static void abandon(struct engine *e, struct disk_job *job)
{
    kv_disk_drop(e->disk->disk, number_of(e, job));
    set_state(e->disk, job, DISK_ABANDONED);
}

bool engine_disk_stays_away(struct engine *e, uint32_t slot)
{
    struct disk_job *job = find(e, slot);
    if (job == NULL)
        return false;
    abandon(e, job);
    return true;
}

void engine_disk_return_all(struct engine *e, int service, enum service_why why)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++) {
        const struct disk_job *job = &e->disk->jobs[i];
        if (job->state == DISK_READING && e->requests[job->slot].service == service)
            engine_queue_end(e, job->slot, SERVICE_RETURNED, why);
    }
}

/* The read is over. */
static void arrive(struct engine *e, struct disk_job *job, bool has_kv)
{
    uint32_t slot = job->slot;
    struct request *r = &e->requests[slot];
    int32_t n = job->n_blocks * job->key.block_tokens;
    if (has_kv) {
        kv_host_move(e->kv, row_of(e, job), slot);
        r->n_host = n;
        r->n_cached = min_i32(n, r->n_prompt);
        e->n_on_host++;
        e->stats[r->service].n_disk_tokens += n;
    } else {
        e->stats[r->service].n_disk_lost++;
    }
    engine_queue_arrive(e, slot);
}

/* ---- Both. ---- */

bool engine_disk_is_leaving(const struct engine *e, int service)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++)
        if (e->disk->jobs[i].state == DISK_LEAVING &&
            e->requests[e->disk->jobs[i].slot].service == service)
            return true;
    return false;
}

bool engine_disk_is_moving(const struct engine *e, int service)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++)
        if (e->disk->jobs[i].state == DISK_READING &&
            e->requests[e->disk->jobs[i].slot].service == service)
            return true;
    return engine_disk_is_leaving(e, service);
}

void engine_disk_drop_all(struct engine *e)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++)
        if (e->disk->jobs[i].state > DISK_LEAVING)
            kv_disk_drop(e->disk->disk, i);
}

bool engine_disk_is_idle(const struct engine *e)
{
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++)
        if (e->disk->jobs[i].state > DISK_LEAVING)
            return false;
    return true;
}

/* Looks at a job that the disk has. Returns when it wants the next look. */
static int64_t look_at(struct engine *e, struct disk_job *job)
{
    int32_t n_done;
    if (kv_disk_ended(e->disk->disk, number_of(e, job), &n_done)) {
        if (job->state == DISK_READING)
            arrive(e, job, n_done == job->n_blocks);
        kv_host_put(e->kv, row_of(e, job));
        set_state(e->disk, job, DISK_FREE);
        return TIME_NEVER;
    }
    if (job->state != DISK_READING)
        return TIME_NEVER;
    if (e->view.now_ns < job->until_ns && e->options.wake == NULL)
        return min_i64(job->until_ns, e->view.now_ns + TIME_NS_PER_MS);
    if (e->view.now_ns < job->until_ns)
        return job->until_ns;
    abandon(e, job);
    arrive(e, job, false);
    return TIME_NEVER;
}

int64_t engine_disk_step(struct engine *e)
{
    struct engine_disk *d = e->disk;
    int64_t wake_ns = TIME_NEVER;
    if (d->n_busy == 0)
        return TIME_NEVER;
    for (int i = 0; i < KV_DISK_JOBS; i++)
        if (d->jobs[i].state > DISK_LEAVING)
            wake_ns = min_i64(wake_ns, look_at(e, &d->jobs[i]));
    begin_leaving(e);
    return wake_ns;
}

void engine_disk_report(const struct engine *e, struct engine_report *report)
{
    struct kv_disk_stats stats;
    if (e->disk == NULL)
        return;
    kv_disk_stats(e->disk->disk, &stats);
    report->disk_bytes = stats.n_bytes;
    report->n_disk_written = stats.n_written;
    report->n_disk_read = stats.n_read;
    report->n_disk_evicted = stats.n_evicted;
    report->n_disk_dropped = stats.n_dropped;
    report->n_disk_failed = stats.n_failed;
}

bool engine_disk_is_sound(const struct engine *e, uint32_t *n_away)
{
    int n_busy = 0;
    for (int i = 0; e->disk != NULL && i < KV_DISK_JOBS; i++) {
        const struct disk_job *job = &e->disk->jobs[i];
        n_busy += job->state != DISK_FREE;
        *n_away += job->state == DISK_LEAVING || job->state == DISK_READING;
        if (job->state == DISK_LEAVING && e->requests[job->slot].state != REQUEST_LEAVING)
            return false;
        if (job->state == DISK_READING && e->requests[job->slot].state != REQUEST_ARRIVING)
            return false;
    }
    return e->disk == NULL || n_busy == e->disk->n_busy;
}
