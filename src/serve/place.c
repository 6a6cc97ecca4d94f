/* Makes a planner's problem of this machine, and devices of the plan. */
#include "serve/place.h"
#include "serve/kv.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"
#include "config/chosen.h"
#include "place/check.h"
#include "place/planner.h"
#include "predict/cores.h"
#include "predict/profile.h"
#include "run/model.h"
#include "serve/adapters.h"
#include "serve/file.h"
#include "serve/layer_map.h"
#include "serve/memory.h"
#include "sim/judge.h"
#include "weights/weights.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_USUAL = 256, REQUESTS_PER_MODEL = 100, REQUESTS_MIN = 600, REQUESTS_MAX = 3000 };
static const double busy_usual = 0.5; /* of the machine, when no rates are set */

/* ---- The problem. ---- */

struct model_at_hand {
    struct model_spec spec;
    struct predict_profile profile; /* without groups: none */
    struct service_size size;
    int32_t n_context, n_prompt, n_output;
};
struct problem_at_hand {
    const struct config *config;
    struct serve_machine machine;
    struct chosen chosen;
    struct place_problem problem;
    struct place_kind kinds[SERVE_UNITS_MAX];
    struct place_node nodes[SERVE_UNITS_MAX];
    int32_t kind_cores[SERVE_UNITS_MAX]; /* of a node of this kind */
    struct place_service services[LIMIT_MODELS];
    struct perf perfs[LIMIT_MODELS][SERVE_UNITS_MAX * PLACE_DEGREES];
    struct place_request requests[REQUESTS_MAX];
    struct model_at_hand models[LIMIT_MODELS];
    struct pile pile;
    bool has_rates;
};

/* Computes what the model will book with its adapters, without reading its weights. */
static enum status measure(const struct config_model *from, struct weights *weights,
                           struct compute_device *device, struct compute_sizes sizes,
                           struct service_size *size, struct fault *fault)
{
    struct serve_adapters *adapters;
    enum status status = serve_adapters_open(&adapters, from, weights, device, fault);
    if (status != STATUS_OK)
        return status;
    struct run_adapters *opened = adapters != NULL ? adapters->sizes : NULL;
    size->weights_bytes = run_model_packed_bytes(weights, device) + run_adapters_bytes(opened);
    size->activation_bytes = run_model_adapted_peak_bytes(weights, opened, device, sizes);
    serve_adapters_close(adapters);
    return STATUS_OK;
}

static enum status open_model(struct problem_at_hand *at, int i, struct compute_device *device,
                              struct fault *fault)
{
    const struct config *config = at->config;
    const struct config_model *from = &config->models[i];
    struct model_at_hand *model = &at->models[i];
    struct weights *weights;
    int64_t n_rows = config->chunk_tokens > 0 ? config->n_batch_tokens_max : LIMIT_BATCH_TOKENS;
    struct serve_file file = { .path = from->path, .fetched.fd = -1 };
    enum status status = STATUS_OK;
    if (fetch_is_url(from->path)) /* any other file is checked once, when it is opened to serve */
        status = serve_file_open(&file, config, from, fault);
    if (status == STATUS_OK)
        status = weights_open(&weights, file.path, fault);
    serve_file_close(&file);
    if (status != STATUS_OK)
        return status;
    model->spec = *weights_spec(weights);
    status = measure(from, weights, device,
                     (struct compute_sizes){ (int32_t)(n_rows + config->n_batch_max),
                                             (int32_t)config->n_batch_max },
                     &model->size, fault);
    weights_close(weights);
    if (status != STATUS_OK)
        return status;
    enum dtype kv_dtype = serve_kv_dtype(config, from, &model->spec);
    status = model_spec_check_kv(&model->spec, from->name, kv_dtype, fault);
    if (status != STATUS_OK)
        return status;
    model->size.kv_bytes_per_token = model_spec_kv_bytes_per_token(&model->spec, kv_dtype);
    int64_t n_context = model->spec.n_positions_max;
    if (from->n_context > 0)
        n_context = min_i64(n_context, from->n_context);
    int64_t n_prompt = from->n_prompt > 0 ? from->n_prompt : TOKENS_USUAL;
    int64_t n_output = from->n_output > 0 ? from->n_output : TOKENS_USUAL;
    double most = 2.0 / 3 * (double)n_context; /* lengths are drawn up to 1.5 times this */
    double fit = most / (double)(n_prompt + n_output);
    fit = fit < 1 ? fit : 1;
    model->n_context = (int32_t)n_context;
    model->n_prompt = max_i32((int32_t)(fit * (double)n_prompt), 1);
    model->n_output = max_i32((int32_t)(fit * (double)n_output), 1);
    return from->profile != NULL ? predict_profile_read(&model->profile, from->profile, fault)
                                 : STATUS_OK;
}

