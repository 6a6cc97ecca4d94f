/* shoal report compares records of any runs, simulated or measured. */
#include "base/flags.h"
#include "cmd/verbs.h"

#include "base/file.h"
#include "base/mem.h"
#include "metrics/plot.h"
#include "metrics/rule.h"
#include "metrics/score_print.h"
#include <stdio.h>
#include <string.h>

struct report {
    const char *paths[PLOT_RUNS_MAX], *html, *slo_rule;
    bool is_json;
    int n;
    struct service_slo slo;         /* every service's */
    struct score_service *services; /* (RECORD_SERVICES_MAX) with it */
    struct record_set sets[PLOT_RUNS_MAX];
    struct score *scores[PLOT_RUNS_MAX];
    struct score_options options;
};

static bool complain(const struct fault *fault)
{
    fprintf(stderr, "shoal: %s\n", fault->text);
    return false;
}

static bool load(struct report *report)
{
    struct fault fault;
    if (metrics_rule_read(report->slo_rule, &report->slo, &report->options.rule, &fault) !=
        STATUS_OK)
        return complain(&fault);
    report->services = mem_take(RECORD_SERVICES_MAX * sizeof(*report->services));
    for (int i = 0; i < RECORD_SERVICES_MAX; i++)
        report->services[i].slo = report->slo;
    report->options.services = report->services;
    for (int i = 0; i < report->n; i++) {
        struct record_set *set = &report->sets[i];
        if (metrics_record_load(set, report->paths[i], &fault) != STATUS_OK)
            return complain(&fault);
        if (set->n == 0) {
            fault_set(&fault, STATUS_BAD_INPUT, "%s: no request in it", report->paths[i]);
            return complain(&fault);
        }
        metrics_record_sort(set);
        report->scores[i] = mem_take(((size_t)set->n_services + 1) * sizeof(struct score));
        metrics_score(set, &report->options, report->scores[i]);
    }
    return true;
}

static void print_json(const struct report *report, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '[');
    for (int i = 0; i < report->n; i++) {
        const struct score_sheet sheet = { &report->sets[i], &report->options, report->scores[i],
                                           NULL };
        json_out_open(&json, '{');
        json_out_key_text(&json, "file", report->paths[i]);
        metrics_score_print_json(&sheet, &json);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    str_add_char(out, '\n');
}

static void print(const struct report *report, struct doc *out)
{
    for (int i = 0; i < report->n; i++) {
        const struct score_sheet sheet = { &report->sets[i], &report->options, report->scores[i],
                                           NULL };
        if (i > 0)
            doc_gap(out);
        doc_head(out, "%s", report->paths[i]);
        metrics_score_print_table(&sheet, out);
        metrics_score_print_attainment(&sheet, out);
        doc_say(out, "records %016llx", (unsigned long long)metrics_record_hash(&report->sets[i]));
    }
}

static bool save(const struct report *report, const struct str *html)
{
    struct plot_run runs[PLOT_RUNS_MAX];
    struct fault fault;
    struct str page;
    for (int i = 0; i < report->n; i++)
        runs[i] = (struct plot_run){ report->paths[i], &report->sets[i], report->scores[i] };
    str_init(&page);
    metrics_plot_page("Shoal: runs side by side", html, runs, report->n, &page);
    enum status status = file_write(report->html, page.at, page.n, &fault);
    str_free(&page);
    return status == STATUS_OK || complain(&fault);
}

int verbs_report(int argc, char **argv)
{
    struct report report = { .slo_rule = "seallm-solo:5" };
    const struct flags_row rows[] = {
        { "slo", "RULE", FLAGS_TEXT, &report.slo_rule, 0, 0,
          "what MET counts, seallm-solo:5; docs/METRICS.md has the others", NULL },
        { "ttft", "T", FLAGS_DURATION, &report.slo.ttft_ns, 0, 0, "target of every model", NULL },
        { "tpot", "T", FLAGS_DURATION, &report.slo.tpot_ns, 0, 0, "target of every model", NULL },
        { "e2e", "T", FLAGS_DURATION, &report.slo.e2e_ns, 0, 0, "target of every model", NULL },
        { "html", "FILE", FLAGS_FILE, &report.html, 0, 0, "write a page that overlays them", NULL },
        { "json", NULL, FLAGS_SWITCH, &report.is_json, 0, 0, "print JSON", NULL },
    };
    const struct flags flags = { "Figures and plots of records that sim and bench wrote.",
                                 "RECORDS.csv...",
                                 rows,
                                 COUNT_OF(rows),
                                 1,
                                 PLOT_RUNS_MAX };
    struct str out, html;
    struct doc doc;
    int code = 2;
    str_init(&out);
    str_init(&html);
    if (flags_parse(&flags, argc, argv, report.paths, &report.n) && load(&report)) {
        doc_init(&doc, report.is_json ? NULL : &out, report.html != NULL ? &html : NULL);
        print(&report, &doc);
        doc_free(&doc);
        if (report.is_json)
            print_json(&report, &out);
        fputs(out.at, stdout);
        code = report.html == NULL || save(&report, &html) ? 0 : 1;
    }
    str_free(&html);
    str_free(&out);
    for (int i = 0; i < report.n; i++) {
        metrics_record_set_free(&report.sets[i]);
        mem_give(report.scores[i]);
    }
    mem_give(report.services);
    return code;
}
