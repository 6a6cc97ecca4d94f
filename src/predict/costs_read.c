/* Readers of published tables. */
#include "base/lsq.h"
#include "base/mem.h"
#include "predict/costs.h"
#include "predict/csv.h"
#include <stdio.h>
#include <string.h>

/* The points that a reader collects. */
struct pile_of_points {
    struct grid_point *at;
    int64_t n, capacity;
};

static void add(struct pile_of_points *p, double x, double y, double value)
{
    if (p->n == p->capacity) {
        int64_t more = p->capacity == 0 ? 256 : 2 * p->capacity;
        p->at =
            mem_grow(p->at, (size_t)p->capacity * sizeof(*p->at), (size_t)more * sizeof(*p->at));
        p->capacity = more;
    }
    p->at[p->n++] = (struct grid_point){ x, y, value };
}

static enum status close_points(struct pile_of_points *p, struct grid *grid, struct fault *fault)
{
    grid_free(grid);
    enum status status = grid_open(grid, p->at, p->n, fault);
    mem_give(p->at);
    *p = (struct pile_of_points){ 0 };
    return status;
}

/* Closes both, even when the first fails. */
static enum status close_both(struct pile_of_points *prefill, struct grid *to_prefill,
                              struct pile_of_points *decode, struct grid *to_decode,
                              struct fault *fault)
{
    enum status status = close_points(prefill, to_prefill, fault);
    enum status other = close_points(decode, to_decode, fault);
    return status != STATUS_OK ? status : other;
}

/* Finds several columns by name. Returns false with a fault when one is missing. */
static bool find_columns(const struct csv *csv, const char *const *names, int n, int *columns,
                         struct fault *fault)
{
    for (int i = 0; i < n; i++) {
        columns[i] = csv_column(csv, names[i], fault);
        if (columns[i] < 0)
            return false;
    }
    return true;
}

static enum status open_table(struct csv *csv, const char *text, const char *const *names,
                              int n_names, int *columns, struct fault *fault)
{
    enum status status = csv_open(csv, text, fault);
    if (status != STATUS_OK)
        return status;
    return find_columns(csv, names, n_names, columns, fault) ? STATUS_OK : STATUS_BAD_INPUT;
}

enum status costs_read_vidur_mlp(struct costs *costs, const char *text, int32_t n_layers,
                                 int32_t tp, struct fault *fault)
{
    static const char *const names[] = { "num_tokens",
                                         "num_tensor_parallel_workers",
                                         "attn_pre_proj.median",
                                         "attn_post_proj.median",
                                         "mlp_up_proj.median",
                                         "mlp_down_proj.median",
                                         "mlp_act.median",
                                         "attn_rope.median",
                                         "input_layernorm.median" };
    struct csv csv;
    struct pile_of_points points = { 0 };
    int columns[COUNT_OF(names)];
    struct fault unused;
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    int second_norm = csv_column(&csv, "post_attention_layernorm.median", &unused);
    int residual = csv_column(&csv, "add.median", &unused);
    while (csv_next(&csv)) {
        double ms = 0;
        if (csv_f64(&csv, columns[1]) != tp)
            continue;
        for (size_t i = 2; i < COUNT_OF(names); i++)
            ms += csv_f64(&csv, columns[i]);
        ms += second_norm >= 0 ? csv_f64(&csv, second_norm) : 0;
        ms += residual >= 0 ? 2 * csv_f64(&csv, residual) : 0;
        add(&points, csv_f64(&csv, columns[0]), 0, ms * n_layers);
    }
    return close_points(&points, &costs->tokens, fault);
}

enum status costs_read_vidur_attention(struct costs *costs, const char *text, int32_t n_layers,
                                       int32_t tp, struct fault *fault)
{
    static const char *const names[] = {
        "batch_size",        "prefill_chunk_size",          "kv_cache_size",
        "is_prefill",        "num_tensor_parallel_workers", "attn_prefill.median",
        "attn_decode.median"
    };
    struct csv csv;
    struct pile_of_points prefill = { 0 }, decode = { 0 };
    int columns[COUNT_OF(names)];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    while (csv_next(&csv)) {
        double batch = csv_f64(&csv, columns[0]), chunk = csv_f64(&csv, columns[1]);
        double before = csv_f64(&csv, columns[2]);
        if (csv_f64(&csv, columns[4]) != tp)
            continue;
        if (csv_is(&csv, columns[3], "True")) {
            if (batch == 1)
                add(&prefill, chunk, before, n_layers * csv_f64(&csv, columns[5]));
        } else {
            add(&decode, batch, before, n_layers * csv_f64(&csv, columns[6]));
        }
    }
    return close_both(&prefill, &costs->prefill, &decode, &costs->decode, fault);
}

