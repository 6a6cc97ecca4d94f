/* shoal repro: runs the claims of the register, and prints what came out. */
#include "papers/papers.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/time.h"
#include "papers/page.h"
#include "papers/register.h"
#include "scenario/choice.h"
#include "scenario/desk.h"
#include "scenario/plan.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SWAPS_MAX = 8 };
/* Planners see the first half of this many requests, with a seed that no run has. */
enum { HISTORY = 4000, HISTORY_SEED = 1000 };

struct run { /* a key and its seeds */
    char key[64];
    struct scenario scenario;
    struct scenario_case *cases; /* (n_seeds) */
};
struct papers {
    const struct papers_claim *claim;
    const char *folder, *kv;
    char swaps[SWAPS_MAX][2][64];
    int n_swaps;
    bool is_quick, is_json;
    int64_t n_seeds;
    int n_runs;
    struct papers_page page;
    struct run runs[PAPERS_KEYS_MAX];
    struct str files[PAPERS_FILES_MAX]; /* paths */
    int n_files;
    double kept[PAPERS_KEPT_MAX];
    int n_kept;
};

#define CLAIM(id, name, paper, section, title, settings)                                           \
    { name, paper, section, title, settings, papers_##id##_run, papers_##id##_judge },
#define FIT(id, name, paper, section, title, settings)                                             \
    { name, paper, section, title, settings, NULL, papers_##id##_judge },
static const struct papers_claim claims[] = { PAPERS_CLAIMS(CLAIM, FIT) };
#undef CLAIM
#undef FIT

/* ---- Running. ---- */

const char *papers_swapped(const struct papers *repro, const char *policy)
{
    for (int i = 0; i < repro->n_swaps; i++)
        for (int side = 0; side < 2; side++)
            if (strcmp(repro->swaps[i][side], policy) == 0)
                return repro->swaps[i][1 - side];
    return policy;
}

/* Writes a run's records and reads them back, so that the judged data is the data on the disk. */
static enum status through_file(const struct papers *repro, const struct run *run, int seed,
                                struct fault *fault)
{
    struct scenario_case *c = &run->cases[seed];
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/%s-%s-%d.csv", repro->folder, repro->claim->name, run->key, seed + 1);
    enum status status = metrics_record_save(&c->set, path.at, fault);
    if (status == STATUS_OK) {
        metrics_record_set_free(&c->set);
        memset(&c->set, 0, sizeof(c->set));
        for (int32_t i = 0; i < c->world.workload.n_services; i++)
            CHECK(metrics_record_service(&c->set, view_text(c->world.services[i].name)) == i);
        status = metrics_record_load(&c->set, path.at, fault);
    }
    if (status == STATUS_OK) {
        metrics_record_sort(&c->set);
        metrics_score(&c->set,
                      &(struct score_options){ .services = c->world.scores, .rule = c->rule },
                      c->scores);
    }
    str_free(&path);
    return status;
}

/* Takes the scenario with its texts: what is left there is an empty one. */
static enum status simulate(struct papers *repro, const char *key, const char *policy,
                            struct scenario *scenario, struct fault *fault)
{
    CHECK(repro->n_runs < PAPERS_KEYS_MAX && papers_case(repro, key, 0) == NULL);
    struct run *run = &repro->runs[repro->n_runs++];
    char names[64];
    snprintf(run->key, sizeof(run->key), "%s", key);
    snprintf(names, sizeof(names), "%s", papers_swapped(repro, policy));
    run->cases = mem_take((size_t)repro->n_seeds * sizeof(*run->cases));
    run->scenario = *scenario; /* with its texts */
    scenario_init(scenario);
    char *slash = strchr(names, '/');
    if (slash != NULL) {
        *slash = '\0';
        run->scenario.router = slash + 1;
    }
    struct score_rule rule;
    if (repro->kv != NULL)
        run->scenario.kv = repro->kv;
    enum status status = scenario_choice_rule(&run->scenario, &rule, fault);
    for (int i = 0; i < repro->n_seeds; i++)
        run->cases[i] = (struct scenario_case){ .label = names,
                                                .seed = (uint64_t)i + 1,
                                                .rate_scale = run->scenario.rate_scale,
                                                .rule = rule };
    if (status == STATUS_OK &&
        !scenario_cases_run(&run->scenario, run->cases, (size_t)repro->n_seeds)) {
        for (int i = 0; i < repro->n_seeds && status == STATUS_OK; i++)
            if (run->cases[i].fault.text[0] != '\0')
                status =
                    fault_set(fault, STATUS_BAD_INPUT, "%s: %.180s", key, run->cases[i].fault.text);
    }
    for (int i = 0; i < repro->n_seeds && status == STATUS_OK; i++)
        status = through_file(repro, run, i, fault);
    run->scenario.router = NULL;
    return status;
}

enum status papers_simulate(struct papers *repro, const char *key, const char *policy,
                            const char *yaml, struct fault *fault)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    scenario_init(scenario);
    enum status status = scenario_parse(scenario, key, yaml, strlen(yaml), fault);
    if (status == STATUS_OK)
        status = simulate(repro, key, policy, scenario, fault);
    scenario_close(scenario);
    mem_give(scenario);
    return status;
}

static enum status place(struct papers *repro, const struct papers_place_ask *ask,
                         struct papers_placed *placed, struct scenario *out, struct fault *fault)
{
    const struct place_planner *chosen = place_planner_find(papers_swapped(repro, ask->planner));
    const struct plan_search search = { .effort = 1 };
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct scenario_desk *desk = mem_take(sizeof(*desk));
    struct plan_option option;
    CHECK(chosen != NULL);
    scenario_init(scenario);
    scenario_init(out);
    enum status status =
        scenario_parse(scenario, ask->planner, ask->yaml, strlen(ask->yaml), fault);
    int64_t duration_ns = scenario->duration_ns;
    const char *preset = scenario->preset;
    scenario->preset = papers_swapped(repro, ask->policy);
    scenario->seed = HISTORY_SEED;
    scenario->duration_ns = 0;
    scenario->n_requests = repro->is_quick ? HISTORY / 4 : HISTORY;
    if (status == STATUS_OK)
        status = scenario_desk_open(desk, scenario, (struct plan_spans){ 0 }, fault);
    if (status == STATUS_OK) {
        scenario_desk_plan(desk, chosen, &search, &option);
        *placed = (struct papers_placed){ .plan_s = option.plan_s,
                                          .n_placed = option.planned.n_placed,
                                          .n_services = desk->of.problem.n_services,
                                          .n_devices = option.planned.n_devices,
                                          .normalized = option.planned.normalized,
                                          .attainment = option.planned.attainment };
        scenario->preset = preset;
        scenario->seed = scenario->n_requests = 0;
        scenario->duration_ns = duration_ns;
        status = scenario_plan(&desk->of, scenario, &option.plan, out, fault);
    }
    scenario_desk_close(desk);
    scenario_close(scenario);
    mem_give(desk);
    mem_give(scenario);
    return status;
}

enum status papers_place(struct papers *repro, const struct papers_place_ask *ask,
                         struct papers_placed *placed, struct fault *fault)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    enum status status = place(repro, ask, placed, scenario, fault);
    scenario_close(scenario);
    mem_give(scenario);
    return status;
}

