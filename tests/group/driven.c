/* See driven.h. */
#include "driven.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"

struct driven {
    struct compute_device face;
    struct compute_device *inner;
    struct thread *thread;
    struct lock *lock; /* of the queue */
    struct compute_work *first, *last;
    struct wake wake;
    _Atomic bool is_closing;
};

static struct compute_work *take_first(struct driven *d)
{
    lock_take(d->lock);
    struct compute_work *work = d->first;
    if (work != NULL)
        d->first = work->next;
    lock_put(d->lock);
    return work;
}

static void drive(void *self)
{
    struct driven *d = self;
    while (!atomic_load(&d->is_closing)) {
        struct compute_work *work = take_first(d);
        if (work == NULL) {
            (void)wake_wait(&d->wake, -1);
            wake_clear(&d->wake);
            continue;
        }
        void (*notify)(void *) = work->notify;
        void *arg = work->notify_arg;
        d->inner->begin(d->inner->self, d->inner->lanes[0], work);
        while (d->inner->poll(d->inner->self, work) == COMPUTE_BEGUN)
            time_sleep_ns(20000);
        if (notify != NULL)
            notify(arg);
    }
}

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    struct driven *d = self;
    (void)lane;
    work->next = NULL;
    atomic_store(&work->state, COMPUTE_BEGUN);
    lock_take(d->lock);
    if (d->first == NULL)
        d->first = work;
    else
        d->last->next = work;
    d->last = work;
    lock_put(d->lock);
    wake_up(&d->wake);
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    (void)self;
    return (enum compute_state)atomic_load(&work->state);
}

/* The other functions are the wrapped device's, with its self. */
#define INNER(self) ((struct driven *)(self))->inner

static enum status memory_open(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault)
{
    return INNER(self)->memory_open(INNER(self)->self, options, out, fault);
}
static void memory_close(void *self, struct compute_memory *memory)
{
    INNER(self)->memory_close(INNER(self)->self, memory);
}
static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    return INNER(self)->packed_bytes(INNER(self)->self, tensor);
}
static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    return INNER(self)->pack(INNER(self)->self, tensor, memory, at, fault);
}
static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    return INNER(self)->bind(INNER(self)->self, tensor, memory, at, out, fault);
}
static void unbind(void *self, struct compute_weight *weight)
{
    INNER(self)->unbind(INNER(self)->self, weight);
}
static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    return INNER(self)->workspace_bytes(INNER(self)->self, lane, program, sizes);
}
static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    return INNER(self)->workspace_open(INNER(self)->self, lane, program, sizes, out, fault);
}
static void workspace_close(void *self, struct compute_workspace *workspace)
{
    INNER(self)->workspace_close(INNER(self)->self, workspace);
}

static void close_all(void *self)
{
    struct driven *d = self;
    atomic_store(&d->is_closing, true);
    wake_up(&d->wake);
    thread_join(d->thread);
    wake_close(&d->wake);
    lock_close(d->lock);
    d->inner->close(d->inner->self);
    mem_give(d);
}

struct compute_device *driven_open(struct compute_device *inner)
{
    struct driven *d = mem_take(sizeof *d);
    d->inner = inner;
    d->face = *inner;
    d->face.self = d;
    d->face.memory_open = memory_open;
    d->face.memory_close = memory_close;
    d->face.packed_bytes = packed_bytes;
    d->face.pack = pack;
    d->face.bind = bind;
    d->face.unbind = unbind;
    d->face.workspace_bytes = workspace_bytes;
    d->face.workspace_open = workspace_open;
    d->face.workspace_close = workspace_close;
    d->face.begin = begin;
    d->face.poll = poll;
    d->face.close = close_all;
    d->lock = lock_open();
    wake_open(&d->wake);
    d->thread = thread_start("driven", drive, d);
    return &d->face;
}