enum status costs_read_vidur_host(struct costs *costs, const char *text, int32_t tp,
                                  struct fault *fault)
{
    enum { N_MAX = 1024 };
    static const char *const names[] = {
        "batch_size",         "tensor_parallel_degree",    "schedule_median",
        "sampler_e2e_median", "prepare_inputs_e2e_median", "process_model_outputs_median"
    };
    static const bool is_nonnegative[2] = { true, true };
    struct csv csv;
    int columns[COUNT_OF(names)], n = 0;
    double c[2];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    double *x = mem_take(3 * N_MAX * sizeof(*x)), *y = x + 2 * N_MAX;
    while (csv_next(&csv) && n < N_MAX) {
        if (csv_f64(&csv, columns[1]) != tp)
            continue;
        x[2 * n] = 1;
        x[2 * n + 1] = csv_f64(&csv, columns[0]);
        y[n] = 0;
        for (size_t i = 2; i < COUNT_OF(names); i++)
            y[n] += csv_f64(&csv, columns[i]);
        n++;
    }
    bool is_solved = n >= 2 && lsq_solve(n, 2, x, y, NULL, is_nonnegative, c);
    mem_give(x);
    if (!is_solved)
        return fault_set(fault, STATUS_BAD_INPUT, "the table does not tell the host's time");
    costs->host_ms = c[0];
    costs->host_request_ms = c[1];
    return STATUS_OK;
}

/* Returns how often an operation runs in the model. Some are outside of the layers; a layer has a
 * norm before attention and one before the inner layer. */
static double times_of(const struct csv *csv, int column, int32_t n_layers)
{
    if (csv_is(csv, column, "embedding") || csv_is(csv, column, "final_layernorm"))
        return 1;
    return csv_is(csv, column, "layernorm") ? 2.0 * n_layers : n_layers;
}

/* Sums a column of microseconds over the rows of one size. With `n_layers` 0 the rows are for the
 * whole model. */
static enum status read_operations(struct grid *grid, const char *text, const char *size,
                                   int32_t n_layers, struct fault *fault)
{
    const char *const names[] = { "layer", size, "time_us" };
    struct csv csv;
    struct pile_of_points points = { 0 };
    int columns[3];
    enum status status = csv_open(&csv, text, fault);
    if (status != STATUS_OK)
        return status;
    if (!find_columns(&csv, names, 3, columns, fault))
        return STATUS_BAD_INPUT;
    while (csv_next(&csv)) {
        double x = csv_f64(&csv, columns[1]), ms = 1e-3 * csv_f64(&csv, columns[2]);
        ms *= n_layers > 0 ? times_of(&csv, columns[0], n_layers) : 1;
        int64_t i = 0;
        while (i < points.n && points.at[i].x != x)
            i++;
        if (i < points.n)
            points.at[i].value += ms;
        else
            add(&points, x, 0, ms);
    }
    return close_points(&points, grid, fault);
}

enum status costs_read_servingsim_dense(struct costs *costs, const char *text, int32_t n_layers,
                                        struct fault *fault)
{
    return read_operations(&costs->tokens, text, "tokens", n_layers, fault);
}

enum status costs_read_servingsim_sequence(struct costs *costs, const char *text,
                                           struct fault *fault)
{
    return read_operations(&costs->sequences, text, "sequences", 0, fault);
}

/* Steps of prompts alone, of decodes alone, and of both. */
struct attention {
    struct pile_of_points prefill, decode;
    struct grid4_point *mixed;
    int64_t n_mixed, mixed_capacity;
};

static void add_attention(struct attention *a, const double x[GRID4_AXES], double ms)
{
    if (x[0] > 0 && x[2] == 0) {
        add(&a->prefill, x[0], x[1], ms);
    } else if (x[0] == 0 && x[2] > 0) {
        add(&a->decode, x[2], x[3], ms);
    } else if (x[0] > 0) {
        if (a->n_mixed == a->mixed_capacity) {
            int64_t more = max_i64(1024, 2 * a->mixed_capacity);
            a->mixed = mem_grow(a->mixed, (size_t)a->mixed_capacity * sizeof(*a->mixed),
                                (size_t)more * sizeof(*a->mixed));
            a->mixed_capacity = more;
        }
        a->mixed[a->n_mixed++] = (struct grid4_point){ { x[0], x[1], x[2], x[3] }, ms };
    }
}