static enum predict_cores_isa isa_here(void)
{
    enum cpu_isa isa = cpu_isa_best();
    return isa >= CPU_ISA_AVX512 ? PREDICT_CORES_AVX512
           : isa == CPU_ISA_AVX2 ? PREDICT_CORES_AVX2
                                 : PREDICT_CORES_GENERIC;
}

/* Sets the times on groups of units. Beside a neighbour a group is as slow as in the profile. */
static void fill_perfs(struct problem_at_hand *at, int i)
{
    const struct model_at_hand *model = &at->models[i];
    for (int32_t k = 0; k < at->problem.n_kinds; k++) {
        for (int32_t d = 0; d < PLACE_DEGREES; d++) {
            int32_t all = at->kind_cores[k], n_units = 0;
            for (int32_t n = 0; n < at->problem.n_nodes; n++)
                if (at->nodes[n].kind == k)
                    n_units = at->nodes[n].n_devices;
            int32_t n = max_i32(min_i32((all << d) / n_units, all), 1);
            struct perf *perf = &at->perfs[i][k * PLACE_DEGREES + d];
            const struct predict_cores_model bound = { &model->spec, model->size.weights_bytes,
                                                       model->size.kv_bytes_per_token };
            if (model->profile.n_groups == 0) {
                predict_cores_perf(&bound, isa_here(), n, all, perf);
                continue;
            }
            *perf = predict_profile_perf(&model->profile, n);
            if (n < all && model->profile.beside.n_rounds > 0) {
                perf->prefill_scale *= (float)model->profile.beside.factors[0][0];
                perf->decode_scale *= (float)model->profile.beside.factors[1][1];
            }
        }
    }
}

/* Sockets with as many cores in as many units are of one kind. */
static void fill_nodes(struct problem_at_hand *at)
{
    struct place_problem *p = &at->problem;
    const struct serve_machine *m = &at->machine;
    for (int32_t i = 0; i < m->n_nodes; i++) {
        int32_t first = m->node_first[i], n_units = m->node_first[i + 1] - first, kind = 0;
        int32_t n_cores = m->first[first + n_units] - m->first[first];
        while (kind < p->n_kinds && at->kind_cores[kind] != n_cores)
            kind++;
        if (kind == p->n_kinds) {
            at->kind_cores[p->n_kinds++] = n_cores;
            at->kinds[kind] = (struct place_kind){
                .name = "cpu",
                .memory_bytes = m->memory_bytes / m->n_cores * n_cores / n_units,
                .bytes_per_s = 14e9 * n_cores / n_units,
            };
        }
        at->nodes[i] = (struct place_node){ kind, first, n_units };
    }
    p->n_nodes = m->n_nodes;
    p->n_devices = m->n_units;
    p->kinds = at->kinds;
    p->nodes = at->nodes;
}

