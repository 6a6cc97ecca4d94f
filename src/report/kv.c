/* Shares of the KV pools: see kv.h. */
#include "report/kv.h"

enum { PRINTED_MAX = 16 }; /* services; with more, only the extremes are printed */

/* Returns the seconds from its first token to its end, when it holds its prompt, and its answer as
 * it grows. */
static double held_s(const struct record *r)
{
    return r->first_ns > 0 && r->end_ns > r->first_ns ? (double)(r->end_ns - r->first_ns) * 1e-9
                                                      : 0;
}

void report_kv_of(const struct scenario_case *c, struct report_kv *out)
{
    double dues[LIMIT_SERVICES] = { 0 }, sum = 0, due_sum = 0, entry_s = 0;
    int32_t n_services = c->set.n_services;
    *out = (struct report_kv){ .table_bytes = 0 };
    for (size_t i = 0; i < c->set.n; i++) {
        const struct record *r = &c->set.at[i];
        const struct kv_layout *layout = &c->layouts[r->service];
        double token_bytes = (double)kv_token_bytes(layout, c->unit_bytes);
        double n_tokens = r->n_prompt + 0.5 * r->n_output;
        double n_blocks = n_tokens / layout->block_tokens + 0.5; /* the last one is half empty */
        out->services[r->service].share += token_bytes * n_tokens * held_s(r);
        entry_s += n_blocks * max_i32(layout->units_per_block, 1) * held_s(r);
        dues[r->service] += token_bytes * ((double)r->n_prompt + (double)r->n_output);
    }
    for (int32_t s = 0; s < n_services; s++) {
        sum += out->services[s].share;
        due_sum += dues[s];
    }
    for (int32_t s = 0; s < n_services; s++) {
        struct report_kv_service *service = &out->services[s];
        service->share = sum > 0 ? service->share / sum : 0;
        service->r = dues[s] > 0 ? service->share / (dues[s] / due_sum) : 0;
    }
    if (c->report.end_ns > 0)
        out->table_bytes = entry_s * sizeof(uint32_t) / ((double)c->report.end_ns * 1e-9);
}

void report_kv_print(const struct scenario_case *c, struct doc *out)
{
    struct report_kv kv;
    int32_t least = 0, most = 0;
    report_kv_of(c, &kv);
    doc_say(out, "KV: %s pools of %lld-byte units; block tables of %.4g bytes in the mean",
            kv_kind_name(c->kv), (long long)c->unit_bytes, kv.table_bytes);
    if (c->set.n_services < 2)
        return;
    doc_part(out, "part of it (R):");
    for (int32_t s = 0; s < c->set.n_services; s++) {
        least = kv.services[s].r < kv.services[least].r ? s : least;
        most = kv.services[s].r > kv.services[most].r ? s : most;
        if (c->set.n_services <= PRINTED_MAX)
            doc_part(out, "%s %s %.1f%% (%.2f)", s > 0 ? "," : "", c->set.names[s],
                     100 * kv.services[s].share, kv.services[s].r);
    }
    if (c->set.n_services > PRINTED_MAX)
        doc_part(out, " from %s %.1f%% (%.2f) to %s %.1f%% (%.2f)", c->set.names[least],
                 100 * kv.services[least].share, kv.services[least].r, c->set.names[most],
                 100 * kv.services[most].share, kv.services[most].r);
    doc_end(out);
}

void report_kv_json(const struct scenario_case *c, struct json_out *json)
{
    struct report_kv kv;
    report_kv_of(c, &kv);
    json_out_key(json, "kv");
    json_out_open(json, '{');
    json_out_key_text(json, "pool", kv_kind_name(c->kv));
    json_out_key_i64(json, "unit_bytes", c->unit_bytes);
    json_out_key_f64(json, "table_bytes", kv.table_bytes);
    json_out_key(json, "services");
    json_out_open(json, '[');
    for (int32_t s = 0; s < c->set.n_services; s++) {
        json_out_open(json, '{');
        json_out_key_text(json, "service", c->set.names[s]);
        json_out_key_f64(json, "share", kv.services[s].share);
        json_out_key_f64(json, "r", kv.services[s].r);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}
