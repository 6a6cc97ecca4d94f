/* cuBLASLt for prompt rows: see blas.h. */
#include "cuda/blas.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cuda/cublaslt.h"
#include <dlfcn.h>
#include <string.h>

enum { PROPOSALS = 16, RULE = 1 /* of choosing; a new one has another number */ };
/* Configurations are chosen and checked for this many rows of a call, or for fewer where a result
 * would have more values. Settings have no part in it, so every start comes to the same outcome. */
enum { ROWS_MAX = 2048, VALUES_MAX = 1 << 26 };
enum { TILE = 128, ROWS_COMPARED = TILE + 1, POOL = 8192, ALIGNMENT = 16 };

struct shape { /* a configuration that was checked */
    int32_t n_outputs, n_columns, n_rows_max;
    bool is_good;
    struct cublaslt_algo algo;
    uint64_t config; /* its hash, for the log */
};
struct cuda_blas {
    struct cublaslt api;
    struct cuda_driver *driver;
    void *handle;
    struct lock *lock; /* of the table */
    int n_shapes;
    struct shape *shapes; /* (n_shapes) */
};

/* ---- The library. ---- */

static bool find_functions(struct cublaslt *api, void *library)
{
    const struct {
        const char *name;
        void *to;
    } rows[] = {
        { "cublasLtCreate", &api->Create },
        { "cublasLtDestroy", &api->Destroy },
        { "cublasLtGetVersion", &api->GetVersion },
        { "cublasLtMatmulDescInit_internal", &api->MatmulDescInit_internal },
        { "cublasLtMatmulDescSetAttribute", &api->MatmulDescSetAttribute },
        { "cublasLtMatrixLayoutInit_internal", &api->MatrixLayoutInit_internal },
        { "cublasLtMatmulPreferenceInit_internal", &api->MatmulPreferenceInit_internal },
        { "cublasLtMatmulPreferenceSetAttribute", &api->MatmulPreferenceSetAttribute },
        { "cublasLtMatmulAlgoGetHeuristic", &api->MatmulAlgoGetHeuristic },
        { "cublasLtMatmulAlgoConfigGetAttribute", &api->MatmulAlgoConfigGetAttribute },
        { "cublasLtMatmul", &api->Matmul },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *symbol = dlsym(library, rows[i].name);
        if (symbol == NULL) {
            log_line(LOG_WARN, "cuda", "%s has no %s, so it is not used", CUBLASLT_NAME,
                     rows[i].name);
            return false;
        }
        memcpy(rows[i].to, &symbol, sizeof(symbol)); /* ISO C converts no data pointer to code */
    }
    return true;
}

struct cuda_blas *cuda_blas_open(struct cuda_driver *driver)
{
    struct cublaslt api;
    void *handle = NULL, *library = cuda_driver_open_library(driver, CUBLASLT_NAME);
    if (library == NULL || !find_functions(&api, library))
        return NULL;
    if (api.Create(&handle) != CUBLASLT_SUCCESS) {
        log_line(LOG_WARN, "cuda", "%s does not start, so it is not used", CUBLASLT_NAME);
        return NULL;
    }
    struct cuda_blas *blas = mem_take(sizeof(*blas));
    blas->api = api;
    blas->driver = driver;
    blas->handle = handle;
    blas->lock = lock_open();
    return blas;
}

/* The library stays open, since it may have threads. */
void cuda_blas_close(struct cuda_blas *blas)
{
    if (blas == NULL)
        return;
    (void)blas->api.Destroy(blas->handle);
    lock_close(blas->lock);
    mem_give(blas->shapes);
    mem_give(blas);
}

uint32_t cuda_blas_arithmetic(const struct cuda_blas *blas, uint32_t arithmetic)
{
    if (blas == NULL)
        return arithmetic;
    const struct cuda_driver_info *info = cuda_driver_describe(blas->driver);
    const uint64_t all[] = { arithmetic,
                             RULE,
                             blas->api.GetVersion(),
                             (uint64_t)info->major,
                             (uint64_t)info->minor,
                             (uint64_t)info->n_processors };
    return (uint32_t)(hash_fast(all, sizeof(all), 0).low | 0x80000000u); /* apart from plain ones */
}

/* ---- One product. ---- */

struct call { /* D = X . W^T: in the library's order of columns D^T = W^T^T . X^T */
    struct cublaslt_desc desc;
    struct cublaslt_layout w, x, d;
};

