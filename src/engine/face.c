/* The engine's public functions: opening, mail, control. The iteration is in step.c, and the end of
 * batches in commit.c.
 *
 * All memory is taken here at open, sized by the options; nothing is allocated afterwards. */
#include "engine/disk.h"
#include "engine/draft.h"
#include "engine/handover.h"
#include "engine/log.h"
#include "engine/pads.h"
#include "engine/room.h"
#include "engine/scores.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "engine/swap.h"

#include "base/mem.h"
#include <stdio.h>
#include <string.h>

static void open_pool(struct engine *e)
{
    const struct engine_options *o = &e->options;
    for (int i = 0; i < o->n_services; i++)
        e->n_units_aside = max_i64(e->n_units_aside, engine_pads_units(o, &o->layouts[i]));
    if (o->kv_bounds.block_tokens_min == 0)
        e->options.kv_bounds = kv_cut_bounds_of(o->layouts, o->n_services);
    e->options.memory_bytes =
        max_i64(o->memory_bytes - e->n_units_aside * o->kv_unit_bytes, o->kv_unit_bytes);
    int64_t pool_bytes = o->kv_bytes_max > 0 ? o->kv_bytes_max : o->memory_bytes;
    pool_bytes = min_i64(pool_bytes, o->memory_bytes);
    pool_bytes = min_i64(pool_bytes, kv_bytes_most(o->kv_kind, o->kv_unit_bytes));
    ledger_init(&e->ledger, o->memory_bytes, e->models, o->n_services_max);
    e->kv = kv_open(&(struct kv_options){
        .kind = o->kv_kind,
        .pool_bytes_max = pool_bytes,
        .pool_bytes = pool_bytes,
        .unit_bytes = o->kv_unit_bytes,
        .n_services_max = o->n_services_max,
        .bounds = o->kv_bounds,
        .n_requests_max = o->n_requests_max,
        .n_tokens_max = o->n_tokens_max,
        .is_virtual = o->is_virtual || o->has_no_memory,
        .may_count = o->is_virtual,
        .has_prefix_cache = o->has_prefix_cache,
        .has_row_classes = o->exec.has_row_classes,
        .prefix_salt = o->prefix_salt,
        .n_units_aside = e->n_units_aside,
        .host_bytes = o->swap_bytes,
        .n_keeps = engine_handover_keeps(o) + engine_disk_keeps(o),
    });
    CHECK(ledger_set_pool(&e->ledger, kv_open_bytes(e->kv)));
}

static void open_tables(struct engine *e)
{
    uint32_t n = e->options.n_requests_max;
    bool is_virtual = e->options.is_virtual;
    e->requests = mem_take(n * sizeof(*e->requests));
    e->own = mem_take(n * sizeof(*e->own));
    if (!e->options.says_little || e->options.tells_waits)
        e->seen = mem_take(n * sizeof(*e->seen));
    e->waiting_nodes = mem_take(n * sizeof(*e->waiting_nodes));
    e->deadline_nodes = mem_take(n * sizeof(*e->deadline_nodes));
    e->n_table_blocks = kv_table_sizes(e->kv);
    e->pads = engine_pads_open(&e->options);
    if (e->options.has_prefix_cache)
        e->n_planned = mem_take(n * sizeof(*e->n_planned));
    engine_ids_open(&e->by_id, e->requests, n);
    tree_init(&e->deadlines);
    if (!is_virtual || e->options.body_bytes > 0)
        e->bodies = engine_bodies_open(n, e->options.body_bytes);
    if (!is_virtual)
        e->logprobs = mem_take(n * sizeof(*e->logprobs));
    e->first_free = SCHEDULE_NONE;
    e->n_free_slots = n;
}

struct engine_scratch *engine_scratch_open(uint32_t n_requests_max)
{
    struct engine_scratch *scratch = mem_take(sizeof(*scratch));
    scratch->n_items = (int32_t)max_i64(n_requests_max, LIMIT_BATCH_ITEMS);
    scratch->items = mem_take((size_t)scratch->n_items * sizeof(*scratch->items));
    return scratch;
}

void engine_scratch_close(struct engine_scratch *scratch)
{
    if (scratch != NULL)
        mem_give(scratch->items);
    mem_give(scratch);
}

