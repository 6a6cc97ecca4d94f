/* The late device: see late.h. */
#include "late.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PATIENCE = 3, QUEUE_MAX = 256, GARBAGE = 0x3A };

struct entry {
    struct compute_work *work;
    uint64_t hash; /* of all that it points to */
    uint32_t patience;
};
struct late_lane {
    struct compute_lane face;
    struct compute_lane *inner;
    struct entry queue[QUEUE_MAX];
    int n;
};
struct late {
    struct compute_device face;
    struct compute_device *inner;
    struct lock *lock;
    struct rng rng;
    struct late_lane lanes[LIMIT_LANES];
    bool has_row_classes;
    uint32_t fail_one_of;
    int64_t n_works, n_until_lost; /* negative: never */
};
struct late_memory {
    struct compute_memory face;
    struct compute_memory *inner;
    int fd;
};
struct late_workspace {
    struct compute_workspace face;
    struct compute_workspace *inner;
    int32_t *last; /* (sizes.n_logit_rows) drawn by the pass before */
};

static struct late *late_of(const struct compute_device *device)
{
    return device->self;
}

/* ---- Memory. ---- */

static size_t page_bytes(int64_t n_bytes)
{
    return (size_t)align_up_u64((uint64_t)max_i64(n_bytes, 1), PAGE_BYTES);
}

static void protect(const struct late_memory *memory, int64_t from, int64_t to, int access)
{
    if (from < to)
        CHECK(mprotect(memory->inner->base + from, (size_t)(to - from), access) == 0);
}

static enum status memory_open(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault)
{
    struct late *late = self;
    struct compute_memory_options inner = *options;
    struct late_memory *memory = mem_take(sizeof(*memory));
    memory->fd = options->has_fd ? dup(options->fd) : memfd_create("late", 0);
    CHECK(memory->fd >= 0);
    inner.has_fd = true;
    inner.fd = memory->fd;
    CHECK(options->has_fd || ftruncate(memory->fd, (off_t)page_bytes(options->n_bytes)) == 0);
    enum status status = late->inner->memory_open(late->inner->self, &inner, &memory->inner, fault);
    if (status != STATUS_OK) {
        close(memory->fd);
        mem_give(memory);
        return status;
    }
    memory->face = (struct compute_memory){ memory->inner->base, options->n_bytes, true };
    if (!options->is_host) {
        void *p = mmap(NULL, page_bytes(options->n_bytes), PROT_NONE, MAP_SHARED, memory->fd, 0);
        CHECK(p != MAP_FAILED);
        memory->face.base = p;
        memory->face.is_host = false;
    }
    if (options->is_reserved)
        protect(memory, 0, (int64_t)page_bytes(options->n_bytes), PROT_NONE);
    *out = &memory->face;
    return STATUS_OK;
}

static void memory_close(void *self, struct compute_memory *face)
{
    struct late *late = self;
    struct late_memory *memory = (struct late_memory *)face;
    if (memory == NULL)
        return;
    if (!face->is_host)
        CHECK(munmap(face->base, page_bytes(face->n_bytes)) == 0);
    late->inner->memory_close(late->inner->self, memory->inner);
    close(memory->fd);
    mem_give(memory);
}

static bool memory_back(void *self, struct compute_memory *face, int64_t from, int64_t to)
{
    (void)self;
    CHECK(from >= 0 && from <= to && to <= face->n_bytes);
    protect((struct late_memory *)face, from & ~(int64_t)(PAGE_BYTES - 1),
            to > from ? (int64_t)page_bytes(to) : 0, PROT_READ | PROT_WRITE);
    return true;
}

static void memory_drop(void *self, struct compute_memory *face, int64_t from, int64_t to)
{
    const struct late_memory *memory = (struct late_memory *)face;
    int64_t first = (int64_t)align_up_u64((uint64_t)from, PAGE_BYTES);
    int64_t end = to & ~(int64_t)(PAGE_BYTES - 1);
    (void)self;
    CHECK(from >= 0 && from <= to && to <= face->n_bytes);
    if (first >= end)
        return;
    CHECK(fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, end - first) ==
          0);
    protect(memory, first, end, PROT_NONE);
}

