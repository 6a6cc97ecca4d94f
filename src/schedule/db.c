/* Doubling budget and its kin: the service whose request has the smallest Q L-hat goes first
 * (SeaLLM section 4.3, corrected as ALGORITHMS 1.3 and 1.4 say).
 *
 * db-literal compares waiting and running requests as the paper's listing does: new requests wait
 * until those that run have used up a budget. db-turn chooses the service by that order and inside
 * it takes prompts first. db-share does so among services whose bucket of device time
 * is not empty, or among all when every bucket is.
 *
 * db-exact is the paper's equation 7 with lengths that are known (predicted by an oracle):
 * remaining time alone times L-hat; a bound, not a policy to serve with. mlfq is FastServe's
 * skip-join multi-level feedback queue (ALGORITHMS 6.5): by level, then by when it joined the
 * level; a batch is of one service and one phase.
 *
 * Starvation (not mlfq: there a request that was idle for 3 s rises to level 0, looked at every
 * 1000 batches, which is the paper's rule and no bound). A request starves when it was not served
 * for theta = max(3 s, 2.5 L-hat). It then goes before all others, the one that starves longest
 * first.
 *
 * Once it is served it is in its residence until it has starve_tokens (16) more tokens. In its
 * residence it starves again at once while its prompt is computed, and then after each
 * theta / starve_tokens, so that it gets all these tokens within theta. It gives its blocks up only
 * when no other request can, and then to one that starved earlier. Without a residence one token
 * would end its claim: whatever is preferred to it would take its blocks at once, and it would get
 * one token every theta.
 *
 * Bound: once a request starves, only the batch in flight and requests that starved earlier run
 * before it, each until it has a token, since it starves anew later than that. When the request
 * lacks blocks no other starts, and those that run go on in their order. One that has spent two
 * budgets B since it started gives way, unless it is in its residence; so the wait for blocks ends
 * too. (If all gave way at once, an overload would throw out every request after its residence, and
 * the device would compute prompts again and again.) */
#include "schedule/db.h"
#include "base/time.h"
#include "schedule/fill.h"
#include "schedule/picks.h"
#include "schedule/policies.h"

/* ---- The order. ---- */

/* By priority, then O = Q L-hat, then arrival. The product of two doubles is the same everywhere.
 */
static bool is_before(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b)
{
    const struct db *db = state;
    const struct request *x = &view->requests[a], *y = &view->requests[b];
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (db->variant == DB_MLFQ) {
        if (db->slots[a].level != db->slots[b].level)
            return db->slots[a].level < db->slots[b].level;
        return db->slots[a].seq < db->slots[b].seq;
    }
    double length_x = (double)max_i64(view->services[x->service].solo_ns, 1);
    double length_y = (double)max_i64(view->services[y->service].solo_ns, 1);
    double o_x = (double)db->slots[a].budget_ps * length_x;
    double o_y = (double)db->slots[b].budget_ps * length_y;
    if (o_x < o_y || o_x > o_y)
        return o_x < o_y;
    return db->slots[a].seq < db->slots[b].seq;
}

static uint32_t first_waiting(const void *state, const struct schedule_view *view, int service)
{
    const struct db *db = state;
    (void)view;
    return tree_first(&db->services[service].waiting);
}

static uint32_t nth_last(const void *state, const struct schedule_view *view, int service,
                         uint32_t n)
{
    const struct db *db = state;
    const struct db_firsts *list = &db->services[service].first[DB_LAST];
    (void)view;
    return n < (uint32_t)list->n ? list->at[n].slot : SCHEDULE_NONE;
}

static uint32_t next_waiting(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = state;
    return tree_next(&db->services[view->requests[slot].service].waiting, db->key_nodes, slot);
}

static const struct schedule_booked *booked(const void *state, const struct schedule_view *view,
                                            int service)
{
    const struct db *db = state;
    const struct schedule_booked *known = &db->services[service].booked;
    if (view->n_in_flight > 0)
        return NULL;
    VERIFY(known->n_blocks == schedule_booked_count(view, &db->config, service));
    return known;
}

