/* Makes an engine's report, and checks that its state is consistent. */
#include "engine/disk.h"
#include "engine/handover.h"
#include "engine/pads.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "schedule/quota.h"

#include <string.h>

static void report_service(const struct engine *e, int service, struct service_report *report)
{
    const struct kv_layout *layout = kv_layout(e->kv, service);
    const struct schedule_service *shown = &e->services[service];
    static const uint8_t statuses[] = {
        [ENGINE_ROOM_NONE] = SERVICE_UNLOADED,        [ENGINE_ROOM_WANTED] = SERVICE_LOADING,
        [ENGINE_ROOM_BOOKED] = SERVICE_LOADING,       [ENGINE_ROOM_OPEN] = SERVICE_LOADED,
        [ENGINE_ROOM_CLOSING] = SERVICE_DRAINING_OUT,
    };
    struct kv_stats kv;
    kv_stats(e->kv, service, &kv);
    *report = (struct service_report){
        .status = statuses[e->room_state[service]],
        .progress_percent = e->room_state[service] == ENGINE_ROOM_OPEN ? 100 : 0,
        .n_waiting = (int32_t)shown->n_waiting,
        .n_running = (int32_t)shown->n_running,
        .weights_bytes = e->ledger.models[service].weights_bytes,
        .activation_bytes = e->ledger.models[service].activation_bytes,
        .life = e->specs[service].life,
        .kv_used_bytes = kv.n_blocks_used * layout->block_bytes,
        .kv_cached_bytes = kv.n_blocks_cached * layout->block_bytes,
        .kv_bytes_per_token = kv_token_bytes(layout, kv_unit_bytes(e->kv)),
        .n_prefix_queries = kv.n_queries,
        .n_prefix_hits = kv.n_hits,
        .n_preempted = e->stats[service].n_preempted,
        .n_kept = e->stats[service].n_kept,
        .n_handed = e->stats[service].n_handed,
        .n_handed_lost = e->stats[service].n_handed_lost,
        .n_disk_tokens = e->stats[service].n_disk_tokens,
        .n_disk_lost = e->stats[service].n_disk_lost,
        .n_swapped = e->stats[service].n_swapped,
        .n_batches = e->stats[service].n_batches,
        .n_batch_rows = e->stats[service].n_batch_rows,
        .n_drafts = e->stats[service].n_drafts,
        .n_drafted = e->stats[service].n_drafted,
        .n_accepted = e->stats[service].n_accepted,
        .n_exceeded = e->stats[service].n_exceeded,
        .n_forced = e->stats[service].n_forced,
        .n_arrived = e->stats[service].n_arrived,
        .solo_ns = shown->solo_ns,
        .remaining_ns = engine_stats_remaining_ns(e, service),
        .perf = shown->perf,
    };
    engine_pads_report(e->pads, service, report);
}

/* Reports the policy's quota of each service. */
static RARE void report_quotas(const struct engine *e, struct engine_report *report)
{
    struct schedule_report own = { .n_services = 0 };
    int n = e->options.n_services;
    e->options.policy->report(e->policy_state, &e->view, &own);
    for (int i = 0; (i = set_next(&e->listed, i, n)) >= 0; i++)
        report->services[i].kv_quota_bytes = own.services[i].n_units_quota * kv_unit_bytes(e->kv);
}

/* Reports each service's part of the pool, and the part that it is due (MuxServe, section 3.3). */
static void report_shares(const struct engine *e, struct engine_report *report)
{
    double dues[LIMIT_SERVICES];
    int64_t unit_bytes = kv_unit_bytes(e->kv), n_units = 0;
    int n = e->options.n_services;
    schedule_quota_shares_among(&e->view, &e->listed, dues);
    for (int i = 0; (i = set_next(&e->listed, i, n)) >= 0; i++)
        n_units += e->view.kv->services[i].n_units;
    for (int i = 0; (i = set_next(&e->listed, i, n)) >= 0; i++) {
        struct service_report *to = &report->services[i];
        int64_t n_own = e->view.kv->services[i].n_units;
        to->kv_held_bytes = n_own * unit_bytes;
        to->kv_share = n_units > 0 ? (double)n_own / (double)n_units : 0;
        to->kv_r = dues[i] > 0 ? to->kv_share / dues[i] : 0;
    }
    if (e->options.policy->report != NULL)
        report_quotas(e, report);
}

