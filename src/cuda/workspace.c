/* The memory on the GPU that one program runs in: see workspace.h. */
#include "cuda/workspace.h"

#include "base/mem.h"
#include <string.h>

/* Attention splits a context into pieces. Rows go in groups whose pieces fit into this many
 * bytes. The scratch grows for a row whose own pieces do not fit. */
enum { SCRATCH_BYTES = 8 << 20, USUAL_POSITIONS = 4096 };

static int64_t take(struct cuda_workspace_layout *layout, int64_t n_bytes)
{
    int64_t at = layout->n_bytes;
    layout->n_bytes += (int64_t)align_up_u64((uint64_t)n_bytes, 256);
    return at;
}

/* The most that any kind of preparation takes for a register. */
static int64_t prepared_bytes(const struct compute_program *program, struct compute_sizes sizes)
{
    int64_t most = 0;
    for (int i = 0; i < program->n_registers; i++) {
        int32_t n_rows = program->is_logit_rows[i] ? sizes.n_logit_rows : sizes.n_rows;
        for (int kind = 0; kind < CUDA_PREPARED_KINDS; kind++)
            most = max_i64(most, (int64_t)cuda_matrix_prepared_bytes((enum cuda_prepared)kind,
                                                                     n_rows, program->widths[i]));
    }
    return most;
}

static void plan(const struct compute_program *program, struct compute_sizes sizes,
                 struct cuda_workspace_layout *layout)
{
    int64_t n_rows = sizes.n_rows, n_logits = sizes.n_logit_rows;
    int64_t logit_bytes = n_logits * program->n_vocabulary * 4;
    *layout = (struct cuda_workspace_layout){ .n_bytes = 0 };
    for (int i = 0; i < program->n_registers; i++)
        layout->registers[i] = take(layout, (program->is_logit_rows[i] ? n_logits : n_rows) * 4 *
                                                cuda_workspace_stride(program, i));
    layout->prepared = take(layout, prepared_bytes(program, sizes));
    for (int i = 0; i < program->n_ropes; i++) {
        layout->frequencies[i] = take(layout, program->n_rope_dims / 2 * 4);
        layout->angles[i] = take(layout, n_rows * program->n_rope_dims * 4);
    }
    layout->logits = take(layout, logit_bytes);
    layout->raw = take(layout, logit_bytes);
    layout->counts = take(layout, logit_bytes);
    layout->drawn[0] = take(layout, n_logits * 4);
    layout->drawn[1] = take(layout, n_logits * 4);
    layout->logprobs = take(layout, n_logits * (int64_t)sizeof(struct cuda_logprobs));
}

/* For all rows over a usual context, but no more than a bound; one row of it in any case. */
static int64_t scratch_bytes(const struct compute_program *program, struct compute_sizes sizes)
{
    int64_t row_bytes =
        (int64_t)cuda_kernels_attend_bytes(1, program->n_heads, program->head_dim, USUAL_POSITIONS);
    return max_i64(row_bytes, min_i64(row_bytes * sizes.n_rows, SCRATCH_BYTES));
}

int64_t cuda_workspace_bytes(const struct compute_program *program, struct compute_sizes sizes)
{
    struct cuda_workspace_layout layout;
    plan(program, sizes, &layout);
    return layout.n_bytes + scratch_bytes(program, sizes) + cuda_graphs_bytes(program->n_ops);
}

static enum status check(const struct compute_program *program, struct fault *fault)
{
    enum status status = compute_shapes_check(
        &program->shapes, "cuda", (struct compute_shapes_known){ false, false, false }, fault);
    if (status == STATUS_OK && program->n_registers > CUDA_REGISTERS_MAX)
        status = fault_set(fault, STATUS_UNSUPPORTED, "a program of %d registers, at most %d",
                           program->n_registers, CUDA_REGISTERS_MAX);
    if (status == STATUS_OK &&
        (program->head_dim % 8 != 0 || program->head_dim > CUDA_HEAD_DIM_MAX))
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "the device cuda computes heads of at most %d dimensions, a multiple of "
                           "8; this model's have %d",
                           CUDA_HEAD_DIM_MAX, program->head_dim);
    return status;
}

