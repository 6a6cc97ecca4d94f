/* Loading: packs a file's tensors for a device and compiles the forward pass. */
#include "run/model.h"

#include "base/hash.h"
#include "base/mem.h"
#include "run/forward.h"

enum { COPY_BYTES = 64 << 20 }; /* between looks at a cancel */

static struct compute_shapes shapes_of(const struct model_spec *spec)
{
    const struct expert_spec *experts = &spec->experts;
    return (struct compute_shapes){
        .experts = { experts->n_experts, experts->n_used, experts->is_scaled_to_one,
                     experts->is_sigmoid, experts->n_groups, experts->n_groups_used,
                     experts->is_group_by_best, experts->scale },
        .has_sinks = spec->has_sinks,
        .has_caps = spec->score_cap > 0 || spec->logit_cap > 0,
        .has_clamped_gates = spec->act == ACT_SWIGLU_CLAMPED,
        .has_latents = spec->latent.rank > 0,
        .output = spec->is_encoder ? COMPUTE_OUTPUT_VECTORS : COMPUTE_OUTPUT_LOGITS,
    };
}

/* n_weights: of the program; they may be bound later. */
static void build_program(struct run_model *model, int n_weights)
{
    const struct model_spec *spec = weights_spec(model->weights);
    const struct model_weights *tensors = weights_model(model->weights);
    int32_t n_ropes = run_forward_ropes(spec), n_frequencies = spec->n_rope_dims / 2;

    model->ops = mem_take(sizeof *model->ops *
                          (size_t)(FORWARD_OPS_PER_LAYER * spec->n_layers + FORWARD_OPS_AROUND));
    model->registers = mem_take(sizeof *model->registers);
    model->inverse_frequencies = mem_take(sizeof(float) * (size_t)(n_ropes * n_frequencies + 1));
    int n_registers = run_forward_registers(spec, model->registers);
    model->program = (struct compute_program){
        .n_ops = run_forward_compile(spec, tensors, model->device->has_vectors, model->ops),
        .ops = model->ops,
        .n_registers = n_registers,
        .widths = model->registers->widths,
        .is_logit_rows = model->registers->is_logit_rows,
        .is_expert_rows = spec->experts.n_experts > 0 ? model->registers->is_expert_rows : NULL,
        .n_weights = n_weights,
        .weights = model->packed.weights,
        .n_heads = spec->n_heads,
        .n_kv_heads = spec->n_kv_heads,
        .head_dim = spec->head_dim,
        .n_rope_dims = spec->n_rope_dims,
        .n_vocabulary = spec->n_vocabulary,
        .n_ropes = n_ropes,
        .shapes = shapes_of(spec),
    };
    for (int i = 0; i < n_ropes; i++) {
        float *frequencies = model->inverse_frequencies + i * n_frequencies;
        float scale = run_forward_frequencies(spec, &tensors->rope_factors, i, frequencies);
        model->program.ropes[i] = (struct compute_rope){ frequencies, scale };
    }
}

static void free_program(struct run_model *model)
{
    mem_give(model->ops);
    mem_give(model->registers);
    mem_give(model->inverse_frequencies);
}

static int64_t tensor_bytes(const struct tensor *tensor)
{
    return tensor->row_bytes * (tensor->is_transposed ? tensor->n_columns : tensor->n_rows);
}

/* Packs tensors in order. The mapped pages of each are released as soon as its packed copy
 * exists. */
static enum status pack_all(struct run_model *model, const struct tensor *const *tensors, int n,
                            const struct run_model_options *options, struct fault *fault)
{
    struct run_progress *progress = options->progress;
    int64_t total = 1, done = 0;
    enum status status =
        compute_packed_open(&model->packed, model->device, tensors, n, options->memory, fault);
    for (int i = 0; i < n; i++)
        total += tensor_bytes(tensors[i]);
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        if (progress && atomic_load(&progress->cancel))
            return fault_set(fault, STATUS_CANCELLED, "loading was cancelled");
        status = compute_packed_add(&model->packed, tensors[i], options->is_packed, fault);
        weights_drop(model->weights, tensors[i]);
        done += tensor_bytes(tensors[i]);
        if (progress)
            atomic_store(&progress->percent, (int)(done * 100 / total));
    }
    model->weights_bytes = model->packed.n_bytes;
    return status;
}

/* The file's tensors in the order of the program's weights. */
struct tensors {
    int n;
    const struct tensor **list;
    struct tensor *copies; /* with their splits, for a device with several ranks */
};

static void free_tensors(struct tensors *tensors)
{
    mem_give(tensors->list);
    mem_give(tensors->copies);
}

/* Says how the device's ranks share the tensors. */
static enum status split(struct tensors *tensors, struct weights *weights,
                         struct compute_device *device, struct fault *fault)
{
    struct run_model model = { .weights = weights, .device = device };
    tensors->copies = mem_take(sizeof(*tensors->copies) * (size_t)tensors->n);
    for (int i = 0; i < tensors->n; i++) {
        tensors->copies[i] = *tensors->list[i];
        tensors->list[i] = &tensors->copies[i];
    }
    build_program(&model, tensors->n);
    enum status status = device->split(device->self, &model.program, tensors->copies, fault);
    free_program(&model);
    return status;
}

