/* What the doubling-budget policies remember: budgets, orders, buckets.
 *
 * Q starts at B = L-hat + sigma. Work done lowers it by what it would have cost alone (D-4: wall
 * time would charge a request for the size of its batch); at 0 or below the level rises by one and
 * Q becomes 2^level B. A hold of n steps charges exactly what n single steps would: the closed-form
 * span tells how many steps fit into what is left. */
#include "base/time.h"
#include "schedule/db.h"
#include "schedule/policy.h"

enum { LEVEL_MAX = 30, FETCH_AHEAD = 8 };

static const struct db_first nobody = { INT64_MAX, UINT64_MAX, SCHEDULE_NONE };

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

size_t schedule_db_state_bytes(const struct schedule_limits *limits)
{
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    return aligned(sizeof(struct db)) + aligned(n_services * sizeof(struct db_service)) +
           aligned(n_services * sizeof(struct db_due)) + aligned(n * sizeof(struct db_slot)) +
           4 * aligned(n * sizeof(struct tree_node)) + aligned(n * sizeof(struct schedule_lease)) +
           2 * aligned(n * sizeof(int64_t)) + aligned(n_services * sizeof(double)) +
           aligned(n_services * sizeof(uint16_t)) + aligned(n_services * sizeof(struct db_flight)) +
           aligned(2 * n_services * sizeof(int64_t)) + 64;
}

void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config, enum db_variant variant)
{
    struct db *db = state;
    size_t n = (size_t)limits->n_requests_max;
    *db = (struct db){ .config = *config,
                       .variant = variant,
                       .n_services = limits->n_services_max,
                       .next_late_ns = INT64_MAX };
    unsigned char *at = state;
    at += aligned(sizeof(*db));
    db->services = (void *)at;
    at += aligned((size_t)limits->n_services_max * sizeof(*db->services));
    db->dues = (void *)at;
    at += aligned((size_t)limits->n_services_max * sizeof(*db->dues));
    db->slots = (void *)at;
    at += aligned(n * sizeof(*db->slots));
    db->key_nodes = (void *)at;
    at += aligned(n * sizeof(*db->key_nodes));
    db->unserved_nodes = (void *)at;
    at += aligned(n * sizeof(*db->unserved_nodes));
    db->urgent_nodes = (void *)at;
    at += aligned(n * sizeof(*db->urgent_nodes));
    db->in_time_nodes = (void *)at;
    at += aligned(n * sizeof(*db->in_time_nodes));
    db->by_slot = (void *)at;
    at += aligned(n * sizeof(struct schedule_lease));
    db->first_ns = (void *)at;
    at += aligned(n * sizeof(*db->first_ns));
    db->served_ns = (void *)at;
    at += aligned(n * sizeof(*db->served_ns));
    db->weights.of = (void *)at;
    at += aligned((size_t)limits->n_services_max * sizeof(*db->weights.of));
    db->weights.asked = (void *)at;
    at += aligned((size_t)limits->n_services_max * sizeof(*db->weights.asked));
    db->flights.services = (void *)at;
    at += aligned((size_t)limits->n_services_max * sizeof(*db->flights.services));
    schedule_quota_init(&db->quota, (void *)at, limits->n_services_max);
    for (int32_t i = 0; i < limits->n_services_max; i++) {
        tree_init(&db->services[i].waiting);
        tree_init(&db->services[i].unserved);
        tree_init(&db->services[i].urgent);
        tree_init(&db->services[i].in_time);
        db->services[i].waiting_ns_sum = 0;
        db->services[i].n_running = db->services[i].n_deadlines = 0;
        db->services[i].booked = (struct schedule_booked){ 0 };
        db->services[i].price = (struct db_price){ .is_plain = false };
        schedule_value_open(&db->services[i].running, config);
        schedule_db_first_init(db, &db->services[i]);
        db->dues[i].running = db->dues[i].waiting = nobody;
        db->flights.services[i] = (struct db_flight){ .is_decoding = false };
        schedule_share_init(&db->services[i].bucket, config->share_ns_depth);
    }
}

/* ---- Budgets. ---- */