/* Sets the requests a second of each model: as configured, or equal ones. */
static void find_rates(struct problem_at_hand *at, double *rates)
{
    const struct config *config = at->config;
    int n = config->n_models;
    double solo_s = 0;
    for (int i = 0; i < n; i++)
        at->has_rates = at->has_rates || config->models[i].rate_per_s > 0;
    for (int i = 0; i < n; i++) {
        int32_t all = place_degree_index(at->nodes[0].n_devices);
        const struct perf *perf = &at->perfs[i][at->nodes[0].kind * PLACE_DEGREES + all];
        solo_s += (double)perf_solo_ps(perf, at->models[i].n_prompt, at->models[i].n_output) *
                  1e-12 / at->problem.n_nodes;
    }
    for (int i = 0; i < n; i++)
        rates[i] = !at->has_rates                      ? busy_usual / solo_s
                   : config->models[i].rate_per_s >= 0 ? config->models[i].rate_per_s
                                                       : 0;
}

static int by_arrival(const void *a, const void *b)
{
    const struct place_request *x = a, *y = b;
    if (x->arrived_ns != y->arrived_ns)
        return x->arrived_ns < y->arrived_ns ? -1 : 1;
    return (x->service > y->service) - (x->service < y->service);
}

/* Draws Poisson arrivals, with lengths from half to one and a half times the mean. */
static void draw_window(struct problem_at_hand *at)
{
    double rates[LIMIT_MODELS], sum = 0;
    int n_models = at->config->n_models;
    int32_t n = 0;
    find_rates(at, rates);
    for (int i = 0; i < n_models; i++)
        sum += rates[i];
    int32_t n_most = max_i32(min_i32(REQUESTS_PER_MODEL * n_models, REQUESTS_MAX), REQUESTS_MIN);
    double span_s = 0.9 * n_most / sum; /* the tenth is for chance */
    for (int i = 0; i < n_models; i++) {
        const struct model_at_hand *model = &at->models[i];
        struct rng dice;
        double now_s = 0;
        rng_init(&dice, 1, (uint64_t)i);
        while (rates[i] > 0 && n < REQUESTS_MAX) {
            now_s += rng_exponential(&dice) / rates[i];
            double prompt = (0.5 + rng_unit(&dice)) * model->n_prompt;
            double output = (0.5 + rng_unit(&dice)) * model->n_output;
            if (now_s >= span_s)
                break;
            at->requests[n++] = (struct place_request){ .arrived_ns = (int64_t)(now_s * 1e9),
                                                        .service = i,
                                                        .n_prompt = max_i32((int32_t)prompt, 1),
                                                        .n_output = max_i32((int32_t)output, 1) };
        }
    }
    qsort(at->requests, (size_t)n, sizeof(*at->requests), by_arrival);
    at->problem.window =
        (struct place_window){ at->requests, n, max_i64((int64_t)(span_s * 1e9), 1) };
}

static enum status open_problem(struct problem_at_hand *at, struct fault *fault)
{
    const struct config *config = at->config;
    struct place_problem *p = &at->problem;
    struct compute_device *device;
    struct device_spec *spec = mem_take(sizeof(*spec));
    spec->kind = DEVICE_CPU;
    spec->n_cores = at->machine.first[at->machine.node_first[1]]; /* more cores want more bytes */
    memcpy(spec->cores, at->machine.cores, (size_t)spec->n_cores * sizeof(*spec->cores));
    device = cpu_open(spec, cpu_isa_best());
    enum status status = STATUS_OK;
    for (int i = 0; i < config->n_models && status == STATUS_OK; i++)
        status = open_model(at, i, device, fault);
    device->close(device->self);
    mem_give(spec);
    if (status != STATUS_OK)
        return status;
    place_problem_limits(&p->limits);
    p->limits.n_members_max = PLACE_MEMBERS_MAX;
    fill_nodes(at);
    p->n_services = config->n_models;
    p->services = at->services;
    for (int i = 0; i < config->n_models; i++) {
        const struct config_model *from = &config->models[i];
        const struct model_at_hand *model = &at->models[i];
        int64_t ttft_ms = from->ttft_ms >= 0 ? from->ttft_ms : config->ttft_ms;
        int64_t tpot_ms = from->tpot_ms >= 0 ? from->tpot_ms : config->tpot_ms;
        int64_t e2e_ms = from->e2e_ms >= 0 ? from->e2e_ms : config->e2e_ms;
        fill_perfs(at, i);
        at->services[i] =
            (struct place_service){ .name = from->name,
                                    .size = model->size,
                                    .slo = { ttft_ms * TIME_NS_PER_MS, tpot_ms * TIME_NS_PER_MS,
                                             e2e_ms * TIME_NS_PER_MS },
                                    .perfs = at->perfs[i] };
    }
    draw_window(at);
    place_problem_measure(p);
    return STATUS_OK;
}

