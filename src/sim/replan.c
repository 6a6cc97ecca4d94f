/* Watches the running system, plans anew, and moves models when that pays. */
#include "sim/replan.h"

#include "sim/state.h"

#include "base/mem.h"
#include "base/settings.h"
#include "base/time.h"
#include "place/align.h"
#include "place/watch.h"
#include "schedule/lanes.h"
#include "sim/judge.h"
#include "sim/moves.h"
#include <string.h>

enum { N_OUTPUT_UNKNOWN = 0, N_OUTPUT_USUAL = 256 };

struct sim_replanning {
    const struct sim_replan_options *options;
    struct sim_moves moves;
    struct monitor monitor;
    struct monitor_service *monitored; /* (n_services) */
    /* Requests by number, modulo (n_window). For those that have not ended n_output is unknown. */
    struct place_request *ring;
    uint64_t n_arrived;
    struct place_service *measured; /* (n_services) as of the last window */
    struct pile pile;
    struct place_plan plan, next, before; /* the present plan, the next one, the one before */
    struct replace_score foretold;        /* of the plan that is there */
    struct set *on_host;                  /* (n_nodes) weights that lie in a node's memory */
    int64_t begin_ns, interval_ns;        /* of the interval that runs */
    int64_t move_ns;                      /* the next plan is installed then; TIME_NEVER */
    struct watch watch;
    int64_t kv_bytes; /* that all present requests will have in the end */
    int64_t alarm_ns; /* when KV triggers a plan; TIME_NEVER: it does not */
    bool is_fresh;    /* the last plan was installed, so its gain must still be compared with the
                         promise */
};

/* ---- Settings. ---- */

#define ROW(name, field, kind, min, max)                                                           \
    {                                                                                              \
        name, SETTINGS_##kind, offsetof(struct sim_replan_settings, field), min, max, NULL         \
    }
static const struct settings_row rows[] = {
    ROW("beta", config.beta, NUMBER, 0, 0.9),
    ROW("first_ns", config.first_ns, MILLISECONDS, 1, 1e10),
    ROW("least_ns", config.least_ns, MILLISECONDS, 1, 1e10),
    ROW("most_ns", config.most_ns, MILLISECONDS, 1, 1e10),
    ROW("gain_latency", config.gain_latency, NUMBER, 0, 1),
    ROW("gain_attainment", config.gain_attainment, NUMBER, 0, 1),
    ROW("settle_ns", config.settle_ns, MILLISECONDS, 0, 1e9),
    ROW("host_bytes_per_s", links.host_bytes_per_s, NUMBER, 1, 1e15),
    ROW("disk_bytes_per_s", links.disk_bytes_per_s, NUMBER, 0, 1e15),
    ROW("kv_bytes_per_s", links.kv_bytes_per_s, NUMBER, 1, 1e15),
    ROW("plan_ns", plan_ns, MILLISECONDS, 0, 1e9),
    ROW("n_window", n_window, COUNT, 1, 1 << 20),
    ROW("effort", effort, NUMBER, 0, 1000),
    ROW("watches_kv", watches_kv, FLAG, 0, 1),
};
#undef ROW

void sim_replan_settings_init(struct sim_replan_settings *settings)
{
    *settings = (struct sim_replan_settings){
        .links = { .host_bytes_per_s = 24e9, .disk_bytes_per_s = 3e9, .kv_bytes_per_s = 25e9 },
        .plan_ns = 3 * TIME_NS_PER_S,
        .n_window = SIM_REPLAN_WINDOW,
        .effort = 1,
    };
    replace_config_init(&settings->config);
}

enum status sim_replan_set(struct sim_replan_settings *settings, const char *text,
                           struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(settings, row, text, fault);
    settings->is_off = strcmp(text, "off") == 0;
    if (settings->is_off || strcmp(text, "on") == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no setting of re-placement; one is \"first_ns=600000\", others "
                     "\"on\" and \"off\"",
                     text);
}

/* ---- Engines. ---- */

int32_t sim_replan_n_engines(const struct place_problem *problem)
{
    return sim_moves_n_slots(problem);
}

