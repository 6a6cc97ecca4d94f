/* The state of the doubling-budget policies: budgets and levels, buckets of shares.
 *
 * Budgets are charged by charge.h.
 *
 * Under mlfq a request is charged the time of its batches against the quantum of its level instead.
 * Under db-exact its budget is its remaining work. */
#include "base/time.h"
#include "schedule/charge.h"
#include "schedule/db.h"

enum { LEVEL_MAX = 30, FETCH_AHEAD = 8 };

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

size_t schedule_db_state_bytes(const struct schedule_limits *limits)
{
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    return aligned(sizeof(struct db)) + schedule_ranks_bytes(limits) +
           schedule_starve_bytes(limits) + aligned(n_services * sizeof(struct share_bucket)) +
           aligned(n * sizeof(struct schedule_lease)) + aligned(2 * n_services * sizeof(int64_t)) +
           64;
}

/* Returns the orders of running requests that the variant needs. */
static unsigned orders_of(enum db_variant variant, const struct schedule_config *config)
{
    unsigned orders = 1U << RANKS_BEST | 1U << RANKS_LAST;
    if (variant != DB_MLFQ)
        orders |= 1U << RANKS_OLDEST | 1U << RANKS_SPENT;
    if (variant == DB_SHARE && config->promotes_slack)
        orders |= 1U << RANKS_URGENT;
    if (variant == DB_SHARE && config->guards_tpot)
        orders |= 1U << RANKS_TIGHTEST;
    return orders;
}

void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config, enum db_variant variant)
{
    struct db *db = state;
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    unsigned char *at = state;
    (void)schedule_ranks_cut(&at, sizeof(*db));
    *db = (struct db){ .variant = variant };
    schedule_ranks_open(&db->ranks, &at, limits, config, orders_of(variant, config));
    schedule_starve_open(&db->starve, &at, limits);
    db->buckets = schedule_ranks_cut(&at, n_services * sizeof(*db->buckets));
    db->by_slot = schedule_ranks_cut(&at, n * sizeof(*db->by_slot));
    schedule_quota_init(&db->quota, (void *)at, limits->n_services_max);
    for (size_t i = 0; i < n_services; i++)
        schedule_share_init(&db->buckets[i], config->share_ns_depth);
}

/* ---- Levels: mlfq. ---- */

int64_t schedule_db_state_quantum_ns(const struct db *db, int level)
{
    return max_i64(min_i64(db->ranks.config.mlfq_ns_quantum, TIME_NS_PER_S), 1) << level;
}

/* Skip-join: a long prompt joins the level whose quantum holds its first batch. */
static uint8_t level_of_prompt(const struct db *db, const struct schedule_view *view,
                               const struct request *r)
{
    int64_t ps = schedule_work_prefill_ps(&view->services[r->service].perf, r->n_tokens);
    uint8_t level = 0;
    while (level < LEVEL_MAX && schedule_db_state_quantum_ns(db, level) < ps / 1000)
        level++;
    return level;
}

static void charge_level(struct db *db, struct schedule_rank *slot, int64_t elapsed_ns)
{
    slot->spent_ps += elapsed_ns * 1000;
    if (slot->spent_ps <= schedule_db_state_quantum_ns(db, slot->level) * 1000)
        return;
    if (slot->level < LEVEL_MAX)
        slot->level++;
    slot->spent_ps = 0;
    slot->seq = ++db->ranks.seq;
}

/* ---- Orders. ---- */

static int64_t key_of(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct schedule_rank *own = &db->ranks.slots[slot];
    int16_t priority = view->requests[slot].priority;
    return db->variant == DB_MLFQ ? schedule_ranks_key(own->level, priority)
                                  : schedule_ranks_budget_key(own, priority);
}

/* Under mlfq the unserved are those that may rise, which are all except those at the top level. */
static void wait(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    bool is_unserved = db->variant != DB_MLFQ || db->ranks.slots[slot].level > 0;
    schedule_ranks_wait(&db->ranks, view, slot, key_of(db, view, slot), is_unserved);
}

static int64_t remaining_ps(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    return schedule_work_remaining_ps(&db->ranks.services[r->service].price, view, r);
}

static void rise(struct db *db, uint32_t slot)
{
    struct schedule_rank *own = &db->ranks.slots[slot];
    own->level = 0;
    own->spent_ps = 0;
    own->seq = ++db->ranks.seq;
}

/* Raises requests that idled for long to the top level, every mlfq_n_steps batches. */
static void raise_idle(struct db *db, const struct schedule_view *view, int64_t now_ns)
{
    int64_t before_ns = now_ns - db->ranks.config.mlfq_ns_idle;
    for (int32_t n = 0; n < schedule_n_busy(view); n++) {
        int i = schedule_busy(view, n);
        const struct schedule_service *s = &view->services[i];
        uint32_t slot;
        while ((slot = tree_first(&db->ranks.services[i].unserved)) != TREE_NONE &&
               view->requests[slot].served_ns <= before_ns) {
            schedule_ranks_stop_waiting(&db->ranks, view, slot);
            rise(db, slot);
            wait(db, view, slot);
        }
        for (uint32_t k = 0; k < s->n_running; k++) {
            slot = s->running[k];
            if (db->ranks.slots[slot].level == 0 || view->requests[slot].served_ns > before_ns)
                continue;
            rise(db, slot);
            db->ranks.slots[slot].key = key_of(db, view, slot);
        }
        schedule_ranks_first_look(&db->ranks, view, i);
    }
}