enum status papers_simulate_placed(struct papers *repro, const char *key,
                                   const struct papers_place_ask *ask, const char *more,
                                   bool *is_placed, struct fault *fault)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct papers_placed placed;
    enum status status = place(repro, ask, &placed, scenario, fault);
    *is_placed = status == STATUS_OK;
    if (status == STATUS_OK)
        status = scenario_parse(scenario, key, more, strlen(more), fault);
    if (*is_placed && status == STATUS_OK)
        status = simulate(repro, key, ask->policy, scenario, fault);
    else if (status == STATUS_UNSUPPORTED && !*is_placed)
        status = STATUS_OK;
    scenario_close(scenario);
    mem_give(scenario);
    return status;
}

enum status papers_file(struct papers *repro, const char *name, const char *text, const char **path,
                        struct fault *fault)
{
    CHECK(repro->n_files < PAPERS_FILES_MAX);
    struct str *file = &repro->files[repro->n_files++];
    str_init(file);
    str_printf(file, "%s/%s-%s", repro->folder, repro->claim->name, name);
    *path = file->at;
    return file_write(file->at, text, strlen(text), fault);
}

void papers_keep(struct papers *repro, double figure)
{
    CHECK(repro->n_kept < PAPERS_KEPT_MAX);
    repro->kept[repro->n_kept++] = figure;
}

