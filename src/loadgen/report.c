/* Reports the results of shoal bench: the table, the verdict, the files. */
#include "loadgen/loadgen.h"

#include "base/file.h"
#include "base/mem.h"
#include "metrics/plot.h"
#include "metrics/score_print.h"
#include <stdio.h>
#include <string.h>

enum { SENTENCES_MAX = 16 };
struct sentence {
    const char *text;
    size_t n, first;
};

/* Collects each kind of error, how often it occurred, and where first. Returns how many answers
 * were wrong. */
static size_t gather(const struct loadgen_call *calls, size_t n, struct sentence *sentences,
                     size_t *n_sentences)
{
    size_t n_wrong = 0;
    *n_sentences = 0;
    for (size_t i = 0; i < n; i++) {
        size_t s = 0;
        if (record_is_done(&calls[i].record))
            continue;
        n_wrong++;
        const char *text = calls[i].wrong != NULL ? calls[i].wrong : "no answer";
        while (s < *n_sentences && strcmp(sentences[s].text, text) != 0)
            s++;
        if (s == SENTENCES_MAX)
            continue;
        if (s == *n_sentences)
            sentences[(*n_sentences)++] = (struct sentence){ .text = text, .first = i };
        sentences[s].n++;
    }
    return n_wrong;
}

static void print_wrong(const struct loadgen_call *calls, const size_t *ids, size_t n,
                        const char *when, struct doc *out)
{
    struct sentence sentences[SENTENCES_MAX];
    size_t n_sentences, n_wrong = gather(calls, n, sentences, &n_sentences);
    if (n_wrong == 0) {
        doc_say(out, "%s: every one of %zu answers was right", when, n);
        return;
    }
    doc_say(out, "%s: %zu of %zu answers were WRONG", when, n_wrong, n);
    for (size_t s = 0; s < n_sentences; s++) {
        size_t first = sentences[s].first;
        doc_say(out, "  %zu times (first in request %zu): %s", sentences[s].n,
                ids != NULL ? ids[first] : first, sentences[s].text);
    }
}