/* Frequencies of the ropes, and zeros where draws count. */
static bool fill(struct cuda_load *load, struct cuda_workspace *w)
{
    const struct compute_program *program = w->program;
    static const unsigned char zeros[1 << 16];
    int64_t n_zeros = (int64_t)w->face.sizes.n_logit_rows * program->n_vocabulary * 4;
    bool is_well = true;
    for (int i = 0; i < program->n_ropes; i++)
        is_well = is_well &&
                  cuda_load_bytes(load, program->ropes[i].inverse_frequencies,
                                  (struct cuda_object_part){ w->memory, w->layout.frequencies[i] },
                                  program->n_rope_dims / 2 * 4);
    for (int64_t at = 0; at < n_zeros && is_well; at += (int64_t)sizeof(zeros))
        is_well = cuda_load_bytes(load, zeros,
                                  (struct cuda_object_part){ w->memory, w->layout.counts + at },
                                  min_i64((int64_t)sizeof(zeros), n_zeros - at));
    for (int i = 0; i < 2 && is_well; i++)
        for (int32_t row = 0; row < w->face.sizes.n_logit_rows && is_well; row += 16384)
            is_well = cuda_load_bytes(
                load, zeros,
                (struct cuda_object_part){ w->memory, w->layout.drawn[i] + (int64_t)row * 4 },
                min_i64(16384, w->face.sizes.n_logit_rows - row) * 4);
    return is_well;
}

/* Addresses for one row over the longest context that there can be, and memory for usual ones. */
static enum status open_scratch(struct cuda_load *load, struct cuda_workspace *w,
                                struct fault *fault)
{
    const struct compute_program *program = w->program;
    int64_t most =
        (int64_t)cuda_kernels_attend_bytes(1, program->n_heads, program->head_dim, LIMIT_CONTEXT);
    const struct compute_memory_options options = { .n_bytes = max_i64(most, w->scratch_bytes),
                                                    .is_reserved = true };
    enum status status = cuda_object_open(load->driver, &options, &w->scratch, fault);
    if (status == STATUS_OK && !cuda_object_back(load->driver, w->scratch, 0, w->scratch_bytes))
        status = fault_set(fault, STATUS_TOO_LARGE, "the GPU has no memory for attention");
    return status;
}

enum status cuda_workspace_open(struct cuda_load *load, const struct compute_program *program,
                                struct compute_sizes sizes, struct cuda_workspace **out,
                                struct fault *fault)
{
    enum status status = check(program, fault);
    if (status != STATUS_OK)
        return status;
    struct cuda_workspace *w = mem_take(sizeof(*w));
    w->face = (struct compute_workspace){ NULL, sizes };
    w->program = program;
    w->graphs.driver = load->driver;
    w->scratch_bytes = scratch_bytes(program, sizes);
    plan(program, sizes, &w->layout);
    const struct compute_memory_options options = { .n_bytes = w->layout.n_bytes };
    status = cuda_object_open(load->driver, &options, &w->memory, fault);
    if (status == STATUS_OK)
        status = open_scratch(load, w, fault);
    if (status == STATUS_OK && !fill(load, w))
        status = fault_set(fault, STATUS_IO, "the GPU was lost while a workspace was opened");
    if (status != STATUS_OK) {
        cuda_workspace_close(load, w);
        return status;
    }
    *out = w;
    return STATUS_OK;
}

void cuda_workspace_close(struct cuda_load *load, struct cuda_workspace *w)
{
    if (w == NULL)
        return;
    cuda_graphs_close(&w->graphs);
    cuda_object_close(load->driver, w->blas);
    cuda_object_close(load->driver, w->scratch);
    cuda_object_close(load->driver, w->memory);
    mem_give(w);
}
