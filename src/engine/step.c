/* One iteration: plan -> reserve -> begin, and the commit of what ended before.
 *
 * The policy decides what should run. This file does it, or reports why not. A batch gets all of
 * its blocks or none (kv_reserve); a refused batch does not void its neighbours. After a plan of
 * preempts only, the policy is called again at once. Batches of one lane go to the executor in one
 * begin; a hold (n_rounds >
 * 1) goes on until its rounds are done or something cuts it. */
#include "engine/disk.h"
#include "engine/draft.h"
#include "engine/handover.h"
#include "engine/log.h"
#include "engine/room.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "engine/swap.h"
#include "kv/host.h"

#include "base/log.h"
#include "schedule/lanes.h"
#include <string.h>

#define STEP_VOIDS_MAX 4 /* consecutive plans without a batch that could begin */
#define STEP_VOID_NS   (10 * TIME_NS_PER_MS)

/* ---- reserve ---- */

/* Searches the prefix index again for requests that start. */
static void look_up(struct engine *e, struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items; i++) {
        struct batch_item *item = &batch->items[i];
        const struct request *r = &e->requests[item->slot];
        if (r->n_computed == 0 && r->n_host == 0) {
            engine_queue_match(e, item->slot);
            e->n_planned[item->slot] = r->n_computed > 0 ? item->n_tokens : 0;
        }
    }
}

/* Gives back the blocks of a hit that was found this late. It may need more blocks than the plan
 * assumed, because it comes with all of its prefix at once. Returns true when there were any, so
 * that reserve may try again. */
static bool undo_look_up(struct engine *e, const struct batch *batch)
{
    bool is_changed = false;
    for (int32_t i = 0; i < batch->n_items && e->n_planned != NULL; i++) {
        struct batch_item *item = &batch->items[i];
        if (e->n_planned[item->slot] == 0)
            continue;
        engine_queue_release(e, item->slot);
        item->n_tokens = e->n_planned[item->slot];
        e->n_planned[item->slot] = 0;
        is_changed = true;
    }
    return is_changed;
}

static int64_t blocks_lacking(const struct engine *e, const struct batch *batch, int n_rounds)
{
    int32_t block_tokens = kv_layout(e->kv, batch->service)->block_tokens;
    int64_t n = 0;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *r = &e->requests[item->slot];
        struct engine_progress progress = engine_exec_progress_of(r, item, n_rounds);
        int64_t n_blocks = e->n_table_blocks[item->slot];
        int32_t n_tokens = r->n_computed + progress.n_computed;
        if (n_tokens > n_blocks * block_tokens)
            n += kv_blocks_for(n_tokens, block_tokens) - n_blocks;
    }
    return n;
}

static bool fits(struct engine *e, const struct schedule_plan *plan, uint16_t lane, int n_rounds)
{
    if (plan->n_batches == 1)
        return blocks_lacking(e, plan->batches, n_rounds) <=
               kv_budget_idle_blocks(kv_budget(e->kv), plan->batches->service);
    kv_budget_copy(&e->scratch->budget, kv_budget(e->kv));
    for (int32_t i = 0; i < plan->n_batches; i++) {
        const struct batch *batch = &plan->batches[i];
        if (batch->lane != lane)
            continue;
        int64_t n_blocks = blocks_lacking(e, batch, n_rounds);
        if (n_blocks > kv_budget_idle_blocks(&e->scratch->budget, batch->service) ||
            !kv_budget_take(&e->scratch->budget, batch->service, n_blocks))
            return false;
    }
    return true;
}

/* Returns the rounds until one of them draws its last token, or may send its first. */
static int rounds_to_finish(const struct engine *e, const struct batch *batch, int n_rounds)
{
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        const struct request *r = &e->requests[item->slot];
        int n = r->n_tokens_max - r->n_tokens;
        if (r->n_tokens - r->n_computed > 1 || r->n_lease > 0 || r->kind != REQUEST_GENERATE)
            n = engine_exec_rounds(r, item->n_tokens);
        n_rounds = min_i32(n_rounds, r->n_tokens == r->n_prompt ? 1 : n);
    }
    return n_rounds;
}

static bool has_drafts(const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items; i++)
        if (batch->items[i].n_draft > 0)
            return true;
    return false;
}

/* Returns how many rounds of the plan this lane may hold: as many as the plan, the ends of requests
 * and the blocks allow. */