enum status costs_read_servingsim_attention(struct costs *costs, const char *text, int32_t n_layers,
                                            struct fault *fault)
{
    static const char *const names[] = { "prefill_chunk", "kv_prefill", "n_decode", "kv_decode",
                                         "time_us" };
    struct csv csv;
    struct attention all = { 0 };
    int columns[COUNT_OF(names)];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    while (csv_next(&csv)) {
        double x[GRID4_AXES];
        for (int k = 0; k < GRID4_AXES; k++)
            x[k] = csv_f64(&csv, columns[k]);
        add_attention(&all, x, 1e-3 * n_layers * csv_f64(&csv, columns[4]));
    }
    status = close_points(&all.prefill, &costs->prefill, fault);
    enum status other = close_points(&all.decode, &costs->decode, fault);
    grid_four_free(&costs->mixed);
    if (all.n_mixed > 0 && status == STATUS_OK)
        status = grid_four_open(&costs->mixed, all.mixed, all.n_mixed, fault);
    mem_give(all.mixed);
    return status != STATUS_OK ? status : other;
}

enum status costs_read_splitwise(struct costs *costs, const char *text,
                                 const struct costs_splitwise *which, struct fault *fault)
{
    static const char *const names[] = { "model",      "hardware",       "prompt_size",
                                         "batch_size", "token_size",     "prompt_time",
                                         "token_time", "tensor_parallel" };
    struct csv csv;
    struct pile_of_points prefill = { 0 }, decode = { 0 };
    int columns[COUNT_OF(names)];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    while (csv_next(&csv)) {
        double prompt = csv_f64(&csv, columns[2]), batch = csv_f64(&csv, columns[3]);
        double context = prompt + csv_f64(&csv, columns[4]) / 2;
        if (!csv_is(&csv, columns[0], which->model) || !csv_is(&csv, columns[1], which->hardware) ||
            csv_f64(&csv, columns[7]) != which->tp)
            continue;
        add(&prefill, batch * prompt, prompt, csv_f64(&csv, columns[5]));
        add(&decode, batch, context, csv_f64(&csv, columns[6]));
    }
    return close_both(&prefill, &costs->step_prefill, &decode, &costs->step_decode, fault);
}

enum status costs_read_helix(struct costs *costs, const char *text, const char *model_and_gpu,
                             int32_t n_layers, struct fault *fault)
{
    static const char *const names[] = { "model", "gpu", "phase", "tokens_in_batch",
                                         "latency_ms_per_layer_or_machine" };
    struct csv csv;
    struct pile_of_points prefill = { 0 }, decode = { 0 };
    int columns[COUNT_OF(names)];
    char key[96];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    while (csv_next(&csv)) {
        struct view model = csv.cells[columns[0]], gpu = csv.cells[columns[1]];
        double x = csv_f64(&csv, columns[3]), ms = n_layers * csv_f64(&csv, columns[4]);
        snprintf(key, sizeof(key), "%.*s,%.*s", (int)min_i64((int64_t)model.n, 40), model.at,
                 (int)min_i64((int64_t)gpu.n, 40), gpu.at);
        if (strcmp(key, model_and_gpu) != 0 || ms <= 0)
            continue;
        add(csv_is(&csv, columns[2], "prompt") ? &prefill : &decode, x, 0, ms);
    }
    return close_both(&prefill, &costs->step_prefill, &decode, &costs->step_decode, fault);
}

enum status costs_read_steps(struct costs *costs, const char *text, struct fault *fault)
{
    static const char *const names[] = { "phase", "batch", "length", "ms" };
    struct csv csv;
    struct pile_of_points prefill = { 0 }, decode = { 0 };
    int columns[COUNT_OF(names)];
    enum status status = open_table(&csv, text, names, (int)COUNT_OF(names), columns, fault);
    if (status != STATUS_OK)
        return status;
    while (csv_next(&csv)) {
        double batch = csv_f64(&csv, columns[1]), length = csv_f64(&csv, columns[2]);
        double ms = csv_f64(&csv, columns[3]);
        if (csv_is(&csv, columns[0], "prefill"))
            add(&prefill, batch * length, length, ms);
        else if (csv_is(&csv, columns[0], "decode"))
            add(&decode, batch, length, ms);
    }
    return close_both(&prefill, &costs->step_prefill, &decode, &costs->step_decode, fault);
}

enum status costs_read_any(struct costs *costs, const char *text, int32_t n_layers,
                           struct fault *fault)
{
    struct csv csv;
    struct fault unused;
    enum status status = csv_open(&csv, text, fault);
    if (status != STATUS_OK)
        return status;
    if (csv_column(&csv, "prefill_chunk", &unused) >= 0)
        return costs_read_servingsim_attention(costs, text, n_layers, fault);
    if (csv_column(&csv, "sequences", &unused) >= 0)
        return costs_read_servingsim_sequence(costs, text, fault);
    if (csv_column(&csv, "layer", &unused) >= 0)
        return costs_read_servingsim_dense(costs, text, n_layers, fault);
    return costs_read_steps(costs, text, fault);
}