static bool describe(const struct cuda_blas *blas, struct call *c, const struct shape *s,
                     int32_t n_rows, int64_t d_stride)
{
    const struct cublaslt *api = &blas->api;
    const int32_t transposed = CUBLASLT_OP_T;
    uint64_t k = (uint64_t)s->n_columns, n = (uint64_t)s->n_outputs, m = (uint64_t)n_rows;
    return api->MatmulDescInit_internal(&c->desc, sizeof(c->desc), CUBLASLT_COMPUTE_32F,
                                        CUBLASLT_R_32F) == CUBLASLT_SUCCESS &&
           api->MatmulDescSetAttribute(&c->desc, CUBLASLT_DESC_TRANSA, &transposed,
                                       sizeof(transposed)) == CUBLASLT_SUCCESS &&
           api->MatrixLayoutInit_internal(&c->w, sizeof(c->w), CUBLASLT_R_16BF, k, n,
                                          s->n_columns) == CUBLASLT_SUCCESS &&
           api->MatrixLayoutInit_internal(&c->x, sizeof(c->x), CUBLASLT_R_16BF, k, m,
                                          s->n_columns) == CUBLASLT_SUCCESS &&
           api->MatrixLayoutInit_internal(&c->d, sizeof(c->d), CUBLASLT_R_32F, n, m, d_stride) ==
               CUBLASLT_SUCCESS;
}

struct operands {
    const void *w, *x;
    float *d;
    int64_t d_stride; /* floats */
    int32_t n_rows;
    bool adds;
    void *space;
    struct cuda_stream *stream;
};

static bool multiply(const struct cuda_blas *blas, const struct shape *s, const struct operands *o)
{
    struct call c;
    const float one = 1, beta = o->adds ? 1 : 0;
    return describe(blas, &c, s, o->n_rows, o->d_stride) &&
           blas->api.Matmul(blas->handle, &c.desc, &one, o->w, &c.w, o->x, &c.x, &beta, o->d, &c.d,
                            o->d, &c.d, &s->algo, o->space, CUDA_BLAS_BYTES,
                            o->stream) == CUBLASLT_SUCCESS;
}

/* ---- Choosing. ---- */

static uint32_t config_of(const struct cuda_blas *blas, const struct cublaslt_algo *algo, int which)
{
    uint32_t value = UINT32_MAX;
    size_t n = 0;
    (void)blas->api.MatmulAlgoConfigGetAttribute(algo, which, &value, sizeof(value), &n);
    return value;
}

static bool set_preference(const struct cuda_blas *blas, struct cublaslt_preference *p)
{
    const uint64_t n_bytes = CUDA_BLAS_BYTES;
    const uint32_t no_reduction = 0, alignment = ALIGNMENT;
    const struct cublaslt *api = &blas->api;
    bool is_set =
        api->MatmulPreferenceInit_internal(p, sizeof(*p)) == CUBLASLT_SUCCESS &&
        api->MatmulPreferenceSetAttribute(p, CUBLASLT_PREF_WORKSPACE_BYTES, &n_bytes,
                                          sizeof(n_bytes)) == CUBLASLT_SUCCESS &&
        api->MatmulPreferenceSetAttribute(p, CUBLASLT_PREF_REDUCTION_SCHEMES, &no_reduction,
                                          sizeof(no_reduction)) == CUBLASLT_SUCCESS;
    for (int i = 0; i < 4; i++)
        is_set = is_set &&
                 api->MatmulPreferenceSetAttribute(p, CUBLASLT_PREF_ALIGNMENT_A + i, &alignment,
                                                   sizeof(alignment)) == CUBLASLT_SUCCESS;
    return is_set;
}

/* Takes the first proposal that splits no sum. */
static bool choose(const struct cuda_blas *blas, struct shape *s)
{
    struct cublaslt_result results[PROPOSALS];
    struct cublaslt_preference preference;
    struct call c;
    int n = 0;
    if (!set_preference(blas, &preference) || !describe(blas, &c, s, s->n_rows_max, s->n_outputs) ||
        blas->api.MatmulAlgoGetHeuristic(blas->handle, &c.desc, &c.w, &c.x, &c.d, &c.d, &preference,
                                         PROPOSALS, results, &n) != CUBLASLT_SUCCESS)
        return false;
    for (int i = 0; i < n; i++) {
        const struct cublaslt_algo *algo = &results[i].algo;
        if (results[i].status != CUBLASLT_SUCCESS || results[i].workspace_bytes > CUDA_BLAS_BYTES ||
            config_of(blas, algo, CUBLASLT_CONFIG_SPLIT_K) > 1 ||
            config_of(blas, algo, CUBLASLT_CONFIG_REDUCTION) != 0)
            continue;
        s->algo = *algo;
        s->config = hash_fast(algo, sizeof(*algo), 0).low;
        return true;
    }
    return false;
}

/* ---- Checking. ---- */