int64_t schedule_db_state_budget_ps(const struct schedule_service *service)
{
    int64_t ns = service->solo_ns + service->solo_deviation_ns;
    if (service->solo_ns <= 0) { /* no data yet: a middling request */
        int64_t n_in = service->n_prompt_mean >= 1 ? (int64_t)service->n_prompt_mean : 256;
        int64_t n_out = service->n_output_mean >= 1 ? (int64_t)service->n_output_mean : 128;
        ns = perf_solo_ps(&service->perf, n_in, n_out) / 1000;
    }
    return max_i64(min_i64(ns, DB_BUDGET_PS_MAX / 1000), 1) * 1000;
}

static void double_budget(struct db_slot *slot, int64_t fresh_ps)
{
    if (slot->level < LEVEL_MAX)
        slot->level++;
    slot->budget_ps =
        fresh_ps > DB_BUDGET_PS_MAX >> slot->level ? DB_BUDGET_PS_MAX : fresh_ps << slot->level;
}

static void charge(struct db_slot *slot, int64_t cost_ps, int64_t fresh_ps)
{
    slot->spent_ps += cost_ps;
    slot->attained_ps += cost_ps;
    slot->budget_ps -= cost_ps;
    while (slot->budget_ps <= 0) /* one long prompt may outrun several budgets */
        double_budget(slot, fresh_ps);
}

static void charge_decodes(struct db_slot *slot, const struct perf *perf, int64_t context,
                           int64_t n, int64_t fresh_ps)
{
    int64_t span = perf_decode_span_ps(perf, 1, context, n);
    slot->spent_ps += span;
    slot->attained_ps += span;
    for (; n > 0; span = perf_decode_span_ps(perf, 1, context, n)) {
        if (span < slot->budget_ps) {
            slot->budget_ps -= span;
            return;
        }
        int64_t n_fit = perf_decode_steps_in(perf, 1, context, slot->budget_ps - 1);
        n_fit = min_i64(n_fit, n - 1);
        double_budget(slot, fresh_ps);
        n -= n_fit + 1;
        context += n_fit + 1;
    }
}

/* What prefilling the first n tokens of a prompt costs alone; differences sum over chunks. */
static int64_t prefill_ps(const struct perf *perf, int64_t n)
{
    struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
    return perf_step_ps(perf, &load);
}

/* What is the same for all items of a batch. A single step at context c costs first + slope c. */
static struct db_price price_of(const struct schedule_service *service)
{
    int64_t first_ps = perf_decode_span_ps(&service->perf, 1, 0, 1);
    int64_t slope_ps = perf_decode_span_ps(&service->perf, 1, 1, 1) - first_ps;
    return (struct db_price){ .fresh_ps = schedule_db_state_budget_ps(service),
                              .first_ps = first_ps,
                              .slope_ps = slope_ps,
                              .is_plain = first_ps > 0 && first_ps < INT64_C(1) << 41 &&
                                          slope_ps >= 0 && slope_ps < 1 << 21 };
}

static void charge_item(struct db *db, const struct schedule_view *view,
                        const struct schedule_event *event, int32_t i, const struct db_price *price)
{
    const struct request *r = &view->requests[event->batch->items[i].slot];
    const struct schedule_service *service = &view->services[r->service];
    struct db_slot *slot = &db->slots[event->batch->items[i].slot];
    int64_t fresh_ps = price->fresh_ps;
    if (db->config.db_counts_wall) {
        charge(slot, event->elapsed_ns * 1000, fresh_ps);
        return;
    }
    int64_t n_before = r->n_computed - event->n_computed[i];
    int64_t n_known = r->n_tokens - event->n_new[i];
    int64_t n_decodes = event->n_new[i];
    if (n_known - n_before > 1 || n_before < r->n_prompt) { /* it was catching up */
        n_decodes = max_i64(n_decodes - 1, 0);
        int64_t n_after = r->n_computed - n_decodes;
        charge(
            slot,
            max_i64(0, prefill_ps(&service->perf, n_after) - prefill_ps(&service->perf, n_before)),
            fresh_ps);
        n_known++;
    }
    charge_decodes(slot, &service->perf, n_known, n_decodes, fresh_ps);
}