static int rounds_of(struct engine *e, const struct schedule_plan *plan, uint16_t lane)
{
    int n_rounds = plan->n_rounds;
    for (int32_t i = 0; i < plan->n_batches && n_rounds > 1; i++) {
        const struct batch *batch = &plan->batches[i];
        if (batch->lane == lane && has_drafts(batch))
            return 1;
        if (batch->lane == lane && (plan->until & UNTIL_FINISH) != 0)
            n_rounds = rounds_to_finish(e, batch, n_rounds);
        for (int32_t k = 0; k < batch->n_items && batch->lane == lane && e->bodies; k++)
            if ((e->requests[batch->items[k].slot].flags & REQUEST_WANTS_LOGPROBS) != 0)
                n_rounds = min_i32(n_rounds, ENGINE_LOGPROBS_MAX);
    }
    while (n_rounds > 1 && (plan->until & UNTIL_SHORTAGE) != 0 && !fits(e, plan, lane, n_rounds))
        n_rounds /= 2;
    return max_i32(n_rounds, 1);
}

/* Writes the item's drafts into its body. Returns the positions that are computed then, if all
 * drafts are accepted. */
static RARE int32_t begin_drafts(struct engine *e, const struct batch_item *item)
{
    const struct request *r = &e->requests[item->slot];
    engine_draft_write(e, item->slot, item->n_draft);
    return r->n_computed + engine_exec_progress_of(r, item, 1).n_computed;
}

/* Copies the batch into the flight and pins its requests, in the one pass over all items that every
 * step makes: which need blocks (e->scratch->needs), and which start (e->scratch->starts). */
static void survey(struct engine *e, struct engine_flight *flight, const struct batch *batch,
                   int n_rounds)
{
    struct batch_item *items = flight->items;
    struct request *requests = e->requests;
    const int32_t *n_table_blocks = e->n_table_blocks;
    int32_t block_tokens = kv_layout(e->kv, batch->service)->block_tokens, n_items = batch->n_items;
    int64_t n_context = 0;
    uint32_t id = e->next_batch;
    uint16_t service = batch->service;
    bool is_decode = batch_is_plain(batch);
    int n_needs = 0, n_starts = 0;
    for (int32_t i = 0; i < n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        int32_t n_tokens = batch->items[i].n_tokens;
        struct request *r = &requests[slot];
        int32_t n_known = r->n_tokens, lacking = n_known - r->n_computed, n_covered;
        CHECK(r->batch == 0 && r->service == service && lacking > 0 && n_tokens > 0);
        const int32_t n_draft = batch->items[i].n_draft;
        if (n_draft > 0) {
            n_covered = begin_drafts(e, &batch->items[i]);
            is_decode = false;
        } else if (lacking == 1 && r->n_lease == 0 && r->kind == REQUEST_GENERATE) {
            n_tokens = 1;
            n_covered = n_known - 1 + min_i32(n_rounds, r->n_tokens_max - n_known);
            is_decode &= n_known > r->n_prompt;
        } else { /* an encoder computes all, whatever the policy's chunks */
            n_tokens = e->specs[service].is_encoder ? lacking : min_i32(n_tokens, lacking);
            n_covered = r->n_computed + engine_exec_progress(r, n_tokens, n_rounds).n_computed;
            is_decode = false;
        }
        n_context += n_known;
        r->batch = id;
        items[i] = (struct batch_item){ slot, n_tokens, n_draft };
        if (r->state != REQUEST_RUNNING)
            e->scratch->starts[n_starts++] = slot;
        if (n_covered > (int64_t)n_table_blocks[slot] * block_tokens)
            e->scratch->needs[n_needs++] =
                (struct kv_need){ slot, n_covered, n_rounds > 1 ? r->n_computed + n_tokens : 0 };
    }
    e->n_needs = n_needs;
    e->n_starts = n_starts;
    flight->batch.n_decode_context = is_decode ? n_context : 0;
}

static bool reserve(struct engine *e, struct engine_flight *flight, const struct batch *batch,
                    int n_rounds)
{
    survey(e, flight, batch, n_rounds);
    if (e->n_needs == 0 || kv_reserve(e->kv, batch->service, e->scratch->needs, e->n_needs))
        return true;
    for (int32_t i = 0; i < batch->n_items; i++)
        e->requests[batch->items[i].slot].batch = 0;
    return false;
}

/* ---- begin ---- */

struct engine_flight *engine_step_free_flight(struct engine *e)
{
    for (int i = 0; i < LIMIT_BATCHES; i++)
        if (e->flights[i].batch.n_items == 0)
            return &e->flights[i];
    return NULL;
}