struct check {
    const struct cuda_blas *blas;
    struct cuda_load *load;
    const struct shape *shape;
    struct operands operands;
    /* x (n_rows_max, n_columns), all (n_rows_max, n_outputs), some (ROWS_COMPARED, n_outputs) */
    struct compute_memory *x, *all, *some, *host;
    struct cuda_stream *stream;
    struct cuda_event *event;
    bool lacks_memory;
};

static struct compute_memory *open_memory(struct cuda_driver *driver, int64_t n_bytes, bool is_host)
{
    const struct compute_memory_options options = { .n_bytes = n_bytes, .is_host = is_host };
    struct compute_memory *memory = NULL;
    return cuda_object_open(driver, &options, &memory, NULL) == STATUS_OK ? memory : NULL;
}

/* Rows of random numbers, each another part of one pool. */
static bool draw_rows(struct check *k)
{
    static const uint16_t exponent = 0x3F00; /* 0.5 to 2 */
    int64_t n_columns = k->shape->n_columns, n_rows = k->shape->n_rows_max;
    uint16_t *rows = mem_take((size_t)(n_rows * n_columns) * 2), pool[POOL];
    for (uint64_t i = 0; i < POOL; i++) {
        uint64_t bits = rng_at(17, 0, i);
        pool[i] = (uint16_t)((bits & 0x80FF) | exponent);
    }
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t i = 0; i < n_columns; i++)
            rows[r * n_columns + i] = pool[(r * 61 + i * 13) % POOL];
    bool is_well = cuda_load_bytes(k->load, rows, (struct cuda_object_part){ k->x, 0 },
                                   n_rows * n_columns * 2);
    mem_give(rows);
    return is_well;
}

static bool compute(struct check *k, int32_t first, int32_t n_rows, struct compute_memory *to)
{
    struct operands o = k->operands;
    o.x = k->x->base + (int64_t)first * k->shape->n_columns * 2;
    o.d = (float *)(void *)to->base;
    o.n_rows = n_rows;
    return multiply(k->blas, k->shape, &o);
}

/* Computes rows [first, first + n) by themselves, and compares them with the same of `all`. */
static bool is_alike(struct check *k, int32_t first, int32_t n_rows)
{
    struct cuda_driver *driver = k->load->driver;
    int64_t row_bytes = (int64_t)k->shape->n_outputs * 4, n_bytes = n_rows * row_bytes;
    if (!compute(k, first, n_rows, k->some) ||
        !cuda_object_copy(driver, k->stream, (struct cuda_object_part){ k->host, 0 },
                          (struct cuda_object_part){ k->some, 0 }, n_bytes) ||
        !cuda_object_copy(driver, k->stream, (struct cuda_object_part){ k->host, n_bytes },
                          (struct cuda_object_part){ k->all, first * row_bytes }, n_bytes) ||
        !cuda_driver_record(driver, k->event, k->stream) || !cuda_driver_wait(driver, k->event))
        return false;
    return memcmp(k->host->base, k->host->base + n_bytes, (size_t)n_bytes) == 0;
}

static bool compare_all(struct check *k)
{
    static const int32_t counts[] = { 1, 17, TILE - 1, TILE, TILE + 1 };
    int32_t most = k->shape->n_rows_max;
    if (!draw_rows(k) || !compute(k, 0, most, k->all))
        return false;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (!is_alike(k, 0, counts[i]) || !is_alike(k, most - counts[i], counts[i]))
            return false;
    }
    return true;
}

static bool check_shape(struct check *k)
{
    struct cuda_driver *driver = k->load->driver;
    int64_t n_outputs = k->shape->n_outputs, n_rows = k->shape->n_rows_max;
    k->x = open_memory(driver, n_rows * k->shape->n_columns * 2, false);
    k->all = open_memory(driver, n_rows * n_outputs * 4, false);
    k->some = open_memory(driver, ROWS_COMPARED * n_outputs * 4, false);
    k->host = open_memory(driver, 2 * ROWS_COMPARED * n_outputs * 4, true);
    k->stream = cuda_driver_stream_open(driver, NULL);
    k->event = cuda_driver_event_open(driver);
    k->operands.stream = k->stream;
    k->lacks_memory = k->x == NULL || k->all == NULL || k->some == NULL || k->host == NULL ||
                      k->stream == NULL || k->event == NULL;
    bool is_good = !k->lacks_memory && compare_all(k);
    cuda_driver_stream_close(driver, k->stream); /* it waits for what is in flight */
    cuda_driver_event_close(driver, k->event);
    struct compute_memory *all[] = { k->x, k->all, k->some, k->host };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        cuda_object_close(driver, all[i]);
    return is_good;
}