/* ---- Known lengths: db-exact. ---- */

int64_t schedule_db_state_remaining_ps(const struct schedule_view *view, const struct request *r,
                                       int64_t n_left)
{
    const struct perf *perf = &view->services[r->service].perf;
    int64_t n_lacking = schedule_lacking(r);
    int64_t ps = n_lacking > 1 ? perf_solo_ps(perf, n_lacking, n_left)
                               : perf_decode_span_ps(perf, 1, r->n_tokens, n_left);
    return max_i64(min_i64(ps, DB_BUDGET_PS_MAX), 1);
}

/* ---- Levels: mlfq. ---- */

int64_t schedule_db_state_quantum_ns(const struct db *db, int level)
{
    return max_i64(min_i64(db->config.mlfq_ns_quantum, TIME_NS_PER_S), 1) << level;
}

/* A long prompt joins where its first batch fits into the quantum: skip-join. */
static uint8_t level_of_prompt(const struct db *db, const struct schedule_view *view,
                               const struct request *r)
{
    int64_t ps = prefill_ps(&view->services[r->service].perf, r->n_tokens);
    uint8_t level = 0;
    while (level < LEVEL_MAX && schedule_db_state_quantum_ns(db, level) < ps / 1000)
        level++;
    return level;
}

static void charge_level(struct db *db, struct db_slot *slot, int64_t elapsed_ns)
{
    slot->spent_ps += elapsed_ns * 1000;
    if (slot->spent_ps <= schedule_db_state_quantum_ns(db, slot->level) * 1000)
        return;
    if (slot->level < LEVEL_MAX)
        slot->level++;
    slot->spent_ps = 0;
    slot->seq = ++db->seq;
}

/* ---- Late: value. ---- */

static bool knows_late(const struct db *db)
{
    return db->variant == DB_VALUE && db->config.late_factor > 0;
}

static int64_t late_from_ns(const struct db *db, const struct schedule_view *view,
                            const struct request *r)
{
    double ns = db->config.late_factor * (double)(schedule_db_remaining_ps(db, view, r) / 1000);
    return r->arrived_ns + (int64_t)(ns < 1e18 ? ns : 1e18);
}

/* ---- Orders. ---- */

/* Of those that wait. With value the one goes first who lacks least, by his prompt and his
 * predicted length; who is late goes behind all who are not. */
static int64_t key_of(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct db_slot *own = &db->slots[slot];
    int16_t priority = view->requests[slot].priority;
    if (db->variant != DB_VALUE)
        return schedule_db_key(db->variant, own, priority);
    int64_t rest_ns = schedule_db_remaining_ps(db, view, &view->requests[slot]) / 1000;
    rest_ns = min_i64(rest_ns, DB_KEY_BUDGET_MAX / 2);
    return priority * (DB_KEY_BUDGET_MAX + 1) + rest_ns +
           (own->is_late ? DB_KEY_BUDGET_MAX / 2 : 0);
}

static void wait(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    struct db_service *service = &db->services[view->requests[slot].service];
    struct db_slot *own = &db->slots[slot];
    tree_insert(&service->waiting, db->key_nodes, slot, key_of(db, view, slot), own->seq);
    /* mlfq looks there for whom to raise: who is at the top already is not among them. */
    if (db->variant != DB_MLFQ || own->level > 0)
        tree_insert(&service->unserved, db->unserved_nodes, slot, db->served_ns[slot], own->seq);
    if (own->has_deadline)
        tree_insert(&service->urgent, db->urgent_nodes, slot,
                    schedule_db_begin_by_ns(db, view, &view->requests[slot]), own->seq);
    if (knows_late(db) && !own->is_late) {
        int64_t late_ns = late_from_ns(db, view, &view->requests[slot]);
        tree_insert(&service->in_time, db->in_time_nodes, slot, late_ns, own->seq);
        db->next_late_ns = min_i64(db->next_late_ns, late_ns);
    }
    service->waiting_ns_sum += (uint64_t)own->arrived_ns;
    own->is_waiting = true;
}