/* Sets the shares and quotas of the plan's group on the slot. parts: (n_services) */
static void fill_parts(const struct place_plan *plan, const struct sim_slot *slot,
                       struct sim_engine_part *parts, struct sim_engine_spec *engine)
{
    const struct place_group *group = sim_moves_group(plan, slot);
    const struct place_division *division =
        place_division_of(group != NULL ? group->division : PLACE_DIVISION_USUAL);
    if (division->n > 0)
        engine->n_lanes = schedule_lanes_of_parts(division->parts, division->n, engine->lanes);
    for (int32_t m = 0; group != NULL && m < group->n_members; m++) {
        const struct place_member *member = &group->members[m];
        parts[member->service] =
            (struct sim_engine_part){ member->share_percent, member->kv_bytes };
    }
}

void sim_replan_engines(const struct place_problem *problem, const struct place_plan *plan,
                        const struct perf *perfs, struct sim_engine_part *parts,
                        struct sim_engine_spec *engines)
{
    int32_t n = sim_moves_n_slots(problem);
    struct sim_slot *slots = mem_take((size_t)n * sizeof(*slots));
    sim_moves_slots(problem, slots);
    for (int32_t i = 0; i < n; i++) {
        int32_t k = problem->nodes[slots[i].node].kind, n_devices = slots[i].n_devices;
        const struct place_kind *kind = &problem->kinds[k];
        size_t row = (size_t)(k * PLACE_DEGREES + place_degree_index(n_devices));
        struct sim_engine_part *own =
            parts != NULL ? parts + (size_t)i * (size_t)problem->n_services : NULL;
        engines[i] = (struct sim_engine_spec){ .services = sim_moves_services(plan, &slots[i]),
                                               .memory_bytes = kind->memory_bytes * n_devices,
                                               .n_devices = n_devices,
                                               .bytes_per_s = kind->bytes_per_s * (double)n_devices,
                                               .perfs = perfs + row * (size_t)problem->n_services,
                                               .parts = own };
        if (own != NULL)
            fill_parts(plan, &slots[i], own, &engines[i]);
    }
    mem_give(slots);
}

/* ---- Opening. ---- */

/* The next interval, and bins that cover it. */
static void begin_interval(struct sim_replanning *r, const struct sim *sim)
{
    r->begin_ns = sim->clock_ns;
    monitor_init(&r->monitor, r->monitored, sim->options->n_services,
                 r->interval_ns / (MONITOR_BINS - 1) + 1, sim->clock_ns);
}

/* Marks the weights that a plan has on a node: they have been in its memory. */
static void see_weights(struct sim_replanning *r, const struct place_plan *plan)
{
    for (int32_t g = 0; g < plan->n_groups; g++)
        for (int32_t m = 0; m < plan->groups[g].n_members; m++)
            set_add(&r->on_host[plan->groups[g].node], plan->groups[g].members[m].service);
}

struct sim_replanning *sim_replan_open(struct sim *sim)
{
    const struct sim_replan_options *o = sim->options->replace;
    const struct place_problem *problem = o->problem;
    size_t n_services = (size_t)problem->n_services;
    struct sim_replanning *r = mem_take(sizeof(*r));
    CHECK(problem->n_services == sim->options->n_services && o->plan->n_refused == 0);
    *r = (struct sim_replanning){ .options = o,
                                  .foretold = o->foretold,
                                  .interval_ns = o->settings.config.first_ns,
                                  .move_ns = TIME_NEVER,
                                  .alarm_ns = TIME_NEVER };
    r->monitored = mem_take(n_services * sizeof(*r->monitored));
    r->ring = mem_take((size_t)o->settings.n_window * sizeof(*r->ring));
    r->measured = mem_take(n_services * sizeof(*r->measured));
    r->on_host = mem_take((size_t)problem->n_nodes * sizeof(*r->on_host));
    memcpy(r->measured, problem->services, n_services * sizeof(*r->measured));
    pile_init(&r->pile);
    place_plan_init(&r->plan, problem, &r->pile);
    place_plan_init(&r->next, problem, &r->pile);
    place_plan_init(&r->before, problem, &r->pile);
    place_plan_copy(&r->plan, o->plan);
    see_weights(r, &r->plan);
    sim_moves_open(&r->moves, sim, problem, &r->plan);
    r->moves.config = &o->settings.config;
    r->moves.links = &o->settings.links;
    watch_planned(&r->watch, &(struct watch_seen){ .now_ns = 0 });
    begin_interval(r, sim);
    return r;
}

