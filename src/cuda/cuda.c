/* The CUDA device: its face, weights, and lanes. */
#include "cuda/cuda.h"

#include "base/mem.h"
#include "core/device.h"
#include "cuda/blas.h"
#include "cuda/lane.h"
#include "cuda/workspace.h"

struct cuda {
    struct compute_device face;
    struct cuda_driver *driver;
    struct cuda_load load;
    struct cuda_lane lanes[LIMIT_LANES];
};

/* ---- Memory. ---- */

static enum status memory_open(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    return cuda_object_open(cuda->driver, options, out, fault);
}

static void memory_close(void *self, struct compute_memory *memory)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    cuda_object_close(cuda->driver, memory);
}

static bool memory_back(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    return cuda_object_back(cuda->driver, memory, from, to);
}

static void memory_drop(void *self, struct compute_memory *memory, int64_t from, int64_t to)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    cuda_object_drop(cuda->driver, memory, from, to);
}

/* ---- Weights. ---- */

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    (void)self;
    return cuda_layout_of((int32_t)tensor->dtype, tensor->n_rows, tensor->n_columns).n_bytes;
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    return cuda_load_tensor(&cuda->load, tensor, memory, at, fault);
}

static bool memory_copy(void *self, struct compute_memory *to, struct compute_memory *from,
                        int64_t at, int64_t n_bytes)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    return cuda_load_copy(&cuda->load, (struct cuda_object_part){ to, at },
                          (struct cuda_object_part){ from, at }, n_bytes);
}

/* Bytes that a descriptor keeps are copied to the GPU here. */
static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    struct cuda *cuda = self;
    const struct cuda_object *m = (const struct cuda_object *)memory;
    int64_t n_bytes = packed_bytes(self, tensor);
    CHECK(at % 64 == 0 && at + n_bytes <= memory->n_bytes && !memory->is_host);
    cuda_driver_enter(cuda->driver);
    if (m->host != NULL && !cuda_load_bytes(&cuda->load, m->host->base + at,
                                            (struct cuda_object_part){ memory, at }, n_bytes))
        return fault_set(fault, STATUS_IO, "the GPU was lost while a weight was copied to it");
    struct compute_weight *weight = mem_take(sizeof(*weight));
    weight->matrix = (struct cuda_matrix){ memory->base + at, (int32_t)tensor->dtype,
                                           tensor->n_rows, tensor->n_columns };
    *out = weight;
    return STATUS_OK;
}

static void unbind(void *self, struct compute_weight *weight)
{
    (void)self;
    mem_give(weight);
}

/* ---- Workspaces. ---- */

/* Returns whether cuBLASLt may compute a product of the program. Before the weights are known it
 * returns true if the library is there. */
static bool has_blas(const struct cuda *cuda, const struct compute_program *program)
{
    bool has = cuda->load.blas != NULL && program->weights == NULL;
    for (int i = 0; i < program->n_weights && program->weights != NULL; i++)
        has = has || (cuda->load.blas != NULL && program->weights[i]->matrix.type == CUDA_BF16);
    return has;
}

static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    const struct cuda *cuda = self;
    (void)lane;
    return cuda_workspace_bytes(program, sizes) + (has_blas(cuda, program) ? CUDA_BLAS_BYTES : 0);
}

/* Checks cuBLASLt for each matrix of the program, before the first pass uses it. */
static enum status check_blas(struct cuda *cuda, const struct compute_program *program,
                              const struct cuda_workspace *workspace, struct fault *fault)
{
    for (int i = 0; i < program->n_ops; i++) {
        const struct compute_op *op = &program->ops[i];
        bool is_matrix = op->kind == COMPUTE_MATMUL || op->kind == COMPUTE_LOGITS;
        if (is_matrix &&
            !cuda_blas_check(cuda->load.blas, &cuda->load, &program->weights[op->weight]->matrix,
                             workspace->blas->base))
            return fault_set(fault, STATUS_BUSY,
                             "the GPU has no memory left to check cuBLASLt for this model");
    }
    return STATUS_OK;
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    struct cuda *cuda = self;
    struct cuda_workspace *workspace = NULL;
    (void)lane;
    cuda_driver_enter(cuda->driver);
    enum status status = cuda_workspace_open(&cuda->load, program, sizes, &workspace, fault);
    const struct compute_memory_options space = { .n_bytes = CUDA_BLAS_BYTES };
    if (status == STATUS_OK && has_blas(cuda, program)) {
        status = cuda_object_open(cuda->driver, &space, &workspace->blas, fault);
        if (status == STATUS_OK)
            status = check_blas(cuda, program, workspace, fault);
        if (status != STATUS_OK)
            cuda_workspace_close(&cuda->load, workspace);
    }
    *out = status == STATUS_OK ? &workspace->face : NULL;
    return status;
}

static void workspace_close(void *self, struct compute_workspace *workspace)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    cuda_workspace_close(&cuda->load, (struct cuda_workspace *)workspace);
}

