/* The plan of `value`, the default's scheduler: the model whose requests are worth most (value.h).
 *
 * On a device of one lane a batch holds the decodes of a model and beside them, in chunks, its
 * prompts. Where the device has further lanes that pay (half of a GPU decodes nearly as fast as all
 * of it), prompts and decodes are jobs of their own: one lane computes prompts, the others decode,
 * each the job that is worth most of those that are not in flight; who is alone has the whole
 * device. On pipelines several batches of each may be under way, and prompts that are too many for
 * their lane go through the whole device.
 *
 * Starvation: the rule, the residences and the bound of db.c. */
#include "base/time.h"
#include "schedule/db.h"
#include "schedule/lanes.h"
#include "schedule/picks.h"
#include <string.h>

enum { PROMPTS = FILL_WAITING | FILL_CATCHING_UP };
#define BACKLOG_MOST 0.3
#define NEARLY_ALL   0.75

/* ---- Whom to serve. ---- */

/* The worth of a model's turn on one lane. */
static double worth_of(const struct db *db, const struct schedule_view *view, int service,
                       bool may_start, struct schedule_value_here *here)
{
    const struct db_service *own = &db->services[service];
    uint64_t now_sum = (uint64_t)view->services[service].n_waiting * (uint64_t)view->now_ns;
    int64_t waited_ns = may_start ? (int64_t)(now_sum - own->waiting_ns_sum) : -1;
    return schedule_value_index(&db->config, view, service, &own->running, waited_ns, here);
}

static double how_few(const struct db *db, const struct schedule_view *view)
{
    double n = 0, little = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        n += (double)view->services[i].n_running + (double)view->services[i].n_waiting;
        little += db->services[i].running.little;
    }
    return schedule_value_few(&db->config, n, little / max_i32(schedule_n_busy(view), 1));
}

/* To hold back a quarter of the requests of an engine's only model gains 2% of the mean at most,
 * and costs those that wait a whole turn. (Where there are others, what is held back makes way for
 * them.) */
int32_t schedule_value_plan_seats(const struct db *db, const struct schedule_view *view,
                                  int service)
{
    const struct schedule_service *s = &view->services[service];
    double n = (double)s->n_running + (double)s->n_waiting;
    int32_t most = schedule_value_seqs_most(&db->config, &db->services[service].running, n);
    bool takes_all = view->n_services == 1 && most >= NEARLY_ALL * n;
    return takes_all ? db->config.n_seqs_max : most;
}

/* The worth of a job on one of several lanes. */
static double gathered(const struct db *db, const struct schedule_view *view, int service,
                       bool decodes)
{
    const struct schedule_service *s = &view->services[service];
    bool starts = !decodes && s->n_waiting > 0;
    return schedule_value_gathered(view, service, starts ? s->n_waiting : s->n_running,
                                   db->flights.services[service].begun_ns[!decodes]);
}

/* Has the plan a batch of this service and these parts already? */
static bool is_planned(const struct schedule_fill *fill, int service, bool decodes)
{
    for (int32_t i = 0; i < fill->plan->n_batches; i++) {
        const struct batch *batch = &fill->plan->batches[i];
        const struct request *first = &fill->view->requests[batch->items[0].slot];
        bool goes_on = first->state == REQUEST_RUNNING && schedule_lacking(first) == 1;
        if (batch->service == service && goes_on == decodes)
            return true;
    }
    return false;
}

/* The services that have work among these parts, each a job, that of most value on top (of equal
 * ones the lowest number); how many. */
static int find_jobs(const struct schedule_fill *fill, const struct db *db, unsigned parts,
                     struct schedule_value_here *here, struct schedule_pick *jobs)
{
    const struct schedule_view *view = fill->view;
    bool decodes = parts == FILL_DECODES, may_start = (parts & FILL_WAITING) != 0;
    int n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        bool waits = may_start && s->n_waiting > 0;
        bool runs = s->n_running > 0 && (!decodes || !db->flights.services[i].is_decoding);
        if (!s->is_open || (!waits && !runs) || is_planned(fill, i, decodes))
            continue;
        double value = fill->lane > 0 ? gathered(db, view, i, decodes)
                                      : worth_of(db, view, i, may_start, here);
        jobs[n++] = (struct schedule_pick){ .key = schedule_pick_key(-value),
                                            .tie = (uint64_t)i,
                                            .service = (uint16_t)i };
    }
    schedule_picks_order(jobs, n);
    return n;
}

