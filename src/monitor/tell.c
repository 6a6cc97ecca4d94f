/* Tells what the monitor knows. */
#include "monitor/tell.h"

#include "metrics/print.h"

static void tell_mean(struct json_out *json, const char *key, const struct monitor_mean *mean)
{
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_i64(json, "n", mean->n);
    json_out_key_f64(json, "mean", mean->mean);
    json_out_key_f64(json, "deviation", mean->deviation);
    json_out_close(json, '}');
}

static void tell_perf(struct json_out *json, const struct perf *perf)
{
    json_out_key(json, "profile");
    if (perf->c1_ps + perf->k1_ps == 0) {
        json_out_null(json);
        return;
    }
    json_out_open(json, '{');
    json_out_key_f64(json, "prefill_ms", (double)perf->c1_ps * 1e-9);
    json_out_key_f64(json, "prefill_ms_per_token", (double)perf->k1_ps * 1e-9);
    json_out_key_f64(json, "decode_ms", (double)perf->c3_ps[0] * 1e-9);
    json_out_key_f64(json, "decode_ms_per_request", (double)perf->c2_ps[0] * 1e-9);
    json_out_key_f64(json, "decode_ms_per_context_token", (double)perf->k2_ps[0] * 1e-9);
    json_out_key_f64(json, "prefill_scale", (double)perf->prefill_scale);
    json_out_key_f64(json, "decode_scale", (double)perf->decode_scale);
    json_out_close(json, '}');
}

static void tell_service(struct json_out *json, const char *name, const struct monitor_reading *r)
{
    json_out_open(json, '{');
    json_out_key_text(json, "name", name);
    json_out_key_f64(json, "rate_per_s", r->rate);
    json_out_key_i64(json, "n_done", r->n_done);
    json_out_key_i64(json, "n_failed", r->n_failed);
    json_out_key_f64(json, "attainment", r->attainment);
    tell_mean(json, "prompt_tokens", &r->prompt);
    tell_mean(json, "output_tokens", &r->output);
    tell_mean(json, "ttft_s", &r->ttft_s);
    tell_mean(json, "tpot_s", &r->tpot_s);
    tell_mean(json, "latency_s", &r->latency_s);
    json_out_key_f64(json, "latency_s_max", r->latency_s_max);
    tell_mean(json, "normalized_latency", &r->normalized);
    tell_perf(json, &r->perf);
    json_out_close(json, '}');
}

static void tell_engine(struct json_out *json, const char *name,
                        const struct monitor_engine_reading *r)
{
    json_out_open(json, '{');
    json_out_key_text(json, "name", name);
    json_out_key_i64(json, "n_seen", r->n_seen);
    json_out_key_f64(json, "utilisation", r->utilisation);
    json_out_key_i64(json, "memory_bytes", (int64_t)r->memory_bytes);
    json_out_key_i64(json, "weights_bytes", (int64_t)r->weights_bytes);
    json_out_key_i64(json, "kv_used_bytes", (int64_t)r->kv_bytes);
    json_out_close(json, '}');
}

void monitor_tell_json(struct monitor_gather *g, const struct monitor_names *names, int64_t now_ns,
                       struct json_out *json)
{
    struct monitor_reading service = { 0 };
    struct monitor_engine_reading engine;
    json_out_key(json, "services");
    json_out_open(json, '[');
    for (int32_t s = 0; s < g->window.n_services; s++) {
        const char *name = names->service(names->self, s);
        monitor_read(&g->window, s, now_ns, &service);
        if (name != NULL)
            tell_service(json, name, &service);
    }
    json_out_close(json, ']');
    json_out_key_f64(json, "window_s", service.window_s);
    json_out_key(json, "engines");
    json_out_open(json, '[');
    for (int32_t e = 0; e < g->n_engines; e++) {
        const char *name = names->engine(names->self, e);
        if (name == NULL)
            continue;
        monitor_gather_read_engine(g, e, now_ns, &engine);
        if (engine.n_seen > 0)
            tell_engine(json, name, &engine);
    }
    json_out_close(json, ']');
    json_out_key_i64(json, "engines_wanted_by_routers", monitor_gather_n_wanted(g, now_ns));
}