double papers_kept(const struct papers *repro, int index)
{
    CHECK(index >= 0 && index < repro->n_kept);
    return repro->kept[index];
}

int papers_n_seeds(const struct papers *repro)
{
    return (int)repro->n_seeds;
}

const char *papers_folder(const struct papers *repro)
{
    return repro->folder;
}

bool papers_is_quick(const struct papers *repro)
{
    return repro->is_quick;
}

/* ---- Figures. ---- */

const struct scenario_case *papers_case(const struct papers *repro, const char *key, int seed)
{
    for (int i = 0; i < repro->n_runs; i++)
        if (strcmp(repro->runs[i].key, key) == 0)
            return &repro->runs[i].cases[seed];
    return NULL;
}

const struct score *papers_score(const struct papers *repro, const char *key, int seed)
{
    const struct scenario_case *c = papers_case(repro, key, seed);
    CHECK(c != NULL);
    return &c->scores[c->set.n_services];
}

double papers_mean(const struct papers *repro, const char *key, papers_figure *figure)
{
    double sum = 0;
    for (int i = 0; i < repro->n_seeds; i++)
        sum += figure(papers_score(repro, key, i));
    return sum / (double)repro->n_seeds;
}

double papers_nl(const struct score *score)
{
    return score->normalized.mean;
}

double papers_attained(const struct score *score)
{
    return score->met;
}

double papers_p99(const struct score *score)
{
    return score->latency_s.p99;
}

double papers_p99_tpot(const struct score *score)
{
    return score->tpot_s.p99;
}

double papers_served(const struct score *score)
{
    return score->served_per_s;
}

double papers_offered(const struct score *score)
{
    return score->offered_per_s;
}

double papers_least_served(const struct score *score)
{
    return score->served_fraction;
}

double papers_weighted(const struct papers *repro, const char *key)
{
    double sum = 0;
    for (int i = 0; i < repro->n_seeds; i++) {
        const struct scenario_case *c = papers_case(repro, key, i);
        sum += metrics_score_weighted(c->scores, c->set.n_services);
    }
    return sum / (double)repro->n_seeds;
}

/* ---- What a claim says. ---- */

static struct papers_row *add_row(struct papers *repro, const char *what, const char *paper)
{
    CHECK(repro->page.n_rows < PAPERS_ROWS_MAX);
    struct papers_row *row = &repro->page.rows[repro->page.n_rows++];
    *row = (struct papers_row){ .what = what, .paper = paper };
    return row;
}

void papers_judge(struct papers *repro, bool holds, const char *what, const char *paper,
                  const char *ours, ...)
{
    struct papers_row *row = add_row(repro, what, paper);
    va_list args;
    row->is_judged = true;
    row->holds = holds;
    va_start(args, ours);
    vsnprintf(row->ours, sizeof(row->ours), ours, args);
    va_end(args);
}

void papers_by_direction(struct papers *repro)
{
    CHECK(repro->page.n_rows > 0);
    repro->page.rows[repro->page.n_rows - 1].is_by_direction = true;
}

void papers_note(struct papers *repro, const char *what, const char *paper, const char *ours, ...)
{
    struct papers_row *row = add_row(repro, what, paper);
    va_list args;
    va_start(args, ours);
    vsnprintf(row->ours, sizeof(row->ours), ours, args);
    va_end(args);
}

void papers_differs(struct papers *repro, const char *sentence)
{
    CHECK(repro->page.n_differs < PAPERS_ROWS_MAX);
    repro->page.differs[repro->page.n_differs++] = sentence;
}

/* ---- Claims by name. ---- */

