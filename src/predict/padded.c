/* The padded view: conversions, the closed form of a slice, and its fit. */
#include "predict/padded.h"

#include "base/lsq.h"
#include "base/mem.h"
#include "base/num.h"

static int64_t scaled(int64_t ps, float scale)
{
    return scale == 1.0F ? ps : (int64_t)num_floor((double)ps * (double)scale + 0.5);
}

bool padded_of_perf(const struct perf *perf, int32_t n_requests, struct padded *out)
{
    int regime = n_requests >= perf->b_switch;
    *out = (struct padded){ .p1_ps = scaled(perf->k1_ps, perf->prefill_scale),
                            .p4_ps = scaled(perf->c1_ps, perf->prefill_scale),
                            .d1_ps = scaled(perf->k2_ps[regime], perf->decode_scale),
                            .d2_ps = scaled(perf->c2_ps[regime], perf->decode_scale),
                            .d4_ps = scaled(perf->c3_ps[regime], perf->decode_scale) };
    return perf->q1_ps == 0 && perf->floor_ps <= perf->c1_ps;
}

bool padded_to_perf(const struct padded *p, struct perf *out)
{
    *out = (struct perf){ .c1_ps = p->p4_ps,
                          .k1_ps = p->p1_ps,
                          .c3_ps = { p->d4_ps, p->d4_ps },
                          .c2_ps = { p->d2_ps, p->d2_ps },
                          .k2_ps = { p->d1_ps, p->d1_ps },
                          .b_switch = INT32_MAX,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
    return p->p2_ps == 0 && p->p3_ps == 0 && p->d3_ps == 0;
}

int64_t padded_prefill_ps(const struct padded *p, int32_t n, int32_t n_input)
{
    int64_t tokens = (int64_t)n * n_input;
    return p->p1_ps * tokens + p->p2_ps * n + p->p3_ps * n_input + p->p4_ps;
}

int64_t padded_decode_ps(const struct padded *p, int32_t n, int32_t n_length)
{
    int64_t tokens = (int64_t)n * n_length;
    return p->d1_ps * tokens + p->d2_ps * n + p->d3_ps * n_length + p->d4_ps;
}

/* The lengths L + 1 .. L + S - 1 sum to (S - 1) L + (S - 1) S / 2. */
int64_t padded_serve_ps(const struct padded *p, int32_t n, int32_t n_input, int32_t n_slice)
{
    int64_t steps = max_i64(n_slice, 1) - 1;
    int64_t lengths = steps * n_input + steps * (steps + 1) / 2;
    return padded_prefill_ps(p, n, n_input) + steps * (p->d2_ps * n + p->d4_ps) +
           lengths * (p->d1_ps * n + p->d3_ps);
}

enum { N_COLUMNS = 4 };

static bool fit_plane(const struct padded_sample *samples, int n_samples, bool is_prefill,
                      double c[N_COLUMNS])
{
    static const bool is_nonnegative[N_COLUMNS] = { true, true, true, true };
    double *x = mem_take((size_t)n_samples * (N_COLUMNS + 2) * sizeof(*x));
    double *y = x + n_samples * N_COLUMNS, *weight = y + n_samples;
    int n = 0;
    for (int i = 0; i < n_samples; i++) {
        const struct padded_sample *s = &samples[i];
        if (s->is_prefill != is_prefill || s->ps <= 0)
            continue;
        double row[N_COLUMNS] = { (double)s->n * s->n_length, s->n, s->n_length, 1 };
        for (int j = 0; j < N_COLUMNS; j++)
            x[n * N_COLUMNS + j] = row[j];
        y[n] = (double)s->ps;
        weight[n] = 1 / (y[n] * y[n]);
        n++;
    }
    bool is_solved = n >= N_COLUMNS && lsq_solve(n, N_COLUMNS, x, y, weight, is_nonnegative, c);
    mem_give(x);
    return is_solved;
}

bool padded_fit(const struct padded_sample *samples, int n_samples, struct padded *out)
{
    double p[N_COLUMNS], d[N_COLUMNS];
    if (!fit_plane(samples, n_samples, true, p) || !fit_plane(samples, n_samples, false, d))
        return false;
    for (int j = 0; j < N_COLUMNS; j++) {
        p[j] = num_floor(p[j] + 0.5);
        d[j] = num_floor(d[j] + 0.5);
    }
    *out = (struct padded){ (int64_t)p[0], (int64_t)p[1], (int64_t)p[2], (int64_t)p[3],
                            (int64_t)d[0], (int64_t)d[1], (int64_t)d[2], (int64_t)d[3] };
    return true;
}