static void stop_waiting(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    struct db_service *service = &db->services[view->requests[slot].service];
    struct db_slot *own = &db->slots[slot];
    if (!own->is_waiting)
        return;
    tree_remove(&service->waiting, db->key_nodes, slot);
    if (db->variant != DB_MLFQ || own->level > 0)
        tree_remove(&service->unserved, db->unserved_nodes, slot);
    if (own->has_deadline)
        tree_remove(&service->urgent, db->urgent_nodes, slot);
    if (knows_late(db) && !own->is_late)
        tree_remove(&service->in_time, db->in_time_nodes, slot);
    service->waiting_ns_sum -= (uint64_t)own->arrived_ns;
    own->is_waiting = false;
}

/* What the running requests of a service are worth now. */
static void sum_value(struct db *db, const struct schedule_view *view, int service)
{
    const struct schedule_service *s = &view->services[service];
    struct schedule_value sums = db->services[service].running;
    schedule_value_look(&sums, &db->config, s, view->now_ns);
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct db_slot *own = &db->slots[s->running[i]];
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&db->slots[s->running[i + FETCH_AHEAD]]);
        schedule_value_add(&sums, own->attained_ps, own->arrived_ns, 1);
    }
    db->services[service].running = sums;
}

/* The request is about to leave those that run. */
static void leave(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    struct db_service *own = &db->services[view->requests[slot].service];
    own->n_running--;
    schedule_booked_forget(&own->booked, &db->slots[slot].booked);
    if (db->variant == DB_VALUE)
        schedule_value_add(&own->running, db->slots[slot].attained_ps, db->slots[slot].arrived_ns,
                           -1);
    schedule_db_first_leave(db, view, slot);
}

/* Who was idle for long rises to the top level; looked at every mlfq_n_steps batches. */
static void raise_idle(struct db *db, const struct schedule_view *view, int64_t now_ns)
{
    int64_t before_ns = now_ns - db->config.mlfq_ns_idle;
    for (int32_t n = 0; n < schedule_n_busy(view); n++) {
        int i = schedule_busy(view, n);
        const struct schedule_service *s = &view->services[i];
        uint32_t slot;
        while ((slot = tree_first(&db->services[i].unserved)) != TREE_NONE &&
               view->requests[slot].served_ns <= before_ns) {
            stop_waiting(db, view, slot);
            db->slots[slot].level = 0;
            db->slots[slot].spent_ps = 0;
            db->slots[slot].seq = ++db->seq;
            wait(db, view, slot);
        }
        for (uint32_t k = 0; k < s->n_running; k++) {
            struct db_slot *own = &db->slots[s->running[k]];
            if (own->level == 0 || view->requests[s->running[k]].served_ns > before_ns)
                continue;
            own->level = 0;
            own->spent_ps = 0;
            own->seq = ++db->seq;
        }
        schedule_db_first_look(db, view, i);
    }
}

/* ---- Starvation. ---- */

int64_t schedule_db_state_theta_ns(const struct db *db, const struct schedule_service *service)
{
    double factor = db->config.starve_factor * (double)service->solo_ns;
    if (db->variant == DB_MLFQ || factor >= 1e18)
        return (int64_t)1e18;
    return max_i64(db->config.starve_ns_min, (int64_t)factor);
}

static void starves_since(struct db_first *due, const struct db_first *first, int64_t theta_ns)
{
    struct db_first since = *first;
    if (since.slot == SCHEDULE_NONE)
        return;
    since.key += theta_ns;
    if (schedule_db_first_is_before(&since, due))
        *due = since;
}

static struct db_first first_of(const struct db *db, const struct tree *tree,
                                const struct tree_node *nodes)
{
    uint32_t slot = tree_first(tree);
    if (slot == TREE_NONE)
        return nobody;
    return (struct db_first){ nodes[slot].key, db->slots[slot].seq, slot };
}

/* A request that can hardly end by its deadline starves since it had to begin, or since it was last
 * served when that is later: so it does not stay before those that starve for long. */
static void urgent_since(const struct schedule_view *view, struct db_first *due,
                         struct db_first *first)
{
    if (first->slot != SCHEDULE_NONE)
        first->key = max_i64(first->key, view->requests[first->slot].served_ns - 1);
    starves_since(due, first, 0);
}