/* Keeps the batch, which has its blocks, until its commit. */
static const struct batch *take_off(struct engine *e, struct engine_flight *flight,
                                    const struct batch *batch, int n_rounds)
{
    int64_t n_decode_context = flight->batch.n_decode_context;
    flight->n_rounds = n_rounds;
    flight->batch = *batch;
    flight->batch.items = flight->items;
    flight->batch.n_decode_context = n_decode_context;
    flight->batch.id = e->next_batch;
    if (!e->options.is_virtual || e->options.trace != NULL) /* else it is not used */
        flight->load = engine_exec_load(&flight->batch, e->requests);
    e->next_batch = e->next_batch == UINT32_MAX ? 1 : e->next_batch + 1;
    for (int i = 0; i < e->n_starts; i++) {
        if (e->n_planned != NULL)
            e->n_planned[e->scratch->starts[i]] = 0;
        engine_queue_start(e, e->scratch->starts[i]);
    }
    e->n_flights++;
    e->view.n_in_flight += (uint32_t)batch->n_items;
    return &flight->batch;
}

static void tell_policy(struct engine *e, enum schedule_what what, const struct batch *batch)
{
    struct schedule_event event = { .what = what, .now_ns = e->view.now_ns, .batch = batch };
    engine_queue_tell(e, &event);
}

static bool has_host(const struct engine *e, const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items; i++)
        if (e->requests[batch->items[i].slot].n_host > 0)
            return true;
    return false;
}

uint8_t engine_step_place(const struct engine *e, int32_t lane)
{
    const struct engine_lane *places = &e->lanes[lane * e->options.n_deep];
    int32_t place = 0;
    while (place + 1 < e->options.n_deep && places[place].n_flights > 0)
        place++;
    CHECK(places[place].n_flights == 0);
    return (uint8_t)place;
}

/* Returns whether one batch that only decodes has all requests of the engine. It may be held, so a
 * new request would wait for the end of its round. */
static RARE bool holds_everybody(const struct engine *e)
{
    for (int i = 0; i < LIMIT_BATCHES && e->n_flights == 1; i++)
        if (e->flights[i].batch.n_decode_context > 0 && e->flights[i].batch.n_items > 0)
            return (uint32_t)e->flights[i].batch.n_items ==
                   e->options.n_requests_max - e->n_free_slots;
    return false;
}

/* Shows all lanes of pipelines, since one that has all requests makes the others wait. */
static RARE void show_pipelines(struct engine *e)
{
    bool has_everybody = holds_everybody(e);
    for (int32_t lane = 0; lane < e->options.n_lanes; lane++) {
        const struct engine_lane *places = &e->lanes[lane * e->options.n_deep];
        bool is_full = true;
        for (int32_t i = 0; i < e->options.n_deep; i++)
            is_full = is_full && places[i].n_flights > 0;
        e->lane_is_busy[lane] = is_full || has_everybody;
    }
}

void engine_step_show_lane(struct engine *e, int32_t lane)
{
    if (e->options.n_deep > 1)
        show_pipelines(e);
    else
        e->lane_is_busy[lane] = e->lanes[lane].n_flights > 0;
}

/* Reserves and begins what the plan lists for one lane. Returns the batches begun, and counts those
 * refused. */
static int begin_lane(struct engine *e, struct schedule_plan *plan, uint16_t lane, int *n_refused)
{
    struct batch begun[LIMIT_BATCHES];
    uint8_t place = engine_step_place(e, lane);
    int n_begun = 0;
    for (int32_t i = 0; i < plan->n_batches; i++)
        if (plan->batches[i].lane == lane && e->options.has_prefix_cache)
            look_up(e, &plan->batches[i]);
    bool wants_in = false;
    for (int32_t i = 0; i < plan->n_batches && e->n_on_host > 0; i++)
        if (plan->batches[i].lane == lane)
            wants_in |= engine_swap_wants_in(e, &plan->batches[i]);
    int n_rounds = wants_in ? 1 : rounds_of(e, plan, lane);
    for (int32_t i = 0; i < plan->n_batches; i++) {
        const struct batch *batch = &plan->batches[i];
        struct engine_flight *flight = engine_step_free_flight(e);
        if (batch->lane != lane || batch->n_items == 0 || flight == NULL)
            continue;
        if (e->n_on_host > 0 && e->n_flights + 2 > LIMIT_BATCHES) {
            engine_swap_stay_out(e, batch);
            continue;
        }
        if (!reserve(e, flight, batch, n_rounds) &&
            (!undo_look_up(e, batch) || !reserve(e, flight, batch, n_rounds))) {
            engine_swap_stay_out(e, batch);
            ++*n_refused;
            e->n_refused++;
            tell_policy(e, SCHEDULE_REFUSED, batch);
            continue;
        }
        const struct batch *taken = take_off(e, flight, batch, n_rounds);
        flight->batch.place = place;
        if (wants_in && has_host(e, taken))
            begun[n_begun++] = engine_swap_in(e, taken);
        begun[n_begun++] = *taken;
        tell_policy(e, SCHEDULE_STARTED, &begun[n_begun - 1]);
    }
    if (n_begun == 0)
        return 0;
    e->lanes[lane * e->options.n_deep + place] = (struct engine_lane){
        .n_flights = n_begun,
        .until = n_rounds > 1 ? plan->until : 0,
        .until_ns = n_rounds > 1 && (plan->until & UNTIL_TIME) ? plan->until_ns : TIME_NEVER,
        .is_hold = n_rounds > 1 && plan->until != 0,
    };
    engine_step_show_lane(e, lane);
    e->options.exec.begin(e->options.exec.self, begun, n_begun, n_rounds);
    return n_begun;
}