static void open_scratch(struct engine *e)
{
    uint32_t n_requests = e->options.n_requests_max;
    size_t n_items = n_requests < LIMIT_BATCH_ITEMS ? n_requests : LIMIT_BATCH_ITEMS;
    struct batch_item *items = mem_take(LIMIT_BATCHES * n_items * sizeof(*items));
    for (size_t i = 0; i < LIMIT_BATCHES; i++)
        e->flights[i].items = items + i * n_items;
    /* A request stands in one batch at most. */
    int32_t n_plan = (int32_t)max_i64(n_requests, LIMIT_BATCH_ITEMS);
    if (e->options.scratch == NULL)
        e->own_scratch = engine_scratch_open(n_requests);
    e->scratch = e->own_scratch != NULL ? e->own_scratch : e->options.scratch;
    CHECK(e->scratch->n_items >= n_plan);
    e->next_batch = 1;
    e->payload =
        mem_take(ENGINE_SCORES_SAID_MAX * (sizeof(int32_t) + sizeof(struct token_logprobs)));
    e->plan.batches = e->scratch->batches;
    e->plan.preempts = e->scratch->preempts;
    e->plan.swaps = e->scratch->swaps;
    e->plan.n_items_max = n_plan;
    e->plan.items = e->scratch->items;
}

static void open_services(struct engine *e)
{
    size_t n = (size_t)e->options.n_services_max;
    uint32_t n_requests = e->options.n_requests_max;
    e->specs = mem_take(n * sizeof(*e->specs));
    e->services = mem_take(n * (sizeof(*e->services) + sizeof(*e->busy)));
    e->busy = (void *)(e->services + n);
    e->queues = mem_take(n * sizeof(*e->queues));
    e->stats = mem_take(n * sizeof(*e->stats));
    e->room_state = mem_take(n * sizeof(*e->room_state));
    e->models = mem_take(n * sizeof(*e->models));
    e->wanted_bytes = mem_take(n * sizeof(*e->wanted_bytes));
    e->away = mem_take(n * sizeof(*e->away));
    e->running = mem_take(n * n_requests * sizeof(*e->running));
    for (size_t i = 0; i < n; i++) { /* as of a number that is no service's */
        e->queues[i].last = SCHEDULE_NONE;
        e->services[i].first_waiting = SCHEDULE_NONE;
    }
}

/* Fills the tables of a service that joins. */
static void begin_service(struct engine *e, int i, const struct service_spec *spec,
                          const struct kv_layout *layout)
{
    e->specs[i] = *spec;
    e->stats[i] = (struct engine_stats){ 0 };
    engine_pads_begin_service(e->pads, i);
    e->away[i] = (struct engine_away){ 0 };
    tree_init(&e->queues[i].tree);
    e->queues[i].last = SCHEDULE_NONE;
    e->services[i] = (struct schedule_service){
        .first_waiting = SCHEDULE_NONE,
        .running = e->running + (size_t)i * e->options.n_requests_max,
        .tpot_ns = min_i64(spec->slo.tpot_ns, LIMIT_TPOT_MS * TIME_NS_PER_MS),
        .share = (float)spec->share_percent / 100,
        .kv_quota_bytes = spec->kv_quota_bytes,
        .kv_bytes_per_token = kv_token_bytes(layout, e->options.kv_unit_bytes),
    };
    kv_add_service(e->kv, i,
                   &(struct kv_service_options){ *layout, spec->kv_bytes_min, spec->kv_bytes_max });
}

static void open_policy(struct engine *e)
{
    const struct engine_options *o = &e->options;
    if (o->config != NULL)
        e->config = *o->config;
    else
        schedule_config_init(&e->config);
    e->limits =
        (struct schedule_limits){ o->n_services_max, (int32_t)o->n_requests_max, o->n_lanes };
    e->policy_state = mem_take(o->policy->state_bytes(&e->limits));
    o->policy->open(e->policy_state, &e->limits, &e->config);
    e->view = (struct schedule_view){
        .now_ns = INT64_MIN,
        .n_services = o->n_services,
        .n_lanes = o->n_lanes,
        .services = e->services,
        .busy = e->busy,
        .requests = e->requests,
        .kv = kv_budget(e->kv),
        .n_table_blocks = e->n_table_blocks,
        .lane_is_busy = e->lane_is_busy,
        .n_deep = o->n_deep,
        .deep_part = o->deep_part,
        .lanes = e->lane_shares,
    };
    for (int32_t i = 0; i < o->n_lanes; i++)
        e->lane_shares[i] = o->lanes != NULL ? o->lanes[i] : (struct schedule_lane){ .share = 1 };
}