void sim_replan_close(struct sim_replanning *r)
{
    if (r == NULL)
        return;
    sim_moves_close(&r->moves);
    pile_free(&r->pile);
    mem_give(r->monitored);
    mem_give(r->ring);
    mem_give(r->measured);
    mem_give(r->on_host);
    mem_give(r);
}

/* ---- Watching. ---- */

static struct place_request *in_ring(struct sim_replanning *r, uint64_t number)
{
    return &r->ring[number % (uint64_t)r->options->settings.n_window];
}

/* UELLM's third reason to plan anew: KV is over its reserve for a while (place/watch.h). */
static void watch_kv(struct sim_replanning *r, const struct sim *sim,
                     const struct route_request *request, int64_t sign)
{
    const struct watch_config config = { WATCH_OVER_NS };
    const struct sim_client *client = &sim->clients[request - sim->requests];
    struct watch_seen seen = { .now_ns = sim->clock_ns };
    r->kv_bytes += sign * (request->n_prompt + client->n_first_predicted) *
                   sim->options->services[request->service].size.kv_bytes_per_token;
    for (int32_t g = 0; g < r->plan.n_groups; g++)
        seen.kv_reserve_bytes += place_group_kv_bytes(r->options->problem, &r->plan.groups[g]);
    seen.kv_bytes = r->kv_bytes;
    if (watch_saw(&r->watch, &config, &seen) == WATCH_KV && r->alarm_ns == TIME_NEVER)
        r->alarm_ns = sim->clock_ns;
}

void sim_replan_arrived(struct sim_replanning *r, const struct sim *sim, uint32_t index)
{
    const struct route_request *request = &sim->requests[index];
    uint64_t number = request->id >> SIM_LIVE_BITS;
    monitor_arrived(&r->monitor, request->service, sim->clock_ns, request->n_prompt);
    *in_ring(r, number) = (struct place_request){ request->arrived_ns, request->service,
                                                  request->n_prompt, N_OUTPUT_UNKNOWN };
    r->n_arrived = number + 1;
    if (r->options->settings.watches_kv)
        watch_kv(r, sim, request, 1);
}

void sim_replan_ended(struct sim_replanning *r, const struct sim *sim,
                      const struct sim_client *client, uint8_t why)
{
    const struct sim_replan_options *o = r->options;
    const struct route_request *request = sim_request(sim, client);
    uint64_t number = request->id >> SIM_LIVE_BITS;
    int32_t n_output = request->n_tokens - request->n_prompt, s = request->service;
    const struct place_request own = { 0, s, request->n_prompt, max_i32(n_output, 1) };
    const struct place_problem problem = { .services = r->measured,
                                           .n_kinds = o->problem->n_kinds };
    struct record record = { .arrived_ns = request->arrived_ns,
                             .first_ns = request->first_ns,
                             .end_ns = sim->clock_ns,
                             .solo_ns = place_problem_solo_ns(&problem, &own),
                             .n_prompt = request->n_prompt,
                             .n_output = n_output,
                             .n_wanted = request->n_tokens_max - request->n_prompt,
                             .service = request->service,
                             .why = (uint8_t)metrics_record_why_of(why) };
    if (number + (uint64_t)o->settings.n_window >= r->n_arrived)
        in_ring(r, number)->n_output = max_i32(n_output, 1);
    if (o->settings.watches_kv)
        watch_kv(r, sim, request, -1);
    if (why == SERVICE_CANCELLED)
        return; /* its client's own decision */
    monitor_ended(&r->monitor, s,
                  &(struct monitor_end){
                      .now_ns = sim->clock_ns,
                      .latency_ns = sim->clock_ns - request->arrived_ns,
                      .ttft_ns = request->first_ns - request->arrived_ns,
                      .solo_ns = (int64_t)(r->measured[s].solo_s * 1e9),
                      .n_output = n_output,
                      .is_done = why == SERVICE_LENGTH || why == SERVICE_STOPPED,
                      .is_met = metrics_score_is_met(
                          &record, &o->rule, o->services != NULL ? &o->services[s] : NULL,
                          r->measured[s].solo_s, &(struct score_run){ 0, sim->clock_ns }) });
}

