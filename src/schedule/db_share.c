/* db-share chooses as db-turn does, among services whose bucket of device time is not empty, or
 * among all when every bucket is. With leases and soft quotas, requests that do not starve keep to
 * them. */
#include "schedule/db.h"
#include "base/time.h"
#include "schedule/charge.h"
#include "schedule/policies.h"

static unsigned orders(const struct schedule_config *config)
{
    unsigned orders = DB_ORDERS;
    if (config->promotes_slack)
        orders |= 1U << RANKS_URGENT;
    if (config->guards_tpot)
        orders |= 1U << RANKS_TIGHTEST;
    return orders;
}

static bool is_eligible(const struct db *db, const struct schedule_view *view, int service)
{
    return schedule_share_level(&db->buckets[service], view->now_ns,
                                db->ranks.config.share_ns_depth) > 0;
}

/* ---- Guards. ---- */

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

static void limit(struct schedule_fill *fill, const struct db *db)
{
    if (db->ranks.config.guards_tpot)
        fill->prefill_ps_most = schedule_ranks_stall_ps_most(&db->ranks, fill->view);
}

/* With leases: books them, and lets those end that block others. */
static bool begin(struct schedule_fill *fill, struct schedule_order *order, const struct db *db)
{
    if (!db->ranks.config.has_leases)
        return false;
    order->books = books, order->booked = NULL;
    return schedule_lease_yield(&db->leases, fill, is_not_fresh);
}

static int64_t next_change_ns(const struct db *db, const struct schedule_view *view,
                              struct schedule_fill *fill)
{
    (void)view, (void)fill;
    bool has_quotas = db->ranks.config.has_soft_quotas;
    return has_quotas ? min_i64(db->next_share_ns, db->quota.next_sample_ns) : db->next_share_ns;
}

/* ---- Shares of device time. ---- */

/* Slows the service that holds most of a full pool, so that it fills the pool more slowly; the
 * others recover. */
static void cut_for_pool(struct db *db, const struct schedule_view *view)
{
    const struct kv_budget *kv = view->kv;
    double used =
        kv->n_units_open > 0 ? 1 - (double)kv->n_units_free / (double)kv->n_units_open : 0;
    int heaviest = -1;
    for (int i = 0; i < view->n_services; i++)
        if (heaviest < 0 || kv->services[i].n_units > kv->services[heaviest].n_units)
            heaviest = i;
    for (int i = 0; i < view->n_services; i++) {
        double *cut = &db->buckets[i].cut;
        *cut = used > db->ranks.config.pool_full && i == heaviest
                   ? *cut * db->ranks.config.pool_cut
                   : *cut / db->ranks.config.pool_cut;
        *cut = *cut > 1 ? 1 : *cut;
    }
}

static void share_out(struct db *db, const struct schedule_view *view, int64_t now_ns)
{
    struct share_load loads[KV_SERVICES_MAX];
    double phi[KV_SERVICES_MAX];
    for (int i = 0; i < view->n_services; i++) {
        loads[i] = schedule_share_load(&view->services[i]);
        if (!view->services[i].is_open)
            loads[i].rate = 0;
    }
    (void)schedule_share_solve(loads, view->n_services, phi);
    cut_for_pool(db, view);
    for (int i = 0; i < view->n_services; i++) {
        struct share_bucket *bucket = &db->buckets[i];
        schedule_share_settle(bucket, now_ns, db->ranks.config.share_ns_depth);
        bucket->phi = (int64_t)(phi[i] * bucket->cut * (double)SHARE_ONE);
        bucket->phi = max_i64(bucket->phi, SHARE_ONE / 64);
    }
    int64_t period = max_i64(db->ranks.config.share_ns_period, TIME_NS_PER_MS);
    db->next_share_ns = (now_ns / period + 1) * period;
}

/* ---- Events. ---- */

static void charge(struct db *db, const struct schedule_view *view,
                   const struct schedule_event *event)
{
    schedule_charge_batch(&db->ranks, view, event);
    schedule_share_charge(&db->buckets[event->batch->service], event->now_ns, event->elapsed_ns,
                          db->ranks.config.share_ns_depth);
}

static void note(struct db *db, const struct schedule_view *view,
                 const struct schedule_event *event)
{
    const struct schedule_config *config = &db->ranks.config;
    if (config->has_leases)
        schedule_lease_saw(&db->leases, db->by_slot, config, view, event);
    if (config->has_soft_quotas)
        schedule_quota_saw(&db->quota, view, config, event);
    if (event->now_ns >= db->next_share_ns)
        share_out(db, view, event->now_ns);
}

static void report(const void *state, const struct schedule_view *view,
                   struct schedule_report *report)
{
    const struct db *db = state;
    if (db->ranks.config.has_soft_quotas)
        schedule_quota_report(&db->quota, view, report);
    report->n_renewed = db->leases.n_renewed;
    report->n_yielded = db->ranks.config.has_leases ? db->leases.n_yielded : 0;
    for (int i = 0; i < view->n_services; i++)
        report->services[i].phi = (double)db->buckets[i].phi / (double)SHARE_ONE;
}

static const struct schedule_db_rules rules = {
    .orders = orders,
    .is_eligible = is_eligible,
    .begin = begin,
    .limit = limit,
    .guard = guard,
    .until_ns = next_change_ns,
    .charge = charge,
    .saw = note,
};

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    schedule_db_state_open(state, limits, config, &rules);
}

const struct schedule_policy schedule_db_share = {
    .name = "db-share",
    .summary = "doubling budget within computed shares of device time",
    .chooses = "as `db-turn`, among models that have not used up their share of time",
    .batches = "prompts first, unless a guard forbids it",
    .memory = "on demand; optionally with leases or soft quotas",
    .starvation = "bounded",
    .thresholds = SCHEDULE_CONFIG_FILL SCHEDULE_CONFIG_STARVE
    " db_counts_wall share_ns_depth "
    "share_ns_period pool_full pool_cut has_leases lease_tokens promotes_slack guards_tpot "
    "has_soft_quotas quota_ns_period quota_donor quota_kept quota_wanted quota_step quota_lent",
    .open = open,
    .report = report,
    SCHEDULE_DB_MECHANISM,
};