struct engine *engine_open(const struct engine_options *options)
{
    CHECK(options->n_services > 0 &&
          max_i32(options->n_services, options->n_services_max) <= KV_SERVICES_MAX);
    CHECK(options->n_lanes > 0 && options->n_lanes <= LIMIT_LANES && options->n_requests_max > 0);
    struct engine *e = mem_take(sizeof(*e));
    e->options = *options;
    e->options.n_services_max = max_i32(options->n_services, options->n_services_max);
    e->is_healthy = true;
    e->options.n_deep = max_i32(options->n_deep, 1);
    e->n_slots = options->n_lanes * e->options.n_deep;
    CHECK(e->n_slots <= LIMIT_BATCHES);
    e->plan_wake_ns = TIME_NEVER;
    for (int lane = 0; lane < e->n_slots; lane++)
        e->lanes[lane].until_ns = TIME_NEVER;
    open_services(e);
    open_pool(e);
    for (int i = 0; i < options->n_services; i++)
        begin_service(e, i, &options->services[i], &options->layouts[i]);
    open_tables(e);
    open_scratch(e);
    open_policy(e);
    e->options.services = e->specs;
    e->options.layouts = NULL; /* the caller's: kv has a copy */
    e->options.config = &e->config;
    const struct engine_exec_view view = { e->requests, e->bodies, e->kv };
    e->options.exec.attach(e->options.exec.self, &view);
    engine_draft_open(e);
    engine_swap_open(e);
    engine_handover_open(e);
    engine_disk_open(e);
    if (e->handover != NULL)
        e->kept = mem_take(e->options.n_requests_max * sizeof *e->kept);
    engine_log_opened(e);
    return e;
}

void engine_close(struct engine *e)
{
    if (e == NULL)
        return;
    void *const owned[] = { e->specs,      e->services, e->queues,           e->stats,
                            e->room_state, e->running,  e->requests,         e->logprobs,
                            e->own,        e->seen,     e->waiting_nodes,    e->deadline_nodes,
                            e->n_planned,  e->payload,  e->flights[0].items, e->policy_state,
                            e->models,     e->away,     e->wanted_bytes,     e->kept };
    engine_disk_close(e);
    engine_draft_close(e);
    engine_handover_close(e);
    engine_scratch_close(e->own_scratch);
    kv_close(e->kv);
    engine_pads_close(e->pads);
    engine_bodies_close(e->bodies);
    engine_ids_close(&e->by_id);
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        mem_give(owned[i]);
    mem_give(e);
}

/* ---- Mail. ---- */

static struct engine_bodies_room room_of(const struct engine *e, const struct request *request)
{
    int32_t n_vector = e->specs[request->service].n_vector;
    return (struct engine_bodies_room){ request->n_tokens_max, request_n_scored(request),
                                        request->kind == REQUEST_EMBED ? n_vector : 0 };
}

/* Returns why the service does not do what is asked, with a sentence; NONE when it does. A client
 * may ask for what this device can't do, which is no fault of the server. */
static enum service_why never_of_kind(const struct engine *e, const struct request *request,
                                      char text[256])
{
    const struct service_spec *spec = &e->specs[request->service];
    const struct engine_exec *exec = &e->options.exec;
    bool lacks_vectors = request->kind == REQUEST_EMBED && !exec->has_vectors;
    bool is_long = spec->is_encoder && request->n_prompt > exec->n_rows_max;
    *text = '\0';
    if (request->kind == REQUEST_EMBED && spec->n_vector == 0)
        snprintf(text, 256, "%s makes no embeddings", spec->name);
    else if (lacks_vectors)
        snprintf(text, 256,
                 "the device of engine %d makes no embeddings: let %s be served by a CPU",
                 e->options.id, spec->name);
    else if (request->kind != REQUEST_EMBED && spec->is_encoder)
        snprintf(text, 256, "%s is an encoder, which makes embeddings and generates nothing",
                 spec->name);
    else if (is_long)
        snprintf(text, 256,
                 "%s computes a text in one pass, which may have %d tokens here, and this text has "
                 "%d: raise batch_tokens",
                 spec->name, exec->n_rows_max, request->n_prompt);
    else if (request->kind == REQUEST_EMBED && request->n_tokens != request->n_prompt)
        snprintf(text, 256, "the text has %d tokens, and its record says %d", request->n_tokens,
                 request->n_prompt);
    if (*text == '\0')
        return SERVICE_WHY_NONE;
    return lacks_vectors || is_long ? SERVICE_TOO_LARGE : SERVICE_FAILED;
}