/* ---- Starvation. ---- */

/* Could the request hold all its known tokens if it were alone? While the pool shrinks for another
 * model it may not: then it goes home or waits for that, and others do not wait for it. */
static bool may_fit(const struct schedule_view *view, uint32_t slot)
{
    return schedule_fill_lacks(view, slot) + view->n_table_blocks[slot] <=
           kv_budget_most_blocks(view->kv, view->requests[slot].service);
}

static bool may_starve(const struct schedule_view *view, const struct db_first *due)
{
    const struct request *r = &view->requests[due->slot];
    return r->batch == 0 && view->services[r->service].is_open &&
           (r->state != REQUEST_WAITING || may_fit(view, due->slot));
}

static void look_at_due(struct db_first *found, const struct db_first *due)
{
    if (schedule_db_first_is_before(due, found))
        *found = *due;
}

/* The request that starves longest, counted from the moment when it became starved: not served for
 * theta, or by then to begin when its deadline is to be met. */
static uint32_t find_starved(const struct db *db, const struct schedule_view *view, unsigned parts)
{
    const struct db_first nobody = { view->now_ns, 0, SCHEDULE_NONE };
    bool waits = (parts & FILL_WAITING) != 0;
    struct db_first found = nobody;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct db_due *due = &db->dues[schedule_busy(view, k)];
        look_at_due(&found, &due->running);
        if (waits)
            look_at_due(&found, &due->waiting);
    }
    if (found.slot == SCHEDULE_NONE || may_starve(view, &found))
        return found.slot;
    found = nobody; /* the first of all is in flight, or can't run now */
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct db_due *due = &db->dues[schedule_busy(view, k)];
        if (due->running.slot != SCHEDULE_NONE && may_starve(view, &due->running))
            look_at_due(&found, &due->running);
        if (waits && due->waiting.slot != SCHEDULE_NONE && may_starve(view, &due->waiting))
            look_at_due(&found, &due->waiting);
    }
    return found.slot;
}

static int64_t resides_since(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = state;
    const struct schedule_service *s = &view->services[view->requests[slot].service];
    if (db->slots[slot].resides_until == 0)
        return INT64_MAX;
    return db->served_ns[slot] + schedule_db_state_theta_ns(db, s);
}

/* Did it have its turn since it started? */
static bool has_spent_two_budgets(const void *state, const struct schedule_view *view,
                                  uint32_t slot)
{
    const struct db *db = state;
    const struct schedule_service *s = &view->services[view->requests[slot].service];
    return db->slots[slot].spent_ps / 2 >= schedule_db_state_budget_ps(s);
}

/* Those are among the first who have spent most, or too many to be known. */
static int find_who_may(const void *state, const struct schedule_view *view, int service,
                        schedule_may_go may_go, uint32_t *slots)
{
    const struct db *db = state;
    const struct db_firsts *list = &db->services[service].first[DB_SPENT];
    int n = 0;
    if (may_go != has_spent_two_budgets)
        return -1;
    while (n < list->n && has_spent_two_budgets(db, view, list->at[n].slot)) {
        slots[n] = list->at[n].slot;
        n++;
    }
    return n < list->n || list->is_all ? n : -1;
}

/* Serves the starved request. Sets *parts to what may run meanwhile when it has to wait. */
static enum schedule_filled serve_starved(struct schedule_fill *fill, const struct db *db,
                                          uint32_t slot, unsigned *parts)
{
    const struct request *r = &fill->view->requests[slot];
    bool is_waiting = r->state == REQUEST_WAITING;
    unsigned own_parts = *parts;
    if (fill->lane > 0)
        own_parts =
            is_waiting || schedule_lacking(r) > 1 ? FILL_WAITING | FILL_CATCHING_UP : FILL_DECODES;
    else if (db_is_by_phase(db->variant))
        own_parts = is_waiting ? FILL_WAITING : FILL_RUNNING;
    if (is_waiting) {
        int64_t n_blocks = schedule_fill_lacks(fill->view, slot);
        if (!schedule_fill_fits(fill, slot)) {
            *parts = FILL_RUNNING;
            bool gives_way = schedule_fill_preempt(fill, r->service, n_blocks, SCHEDULE_NONE,
                                                   has_spent_two_budgets);
            return gives_way ? FILLED_PREEMPTS : FILLED_NOTHING;
        }
    }
    if (db->variant == DB_VALUE)
        fill->n_seqs_most = schedule_value_plan_seats(db, fill->view, r->service);
    enum schedule_filled filled = schedule_fill_serve(fill, r->service, own_parts, slot);
    fill->n_seqs_most = db->config.n_seqs_max;
    return filled;
}

