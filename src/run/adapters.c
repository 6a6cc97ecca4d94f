/* Packs adapters, and weaves their operations into the program of a model. */
#include "run/adapters.h"

#include "base/hash.h"
#include "base/mem.h"
#include "compute/quant.h"
#include <string.h>

bool run_adapters_add_file(struct run_adapter_files *files, const char *path)
{
    size_t n = strlen(path) + 1;
    if (files->n == LIMIT_ADAPTERS || n > sizeof(files->texts) - files->n_bytes)
        return false;
    memcpy(files->texts + files->n_bytes, path, n);
    files->hashes[files->n] = 0;
    files->at[files->n++] = files->n_bytes;
    files->n_bytes += (uint32_t)n;
    return true;
}

const char *run_adapters_path(const struct run_adapter_files *files, int i)
{
    CHECK(i >= 0 && i < files->n);
    return files->texts + files->at[i];
}

struct run_adapter {
    const char *path;
    uint64_t hash;
    int64_t n_bytes;
    struct compute_packed packed;       /* its weights are those below, in pairs */
    struct compute_weight **down, **up; /* (n_targets); NULL: it is not loaded */
};
struct run_adapters {
    struct compute_device *device;
    int n, n_targets;
    int32_t rank_max;               /* filled up */
    struct run_adapter *at;         /* (n) */
    struct compute_adapter *shapes; /* (n) for devices */
};

static int32_t filled_up(int32_t rank)
{
    return (int32_t)align_up_u64((uint64_t)rank, COMPUTE_ADAPTER_ALIGN);
}

static struct tensor floats_of(int32_t n_rows, int32_t n_columns, const float *data)
{
    return (struct tensor){ .data = data,
                            .dtype = DTYPE_F32,
                            .n_rows = n_rows,
                            .n_columns = n_columns,
                            .row_bytes = dtype_row_bytes(DTYPE_F32, n_columns) };
}

/* The tensors of a pair as they are packed, without data. */
static void shapes_of(const struct weights_adapter_pair *pair, struct tensor out[2])
{
    int32_t rank = filled_up(pair->down.n_rows);
    out[0] = floats_of(rank, pair->down.n_columns, NULL);
    out[1] = floats_of(pair->up.n_rows, rank, NULL);
}

/* Lists the tensors of all pairs, in the order of their targets. Returns how many there are. The
 * caller frees the list by mem_give. */
static int list_tensors(const struct weights_adapter *file, int n_targets, struct tensor **tensors,
                        const struct tensor ***list)
{
    int n = 0;
    *tensors = mem_take(sizeof(**tensors) * 2 * (size_t)n_targets);
    *list = mem_take(sizeof(**list) * 2 * (size_t)n_targets);
    for (int t = 0; t < n_targets; t++) {
        const struct weights_adapter_pair *pair =
            weights_adapter_at(file, t / WEIGHTS_ADAPTED_N, t % WEIGHTS_ADAPTED_N);
        if (pair->down.data == NULL)
            continue;
        shapes_of(pair, *tensors + n);
        (*list)[n] = *tensors + n;
        (*list)[n + 1] = *tensors + n + 1;
        n += 2;
    }
    return n;
}

/* Notes what the header says of an adapter. */
static void measure(struct run_adapters *adapters, struct run_adapter *adapter,
                    const struct weights_adapter *file)
{
    struct tensor *tensors;
    const struct tensor **list;
    int n = list_tensors(file, adapters->n_targets, &tensors, &list);
    adapter->n_bytes = compute_packed_bytes(adapters->device, list, n);
    adapters->rank_max = max_i32(adapters->rank_max, filled_up(weights_adapter_rank(file)));
    mem_give(list);
    mem_give(tensors);
}

/* Opens the file of an adapter, which must be the one that was opened first. */
static enum status open_file(const struct run_adapter *adapter, const struct weights *model,
                             struct weights_adapter **file, struct fault *fault)
{
    enum status status = weights_adapter_open(file, adapter->path, model, fault);
    if (status != STATUS_OK || adapter->hash == 0 || weights_adapter_hash(*file) == adapter->hash)
        return status;
    weights_adapter_close(*file);
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.150s holds another adapter than at the start: restart the server to use it",
                     adapter->path);
}

enum status run_adapters_open(struct run_adapters **out, const struct run_adapter_files *files,
                              const struct weights *model, struct compute_device *device,
                              struct fault *fault)
{
    CHECK(files->n > 0 && files->n <= LIMIT_ADAPTERS);
    *out = NULL;
    if (!device->has_adapters)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "the device %s does not compute LoRA adapters: use the CPU for this model",
                         device->name);
    struct run_adapters *adapters = mem_take(sizeof(*adapters));
    enum status status = STATUS_OK;
    *adapters = (struct run_adapters){
        .device = device,
        .n = files->n,
        .n_targets = weights_spec(model)->n_layers * WEIGHTS_ADAPTED_N,
        .at = mem_take(sizeof(*adapters->at) * (size_t)files->n),
        .shapes = mem_take(sizeof(*adapters->shapes) * (size_t)files->n),
    };
    for (int i = 0; i < files->n && status == STATUS_OK; i++) {
        struct weights_adapter *file;
        adapters->at[i].path = run_adapters_path(files, i);
        adapters->at[i].hash = files->hashes[i];
        status = open_file(&adapters->at[i], model, &file, fault);
        if (status != STATUS_OK)
            break;
        adapters->at[i].hash = weights_adapter_hash(file);
        measure(adapters, &adapters->at[i], file);
        weights_adapter_close(file);
    }
    if (status != STATUS_OK)
        run_adapters_close(adapters);
    else
        *out = adapters;
    return status;
}