/* Reads how the interval went, over all services. Returns false when no request ended. */
static bool read_score(struct sim_replanning *r, const struct sim *sim, struct replace_score *out)
{
    double normalized = 0, met = 0;
    int64_t n = 0, n_ended = 0;
    for (int32_t s = 0; s < sim->options->n_services; s++) {
        struct monitor_reading reading;
        monitor_read(&r->monitor, s, sim->clock_ns, &reading);
        n += reading.normalized.n;
        n_ended += reading.n_done + reading.n_failed;
        normalized += reading.normalized.mean * (double)reading.normalized.n;
        met += reading.attainment * (double)(reading.n_done + reading.n_failed);
    }
    if (n == 0)
        return false;
    *out = (struct replace_score){ normalized / (double)n, met / (double)n_ended };
    return true;
}

/* ---- Planning. ---- */

struct desk { /* for one planning; all of it comes from a pile */
    struct pile pile;
    struct place_problem problem;
    struct place_window window;
    struct sim_options sim;
    struct sim_judge *judge;
    struct place_plan plan;
    double rates[LIMIT_SERVICES];
};

/* Fills in the interval's requests. Running ones get their predicted length. */
static void fill_window(struct sim_replanning *r, const struct sim *sim, struct desk *desk)
{
    int32_t n_max = r->options->settings.n_window, n = 0;
    struct place_request *requests = pile_take(&desk->pile, (size_t)n_max * sizeof(*requests));
    int64_t from_ns = r->begin_ns;
    uint64_t first = r->n_arrived > (uint64_t)n_max ? r->n_arrived - (uint64_t)n_max : 0;
    while (first < r->n_arrived && in_ring(r, first)->arrived_ns < from_ns)
        first++;
    if (r->n_arrived - first == (uint64_t)n_max) /* there were more before */
        from_ns = in_ring(r, first)->arrived_ns;
    for (uint64_t i = first; i < r->n_arrived; i++) {
        requests[n] = *in_ring(r, i);
        requests[n].arrived_ns -= from_ns;
        desk->rates[requests[n++].service]++;
    }
    for (uint32_t i = 0; i < sim->n_clients_max; i++) {
        const struct route_request *request = &sim->requests[i];
        uint64_t number = request->id >> SIM_LIVE_BITS;
        if (sim->clients[i].is_live && number >= first)
            requests[number - first].n_output =
                request->n_predicted > 0 ? request->n_predicted : N_OUTPUT_USUAL;
    }
    int64_t last_ns = n > 0 ? requests[n - 1].arrived_ns : 0; /* it may have come just now */
    int64_t span_ns = max_i64(sim->clock_ns - from_ns, last_ns + 1);
    desk->window = (struct place_window){ requests, n, span_ns };
    for (int32_t s = 0; s < LIMIT_SERVICES; s++)
        desk->rates[s] /= (double)desk->window.span_ns * 1e-9;
}

/* Reads by how much engines have corrected their times. */
static void read_profiles(struct sim_replanning *r, const struct sim *sim)
{
    struct engine_report *report = mem_take(sizeof(*report));
    struct set seen = { { 0 } };
    for (int32_t i = 0; i < r->moves.n; i++) {
        const struct set new = set_without(&r->moves.slots[i].there, &seen);
        if (set_is_empty(&new))
            continue;
        engine_report(sim->engines[i].engine, report, sim->clock_ns);
        for (int s = 0; (s = set_next(&new, s, sim->options->n_services)) >= 0; s++)
            monitor_profile(&r->monitor, s, &report->services[s].perf);
        set_add_all(&seen, &new);
    }
    mem_give(report);
}

