/* Parts of a device: tables of slowdowns, and the mutual slowdown of jobs side by side. */
#include "base/num.h"
#include "predict/perf.h"

static const double share_min = 0.3, share_step = 0.1;

#define MUXSERVE "MuxServe's measurements on an A100, docs/ALGORITHMS.md, appendix A"

/* Shares of 30, 40, .. 100%; by model and tensor-parallel degree. */
static const struct {
    int64_t weights_bytes; /* of one device */
    int32_t tp;
    struct perf_share share;
} rows[] = {
    { INT64_C(13476000000),
      1, /* LLaMA-7B */
      { MUXSERVE,
        { 2.66, 2.01, 1.64, 1.42, 1.26, 1.13, 1.06, 1 },
        { 1.42, 1.27, 1.10, 1.09, 1.05, 1.03, 1.00, 1 },
        { 1.81, 1.61, 1.38, 1.17, 1.11, 1.06, 1.03, 1 } } },
    { INT64_C(3369000000),
      4,
      { MUXSERVE,
        { 2.25, 1.78, 1.51, 1.33, 1.23, 1.12, 1.06, 1 },
        { 0.97, 0.98, 0.99, 0.98, 0.99, 0.98, 1.04, 1 },
        { 1.60, 1.40, 1.29, 1.15, 1.11, 1.07, 1.02, 1 } } },
    { INT64_C(26032000000),
      1, /* LLaMA-13B */
      { MUXSERVE,
        { 2.64, 2.05, 1.63, 1.41, 1.28, 1.16, 1.07, 1 },
        { 1.51, 1.23, 1.13, 1.08, 1.03, 1.04, 1.03, 1 },
        { 2.05, 1.63, 1.44, 1.28, 1.12, 1.08, 1.07, 1 } } },
    { INT64_C(16264000000),
      4, /* LLaMA-30B */
      { MUXSERVE,
        { 2.37, 1.88, 1.54, 1.34, 1.24, 1.13, 1.05, 1 },
        { 1.12, 1.01, 1.03, 1.02, 1.00, 1.03, 0.99, 1 },
        { 1.80, 1.42, 1.33, 1.22, 1.11, 1.09, 1.19, 1 } } },
    { INT64_C(16321000000),
      8, /* LLaMA-65B */
      { MUXSERVE,
        { 2.16, 1.76, 1.45, 1.28, 1.19, 1.09, 1.04, 1 },
        { 1.02, 1.02, 0.99, 1.00, 1.04, 1.05, 1.00, 1 },
        { 1.68, 1.48, 1.20, 1.18, 1.18, 1.04, 1.02, 1 } } },
};

const struct perf_share perf_share_cores = {
    "time is inverse to cores",
    { 10.0 / 3, 2.5, 2, 10.0 / 6, 10.0 / 7, 1.25, 10.0 / 9, 1 },
    { 10.0 / 3, 2.5, 2, 10.0 / 6, 10.0 / 7, 1.25, 10.0 / 9, 1 },
    { 10.0 / 3, 2.5, 2, 10.0 / 6, 10.0 / 7, 1.25, 10.0 / 9, 1 },
};

/* Returns the nearest row. Several devices hide shares behind launches and links, so one device and
 * several devices have separate rows. */
const struct perf_share *perf_share_of(int64_t weights_bytes, int32_t tp)
{
    const struct perf_share *best = NULL;
    double nearest = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((rows[i].tp == 1) != (tp == 1))
            continue;
        double bytes = (double)max_i64(weights_bytes / max_i32(tp, 1), 1);
        double far = bytes / (double)rows[i].weights_bytes;
        far = far < 1 ? 1 / far : far;
        if (best == NULL || far < nearest) {
            best = &rows[i].share;
            nearest = far;
        }
    }
    return best;
}

static double slowdown(const double table[PERF_SHARES], double share)
{
    if (share <= share_min)
        return table[0] * share_min / (share > 0.001 ? share : 0.001);
    double at = (share - share_min) / share_step;
    int i = (int)at;
    if (i >= PERF_SHARES - 1)
        return table[PERF_SHARES - 1];
    return table[i] + (table[i + 1] - table[i]) * (at - i);
}

static int64_t times(int64_t ps, double factor)
{
    return (int64_t)num_floor((double)ps * factor + 0.5);
}

void perf_at_share(const struct perf *perf, const struct perf_share *table, double share,
                   struct perf *out)
{
    double prefill = slowdown(table->prefill, share);
    const double decode[2] = { slowdown(table->decode_small, share),
                               slowdown(table->decode_large, share) };
    *out = *perf;
    out->floor_ps = times(perf->floor_ps, prefill);
    out->c1_ps = times(perf->c1_ps, prefill);
    out->k1_ps = times(perf->k1_ps, prefill);
    out->q1_ps = times(perf->q1_ps, prefill);
    for (int i = 0; i < 2; i++) {
        out->c3_ps[i] = times(perf->c3_ps[i], decode[i]);
        out->c2_ps[i] = times(perf->c2_ps[i], decode[i]);
        out->k2_ps[i] = times(perf->k2_ps[i], decode[i]);
    }
}

void perf_contention(const struct perf_job *jobs, int n, double bytes_per_s, double *factors)
{
    double bandwidth = 0, share = 0;
    for (int i = 0; i < n; i++) {
        share += jobs[i].share;
        if (n > 1 && jobs[i].ps > 0)
            bandwidth += (double)jobs[i].bytes / ((double)jobs[i].ps * 1e-12 * bytes_per_s);
    }
    for (int i = 0; i < n; i++) {
        factors[i] = n > 1 && bandwidth > 1 ? bandwidth : 1;
        if (jobs[i].beside[0] > 0) {
            factors[i] = 1;
            for (int k = 0; k < n; k++)
                factors[i] *= k != i ? jobs[i].beside[jobs[k].is_prefill ? 0 : 1] : 1;
            continue;
        }
        if (jobs[i].is_prefill && share > 1)
            factors[i] *= share;
    }
}

int64_t perf_step_bytes(const struct perf_load *load, int64_t weights_bytes,
                        int64_t kv_bytes_per_token)
{
    return weights_bytes + load->n_decode_context * kv_bytes_per_token;
}