void run_adapters_close(struct run_adapters *adapters)
{
    if (adapters == NULL)
        return;
    for (int i = 0; i < adapters->n; i++)
        run_adapters_unload(adapters, i + 1);
    mem_give(adapters->at);
    mem_give(adapters->shapes);
    mem_give(adapters);
}

int64_t run_adapters_bytes(const struct run_adapters *adapters)
{
    int64_t n_bytes = 0;
    for (int i = 0; adapters != NULL && i < adapters->n; i++)
        n_bytes += adapters->at[i].n_bytes;
    return n_bytes;
}

uint64_t run_adapters_hash(const struct run_adapters *adapters, int variant)
{
    CHECK(variant >= 1 && variant <= adapters->n);
    return adapters->at[variant - 1].hash;
}

/* Writes the values of a matrix, each times the scale, with zeros for what is filled up. */
static void write_floats(const struct tensor *from, float scale, const struct tensor *to,
                         float *out)
{
    memset(out, 0, (size_t)to->n_rows * (size_t)to->n_columns * sizeof(*out));
    for (int32_t row = 0; row < from->n_rows; row++) {
        float *values = out + (int64_t)row * to->n_columns;
        quant_row_to_float(from, row, values);
        for (int32_t k = 0; k < from->n_columns; k++)
            values[k] *= scale;
    }
}

static enum status pack_matrix(struct run_adapter *adapter, const struct tensor *from, float scale,
                               struct tensor to, struct fault *fault)
{
    float *values = mem_try((size_t)to.n_rows * (size_t)to.n_columns * sizeof(*values));
    if (values == NULL)
        return fault_set(fault, STATUS_TOO_LARGE, "%.150s: no memory is left to read it",
                         adapter->path);
    write_floats(from, scale, &to, values);
    to.data = values;
    enum status status = compute_packed_add(&adapter->packed, &to, false, fault);
    mem_give(values);
    return status;
}

/* Packs both matrices of each pair. */
static enum status pack_pairs(struct run_adapters *adapters, struct run_adapter *adapter,
                              const struct weights_adapter *file, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int t = 0; t < adapters->n_targets && status == STATUS_OK; t++) {
        const struct weights_adapter_pair *pair =
            weights_adapter_at(file, t / WEIGHTS_ADAPTED_N, t % WEIGHTS_ADAPTED_N);
        struct tensor to[2];
        if (pair->down.data == NULL)
            continue;
        shapes_of(pair, to);
        status = pack_matrix(adapter, &pair->down, 1.0f, to[0], fault);
        if (status == STATUS_OK)
            status = pack_matrix(adapter, &pair->up, pair->scale, to[1], fault);
        if (status != STATUS_OK)
            break;
        adapter->down[t] = adapter->packed.weights[adapter->packed.n - 2];
        adapter->up[t] = adapter->packed.weights[adapter->packed.n - 1];
    }
    if (status == STATUS_OK && !weights_adapter_is_whole(file))
        status = fault_set(fault, STATUS_IO, "%.150s changed while it was read", adapter->path);
    return status;
}

enum status run_adapters_load(struct run_adapters *adapters, int variant,
                              const struct weights *model, struct fault *fault)
{
    CHECK(variant >= 1 && variant <= adapters->n && !run_adapters_is_loaded(adapters, variant));
    struct run_adapter *adapter = &adapters->at[variant - 1];
    struct weights_adapter *file;
    struct tensor *tensors;
    const struct tensor **list;
    enum status status = open_file(adapter, model, &file, fault);
    if (status != STATUS_OK)
        return status;
    int n = list_tensors(file, adapters->n_targets, &tensors, &list);
    status = compute_packed_open(&adapter->packed, adapters->device, list, n, NULL, fault);
    mem_give(list);
    mem_give(tensors);
    adapter->down = mem_take(sizeof(struct compute_weight *) * (size_t)adapters->n_targets);
    adapter->up = mem_take(sizeof(struct compute_weight *) * (size_t)adapters->n_targets);
    if (status == STATUS_OK)
        status = pack_pairs(adapters, adapter, file, fault);
    weights_adapter_close(file);
    if (status != STATUS_OK) {
        run_adapters_unload(adapters, variant);
        return status;
    }
    adapters->shapes[variant - 1] = (struct compute_adapter){ adapter->down, adapter->up };
    return STATUS_OK;
}