/* ---- Work. ---- */

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    (void)self;
    cuda_lane_begin((struct cuda_lane *)lane, work);
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    (void)self;
    return (enum compute_state)atomic_load(&work->state);
}

static void masks(void *self, struct compute_pass *pass)
{
    struct cuda *cuda = self;
    atomic_store(&pass->has_masks, true);
    for (int i = 0; i < cuda->face.n_lanes; i++)
        wake_up(&cuda->lanes[i].has_work);
}

static void close_all(void *self)
{
    struct cuda *cuda = self;
    cuda_driver_enter(cuda->driver);
    for (int i = 0; i < cuda->face.n_lanes; i++)
        cuda_lane_close(&cuda->lanes[i]);
    cuda_blas_close(cuda->load.blas);
    cuda_load_close(&cuda->load);
    cuda_driver_close(cuda->driver);
    mem_give(cuda);
}

/* Sets the units of processors of each lane; 0: it has the whole GPU. */
static enum status divide(const struct cuda_driver *driver, const struct cuda_options *options,
                          int32_t *n_units, struct fault *fault)
{
    const struct cuda_driver_info *info = cuda_driver_describe(driver);
    int n_parts = options->shares != NULL ? options->n_lanes - 1 : 0;
    if (n_parts > 0 && info->n_units == 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d lanes: this driver does not divide a GPU; 12.4 is needed", n_parts);
    if (n_parts > info->n_units)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d lanes: this GPU has %d partitions of %d processors", n_parts,
                         (int)info->n_units, (int)info->unit_processors);
    if (n_parts > 0)
        device_divide(info->n_units, options->shares, n_parts, n_units + 1);
    return STATUS_OK;
}

static enum status open_lanes(struct cuda *cuda, const struct cuda_options *options,
                              struct fault *fault)
{
    int32_t n_units[LIMIT_LANES] = { 0 }, next = 0;
    enum status status = divide(cuda->driver, options, n_units, fault);
    for (int i = 0; i < options->n_lanes && status == STATUS_OK; i++) {
        const struct cuda_lane_options lane = { .driver = cuda->driver,
                                                .load = &cuda->load,
                                                .index = i,
                                                .first_unit = next,
                                                .n_units = n_units[i],
                                                .has_graphs = !options->is_plain,
                                                .is_strict = options->is_strict };
        status = cuda_lane_open(&cuda->lanes[i], &lane, fault);
        next += n_units[i];
        cuda->face.lanes[i] = &cuda->lanes[i].face;
        cuda->face.n_lanes += status == STATUS_OK;
    }
    return status;
}

static int64_t inputs_bytes(const struct cuda_driver *driver)
{
    int64_t granule = cuda_driver_describe(driver)->granule_bytes;
    return (int64_t)align_up_u64(CUDA_INPUTS_BYTES, (uint64_t)granule);
}

enum status cuda_open(const struct cuda_options *options, struct compute_device **out,
                      struct fault *fault)
{
    CHECK(options->n_lanes > 0 && options->n_lanes <= LIMIT_LANES);
    struct cuda *cuda = mem_take(sizeof(*cuda));
    enum status status = cuda_driver_open(options->index, &cuda->driver, fault);
    if (status != STATUS_OK) {
        mem_give(cuda);
        return status;
    }
    cuda->face = (struct compute_device){
        .self = cuda,
        .name = "cuda",
        .arithmetic = options->is_strict ? COMPUTE_ARITHMETIC_CUDA_STRICT : COMPUTE_ARITHMETIC_CUDA,
        .has_row_classes = !options->is_strict,
        .n_ranks = 1,
        .context_bytes = cuda_driver_describe(cuda->driver)->context_bytes +
                         options->n_lanes * inputs_bytes(cuda->driver),
        .memory_open = memory_open,
        .memory_close = memory_close,
        .memory_back = memory_back,
        .memory_drop = memory_drop,
        .memory_copy = memory_copy,
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
    cuda_driver_enter(cuda->driver);
    status = cuda_load_open(&cuda->load, cuda->driver, fault);
    if (status == STATUS_OK) {
        /* cuBLASLt computes prompt rows alone, and a strict device has none. */
        cuda->load.blas = options->is_strict ? NULL : cuda_blas_open(cuda->driver);
        cuda->face.arithmetic = cuda_blas_arithmetic(cuda->load.blas, cuda->face.arithmetic);
        cuda->face.copy_bytes_per_s = cuda_load_rate(&cuda->load);
        status = open_lanes(cuda, options, fault);
        if (status == STATUS_OK) {
            *out = &cuda->face;
            return STATUS_OK;
        }
        close_all(cuda);
        return status;
    }
    cuda_driver_close(cuda->driver);
    mem_give(cuda);
    return status;
}

int64_t cuda_free_bytes(const struct compute_device *device)
{
    const struct cuda *cuda = device->self;
    const struct cuda_driver_info *info = cuda_driver_describe(cuda->driver);
    return info->memory_bytes - info->context_bytes;
}
