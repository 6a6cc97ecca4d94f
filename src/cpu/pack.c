/* Packs weights into panels at load, by the whole team, and reads rows back. */
#include "cpu/pack.h"

#include "base/mem.h"
#include "compute/quant.h"
#include "cpu/pack_f8.h"
#include "cpu/pack_words.h"
#include <string.h>

struct cpu_form cpu_pack_form(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_Q8_0:
        return CPU_FORM_Q8_0;
    case DTYPE_Q4_0:
        return CPU_FORM_Q4_0;
    case DTYPE_Q4_1:
        return CPU_FORM_Q4_1;
    case DTYPE_Q5_0:
        return CPU_FORM_Q5_0;
    case DTYPE_Q5_1:
        return CPU_FORM_Q5_1;
    case DTYPE_Q2_K:
        return CPU_FORM_Q2_K;
    case DTYPE_Q3_K:
        return CPU_FORM_Q3_K;
    case DTYPE_Q4_K:
        return CPU_FORM_Q4_K;
    case DTYPE_Q5_K:
        return CPU_FORM_Q5_K;
    case DTYPE_Q6_K:
        return CPU_FORM_Q6_K;
    case DTYPE_IQ4_NL:
        return CPU_FORM_IQ4_NL;
    case DTYPE_IQ4_XS:
        return CPU_FORM_IQ4_XS;
    case DTYPE_MXFP4:
        return CPU_FORM_MXFP4;
    default:
        CHECK(dtype == DTYPE_TQ1_0 || dtype == DTYPE_TQ2_0);
        return CPU_FORM_TQ;
    }
}

struct job { /* packed by the team together */
    const struct tensor *tensor;
    unsigned char *panels;
    int32_t n_panels;
    size_t panel_bytes;
};

/* Writes one block of the file, for output o, into its unit. */
static void put_block(struct cpu_form form, const struct cpu_pack_source *source,
                      const unsigned char *from, int o, unsigned char *unit)
{
    int8_t scales[QUANT_SUBS_MAX], minimums[QUANT_SUBS_MAX];
    if (form.has_bf16) {
        uint16_t d = quant_mxfp4_scale(from[source->at_d]);
        memcpy(unit + 2 * o, &d, 2);
    } else {
        memcpy(unit + 2 * o, from + source->at_d, 2);
    }
    if (form.has_minimum)
        memcpy(unit + 32 + 2 * o, from + source->at_m, 2);
    if (source->scales != NULL)
        source->scales(from, scales, minimums);
    unsigned char *p = unit + cpu_form_head(form);
    for (int b = 0; b < form.n_unit / 32; b++) {
        uint32_t words[8];
        for (int sub = 0; sub < 32 / form.n_sub && source->scales != NULL; sub++) {
            p[o] = (unsigned char)scales[b * 32 / form.n_sub + sub];
            p += 16;
            if (form.has_minimum) {
                p[o] = (unsigned char)minimums[b * 32 / form.n_sub + sub];
                p += 16;
            }
        }
        source->words(from, b, words);
        for (int g = 0; g < form.n_bits; g++)
            memcpy(p + 64 * g + 4 * o, &words[g], 4);
        p += cpu_form_weights(form);
    }
}

/* Packs unit by unit over all outputs, so that a unit's lines are full before they leave the
 * cache. */
static void pack_integers(const struct job *job, int32_t panel)
{
    const struct tensor *tensor = job->tensor;
    const struct dtype_info *info = dtype_info(tensor->dtype);
    const struct cpu_pack_source *source = cpu_pack_words_source(tensor->dtype);
    struct cpu_form form = cpu_pack_form(tensor->dtype);
    unsigned char *unit = job->panels + (size_t)panel * job->panel_bytes;
    int32_t n = min_i32(CPU_PANEL, tensor->n_rows - panel * CPU_PANEL); /* others' scales stay 0 */
    for (int32_t i = 0; i < tensor->n_columns / info->n_block; i++) {
        for (int o = 0; o < n; o++) {
            unsigned char made[QUANT_MADE_BYTES];
            const unsigned char *from = quant_block_at(tensor, panel * CPU_PANEL + o, i, made);
            put_block(form, source, from, o, unit);
        }
        unit += cpu_form_unit_bytes(form);
    }
}