void run_adapters_unload(struct run_adapters *adapters, int variant)
{
    CHECK(variant >= 1 && variant <= adapters->n);
    struct run_adapter *adapter = &adapters->at[variant - 1];
    adapters->shapes[variant - 1] = (struct compute_adapter){ NULL, NULL };
    compute_packed_close(&adapter->packed);
    mem_give(adapter->down);
    mem_give(adapter->up);
    adapter->down = adapter->up = NULL;
}

bool run_adapters_is_loaded(const struct run_adapters *adapters, int variant)
{
    CHECK(variant >= 1 && variant <= adapters->n);
    return adapters->at[variant - 1].down != NULL;
}

void run_adapters_shape(const struct run_adapters *adapters, struct compute_shapes *shapes)
{
    shapes->n_adapters = adapters->n;
    shapes->adapters = adapters->shapes;
}

/* ---- The program. ---- */

int run_adapters_add_registers(const struct run_adapters *adapters, int n_registers,
                               struct forward_registers *registers)
{
    for (int i = 0; i < RUN_ADAPTERS_REGISTERS; i++)
        registers->widths[n_registers + i] = adapters->rank_max;
    return n_registers + RUN_ADAPTERS_REGISTERS;
}

int run_adapters_ops_max(const struct model_spec *spec, int n_ops)
{
    enum { MORE = 3 }; /* operations for a matrix: down, up, act */
    return n_ops + MORE * WEIGHTS_ADAPTED_N * spec->n_layers;
}

struct weaver {
    const struct compute_op *ops;
    int n_ops;
    int32_t *targets; /* (n_tensors) of each weight, -1: none */
    int first_register;
    struct compute_op *out;
    int n;
};

/* Returns the target of an operation; -1 when adapters do not change it. */
static int32_t target_of(const struct weaver *w, const struct compute_op *op)
{
    return op->kind == COMPUTE_MATMUL && op->weight >= 0 ? w->targets[op->weight] : -1;
}

/* Returns how many matrices from the i-th operation on read one register, and are adapted. */
static int group_of(const struct weaver *w, int i)
{
    int n = 0;
    while (n < RUN_ADAPTERS_REGISTERS && i + n < w->n_ops && target_of(w, &w->ops[i + n]) >= 0 &&
           w->ops[i + n].src == w->ops[i].src && w->ops[i + n].dst != w->ops[i].src)
        n++;
    return n;
}

static void add_adapting(struct weaver *w, enum compute_op_kind kind, const struct compute_op *of,
                         int dst, int src)
{
    w->out[w->n++] = (struct compute_op){ .kind = (uint8_t)kind,
                                          .act = of->act,
                                          .layer = of->layer,
                                          .dst = (uint16_t)dst,
                                          .src = (uint16_t)src,
                                          .weight = -1,
                                          .bias = -1,
                                          .weight2 = -1,
                                          .n = target_of(w, of) };
}

static void weave_group(struct weaver *w, const struct compute_op *ops, int n)
{
    for (int k = 0; k < n; k++) {
        w->out[w->n] = ops[k];
        w->out[w->n++].flags &= (uint16_t)~COMPUTE_HAS_ACT;
    }
    for (int k = 0; k < n; k++)
        add_adapting(w, COMPUTE_ADAPT_DOWN, &ops[k], w->first_register + k, ops[k].src);
    for (int k = 0; k < n; k++)
        add_adapting(w, COMPUTE_ADAPT_UP, &ops[k], ops[k].dst, w->first_register + k);
    for (int k = 0; k < n; k++)
        if (ops[k].flags & COMPUTE_HAS_ACT)
            add_adapting(w, COMPUTE_ACT, &ops[k], ops[k].dst, ops[k].dst);
}

/* Returns the target of each weight; -1: it is none. */
static int32_t *targets_of(const struct run_adapters_loom *loom)
{
    int32_t *targets = mem_take(sizeof(*targets) * (size_t)loom->n_tensors);
    for (int i = 0; i < loom->n_tensors; i++)
        targets[i] = -1;
    for (int t = 0; t < loom->spec->n_layers * WEIGHTS_ADAPTED_N; t++) {
        const struct tensor *target =
            weights_adapter_target(loom->weights, t / WEIGHTS_ADAPTED_N, t % WEIGHTS_ADAPTED_N);
        int i = 0;
        while (i < loom->n_tensors && loom->tensors[i] != target)
            i++;
        if (i < loom->n_tensors)
            targets[i] = t;
    }
    return targets;
}

int run_adapters_weave(const struct run_adapters_loom *loom, const struct compute_op *ops,
                       int n_ops, struct compute_op *out)
{
    struct weaver w = { ops, n_ops, targets_of(loom), loom->first_register, out, 0 };
    for (int i = 0; i < n_ops;) {
        int n = group_of(&w, i);
        CHECK(n > 0 || target_of(&w, &ops[i]) < 0);
        if (n == 0)
            w.out[w.n++] = ops[i];
        else
            weave_group(&w, ops + i, n);
        i += max_i32(n, 1);
    }
    mem_give(w.targets);
    return w.n;
}