static void wrong_json(const struct loadgen_call *calls, size_t n, struct json_out *json)
{
    struct sentence sentences[SENTENCES_MAX];
    size_t n_sentences;
    (void)gather(calls, n, sentences, &n_sentences);
    json_out_key(json, "wrong");
    json_out_open(json, '[');
    for (size_t s = 0; s < n_sentences; s++) {
        json_out_open(json, '{');
        json_out_key_text(json, "what", sentences[s].text);
        json_out_key_i64(json, "times", (int64_t)sentences[s].n);
        json_out_key_i64(json, "first_request", (int64_t)sentences[s].first);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void print_solos(const struct loadgen *bench, struct doc *out)
{
    for (int32_t s = 0; s < bench->set.n_services; s++) {
        const struct loadgen_solo *solo = &bench->solos[s];
        if (solo->is_known)
            doc_say(out,
                    "alone, %s: TTFT %.4g ms + %.4g ms per prompt token, then %.4g ms per token "
                    "(%d requests, off by %.1f%%)",
                    bench->set.names[s], solo->ttft_s * 1e3, solo->ttft_per_token_s * 1e3,
                    solo->tpot_s * 1e3, solo->n, 100 * solo->error);
    }
}

static void print_doc(const struct loadgen *bench, const struct score_sheet *sheet, struct doc *out)
{
    const struct score *all = &sheet->scores[bench->set.n_services];
    metrics_score_print_table(sheet, out);
    metrics_score_print_attainment(sheet, out);
    print_solos(bench, out);
    doc_say(out,
            "this client: %s loop, at most %zu at once; sent late by %.3f ms in the mean, "
            "p99 %.3f ms, max %.3f ms",
            bench->options.n_at_once > 0 ? "closed" : "open", bench->n_now_max,
            all->late_s.mean * 1e3, all->late_s.p99 * 1e3, all->late_s.max * 1e3);
    if (bench->n_calls < bench->n_calls_wanted)
        doc_say(out,
                "ENDED EARLY: after %zu of %zu requests the server was gone (%d connections in a "
                "row could not be made); all figures are of those %zu",
                bench->n_calls, bench->n_calls_wanted, LOADGEN_REFUSED_MAX, bench->n_calls);
    if (bench->n_inexact > 0)
        doc_say(out, "%zu prompts may not have exactly the tokens of the workload",
                bench->n_inexact);
    if (bench->n_solo_calls > 0)
        print_wrong(bench->solos_done, bench->solo_calls, bench->n_solo_calls, "alone", out);
    print_wrong(bench->calls, NULL, bench->n_calls, "under load", out);
    if (bench->options.checks)
        doc_say(out, "%zu answers under load differ from those alone", bench->n_differing);
    doc_say(out, "records %016llx", (unsigned long long)metrics_record_hash(&bench->set));
}

static void print_json(const struct loadgen *bench, const struct score_sheet *sheet,
                       struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "url", bench->options.client.server);
    json_out_key_i64(&json, "max_concurrency", (int64_t)bench->n_now_max);
    json_out_key_bool(&json, "ended_early", bench->n_calls < bench->n_calls_wanted);
    metrics_score_print_json(sheet, &json);
    wrong_json(bench->calls, bench->n_calls, &json);
    json_out_key(&json, "wrong_alone");
    size_t n_sentences;
    struct sentence sentences[SENTENCES_MAX];
    json_out_i64(&json,
                 (int64_t)gather(bench->solos_done, bench->n_solo_calls, sentences, &n_sentences));
    json_out_key_i64(&json, "differing_answers", (int64_t)bench->n_differing);
    json_out_key_i64(&json, "inexact_prompts", (int64_t)bench->n_inexact);
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}

static bool save(const struct loadgen *bench, const struct score *scores, const struct str *report)
{
    const struct plot_run run = { bench->options.client.server, &bench->set, scores };
    struct fault fault;
    struct str page;
    enum status status = STATUS_OK;
    str_init(&page);
    if (bench->options.csv != NULL)
        status = metrics_record_save(&bench->set, bench->options.csv, &fault);
    if (status == STATUS_OK && bench->options.html != NULL) {
        metrics_plot_page("Shoal: measured", report, &run, 1, &page);
        status = file_write(bench->options.html, page.at, page.n, &fault);
    }
    str_free(&page);
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    return status == STATUS_OK;
}

bool loadgen_report(struct loadgen *bench)
{
    struct score_options options = { .services = bench->services, .rule = bench->rule };
    for (int32_t s = 0; s < bench->set.n_services; s++) {
        bench->services[s].slo = bench->options.slo;
        loadgen_solo_base(&bench->solos[s], &bench->services[s].base);
    }
    struct score *scores = mem_take(((size_t)bench->set.n_services + 1) * sizeof(*scores));
    struct score_sheet sheet = { &bench->set, &options, scores, &bench->gaps };
    struct sentence sentences[SENTENCES_MAX];
    struct str out, html;
    struct doc doc;
    size_t n;
    bool is_right = gather(bench->calls, bench->n_calls, sentences, &n) == 0 &&
                    gather(bench->solos_done, bench->n_solo_calls, sentences, &n) == 0;
    str_init(&out);
    str_init(&html);
    doc_init(&doc, bench->options.is_json ? NULL : &out,
             bench->options.html != NULL ? &html : NULL);
    metrics_score(&bench->set, &options, scores);
    print_doc(bench, &sheet, &doc);
    if (bench->options.is_json)
        print_json(bench, &sheet, &out);
    fputs(out.at, stdout);
    is_right = save(bench, scores, &html) && is_right;
    doc_free(&doc);
    str_free(&html);
    str_free(&out);
    mem_give(scores);
    return is_right;
}
