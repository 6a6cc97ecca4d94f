/* The reference device: weights are unpacked to floats, or to integers with a scale and a minimum
 * per sub-block. Work runs in poll, on the calling thread. */
#include "compute/device.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "compute/drawer.h"
#include "compute/host.h"
#include "compute/quant.h"
#include "compute/reference_ops.h"
#include <string.h>

struct reference {
    struct compute_device face;
    struct compute_lane lane;
    struct lock *lock; /* of the queue, and of all that runs */
    struct compute_work *first, *last;
};

#define KNOWN ((struct compute_shapes_known){ true, true, true, true })

/* ---- Weights. ---- */

/* The places of the parts of a packed tensor. Missing parts are empty. */
struct layout {
    int64_t values, scales, minimums, n_bytes;
    int32_t n_sub; /* 0: floats */
};

static struct layout layout_of(const struct tensor *tensor)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    int64_t n = (int64_t)tensor->n_rows * tensor->n_columns;
    if (!info->is_integer || tensor->n_rows == 1)
        return (struct layout){ .n_bytes = n * (int64_t)sizeof(float) };
    unsigned char zeros[512] = { 0 };
    struct quant_block block;
    CHECK(info->block_bytes <= (int32_t)sizeof(zeros));
    quant_block_decode(tensor->dtype, zeros, &block);
    int64_t n_scales = n / block.n_sub * (int64_t)sizeof(float);
    struct layout layout = { .n_sub = block.n_sub };
    layout.scales = (int64_t)align_up_u64((uint64_t)n, 64);
    layout.minimums = layout.scales + n_scales;
    layout.n_bytes = layout.minimums + (block.has_minimum ? n_scales : 0);
    layout.minimums = block.has_minimum ? layout.minimums : 0;
    return layout;
}

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    (void)self;
    return layout_of(tensor).n_bytes;
}

static void unpack_integers(const struct tensor *tensor, const struct layout *layout,
                            unsigned char *to)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    float *scales = (float *)(void *)(to + layout->scales);
    float *minimums = (float *)(void *)(to + layout->minimums);
    int64_t at = 0;
    for (int32_t row = 0; row < tensor->n_rows; row++)
        for (int32_t k = 0; k < tensor->n_columns; k += info->n_block) {
            struct quant_block block;
            unsigned char made[QUANT_MADE_BYTES];
            quant_block_decode(tensor->dtype, quant_block_at(tensor, row, k / info->n_block, made),
                               &block);
            memcpy(to + at, block.values, (size_t)block.n);
            for (int32_t i = 0; i < block.n; i += block.n_sub, at += block.n_sub) {
                scales[at / block.n_sub] = quant_scale(&block, i / block.n_sub);
                if (layout->minimums > 0)
                    minimums[at / block.n_sub] = quant_minimum(&block, i / block.n_sub);
            }
        }
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    (void)self;
    if (tensor->n_columns % info->n_block != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "a row of %d is not a multiple of %s's blocks",
                         tensor->n_columns, info->name);
    struct layout layout = layout_of(tensor);
    CHECK(at % 64 == 0 && at + layout.n_bytes <= memory->n_bytes);
    unsigned char *to = memory->base + at;
    if (layout.n_sub > 0)
        unpack_integers(tensor, &layout, to);
    for (int32_t row = 0; row < tensor->n_rows && layout.n_sub == 0; row++)
        quant_row_to_float(tensor, row, (float *)(void *)to + (int64_t)row * tensor->n_columns);
    return STATUS_OK;
}

static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    const struct reference *r = self;
    struct layout layout = layout_of(tensor);
    (void)fault;
    CHECK(at % 64 == 0 && at + layout.n_bytes <= memory->n_bytes);
    unsigned char *base = memory->base + at;
    struct compute_weight *weight = mem_take(sizeof(*weight));
    *weight = (struct compute_weight){
        .dtype = tensor->dtype,
        .n_rows = tensor->n_rows,
        .n_columns = tensor->n_columns,
        .n_sub = layout.n_sub,
        .is_tiled = r->face.arithmetic == COMPUTE_ARITHMETIC_CPU_TILES && tensor->n_rows > 1 &&
                    (tensor->dtype == DTYPE_F16 || tensor->dtype == DTYPE_BF16),
    };
    if (layout.n_sub == 0)
        weight->floats = (const float *)(void *)base;
    else {
        weight->values = (const int8_t *)base;
        weight->scales = (const float *)(void *)(base + layout.scales);
    }
    if (layout.minimums > 0)
        weight->minimums = (const float *)(void *)(base + layout.minimums);
    *out = weight;
    return STATUS_OK;
}

static void unbind(void *self, struct compute_weight *weight)
{
    (void)self;
    mem_give(weight);
}

/* ---- Workspaces: registers, then logits. ---- */

struct workspace {
    struct compute_workspace face;
    struct compute_drawer drawer;
    int64_t at_logits;
};

static int64_t logits_at(const struct compute_program *program, struct compute_sizes sizes)
{
    int64_t n = compute_reference_ops_bytes(program, sizes.n_rows, sizes.n_logit_rows);
    return (int64_t)align_up_u64((uint64_t)n, 64);
}

static int64_t memory_bytes(const struct compute_program *program, struct compute_sizes sizes)
{
    int64_t n_logits = program->rank == NULL ? sizes.n_logit_rows : 0; /* the ranks share theirs */
    return logits_at(program, sizes) + (int64_t)sizeof(float) * n_logits * program->n_vocabulary;
}