/* The caller frees the list, also after a fault. */
static enum status list_tensors(struct weights *weights, struct compute_device *device,
                                struct tensors *out, struct fault *fault)
{
    const struct model_spec *spec = weights_spec(weights);
    int n_max = run_forward_tensors_max(spec);
    *out = (struct tensors){ .list = mem_take(sizeof(*out->list) * (size_t)n_max) };
    out->n = run_forward_tensors(spec, weights_model(weights), out->list, n_max);
    CHECK(out->n <= n_max);
    return device->split != NULL ? split(out, weights, device, fault) : STATUS_OK;
}

static uint64_t hash_arithmetic(const struct run_model *model)
{
    const uint64_t all[] = { weights_hash(model->weights), model->device->arithmetic,
                             (uint64_t)model->kv_dtype, (uint64_t)model->device->n_ranks };
    return hash_fast(all, sizeof all, 0).low;
}

enum status run_model_open(struct run_model *model, struct weights *weights,
                           const struct run_model_options *options, struct fault *fault)
{
    struct tensors tensors = { .n = 0 };
    *model = (struct run_model){ .weights = weights,
                                 .device = options->device,
                                 .kv_dtype = options->kv_dtype };
    const struct compute_device *device = options->device;
    const struct compute_shapes shapes = shapes_of(weights_spec(weights));
    enum status status = compute_shapes_check(
        &shapes, device->name,
        (struct compute_shapes_known){ device->has_experts, device->has_vectors, false }, fault);
    if (status == STATUS_OK)
        status = list_tensors(weights, options->device, &tensors, fault);
    if (status == STATUS_OK)
        status = pack_all(model, tensors.list, tensors.n, options, fault);
    free_tensors(&tensors);
    if (status == STATUS_OK)
        build_program(model, model->packed.n);
    if (status == STATUS_OK)
        model->arithmetic = hash_arithmetic(model);
    model->file = weights_stamp(weights);
    if (status == STATUS_OK && !weights_are_whole(weights))
        status = fault_set(fault, STATUS_IO, "the file changed while it was read");
    if (status != STATUS_OK)
        run_model_close(model);
    return status;
}

/* Copies all bytes of packed weights, piece by piece. */
static bool copy_weights(struct run_model *model, struct compute_memory *to,
                         struct compute_memory *from, struct run_progress *progress)
{
    struct compute_device *device = model->device;
    bool is_well = true;
    for (int64_t at = 0; at < from->n_bytes && is_well; at += COPY_BYTES) {
        int64_t n_bytes = min_i64(COPY_BYTES, from->n_bytes - at);
        is_well = device->memory_copy(device->self, to, from, at, n_bytes);
        if (progress == NULL)
            continue;
        is_well = is_well && !atomic_load(&progress->cancel);
        atomic_store(&progress->percent, (int)((at + n_bytes) * 100 / from->n_bytes));
    }
    return is_well;
}

enum status run_model_sleep(struct run_model *model, struct fault *fault)
{
    struct compute_packed *packed = &model->packed;
    enum status status = compute_packed_sleep_begin(packed, fault);
    if (status != STATUS_OK)
        return status;
    bool is_copied =
        packed->host == NULL || copy_weights(model, packed->host, packed->memory, NULL);
    compute_packed_sleep_end(packed, is_copied);
    return is_copied ? STATUS_OK
                     : fault_set(fault, STATUS_IO, "its weights could not be copied to the host");
}

enum status run_model_wake(struct run_model *model, struct run_progress *progress,
                           struct fault *fault)
{
    struct compute_packed *packed = &model->packed;
    struct tensors tensors;
    enum status status = compute_packed_wake_begin(packed, fault);
    if (status != STATUS_OK)
        return status;
    bool is_copied =
        packed->host == NULL || copy_weights(model, packed->memory, packed->host, progress);
    /* They were split in this way before. */
    CHECK(list_tensors(model->weights, model->device, &tensors, fault) == STATUS_OK);
    status = compute_packed_wake_end(packed, tensors.list, is_copied, fault);
    free_tensors(&tensors);
    if (status != STATUS_OK && progress != NULL && atomic_load(&progress->cancel))
        status = fault_set(fault, STATUS_CANCELLED, "waking was cancelled");
    return status;
}

void run_model_close(struct run_model *model)
{
    compute_packed_close(&model->packed);
    free_program(model);
    weights_close(model->weights);
    *model = (struct run_model){ 0 };
}

int64_t run_model_activation_bytes(const struct run_model *model, int32_t n_rows_max,
                                   int32_t n_logit_rows_max)
{
    const struct compute_sizes sizes = { n_rows_max, n_logit_rows_max };
    const struct compute_device *device = model->device;
    int64_t n_bytes = 0;
    for (int i = 0; i < device->n_lanes; i++)
        n_bytes += device->workspace_bytes(device->self, device->lanes[i], &model->program, sizes);
    return n_bytes;
}

int64_t run_model_packed_bytes(struct weights *weights, struct compute_device *device)
{
    struct tensors tensors;
    /* A model that the ranks can't share is refused when it is loaded. */
    (void)list_tensors(weights, device, &tensors, NULL);
    int64_t n_bytes = compute_packed_bytes(device, tensors.list, tensors.n);
    free_tensors(&tensors);
    return n_bytes;
}

int64_t run_model_peak_bytes(struct weights *weights, struct compute_device *device,
                             int32_t n_rows_max, int32_t n_logit_rows_max)
{
    struct run_model model = { .weights = weights, .device = device };
    build_program(&model, 0);
    int64_t n_bytes = run_model_activation_bytes(&model, n_rows_max, n_logit_rows_max);
    free_program(&model);
    return n_bytes;
}
