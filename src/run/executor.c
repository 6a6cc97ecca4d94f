/* The real executor: its lanes, and the memory that they share. */
#include "run/executor.h"

#include "base/mem.h"
#include "base/pace.h"
#include "base/time.h"
#include "base/wake.h"
#include "kv/host.h"
#include "run/guides.h"
#include <stdio.h>

struct run_executor {
    struct run_lane_shared shared;
    struct compute_device *device;
    struct wake done_wake;
    struct pace engine_pace; /* for the engine's thread */
    char name[16];
    int32_t n_rows_max; /* of a pass */
    int n_lanes;
    struct run_lane *lanes; /* (n_lanes) */
};

/* ---- Memory of the pool. ---- */

static bool back(void *self, int64_t from, int64_t to)
{
    struct run_executor *x = self;
    return x->shared.pool != NULL &&
           x->device->memory_back(x->device->self, x->shared.pool, from, to);
}

static void drop(void *self, int64_t from, int64_t to)
{
    struct run_executor *x = self;
    if (x->shared.pool != NULL)
        x->device->memory_drop(x->device->self, x->shared.pool, from, to);
}

/* Returns NULL when there is no memory. */
static struct compute_memory *open_memory(struct run_executor *x, int64_t n_bytes, bool is_host)
{
    const struct compute_memory_options options = { .n_bytes = n_bytes,
                                                    .is_host = is_host,
                                                    .is_reserved = true };
    struct compute_memory *memory;
    if (x->device->memory_open(x->device->self, &options, &memory, NULL) != STATUS_OK)
        return NULL;
    return memory;
}

static void close_memories(struct run_executor *x)
{
    if (x->shared.pool != NULL)
        x->device->memory_close(x->device->self, x->shared.pool);
    if (x->shared.host != NULL)
        x->device->memory_close(x->device->self, x->shared.host);
    x->shared.pool = x->shared.host = NULL;
}

static bool open_memories(struct run_executor *x)
{
    int64_t host_bytes = kv_host_bytes(x->shared.view.kv);
    const struct kv_memory memory = { x, back, drop };
    x->shared.pool = open_memory(x, kv_range_bytes(x->shared.view.kv), false);
    if (x->shared.pool == NULL || !kv_lend(x->shared.view.kv, &memory))
        return false;
    if (host_bytes == 0)
        return true;
    x->shared.host = open_memory(x, host_bytes, true);
    return x->shared.host != NULL &&
           x->device->memory_back(x->device->self, x->shared.host, 0, host_bytes);
}

/* Called at startup: without this memory there is no engine. */
static void attach(void *self, const struct engine_exec_view *view)
{
    struct run_executor *x = self;
    CHECK(x->shared.pool == NULL);
    x->shared.view = *view;
    if (!open_memories(x))
        mem_refuse((size_t)(kv_range_bytes(view->kv) + kv_host_bytes(view->kv)));
}

struct compute_device *run_executor_drop_device(struct run_executor *x)
{
    struct compute_device *device = x->device;
    if (device != NULL)
        close_memories(x);
    x->device = NULL;
    for (int i = 0; i < x->n_lanes; i++)
        x->lanes[i].options.device = NULL;
    return device;
}

enum status run_executor_take_device(struct run_executor *x, struct compute_device *device,
                                     struct fault *fault)
{
    CHECK(x->device == NULL);
    if (device->n_lanes != x->n_lanes)
        return fault_set(fault, STATUS_UNSUPPORTED, "the device had %d lanes and now has %d",
                         x->n_lanes, device->n_lanes);
    x->device = device;
    for (int i = 0; i < x->n_lanes; i++)
        x->lanes[i].options.device = device;
    if (open_memories(x))
        return STATUS_OK;
    (void)run_executor_drop_device(x);
    return fault_set(fault, STATUS_TOO_LARGE, "the device has no memory for the KV cache");
}

/* ---- The contract, on the engine's thread. ---- */

static void notify(void *arg)
{
    wake_up(arg);
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct run_executor *x = self;
    CHECK(batches[0].lane < x->n_lanes);
    if (x->engine_pace.part[0] == '\0')
        pace_begin(&x->engine_pace, x->name);
    run_lane_begin(&x->lanes[batches[0].lane], batches, n_batches, n_rounds);
}