static struct shape *find(struct cuda_blas *blas, const struct cuda_matrix *weight)
{
    for (int i = 0; i < blas->n_shapes; i++)
        if (blas->shapes[i].n_outputs == weight->n_rows &&
            blas->shapes[i].n_columns == weight->n_columns)
            return &blas->shapes[i];
    return NULL;
}

/* Copies the shape of a matrix. False: it is unknown. */
static bool look_up(struct cuda_blas *blas, const struct cuda_matrix *weight, struct shape *out)
{
    lock_take(blas->lock);
    const struct shape *found = find(blas, weight);
    if (found != NULL)
        *out = *found;
    lock_put(blas->lock);
    return found != NULL;
}

static void keep(struct cuda_blas *blas, const struct cuda_matrix *weight, const struct shape *s)
{
    lock_take(blas->lock);
    struct shape *place = find(blas, weight);
    if (place == NULL) {
        size_t n_bytes = sizeof(*place) * (size_t)blas->n_shapes;
        blas->shapes = mem_grow(blas->shapes, n_bytes, n_bytes + sizeof(*place));
        place = &blas->shapes[blas->n_shapes++];
    }
    *place = *s;
    lock_put(blas->lock);
}

/* Types and sizes that every proposal can compute: rows begin at multiples of 16 bytes. */
static bool is_eligible(const struct cuda_matrix *weight)
{
    return weight->type == CUDA_BF16 && weight->n_rows > 1 && weight->n_columns % 8 == 0 &&
           weight->n_rows % 4 == 0;
}

static void say(const struct cuda_blas *blas, const struct shape *s, const char *how)
{
    log_line(
        s->is_good ? LOG_INFO : LOG_WARN, "cuda",
        "cuBLASLt %llu, matrices of %d x %d: configuration %d, tile %d, stages %d (%016llx) %s",
        (unsigned long long)blas->api.GetVersion(), s->n_outputs, s->n_columns,
        (int)config_of(blas, &s->algo, CUBLASLT_CONFIG_ID),
        (int)config_of(blas, &s->algo, CUBLASLT_CONFIG_TILE),
        (int)config_of(blas, &s->algo, CUBLASLT_CONFIG_STAGES), (unsigned long long)s->config, how);
}

bool cuda_blas_check(struct cuda_blas *blas, struct cuda_load *load,
                     const struct cuda_matrix *weight, void *space)
{
    struct shape s;
    if (!is_eligible(weight) || look_up(blas, weight, &s))
        return true;
    s = (struct shape){ .n_outputs = weight->n_rows,
                        .n_columns = weight->n_columns,
                        .n_rows_max = max_i32(ROWS_COMPARED,
                                              min_i32(ROWS_MAX, VALUES_MAX / weight->n_rows)) };
    bool is_chosen = choose(blas, &s);
    struct check k = { .blas = blas,
                       .load = load,
                       .shape = &s,
                       .operands = {
                           .w = weight->packed, .d_stride = s.n_outputs, .space = space } };
    s.is_good = is_chosen && check_shape(&k);
    if (k.lacks_memory)
        return false;
    say(blas, &s,
        s.is_good    ? "gives each row the same bits in passes of any size"
        : !is_chosen ? "is none without splitting sums, so our kernel computes them"
                     : "does not give each row the same bits, so our kernel computes them");
    keep(blas, weight, &s);
    return true;
}

/* ---- Use. ---- */

bool cuda_blas_takes(struct cuda_blas *blas, const struct cuda_product *product)
{
    if (blas == NULL || product->row_class != CUDA_CLASS_MANY || product->bias != NULL ||
        product->has_act || !is_eligible(&product->weight) || product->dst.stride % 4 != 0)
        return false;
    struct shape s;
    return look_up(blas, &product->weight, &s) && s.is_good;
}

bool cuda_blas_product(struct cuda_blas *blas, struct cuda_stream *stream,
                       const struct cuda_product *product, const int32_t *rows, void *space)
{
    struct shape s;
    int32_t at = 0;
    if (!look_up(blas, &product->weight, &s))
        return false;
    while (at <
           product->n_rows) { /* a call for each run of neighbours, of rows that were checked */
        int32_t first = rows != NULL ? rows[at] : at, n = 1;
        int32_t most = min_i32(product->n_rows - at, s.n_rows_max);
        while (n < most && (rows == NULL || rows[at + n] == first + n))
            n++;
        const struct operands o = {
            .w = product->weight.packed,
            .x = (const unsigned char *)product->prepared + (int64_t)first * s.n_columns * 2,
            .d = product->dst.at + first * product->dst.stride,
            .d_stride = product->dst.stride,
            .n_rows = n,
            .adds = product->adds,
            .space = space,
            .stream = stream,
        };
        if (!multiply(blas, &s, &o))
            return false;
        at += n;
    }
    return true;
}
