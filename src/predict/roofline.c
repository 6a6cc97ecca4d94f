/* The roofline: its prediction from six efficiencies, and their fit to profiled devices. */
#include "predict/roofline.h"

#include "base/lsq.h"
#include "base/num.h"
#include "predict/preset.h"

enum { ROWS_MAX = 64, EQUATION_COLUMNS = 3 };

/* The times at peak speed, in ms. */
struct ideal {
    double weights;   /* reading a device's part of the weights */
    double token;     /* one token's matrices */
    double pairs;     /* attention of 1,024 pairs, halved since a prompt only looks back */
    double kv;        /* reading one token's keys and values */
    double all_token; /* an all-reduce of one token's activations, both of all layers */
    double n_layers, n_reduces; /* in a step */
};

static struct ideal ideal_of(const struct predict_model *m, const struct predict_device *d,
                             int32_t tp)
{
    double ring = tp > 1 ? 2.0 * (tp - 1) / tp : 0;
    double n_reduces = tp > 1 ? 2.0 * m->n_layers : 0;
    return (struct ideal){
        .weights = 1e3 * (double)predict_model_weights_bytes(m) / tp / d->bytes_per_s,
        .token = 1e3 * predict_model_flops_per_token(m) / tp / d->flops_per_s,
        .pairs = 1e3 * 512 * predict_model_flops_per_pair(m) / tp / d->flops_per_s,
        .kv = 1e3 * (double)predict_model_kv_bytes_per_token(m) / tp / d->bytes_per_s,
        .all_token = 1e3 * n_reduces * ring * 2.0 * m->width / d->link_bytes_per_s,
        .n_layers = m->n_layers,
        .n_reduces = n_reduces,
    };
}

/* One equation of the fit: y = x c over the rows with y > 0. Errors count relative to the whole
 * time that contains y. */
struct equation {
    int n, n_columns;
    double x[ROWS_MAX * EQUATION_COLUMNS], y[ROWS_MAX], weight[ROWS_MAX];
};

static void add_row(struct equation *e, double y, double whole, const double *x)
{
    if (y <= 0 || e->n == ROWS_MAX)
        return;
    for (int j = 0; j < e->n_columns; j++)
        e->x[e->n * e->n_columns + j] = x[j];
    e->y[e->n] = y;
    e->weight[e->n] = 1 / (whole * whole);
    e->n++;
}

static void solve(const struct equation *e, double c[EQUATION_COLUMNS])
{
    static const bool is_nonnegative[EQUATION_COLUMNS] = { true, true, true };
    CHECK(lsq_solve(e->n, e->n_columns, e->x, e->y, e->weight, is_nonnegative, c));
}

static double inverse(double x, double otherwise)
{
    return x > 0 ? 1 / x : otherwise;
}

/* Fits the part of a decode step besides reading: by layer, all-reduce and request. */
static void fit_rest(const struct preset_row *rows, int n, struct roofline_efficiency *out)
{
    struct equation rest = { .n_columns = 3 };
    double c[EQUATION_COLUMNS];
    for (int i = 0; i < n; i++) {
        const struct perf *p = &rows[i].perf;
        struct ideal ideal = ideal_of(predict_model_find(rows[i].model),
                                      predict_device_find(rows[i].device), rows[i].tp);
        for (int32_t b = 1; b <= 33; b += 32) {
            double whole = 1e-9 * (double)(p->c3_ps[0] + b * p->c2_ps[0]);
            add_row(&rest, whole - ideal.weights / out->memory, whole,
                    (const double[]){ ideal.n_layers, ideal.n_reduces, b });
        }
    }
    solve(&rest, c);
    out->layer_ms = c[0];
    out->reduce_ms = c[1];
    out->request_ms = c[2];
}

void predict_roofline_fit(struct roofline_efficiency *out)
{
    struct equation prefill = { .n_columns = 2 }, kv = { .n_columns = 1 };
    double knee = 0, c[EQUATION_COLUMNS];
    int n;
    const struct preset_row *rows = preset_rows(&n);
    for (int i = 0; i < n; i++) {
        const struct perf *p = &rows[i].perf;
        struct ideal ideal = ideal_of(predict_model_find(rows[i].model),
                                      predict_device_find(rows[i].device), rows[i].tp);
        add_row(&prefill, 1e-9 * (double)p->k1_ps, 1e-9 * (double)p->k1_ps,
                (const double[]){ ideal.token, ideal.all_token });
        add_row(&kv, 1e-9 * (double)p->k2_ps[1], 1e-9 * (double)p->k2_ps[1], &ideal.kv);
    }
    *out = (struct roofline_efficiency){ 0 };
    solve(&prefill, c);
    out->compute = inverse(c[0], 1);
    out->link = inverse(c[1], 1);
    solve(&kv, c);
    out->memory = inverse(c[0], 1);
    fit_rest(rows, n, out);
    for (int i = 0; i < n; i++) {
        struct ideal ideal = ideal_of(predict_model_find(rows[i].model),
                                      predict_device_find(rows[i].device), rows[i].tp);
        double meet = ideal.weights / out->memory / (ideal.token / out->compute);
        knee += rows[i].perf.b_switch / meet;
    }
    out->knee = knee / n;
}

static int64_t ps_of(double ms)
{
    return (int64_t)num_floor(ms * 1e9 + 0.5);
}

void predict_roofline_perf(const struct predict_model *model, const struct predict_device *device,
                           int32_t tp, const struct roofline_efficiency *e, struct perf *out)
{
    struct ideal ideal = ideal_of(model, device, tp);
    double weights = ideal.weights / e->memory, token = ideal.token / e->compute;
    double all_token = ideal.all_token / e->link;
    double constant = e->layer_ms * ideal.n_layers + e->reduce_ms * ideal.n_reduces;
    double slope = e->request_ms + all_token;
    double steep = token + all_token > slope ? token + all_token : slope;
    double at = num_floor(e->knee * weights / token);
    at = at < 1 ? 1 : at > 1 << 20 ? 1 << 20 : at;
    double small = constant + weights, large = small - (steep - slope) * at;
    *out = (struct perf){
        .floor_ps = ps_of(small),
        .c1_ps = ps_of(constant),
        .k1_ps = ps_of(token + all_token),
        .q1_ps = ps_of(ideal.pairs / e->compute),
        .c3_ps = { ps_of(small), ps_of(large > 0 ? large : 0) },
        .c2_ps = { ps_of(slope), ps_of(steep) },
        .k2_ps = { ps_of(ideal.kv / e->memory), ps_of(ideal.kv / e->memory) },
        .b_switch = (int32_t)at,
        .prefill_scale = 1,
        .decode_scale = 1,
    };
}
