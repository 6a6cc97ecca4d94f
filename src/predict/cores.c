/* The bounds of cores. */
#include "predict/cores.h"

#include "base/num.h"

enum { CORES_THAT_FILL_MEMORY = 8 };
static const int64_t cache_bytes = INT64_C(16) << 20; /* smaller weights stay in a shared cache */
static const double memory_per_core = 14e9, cache_per_core = 60e9; /* bytes/s */
static const double layer_s = 5e-6, meet_s = 12e-6;                /* for a layer */

static double ops_per_core(enum predict_cores_isa isa)
{
    static const double ops[] = {
        [PREDICT_CORES_GENERIC] = 6e9, [PREDICT_CORES_AVX2] = 70e9, [PREDICT_CORES_AVX512] = 200e9
    };
    return ops[isa];
}

static int64_t ps_of(double s)
{
    return (int64_t)num_floor(s * 1e12 + 0.5);
}

void predict_cores_perf(const struct predict_cores_model *model, enum predict_cores_isa isa,
                        int32_t n_cores, int32_t n_all, struct perf *out)
{
    const struct model_spec *m = model->spec;
    double n = n_cores, filled = n_all > CORES_THAT_FILL_MEMORY ? CORES_THAT_FILL_MEMORY : n_all;
    double memory = memory_per_core * filled * n / n_all;
    double read = model->weights_bytes <= cache_bytes ? cache_per_core * n : memory;
    double ops = ops_per_core(isa) * n;
    double layers = m->n_layers * (layer_s + (n_cores > 1 ? meet_s : 0));
    double weights = (double)model->weights_bytes / read;
    double prompt = model_spec_flops_per_token(m) / ops;
    double token = prompt + 2.0 * m->width * m->n_vocabulary / ops; /* and the output matrix */
    double pair = 4.0 * m->n_layers * m->n_heads * m->head_dim / ops;
    double kv = (double)model->kv_bytes_per_token / memory;
    double position = pair > kv ? pair : kv;
    double meet = num_floor(weights / token) + 1; /* requests at which computing takes as long */
    *out = (struct perf){
        .floor_ps = ps_of(layers + weights),
        .c1_ps = ps_of(layers),
        .k1_ps = ps_of(prompt),
        .q1_ps = ps_of(512 * pair),
        .c3_ps = { ps_of(layers + weights), ps_of(layers) },
        .c2_ps = { ps_of(token / 8), ps_of(token) }, /* part of it does not overlap with reading */
        .k2_ps = { ps_of(position), ps_of(position) },
        .b_switch = (int32_t)(meet < 1e6 ? meet : 1e6),
        .prefill_scale = 1,
        .decode_scale = 1,
    };
}
