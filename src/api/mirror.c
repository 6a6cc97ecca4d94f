/* Keeps the last reports, checks that engines make progress, and joins commands to their
 * results. */
#include "api/mirror.h"
#include "api/models.h"
#include "base/mem.h"
#include "base/time.h"
#include <stdio.h>
#include <string.h>

static const int64_t STUCK_NS = 30 * TIME_NS_PER_S;       /* unless the options set another time */
static const int64_t ANSWER_NS_MAX = 900 * TIME_NS_PER_S; /* since a load may take long */

void api_mirror_open(struct api *api)
{
    struct api_mirror *mirror = &api->mirror;
    mirror->is_healthy = true;
    mirror->said_ns = time_now_ns();
}

void api_mirror_close(struct api *api)
{
    mem_give(api->mirror.engines);
    mem_give(api->mirror.steps);
}

bool api_mirror_set_engines(struct api *api, int32_t n_engines)
{
    struct api_mirror *mirror = &api->mirror;
    if (mirror->n_engines == n_engines)
        return true;
    void *engines = mem_try(sizeof(*mirror->engines) * (size_t)n_engines);
    void *steps = mem_try(sizeof(*mirror->steps) * (size_t)n_engines);
    if (engines == NULL || steps == NULL) {
        mem_give(engines);
        mem_give(steps);
        return false;
    }
    mem_give(mirror->engines);
    mem_give(mirror->steps);
    mirror->n_engines = n_engines;
    mirror->engines = engines;
    mirror->steps = steps;
    return true;
}

/* Returns the place of a command; NULL when it is not ours or was given up. */
static struct api_pending *find_pending(struct api_mirror *mirror, uint64_t id)
{
    for (int i = 0; i < API_PENDING_MAX; i++)
        if (mirror->pending[i].id == id)
            return &mirror->pending[i];
    return NULL;
}

static void on_gone(struct api_http_exchange *x)
{
    struct api_pending *pending = x->user;
    pending->x = NULL; /* the command goes on, since a load does not depend on its client */
}

static void on_round_gone(struct api_http_exchange *x)
{
    struct api_round *round = x->user;
    round->x = NULL;
}

static void set_busy(struct api_error *error)
{
    api_error_set(error, ERROR_BUSY, NULL, "too many such requests are under way");
}

/* Returns NULL when there is no room. Two places are reserved for our own commands; otherwise many
 * loads would make the engines look ill. */
static struct api_pending *put_ask(struct api *api, enum control_kind kind, uint16_t service,
                                   struct api_http_exchange *x)
{
    struct api_mirror *mirror = &api->mirror;
    struct api_pending *pending = find_pending(mirror, 0);
    struct control_ask ask = { .id = ++mirror->counter, .kind = (uint8_t)kind, .service = service };
    bool is_ours = x == NULL && (kind == CONTROL_LIST || kind == CONTROL_HEALTH);
    if (!is_ours && pending != NULL && pending >= &mirror->pending[API_PENDING_MAX - 2])
        pending = NULL;
    if (pending == NULL || !api->options.control.ask(api->options.control.self, &ask))
        return NULL;
    *pending = (struct api_pending){
        .id = ask.id, .kind = ask.kind, .service = service, .since_ns = time_now_ns(), .x = x
    };
    if (x != NULL) {
        x->user = pending;
        x->on_gone = on_gone;
    }
    api_nudge(api);
    return pending;
}

/* Replies with the result, unless the client has left. */
static void reply(struct api_http_exchange *x, const struct api_error *error)
{
    if (x != NULL && error->is_set)
        api_refuse(x, error);
    else if (x != NULL)
        api_reply_json(x, 200, view_text("{\"success\":true}"));
}

void api_mirror_ask(struct api *api, enum control_kind kind, uint16_t service,
                    struct api_http_exchange *x)
{
    struct api_error error = { 0 };
    if (put_ask(api, kind, service, x) != NULL)
        return;
    set_busy(&error);
    reply(x, &error);
}

static void end_ask(struct api_round *round)
{
    if (--round->n_asks == 0)
        reply(round->x, &round->error);
}

void api_mirror_ask_all(struct api *api, enum control_kind kind, struct api_http_exchange *x)
{
    struct api_round *round = NULL;
    for (int i = 0; i < API_ROUNDS_MAX && round == NULL; i++)
        if (api->mirror.rounds[i].n_asks == 0)
            round = &api->mirror.rounds[i];
    if (round == NULL) {
        struct api_error error = { 0 };
        set_busy(&error);
        reply(x, &error);
        return;
    }
    *round = (struct api_round){ .x = x, .n_asks = 1 }; /* 1 is ours until all are sent */
    x->user = round;
    x->on_gone = on_round_gone;
    for (int i = 0; i < api->catalog->n; i++) {
        if (api->catalog->models[i]->variant > 0)
            continue; /* it comes and goes with its model */
        struct api_pending *pending = put_ask(api, kind, api->catalog->models[i]->service, NULL);
        if (pending == NULL) {
            set_busy(&round->error);
            continue;
        }
        pending->round = round;
        round->n_asks++;
    }
    end_ask(round);
}

