/* shoal plan decides which models go on which devices, for a real or imagined cluster. */
#include "cmd/verbs.h"
#include "config/registry.h"
#include "remote/live.h"
#include "report/layers.h"
#include "report/plan.h"
#include "report/workers.h"
#include "scenario/desk.h"
#include "scenario/plan.h"
#include "scenario/write.h"

#include "base/file.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS_MAX = 16 };
struct plan_ask { /* the command line */
    struct scenario scenario;
    const char *planners, *out;
    struct plan_spans spans;
    double effort;
    bool has_no_price;
    const char *layers, *links; /* a model whose layers are planned, instead of a workload */
    int64_t n_batch, n_tokens;
    bool asks_workers;
};
struct plan_run {
    const struct plan_ask *ask;
    struct scenario_desk desk;
    struct plan_option options[OPTIONS_MAX];
    int n;
    struct place_plan second; /* the planner's own next best */
    bool takes_second;
    char second_label[48];
};

static bool complain(const struct fault *fault)
{
    fprintf(stderr, "shoal: %s\n", fault->text);
    return false;
}

/* ---- The command line: own options, and those of a scenario that apply here. ---- */

static bool is_shared(const char *name)
{
    static const char *const names[] = {
        "workload",
        "profile",
        "memory-part",
        "preset",
        "policy",
        "router",
        "predictor",
        "thresholds",
        "router-thresholds",
        "seed",
        "requests",
        "duration",
        "rate-scale",
        "context",
        "max-requests",
        "max-batch",
        "max-batch-tokens",
        "chunk-tokens",
        "block-tokens",
        "ttft",
        "tpot",
        "e2e",
        "slo",
        "target",
        "threads",
        "html",
        "json",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Options for the layers of one model over unlike devices, and for the workers of one service. */
static int worker_rows(struct plan_ask *ask, struct flags_row *rows)
{
    const struct flags_row own[] = {
        { "layers", "MODEL", FLAGS_TEXT, &ask->layers, 0, 0,
          "plan this model's layers over the devices, one chain: --planner helr, he, lr, bgs, "
          "even-layers",
          NULL },
        { "links", "FILE", FLAGS_TEXT, &ask->links, 0, 0,
          "with --layers: nvidia-smi topo -m, lstopo's XML, or CSV from,to,us,gbytes_per_s; "
          "\"machine\" for the GPUs of this one",
          NULL },
        { "batch", "N", FLAGS_I64, &ask->n_batch, 1, 4096, "with --layers: requests of a step: 8",
          NULL },
        { "tokens", "N", FLAGS_I64, &ask->n_tokens, 1, LIMIT_CONTEXT,
          "with --layers: of each of them, KV for which is kept free: 2048", NULL },
        { "workers", NULL, FLAGS_SWITCH, &ask->asks_workers, 0, 0,
          "print how many devices a worker of each service should have (Aladdin, Equation 6)",
          NULL },
    };
    memcpy(rows, own, sizeof(own));
    return (int)COUNT_OF(own);
}

static int ask_rows(struct plan_ask *ask, struct flags_row rows[FLAGS_ROWS_MAX])
{
    struct flags_row all[SCENARIO_ROWS_MAX];
    int n = 0, n_all = scenario_rows(&ask->scenario, all);
    rows[n++] = (struct flags_row){ "planner",
                                    "A,B",
                                    FLAGS_TEXT,
                                    &ask->planners,
                                    0,
                                    0,
                                    "the planner: default; several are compared on the window "
                                    "after the one planned on",
                                    NULL };
    rows[n++] = (struct flags_row){ "window",
                                    "T",
                                    FLAGS_DURATION,
                                    &ask->spans.window_ns,
                                    0,
                                    1e18,
                                    "how long to plan on: 5,000 requests, or half of them all",
                                    NULL };
    rows[n++] = (struct flags_row){ "after",
                                    "T",
                                    FLAGS_DURATION,
                                    &ask->spans.after_ns,
                                    0,
                                    1e18,
                                    "with --window: how long the window after it is: as long",
                                    NULL };
    rows[n++] = (struct flags_row){
        "effort", "X", FLAGS_F64, &ask->effort, 0, 1000, "times the usual time of searches: 1", NULL
    };
    rows[n++] = (struct flags_row){
        "out", "FILE", FLAGS_FILE, &ask->out, 0, 0, "write the plan as a scenario for `shoal sim`",
        NULL
    };
    rows[n++] = (struct flags_row){ "no-price",
                                    NULL,
                                    FLAGS_SWITCH,
                                    &ask->has_no_price,
                                    0,
                                    0,
                                    "do not plan again with a device less and one more",
                                    NULL };
    n += worker_rows(ask, &rows[n]);
    for (int i = 0; i < n_all; i++)
        if (is_shared(all[i].name))
            rows[n++] = all[i];
    return n;
}

static bool is_file(const char *text)
{
    size_t n = strlen(text);
    return strchr(text, '/') != NULL || (n > 5 && strcmp(text + n - 5, ".yaml") == 0) ||
           (n > 4 && strcmp(text + n - 4, ".yml") == 0);
}

/* The cluster's file, with what the command line gives over it. */
static bool read_both(struct plan_ask *ask, const struct flags *flags,
                      const struct flags_given *given, const char *cluster, const char *workload)
{
    struct scenario *scenario = &ask->scenario;
    struct fault fault;
    enum status status = is_file(cluster) ? scenario_read(scenario, cluster, &fault)
                                          : scenario_problem_cluster(scenario, cluster, &fault);
    if (status != STATUS_OK)
        return complain(&fault);
    if (workload != NULL || flags_has(flags, given, "workload"))
        scenario->workload.n = 0;
    if (workload != NULL)
        scenario->workload.at[scenario->workload.n++] = workload;
    if (!flags_apply(flags, given))
        return false;
    return scenario_keep_pipes(scenario, &fault) == STATUS_OK || complain(&fault);
}

static bool open_ask(struct plan_ask *ask, int argc, char **argv)
{
    struct flags_row rows[FLAGS_ROWS_MAX];
    const struct flags flags = {
        "Plans which models lie on which devices, for a cluster and a workload, and prints what to "
        "expect. CLUSTER is a file with `nodes:` (and any key of a scenario), or a text as "
        "4x8xa100+1x4xl40s: nodes, devices of each, kind; see docs/PLACEMENT.md for the rest. "
        "`shoal plan --live HOST:PORT` "
        "prints what a manager would move. "
        "Exit code 0: there is a plan; 1: nothing finds room, or a file could not be written; 2: "
        "wrong arguments.",
        "CLUSTER [WORKLOAD]",
        rows,
        ask_rows(ask, rows),
        1,
        2
    };
    const char *plain[2] = { NULL, NULL };
    struct flags_given given;
    int n_plain;
    ask->effort = 1;
    scenario_init(&ask->scenario);
    bool is_fine = flags_read(&flags, argc, argv, &given, plain, &n_plain) &&
                   read_both(ask, &flags, &given, plain[0], plain[1]);
    flags_free(&given);
    if (!is_fine)
        return false;
    struct plan_spans *spans = &ask->spans;
    if (spans->after_ns > 0 && spans->window_ns == 0) {
        fprintf(stderr, "shoal: --after needs --window, how long to plan on\n");
        return false;
    }
    if (spans->after_ns == 0)
        spans->after_ns = spans->window_ns;
    if (spans->window_ns > 0 && ask->scenario.n_requests == 0 && ask->scenario.duration_ns == 0)
        ask->scenario.duration_ns = spans->window_ns + spans->after_ns;
    return true;
}

/* ---- Planning. ---- */

static void plan_one(struct plan_run *run, const struct place_planner *planner)
{
    const struct plan_search search = {
        .effort = run->ask->effort,
        .is_seen = isatty(STDERR_FILENO) != 0 && !run->ask->scenario.is_json,
        .second = run->takes_second ? &run->second : NULL,
    };
    scenario_desk_plan(&run->desk, planner, &search, &run->options[run->n++]);
}

/* Sorts the best first, by the window that was planned on; among equals the first named. */
static void sort_options(struct plan_run *run, int from)
{
    for (int i = from + 1; i < run->n; i++) {
        struct plan_option option = run->options[i];
        int at = i;
        for (; at > from && place_judge_compare(&option.planned, &run->options[at - 1].planned) > 0;
             at--)
            run->options[at] = run->options[at - 1];
        run->options[at] = option;
    }
}

/* Plans with one planner, and weighs its own next best and the planners that cost nothing. */
static void plan_alone(struct plan_run *run, const struct place_planner *chosen)
{
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    place_plan_init(&run->second, &run->desk.of.problem, &run->desk.pile);
    run->takes_second = true;
    plan_one(run, chosen);
    run->takes_second = false;
    if (run->second.n_groups > 0) {
        snprintf(run->second_label, sizeof(run->second_label), "%s's next best", chosen->name);
        scenario_desk_score(&run->desk, run->second_label, &run->second, &run->options[run->n++]);
    }
    for (int i = 0; i < n; i++)
        if (all[i] != chosen && !all[i]->is_judging && run->n < OPTIONS_MAX)
            plan_one(run, all[i]);
    sort_options(run, 1);
}

/* ---- One device less, one more. ---- */

static void plan_changed(const struct plan_run *run, const struct place_planner *planner,
                         bool is_more, struct report_plan_change *change)
{
    const struct plan_search search = { .effort = run->ask->effort };
    struct place_problem p = run->desk.of.problem;
    size_t n_nodes = (size_t)p.n_nodes;
    struct place_node *nodes = mem_take((n_nodes + 1) * sizeof(*nodes));
    struct place_node *last = &nodes[n_nodes - 1];
    memcpy(nodes, p.nodes, n_nodes * sizeof(*nodes));
    if (is_more)
        nodes[p.n_nodes++] = (struct place_node){ last->kind, p.n_devices, 1 };
    else if (--last->n_devices == 0)
        p.n_nodes--;
    p.n_devices += is_more ? 1 : -1;
    p.nodes = nodes;
    change->is_known = p.n_devices > 0;
    if (change->is_known) {
        struct scenario_desk other;
        struct plan_option option;
        scenario_desk_fork(&other, &run->desk, &p);
        scenario_desk_plan(&other, planner, &search, &option);
        change->score = option.planned;
        change->score.services = NULL;
        scenario_desk_close(&other);
    }
    mem_give(nodes);
}

/* ---- Telling. ---- */

static bool save(const char *path, const struct str *text)
{
    struct fault fault;
    return file_write(path, text->at, text->n, &fault) == STATUS_OK || complain(&fault);
}

/* The plan as a scenario for `shoal sim`. */
static bool save_scenario(const struct plan_run *run)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct fault fault;
    struct str text;
    str_init(&text);
    bool is_fine = scenario_plan(&run->desk.of, &run->ask->scenario, &run->options[0].plan,
                                 scenario, &fault) == STATUS_OK ||
                   complain(&fault);
    if (is_fine) {
        scenario_write(scenario, &text);
        is_fine = save(run->ask->out, &text);
    }
    str_free(&text);
    scenario_close(scenario);
    mem_give(scenario);
    return is_fine;
}

static bool tell(const struct plan_run *run, const struct report_plan *report, bool compares)
{
    const struct scenario *scenario = &run->ask->scenario;
    struct str text, html;
    struct doc doc;
    bool is_fine = true;
    str_init(&text);
    str_init(&html);
    doc_init(&doc, scenario->is_json ? NULL : &text, scenario->html != NULL ? &html : NULL);
    doc_page_open(&html, compares ? "Shoal: planners side by side" : "Shoal: a plan");
    if (compares)
        report_plan_compare(report, &doc);
    else
        report_plan_print(report, &doc);
    doc_page_close(&html);
    if (scenario->is_json)
        report_plan_json(report, &text);
    fputs(text.at, stdout);
    if (scenario->html != NULL)
        is_fine = save(scenario->html, &html);
    if (run->ask->out != NULL)
        is_fine = save_scenario(run) && is_fine;
    doc_free(&doc);
    str_free(&html);
    str_free(&text);
    return is_fine;
}

/* Plans with each of the named planners. Returns false when a name is not known. */
static bool plan_all(struct plan_run *run, const struct place_planner **chosen)
{
    const char *list = run->ask->planners != NULL ? run->ask->planners : "default";
    const struct place_planner *planners[OPTIONS_MAX];
    char names[CONFIG_REGISTRY_BYTES];
    int n_planners = 0;
    for (const char *at = list; *at != '\0';) {
        char name[32];
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int)(n < 31 ? n : 31), at);
        at += n + (at[n] == ',');
        const struct place_planner *planner = place_planner_find(name);
        if (planner == NULL || n_planners == OPTIONS_MAX) {
            fprintf(stderr, "shoal: --planner is a list of %s\n",
                    config_registry_names(CONFIG_REGISTRY_PLANNERS, names));
            return false;
        }
        planners[n_planners++] = planner;
    }
    if (n_planners == 0) {
        fprintf(stderr, "shoal: --planner is a list of %s\n",
                config_registry_names(CONFIG_REGISTRY_PLANNERS, names));
        return false;
    }
    *chosen = n_planners == 1 ? planners[0] : NULL;
    if (*chosen != NULL)
        plan_alone(run, *chosen);
    for (int i = 0; i < n_planners && *chosen == NULL; i++)
        plan_one(run, planners[i]);
    return true;
}