/* Returns the times of a service as its engines have corrected them. */
static const struct perf *corrected(struct sim_replanning *r, struct desk *desk, int32_t service)
{
    const struct perf *seen = &r->monitor.services[service].perf;
    size_t n = (size_t)r->options->problem->n_kinds * PLACE_DEGREES;
    const struct perf *from = r->options->problem->services[service].perfs;
    struct perf *perfs = pile_take(&desk->pile, n * sizeof(*perfs));
    memcpy(perfs, from, n * sizeof(*perfs));
    for (size_t i = 0; i < n && seen->prefill_scale > 0; i++) {
        perfs[i].prefill_scale *= seen->prefill_scale;
        perfs[i].decode_scale *= seen->decode_scale;
    }
    return perfs;
}

static void open_desk(struct sim_replanning *r, const struct sim *sim, struct desk *desk)
{
    const struct sim_replan_options *o = r->options;
    size_t n_services = (size_t)o->problem->n_services;
    *desk = (struct desk){ .problem = *o->problem, .sim = *sim->options };
    pile_init(&desk->pile);
    fill_window(r, sim, desk);
    read_profiles(r, sim);
    if (desk->window.n == 0)
        return;
    for (size_t s = 0; s < n_services; s++) {
        const struct place_service *from = &o->problem->services[s];
        r->measured[s] = (struct place_service){ .name = from->name,
                                                 .size = from->size,
                                                 .slo = from->slo,
                                                 .perfs = corrected(r, desk, (int32_t)s) };
    }
    desk->problem.services = r->measured;
    desk->problem.window = desk->window;
    place_problem_measure(&desk->problem);
    desk->sim.replace = NULL;
    desk->sim.logs = NULL;
    desk->sim.trace = NULL;
    desk->sim.until_ns = 0;
    desk->sim.checks_steps = desk->sim.has_prefix_cache = false;
    desk->judge = sim_judge_open(&(struct sim_judge_options){ .problem = &desk->problem,
                                                              .sim = &desk->sim,
                                                              .rule = o->rule,
                                                              .services = o->services,
                                                              .n_threads = o->n_threads });
}

static void close_desk(struct desk *desk)
{
    if (desk->judge != NULL)
        sim_judge_close(desk->judge);
    pile_free(&desk->pile);
}

static struct replace_score score_of(struct desk *desk, const struct place_plan *plan,
                                     struct place_score *score)
{
    struct place_judge judge = sim_judge_face(desk->judge);
    judge.score(judge.self, &plan, 1, &desk->window, score);
    return (struct replace_score){ score->normalized, score->attainment };
}

static void plan_anew(struct sim_replanning *r, struct desk *desk)
{
    const struct sim_replan_options *o = r->options;
    struct place_judge judge = sim_judge_face(desk->judge);
    const struct place_desk place = { .problem = &desk->problem,
                                      .judge = &judge,
                                      .pile = &desk->pile,
                                      .seed = o->seed,
                                      .effort = o->settings.effort };
    place_planner_plan(o->planner, &place, &desk->plan);
    place_align(&desk->problem, &r->plan, &desk->plan, &desk->pile);
}

/* ---- Is it worth the move? ---- */

/* Returns the time to recompute the prompts of the requests of leaving models. */
static int64_t recompute_ns(const struct sim *sim, int32_t engine, const struct set *going)
{
    int64_t ps = 0;
    const struct perf *perfs = sim->options->engines[engine].perfs;
    uint32_t n = set_is_empty(going) ? 0 : sim->n_clients_max;
    for (uint32_t i = 0; i < n; i++) {
        const struct sim_client *client = &sim->clients[i];
        const struct route_request *request = &sim->requests[i];
        if (client->is_live && client->engine == engine && set_has(going, request->service))
            ps += perf_solo_ps(&perfs[request->service], request->n_prompt, 1);
    }
    return ps / 1000;
}

static bool is_on(const struct place_plan *plan, const struct sim_slot *slot, int32_t service)
{
    const struct place_group *group = sim_moves_group(plan, slot);
    for (int32_t m = 0; group != NULL && m < group->n_members; m++)
        if (group->members[m].service == service)
            return true;
    return false;
}

/* Returns the rate of a service's requests at one of the engines that load it. Engines that stay
 * serve theirs meanwhile. */