static enum schedule_filled serve_most_valued(struct schedule_fill *fill, const struct db *db,
                                              unsigned parts)
{
    struct schedule_pick jobs[KV_SERVICES_MAX];
    struct schedule_value_here here = {
        .few = fill->lane > 0 ? 1 : how_few(db, fill->view), /* lanes are ranked without it */
        .lightest = schedule_value_lightest(&db->weights, fill->view),
        .weights = &db->weights,
    };
    for (int n = find_jobs(fill, db, parts, &here, jobs); n > 0; n--) {
        int service = jobs[0].service;
        int64_t n_kept = schedule_value_kept(&db->config, fill->view, service, &here);
        fill->n_units_most = n_kept > 0 ? 0 : INT64_MAX;
        fill->n_units_kept = n_kept;
        fill->n_seqs_most = schedule_value_plan_seats(db, fill->view, service);
        enum schedule_filled filled = schedule_fill_serve(fill, service, parts, SCHEDULE_NONE);
        if (filled != FILLED_NOTHING)
            return filled;
        schedule_picks_drop(jobs, n);
    }
    return FILLED_NOTHING;
}

/* ---- Lanes. ---- */

/* Bit per lane that computes, or will by the plan. */
static uint32_t taken_lanes(const struct schedule_plan *plan, const struct schedule_view *view)
{
    uint32_t taken = schedule_busy_lanes(view);
    for (int32_t i = 0; i < plan->n_batches; i++)
        taken |= 1U << plan->batches[i].lane;
    return taken;
}

static bool is_available(const struct schedule_plan *plan, const struct schedule_view *view,
                         int32_t lane)
{
    return schedule_lane_is_free_of(view, lane, taken_lanes(plan, view));
}

/* The largest free part for prompts, the smallest for decodes; -1: none is free. */
static int32_t find_lane(const struct schedule_plan *plan, const struct schedule_view *view,
                         bool is_for_prompts)
{
    int32_t best = -1;
    uint32_t taken = taken_lanes(plan, view);
    for (int32_t i = 1; i < view->n_lanes; i++) {
        float share = view->lanes[i].share;
        if (schedule_lane_is_free_of(view, i, taken) &&
            (best < 0 ||
             (is_for_prompts ? share > view->lanes[best].share : share < view->lanes[best].share)))
            best = i;
    }
    return best;
}

/* Of the first service that is open; -1: none is. */
static int32_t who_tells(const struct schedule_view *view)
{
    int32_t i = 0;
    while (i < view->n_services && !view->services[i].is_open)
        i++;
    return i < view->n_services ? i : -1;
}

/* Does half of the device do more than half of the work? */
static bool lanes_pay(const struct schedule_view *view)
{
    int32_t who = view->n_lanes > 1 ? who_tells(view) : -1;
    if (who < 0)
        return false;
    const struct schedule_service *s = &view->services[who];
    struct perf perf = schedule_lane_perf(s, &view->lanes[1]);
    int64_t whole_ps = perf_decode_span_ps(&s->perf, 1, 256, 1);
    int64_t part_ps = perf_decode_span_ps(&perf, 1, 256, 1);
    return (double)part_ps * (double)view->lanes[1].share * 1.05 < (double)whole_ps;
}

void schedule_value_plan_saw_perf(struct db *db, const struct schedule_view *view, int service)
{
    struct schedule_value_pay *pay = &db->pay;
    bool is_known = pay->n_changes == view->n_changes;
    if (is_known && (service != pay->who ||
                     memcmp(&view->services[service].perf, &pay->perf, sizeof(pay->perf)) == 0))
        return;
    pay->n_changes = view->n_changes;
    pay->who = who_tells(view);
    if (pay->who >= 0)
        pay->perf = view->services[pay->who].perf;
    pay->is_worth_it = lanes_pay(view);
}

static enum schedule_filled fill_lane(struct schedule_fill *fill, const struct db *db,
                                      unsigned parts)
{
    int32_t lane = find_lane(fill->plan, fill->view, parts == PROMPTS);
    if (lane < 0)
        return FILLED_NOTHING;
    fill->lane = (uint16_t)lane;
    return serve_most_valued(fill, db, parts);
}

static void plan_lanes(struct schedule_fill *fill, const struct db *db, int64_t stall_ps)
{
    const struct schedule_view *view = fill->view;
    struct schedule_plan *plan = fill->plan;
    unsigned parts = FILL_ALL;
    bool is_prefilling = db->flights.of_prompts != 0;
    int32_t lane = find_lane(plan, view, true);
    if (lane < 0)
        return;
    fill->lane = (uint16_t)lane;
    enum schedule_filled filled = schedule_db_serve_starved(fill, db, &parts);
    fill->prefill_ps_most = stall_ps;
    if (filled == FILLED_BATCH)
        is_prefilling |= fill->n_prompts > 0;
    if (filled != FILLED_PREEMPTS && !is_prefilling) {
        filled = fill_lane(fill, db, PROMPTS & parts);
        is_prefilling = filled == FILLED_BATCH;
    }
    while (filled != FILLED_PREEMPTS && find_lane(plan, view, false) >= 0) {
        filled = fill_lane(fill, db, FILL_DECODES);
        if (filled == FILLED_NOTHING && is_prefilling)
            filled = fill_lane(fill, db, PROMPTS & parts);
        if (filled == FILLED_NOTHING)
            break;
    }
}

