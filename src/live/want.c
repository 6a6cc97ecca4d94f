/* Engines that a live service wants. */
#include "live/want.h"

void live_want_tick(struct scale *scale, const struct live_want_ask *ask, int64_t now_ns,
                    struct live_want *out)
{
    const struct monitor_reading *r = ask->reading;
    const struct workers_option option = { .n_devices = 1, .perf = r->perf };
    const struct workers_ask workers = { .device_bytes = ask->memory_bytes,
                                         .reserve_bytes = ask->size.activation_bytes,
                                         .weights_bytes = ask->size.weights_bytes,
                                         .kv_bytes_per_token = ask->size.kv_bytes_per_token,
                                         .n_prompt = r->prompt.mean,
                                         .n_output = r->output.mean,
                                         .tpot_ns = ask->tpot_ns,
                                         .counts_prefill = true };
    struct workers_answer answer;
    struct scale_config config;
    *out = (struct live_want){ .n_wanted = -1 };
    scale_arrived(scale, ask->n_arrived);
    if (r->output.n == 0 || r->output.mean <= 0 || r->perf.c1_ps + r->perf.k1_ps <= 0 ||
        place_workers_configure(&workers, &option, 1, &answer) < 0)
        return;
    out->rate_of_one = answer.tokens_per_s / r->output.mean;
    scale_config_init(&config);
    config.line = (struct workers_line){ .k5 = 1 / out->rate_of_one };
    if (ask->cold_start_ns > 0)
        config.cold_start_ns = ask->cold_start_ns;
    const struct scale_order order = scale_tick(scale, &config, now_ns, ask->n_copies);
    out->n_wanted = order.n_wanted;
    out->rate = order.rate;
    out->is_changed = order.is_changed;
}
