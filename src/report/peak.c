/* Achieved over peak. */
#include "report/peak.h"

#include "predict/device.h"

/* Adds a request. A prompt's computed positions each attend to those before, then each token
 * follows another: o tokens take o - 1 steps behind the prompt's. */
static void add_request(const struct scenario_world *world, const struct record *r,
                        struct report_peak *out)
{
    const struct predict_model *m = world->models[r->service];
    double i = r->n_prompt, c = r->n_cached, steps = max_i32(r->n_output - 1, 0);
    if (r->n_output == 0)
        return;
    double pairs = (i * (i + 1) - c * (c + 1)) / 2 + steps * i + steps * (steps + 1) / 2;
    out->flops += predict_model_flops_per_token(m) * (i - c + steps) +
                  predict_model_flops_per_pair(m) * pairs;
    out->bytes += (double)world->services[r->service].size.kv_bytes_per_token *
                  (steps * i + steps * (steps + 1) / 2);
}

void report_peak_of(const struct scenario_world *world, const struct record_set *set,
                    const struct sim_report *report, double makespan_s, struct report_peak *out)
{
    *out = (struct report_peak){ .is_known = makespan_s > 0 && world->flops_per_s > 0 };
    for (int32_t s = 0; s < world->workload.n_services; s++)
        out->is_known = out->is_known && world->models[s] != NULL;
    if (!out->is_known)
        return;
    for (size_t i = 0; i < set->n; i++)
        add_request(world, &set->at[i], out);
    for (int32_t s = 0; s < report->n_services; s++)
        out->bytes +=
            (double)report->services[s].n_batches * (double)world->services[s].size.weights_bytes;
    out->compute = out->flops / (makespan_s * world->flops_per_s);
    out->memory = out->bytes / (makespan_s * world->bytes_per_s);
}