/* ---- One lane. ---- */

/* Who starves is not held back by what others can absorb. */
static void plan_one_lane(struct schedule_fill *fill, const struct db *db, int64_t stall_ps)
{
    unsigned parts = FILL_ALL;
    if (!schedule_lane_is_free(fill->view, 0) ||
        schedule_db_serve_starved(fill, db, &parts) != FILLED_NOTHING)
        return;
    fill->prefill_ps_most = stall_ps;
    (void)serve_most_valued(fill, db, parts);
}

/* ---- Lanes that are pipelines. ---- */

/* Are there prompts, and would a part of the device that has them for itself be through with those
 * that wait within BACKLOG_MOST of a mean request's time? */
static bool part_keeps_up(const struct db *db, const struct schedule_view *view, int32_t lane)
{
    double backlog = 0;
    bool has_prompts = db->flights.of_prompts != 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        struct perf perf = schedule_lane_perf(s, &view->lanes[lane]);
        int64_t n = max_i64((int64_t)s->n_prompt_mean, 1);
        struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
        double each_s = (double)perf_step_ps(&perf, &load) * 1e-12 * view->deep_part;
        backlog += (double)s->n_waiting * each_s / schedule_value_length_s(s);
        has_prompts |= s->n_waiting > 0 || db->services[i].booked.n_catching_up > 0;
    }
    return has_prompts && backlog < BACKLOG_MOST;
}

/* Prompts follow one another on the largest part, decodes on the smallest of the others. Where
 * there are none, or too many for a part, all go through the whole device, prompts in chunks
 * beside decodes (fill.c): batches of both kinds may be under way at once, and wait for each other
 * in the order in which they began. */
static void plan_pipelines(struct schedule_fill *fill, const struct db *db, int64_t stall_ps)
{
    const struct schedule_view *view = fill->view;
    unsigned parts = FILL_ALL;
    int32_t of_prompts = 1, of_decodes = -1;
    enum schedule_filled filled = FILLED_NOTHING;
    for (int32_t i = 2; i < view->n_lanes; i++)
        of_prompts = view->lanes[i].share > view->lanes[of_prompts].share ? i : of_prompts;
    for (int32_t i = 1; i < view->n_lanes; i++)
        if (i != of_prompts &&
            (of_decodes < 0 || view->lanes[i].share < view->lanes[of_decodes].share))
            of_decodes = i;
    if (of_decodes < 0 || !part_keeps_up(db, view, of_prompts)) {
        plan_one_lane(fill, db, stall_ps);
        return;
    }
    fill->lane = (uint16_t)of_prompts;
    if (is_available(fill->plan, view, of_prompts))
        filled = schedule_db_serve_starved(fill, db, &parts);
    fill->prefill_ps_most = stall_ps;
    if (filled == FILLED_NOTHING && is_available(fill->plan, view, of_prompts))
        filled = serve_most_valued(fill, db, PROMPTS & parts);
    fill->lane = (uint16_t)of_decodes;
    if (filled != FILLED_PREEMPTS && is_available(fill->plan, view, of_decodes))
        (void)serve_most_valued(fill, db, FILL_DECODES);
}

/* ---- The plan. ---- */

void schedule_value_plan(struct schedule_fill *fill, const struct db *db)
{
    const struct schedule_view *view = fill->view;
    struct schedule_plan *plan = fill->plan;
    void (*plan_batches)(struct schedule_fill *, const struct db *, int64_t) = plan_one_lane;
    bool is_known = view->n_changes > 0 && db->pay.n_changes == view->n_changes;
    VERIFY(!is_known || db->pay.is_worth_it == lanes_pay(view));
    if (is_known ? db->pay.is_worth_it : lanes_pay(view))
        plan_batches = view->n_deep > 1 ? plan_pipelines : plan_lanes;
    int64_t stall_ps = db->config.guards_tpot ? schedule_db_stall_ps_most(db, view) : INT64_MAX;
    plan_batches(fill, db, stall_ps);
    if (plan->n_batches + plan->n_preempts == 0 && stall_ps != INT64_MAX && view->n_in_flight == 0)
        plan_batches(fill, db, INT64_MAX); /* nobody can decode: there is nobody to stall */
    if (plan->n_batches != 1 || view->n_in_flight > 0)
        return;
    plan->batches[0].lane = 0; /* it is alone */
    fill->batch = &plan->batches[0];
    schedule_fill_hold(fill, TIME_NEVER);
}
