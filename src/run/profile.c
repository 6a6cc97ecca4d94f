/* Times a loaded model on small batches over a cache of its own, shortest first, until the time
 * budget is spent. */
#include "run/profile.h"

#include "base/time.h"
#include "run/meter.h"

enum { PROFILE_CONTEXT = 256, PROFILE_LEAST = 32, PROFILE_SAMPLES = 64 };

/* When the fit is not determined: a line through the first prompt and the first decode. */
static void guess(const struct perf_sample *samples, int n_samples, struct perf *out)
{
    int64_t decode_ps = samples[0].ps;
    int64_t prompt_ps = n_samples > 1 ? samples[1].ps : decode_ps;
    int64_t n_new = n_samples > 1 ? max_i32(samples[1].load.n_new, 1) : 1;
    *out = (struct perf){ .floor_ps = decode_ps / 2,
                          .k1_ps = prompt_ps / n_new,
                          .c3_ps = { decode_ps, decode_ps },
                          .b_switch = INT32_MAX,
                          .prefill_scale = 1.0F,
                          .decode_scale = 1.0F };
}

/* Returns the options that the passes need, reduced to the room that there is. */
static struct run_meter_options fit_meter(const struct run_model *model,
                                          const struct run_profile_options *options)
{
    struct run_meter_options meter = {
        .n_rows_max = options->n_rows_max,
        .n_sequences_max = options->n_decodes_max,
        .n_tokens_max = max_i32(options->n_decodes_max * PROFILE_CONTEXT, options->n_rows_max),
    };
    while (options->bytes_max > 0 && run_meter_bytes(model, &meter) > options->bytes_max) {
        if (meter.n_tokens_max > PROFILE_CONTEXT)
            meter.n_tokens_max = max_i32(meter.n_tokens_max / 2, PROFILE_CONTEXT);
        else if (meter.n_sequences_max > 1)
            meter.n_sequences_max /= 2;
        else if (meter.n_tokens_max > PROFILE_LEAST)
            meter.n_tokens_max = meter.n_rows_max = PROFILE_LEAST;
        else
            break;
    }
    return meter;
}

void run_profile(const struct run_model *model, const struct run_profile_options *options,
                 struct perf *out)
{
    static const struct run_meter_pass plan[] = {
        { 1, 1, 31 },  { 1, 16, 0 },  { 1, 1, 255 },  { 2, 1, 31 },   { 1, 64, 0 },  { 4, 1, 31 },
        { 1, 32, 0 },  { 4, 1, 255 }, { 8, 1, 31 },   { 1, 128, 0 },  { 8, 1, 255 }, { 1, 64, 128 },
        { 16, 1, 31 }, { 1, 256, 0 }, { 16, 1, 255 }, { 32, 1, 127 },
    };
    struct perf_sample samples[PROFILE_SAMPLES];
    int n_samples = 0;
    int64_t deadline_ns = time_now_ns() + options->budget_ns;
    const struct run_meter_options fits = fit_meter(model, options);
    struct run_meter *meter = run_meter_open(model, &fits);
    for (size_t i = 0; i < COUNT_OF(plan) && (i < 2 || time_now_ns() < deadline_ns); i++) {
        struct run_meter_pass pass = plan[i];
        pass.n_new = min_i32(pass.n_new, fits.n_rows_max);
        pass.n_before =
            min_i32(pass.n_before, weights_spec(model->weights)->n_positions_max - pass.n_new - 1);
        if (run_meter_fits(meter, &pass))
            samples[n_samples++] = run_meter_step(meter, &pass, 2, deadline_ns);
    }
    if (!perf_fit(samples, n_samples, out))
        guess(samples, n_samples, out);
    run_meter_close(meter);
}