/* Returns why this request can never be served here, with a sentence; NONE when it can. fits: it
 * fits now. */
static enum service_why never_why(const struct engine *e, const struct request *request,
                                  const struct request_body *body, bool fits, char text[256])
{
    const struct service_spec *spec = &e->specs[request->service];
    int32_t context = e->options.n_tokens_max;
    if (spec->n_context_max > 0)
        context = min_i32(context, spec->n_context_max);
    if (request->n_prompt <= 0 || request->n_tokens < request->n_prompt ||
        request->n_tokens >= request->n_tokens_max || request->n_lease < 0 ||
        request->n_predicted < 0 || request->n_predicted > 2 * LIMIT_CONTEXT) {
        snprintf(text, 256, "the request's counts disagree: prompt %d, tokens %d, at most %d",
                 request->n_prompt, request->n_tokens, request->n_tokens_max);
        return SERVICE_FAILED;
    }
    if (!e->options.is_virtual && (body == NULL || (int64_t)body->n_tokens != request->n_tokens)) {
        snprintf(text, 256, "the request's body has %u tokens, its record has %d",
                 body == NULL ? 0 : body->n_tokens, request->n_tokens);
        return SERVICE_FAILED;
    }
    enum service_why why =
        e->options.is_virtual ? SERVICE_WHY_NONE : never_of_kind(e, request, text);
    if (why != SERVICE_WHY_NONE)
        return why;
    /* Nothing is drawn for a prompt that is only scored. */
    if (request->n_tokens_max - (request->kind != REQUEST_GENERATE) > context) {
        snprintf(text, 256, "prompt and answer may have %d tokens, %s allows %d",
                 request->n_tokens_max, spec->name, context);
        return SERVICE_TOO_LARGE;
    }
    int64_t n_tokens_most = fits ? INT64_MAX : engine_room_most_tokens(e, request->service);
    if (request->n_tokens_max > n_tokens_most) {
        snprintf(text, 256,
                 "prompt and answer may have %d tokens, and the KV that %s may have holds %lld",
                 request->n_tokens_max, spec->name, (long long)n_tokens_most);
        return SERVICE_TOO_LARGE;
    }
    int64_t n_bytes = e->bodies ? engine_bodies_bytes(body, room_of(e, request)) : 0;
    if (e->bodies && n_bytes > engine_bodies_bytes_max(e->bodies)) {
        snprintf(
            text, 256,
            "tokens and scores of the prompt take %lld bytes, and the engine has %lld: score a "
            "shorter prompt, or list fewer tokens beside each score",
            (long long)n_bytes, (long long)engine_bodies_bytes_max(e->bodies));
        return SERVICE_TOO_LARGE;
    }
    return SERVICE_WHY_NONE;
}

