/* Changes the models of a house while it runs.
 *
 * A change adds and removes models as a whole. Its opener, a thread, reads the files of the added
 * models. Then every engine takes all of them in. Only when all engines have them, gateway,
 * manager, node and API get everything in one call. Until then a fault undoes the change, and
 * nothing of it was visible. From the same instant on, a removed model is no longer found by its
 * name. It finishes the requests that it has, and then leaves (serve/offer.h draws its states). */
#include "cmd/wire_join.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "cmd/wire_house.h"
#include "cmd/wire_wishes.h"
#include "fetch/stop.h"
#include <stdatomic.h>
#include <string.h>

static const int64_t LOOK_NS = 5 * TIME_NS_PER_MS; /* between looks at what is under way */

/* ---- Names. ---- */

int wire_find_model(const struct house *house, const char *name, bool *is_by_path)
{
    for (int s = 0; s < house->n_services; s++) {
        const struct serve_offer *offer = &house->offers[s];
        if (offer->state != OFFER_THERE || !serve_offer_has_name(offer, name))
            continue;
        *is_by_path = offer->is_by_path || offer->is_defined;
        return s;
    }
    return -1;
}

bool wire_is_by_path(const struct house *house, int service)
{
    return house->offers[service].state == OFFER_THERE && house->offers[service].is_by_path;
}

int wire_models(const struct house *house, const struct api_model **out)
{
    int n = 0;
    for (int s = 0; s < house->n_services; s++)
        if (house->offers[s].state == OFFER_THERE)
            out[n++] = &house->offers[s].api;
    return n;
}

void wire_tell_api(struct house *house, struct api *api)
{
    house->api = api;
}

static void tell_models(struct house *house)
{
    const struct api_model *models[LIMIT_MODELS];
    int n = wire_models(house, models);
    if (house->api != NULL)
        api_set_models(house->api, models, n);
}

/* ---- The opener: a thread that reads the files of joining models. ---- */

/* A life that no model has, so that one that joins again is not taken for the one that leaves. */
static uint16_t new_life(struct house *house)
{
    bool is_taken = true;
    while (is_taken) {
        house->join.life++;
        is_taken = house->join.life == 0; /* the life of those that were there at the start */
        for (int s = 0; s < LIMIT_MODELS; s++)
            is_taken = is_taken || house->offers[s].service.life == house->join.life;
    }
    return house->join.life;
}

static void open_models(void *arg)
{
    struct house *house = arg;
    struct wire_join *join = &house->join;
    struct serve_offer_options options = wire_house_offer_options(house, join->change.is_by_path);
    for (int i = 0; i < join->change.n_adds && join->status == STATUS_OK; i++) {
        int s = join->offers[i];
        options.life = join->change.life > 0 ? join->change.life : new_life(house);
        join->status =
            serve_offer_open(&house->offers[s], s, &join->models[i], &options, &join->fault);
        house->offers[s].is_defined = join->status == STATUS_OK && join->change.life > 0;
        join->n_opened += join->status == STATUS_OK;
    }
    atomic_store(&join->is_opened, true);
    wake_up(&house->kick);
}

/* ---- Is it possible? ---- */

static enum status check_context(const struct house *house, const struct serve_offer *offer,
                                 struct fault *fault)
{
    int32_t n = offer->service.n_context_max;
    if (n <= house->n_tokens_max)
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE,
                     "model %.80s: its context of %d tokens is more than the %d that this server "
                     "was started for: set its ctx to that, or restart",
                     offer->service.name, (int)n, (int)house->n_tokens_max);
}

/* Checks everything of a model that a start checks, and refuses what only a start can give. */
static enum status check_offer(const struct house *house, struct serve_offer *offer,
                               struct fault *fault)
{
    if (house->n_engines == 0)
        return STATUS_OK; /* a gateway */
    enum status status = check_context(house, offer, fault);
    if (status == STATUS_OK)
        status = serve_kv_join(&house->kv, &house->config, &offer->model, &offer->shape,
                               &offer->layout, fault);
    if (status == STATUS_OK)
        status = wire_house_check_bytes(house, offer, fault);
    return status;
}

/* ---- A change. ---- */

static void take_models(struct wire_join *join, const struct wire_change *change)
{
    for (int i = 0; i < change->n_adds; i++)
        join->models[i] = change->adds[i];
    join->change = *change;
    join->change.adds = join->models;
}