static double rate_waiting(const struct sim_replanning *r, const struct desk *desk, int32_t service)
{
    int32_t n_before = 0, n_kept = 0, n_new = 0;
    for (int32_t i = 0; i < r->moves.n; i++) {
        bool was = is_on(&r->plan, &r->moves.slots[i], service);
        bool is = is_on(&desk->plan, &r->moves.slots[i], service);
        n_before += was;
        n_kept += was && is;
        n_new += is && !was;
    }
    if (n_new == 0 || n_kept >= n_before)
        return 0;
    return desk->rates[service] * (double)(n_before - n_kept) / (double)(n_before * n_new);
}

/* moves: (slots). Returns how many engines change. */
static int32_t list_moves(const struct sim_replanning *r, const struct sim *sim,
                          const struct desk *desk, struct replace_move *moves)
{
    int32_t n = 0;
    double waiting[LIMIT_SERVICES];
    for (int32_t s = 0; s < sim->options->n_services; s++)
        waiting[s] = rate_waiting(r, desk, s);
    for (int32_t i = 0; i < r->moves.n; i++) {
        const struct sim_slot *slot = &r->moves.slots[i];
        const struct set was = sim_moves_services(&r->plan, slot);
        const struct set is = sim_moves_services(&desk->plan, slot);
        const struct set going = set_without(&was, &is), coming = set_without(&is, &was);
        struct replace_move *move = &moves[n];
        if (set_equals(&was, &is))
            continue;
        *move = (struct replace_move){ .is_prefetched = true,
                                       .recompute_ns = recompute_ns(sim, i, &going) };
        for (int s = 0; (s = set_next(&coming, s, sim->options->n_services)) >= 0; s++) {
            move->weights_bytes += sim->options->services[s].size.weights_bytes / slot->n_devices;
            move->n_requests_per_s += waiting[s];
            move->is_prefetched = move->is_prefetched && set_has(&r->on_host[slot->node], s);
        }
        n++;
    }
    return n;
}

/* Bytes that come from disks before the move. */
static int64_t fetched_bytes(const struct sim_replanning *r, const struct desk *desk)
{
    int64_t n_bytes = 0;
    for (int32_t i = 0; i < r->options->problem->n_nodes; i++) {
        struct set seen = r->on_host[i];
        for (int32_t g = 0; g < desk->plan.n_groups; g++)
            for (int32_t m = 0;
                 desk->plan.groups[g].node == i && m < desk->plan.groups[g].n_members; m++) {
                int32_t s = desk->plan.groups[g].members[m].service;
                n_bytes += set_has(&seen, s) ? 0 : r->measured[s].size.weights_bytes;
                set_add(&seen, s);
            }
    }
    return n_bytes;
}

static void install(struct sim_replanning *r, struct sim *sim, const struct desk *desk,
                    const struct replace_case *c)
{
    struct sim_replan_report *report = &sim->report->replace;
    report->n_moves++;
    report->fetched_bytes += fetched_bytes(r, desk);
    if (c->kept.normalized_latency > 0)
        report->promised_latency += 1 - c->planned.normalized_latency / c->kept.normalized_latency;
    report->promised_attainment += c->planned.attainment - c->kept.attainment;
    place_plan_copy(&r->before, &r->plan);
    place_plan_copy(&r->next, &desk->plan);
    see_weights(r, &r->next);
    r->foretold = c->planned;
    r->is_fresh = true;
    r->move_ns = sim->clock_ns + r->options->settings.plan_ns +
                 replace_fetch_ns(&c->links, c->moves, c->n_moves);
}

/* Measures the gain of the last move on requests after its plan, by simulating both plans. */
static void look_back(struct sim_replanning *r, struct sim *sim, struct desk *desk,
                      const struct replace_score *kept)
{
    struct sim_replan_report *report = &sim->report->replace;
    struct place_score score = { .services = NULL };
    struct replace_score before = score_of(desk, &r->before, &score);
    if (before.normalized_latency > 0)
        report->got_latency += 1 - kept->normalized_latency / before.normalized_latency;
    report->got_attainment += kept->attainment - before.attainment;
    report->n_judged++;
    r->is_fresh = false;
}