/* ---- Shares. ---- */

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

static void charge_levels(struct db *db, const struct schedule_view *view,
                          const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    struct schedule_ranks *ranks = &db->ranks;
    const int64_t block_tokens = view->kv->services[batch->service].block_tokens;
    const int64_t ahead_tokens = ranks->config.ahead_blocks * block_tokens;
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        const struct request *r = &view->requests[slot];
        if (i + FETCH_AHEAD < batch->n_items) {
            __builtin_prefetch(&ranks->slots[batch->items[i + FETCH_AHEAD].slot], 1);
            __builtin_prefetch(&view->requests[batch->items[i + FETCH_AHEAD].slot]);
        }
        charge_level(db, &ranks->slots[slot], event->elapsed_ns);
        ranks->slots[slot].key = key_of(db, view, slot);
        ranks->served_ns[slot] = r->served_ns;
        schedule_booked_note(&ranks->services[batch->service].booked, &ranks->slots[slot].booked, r,
                             view->n_table_blocks[slot], block_tokens, ahead_tokens);
    }
}

/* Notes the remaining work of each member, whatever it has done. */
static void note_remaining(struct db *db, const struct schedule_view *view,
                           const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        db->ranks.slots[slot].budget_ps = remaining_ps(db, view, slot);
        db->ranks.slots[slot].key = key_of(db, view, slot);
    }
}

static void saw_done(struct db *db, const struct schedule_view *view,
                     const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    if (db->variant == DB_MLFQ)
        charge_levels(db, view, event);
    else
        schedule_charge_batch(&db->ranks, view, event);
    if (db->variant == DB_EXACT)
        note_remaining(db, view, batch);
    if (db->variant == DB_SHARE)
        schedule_share_charge(&db->buckets[batch->service], event->now_ns, event->elapsed_ns,
                              db->ranks.config.share_ns_depth);
    schedule_ranks_first_ran(&db->ranks, view, batch);
    VERIFY(schedule_ranks_first_is_sound(&db->ranks, view, batch->service));
    db->n_steps += event->n_steps;
    if (db->variant == DB_MLFQ && db->n_steps >= db->ranks.config.mlfq_n_steps) {
        db->n_steps = 0;
        raise_idle(db, view, event->now_ns);
    }
}

static void saw_started(struct db *db, const struct schedule_view *view, const struct batch *batch)
{
    const struct schedule_ranks_service *service = &db->ranks.services[batch->service];
    uint32_t n_running = view->services[batch->service].n_running;
    for (int32_t i = 0; i < batch->n_items && service->n_running < n_running; i++) {
        uint32_t slot = batch->items[i].slot;
        if (!db->ranks.slots[slot].is_waiting)
            continue;
        if (db->variant != DB_MLFQ)
            db->ranks.slots[slot].spent_ps = 0;
        schedule_ranks_start(&db->ranks, view, slot, key_of(db, view, slot));
    }
}

static void saw_arrived(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    struct schedule_rank *own = &db->ranks.slots[slot];
    schedule_ranks_arrive(&db->ranks, view, slot);
    if (db->variant == DB_MLFQ)
        own->level = level_of_prompt(db, view, r);
    else if (db->variant == DB_EXACT)
        own->budget_ps = remaining_ps(db, view, slot);
    else
        own->budget_ps = schedule_work_usual_ps(&view->services[r->service]);
    wait(db, view, slot);
}

void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event)
{
    struct db *db = state;
    const struct schedule_config *config = &db->ranks.config;
    uint32_t slot = event->slot;
    int service = event->batch != NULL ? event->batch->service : view->requests[slot].service;
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        saw_arrived(db, view, slot);
        break;
    case SCHEDULE_STARTED:
        saw_started(db, view, event->batch);
        break;
    case SCHEDULE_DONE:
        saw_done(db, view, event);
        break;
    case SCHEDULE_PREEMPTED:
        if (db->variant == DB_EXACT) /* its tokens are to be computed again */
            db->ranks.slots[slot].budget_ps = remaining_ps(db, view, slot);
        schedule_ranks_leave(&db->ranks, view, slot);
        wait(db, view, slot);
        break;
    case SCHEDULE_GONE:
        if (db->ranks.slots[slot].is_waiting)
            schedule_ranks_stop_waiting(&db->ranks, view, slot);
        else
            schedule_ranks_leave(&db->ranks, view, slot);
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
    if (db->variant != DB_MLFQ)
        schedule_starve_note(&db->starve, &db->ranks, view, service);
    if (db->variant != DB_SHARE)
        return;
    if (config->has_leases)
        schedule_lease_saw(&db->leases, db->by_slot, config, view, event);
    if (config->has_soft_quotas)
        schedule_quota_saw(&db->quota, view, config, event);
    if (event->now_ns >= db->next_share_ns)
        share_out(db, view, event->now_ns);
}
