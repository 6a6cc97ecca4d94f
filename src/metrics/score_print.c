/* Prints scores. */
#include "metrics/score_print.h"

#include <stdio.h>
#include <string.h>

static void print_line(const struct score *s, const char *name, int width, struct str *out)
{
    str_printf(out,
               "%-*.*s %8llu %6llu %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g %8.3f %8.3f %7.2f "
               "%6.1f%%",
               width, width, name, (unsigned long long)s->n_offered,
               (unsigned long long)s->n_missed, s->latency_s.mean, s->latency_s.p50,
               s->latency_s.p95, s->latency_s.p99, s->ttft_s.mean, s->ttft_s.p99,
               s->tpot_s.mean * 1e3, s->tpot_s.p99 * 1e3, s->normalized.mean, 100 * s->met);
    str_printf(out, " %8.4g %9.5g %6.1f%%\n", s->requests_per_s, s->tokens_per_s,
               100 * s->served_fraction);
}

static double part(uint64_t n, uint64_t of)
{
    return of > 0 ? (double)n / (double)of : 0;
}

static void print_totals(const struct score_sheet *sheet, struct str *out)
{
    const struct record_set *set = sheet->set;
    const struct score *all = &sheet->scores[set->n_services];
    str_printf(out,
               "\nmakespan %.6g s; %llu prompt tokens (%llu cached), %llu tokens, %llu pad, %llu "
               "invalid; %.6g padded tokens/s\n",
               all->makespan_s, (unsigned long long)all->n_prompt_tokens,
               (unsigned long long)all->n_cached_tokens, (unsigned long long)all->n_tokens,
               (unsigned long long)all->n_pad_tokens, (unsigned long long)all->n_invalid_tokens,
               all->padded_tokens_per_s);
    str_printf(out,
               "goodput %.6g requests/s; %.3g slices a request, %.4g%% of them back early; %llu "
               "preemptions, %llu by swap; %llu exceeded their prediction, %llu cancelled\n",
               all->goodput_per_s, all->slices_mean, 100 * part(all->n_early, all->n_slices),
               (unsigned long long)all->n_preempted, (unsigned long long)all->n_swapped,
               (unsigned long long)all->n_exceeded, (unsigned long long)all->n_cancelled);
    if (all->n_batches > 0)
        str_printf(out, "a request's batches had %.4g requests in the mean\n",
                   part(all->n_batch_rows, all->n_batches));
    str_printf(out,
               "served, weighted by rate %.6g requests/s (as MuxServe's notebook %.6g); least "
               "served service %.1f%%; engines' completion off by %.4g s\n",
               metrics_score_weighted(sheet->scores, set->n_services),
               metrics_score_weighted_notebook(sheet->scores, set->n_services),
               100 * all->served_fraction, metrics_score_completion_deviation_s(set));
}

void metrics_score_print_table(const struct score_sheet *sheet, struct str *out)
{
    const struct record_set *set = sheet->set;
    int width = 8;
    for (int32_t i = 0; i < set->n_services; i++)
        width = max_i32(width, min_i32((int32_t)strlen(set->names[i]), 28));
    str_printf(out, "%-*s %8s %6s %9s %9s %9s %9s %9s %9s %8s %8s %7s %7s %8s %9s %7s\n", width,
               "SERVICE", "REQUESTS", "MISSED", "MEAN s", "P50 s", "P95 s", "P99 s", "TTFT s",
               "P99 s", "TPOT ms", "P99 ms", "NL", "MET", "REQ/S", "TOKENS/S", "SERVED");
    for (int32_t i = 0; i < set->n_services; i++)
        print_line(&sheet->scores[i], set->names[i], width, out);
    if (set->n_services != 1)
        print_line(&sheet->scores[set->n_services], "all", width, out);
    print_totals(sheet, out);
    if (sheet->gaps != NULL && sheet->gaps->n > 0)
        str_printf(out,
                   "waits between pieces of answers: mean %.4g ms, p50 %.4g, p99 %.4g, max "
                   "%.4g\n",
                   hist_mean(sheet->gaps) * 1e-6, (double)hist_quantile(sheet->gaps, 0.5) * 1e-6,
                   (double)hist_quantile(sheet->gaps, 0.99) * 1e-6,
                   (double)sheet->gaps->max * 1e-6);
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

void metrics_score_print_attainment(const struct score_sheet *sheet, struct str *out)
{
    struct score_rule rules[SCORE_KIND_N];
    int n = rules_of(sheet, rules);
    for (int i = 0; i < n; i++) {
        str_printf(out, "%s%s",
                   i > 0 ? ", " : "SLO attainment: ", metrics_score_kind_name(rules[i].kind));
        if (rules[i].scale > 0)
            str_printf(out, " x%.3g", rules[i].scale);
        str_printf(out, " %.2f%%", 100 * attained(sheet, &rules[i]));
    }
    str_add_text(out, n > 0 ? "\n" : "");
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
