/* Solo times by least squares. */
#include "loadgen/solo.h"

#include "base/lsq.h"
#include "base/mem.h"

static double span_s(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

static double model_s(const struct loadgen_solo *solo, int32_t n_prompt, int32_t n_output)
{
    return solo->ttft_s + solo->ttft_per_token_s * n_prompt +
           solo->tpot_s * max_i32(n_output - 1, 0);
}

void loadgen_solo_fit(const struct record_set *set, int32_t service, struct loadgen_solo *out)
{
    double *x = mem_take((set->n + 1) * 2 * sizeof(*x)), *y = mem_take((set->n + 1) * sizeof(*y));
    const bool both[2] = { true, true };
    double line[2], mean = 0, decode_s = 0, n_decoded = 0;
    *out = (struct loadgen_solo){ .n = 0 };
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        if (r->service != service || !record_is_done(r))
            continue;
        x[2 * out->n] = 1;
        x[2 * out->n + 1] = r->n_prompt;
        y[out->n++] = span_s(r->arrived_ns, r->first_ns);
        mean += span_s(r->arrived_ns, r->first_ns);
        decode_s += r->n_output > 1 ? span_s(r->first_ns, r->end_ns) : 0;
        n_decoded += max_i32(r->n_output - 1, 0);
    }
    out->is_known = out->n > 0;
    if (out->n > 0)
        out->ttft_s = mean / out->n;
    if (out->n > 1 && lsq_solve(out->n, 2, x, y, NULL, both, line)) {
        out->ttft_s = line[0];
        out->ttft_per_token_s = line[1];
    }
    out->tpot_s = n_decoded > 0 ? decode_s / n_decoded : 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct record *r = &set->at[i];
        if (r->service != service || !record_is_done(r))
            continue;
        double measured_s = span_s(r->arrived_ns, r->end_ns);
        double off = model_s(out, r->n_prompt, r->n_output) / measured_s - 1;
        out->error += (off < 0 ? -off : off) / out->n;
    }
    mem_give(x);
    mem_give(y);
}

void loadgen_solo_base(const struct loadgen_solo *solo, struct score_base *out)
{
    static const int32_t buckets[] = { 32, 64, 128, 256, 512, 1024, 2048 };
    *out = (struct score_base){ .n = solo->is_known ? (int32_t)COUNT_OF(buckets) : 0 };
    for (int32_t i = 0; i < out->n; i++) {
        out->tokens[i] = buckets[i];
        out->prefill_ns[i] = loadgen_solo_ns(solo, buckets[i], 1);
    }
    out->decode_ns = (int64_t)(solo->tpot_s * 1e9);
}

int64_t loadgen_solo_ns(const struct loadgen_solo *solo, int32_t n_prompt, int32_t n_output)
{
    return solo->is_known ? (int64_t)(model_s(solo, n_prompt, n_output) * 1e9) : 0;
}