unsigned char *late_private(struct compute_device *device, const struct compute_memory *memory)
{
    return late_is(device) ? ((const struct late_memory *)memory)->inner->base : memory->base;
}

static struct compute_memory *inner_of(const struct compute_memory *memory)
{
    return memory != NULL ? ((const struct late_memory *)memory)->inner : NULL;
}

/* ---- Weights and workspaces. ---- */

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    struct late *late = self;
    return late->inner->packed_bytes(late->inner->self, tensor);
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    struct late *late = self;
    return late->inner->pack(late->inner->self, tensor, inner_of(memory), at, fault);
}

static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    struct late *late = self;
    return late->inner->bind(late->inner->self, tensor, inner_of(memory), at, out, fault);
}

static void unbind(void *self, struct compute_weight *weight)
{
    struct late *late = self;
    late->inner->unbind(late->inner->self, weight);
}

static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    struct late *late = self;
    return late->inner->workspace_bytes(late->inner->self, ((const struct late_lane *)lane)->inner,
                                        program, sizes);
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    struct late *late = self;
    struct late_workspace *w = mem_take(sizeof(*w));
    enum status status = late->inner->workspace_open(
        late->inner->self, ((struct late_lane *)lane)->inner, program, sizes, &w->inner, fault);
    if (status != STATUS_OK) {
        mem_give(w);
        return status;
    }
    w->face.sizes = sizes;
    w->last = mem_take(sizeof(*w->last) * (size_t)sizes.n_logit_rows);
    *out = &w->face;
    return STATUS_OK;
}

static void workspace_close(void *self, struct compute_workspace *face)
{
    struct late *late = self;
    late->inner->workspace_close(late->inner->self, ((struct late_workspace *)face)->inner);
    mem_give(((struct late_workspace *)face)->last);
    mem_give(face);
}

/* ---- What work points to. ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    return n > 0 && bytes != NULL ? hash_fast(bytes, n, hash).low : hash;
}

static uint64_t hash_tables(uint64_t hash, const struct compute_pass *pass)
{
    const struct compute_kv *kv = &pass->kv;
    int32_t n_tables = kv->is_by_head ? kv->n_layers * kv->n_kv_heads : 1;
    for (int32_t i = 0; i < pass->n_sequences; i++) {
        const struct compute_sequence *s = &pass->sequences[i];
        size_t n = (size_t)div_up_i64(s->n_before + s->n_rows, kv->block_tokens);
        for (int32_t t = 0; t < n_tables; t++)
            hash = mix(hash, s->blocks + (size_t)t * s->stride, n * sizeof(*s->blocks));
    }
    return hash;
}

static uint64_t hash_pass(const struct compute_pass *pass)
{
    size_t n_rows = (size_t)pass->n_rows, n_logits = (size_t)pass->n_logit_rows;
    uint64_t hash = mix(1, pass->ids, n_rows * sizeof(*pass->ids));
    hash = mix(hash, pass->classes, n_rows);
    hash = mix(hash, pass->positions, n_rows * sizeof(*pass->positions));
    hash = mix(hash, pass->logit_rows, n_logits * sizeof(*pass->logit_rows));
    hash = mix(hash, pass->sequences, (size_t)pass->n_sequences * sizeof(*pass->sequences));
    hash = hash_tables(hash, pass);
    for (int32_t i = 0; i < pass->n_logit_rows && pass->asks != NULL; i++) {
        const struct compute_ask *ask = &pass->asks[i];
        hash = mix(hash, ask, offsetof(struct compute_ask, mask));
        hash = mix(hash, ask->tokens, (size_t)ask->n_tokens * sizeof(*ask->tokens));
        hash = mix(hash, ask->body, ask->body != NULL ? sizeof(*ask->body) : 0);
    }
    return hash;
}

static uint64_t hash_work(const struct compute_work *work)
{
    const struct compute_copy *copy = (const struct compute_copy *)(const void *)work;
    if (work->kind == COMPUTE_WORK_PASS)
        return hash_pass((const struct compute_pass *)(const void *)work);
    return mix(2, copy->parts, (size_t)copy->n_parts * sizeof(*copy->parts));
}

/* ---- Work. ---- */

static void notify(const struct compute_work *work)
{
    if (work->notify != NULL)
        work->notify(work->notify_arg);
}