bool api_mirror_refresh(struct api *api)
{
    return put_ask(api, CONTROL_LIST, 0, NULL) != NULL;
}

void api_mirror_states(struct api *api, struct api_http_exchange *x)
{
    if (!api_is_operator(api, &x->head))
        api_models_list(api, x);
    else if (put_ask(api, CONTROL_LIST, 0, x) == NULL)
        api_models_print_states(api, x); /* too many wait: the last report is used */
}

static bool is_pending(const struct api_mirror *mirror, uint8_t kind)
{
    for (int i = 0; i < API_PENDING_MAX; i++)
        if (mirror->pending[i].id != 0 && mirror->pending[i].kind == kind)
            return true;
    return false;
}

/* Ends a command. */
static void settle(struct api_pending *pending, const struct api_error *error)
{
    struct api_http_exchange *x = pending->x;
    struct api_round *round = pending->round;
    *pending = (struct api_pending){ 0 };
    if (round != NULL) {
        if (!round->error.is_set)
            round->error = *error;
        end_ask(round);
        return;
    }
    reply(x, error);
}

void api_mirror_sweep(struct api *api, int64_t now_ns)
{
    struct api_mirror *mirror = &api->mirror;
    for (int i = 0; i < API_PENDING_MAX; i++) {
        struct api_pending *pending = &mirror->pending[i];
        if (pending->id == 0 || now_ns - pending->since_ns < ANSWER_NS_MAX)
            continue;
        struct api_error error = { 0 };
        api_error_set(&error, ERROR_HOUSE, NULL, "there was no answer in %lld s",
                      (long long)(ANSWER_NS_MAX / TIME_NS_PER_S));
        settle(pending, &error);
    }
    if (!is_pending(mirror, CONTROL_LIST))
        api_mirror_ask(api, CONTROL_LIST, 0, NULL);
    if (!is_pending(mirror, CONTROL_HEALTH))
        api_mirror_ask(api, CONTROL_HEALTH, 0, NULL);
}

/* Notes progress of engines. An engine without work counts as making progress. */
static void note_steps(struct api_mirror *mirror, int64_t now_ns)
{
    for (int32_t i = 0; i < mirror->n_engines; i++) {
        const struct engine_report *engine = &mirror->engines[i];
        if (engine->n_steps != mirror->steps[i].n_steps || engine->n_requests == 0)
            mirror->steps[i].moved_ns = now_ns;
        mirror->steps[i].n_steps = engine->n_steps;
    }
}

static const char *name_of(const struct api *api, uint16_t service)
{
    for (int i = 0; i < api->catalog->n; i++)
        if (api->catalog->models[i]->service == service && api->catalog->models[i]->variant == 0)
            return api->catalog->models[i]->name;
    return "";
}

/* Finds the error of a command. A file that is wrong or missing is no mistake of the client that
 * asked for the model. So the client gets the error that requests for the model get, with a more
 * precise sentence. A client that asked for all models learns which model failed. */
static void judge(const struct api *api, const struct api_pending *pending,
                  const struct control_answer *said, struct api_error *error)
{
    static const enum api_error_kind kinds[] = {
        [STATUS_BAD_INPUT] = ERROR_LOAD_FAILED, [STATUS_UNSUPPORTED] = ERROR_LOAD_FAILED,
        [STATUS_NOT_FOUND] = ERROR_LOAD_FAILED, [STATUS_IO] = ERROR_LOAD_FAILED,
        [STATUS_TOO_LARGE] = ERROR_TOO_LARGE,   [STATUS_BUSY] = ERROR_BUSY,
        [STATUS_CANCELLED] = ERROR_BUSY,
    };
    if (said->status == STATUS_OK)
        return;
    enum api_error_kind kind =
        (size_t)said->status < COUNT_OF(kinds) ? kinds[said->status] : ERROR_HOUSE;
    const char *name = pending->round != NULL ? name_of(api, pending->service) : "";
    api_error_set(error, kind, NULL, "%s%s%s", name, name[0] != '\0' ? ": " : "",
                  said->fault.text[0] != '\0' ? said->fault.text : status_name(said->status));
}

void api_mirror_change(struct api *api, const struct service_change *change)
{
    struct api_mirror *mirror = &api->mirror;
    if (change->engine >= mirror->n_engines ||
        change->service >= mirror->engines[change->engine].n_services)
        return; /* nothing is known of it yet: the first report shows it */
    service_change_apply(change, &mirror->engines[change->engine].services[change->service]);
    if (change->status == SERVICE_BROKEN)
        mirror->faults[change->service] = change->fault;
    else if (change->status == SERVICE_LOADED)
        mirror->faults[change->service].text[0] = '\0';
    api_models_changed(api);
}

