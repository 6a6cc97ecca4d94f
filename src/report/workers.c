/* Finds the best worker of each service on each kind of device, by Equation 6 over the window's
 * means, and how many its rate needs at least. */
#include "report/workers.h"

#include "base/json_out.h"
#include "base/num.h"
#include "place/workers.h"

struct best {          /* of a service on a kind */
    int n_options, at; /* at: -1: none */
    struct workers_option options[PLACE_DEGREES];
    struct workers_answer answers[PLACE_DEGREES];
    int64_t tpot_ns;
};

static struct best best_of(const struct scenario_problem *of, const struct scenario *scenario,
                           int32_t s, int32_t kind)
{
    const struct place_problem *p = &of->problem;
    const struct place_service *service = &p->services[s];
    struct best best = { .tpot_ns = service->slo.tpot_ns > 0 ? service->slo.tpot_ns
                                                             : scenario->slo.tpot_ns };
    int32_t n_most = 0;
    for (int32_t i = 0; i < p->n_nodes; i++)
        n_most = p->nodes[i].kind == kind ? max_i32(n_most, p->nodes[i].n_devices) : n_most;
    for (int32_t n = 1; n <= min_i32(n_most, PLACE_GROUP_MAX); n *= 2)
        best.options[best.n_options++] =
            (struct workers_option){ n, *place_problem_perf(p, s, kind, n) };
    const struct workers_ask ask = {
        .device_bytes = p->kinds[kind].memory_bytes,
        .weights_bytes = place_problem_model_bytes(p, s),
        .kv_bytes_per_token = service->size.kv_bytes_per_token,
        .n_prompt = service->n_prompt,
        .n_output = service->n_output,
        .tpot_ns = best.tpot_ns,
        .counts_prefill = true,
        .price = p->kinds[kind].cost_per_hour,
    };
    best.at = place_workers_configure(&ask, best.options, best.n_options, best.answers);
    return best;
}

/* Returns the workers that decode as many tokens as arrive, a lower bound, since arrivals come in
 * bursts. */
static int32_t least(const struct place_service *service, const struct best *best)
{
    double own = best->answers[best->at].tokens_per_s * best->options[best->at].n_devices;
    double n = num_floor(service->rate_per_s * service->n_output / own);
    return (int32_t)n + 1;
}

static const char *bound_name(enum workers_bound bound)
{
    static const char *const names[] = { "no room", "too slow", "memory", "target" };
    return names[bound];
}

void report_workers_text(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out)
{
    const struct place_problem *p = &of->problem;
    for (int32_t s = 0; s < p->n_services; s++) {
        const struct place_service *service = &p->services[s];
        str_printf(out, "%s: %.2f requests/s, %.0f tokens in, %.0f out\n", service->name,
                   service->rate_per_s, service->n_prompt, service->n_output);
        for (int32_t k = 0; k < p->n_kinds; k++) {
            struct best best = best_of(of, scenario, s, k);
            for (int i = 0; i < best.n_options; i++) {
                const struct workers_answer *a = &best.answers[i];
                str_printf(out, "  %s x%d: ", p->kinds[k].name, best.options[i].n_devices);
                if (a->tokens_per_s <= 0) {
                    str_printf(out, "%s\n", bound_name(a->bound));
                    continue;
                }
                str_printf(out, "%.0f tokens/s of a device, bound by %s (%.1f requests in memory",
                           a->tokens_per_s, bound_name(a->bound), a->n_in_memory);
                if (best.tpot_ns > 0)
                    str_printf(out, ", %.1f within %.0f ms", a->n_in_target,
                               (double)best.tpot_ns * 1e-6);
                str_add_char(out, ')');
                if (a->price_per_million > 0)
                    str_printf(out, ", %.3f a million", a->price_per_million);
                if (i == best.at)
                    str_printf(out, "  <- best; at least %d workers", least(service, &best));
                str_add_char(out, '\n');
            }
        }
    }
}

static void kind_json(const struct scenario_problem *of, const struct scenario *scenario, int32_t s,
                      int32_t k, struct json_out *json)
{
    struct best best = best_of(of, scenario, s, k);
    json_out_open(json, '{');
    json_out_key_text(json, "kind", of->problem.kinds[k].name);
    json_out_key(json, "best");
    if (best.at >= 0)
        json_out_i64(json, best.options[best.at].n_devices);
    else
        json_out_null(json);
    if (best.at >= 0)
        json_out_key_i64(json, "workers_min", least(&of->problem.services[s], &best));
    json_out_key(json, "options");
    json_out_open(json, '[');
    for (int i = 0; i < best.n_options; i++) {
        json_out_open(json, '{');
        json_out_key_i64(json, "devices", best.options[i].n_devices);
        json_out_key_text(json, "bound", bound_name(best.answers[i].bound));
        json_out_key_f64(json, "tokens_per_s_of_a_device", best.answers[i].tokens_per_s);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void report_workers_json(const struct scenario_problem *of, const struct scenario *scenario,
                         struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "services");
    json_out_open(&json, '[');
    for (int32_t s = 0; s < of->problem.n_services; s++) {
        json_out_open(&json, '{');
        json_out_key_text(&json, "service", of->problem.services[s].name);
        json_out_key_f64(&json, "rate_per_s", of->problem.services[s].rate_per_s);
        json_out_key(&json, "kinds");
        json_out_open(&json, '[');
        for (int32_t k = 0; k < of->problem.n_kinds; k++)
            kind_json(of, scenario, s, k, &json);
        json_out_close(&json, ']');
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}