enum status wire_change(struct house *house, const struct wire_change *change, struct fault *fault)
{
    struct wire_join *join = &house->join;
    int n = 0;
    if (house->n_engines == 0 && change->life == 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "a gateway's models are those that it started with, and those that "
                         "`shoal deploy` brings in: restart it, or deploy the model");
    if (wire_is_changing(house))
        return fault_set(fault, STATUS_BUSY,
                         "another change of the models is under way: try again soon");
    for (int s = 0; s < LIMIT_MODELS && n < change->n_adds; s++)
        if (house->offers[s].state == OFFER_VACANT)
            join->offers[n++] = s;
    if (n < change->n_adds)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "a server has at most %d models, those that are still leaving included",
                         LIMIT_MODELS);
    take_models(join, change);
    for (int i = 0; i < n; i++)
        house->offers[join->offers[i]].state = OFFER_OPENING;
    join->n_opened = 0;
    join->status = STATUS_OK;
    join->fault.text[0] = '\0';
    atomic_store(&join->is_opened, false);
    join->phase = WIRE_OPENING;
    join->opener = thread_start("opener", open_models, house);
    return STATUS_OK;
}

bool wire_is_changing(const struct house *house)
{
    return house->join.phase != WIRE_NONE;
}

static void finish(struct house *house, enum status status, const struct fault *fault, int service)
{
    struct wire_join *join = &house->join;
    const struct wire_change change = join->change;
    join->phase = WIRE_NONE;
    change.done(change.self, status, fault, service);
}

static void close_offer(struct house *house, struct serve_offer *offer)
{
    grammar_cache_forget(house->grammars, offer->card.tokenizer);
    serve_offer_close(offer);
}

/* Gives up. The offers were not visible yet: engines drop those that they have, and the others
 * become vacant. */
static void give_up(struct house *house, enum status status)
{
    struct wire_join *join = &house->join;
    const struct fault fault = join->fault;
    bool is_in_engines = join->phase == WIRE_ADDING;
    for (int i = 0; i < join->change.n_adds; i++) {
        struct serve_offer *offer = &house->offers[join->offers[i]];
        if (is_in_engines)
            offer->state = OFFER_REMOVING;
        else
            close_offer(house, offer);
    }
    finish(house, status, &fault, -1);
}

static void add_to_engines(struct house *house)
{
    struct wire_join *join = &house->join;
    join->phase = WIRE_ADDING;
    for (int i = 0; i < join->change.n_adds; i++) {
        int s = join->offers[i];
        const struct serve_offer *offer = &house->offers[s];
        house->n_services = max_i32(house->n_services, s + 1);
        for (int e = 0; e < house->n_engines; e++) {
            struct engine_place *place = &house->engines[e];
            struct run_unit_joins joins = { .service = &offer->service,
                                            .layout = &offer->layout,
                                            .path = offer->model.path,
                                            .spec = &offer->card.spec,
                                            .tokenizer = offer->card.tokenizer,
                                            .kv_dtype = offer->kv_dtype };
            if (offer->profile.n_groups > 0 && place->device_spec.n_ranks == 0)
                joins.perf = predict_profile_perf(&offer->profile, place->device_spec.n_cores);
            wire_unit_add_service(&place->unit, s, &joins);
        }
    }
}

static void take_opened(struct house *house)
{
    struct wire_join *join = &house->join;
    thread_join(join->opener);
    join->opener = NULL;
    for (int i = 0; i < join->n_opened; i++)
        house->offers[join->offers[i]].state = OFFER_OPEN;
    for (int i = 0; i < join->n_opened && join->status == STATUS_OK; i++)
        join->status = check_offer(house, &house->offers[join->offers[i]], &join->fault);
    if (join->status != STATUS_OK)
        give_up(house, join->status);
    else
        add_to_engines(house);
}

static void begin_leaving(struct serve_offer *offer)
{
    if (offer->state != OFFER_THERE)
        return;
    offer->state = OFFER_LEAVING;
    log_line(LOG_INFO, "serve", "model %s leaves when the requests that it has are over",
             offer->service.name);
}

void wire_remove_model(struct house *house, int service)
{
    begin_leaving(&house->offers[service]);
    tell_models(house);
    wake_up(&house->kick);
}