/* Does the service of this request have all that is alive, in one batch? Then none of its requests
 * has to go first, and a hold gives what single steps would. */
static bool is_all_alive(const struct schedule_fill *fill, uint32_t slot)
{
    const struct schedule_view *view = fill->view;
    int service = view->requests[slot].service;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, k)];
        bool is_own = schedule_busy(view, k) == service;
        if ((s->is_open && s->n_waiting > 0) ||
            s->n_running > (is_own ? (uint32_t)fill->config->n_seqs_max : 0))
            return false;
    }
    return true;
}

enum schedule_filled schedule_db_serve_starved(struct schedule_fill *fill, const struct db *db,
                                               unsigned *parts)
{
    enum schedule_filled filled = FILLED_NOTHING;
    uint32_t starved = find_starved(db, fill->view, *parts);
    if (starved != SCHEDULE_NONE && is_all_alive(fill, starved))
        return FILLED_NOTHING;
    if (starved != SCHEDULE_NONE)
        filled = serve_starved(fill, db, starved, parts);
    if (filled == FILLED_NOTHING && *parts != FILL_ALL) { /* it waits for blocks */
        starved = find_starved(db, fill->view, *parts);
        if (starved != SCHEDULE_NONE)
            filled = serve_starved(fill, db, starved, parts);
    }
    fill->plan->is_forced = filled == FILLED_BATCH;
    return filled;
}

/* ---- Choosing the service. ---- */

static bool is_eligible(const struct db *db, const struct schedule_view *view, int service)
{
    return schedule_share_level(&db->services[service].bucket, view->now_ns,
                                db->config.share_ns_depth) > 0;
}

/* The same order as is_before, all of it in the pick. */
static struct schedule_pick make_pick(const struct db *db, const struct schedule_view *view,
                                      uint32_t slot, int service, unsigned parts)
{
    struct schedule_pick pick = { .slot = slot, .service = (uint16_t)service, .parts = parts };
    if (slot == SCHEDULE_NONE)
        return pick;
    const struct db_slot *own = &db->slots[slot];
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
        uint32_t first = waits ? tree_first(&db->services[i].waiting) : SCHEDULE_NONE;
        uint32_t best = schedule_db_first(&db->services[i], DB_BEST).slot;
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

/* ---- Guards of the default. ---- */

static int64_t books(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = state;
    return schedule_lease_books(&db->config, &db->by_slot[slot], &view->requests[slot]);
}

static bool is_not_fresh(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct db *db = state;
    return !schedule_lease_is_fresh(&db->config, &db->by_slot[slot], &view->requests[slot]);
}

/* The longest stall that everybody with a target per token absorbs out of the time that he saved so
 * far (Aladdin's (d)): min over them of target * (tokens - 1) - time since the first. */
int64_t schedule_db_stall_ps_most(const struct db *db, const struct schedule_view *view)
{
    int64_t due_ns = INT64_MAX;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct db_service *own = &db->services[schedule_busy(view, k)];
        due_ns = min_i64(due_ns, schedule_db_first(own, DB_TIGHTEST).key);
    }
    if (due_ns == INT64_MAX)
        return INT64_MAX;
    return max_i64(min_i64(due_ns - view->now_ns, INT64_MAX / 2000), 0) * 1000;
}