static void begin(void *self, struct compute_lane *face, struct compute_work *work)
{
    struct late *late = self;
    struct late_lane *lane = (struct late_lane *)face;
    struct compute_pass *pass = work->kind == COMPUTE_WORK_PASS ? (void *)work : NULL;
    lock_take(late->lock);
    CHECK(lane->n < QUEUE_MAX);
    lane->queue[lane->n++] =
        (struct entry){ work, hash_work(work), rng_below(&late->rng, PATIENCE + 1) };
    if (pass != NULL) {
        atomic_store(&pass->has_masks, false);
        for (int32_t i = 0; i < pass->n_logit_rows && pass->asks != NULL; i++) {
            pass->drawn[i] = -GARBAGE;
            if (pass->asks[i].logprobs != NULL)
                memset(pass->asks[i].logprobs, GARBAGE, sizeof(*pass->asks[i].logprobs));
        }
    }
    atomic_store(&work->state, COMPUTE_BEGUN);
    lock_put(late->lock);
    notify(work);
}

static bool lacks_masks(const struct late_lane *lane)
{
    const struct compute_pass *pass = (const void *)lane->queue[0].work;
    return pass->work.kind == COMPUTE_WORK_PASS && pass->has_late_masks &&
           !atomic_load(&pass->has_masks);
}

static bool memory_copy(void *self, struct compute_memory *to, struct compute_memory *from,
                        int64_t at, int64_t n_bytes)
{
    (void)self;
    CHECK(at >= 0 && n_bytes >= 0 && at + n_bytes <= min_i64(to->n_bytes, from->n_bytes));
    memcpy(inner_of(to)->base + at, inner_of(from)->base + at, (size_t)n_bytes);
    return true;
}

static enum compute_state run_copy(struct late *late, struct late_lane *lane,
                                   const struct compute_copy *copy)
{
    struct compute_copy inner = *copy;
    inner.from = inner_of(copy->from);
    inner.to = inner_of(copy->to);
    return compute_device_wait(late->inner, lane->inner, &inner.work);
}

/* Returns the ids with which a device of two classes computes: generated rows take the next one. */
static int32_t *other_ids(const struct compute_pass *pass)
{
    const struct late_workspace *w = (const struct late_workspace *)pass->workspace;
    int32_t *ids = mem_take(sizeof(*ids) * (size_t)pass->n_rows);
    for (int32_t i = 0; i < pass->n_rows; i++) {
        int32_t id = pass->ids[i];
        if (id < 0)
            id = w->last[compute_drawn(id)];
        if (pass->classes != NULL && pass->classes[i] == COMPUTE_ROW_GENERATED)
            id = (id + 1) % pass->program->n_vocabulary;
        ids[i] = id;
    }
    return ids;
}

static enum compute_state run_pass(struct late *late, struct late_lane *lane,
                                   const struct compute_pass *pass)
{
    struct compute_pass inner = *pass;
    inner.workspace = ((struct late_workspace *)pass->workspace)->inner;
    inner.kv.memory = inner_of(pass->kv.memory);
    inner.has_late_masks = false;
    int32_t *ids = late->has_row_classes ? other_ids(pass) : NULL;
    if (ids != NULL)
        inner.ids = ids;
    enum compute_state state = compute_device_wait(late->inner, lane->inner, &inner.work);
    mem_give(ids);
    if (pass->asks != NULL)
        memcpy(((struct late_workspace *)pass->workspace)->last, pass->drawn,
               sizeof(*pass->drawn) * (size_t)pass->n_logit_rows);
    return state;
}

/* Runs what is first in the lane. */
static void run_first(struct late *late, struct late_lane *lane)
{
    struct entry entry = lane->queue[0];
    struct compute_work *work = entry.work;
    enum compute_state state = COMPUTE_DONE;
    lane->n--;
    memmove(lane->queue, lane->queue + 1, (size_t)lane->n * sizeof(*lane->queue));
    CHECK(hash_work(work) == entry.hash); /* what it points to must not have changed */
    late->n_works++;
    work->begin_ns = time_now_ns();
    if (late->n_until_lost == 0)
        state = COMPUTE_LOST;
    else if (late->fail_one_of > 0 && late->n_works % late->fail_one_of == 0)
        state = COMPUTE_FAILED;
    else if (work->kind == COMPUTE_WORK_PASS)
        state = run_pass(late, lane, (const void *)work);
    else
        state = run_copy(late, lane, (const void *)work);
    if (late->n_until_lost > 0)
        late->n_until_lost--;
    work->end_ns = time_now_ns();
    atomic_store(&work->state, state);
}

