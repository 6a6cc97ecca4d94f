/* Prints scores. */
#include "metrics/score_print.h"

#include <stdio.h>
#include <string.h>

/* Ends the sentence with what a rule asks for. */
static void end_rule(const struct score_rule *rule, struct doc *out)
{
    static const char *const scaled[SCORE_KIND_N] = {
        [SCORE_SEALLM_SOLO] = "the request's own alone",
        [SCORE_SEALLM_MEAN] = "its service's mean alone",
        [SCORE_MUXSERVE] = "MuxServe's base for its lengths",
    };
    static const char *const targets[SCORE_KIND_N] = {
        [SCORE_ALADDIN] = "the targets for the first token and for the time per token",
        [SCORE_UELLM] = "an end within the target, from the run's first arrival on",
        [SCORE_SERVICE] = "each target that their service has",
    };
    if (scaled[rule->kind] != NULL)
        doc_part(out, " x%g: a latency of at most %g times %s", rule->scale, rule->scale,
                 scaled[rule->kind]);
    else if (targets[rule->kind] != NULL)
        doc_part(out, ": %s", targets[rule->kind]);
    doc_end(out);
}

static const struct doc_column columns[] = {
    { "SERVICE", "service", NULL, true },
    { "REQUESTS", "requests", "requests that arrived and that no client cancelled", false },
    { "MISSED", "missed", "requests that did not end normally, or not at all", false },
    { "MEAN s", "latency s", "seconds from arrival to the last token, mean", false },
    { "P50 s", "p50 s", "the latency that half of the requests do not exceed", false },
    { "P95 s", "p95 s", "the latency that 95% of the requests do not exceed", false },
    { "P99 s", "p99 s", "the latency that 99% of the requests do not exceed", false },
    { "TTFT s", "TTFT s", "time to first token: seconds from arrival to it, mean", false },
    { "P99 s", "TTFT p99 s", "the time to first token that 99% do not exceed", false },
    { "TPOT ms", "TPOT ms", "time per token after the first, mean", false },
    { "P99 ms", "TPOT p99 ms", "the time per token that 99% do not exceed", false },
    { "NL", "NL",
      "normalized latency: latency divided by the mean latency that the service's "
      "requests have alone on the engine. 1 is as fast as alone; the mean is shown",
      false },
    { "MET", "MET",
      "SLO attainment: the part of the requests that meet the rule. Missed "
      "requests do not",
      false },
    { "REQ/S", "requests/s", "requests done, per second from the first arrival to the last end",
      false },
    { "TOKENS/S", "tokens/s", "tokens generated, per second of the same time", false },
    { "SERVED", "served", "requests done, per second, as a part of the rate at which they arrived",
      false },
};

static void print_line(const struct score *s, const char *name, struct doc *out)
{
    const double figures[] = { s->latency_s.mean, s->latency_s.p50, s->latency_s.p95,
                               s->latency_s.p99,  s->ttft_s.mean,   s->ttft_s.p99 };
    doc_cell(out, "%s", name);
    doc_cell(out, "%llu", (unsigned long long)s->n_offered);
    doc_cell(out, "%llu", (unsigned long long)s->n_missed);
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        doc_cell(out, "%.4g", figures[i]);
    doc_cell(out, "%.3f", s->tpot_s.mean * 1e3);
    doc_cell(out, "%.3f", s->tpot_s.p99 * 1e3);
    doc_cell(out, "%.2f", s->normalized.mean);
    doc_cell(out, "%.1f%%", 100 * s->met);
    doc_cell(out, "%.4g", s->requests_per_s);
    doc_cell(out, "%.5g", s->tokens_per_s);
    doc_cell(out, "%.1f%%", 100 * s->served_fraction);
}

static double part(uint64_t n, uint64_t of)
{
    return of > 0 ? (double)n / (double)of : 0;
}