static void decide(struct sim_replanning *r, struct sim *sim, struct desk *desk)
{
    const struct sim_replan_settings *settings = &r->options->settings;
    struct sim_replan_report *report = &sim->report->replace;
    struct place_score kept = { .services = NULL }, planned = { .services = NULL };
    struct replace_move *moves = pile_take(&desk->pile, (size_t)r->moves.n * sizeof(*moves));
    plan_anew(r, desk);
    report->n_plans++;
    struct replace_case c = { .kept = score_of(desk, &r->plan, &kept),
                              .interval_ns = r->interval_ns,
                              .rate =
                                  (double)desk->window.n / ((double)desk->window.span_ns * 1e-9),
                              .moves = moves,
                              .links = settings->links };
    if (r->is_fresh)
        look_back(r, sim, desk, &c.kept);
    r->foretold = c.kept;
    if (desk->plan.n_refused > 0) { /* a service that is served stays so */
        report->n_worse++;
        return;
    }
    c.planned = score_of(desk, &desk->plan, &planned);
    c.latency_s = kept.latency_s;
    c.n_moves = list_moves(r, sim, desk, moves);
    enum replace_verdict verdict = replace_decide(&settings->config, &c);
    report->n_verdicts[verdict]++;
    if (verdict == REPLACE_INSTALL)
        install(r, sim, desk, &c);
}

static void plan_interval(struct sim_replanning *r, struct sim *sim)
{
    const struct replace_config *config = &r->options->settings.config;
    struct replace_score real;
    struct desk *desk = mem_take(sizeof(*desk));
    if (read_score(r, sim, &real))
        r->interval_ns =
            replace_interval_ns(config, r->interval_ns, replace_deviation(&real, &r->foretold));
    open_desk(r, sim, desk);
    if (desk->window.n > 0)
        decide(r, sim, desk);
    for (int32_t s = 0; s < sim->options->n_services; s++) /* the desk's memory goes with it */
        r->measured[s].perfs = r->options->problem->services[s].perfs;
    close_desk(desk);
    mem_give(desk);
    sim->report->replace.n_alarms += r->alarm_ns != TIME_NEVER;
    r->alarm_ns = TIME_NEVER;
    watch_planned(&r->watch, &(struct watch_seen){ .now_ns = sim->clock_ns });
    begin_interval(r, sim);
}

/* ---- Time. ---- */

/* Returns the time of the next plan, which waits until the last one is installed. */
static int64_t next_plan_ns(const struct sim_replanning *r)
{
    bool is_busy = r->moves.is_moving || r->move_ns != TIME_NEVER;
    int64_t next_ns = r->begin_ns + r->interval_ns;
    if (r->alarm_ns != TIME_NEVER)
        next_ns = min_i64(next_ns,
                          max_i64(r->alarm_ns, r->begin_ns + r->options->settings.config.least_ns));
    return r->options->settings.is_off || is_busy ? TIME_NEVER : next_ns;
}

int64_t sim_replan_wake_ns(const struct sim_replanning *r, bool *is_moving)
{
    *is_moving = r->moves.is_moving;
    return min_i64(min_i64(r->moves.wake_ns, r->move_ns), next_plan_ns(r));
}

void sim_replan_stepped(struct sim_replanning *r, struct sim *sim, uint16_t engine)
{
    if (r->moves.is_moving)
        sim_moves_stepped(&r->moves, sim, engine);
}

void sim_replan_tick(struct sim_replanning *r, struct sim *sim)
{
    if (r->moves.wake_ns <= sim->clock_ns)
        sim_moves_tick(&r->moves, sim);
    if (r->move_ns <= sim->clock_ns) {
        r->move_ns = TIME_NEVER;
        place_plan_copy(&r->plan, &r->next);
        sim_moves_begin(&r->moves, sim, &r->plan);
    }
    if (next_plan_ns(r) <= sim->clock_ns)
        plan_interval(r, sim);
}

void sim_replan_end(struct sim_replanning *r, struct sim *sim)
{
    sim->report->replace.interval_ns = r->interval_ns;
    sim_moves_end(&r->moves, sim);
}
