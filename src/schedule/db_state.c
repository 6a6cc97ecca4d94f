/* The state of the doubling-budget policies (db.h): budgets and keys, kept by events. */
#include "schedule/db.h"

#include "schedule/charge.h"

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

void schedule_db_state_open(void *state, const struct schedule_limits *limits,
                            const struct schedule_config *config,
                            const struct schedule_db_rules *rules)
{
    struct db *db = state;
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    unsigned char *at = state;
    (void)schedule_ranks_cut(&at, sizeof(*db));
    unsigned orders = rules->orders != NULL ? rules->orders(config) : DB_ORDERS;
    *db = (struct db){ .rules = rules };
    schedule_ranks_open(&db->ranks, &at, limits, config, orders);
    schedule_starve_open(&db->starve, &at, limits);
    db->buckets = schedule_ranks_cut(&at, n_services * sizeof(*db->buckets));
    db->by_slot = schedule_ranks_cut(&at, n * sizeof(*db->by_slot));
    schedule_quota_init(&db->quota, (void *)at, limits->n_services_max);
    for (size_t i = 0; i < n_services; i++)
        schedule_share_init(&db->buckets[i], config->share_ns_depth);
}

/* ---- Orders. ---- */

static int64_t key_of(const struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct schedule_rank *own = &db->ranks.slots[slot];
    int16_t priority = view->requests[slot].priority;
    return db->rules->key != NULL ? db->rules->key(db, view, slot)
                                  : schedule_ranks_budget_key(own, priority);
}

void schedule_db_state_set_key(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    db->ranks.slots[slot].key = key_of(db, view, slot);
}

void schedule_db_state_wait(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    bool is_unserved = db->rules->is_unserved == NULL || db->rules->is_unserved(db, slot);
    schedule_ranks_wait(&db->ranks, view, slot, key_of(db, view, slot), is_unserved);
}

/* ---- Events. ---- */

static void saw_done(struct db *db, const struct schedule_view *view,
                     const struct schedule_event *event)
{
    if (db->rules->charge != NULL)
        db->rules->charge(db, view, event);
    else
        schedule_charge_batch(&db->ranks, view, event);
    schedule_ranks_first_ran(&db->ranks, view, event->batch);
    VERIFY(schedule_ranks_first_is_sound(&db->ranks, view, event->batch->service));
    if (db->rules->charged != NULL)
        db->rules->charged(db, view, event);
}

static void saw_started(struct db *db, const struct schedule_view *view, const struct batch *batch)
{
    const struct schedule_ranks_service *service = &db->ranks.services[batch->service];
    uint32_t n_running = view->services[batch->service].n_running;
    for (int32_t i = 0; i < batch->n_items && service->n_running < n_running; i++) {
        uint32_t slot = batch->items[i].slot;
        if (!db->ranks.slots[slot].is_waiting)
            continue;
        if (!db->rules->keeps_spent)
            db->ranks.slots[slot].spent_ps = 0;
        schedule_ranks_start(&db->ranks, view, slot, key_of(db, view, slot));
    }
}

static void saw_arrived(struct db *db, const struct schedule_view *view, uint32_t slot)
{
    const struct schedule_service *service = &view->services[view->requests[slot].service];
    schedule_ranks_arrive(&db->ranks, view, slot);
    if (db->rules->arrived != NULL)
        db->rules->arrived(db, view, slot);
    else
        db->ranks.slots[slot].budget_ps = schedule_work_usual_ps(service);
    schedule_db_state_wait(db, view, slot);
}

void schedule_db_state_saw(void *state, const struct schedule_view *view,
                           const struct schedule_event *event)
{
    struct db *db = state;
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
        if (db->rules->preempted != NULL)
            db->rules->preempted(db, view, slot);
        schedule_ranks_leave(&db->ranks, view, slot);
        schedule_db_state_wait(db, view, slot);
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
    if (!db->rules->may_starve)
        schedule_starve_note(&db->starve, &db->ranks, view, service);
    if (db->rules->saw != NULL)
        db->rules->saw(db, view, event);
}