static void close_problem(struct problem_at_hand *at)
{
    for (int i = 0; i < at->config->n_models; i++)
        predict_profile_free(&at->models[i].profile);
    pile_free(&at->pile);
    mem_give(at);
}

/* ---- The plan. ---- */

static struct sim_judge *open_judge(struct problem_at_hand *at, struct sim_options *sim,
                                    struct score_service *scores)
{
    const struct config *config = at->config;
    struct schedule_config usual;
    struct score_rule rule = { .kind = SCORE_SEALLM_SOLO, .scale = at->problem.limits.slo_scale };
    int32_t n_context = 0;
    schedule_config_init(&usual);
    at->chosen.schedule.n_rounds_max = usual.n_rounds_max; /* holds: quicker, and the same */
    for (int i = 0; i < config->n_models; i++) {
        const struct service_slo *slo = &at->services[i].slo;
        scores[i] = (struct score_service){ .slo = *slo };
        n_context = max_i32(n_context, at->models[i].n_context);
        if (slo->ttft_ns + slo->tpot_ns + slo->e2e_ns > 0)
            rule.kind = SCORE_SERVICE;
    }
    *sim = (struct sim_options){ .n_lanes = 1,
                                 .n_requests_max = 512,
                                 .n_tokens_max = n_context,
                                 .block_tokens = 16,
                                 .policy = at->chosen.policy,
                                 .config = &at->chosen.schedule,
                                 .router = at->chosen.router,
                                 .router_config = &at->chosen.route };
    return sim_judge_open(&(struct sim_judge_options){
        .problem = &at->problem, .sim = sim, .rule = rule, .services = scores });
}

/* Makes one engine of all of a node's cores, with every model, as without a planner. Returns false
 * when such a plan is not legal here. */
static bool make_one(const struct problem_at_hand *at, struct pile *pile, struct place_plan *plan)
{
    const struct place_problem *p = &at->problem;
    place_plan_init(plan, p, pile);
    for (int32_t i = 0; i < p->n_nodes; i++) {
        struct place_group *group =
            place_plan_add_group(plan, p, p->nodes[i].first_device, p->nodes[i].n_devices);
        for (int32_t s = 0; s < p->n_services; s++)
            if (place_group_takes(p, group, s, PLACE_MEMBERS_MAX))
                place_group_add(group, s);
    }
    place_plan_finish(plan, p);
    return place_check(p, plan, PLACE_MEMBERS_MAX, NULL) == STATUS_OK;
}

/* Returns the first model that no engine of the plan has room for, although all cores together
 * could hold it; -1 if none. */
static int32_t find_homeless(const struct problem_at_hand *at, const struct place_plan *plan)
{
    const struct place_problem *p = &at->problem;
    int64_t whole = 0;
    for (int32_t n = 0; n < p->n_nodes; n++)
        whole = max_i64(whole, p->kinds[p->nodes[n].kind].memory_bytes * p->nodes[n].n_devices);
    for (int32_t r = 0; r < plan->n_refused; r++) {
        int32_t service = plan->refused[r].service;
        bool is_homeless = place_problem_model_bytes(p, service) <= whole;
        for (int32_t g = 0; g < plan->n_groups && is_homeless; g++)
            is_homeless = !place_group_takes(p, &plan->groups[g], service, PLACE_MEMBERS_MAX);
        if (is_homeless)
            return service;
    }
    return -1;
}

/* ---- Log lines about the plan. ---- */