static bool run_claim(struct papers *repro, const struct papers_claim *claim)
{
    struct fault fault;
    struct str out;
    repro->claim = claim;
    repro->n_runs = repro->n_files = repro->n_kept = 0;
    repro->page.claim = claim;
    repro->page.folder = repro->folder;
    repro->page.n_seeds = repro->n_seeds;
    repro->page.n_rows = repro->page.n_differs = 0;
    enum status status = claim->run != NULL ? claim->run(repro, &fault) : STATUS_OK;
    if (status == STATUS_OK) {
        claim->judge(repro);
        str_init(&out);
        if (repro->is_json)
            papers_page_print_json(&repro->page, &out);
        else
            papers_page_print(&repro->page, &out);
        fputs(out.at, stdout);
        fflush(stdout);
        str_free(&out);
    } else {
        fprintf(stderr, "shoal: %s: %s\n", claim->name, fault.text);
    }
    for (int i = 0; i < repro->n_runs; i++) {
        scenario_cases_close(repro->runs[i].cases, (size_t)repro->n_seeds);
        mem_give(repro->runs[i].cases);
        scenario_close(&repro->runs[i].scenario);
    }
    for (int i = 0; i < repro->n_files; i++)
        str_free(&repro->files[i]);
    return status == STATUS_OK;
}

static void list_json(const struct papers_claim *claim)
{
    struct str out;
    struct json_out json;
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "claim", claim->name);
    json_out_key_text(&json, "paper", claim->paper);
    json_out_key_text(&json, "section", claim->section);
    json_out_key_text(&json, "compares", claim->title);
    json_out_key_text(&json, "settings", claim->settings);
    json_out_close(&json, '}');
    puts(out.at);
    str_free(&out);
}

void papers_list(bool is_json)
{
    for (size_t i = 0; i < COUNT_OF(claims); i++) {
        char source[64];
        papers_page_source(&claims[i], source);
        if (is_json)
            list_json(&claims[i]);
        else
            printf("%-18s %-24s %s\n", claims[i].name, source, claims[i].title);
    }
}

/* Reads one pair, "A,B". */
static bool read_swap(struct papers *repro, const char *swap)
{
    if (swap == NULL)
        return true;
    const char *comma = strchr(swap, ',');
    if (comma == NULL || comma == swap || comma[1] == '\0' ||
        strlen(swap) >= sizeof(repro->swaps[0][0])) {
        fprintf(stderr, "shoal: --swap is two policies parted by a comma\n");
        return false;
    }
    snprintf(repro->swaps[0][0], sizeof(repro->swaps[0][0]), "%.*s", (int)(comma - swap), swap);
    snprintf(repro->swaps[0][1], sizeof(repro->swaps[0][1]), "%s", comma + 1);
    repro->n_swaps = 1;
    return true;
}

/* Runs the claims of this name, of a paper ("seallm"), or "all". */
static int run_named(struct papers *repro, const char *name)
{
    size_t n_name = strlen(name), n_found = 0;
    int code = 0;
    if (mkdir(repro->folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "shoal: can't make the folder %s: %s\n", repro->folder, strerror(errno));
        return 2;
    }
    for (size_t i = 0; i < COUNT_OF(claims); i++) {
        const struct papers_claim *claim = &claims[i];
        bool is_paper = strncmp(claim->name, name, n_name) == 0 && claim->name[n_name] == '-';
        if (!is_paper && strcmp(claim->name, name) != 0 && strcmp(name, "all") != 0)
            continue;
        n_found++;
        if (!run_claim(repro, claim))
            code = 1;
    }
    if (n_found > 0)
        return code;
    fprintf(stderr, "shoal: there is no claim \"%.60s\": `shoal repro` lists them\n", name);
    return 2;
}

int papers_run(const struct papers_options *options, const char *name)
{
    struct papers *repro = mem_take(sizeof(*repro)); /* only what a claim touches is paid for */
    repro->folder = options->folder;
    repro->kv = options->kv;
    repro->n_seeds = options->n_seeds;
    repro->is_quick = options->is_quick;
    repro->is_json = options->is_json;
    int code = read_swap(repro, options->swap) ? run_named(repro, name) : 2;
    mem_give(repro);
    return code;
}
