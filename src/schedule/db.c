/* Doubling budget and its kin: the service whose request has the smallest Q L-hat goes first
 * (SeaLLM section 4.3, corrected as docs/ALGORITHMS.md 1.3 and 1.4 say).
 *
 * db-literal compares waiting and running requests as the paper's listing does: new requests wait
 * until those that run have used up a budget. db-turn chooses the service by that order and inside
 * it takes prompts first. db-share does so among services whose bucket of device time
 * is not empty, or among all when every bucket is.
 *
 * db-exact is the paper's equation 7 with lengths that are known (predicted by an oracle):
 * remaining time alone times L-hat; a bound, not a policy to serve with. mlfq is FastServe's
 * skip-join multi-level feedback queue (docs/ALGORITHMS.md 6.5): by level, then by when it joined
 * the level; a batch is of one service and one phase.
 *
 * Starvation: the rule, the residences and the bound of starve.h. Not for mlfq: there a request
 * that was idle for 3 s rises to level 0, looked at every 1000 batches, which is the paper's rule
 * and no bound. */
#include "schedule/db.h"
#include "base/time.h"
#include "schedule/picks.h"
#include "schedule/policies.h"

/* mlfq: by priority, then level, then by when it joined the level. */
static bool is_before_by_level(const void *state, const struct schedule_view *view, uint32_t a,
                               uint32_t b)
{
    const struct schedule_rank *x = &db_of(state)->ranks.slots[a];
    const struct schedule_rank *y = &db_of(state)->ranks.slots[b];
    int16_t priority_x = view->requests[a].priority, priority_y = view->requests[b].priority;
    if (priority_x != priority_y)
        return priority_x < priority_y;
    return x->level < y->level || (x->level == y->level && x->seq < y->seq);
}

/* ---- Choosing the service. ---- */

static bool is_eligible(const struct db *db, const struct schedule_view *view, int service)
{
    return schedule_share_level(&db->buckets[service], view->now_ns,
                                db->ranks.config.share_ns_depth) > 0;
}

/* The order of requests, all of it in the pick. */
static struct schedule_pick make_pick(const struct db *db, const struct schedule_view *view,
                                      uint32_t slot, int service, unsigned parts)
{
    struct schedule_pick pick = { .slot = slot, .service = (uint16_t)service, .parts = parts };
    if (slot == SCHEDULE_NONE)
        return pick;
    const struct schedule_rank *own = &db->ranks.slots[slot];
    double length = (double)max_i64(view->services[service].solo_ns, 1);
    pick.priority = view->requests[slot].priority;
    pick.key =
        db->variant == DB_MLFQ ? own->level : schedule_pick_key((double)own->budget_ps * length);
    pick.tie = own->seq;
    return pick;
}

/* What each service offers of these parts, the first of all on top; their number. With
 * shares first those of services that have not used up theirs (pass 0), then of the others. */
static int make_picks(const struct db *db, const struct schedule_view *view, unsigned parts,
                      int pass, struct schedule_pick *picks)
{
    bool is_by_phase = db_is_by_phase(db->variant), waits = (parts & FILL_WAITING) != 0;
    int n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        if (!s->is_open || s->n_waiting + s->n_running == 0 ||
            (db->variant == DB_SHARE && is_eligible(db, view, i) != (pass == 0)))
            continue;
        uint32_t first = waits ? tree_first(&db->ranks.services[i].waiting) : SCHEDULE_NONE;
        uint32_t best = schedule_ranks_first(&db->ranks.services[i], RANKS_BEST).slot;
        struct schedule_pick a = make_pick(db, view, first, i, is_by_phase ? FILL_WAITING : parts);
        struct schedule_pick b = make_pick(db, view, best, i, is_by_phase ? FILL_RUNNING : parts);
        bool has_both = first != SCHEDULE_NONE && best != SCHEDULE_NONE;
        if (first != SCHEDULE_NONE && (is_by_phase || !has_both || schedule_pick_is_before(&a, &b)))
            picks[n++] = a;
        if (best != SCHEDULE_NONE && (is_by_phase || !has_both || !schedule_pick_is_before(&a, &b)))
            picks[n++] = b;
    }
    schedule_picks_order(picks, n);
    return n;
}