/* The request of the service that starves next. */
static void note_due(struct db *db, const struct schedule_view *view, int service)
{
    struct db_service *own = &db->services[service];
    struct db_due *due = &db->dues[service];
    if (db->variant == DB_MLFQ)
        return;
    int64_t theta = schedule_db_state_theta_ns(db, &view->services[service]);
    struct db_first unserved = first_of(db, &own->unserved, db->unserved_nodes);
    struct db_first urgent = first_of(db, &own->urgent, db->urgent_nodes);
    due->running = due->waiting = nobody;
    struct db_first oldest = schedule_db_first(own, DB_OLDEST);
    struct db_first most_urgent = schedule_db_first(own, DB_URGENT);
    starves_since(&due->running, &oldest, theta);
    urgent_since(view, &due->running, &most_urgent);
    starves_since(&due->waiting, &unserved, theta);
    urgent_since(view, &due->waiting, &urgent);
}

/* Who waits and has become late goes behind those who have not. */
static void find_late(struct db *db, const struct schedule_view *view, int64_t now_ns)
{
    if (now_ns <= db->next_late_ns)
        return;
    db->next_late_ns = INT64_MAX;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        struct tree *in_time = &db->services[i].in_time;
        uint32_t slot;
        while ((slot = tree_first(in_time)) != TREE_NONE && db->in_time_nodes[slot].key < now_ns) {
            struct tree *waiting = &db->services[i].waiting;
            tree_remove(in_time, db->in_time_nodes, slot);
            tree_remove(waiting, db->key_nodes, slot);
            db->slots[slot].is_late = true;
            tree_insert(waiting, db->key_nodes, slot, key_of(db, view, slot), db->slots[slot].seq);
        }
        if (slot != TREE_NONE)
            db->next_late_ns = min_i64(db->next_late_ns, db->in_time_nodes[slot].key);
    }
}

/* ---- Shares. ---- */

/* The service that holds most of a full pool fills it more slowly; the others recover. */
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
        double *cut = &db->services[i].bucket.cut;
        *cut = used > db->config.pool_full && i == heaviest ? *cut * db->config.pool_cut
                                                            : *cut / db->config.pool_cut;
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
        struct share_bucket *bucket = &db->services[i].bucket;
        schedule_share_settle(bucket, now_ns, db->config.share_ns_depth);
        bucket->phi = (int64_t)(phi[i] * bucket->cut * (double)SHARE_ONE);
        bucket->phi = max_i64(bucket->phi, SHARE_ONE / 64);
    }
    int64_t period = max_i64(db->config.share_ns_period, TIME_NS_PER_MS);
    db->next_share_ns = (now_ns / period + 1) * period;
}

/* ---- Events. ---- */

/* The worth of its members changes, and of nobody else: of many all are summed anew, so that what
 * rounding leaves does not add up. */
static void take_out(struct db *db, const struct schedule_view *view, const struct batch *batch)
{
    struct schedule_value *sums = &db->services[batch->service].running;
    schedule_value_rebase(sums, view->now_ns);
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct db_slot *own = &db->slots[batch->items[i].slot];
        schedule_value_add(sums, own->attained_ps, own->arrived_ns, -1);
    }
}

static void put_back(struct db *db, const struct batch *batch)
{
    struct schedule_value *sums = &db->services[batch->service].running;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct db_slot *own = &db->slots[batch->items[i].slot];
        schedule_value_add(sums, own->attained_ps, own->arrived_ns, 1);
    }
}

/* A request that starved before this batch is in its residence from now on, until it has
 * starve_tokens more tokens. Until then it starves again after a part of theta, and at once while
 * its prompt is computed. */
static inline void note_served(struct db *db, uint32_t slot, const struct request *r, int32_t n_new,
                               int64_t begun_ns, int64_t theta_ns)
{
    struct db_slot *own = &db->slots[slot];
    int64_t *served_ns = &db->served_ns[slot];
    if (own->resides_until == 0 && *served_ns < begun_ns - theta_ns)
        own->resides_until = r->n_tokens - n_new + db->config.starve_tokens;
    if (r->n_tokens >= own->resides_until) {
        own->resides_until = 0;
        *served_ns = r->served_ns;
    } else if (schedule_lacking(r) == 1) {
        *served_ns = r->served_ns - theta_ns + theta_ns / db->config.starve_tokens;
    }
}