static void cut(void *self, uint16_t lane)
{
    struct run_executor *x = self;
    run_lane_cut(&x->lanes[lane]);
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct run_executor *x = self;
    wake_clear(&x->done_wake);
    for (int i = 0; i < x->n_lanes; i++) {
        if (!run_lane_poll(&x->lanes[i], done))
            continue;
        (void)pace_due(&x->engine_pace, done->end_ns, "the engine noticed a batch's end later by");
        return true;
    }
    return false;
}

static int wait_fd(void *self)
{
    return ((struct run_executor *)self)->done_wake.fd;
}

static int64_t next_ns(void *self)
{
    (void)self;
    return TIME_NEVER;
}

static uint64_t arithmetic(void *self, int service)
{
    const struct run_model *model = ((struct run_executor *)self)->shared.models[service];
    return model != NULL ? model->arithmetic : 0;
}

static uint64_t file(void *self, int service)
{
    const struct run_model *model = ((struct run_executor *)self)->shared.models[service];
    return model != NULL ? model->file : 0;
}

static unsigned char *host(void *self)
{
    struct run_executor *x = self;
    return x->shared.host != NULL ? x->shared.host->base : NULL;
}

struct engine_exec run_executor_exec(struct run_executor *executor)
{
    return (struct engine_exec){ .self = executor,
                                 .attach = attach,
                                 .begin = begin,
                                 .cut = cut,
                                 .poll = poll,
                                 .wait_fd = wait_fd,
                                 .next_ns = next_ns,
                                 .arithmetic = arithmetic,
                                 .host = host,
                                 .file = file,
                                 .has_row_classes = executor->device->has_row_classes,
                                 .has_vectors = executor->device->has_vectors,
                                 .n_rows_max = executor->n_rows_max };
}

struct run_executor *run_executor_open(const struct run_lane_options *options)
{
    struct run_executor *x = mem_take(sizeof *x);
    x->device = options->device;
    x->n_rows_max = options->n_rows_max;
    x->n_lanes = options->device->n_lanes;
    x->lanes = mem_take((size_t)x->n_lanes * sizeof *x->lanes);
    wake_open(&x->done_wake);
    snprintf(x->name, sizeof x->name, "engine-%d", options->id % 1000);
    x->shared.guides = run_guides_open(options->grammars);
    x->shared.notify = notify;
    x->shared.notify_arg = &x->done_wake;
    for (int i = 0; i < x->n_lanes; i++)
        run_lane_open(&x->lanes[i], options, i, &x->shared);
    return x;
}

void run_executor_close(struct run_executor *x)
{
    for (int i = 0; i < x->n_lanes; i++)
        while (!run_lane_end(&x->lanes[i])) {
            (void)wake_wait(&x->done_wake, -1);
            wake_clear(&x->done_wake);
        }
    for (int i = 0; i < x->n_lanes; i++)
        run_lane_close(&x->lanes[i]);
    if (x->device != NULL)
        close_memories(x);
    run_guides_close(x->shared.guides);
    wake_close(&x->done_wake);
    mem_give(x->lanes);
    mem_give(x);
}

enum status run_executor_put_model(struct run_executor *x, int service,
                                   const struct run_model *model, struct fault *fault)
{
    enum status status = STATUS_OK;
    CHECK(!x->shared.models[service]);
    for (int i = 0; i < x->n_lanes && status == STATUS_OK; i++)
        status = run_lane_put_model(&x->lanes[i], service, model, fault);
    if (status == STATUS_OK)
        x->shared.models[service] = model;
    else
        run_executor_remove_model(x, service);
    return status;
}

void run_executor_hold_steady(struct run_executor *x, int service, const struct perf *perf)
{
    x->shared.steady[service] = *perf;
}

void run_executor_remove_model(struct run_executor *x, int service)
{
    for (int i = 0; i < x->n_lanes; i++)
        run_lane_remove_model(&x->lanes[i], service);
    run_guides_remove(x->shared.guides, service);
    x->shared.models[service] = NULL;
}

void run_executor_put_tokenizer(struct run_executor *x, int service,
                                const struct tokenizer *tokenizer)
{
    const struct run_model *model = x->shared.models[service];
    run_guides_put(x->shared.guides, service, tokenizer,
                   weights_spec(model->weights)->n_vocabulary);
}

int64_t run_executor_chained(const struct run_executor *x)
{
    int64_t n = 0;
    for (int i = 0; i < x->n_lanes; i++)
        n += x->lanes[i].n_chained;
    return n;
}

int64_t run_executor_pad_rows(const struct run_executor *x)
{
    int64_t n = 0;
    for (int i = 0; i < x->n_lanes; i++)
        n += x->lanes[i].n_pad_rows;
    return n;
}