/* ---- Guards of db-share. ---- */

static int64_t books(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = db_of(state);
    return schedule_lease_books(&db->ranks.config, &db->by_slot[slot], &view->requests[slot]);
}

static bool is_not_fresh(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = db_of(state);
    return !schedule_lease_is_fresh(&db->ranks.config, &db->by_slot[slot], &view->requests[slot]);
}

/* A request that does not starve keeps to the quota of its model. */
static void guard(struct schedule_fill *fill, const struct db *db, int service)
{
    if (db->ranks.config.has_soft_quotas)
        fill->n_units_most = schedule_quota_most(&db->quota, fill->view, &db->ranks.config, service,
                                                 &fill->n_units_kept);
}

enum { FAILS_MAX = 4 };

/* After some services have failed: drops the first pick, and those that would wait without room. */
static int keep_who_fits(struct schedule_fill *fill, struct schedule_pick *picks, int n)
{
    int n_kept = 0;
    for (int i = 1; i < n; i++)
        if (picks[i].parts != FILL_WAITING || schedule_fill_fits(fill, picks[i].slot))
            picks[n_kept++] = picks[i];
    schedule_picks_order(picks, n_kept);
    return n_kept;
}

static enum schedule_filled serve_best(struct schedule_fill *fill, const struct db *db,
                                       unsigned parts)
{
    const struct schedule_view *view = fill->view;
    struct schedule_pick picks[2 * KV_SERVICES_MAX];
    for (int pass = db->variant == DB_SHARE ? 0 : 1; pass < 2; pass++) {
        int n = make_picks(db, view, parts, pass, picks);
        for (int n_failed = 1; n > 0; n_failed++) {
            if (db->variant == DB_SHARE)
                guard(fill, db, picks[0].service);
            enum schedule_filled filled =
                schedule_fill_serve(fill, picks[0].service, picks[0].parts, SCHEDULE_NONE);
            if (filled != FILLED_NOTHING)
                return filled;
            if (n_failed == FAILS_MAX && db_is_by_phase(db->variant))
                n = keep_who_fits(fill, picks, n);
            else
                schedule_picks_drop(picks, n--);
        }
    }
    return FILLED_NOTHING;
}

static enum schedule_filled serve_first(struct schedule_fill *fill, const struct db *db,
                                        unsigned parts)
{
    if (db->variant == DB_SHARE && db->ranks.config.guards_tpot)
        fill->prefill_ps_most = schedule_ranks_stall_ps_most(&db->ranks, fill->view);
    enum schedule_filled filled = serve_best(fill, db, parts);
    if (filled == FILLED_NOTHING && fill->prefill_ps_most != INT64_MAX &&
        fill->view->n_in_flight == 0) {
        fill->prefill_ps_most = INT64_MAX; /* no request can decode: there is none to stall */
        filled = serve_best(fill, db, parts);
    }
    return filled;
}

/* A hold of mlfq ends with the step in which a request sinks to the next level, and when idle
 * requests are looked for, so that single steps would give the same levels. */