static int run_layers(const struct plan_ask *ask)
{
    const struct report_layers_ask layers = {
        .scenario = &ask->scenario,
        .model = ask->layers,
        .links = ask->links,
        .planners = ask->planners,
        .n_batch = ask->n_batch > 0 ? ask->n_batch : 8,
        .n_context = ask->n_tokens > 0 ? ask->n_tokens : 2048,
    };
    return report_layers(&layers);
}

static int run_workers(const struct plan_ask *ask)
{
    struct scenario_problem *of = mem_take(sizeof(*of));
    struct fault fault;
    struct str out;
    str_init(&out);
    enum status status = scenario_problem_open(of, &ask->scenario, ask->spans, &fault);
    if (status != STATUS_OK) {
        (void)complain(&fault);
    } else {
        if (ask->scenario.is_json)
            report_workers_json(of, &ask->scenario, &out);
        else
            report_workers_text(of, &ask->scenario, &out);
        fputs(out.at, stdout);
    }
    str_free(&out);
    scenario_problem_close(of);
    mem_give(of);
    return status == STATUS_OK ? 0 : 2;
}

static bool places_any(const struct plan_run *run)
{
    for (int i = 0; i < run->n; i++)
        if (run->options[i].planned.n_placed > 0)
            return true;
    return false;
}