static void print_totals(const struct score_sheet *sheet, struct doc *out)
{
    const struct record_set *set = sheet->set;
    const struct score *all = &sheet->scores[set->n_services];
    doc_say(out,
            "makespan %.6g s; %llu prompt tokens (%llu cached), %llu tokens, %llu pad, %llu "
            "invalid; %.6g padded tokens/s",
            all->makespan_s, (unsigned long long)all->n_prompt_tokens,
            (unsigned long long)all->n_cached_tokens, (unsigned long long)all->n_tokens,
            (unsigned long long)all->n_pad_tokens, (unsigned long long)all->n_invalid_tokens,
            all->padded_tokens_per_s);
    doc_say(out,
            "goodput %.6g requests/s; %.3g slices a request, %.4g%% of them back early; %llu "
            "preemptions, %llu by swap; %llu exceeded their prediction, %llu cancelled",
            all->goodput_per_s, all->slices_mean, 100 * part(all->n_early, all->n_slices),
            (unsigned long long)all->n_preempted, (unsigned long long)all->n_swapped,
            (unsigned long long)all->n_exceeded, (unsigned long long)all->n_cancelled);
    if (all->n_batches > 0)
        doc_say(out, "a request's batches had %.4g requests in the mean",
                part(all->n_batch_rows, all->n_batches));
    doc_say(out,
            "served, weighted by rate %.6g requests/s (as MuxServe's notebook %.6g); least "
            "served service %.1f%%; engines' completion off by %.4g s",
            metrics_score_weighted(sheet->scores, set->n_services),
            metrics_score_weighted_notebook(sheet->scores, set->n_services),
            100 * all->served_fraction, metrics_score_completion_deviation_s(set));
}

void metrics_score_print_table(const struct score_sheet *sheet, struct doc *out)
{
    const struct record_set *set = sheet->set;
    const struct score_rule *rule = &sheet->options->rule;
    doc_part(out, "MET is the part of the requests that meet %s",
             metrics_score_kind_name(rule->kind));
    end_rule(rule, out);
    doc_gap(out);
    doc_table(out, columns, COUNT_OF(columns));
    for (int32_t i = 0; i < set->n_services; i++)
        print_line(&sheet->scores[i], set->names[i], out);
    if (set->n_services != 1)
        print_line(&sheet->scores[set->n_services], "all", out);
    doc_table_end(out);
    doc_gap(out);
    print_totals(sheet, out);
    if (sheet->gaps != NULL && sheet->gaps->n > 0)
        doc_say(out,
                "waits between pieces of answers: mean %.4g ms, p50 %.4g, p99 %.4g, max "
                "%.4g",
                hist_mean(sheet->gaps) * 1e-6, (double)hist_quantile(sheet->gaps, 0.5) * 1e-6,
                (double)hist_quantile(sheet->gaps, 0.99) * 1e-6, (double)sheet->gaps->max * 1e-6);
}

static void spread_json(struct json_out *json, const char *name, const struct score_spread *s)
{
    const struct {
        const char *prefix;
        double value;
    } members[] = { { "mean", s->mean }, { "median", s->p50 }, { "std", s->deviation },
                    { "p90", s->p90 },   { "p95", s->p95 },    { "p99", s->p99 },
                    { "max", s->max } };
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        char key[48];
        snprintf(key, sizeof(key), "%s_%s_ms", members[i].prefix, name);
        json_out_key_f64(json, key, members[i].value * 1e3);
    }
}

static void count(struct json_out *json, const char *key, uint64_t value)
{
    json_out_key_i64(json, key, (int64_t)value);
}

static void score_json(struct json_out *json, const struct score *s)
{
    count(json, "num_prompts", s->n_offered);
    count(json, "completed", s->n_done);
    count(json, "failed", s->n_missed);
    count(json, "cancelled", s->n_cancelled);
    json_out_key_f64(json, "duration", s->makespan_s);
    count(json, "total_input_tokens", s->n_prompt_tokens);
    count(json, "total_output_tokens", s->n_tokens);
    count(json, "cached_tokens", s->n_cached_tokens);
    count(json, "pad_tokens", s->n_pad_tokens);
    count(json, "invalid_tokens", s->n_invalid_tokens);
    json_out_key_f64(json, "request_throughput", s->requests_per_s);
    json_out_key_f64(json, "request_goodput", s->goodput_per_s);
    json_out_key_f64(json, "output_throughput", s->tokens_per_s);
    json_out_key_f64(json, "padded_token_throughput", s->padded_tokens_per_s);
    spread_json(json, "e2el", &s->latency_s);
    spread_json(json, "ttft", &s->ttft_s);
    spread_json(json, "tpot", &s->tpot_s);
    spread_json(json, "tpot_all", &s->tpot_all_s);
    spread_json(json, "max_itl", &s->gap_s_max);
    spread_json(json, "late", &s->late_s);
    json_out_key_f64(json, "normalized_latency", s->normalized.mean);
    json_out_key_f64(json, "p99_normalized_latency", s->normalized.p99);
    json_out_key_f64(json, "solo_s", s->solo_s);
    json_out_key_f64(json, "slo_attainment", s->met);
    json_out_key_f64(json, "served_fraction", s->served_fraction);
    json_out_key_f64(json, "served_per_s", s->served_per_s);
    json_out_key_f64(json, "offered_per_s", s->offered_per_s);
    json_out_key_f64(json, "slices_mean", s->slices_mean);
    json_out_key_f64(json, "early_returns", part(s->n_early, s->n_slices));
    json_out_key_f64(json, "batch_size_seen", part(s->n_batch_rows, s->n_batches));
    count(json, "preemptions", s->n_preempted);
    count(json, "preemptions_by_swap", s->n_swapped);
    count(json, "exceeded_predictions", s->n_exceeded);
}