/* Fills the slot's record. The request belongs to no list yet. */
static void record(struct engine *e, uint32_t slot, const struct request *request, uint32_t body)
{
    struct request *r = &e->requests[slot];
    *r = *request;
    r->body = body;
    r->n_computed = r->n_host = r->n_cached = 0;
    r->n_preempted = 0;
    r->batch = 0;
    r->flags &= ~(uint32_t)REQUEST_CANCELLED;
    if ((r->flags & REQUEST_WANTS_SCORES) != 0 && request_n_scored(r) == 0) /* it has them */
        r->flags &= ~(uint32_t)(REQUEST_WANTS_SCORES | REQUEST_NO_PREFIX_HIT);
    if (r->kind == REQUEST_EMBED &&
        (e->specs[r->service].pools_mean || e->specs[r->service].is_encoder))
        r->flags |= REQUEST_NO_PREFIX_HIT;
    if (r->served_ns < r->arrived_ns || r->served_ns > e->view.now_ns)
        r->served_ns = r->arrived_ns; /* it was never served, or a clock is wrong */
    e->own[slot] = (struct engine_own){ .n_said = r->n_tokens };
    if (e->kept != NULL)
        e->kept[slot] = (struct engine_kept){ 0 };
    engine_pads_begin_request(e->pads, slot);
    if (e->n_planned != NULL)
        e->n_planned[slot] = 0;
    if (e->seen != NULL)
        e->seen[slot] = (struct engine_seen){ 0 };
    engine_ids_add(&e->by_id, slot);
    if (r->deadline_ns > 0 && r->deadline_ns != TIME_NEVER) {
        tree_insert(&e->deadlines, e->deadline_nodes, slot, r->deadline_ns, r->id);
        e->own[slot].has_deadline = true;
    }
}

bool engine_submit(struct engine *e, const struct request *request, const struct request_body *body,
                   int64_t now_ns)
{
    char text[256];
    engine_log_submit(e, request, body, now_ns);
    uint32_t earlier = engine_ids_find(&e->by_id, request->id), handle = 0;
    if (earlier != ENGINE_IDS_NONE && e->requests[earlier].state == REQUEST_ENDED)
        return false;
    if (earlier != ENGINE_IDS_NONE && e->requests[earlier].epoch == request->epoch)
        return true;
    if (request->service >= e->options.n_services)
        return engine_say_refusal(e, request, SERVICE_ENDED, SERVICE_FAILED,
                                  "the engine has no such service");
    if (e->is_draining || e->is_lost || !e->services[request->service].is_open)
        return engine_say_refusal(e, request, SERVICE_RETURNED, SERVICE_DRAINING, NULL);
    bool fits = engine_room_fits(e, request);
    enum service_why why = never_why(e, request, body, fits, text);
    if (why != SERVICE_WHY_NONE)
        return engine_say_refusal(e, request, SERVICE_ENDED, why, text);
    if (!fits) /* other models' weights have its room, so it waits at the gateway */
        return engine_say_refusal(e, request, SERVICE_RETURNED, SERVICE_NO_SPACE, NULL);
    if (e->bodies && e->n_free_slots > 0 && earlier == ENGINE_IDS_NONE)
        handle = engine_bodies_take(e->bodies, body, room_of(e, request));
    if (e->n_free_slots == 0 || earlier != ENGINE_IDS_NONE || (e->bodies && handle == 0))
        return engine_say_refusal(e, request, SERVICE_RETURNED, SERVICE_FULL, NULL);
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    engine_stats_tick(e, e->view.now_ns);
    uint32_t slot = engine_queue_take_slot(e);
    record(e, slot, request, handle);
    engine_room_back(e, request);
    if (e->options.is_virtual && request->n_host > 0)
        engine_swap_arrives(e, slot, request->n_host);
    if (!engine_handover_arrives(e, slot, request->ticket, request->n_host) &&
        !engine_disk_arrives(e, slot))
        engine_queue_arrive(e, slot);
    return true;
}

void engine_cancel(struct engine *e, uint64_t id, uint32_t epoch, int64_t now_ns)
{
    uint32_t slot = engine_ids_find(&e->by_id, id);
    engine_log_word(e, ENGINE_LOG_CANCEL,
                    &(struct engine_log_word){ .now_ns = now_ns, .id = id, .epoch = epoch });
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    if (slot == ENGINE_IDS_NONE || e->requests[slot].epoch != epoch)
        return;
    engine_queue_end_soon(e, slot, SERVICE_ENDED, SERVICE_CANCELLED);
    engine_step_cut(e, 0);
}

/* ---- Control. ---- */

bool engine_make_room(struct engine *e, int service, int64_t weights_bytes,
                      int64_t activation_bytes, int64_t now_ns, struct engine_room *room)
{
    engine_log_word(e, ENGINE_LOG_ROOM,
                    &(struct engine_log_word){ .now_ns = now_ns,
                                               .service = service,
                                               .weights_bytes = weights_bytes,
                                               .activation_bytes = activation_bytes });
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    return engine_room_make(e, service, weights_bytes, activation_bytes, room);
}