/* Puts 16 rows of halves side by side, a few columns at a time. */
static void pack_halves(const unsigned char *from, int64_t row_bytes, int32_t n_rows,
                        int32_t n_columns, unsigned char *to)
{
    enum { COLUMNS = 64 };
    for (int32_t first = 0; first < n_columns; first += COLUMNS) {
        int32_t end = min_i32(first + COLUMNS, n_columns);
        for (int32_t o = 0; o < n_rows; o++) {
            const unsigned char *row = from + o * row_bytes;
            for (int32_t k = first; k < end; k++)
                memcpy(to + ((size_t)k * CPU_PANEL + (size_t)o) * 2, row + 2 * (size_t)k, 2);
        }
    }
}

static void pack_floats(const struct job *job, int32_t panel)
{
    const struct tensor *tensor = job->tensor;
    if (tensor->dtype == DTYPE_F8_E4M3) {
        cpu_pack_f8_panel(tensor, panel, job->panels + (size_t)panel * job->panel_bytes);
        return;
    }
    size_t n_bytes = (size_t)dtype_info(tensor->dtype)->block_bytes;
    size_t row_bytes = (size_t)tensor->row_bytes, step = n_bytes * (tensor->is_alternate ? 2 : 1);
    const unsigned char *from = tensor->data;
    unsigned char *to = job->panels + (size_t)panel * job->panel_bytes;
    if (n_bytes == 2 && !tensor->is_transposed) {
        pack_halves(from + (int64_t)panel * CPU_PANEL * tensor->row_bytes, tensor->row_bytes,
                    min_i32(CPU_PANEL, tensor->n_rows - panel * CPU_PANEL), tensor->n_columns, to);
        return;
    }
    for (size_t o = 0; o < CPU_PANEL; o++) {
        size_t row = (size_t)panel * CPU_PANEL + o;
        if (row >= (size_t)tensor->n_rows)
            return;
        for (size_t k = 0; k < (size_t)tensor->n_columns; k++)
            memcpy(to + (k * CPU_PANEL + o) * n_bytes,
                   tensor->is_transposed ? from + k * row_bytes + row * step
                                         : from + row * row_bytes + k * n_bytes,
                   n_bytes);
    }
}

static void pack_share(void *arg, int rank, int n)
{
    const struct job *job = arg;
    bool is_integer = dtype_info(job->tensor->dtype)->is_integer;
    int64_t n_panels = job->n_panels;
    for (int64_t panel = n_panels * rank / n; panel < n_panels * (rank + 1) / n; panel++)
        (is_integer ? pack_integers : pack_floats)(job, (int32_t)panel);
}

static size_t panel_bytes_of(const struct tensor *tensor)
{
    size_t columns = (size_t)tensor->n_columns;
    const struct dtype_info *info = dtype_info(tensor->dtype);
    if (tensor->dtype == DTYPE_F8_E4M3)
        return columns / CPU_F8_UNIT * CPU_F8_BYTES;
    if (!info->is_integer)
        return columns * CPU_PANEL * (size_t)info->block_bytes;
    struct cpu_form form = cpu_pack_form(tensor->dtype);
    return columns / (size_t)form.n_unit * (size_t)cpu_form_unit_bytes(form);
}

size_t cpu_pack_bytes(const struct tensor *tensor)
{
    if (tensor->n_rows == 1)
        return (size_t)align_up_u64((uint64_t)tensor->n_columns, CPU_PANEL) * sizeof(float);
    return (size_t)div_up_i64(tensor->n_rows, CPU_PANEL) * panel_bytes_of(tensor);
}

static int32_t n_panels_of(const struct tensor *tensor)
{
    return (int32_t)div_up_i64(tensor->n_rows, CPU_PANEL);
}

static void pack_vector(const struct tensor *tensor, unsigned char *to)
{
    float *vector = (float *)(void *)to;
    quant_row_to_float(tensor, 0, vector);
    memset(vector + tensor->n_columns, 0,
           cpu_pack_bytes(tensor) - (size_t)tensor->n_columns * sizeof(float));
}