static bool is_in(const struct api_catalog *catalog, const struct api_model *model, bool by_name)
{
    for (int i = 0; i < catalog->n; i++)
        if (catalog->models[i] == model ||
            (by_name && strcmp(catalog->models[i]->name, model->name) == 0))
            return true;
    return false;
}

void api_mirror_renew(struct api *api, const struct api_catalog *before)
{
    struct api_mirror *mirror = &api->mirror;
    for (int i = 0; i < api->catalog->n; i++) {
        const struct api_model *model = api->catalog->models[i];
        uint16_t service = model->service;
        if (is_in(before, model, false))
            continue;
        mirror->faults[service].text[0] = '\0';
        memset(mirror->seen[service], UINT8_MAX, sizeof(mirror->seen[service]));
        for (int32_t e = 0; e < mirror->n_engines; e++) {
            struct engine_report *engine = &mirror->engines[e];
            engine->services[service] = (struct service_report){ 0 };
            engine->n_services = max_i32(engine->n_services, service + 1);
        }
    }
    for (int i = 0; i < before->n; i++)
        if (before->models[i]->variant == 0 && !is_in(api->catalog, before->models[i], true))
            api_models_gone(api, before->models[i]);
    api_models_changed(api);
}

/* When all models are to sleep, one without room in host memory is unloaded. */
static bool is_unloaded_instead(struct api *api, struct api_pending *pending,
                                const struct control_answer *said)
{
    struct api_pending before = *pending;
    if (before.kind != CONTROL_SLEEP || before.round == NULL || said->status != STATUS_TOO_LARGE)
        return false;
    *pending = (struct api_pending){ 0 };
    struct api_pending *next = put_ask(api, CONTROL_UNLOAD, before.service, NULL);
    if (next == NULL) {
        *pending = before;
        return false;
    }
    next->round = before.round;
    return true;
}

void api_mirror_take(struct api *api, const struct control_answer *said, int64_t now_ns)
{
    struct api_mirror *mirror = &api->mirror;
    struct api_pending *pending = said->id != 0 ? find_pending(mirror, said->id) : NULL;
    if (pending == NULL)
        return;
    if (said->engines != NULL &&
        (pending->kind == CONTROL_LIST || pending->kind == CONTROL_HEALTH) &&
        api_mirror_set_engines(api, said->n_engines)) { /* otherwise the next report may fit */
        for (int i = 0; i < mirror->n_engines; i++)
            memcpy(&mirror->engines[i], &said->engines[i],
                   engine_report_bytes(said->engines[i].n_services));
        note_steps(mirror, now_ns);
        api_models_changed(api);
    }
    if (pending->kind == CONTROL_HEALTH) {
        mirror->is_healthy = said->is_healthy;
        mirror->is_draining = said->is_draining;
        mirror->said_ns = now_ns;
    }
    if (pending->kind == CONTROL_LIST && pending->x != NULL) {
        api_models_print_states(api, pending->x);
        pending->x = NULL;
    }
    struct api_error error = { 0 };
    judge(api, pending, said, &error);
    if (!is_unloaded_instead(api, pending, said))
        settle(pending, &error);
}

/* The engines report that they are not healthy. Names the engine that is the cause. */
static void name_the_ill(const struct api_mirror *mirror, int64_t now_ns, char *why, size_t n_max)
{
    const struct engine_report *oldest = NULL;
    snprintf(why, n_max, "an engine has failed");
    for (int32_t i = 0; i < mirror->n_engines; i++) {
        const struct engine_report *engine = &mirror->engines[i];
        if (!engine->is_healthy) {
            snprintf(why, n_max, "engine %d has failed", engine->engine);
            return;
        }
        if (oldest == NULL || engine->now_ns < oldest->now_ns)
            oldest = engine;
    }
    if (oldest != NULL)
        snprintf(why, n_max, "engine %d has not reported for %lld s", oldest->engine,
                 (long long)((now_ns - oldest->now_ns) / TIME_NS_PER_S));
}

bool api_mirror_is_well(const struct api *api, int64_t now_ns, char *why, size_t n_max)
{
    const struct api_mirror *mirror = &api->mirror;
    int64_t stuck_ns = api->options.stall_ns > 0 ? api->options.stall_ns : STUCK_NS;
    if (now_ns - mirror->said_ns > stuck_ns) {
        snprintf(why, n_max, "the engines have not reported for %lld s",
                 (long long)((now_ns - mirror->said_ns) / TIME_NS_PER_S));
        return false;
    }
    for (int32_t i = 0; i < mirror->n_engines; i++) {
        const struct engine_report *engine = &mirror->engines[i];
        int64_t still_ns = now_ns - mirror->steps[i].moved_ns;
        if (still_ns > stuck_ns) {
            snprintf(why, n_max, "engine %d has %d requests but has not made a step for %lld s",
                     engine->engine, engine->n_requests, (long long)(still_ns / TIME_NS_PER_S));
            return false;
        }
    }
    if (mirror->is_healthy)
        snprintf(why, n_max, "ok");
    else
        name_the_ill(mirror, now_ns, why, n_max);
    return mirror->is_healthy;
}