/* Finds the rules that these records can answer. */
static int rules_of(const struct score_sheet *sheet, struct score_rule rules[SCORE_KIND_N])
{
    const struct score_service *services = sheet->options->services;
    bool has_solo = false, has_base = false, has_slo = false, has_e2e = false, has_token = false;
    int n = 0;
    for (size_t i = 0; i < sheet->set->n; i++)
        has_solo = has_solo || sheet->set->at[i].solo_ns > 0;
    for (int32_t i = 0; services != NULL && i < sheet->set->n_services; i++) {
        const struct service_slo *slo = &services[i].slo;
        has_base = has_base || services[i].base.n > 0;
        has_e2e = has_e2e || slo->e2e_ns > 0;
        has_token = has_token || (slo->ttft_ns > 0 && slo->tpot_ns > 0);
        has_slo = has_slo || slo->ttft_ns > 0 || slo->tpot_ns > 0 || slo->e2e_ns > 0;
    }
    if (has_solo) {
        rules[n++] = (struct score_rule){ .kind = SCORE_SEALLM_SOLO, .scale = 5 };
        rules[n++] = (struct score_rule){ .kind = SCORE_SEALLM_MEAN, .scale = 5 };
    }
    if (has_base)
        rules[n++] = (struct score_rule){ .kind = SCORE_MUXSERVE, .scale = 8 };
    if (has_token)
        rules[n++] = (struct score_rule){ .kind = SCORE_ALADDIN };
    if (has_e2e)
        rules[n++] = (struct score_rule){ .kind = SCORE_UELLM };
    if (has_slo)
        rules[n++] = (struct score_rule){ .kind = SCORE_SERVICE };
    return n;
}

static double attained(const struct score_sheet *sheet, const struct score_rule *rule)
{
    return metrics_score_attainment(sheet->set, sheet->options, rule, -1);
}

void metrics_score_print_attainment(const struct score_sheet *sheet, struct doc *out)
{
    struct score_rule rules[SCORE_KIND_N];
    int n = rules_of(sheet, rules);
    for (int i = 0; i < n; i++) {
        doc_part(out, "%s%s",
                 i > 0 ? ", " : "SLO attainment: ", metrics_score_kind_name(rules[i].kind));
        if (rules[i].scale > 0)
            doc_part(out, " x%.3g", rules[i].scale);
        doc_part(out, " %.2f%%", 100 * attained(sheet, &rules[i]));
    }
    if (n > 0)
        doc_end(out);
}

static void attainment_json(const struct score_sheet *sheet, struct json_out *json)
{
    struct score_rule rules[SCORE_KIND_N];
    int n = rules_of(sheet, rules);
    json_out_key(json, "attainment");
    json_out_open(json, '[');
    for (int i = 0; i < n; i++) {
        json_out_open(json, '{');
        json_out_key_text(json, "rule", metrics_score_kind_name(rules[i].kind));
        json_out_key_f64(json, "scale", rules[i].scale);
        json_out_key_f64(json, "attained", attained(sheet, &rules[i]));
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

void metrics_score_print_json(const struct score_sheet *sheet, struct json_out *json)
{
    const struct record_set *set = sheet->set;
    score_json(json, &sheet->scores[set->n_services]);
    if (sheet->gaps != NULL && sheet->gaps->n > 0) {
        json_out_key_f64(json, "mean_itl_ms", hist_mean(sheet->gaps) * 1e-6);
        json_out_key_f64(json, "median_itl_ms", (double)hist_quantile(sheet->gaps, 0.5) * 1e-6);
        json_out_key_f64(json, "p99_itl_ms", (double)hist_quantile(sheet->gaps, 0.99) * 1e-6);
    }
    json_out_key_f64(json, "weighted_throughput_notebook",
                     metrics_score_weighted_notebook(sheet->scores, set->n_services));
    json_out_key_f64(json, "weighted_throughput",
                     metrics_score_weighted(sheet->scores, set->n_services));
    json_out_key_f64(json, "completion_std_s", metrics_score_completion_deviation_s(set));
    attainment_json(sheet, json);
    json_out_key(json, "services");
    json_out_open(json, '[');
    for (int32_t i = 0; i < set->n_services; i++) {
        json_out_open(json, '{');
        json_out_key_text(json, "name", set->names[i]);
        score_json(json, &sheet->scores[i]);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}