enum status cpu_pack(struct team *team, const struct tensor *tensor, unsigned char *to,
                     struct fault *fault)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    if (tensor->n_rows < 1 || tensor->n_columns < 1 || tensor->n_columns % info->n_block != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "a row of %d can't be made of %s's blocks of %d",
                         tensor->n_columns, info->name, info->n_block);
    if (tensor->n_rows == 1) {
        pack_vector(tensor, to);
        return STATUS_OK;
    }
    struct job job = { tensor, to, n_panels_of(tensor), panel_bytes_of(tensor) };
    if (tensor->n_rows % CPU_PANEL != 0) /* outputs that are missing in the last panel */
        memset(to + (size_t)(job.n_panels - 1) * job.panel_bytes, 0, job.panel_bytes);
    team_run(team, pack_share, &job);
    return STATUS_OK;
}

struct compute_weight *cpu_pack_bind(const struct tensor *tensor, const unsigned char *packed)
{
    struct compute_weight *weight = mem_take(sizeof(*weight));
    *weight = (struct compute_weight){ .dtype = tensor->dtype,
                                       .n_rows = tensor->n_rows,
                                       .n_columns = tensor->n_columns };
    if (tensor->n_rows == 1) {
        weight->vector = (const float *)(const void *)packed;
        return weight;
    }
    weight->panels = packed;
    weight->n_panels = n_panels_of(tensor);
    weight->panel_bytes = panel_bytes_of(tensor);
    return weight;
}

void cpu_pack_unbind(struct compute_weight *weight)
{
    mem_give(weight);
}

static void row_of_floats(const struct compute_weight *weight, int32_t row, float *out)
{
    size_t n_bytes = (size_t)dtype_info(weight->dtype)->block_bytes;
    const unsigned char *panel = weight->panels + (size_t)(row / 16) * weight->panel_bytes;
    for (int32_t k = 0; k < weight->n_columns; k++)
        quant_block_to_float(weight->dtype,
                             panel + ((size_t)k * CPU_PANEL + (size_t)row % 16) * n_bytes, out + k);
}

/* Writes the block of 32 at p of output o as 32 floats. */
static void row_of_block(struct cpu_form form, const unsigned char *unit, const unsigned char *p,
                         int o, float *out)
{
    uint16_t halves[2] = { 0, 0 };
    memcpy(&halves[0], unit + 2 * o, 2);
    if (form.has_minimum)
        memcpy(&halves[1], unit + 32 + 2 * o, 2);
    float d = form.has_bf16 ? bf16_to_float(halves[0]) : half_to_float(halves[0]);
    float m = half_to_float(halves[1]);
    const unsigned char *weights = p + cpu_form_scales(form);
    for (int k = 0; k < 32; k++) {
        float scale = d, minimum = m;
        if (form.n_unit == 256) {
            const unsigned char *scales = p + k / form.n_sub * (form.has_minimum ? 32 : 16);
            scale = d * (float)(int8_t)scales[o];
            minimum = form.has_minimum ? -(m * (float)(int8_t)scales[16 + o]) : 0.0f;
        }
        out[k] = (float)cpu_form_value(form, weights + 4 * o + k % 4, k / 4) * scale;
        if (form.has_minimum)
            out[k] += minimum;
    }
}

void cpu_pack_row(const struct compute_weight *weight, int32_t row, float *out)
{
    CHECK(row >= 0 && row < weight->n_rows);
    if (weight->vector != NULL) {
        memcpy(out, weight->vector, (size_t)weight->n_columns * sizeof(float));
        return;
    }
    if (weight->dtype == DTYPE_F8_E4M3) {
        cpu_pack_f8_row(weight, row, out);
        return;
    }
    if (!dtype_info(weight->dtype)->is_integer) {
        row_of_floats(weight, row, out);
        return;
    }
    struct cpu_form form = cpu_pack_form(weight->dtype);
    const unsigned char *unit = weight->panels + (size_t)(row / 16) * weight->panel_bytes;
    for (int32_t k = 0; k < weight->n_columns; k += form.n_unit) {
        const unsigned char *p = unit + cpu_form_head(form);
        for (int32_t i = 0; i < form.n_unit; i += 32) {
            row_of_block(form, unit, p, row % 16, out + k + i);
            p += cpu_form_scales(form) + cpu_form_weights(form);
        }
        unit += cpu_form_unit_bytes(form);
    }
}