static int begin(struct engine *e, struct schedule_plan *plan, int *n_refused)
{
    int n_begun = 0;
    uint32_t planned = 0;
    for (int32_t i = 0; i < plan->n_batches; i++)
        planned |= 1U << plan->batches[i].lane;
    for (int32_t lane = 0; lane < e->options.n_lanes; lane++)
        if ((planned >> lane & 1) != 0 && schedule_lane_is_free(&e->view, lane))
            n_begun += begin_lane(e, plan, (uint16_t)lane, n_refused);
    return n_begun;
}

/* ---- plan ---- */

/* Looks up the first few waiting requests early, so that plans see what they really lack. */
static void match_front(struct engine *e)
{
    for (int service = 0; service < e->options.n_services; service++) {
        uint32_t slot = e->services[service].first_waiting;
        for (int i = 0; i < ENGINE_MATCHED_MAX && slot != SCHEDULE_NONE; i++) {
            if (!e->own[slot].is_matched)
                engine_queue_match(e, slot);
            e->own[slot].is_matched = true;
            slot = e->requests[slot].next;
        }
    }
}

static void verify(struct engine *e, const struct schedule_plan *p)
{
    const char *wrong = base_verify ? schedule_check(&e->view, p) : NULL;
    if (wrong != NULL)
        log_line(LOG_ERROR, "engine", "policy %s: %s", e->options.policy->name, wrong);
    CHECK(wrong == NULL);
}

static bool has_work(const struct engine *e)
{
    bool has_lane = false;
    uint32_t busy = schedule_busy_lanes(&e->view);
    for (int32_t lane = 0; lane < e->options.n_lanes && !has_lane; lane++)
        has_lane = schedule_lane_is_free_of(&e->view, lane, busy);
    uint32_t n_taken = e->options.n_requests_max - e->n_free_slots;
    return has_lane && n_taken > e->view.n_in_flight && e->n_backlog == 0;
}

static void plan(struct engine *e)
{
    int n_voids = 0; /* plans that began no batch, although none preempted anything */
    e->plan_wake_ns = TIME_NEVER;
    for (uint32_t n_asks = 0; has_work(e); n_asks++) {
        /* Each preempted request may hold a hit again by the next plan, which is given back
         * first. */
        CHECK(n_asks <= 2 * (e->options.n_requests_max + STEP_VOIDS_MAX + 1));
        struct schedule_plan *p = &e->plan;
        int n_refused = 0;
        p->n_batches = p->n_items = p->n_preempts = 0;
        p->n_rounds = 1;
        p->until = 0;
        p->until_ns = TIME_NEVER;
        p->is_forced = false;
        if (e->options.has_prefix_cache)
            match_front(e);
        if (e->drafts != NULL)
            engine_draft_plan(e);
        e->view.swap_bytes_free = kv_host_free_bytes(e->kv);
        e->options.policy->plan(e->policy_state, &e->view, p);
        if (e->options.log != NULL)
            engine_log_plan(e, p);
        if (e->options.planned != NULL && !e->options.planned(e->options.planned_self, p))
            return;
        verify(e, p);
        if (p->n_preempts > 0 && engine_queue_release_waiting(e))
            continue; /* perhaps no request has to leave */
        int n_begun = p->n_preempts > 0 ? engine_swap_out(e, p) : 0;
        n_begun += begin(e, p, &n_refused);
        if (n_begun > 0 && p->is_forced && p->n_batches > 0)
            e->stats[p->batches[0].service].n_forced++;
        if (n_begun > 0 && e->options.n_deep > 1)
            continue; /* another may be beside it */
        if (n_begun > 0)
            return;
        if (p->n_preempts > 0)
            continue;
        if (e->n_flights > 0)
            return;
        if (++n_voids > STEP_VOIDS_MAX) { /* no valid plan: the policy is called again soon */
            e->plan_wake_ns = e->view.now_ns + STEP_VOID_NS;
            return;
        }
        if (!engine_queue_release_waiting(e) && n_refused == 0) {
            e->plan_wake_ns = (p->until & UNTIL_TIME) ? p->until_ns : TIME_NEVER;
            return;
        }
    }
}