static void say_plan(const struct problem_at_hand *at, const char *planner,
                     const struct serve_placement *placement)
{
    struct str line;
    str_init(&line);
    for (int e = 0; e < placement->n; e++) {
        const struct serve_engine *engine = &placement->engines[e];
        bool is_first = true;
        str_printf(&line, "%sengine %d on %s:", e > 0 ? "; " : "", e, engine->device);
        for (int i = 0; i < at->config->n_models; i++) {
            if (!engine->has[i])
                continue;
            str_printf(&line, "%s%s", is_first ? " " : ", ", at->config->models[i].name);
            if (engine->share_percent[i] > 0 && engine->share_percent[i] < 100)
                str_printf(&line, " %d%%", engine->share_percent[i]);
            is_first = false;
        }
    }
    log_line(LOG_INFO, "serve", "placed by %s: %s", planner, line.at);
    str_free(&line);
}

static void say_reason(const struct problem_at_hand *at, const struct place_score *score,
                       const struct place_score *other, const char *name)
{
    char why[160] = "";
    if (name != NULL && place_judge_compare(score, other) != 0) {
        bool is_better = place_judge_compare(score, other) > 0;
        place_judge_difference(is_better ? score : other, is_better ? other : score, why,
                               sizeof(why));
    }
    log_line(LOG_INFO, "serve",
             "expected %s: %.1f%% of requests within their targets, %.2f times as long as alone on "
             "the fewest cores%s%s%s%s",
             at->has_rates ? "at the configured rates" : "at equal rates, half busy",
             100 * score->attainment, score->normalized, why[0] != '\0' ? "; " : "",
             why[0] != '\0' ? name : "",
             why[0] == '\0'                          ? ""
             : place_judge_compare(score, other) > 0 ? " loses: "
                                                     : " would win: ",
             why);
}

/* ---- The whole. ---- */

static void placement_of(const struct problem_at_hand *at, const struct place_plan *plan,
                         struct serve_placement *out)
{
    *out = (struct serve_placement){ .n = plan->n_groups };
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        struct serve_engine *engine = &out->engines[g];
        serve_machine_device(&at->machine, group->first_device, group->n_devices, engine->device,
                             sizeof(engine->device));
        engine->memory_bytes = place_group_memory(&at->problem, group);
        for (int32_t m = 0; m < group->n_members; m++) {
            const struct place_member *member = &group->members[m];
            engine->has[member->service] = true;
            engine->share_percent[member->service] = member->share_percent;
            engine->kv_bytes[member->service] = member->kv_bytes;
        }
    }
}

static void say_refused(const struct problem_at_hand *at, const struct place_plan *plan)
{
    for (int32_t r = 0; r < plan->n_refused; r++)
        log_line(LOG_WARN, "serve", "%s has no place of its own and comes when it is asked for: %s",
                 at->config->models[plan->refused[r].service].name, plan->refused[r].why);
}

static void decide(struct problem_at_hand *at, struct config *config)
{
    const char *name = config->planner != NULL ? config->planner : "default";
    const struct place_planner *planner = place_planner_find(name);
    struct sim_options sim;
    struct score_service *scores = mem_take(LIMIT_MODELS * sizeof(*scores));
    struct sim_judge *judge = open_judge(at, &sim, scores);
    struct place_judge face = sim_judge_face(judge);
    struct place_desk desk = {
        .problem = &at->problem, .judge = &face, .pile = &at->pile, .seed = 1, .effort = 1
    };
    struct place_plan plan, other;
    place_planner_plan(planner, &desk, &plan);
    int32_t homeless = find_homeless(at, &plan);
    if (homeless >= 0 || plan.n_groups == 0) {
        log_line(
            LOG_INFO, "serve",
            "one engine for all, on which models come and go as they are asked for: %s finds no "
            "room beside the others",
            homeless >= 0 ? config->models[homeless].name : "none");
    } else {
        struct place_score score = { 0 }, their = { 0 };
        const struct place_plan *const plans[] = { &plan, &other };
        struct serve_placement *placement = mem_take(sizeof(*placement));
        const char *rival = "one engine for all";
        if (!make_one(at, &at->pile, &other) || place_plan_equal(&plan, &other)) {
            place_planner_plan(place_planner_find("even"), &desk, &other);
            rival = place_plan_equal(&plan, &other) ? NULL : "cores of their own";
        }
        face.score(face.self, &plans[0], 1, &at->problem.window, &score);
        face.score(face.self, &plans[1], 1, &at->problem.window, &their);
        placement_of(at, &plan, placement);
        say_plan(at, name, placement);
        say_reason(at, &score, &their, rival);
        say_refused(at, &plan);
        serve_place_apply(placement, config);
        mem_give(placement);
    }
    sim_judge_close(judge);
    mem_give(scores);
}