static void charge_all(struct db *db, const struct schedule_view *view,
                       const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    struct db_service *service = &db->services[batch->service];
    const struct db_price price = price_of(&view->services[batch->service]);
    const int64_t block_tokens = view->kv->services[batch->service].block_tokens;
    const int64_t ahead_tokens = db->config.ahead_blocks * block_tokens;
    service->price = price;
    bool is_plain = db->variant != DB_MLFQ && !db->config.db_counts_wall && price.slope_ps >= 0 &&
                    price.slope_ps < INT32_MAX;
    bool is_exact = db->variant == DB_EXACT; /* what it needs is what counts, whatever it had */
    int64_t begun_ns = event->now_ns - event->elapsed_ns;
    int64_t theta_ns = schedule_db_state_theta_ns(db, &view->services[batch->service]);
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        struct db_slot *own = &db->slots[slot];
        const struct request *r = &view->requests[slot];
        if (i + FETCH_AHEAD < batch->n_items) {
            __builtin_prefetch(&db->slots[batch->items[i + FETCH_AHEAD].slot], 1);
            __builtin_prefetch(&view->requests[batch->items[i + FETCH_AHEAD].slot]);
        }
        int64_t step_ps = price.first_ps + price.slope_ps * (r->n_tokens - 1);
        if (is_plain && event->n_new[i] == 1 && event->n_computed[i] == 1 &&
            r->n_computed > r->n_prompt && (is_exact || step_ps < own->budget_ps)) {
            /* Nearly always. */
            own->spent_ps += step_ps;
            own->attained_ps += step_ps;
            own->budget_ps -= step_ps;
        } else if (db->variant == DB_MLFQ) {
            charge_level(db, own, event->elapsed_ns);
        } else {
            charge_item(db, view, event, i, &price);
        }
        if (is_exact)
            own->budget_ps = schedule_db_remaining_ps(db, view, r);
        own->key = schedule_db_key(db->variant, own, r->priority);
        note_served(db, slot, r, event->n_new[i], begun_ns, theta_ns);
        schedule_booked_note(&service->booked, &own->booked, r, view->n_table_blocks[slot],
                             block_tokens, ahead_tokens);
    }
}

/* Who computes what on which lane. */
static void note_flight(struct db *db, const struct schedule_view *view, const struct batch *batch,
                        bool begins)
{
    struct db_flights *flights = &db->flights;
    uint32_t bit = 1U << batch_place(batch, view->n_deep);
    if (!begins) {
        if ((flights->of_prompts & bit) == 0)
            flights->services[batch->service].is_decoding = false;
        flights->of_prompts &= ~bit;
        return;
    }
    bool has_prompts = false;
    for (int32_t i = 0; i < batch->n_items && !has_prompts; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        has_prompts = r->n_computed < r->n_prompt || schedule_lacking(r) > 1;
    }
    flights->services[batch->service].begun_ns[has_prompts] = view->now_ns;
    if (has_prompts)
        flights->of_prompts |= bit;
    else
        flights->services[batch->service].is_decoding = true;
}

static void saw_done(struct db *db, const struct schedule_view *view,
                     const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    bool is_value = db->variant == DB_VALUE;
    bool is_few = (uint32_t)batch->n_items < view->services[batch->service].n_running / 2;
    if (is_value && is_few)
        take_out(db, view, batch);
    charge_all(db, view, event);
    if (is_value && is_few)
        put_back(db, batch);
    else if (is_value)
        sum_value(db, view, batch->service);
    if (db->variant == DB_SHARE)
        schedule_share_charge(&db->services[batch->service].bucket, event->now_ns,
                              event->elapsed_ns, db->config.share_ns_depth);
    schedule_db_first_ran(db, view, batch);
    VERIFY(schedule_db_first_is_sound(db, view, batch->service));
    find_late(db, view, event->now_ns);
    db->n_steps += event->n_steps;
    if (db->variant == DB_MLFQ && db->n_steps >= db->config.mlfq_n_steps) {
        db->n_steps = 0;
        raise_idle(db, view, event->now_ns);
    }
}