/* ---- the step ---- */

void engine_step_cut(struct engine *e, unsigned until)
{
    for (int32_t lane = 0; lane < e->n_slots; lane++) {
        struct engine_lane *l = &e->lanes[lane];
        if (l->n_flights > 0 && l->until != 0 && (until == 0 || (l->until & until) != 0)) {
            e->options.exec.cut(e->options.exec.self, (uint16_t)lane);
            l->until = 0;
            l->until_ns = TIME_NEVER;
        }
    }
}

/* Handles changes that time alone makes: deadlines that pass, holds that are over. */
static void look_at_time(struct engine *e)
{
    for (uint32_t slot = tree_first(&e->deadlines);
         slot != TREE_NONE && e->requests[slot].deadline_ns <= e->view.now_ns;
         slot = tree_first(&e->deadlines)) {
        tree_remove(&e->deadlines, e->deadline_nodes, slot);
        e->own[slot].has_deadline = false;
        engine_queue_end_soon(e, slot, SERVICE_ENDED, SERVICE_DEADLINE);
        engine_step_cut(e, 0);
    }
    for (int32_t lane = 0; lane < e->n_slots; lane++)
        if (e->lanes[lane].until_ns <= e->view.now_ns)
            engine_step_cut(e, UNTIL_TIME);
}

static int64_t next_wake_ns(const struct engine *e)
{
    int64_t wake_ns = e->n_flights > 0 ? e->options.exec.next_ns(e->options.exec.self) : TIME_NEVER;
    uint32_t first = tree_first(&e->deadlines);
    if (first != TREE_NONE)
        wake_ns = min_i64(wake_ns, e->requests[first].deadline_ns);
    for (int32_t lane = 0; lane < e->n_slots; lane++)
        if (e->lanes[lane].n_flights > 0)
            wake_ns = min_i64(wake_ns, e->lanes[lane].until_ns);
    if (e->wanted_sum > 0)
        wake_ns = min_i64(wake_ns, engine_room_wake_ns(e));
    return min_i64(wake_ns, e->plan_wake_ns);
}

void engine_stop(struct engine *e, int64_t now_ns)
{
    const struct engine_exec *exec = &e->options.exec;
    struct engine_exec_done done;
    CHECK(now_ns >= e->view.now_ns);
    for (int32_t lane = 0; lane < e->n_slots; lane++)
        if (e->lanes[lane].is_hold && exec->stop != NULL)
            exec->stop(exec->self, (uint16_t)lane);
    e->view.now_ns = now_ns;
    while (e->n_flights > 0 && exec->poll(exec->self, &done))
        engine_commit(e, &done);
    for (uint32_t slot = 0; slot < e->options.n_requests_max; slot++)
        if (e->requests[slot].state == REQUEST_WAITING ||
            e->requests[slot].state == REQUEST_RUNNING)
            engine_say(e, slot);
}

int64_t engine_step(struct engine *e, int64_t now_ns)
{
    struct engine_exec_done done;
    CHECK(now_ns >= e->view.now_ns);
    bool has_log = e->options.log != NULL;
    if (has_log)
        engine_log_step(e, now_ns);
    e->view.now_ns = now_ns;
    engine_stats_tick(e, now_ns);
    if (e->n_backlog > 0)
        engine_say_backlog(e);
    while (e->n_flights > 0 && e->options.exec.poll(e->options.exec.self, &done)) {
        if (has_log)
            engine_log_done(e, &done);
        engine_commit(e, &done);
    }
    look_at_time(e);
    if (e->wanted_sum > 0 || e->is_pool_shrunk)
        engine_room_press(e);
    int64_t wake_ns = e->handover != NULL ? engine_handover_step(e) : TIME_NEVER;
    if (e->disk != NULL)
        wake_ns = min_i64(wake_ns, engine_disk_step(e));
    plan(e);
    return min_i64(next_wake_ns(e), wake_ns);
}