void engine_report(const struct engine *e, struct engine_report *report, int64_t now_ns)
{
    const struct set gone = set_without(&report->listed, &e->listed);
    int n = e->options.n_services;
    int64_t most;
    CHECK(n <= LIMIT_SERVICES);
    for (int i = 0; (i = set_next(&gone, i, LIMIT_SERVICES)) >= 0; i++)
        report->services[i] = (struct service_report){ 0 };
    memset(report, 0, offsetof(struct engine_report, services));
    report->engine = e->options.id;
    report->role = e->options.role;
    report->is_draining = e->is_draining || e->is_lost;
    /* An idle engine whose last batch failed may be tried again, since only a batch can show its
     * present state. */
    bool is_idle = e->n_free_slots == e->options.n_requests_max;
    report->is_healthy = e->is_healthy || (is_idle && !e->is_lost);
    report->now_ns = now_ns;
    report->n_steps = e->n_steps;
    report->step_ns = e->step_ns;
    report->memory_bytes = e->ledger.total_bytes;
    report->kv_pool_bytes = kv_open_bytes(e->kv);
    report->kv_free_bytes = kv_budget(e->kv)->n_units_free * kv_unit_bytes(e->kv);
    report->kv_table_bytes = kv_table_bytes(e->kv, &most);
    engine_disk_report(e, report);
    report->n_requests = (int32_t)(e->options.n_requests_max - e->n_free_slots);
    report->n_requests_max = (int32_t)e->options.n_requests_max;
    report->n_services = n;
    report->listed = e->listed;
    for (int i = 0; (i = set_next(&e->listed, i, n)) >= 0; i++)
        report_service(e, i, &report->services[i]);
    report_shares(e, report);
}

/* ---- The self-check. ---- */

static bool is_service_sound(const struct engine *e, int service)
{
    const struct schedule_service *s = &e->services[service];
    uint32_t n_waiting = 0, prev = SCHEDULE_NONE;
    const struct tree *tree = &e->queues[service].tree;
    uint32_t in_tree = tree_first(tree);
    for (uint32_t slot = s->first_waiting; slot != SCHEDULE_NONE; slot = e->requests[slot].next) {
        const struct request *r = &e->requests[slot];
        if (r->state != REQUEST_WAITING || r->service != service || r->prev != prev ||
            r->batch != 0 || ++n_waiting > s->n_waiting)
            return false;
        if (prev != SCHEDULE_NONE && !engine_queue_is_before(e, prev, slot))
            return false;
        if (tree->n > 0 && slot != in_tree)
            return false;
        in_tree = tree->n > 0 ? tree_next(tree, e->waiting_nodes, slot) : TREE_NONE;
        prev = slot;
    }
    if (n_waiting != s->n_waiting || e->queues[service].last != prev ||
        (tree->n > 0 && tree->n != n_waiting))
        return false;
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct request *r = &e->requests[s->running[i]];
        if (r->state != REQUEST_RUNNING || r->service != service)
            return false;
    }
    return true;
}

/* Checks a slot by itself: counts in range, and blocks that cover what is computed. */
static bool is_slot_sound(const struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    int32_t n_blocks = e->n_table_blocks[slot];
    if (r->state == REQUEST_FREE || r->state == REQUEST_ENDED)
        return n_blocks == 0 && r->batch == 0;
    int32_t block_tokens = kv_layout(e->kv, r->service)->block_tokens;
    return engine_ids_find(&e->by_id, r->id) == slot && r->n_computed >= 0 &&
           r->n_computed < r->n_tokens && r->n_tokens <= r->n_tokens_max &&
           (int64_t)n_blocks * block_tokens >= r->n_computed;
}

bool engine_is_sound(const struct engine *e)
{
    uint32_t n_listed = 0, n_taken = 0, n_in_flight = 0, n_ended = 0, n_matched = 0, n_away;
    int n_flights = 0;
    if (!engine_handover_is_sound(e, &n_away) || !engine_disk_is_sound(e, &n_away))
        return false;
    for (int service = 0; service < e->options.n_services; service++) {
        if (!is_service_sound(e, service))
            return false;
        n_listed += e->services[service].n_waiting + e->services[service].n_running;
    }
    for (uint32_t slot = 0; slot < e->options.n_requests_max; slot++) {
        const struct request *r = &e->requests[slot];
        if (!is_slot_sound(e, slot))
            return false;
        n_taken += r->state != REQUEST_FREE;
        n_ended += r->state == REQUEST_ENDED;
        n_in_flight += r->batch != 0;
        n_matched += e->own[slot].holds_hit;
        if ((r->state == REQUEST_WAITING) &&
            e->own[slot].holds_hit != (e->n_table_blocks[slot] > 0))
            return false;
    }
    for (int i = 0; i < LIMIT_BATCHES; i++)
        n_flights += e->flights[i].batch.n_items > 0;
    return n_taken == n_listed + n_ended + n_away && n_ended <= e->n_backlog &&
           n_taken == e->options.n_requests_max - e->n_free_slots && n_taken == e->by_id.n &&
           n_in_flight == e->view.n_in_flight && n_flights == e->n_flights &&
           n_matched == e->n_waiting_matched &&
           (n_listed + n_away > 0 || engine_keeps_kv(e) || engine_lends_host(e) ||
            kv_is_idle(e->kv)) &&
           ledger_free_bytes(&e->ledger) >= 0 && kv_is_sound(e->kv);
}