/* Who is not starved keeps to the quota of his model and to what the others can absorb. */
static void guard(struct schedule_fill *fill, const struct db *db, int service)
{
    if (db->config.has_soft_quotas)
        fill->n_units_most =
            schedule_quota_most(&db->quota, fill->view, &db->config, service, &fill->n_units_kept);
}

enum { FAILS_MAX = 4 };

/* After some have failed: of those that wait only they stay who would find room. The first goes. */
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
    if (db_has_guards(db->variant) && db->config.guards_tpot)
        fill->prefill_ps_most = schedule_db_stall_ps_most(db, fill->view);
    enum schedule_filled filled = serve_best(fill, db, parts);
    if (filled == FILLED_NOTHING && fill->prefill_ps_most != INT64_MAX &&
        fill->view->n_in_flight == 0) {
        fill->prefill_ps_most = INT64_MAX; /* nobody can decode: there is nobody to stall */
        filled = serve_best(fill, db, parts);
    }
    return filled;
}

/* A hold of mlfq ends with the step in which somebody sinks to the next level, and when those that
 * idle are looked for: so single steps would give the same levels. */
static int64_t next_sinking_ns(const struct db *db, const struct schedule_view *view,
                               struct schedule_fill *fill)
{
    int64_t ns = INT64_MAX / 2;
    for (int32_t i = 0; i < fill->batch->n_items; i++) {
        const struct db_slot *own = &db->slots[fill->batch->items[i].slot];
        int64_t left_ns = schedule_db_state_quantum_ns(db, own->level) - own->spent_ps / 1000;
        ns = min_i64(ns, max_i64(left_ns, 0));
    }
    fill->n_rounds_most = (int32_t)(db->config.mlfq_n_steps - db->n_steps);
    return view->now_ns + ns + 1;
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct db *db = state;
    struct schedule_order order = { .state = db,
                                    .first = first_waiting,
                                    .next = next_waiting,
                                    .is_before = is_before,
                                    .nth_last = nth_last,
                                    .find_who_may = find_who_may,
                                    .booked = booked,
                                    .resides_since = resides_since,
                                    .spares_service = true };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &db->config, &order, plan);
    if (db->variant == DB_VALUE) {
        schedule_value_plan(&fill, db);
        return;
    }
    if (!schedule_lane_is_free(view, 0))
        return;
    bool has_leases = db->variant == DB_SHARE && db->config.has_leases;
    if (has_leases)
        order.books = books, order.booked = NULL;
    if (has_leases && schedule_lease_yield(&db->leases, &fill, is_not_fresh))
        return;
    unsigned parts = FILL_ALL;
    enum schedule_filled filled = FILLED_NOTHING;
    if (db->variant != DB_MLFQ)
        filled = schedule_db_serve_starved(&fill, db, &parts);
    if (filled == FILLED_NOTHING)
        filled = serve_first(&fill, db, parts);
    if (filled != FILLED_BATCH)
        return;
    int64_t until_ns = db->variant == DB_SHARE ? db->next_share_ns : TIME_NEVER;
    if (db->variant == DB_SHARE && db->config.has_soft_quotas)
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
    if (db->variant == DB_SHARE && db->config.has_soft_quotas)
        schedule_quota_report(&db->quota, view, report);
    report->n_renewed = db->leases.n_renewed;
    report->n_yielded = db->config.has_leases ? db->leases.n_yielded : 0;
    for (int i = 0; i < view->n_services; i++)
        report->services[i].phi = (double)db->services[i].bucket.phi / (double)SHARE_ONE;
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
static void open_value(void *state, const struct schedule_limits *limits,
                       const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, DB_VALUE);
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
const struct schedule_policy schedule_db_value = {
    .name = "value",
    .summary = "the model whose requests are worth most; prompts beside decodes on lanes that pay",
    .n_lanes_wanted = 2,
    .wants_no_cores = true,
    .state_bytes = schedule_db_state_bytes,
    .open = open_value,
    .plan = plan,
    .saw = schedule_db_state_saw,
};
