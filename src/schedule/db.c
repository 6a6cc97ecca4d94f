/* The plans of the doubling-budget policies (db.h): which service goes first. */
#include "schedule/db.h"
#include "base/time.h"
#include "schedule/picks.h"
#include "schedule/hold.h"

/* ---- Choosing the service. ---- */

/* The order of requests, which the pick contains completely. */
static struct schedule_pick make_pick(const struct db *db, const struct schedule_view *view,
                                      uint32_t slot, int service, unsigned parts)
{
    struct schedule_pick pick = { .slot = slot, .service = (uint16_t)service, .parts = parts };
    if (slot == SCHEDULE_NONE)
        return pick;
    const struct schedule_rank *own = &db->ranks.slots[slot];
    double length = (double)max_i64(view->services[service].solo_ns, 1);
    pick.priority = view->requests[slot].priority;
    pick.key = db->rules->pick_key != NULL ? db->rules->pick_key(db, slot)
                                           : schedule_pick_key((double)own->budget_ps * length);
    pick.tie = own->seq;
    return pick;
}

/* Makes the picks of these parts for each service, the first of all on top. Returns their number.
 * Services that the rules accept come first (pass 0), then the others. */
static int make_picks(const struct db *db, const struct schedule_view *view, unsigned parts,
                      int pass, struct schedule_pick *picks)
{
    bool is_by_phase = db->rules->is_by_phase, waits = (parts & FILL_WAITING) != 0;
    int n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        if (!s->is_open || s->n_waiting + s->n_running == 0 ||
            (db->rules->is_eligible != NULL && db->rules->is_eligible(db, view, i) != (pass == 0)))
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

enum { FAILS_MAX = 4 };

/* After some services have failed, drops the first pick, and those that would wait without room. */
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
    for (int pass = db->rules->is_eligible != NULL ? 0 : 1; pass < 2; pass++) {
        int n = make_picks(db, view, parts, pass, picks);
        for (int n_failed = 1; n > 0; n_failed++) {
            if (db->rules->guard != NULL)
                db->rules->guard(fill, db, picks[0].service);
            enum schedule_filled filled =
                schedule_fill_serve(fill, picks[0].service, picks[0].parts, SCHEDULE_NONE);
            if (filled != FILLED_NOTHING)
                return filled;
            if (n_failed == FAILS_MAX && db->rules->is_by_phase)
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
    if (db->rules->limit != NULL)
        db->rules->limit(fill, db);
    enum schedule_filled filled = serve_best(fill, db, parts);
    if (filled == FILLED_NOTHING && fill->prefill_ps_most != INT64_MAX &&
        fill->view->n_in_flight == 0) {
        fill->prefill_ps_most = INT64_MAX; /* no request can decode, so none can stall */
        filled = serve_best(fill, db, parts);
    }
    return filled;
}

void schedule_db_plan(const void *state, const struct schedule_view *view,
                      struct schedule_plan *plan)
{
    const struct db *db = state;
    const struct schedule_db_rules *rules = db->rules;
    const struct schedule_starve_ways ways = { .is_by_phase = rules->is_by_phase };
    struct schedule_order order = {
        .state = &db->ranks,
        .first = schedule_ranks_first_waiting,
        .next = schedule_ranks_next_waiting,
        .is_before = rules->is_before != NULL ? rules->is_before : schedule_ranks_is_before,
        .nth_last = schedule_ranks_nth_last,
        .find_who_may = schedule_starve_find_who_may,
        .booked = schedule_ranks_booked,
        .resides_since = schedule_starve_resides_since,
        .spares_service = true,
    };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &db->ranks.config, &order, plan);
    if (!schedule_lane_is_free(view, 0))
        return;
    if (rules->begin != NULL && rules->begin(&fill, &order, db))
        return;
    unsigned parts = FILL_ALL;
    enum schedule_filled filled = FILLED_NOTHING;
    if (!rules->may_starve)
        filled = schedule_starve_serve(&fill, &db->starve, &parts, &ways);
    if (filled == FILLED_NOTHING)
        filled = serve_first(&fill, db, parts);
    if (filled != FILLED_BATCH)
        return;
    int64_t until_ns = rules->until_ns != NULL ? rules->until_ns(db, view, &fill) : TIME_NEVER;
    if (until_ns > view->now_ns)
        schedule_hold(&fill, until_ns);
}