bool serve_place_is_asked(const struct config *config)
{
    bool is_by_hand = config->n_devices > 0 || config->n_lanes > 0 || config->n_models < 2;
    for (int i = 0; i < config->n_models; i++)
        is_by_hand = is_by_hand || config->models[i].n_devices > 0;
    if (config->placement != NULL || serve_layer_map_is_asked(config))
        return true;
    if (is_by_hand || (config->planner != NULL && strcmp(config->planner, "none") == 0))
        return false;
    struct chosen chosen;
    chosen_of(config, &chosen);
    return config->planner != NULL || chosen.policy->n_lanes_wanted == 0 ||
           chosen.policy->wants_no_cores;
}

static enum status read_machine(const struct config *config, struct serve_machine *machine,
                                struct fault *fault)
{
    struct cpu_topology *topology = mem_take(sizeof(*topology));
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        serve_machine_init(topology,
                           config->memory_bytes > 0
                               ? config->memory_bytes
                               : serve_memory_usual(config, topology->memory_bytes,
                                                    min_i32(topology->n_processors, LIMIT_DEVICES)),
                           machine);
    mem_give(topology);
    return status;
}

enum status serve_place(struct config *config, struct fault *fault)
{
    if (!serve_place_is_asked(config))
        return STATUS_OK;
    struct problem_at_hand *at = mem_take(sizeof(*at));
    at->config = config;
    pile_init(&at->pile);
    chosen_of(config, &at->chosen);
    enum status status = read_machine(config, &at->machine, fault);
    if (status == STATUS_OK && serve_layer_map_is_asked(config)) {
        status = serve_layer_map_place(config, at->machine.memory_bytes, fault);
    } else if (status == STATUS_OK && config->placement != NULL) {
        struct serve_placement *placement = mem_take(sizeof(*placement));
        status = serve_place_given(config, &at->machine, placement, fault);
        if (status == STATUS_OK) {
            say_plan(at, config->placement, placement);
            serve_place_apply(placement, config);
        }
        mem_give(placement);
    } else if (status == STATUS_OK && at->machine.n_units > 1) {
        status = open_problem(at, fault);
        if (status == STATUS_OK)
            decide(at, config);
    }
    close_problem(at);
    return status;
}

void serve_place_apply(const struct serve_placement *placement, struct config *config)
{
    const char *devices[LIMIT_DEVICES];
    config->n_devices = placement->n;
    for (int e = 0; e < placement->n; e++) {
        const struct serve_engine *engine = &placement->engines[e];
        devices[e] = pile_text(&config->pile, engine->device, strlen(engine->device));
        config->devices[e] = devices[e];
        config->engines[e].memory_bytes = engine->memory_bytes;
        memcpy(config->engines[e].share_percent, engine->share_percent,
               sizeof(engine->share_percent));
        memcpy(config->engines[e].kv_bytes, engine->kv_bytes, sizeof(engine->kv_bytes));
        config->engines[e].role = engine->role;
    }
    for (int i = 0; i < config->n_models; i++) {
        struct config_model *model = &config->models[i];
        model->n_devices = 0;
        for (int e = 0; e < placement->n; e++)
            if (placement->engines[e].has[i])
                model->devices[model->n_devices++] = devices[e];
    }
}