/* ---- Metrics. ---- */

#define READING(field) offsetof(struct monitor_reading, field)
static const struct {
    const char *name, *help;
    size_t offset;
} rows[] = {
    { "shoal_monitor_rate", "Arrivals per second over the window.", READING(rate) },
    { "shoal_monitor_attainment", "Part of the ended requests that met their targets.",
      READING(attainment) },
    { "shoal_monitor_prompt_tokens_mean", "Mean prompt length.", READING(prompt.mean) },
    { "shoal_monitor_prompt_tokens_deviation", "Its standard deviation.",
      READING(prompt.deviation) },
    { "shoal_monitor_output_tokens_mean", "Mean answer length.", READING(output.mean) },
    { "shoal_monitor_output_tokens_deviation", "Its standard deviation.",
      READING(output.deviation) },
    { "shoal_monitor_ttft_seconds", "Mean time to the first token.", READING(ttft_s.mean) },
    { "shoal_monitor_tpot_seconds", "Mean time per further token.", READING(tpot_s.mean) },
    { "shoal_monitor_latency_seconds", "Mean time to the last token.", READING(latency_s.mean) },
};

/* Returns the name of an engine and reads it; NULL when no report of it came. */
static const char *read_engine(struct monitor_gather *g, const struct monitor_names *names,
                               int32_t e, int64_t now_ns, struct monitor_engine_reading *r)
{
    const char *name = names->engine(names->self, e);
    if (name == NULL)
        return NULL;
    monitor_gather_read_engine(g, e, now_ns, r);
    return r->n_seen > 0 ? name : NULL;
}

static void tell_bytes(struct str *out, const char *name, const char *kind, double bytes)
{
    str_add_text(out, "shoal_monitor_engine_bytes");
    metrics_print_label(out, '{', "engine", name);
    metrics_print_label(out, ',', "kind", kind);
    str_printf(out, "} %.0f\n", bytes);
}

static void tell_engines(struct monitor_gather *g, const struct monitor_names *names,
                         int64_t now_ns, struct str *out)
{
    struct monitor_engine_reading r;
    const char *name;
    metrics_print_name(out, "shoal_monitor_engine_utilisation",
                       "Part of the window that the engine computed.", "gauge");
    for (int32_t e = 0; e < g->n_engines; e++) {
        if ((name = read_engine(g, names, e, now_ns, &r)) == NULL)
            continue;
        str_add_text(out, "shoal_monitor_engine_utilisation");
        metrics_print_label(out, '{', "engine", name);
        str_printf(out, "} %.6g\n", r.utilisation);
    }
    metrics_print_name(out, "shoal_monitor_engine_bytes",
                       "Memory of the engine over the window, by kind.", "gauge");
    for (int32_t e = 0; e < g->n_engines; e++) {
        if ((name = read_engine(g, names, e, now_ns, &r)) == NULL)
            continue;
        tell_bytes(out, name, "memory", r.memory_bytes);
        tell_bytes(out, name, "weights", r.weights_bytes);
        tell_bytes(out, name, "kv", r.kv_bytes);
    }
}

void monitor_tell_metrics(struct monitor_gather *g, const struct monitor_names *names,
                          int64_t now_ns, struct str *out)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        metrics_print_name(out, rows[i].name, rows[i].help, "gauge");
        for (int32_t s = 0; s < g->window.n_services; s++) {
            struct monitor_reading r;
            const char *name = names->service(names->self, s);
            if (name == NULL)
                continue;
            monitor_read(&g->window, s, now_ns, &r);
            str_add_text(out, rows[i].name);
            metrics_print_label(out, '{', "model", name);
            str_printf(out, "} %.6g\n",
                       *(const double *)(const void *)((const char *)&r + rows[i].offset));
        }
    }
    tell_engines(g, names, now_ns, out);
    metrics_print_name(out, "shoal_monitor_engines_wanted_by_routers",
                       "Engines that the gateways' routers want in all.", "gauge");
    str_printf(out, "shoal_monitor_engines_wanted_by_routers %d\n",
               monitor_gather_n_wanted(g, now_ns));
}
