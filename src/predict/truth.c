/* Truths: their spans, and their reduction to a linear model. */
#include "predict/truth.h"

#include "base/mem.h"

/* Returns the time of the decodes' step with this number, from 0 on. */
static int64_t decode_ps(const struct perf_truth *truth, const struct perf_load *first, int64_t i)
{
    struct perf_load load = *first;
    load.n_decode_context += i * load.n_decodes;
    load.n_context_most += load.n_context_most > 0 ? i : 0;
    return truth->step_ps(truth->self, &load);
}

int64_t truth_span_ps(const struct perf_truth *truth, const struct perf_load *first,
                      int64_t n_steps)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n_steps; i++)
        sum += decode_ps(truth, first, i);
    return sum;
}

int64_t truth_steps_in(const struct perf_truth *truth, const struct perf_load *first,
                       int64_t span_ps, int64_t n_most)
{
    int64_t n = 0;
    for (; n < n_most; n++) {
        span_ps -= decode_ps(truth, first, n);
        if (span_ps < 0)
            break;
    }
    return n;
}

/* Returns the next number of a walk in steps of about the root of 2, which ends at `most`. */
static int32_t next_of(int32_t n, int32_t most)
{
    return n >= most ? most + 1 : min_i32(max_i32(n + 1, (int32_t)((int64_t)n * 181 / 128)), most);
}

bool truth_reduce(const struct perf_truth *truth, const struct truth_range *range,
                  struct truth_reduced *out)
{
    enum { N_MAX = 48 * 48 + 48 };
    struct perf_sample *samples = mem_take(N_MAX * sizeof(*samples));
    int n = 0;
    for (int32_t i = max_i32(range->n_prompt_min, 1); i <= range->n_prompt_max && n < 48;
         i = next_of(i, range->n_prompt_max))
        samples[n++].load = (struct perf_load){ .n_new = i, .n_new_squared = (int64_t)i * i };
    for (int32_t b = 1; b <= range->n_batch_max; b = next_of(b, range->n_batch_max))
        for (int32_t c = max_i32(range->n_context_min, 1); c <= range->n_context_max && n < N_MAX;
             c = next_of(c, range->n_context_max))
            samples[n++].load =
                (struct perf_load){ .n_decodes = b, .n_decode_context = (int64_t)b * c };
    for (int i = 0; i < n; i++)
        samples[i].ps = truth->step_ps(truth->self, &samples[i].load);
    bool is_fit = perf_fit(samples, n, &out->perf);
    perf_errors_of(&out->perf, samples, n, true, &out->prefill);
    perf_errors_of(&out->perf, samples, n, false, &out->decode);
    mem_give(samples);
    return is_fit;
}