/* All engines have all models: makes the change visible. */
static void commit(struct house *house)
{
    struct wire_join *join = &house->join;
    const struct wire_change *change = &join->change;
    for (int i = 0; i < change->n_adds; i++) {
        int s = join->offers[i];
        struct serve_offer *offer = &house->offers[s];
        for (int e = 0; e < house->n_engines; e++)
            wire_unit_admit_service(&house->engines[e].unit, s);
        if (house->node == NULL)
            offer->service.engines = (struct set){ { 0 } }; /* any node's */
        cluster_gateway_add_service(house->gateway, s, &offer->service);
        if (house->node != NULL) {
            cluster_node_add_service(house->node, s, &offer->service);
            cluster_manager_add_service(house->manager, s, &offer->service, offer->need_bytes);
        }
        wire_wishes_forget(house, s);
        offer->state = OFFER_THERE;
        log_line(LOG_INFO, "serve", "model %s is there: %s", offer->service.name,
                 offer->model.path);
    }
    for (int i = 0; i < change->n_removes; i++)
        begin_leaving(&house->offers[change->removes[i]]);
    tell_models(house);
    finish(house, STATUS_OK, &join->fault, change->n_adds > 0 ? join->offers[0] : -1);
}

static void step_change(struct house *house)
{
    struct wire_join *join = &house->join;
    bool are_ready = true;
    if (join->phase == WIRE_OPENING) {
        if (atomic_load(&join->is_opened))
            take_opened(house);
        return;
    }
    for (int i = 0; i < join->change.n_adds; i++) {
        int s = join->offers[i];
        for (int e = 0; e < house->n_engines; e++) {
            const struct wire_unit *unit = &house->engines[e].unit;
            enum run_unit_presence offer = wire_unit_presence(unit, s);
            are_ready = are_ready && offer != RUN_UNIT_ADDING;
            if (offer == RUN_UNIT_REFUSED && join->status == STATUS_OK)
                join->status = fault_set(&join->fault, STATUS_TOO_LARGE, "model %.80s: %s",
                                         house->offers[s].service.name, wire_unit_refusal(unit, s));
        }
    }
    if (!are_ready)
        return;
    if (join->status == STATUS_OK && join->change.settle != NULL)
        join->status = join->change.settle(join->change.self, &join->fault);
    if (join->status != STATUS_OK)
        give_up(house, join->status);
    else
        commit(house);
}

/* ---- Models that leave. ---- */

/* Returns false while an engine still has it. */
static bool leave_engines(struct house *house, int s)
{
    bool is_out = true;
    for (int e = 0; e < house->n_engines; e++) {
        struct wire_unit *unit = &house->engines[e].unit;
        enum run_unit_presence offer = wire_unit_presence(unit, s);
        if (offer != RUN_UNIT_NONE && offer != RUN_UNIT_REMOVING)
            (void)wire_unit_remove_service(unit, s); /* else at the next look */
        is_out = is_out && wire_unit_presence(unit, s) == RUN_UNIT_NONE;
    }
    return is_out;
}

static void step_leaving(struct house *house, int s)
{
    struct serve_offer *offer = &house->offers[s];
    bool is_used = house->api != NULL && api_uses_model(house->api, &offer->api);
    switch (offer->state) {
    case OFFER_LEAVING:
        if (is_used || cluster_gateway_n_requests_of(house->gateway, s) > 0)
            return;
        if (house->manager != NULL)
            cluster_manager_dismiss_service(house->manager, s);
        offer->state = OFFER_GOING;
        return;
    case OFFER_GOING:
        if (house->manager != NULL && !cluster_manager_remove_service(house->manager, s))
            return;
        CHECK(cluster_gateway_remove_service(house->gateway, s));
        if (house->node != NULL)
            cluster_node_remove_service(house->node, s);
        offer->state = OFFER_REMOVING;
        return;
    default:
        if (!leave_engines(house, s))
            return;
        log_line(LOG_INFO, "serve", "model %s has left", offer->service.name);
        close_offer(house, offer);
        return;
    }
}

int64_t wire_join_step(struct house *house, int64_t now_ns)
{
    bool is_under_way = wire_is_changing(house);
    if (is_under_way)
        step_change(house);
    for (int s = 0; s < house->n_services; s++) {
        if (house->offers[s].state < OFFER_LEAVING)
            continue;
        is_under_way = true;
        step_leaving(house, s);
    }
    return is_under_way ? now_ns + LOOK_NS : TIME_NEVER;
}

void wire_join_end(struct house *house)
{
    fetch_stop();
    if (house->join.opener != NULL)
        thread_join(house->join.opener);
    house->join.opener = NULL;
}