void engine_open_service(struct engine *e, int service, const struct perf *perf, int64_t now_ns)
{
    engine_log_perf(e, service, perf, now_ns);
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    engine_step_cut(e, 0);
    if (e->options.exec.arithmetic != NULL)
        kv_set_arithmetic(e->kv, service,
                          e->options.exec.arithmetic(e->options.exec.self, service));
    engine_room_open(e, service, perf);
}

bool engine_empty_service(struct engine *e, int service, int64_t now_ns)
{
    engine_log_word(e, ENGINE_LOG_EMPTY,
                    &(struct engine_log_word){ .now_ns = now_ns, .service = service });
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    return engine_room_empty(e, service);
}

bool engine_close_service(struct engine *e, int service, int64_t now_ns)
{
    engine_log_word(e, ENGINE_LOG_CLOSE,
                    &(struct engine_log_word){ .now_ns = now_ns, .service = service });
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    return engine_room_close(e, service);
}

bool engine_has_service(const struct engine *e, int service)
{
    return kv_has_service(e->kv, service);
}

const char *engine_add_service(struct engine *e, int service, const struct service_spec *spec,
                               const struct kv_layout *layout, int64_t now_ns)
{
    const struct engine_options *o = &e->options;
    CHECK(service >= 0 && service < o->n_services_max && !engine_has_service(e, service));
    const char *why = kv_cut_refuse(o->kv_kind, &o->kv_bounds, o->kv_unit_bytes, layout);
    if (why == NULL && engine_pads_units(o, layout) > e->n_units_aside)
        why = "padded batches of it need more room than this engine set aside";
    if (why != NULL)
        return why;
    engine_log_added(e, service, spec, layout, now_ns);
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    engine_step_cut(e, 0);
    begin_service(e, service, spec, layout);
    e->options.n_services = e->view.n_services = max_i32(o->n_services, service + 1);
    e->view.n_changes++;
    return NULL;
}

bool engine_remove_service(struct engine *e, int service, int64_t now_ns)
{
    if (!engine_has_service(e, service) || e->room_state[service] != ENGINE_ROOM_NONE ||
        engine_is_service_busy(e, service))
        return false;
    for (uint32_t slot = 0; slot < e->n_used; slot++) /* events that are still unsent */
        if (e->requests[slot].state != REQUEST_FREE && e->requests[slot].service == service)
            return false;
    engine_log_word(e, ENGINE_LOG_REMOVED,
                    &(struct engine_log_word){ .now_ns = now_ns, .service = service });
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    engine_step_cut(e, 0);
    kv_remove_service(e->kv, service);
    e->services[service] = (struct schedule_service){ .first_waiting = SCHEDULE_NONE };
    e->specs[service] = (struct service_spec){ 0 };
    set_remove(&e->listed, service);
    e->view.n_changes++;
    return true;
}

bool engine_is_service_busy(const struct engine *e, int service)
{
    return e->services[service].n_waiting + e->services[service].n_running > 0 ||
           engine_handover_is_arriving(e, service) || engine_handover_is_leaving(e, service) ||
           engine_disk_is_moving(e, service);
}

void engine_drain(struct engine *e)
{
    engine_log_word(e, ENGINE_LOG_DRAIN, &(struct engine_log_word){ .now_ns = e->view.now_ns });
    e->is_draining = true;
}

bool engine_is_lost(const struct engine *e)
{
    return e->is_lost;
}

bool engine_revive(struct engine *e, int64_t now_ns)
{
    engine_log_word(e, ENGINE_LOG_REVIVED, &(struct engine_log_word){ .now_ns = now_ns });
    if (!e->is_lost || !engine_is_idle(e) || e->n_flights > 0)
        return false;
    for (int i = 0; i < e->options.n_services; i++)
        if (e->services[i].is_open)
            return false;
    e->view.now_ns = max_i64(e->view.now_ns, now_ns);
    e->is_lost = false;
    e->is_healthy = true;
    return true;
}

bool engine_lends_host(const struct engine *e)
{
    return !engine_disk_is_idle(e);
}

bool engine_keeps_kv(const struct engine *e)
{
    return !engine_handover_is_idle(e);
}

bool engine_is_idle(const struct engine *e)
{
    return e->n_free_slots == e->options.n_requests_max;
}