static struct compute_drawer_sizes drawer_sizes(const struct compute_program *program,
                                                struct compute_sizes sizes)
{
    return (struct compute_drawer_sizes){ 1, sizes.n_rows, sizes.n_logit_rows,
                                          program->n_vocabulary, program->rank };
}

static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    (void)self;
    (void)lane;
    return memory_bytes(program, sizes) + compute_drawer_bytes(drawer_sizes(program, sizes));
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    const struct compute_memory_options options = { .n_bytes = memory_bytes(program, sizes) };
    struct compute_memory *memory;
    (void)lane;
    enum status status = compute_shapes_check(&program->shapes, "reference", KNOWN, fault);
    if (status == STATUS_OK)
        status = compute_host_open(self, &options, &memory, fault);
    if (status != STATUS_OK)
        return status;
    struct workspace *w = mem_take(sizeof(*w));
    w->face = (struct compute_workspace){ memory, sizes };
    w->at_logits = logits_at(program, sizes);
    compute_drawer_open(&w->drawer, &compute_draw_plain, drawer_sizes(program, sizes));
    *out = &w->face;
    return STATUS_OK;
}

static void workspace_close(void *self, struct compute_workspace *face)
{
    struct workspace *w = (struct workspace *)face;
    if (w == NULL)
        return;
    compute_drawer_close(&w->drawer);
    compute_host_close(self, w->face.memory);
    mem_give(w);
}

/* ---- Work. ---- */

static enum compute_state run_pass(const struct compute_pass *given)
{
    struct workspace *w = (struct workspace *)given->workspace;
    struct compute_pass pass = *given;
    float *logits = pass.logits;
    if (!compute_shapes_are_plain(&pass.shapes, KNOWN))
        return COMPUTE_FAILED;
    CHECK(pass.n_rows <= w->face.sizes.n_rows && pass.n_logit_rows <= w->face.sizes.n_logit_rows);
    if (logits == NULL)
        logits = (float *)(void *)(w->face.memory->base + w->at_logits);
    pass.ids = compute_drawer_ids(&w->drawer, given);
    pass.kv.base = pass.kv.memory != NULL ? pass.kv.memory->base : NULL;
    if (pass.ids == NULL ||
        !compute_reference_ops_run(pass.program, &pass, w->face.memory->base, logits) ||
        !compute_drawer_meet(&w->drawer, &pass))
        return COMPUTE_LOST;
    if (!compute_draws(pass.program))
        return COMPUTE_DONE;
    for (int32_t row = 0; row < pass.n_logit_rows && pass.asks != NULL; row++)
        compute_drawer_row(&w->drawer, 0, &pass, row, row + 1, logits);
    compute_drawer_end(&w->drawer, &pass);
    return COMPUTE_DONE;
}

static bool lacks_masks(const struct compute_work *work)
{
    const struct compute_pass *pass = (const struct compute_pass *)(const void *)work;
    return work->kind == COMPUTE_WORK_PASS && pass->has_late_masks &&
           !atomic_load(&pass->has_masks);
}

static void run(struct compute_work *work)
{
    enum compute_state state = COMPUTE_DONE;
    work->begin_ns = time_now_ns();
    if (work->kind == COMPUTE_WORK_PASS)
        state = run_pass((const struct compute_pass *)(const void *)work);
    else
        state = compute_host_copy((const struct compute_copy *)(const void *)work);
    do
        work->end_ns = time_now_ns();
    while (work->end_ns - work->begin_ns < work->ns_least);
    atomic_store(&work->state, state);
}

static void notify(const struct compute_work *work)
{
    if (work->notify != NULL)
        work->notify(work->notify_arg);
}

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    struct reference *r = self;
    (void)lane;
    work->next = NULL;
    if (work->kind == COMPUTE_WORK_PASS)
        atomic_store(&((struct compute_pass *)(void *)work)->has_masks, false);
    atomic_store(&work->state, COMPUTE_BEGUN);
    lock_take(r->lock);
    if (r->first == NULL)
        r->first = work;
    else
        r->last->next = work;
    r->last = work;
    lock_put(r->lock);
    notify(work);
}

/* Runs all work up to this one, but stops before a pass that lacks its masks. */
static enum compute_state poll(void *self, struct compute_work *work)
{
    struct reference *r = self;
    lock_take(r->lock);
    while (atomic_load(&work->state) == COMPUTE_BEGUN && !lacks_masks(r->first)) {
        struct compute_work *first = r->first;
        r->first = first->next;
        run(first);
    }
    lock_put(r->lock);
    return (enum compute_state)atomic_load(&work->state);
}

static void masks(void *self, struct compute_pass *pass)
{
    (void)self;
    atomic_store(&pass->has_masks, true);
    notify(&pass->work);
}

static void reference_close(void *self)
{
    struct reference *r = self;
    lock_close(r->lock);
    mem_give(r);
}

struct compute_device *compute_reference_open(uint32_t arithmetic)
{
    struct reference *r = mem_take(sizeof(*r));
    r->lock = lock_open();
    r->lane = (struct compute_lane){ .n_members = 1, .depth = 2 };
    r->face = (struct compute_device){
        .self = r,
        .name = "reference",
        .arithmetic = arithmetic,
        .n_ranks = 1,
        .has_experts = true,
        .has_vectors = true,
        .has_adapters = true,
        .n_lanes = 1,
        .lanes = { &r->lane },
        .memory_open = compute_host_open,
        .memory_close = compute_host_close,
        .memory_back = compute_host_back,
        .memory_drop = compute_host_drop,
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
        .close = reference_close,
    };
    return &r->face;
}