static int run_plan(const struct plan_ask *ask)
{
    struct plan_run *run = mem_take(sizeof(*run));
    const struct place_planner *chosen = NULL;
    struct fault fault;
    int code = 2;
    run->ask = ask;
    if (scenario_desk_open(&run->desk, &ask->scenario, ask->spans, &fault) != STATUS_OK) {
        complain(&fault);
    } else if (plan_all(run, &chosen)) {
        bool compares = chosen == NULL;
        struct report_plan report = { .of = &run->desk.of,
                                      .options = run->options,
                                      .preset = ask->scenario.policy != NULL
                                                    ? ask->scenario.policy
                                                    : ask->scenario.preset };
        char less[64], more[64];
        const struct place_problem *p = &run->desk.of.problem;
        const char *kind = p->kinds[p->nodes[p->n_nodes - 1].kind].name;
        snprintf(less, sizeof(less), "one %.32s less", kind);
        snprintf(more, sizeof(more), "one %.32s more", kind);
        report.changes[0].what = less;
        report.changes[1].what = more;
        for (int i = 0; i < 2 && !compares && !ask->has_no_price; i++)
            plan_changed(run, chosen, i == 1, &report.changes[i]);
        report.n = run->n;
        code = tell(run, &report, compares) && places_any(run) ? 0 : 1;
    }
    scenario_desk_close(&run->desk);
    mem_give(run);
    return code;
}

int verbs_plan(int argc, char **argv)
{
    char live[] = "shoal plan --live";
    if (argc > 1 && strcmp(argv[1], "--live") == 0) {
        argv[1] = live;
        return remote_live_plan(argc - 1, argv + 1);
    }
    struct plan_ask *ask = mem_take(sizeof(*ask));
    int code = !open_ask(ask, argc, argv) ? 2
               : ask->layers != NULL      ? run_layers(ask)
               : ask->asks_workers        ? run_workers(ask)
                                          : run_plan(ask);
    scenario_close(&ask->scenario);
    mem_give(ask);
    return code;
}