static int64_t next_sinking_ns(const struct db *db, const struct schedule_view *view,
                               struct schedule_fill *fill)
{
    int64_t ns = INT64_MAX / 2;
    for (int32_t i = 0; i < fill->batch->n_items; i++) {
        const struct schedule_rank *own = &db->ranks.slots[fill->batch->items[i].slot];
        int64_t left_ns = schedule_db_state_quantum_ns(db, own->level) - own->spent_ps / 1000;
        ns = min_i64(ns, max_i64(left_ns, 0));
    }
    fill->n_rounds_most = (int32_t)(db->ranks.config.mlfq_n_steps - db->n_steps);
    return view->now_ns + ns + 1;
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct db *db = state;
    const struct schedule_config *config = &db->ranks.config;
    const struct schedule_starve_ways ways = { .is_by_phase = db_is_by_phase(db->variant) };
    struct schedule_order order = {
        .state = &db->ranks,
        .first = schedule_ranks_first_waiting,
        .next = schedule_ranks_next_waiting,
        .is_before = db->variant == DB_MLFQ ? is_before_by_level : schedule_ranks_is_before,
        .nth_last = schedule_ranks_nth_last,
        .find_who_may = schedule_starve_find_who_may,
        .booked = schedule_ranks_booked,
        .resides_since = schedule_starve_resides_since,
        .spares_service = true,
    };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    bool has_leases = db->variant == DB_SHARE && config->has_leases;
    if (has_leases)
        order.books = books, order.booked = NULL;
    if (has_leases && schedule_lease_yield(&db->leases, &fill, is_not_fresh))
        return;
    unsigned parts = FILL_ALL;
    enum schedule_filled filled = FILLED_NOTHING;
    if (db->variant != DB_MLFQ)
        filled = schedule_starve_serve(&fill, &db->starve, &parts, &ways);
    if (filled == FILLED_NOTHING)
        filled = serve_first(&fill, db, parts);
    if (filled != FILLED_BATCH)
        return;
    int64_t until_ns = db->variant == DB_SHARE ? db->next_share_ns : TIME_NEVER;
    if (db->variant == DB_SHARE && config->has_soft_quotas)
        until_ns = min_i64(until_ns, db->quota.next_sample_ns);
    if (db->variant == DB_MLFQ)
        until_ns = next_sinking_ns(db, view, &fill);
    if (until_ns > view->now_ns)
        schedule_fill_hold(&fill, until_ns);
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct db *db = state;
    if (db->variant == DB_SHARE && db->ranks.config.has_soft_quotas)
        schedule_quota_report(&db->quota, view, report);
    report->n_renewed = db->leases.n_renewed;
    report->n_yielded = db->ranks.config.has_leases ? db->leases.n_yielded : 0;
    for (int i = 0; i < view->n_services; i++)
        report->services[i].phi = (double)db->buckets[i].phi / (double)SHARE_ONE;
}

/* ---- The rows. ---- */

static void open_literal(void *state, const struct schedule_limits *limits,
                         const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_LITERAL);
}
static void open_turn(void *state, const struct schedule_limits *limits,
                      const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_TURN);
}
static void open_exact(void *state, const struct schedule_limits *limits,
                       const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_EXACT);
}
static void open_mlfq(void *state, const struct schedule_limits *limits,
                      const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_MLFQ);
}
static void open_share(void *state, const struct schedule_limits *limits,
                       const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_SHARE);
}

const struct schedule_policy schedule_db_literal = {
    .name = "db-literal",
    .summary = "doubling budget as the paper lists it: prompts wait for spent budgets",
    .state_bytes = schedule_db_state_bytes,
    .open = open_literal,
    .plan = plan,
    .saw = schedule_db_state_saw,
};
const struct schedule_policy schedule_db_turn = {
    .name = "db-turn",
    .summary = "doubling budget chooses the model; prompts before decodes",
    .state_bytes = schedule_db_state_bytes,
    .open = open_turn,
    .plan = plan,
    .saw = schedule_db_state_saw,
};
const struct schedule_policy schedule_db_share = {
    .name = "db-share",
    .summary = "doubling budget within computed shares of device time",
    .state_bytes = schedule_db_state_bytes,
    .open = open_share,
    .plan = plan,
    .saw = schedule_db_state_saw,
    .report = report,
};
const struct schedule_policy schedule_db_exact = {
    .name = "db-exact",
    .summary = "remaining time alone, from predicted lengths, times the model's mean: a bound",
    .state_bytes = schedule_db_state_bytes,
    .open = open_exact,
    .plan = plan,
    .saw = schedule_db_state_saw,
};
const struct schedule_policy schedule_db_mlfq = {
    .name = "mlfq",
    .summary = "feedback queues of doubling quanta; long prompts join lower (FastServe)",
    .state_bytes = schedule_db_state_bytes,
    .open = open_mlfq,
    .plan = plan,
    .saw = schedule_db_state_saw,
};