/* One lane of those that can go on; NULL: there is none. */
static struct late_lane *any_lane(struct late *late)
{
    struct late_lane *ready[LIMIT_LANES];
    uint32_t n = 0;
    for (int i = 0; i < late->face.n_lanes; i++)
        if (late->lanes[i].n > 0 && !lacks_masks(&late->lanes[i]))
            ready[n++] = &late->lanes[i];
    return n > 0 ? ready[rng_below(&late->rng, n)] : NULL;
}

static struct entry *entry_of(struct late *late, const struct compute_work *work)
{
    for (int i = 0; i < late->face.n_lanes; i++)
        for (int k = 0; k < late->lanes[i].n; k++)
            if (late->lanes[i].queue[k].work == work)
                return &late->lanes[i].queue[k];
    return NULL;
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    struct late *late = self;
    struct late_lane *lane;
    bool is_patient;
    lock_take(late->lock);
    struct entry *entry = entry_of(late, work);
    is_patient = entry != NULL && entry->patience > 0;
    if (is_patient)
        entry->patience--;
    while (!is_patient && entry_of(late, work) != NULL && (lane = any_lane(late)) != NULL)
        run_first(late, lane);
    lock_put(late->lock);
    enum compute_state state = (enum compute_state)atomic_load(&work->state);
    if (is_patient)
        notify(work); /* so that it is polled again */
    return state;
}

static void masks(void *self, struct compute_pass *pass)
{
    (void)self;
    atomic_store(&pass->has_masks, true);
    notify(&pass->work);
}

static void close_all(void *self)
{
    struct late *late = self;
    late->inner->close(late->inner->self);
    lock_close(late->lock);
    mem_give(late);
}

struct compute_device *late_open(struct compute_device *inner, uint64_t seed)
{
    struct late *late = mem_take(sizeof(*late));
    late->inner = inner;
    late->lock = lock_open();
    late->n_until_lost = -1;
    rng_init(&late->rng, seed, 0);
    late->face = (struct compute_device){
        .self = late,
        .name = "late",
        .arithmetic = inner->arithmetic,
        .n_ranks = inner->n_ranks,
        .has_row_classes = inner->has_row_classes,
        .has_experts = inner->has_experts,
        .has_vectors = inner->has_vectors,
        .has_adapters = inner->has_adapters,
        .n_lanes = inner->n_lanes,
        .memory_open = memory_open,
        .memory_copy = memory_copy,
        .memory_close = memory_close,
        .memory_back = memory_back,
        .memory_drop = memory_drop,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .bind = bind,
        .unbind = unbind,
        .workspace_bytes = workspace_bytes,
        .workspace_open = workspace_open,
        .workspace_close = workspace_close,
        .begin = begin,
        .poll = poll,
        .masks = masks,
        .close = close_all,
    };
    for (int i = 0; i < inner->n_lanes; i++) {
        late->lanes[i].face = *inner->lanes[i];
        late->lanes[i].inner = inner->lanes[i];
        late->face.lanes[i] = &late->lanes[i].face;
    }
    return &late->face;
}

bool late_is(const struct compute_device *device)
{
    return device->poll == poll;
}

bool late_is_wanted(void)
{
    const char *text = getenv("SHOAL_TEST_DEVICE");
    return text != NULL && strcmp(text, "late") == 0;
}

struct compute_device *late_or_plain(struct compute_device *inner)
{
    return late_is_wanted() ? late_open(inner, 7) : inner;
}

void late_tell_classes_apart(struct compute_device *device)
{
    late_of(device)->has_row_classes = device->has_row_classes = true;
}

void late_fail(struct compute_device *device, uint32_t one_of)
{
    late_of(device)->fail_one_of = one_of;
}

void late_lose(struct compute_device *device, int64_t n_works)
{
    late_of(device)->n_until_lost = n_works;
}

int64_t late_n_works(const struct compute_device *device)
{
    return late_of(device)->n_works;
}