static void saw_started(struct db *db, const struct schedule_view *view,
                        const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    struct db_service *service = &db->services[batch->service];
    struct schedule_value *sums = &service->running;
    uint32_t n_running = view->services[batch->service].n_running;
    for (int32_t i = 0; i < batch->n_items && service->n_running < n_running; i++) {
        uint32_t slot = batch->items[i].slot;
        struct db_slot *own = &db->slots[slot];
        if (!own->is_waiting)
            continue;
        stop_waiting(db, view, slot);
        service->n_running++;
        if (db->variant != DB_MLFQ)
            own->spent_ps = 0;
        schedule_db_first_start(db, view, slot);
        if (db->variant != DB_VALUE)
            continue;
        if (sums->n == 0)
            schedule_value_look(sums, &db->config, &view->services[batch->service], view->now_ns);
        schedule_value_rebase(sums, view->now_ns);
        schedule_value_add(sums, own->attained_ps, own->arrived_ns, 1);
    }
}

static void saw_arrived(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    struct db_slot *own = &db->slots[slot];
    db->first_ns[slot] = 0;
    db->served_ns[slot] = r->served_ns;
    *own = (struct db_slot){ .seq = ++db->seq, .arrived_ns = r->arrived_ns };
    if (db->variant == DB_VALUE && db->services[r->service].running.n == 0)
        schedule_value_look(&db->services[r->service].running, &db->config,
                            &view->services[r->service], view->now_ns);
    own->has_deadline =
        (db->orders >> DB_URGENT & 1) != 0 && r->deadline_ns > 0 && r->deadline_ns != TIME_NEVER;
    if (db->variant == DB_MLFQ)
        own->level = level_of_prompt(db, view, r);
    else if (db->variant == DB_EXACT)
        own->budget_ps = schedule_db_remaining_ps(db, view, r);
    else
        own->budget_ps = schedule_db_state_budget_ps(&view->services[r->service]);
    wait(db, view, slot);
}

void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event)
{
    struct db *db = state;
    uint32_t slot = event->slot;
    int service =
        event->batch != NULL ? event->batch->service : view->requests[event->slot].service;
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        saw_arrived(db, view, slot);
        break;
    case SCHEDULE_STARTED:
        saw_started(db, view, event);
        if (db->variant == DB_VALUE && view->n_lanes > 1)
            note_flight(db, view, event->batch, true);
        break;
    case SCHEDULE_DONE:
        saw_done(db, view, event);
        if (db->variant == DB_VALUE && view->n_lanes > 1)
            note_flight(db, view, event->batch, false);
        break;
    case SCHEDULE_PREEMPTED:
        if (db->variant == DB_EXACT) /* its tokens are to be computed again */
            db->slots[slot].budget_ps = schedule_db_remaining_ps(db, view, &view->requests[slot]);
        leave(db, view, slot);
        wait(db, view, slot);
        break;
    case SCHEDULE_GONE:
        if (db->variant == DB_VALUE &&
            view->requests[slot].n_tokens > view->requests[slot].n_prompt)
            schedule_value_ended(&db->services[service].running, &db->config,
                                 db->slots[slot].attained_ps);
        if (db->slots[slot].is_waiting)
            stop_waiting(db, view, slot);
        else
            leave(db, view, slot);
        if (view->services[service].n_running <= 1)
            db->flights.services[service].begun_ns[0] = event->now_ns;
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
    note_due(db, view, service);
    if (db->variant == DB_VALUE) {
        schedule_value_weigh(&db->weights, view, service);
        if (view->n_lanes > 1)
            schedule_value_plan_saw_perf(db, view, service);
    }
    if (db->variant == DB_SHARE && db->config.has_leases)
        schedule_lease_saw(&db->leases, db->by_slot, &db->config, view, event);
    if (db->variant == DB_SHARE && db->config.has_soft_quotas)
        schedule_quota_saw(&db->quota, view, &db->config, event);
    if (db->variant == DB_SHARE && event->now_ns >= db->next_share_ns)
        share_out(db, view, event->now_ns);
}
