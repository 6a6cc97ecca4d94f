/* The API's loop, its routes and its access checks.
 *
 * There is one thread. libevent calls it (requests, signals, the service's fd, the workers' fd, one
 * timer). Every call that may change something ends in pump: tick the gateway, take events and
 * answers, check streams once a second, and set the timer to the earliest wake that is needed. */
#include "api/api.h"
#include "api/call.h"
#include "api/headers.h"
#include "api/health.h"
#include "api/http_listen.h"
#include "api/lifecycle.h"
#include "api/mirror.h"
#include "api/models.h"
#include "api/origin.h"
#include "api/responses_store.h"
#include "api/routes.h"
#include "api/spend.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/rng.h"
#include "base/time.h"
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    EVENTS_PER_PUMP = 4096, /* then the sockets have a turn */
};
static const int64_t SWEEP_NS = TIME_NS_PER_S;
static const int64_t SWEEP_DRAINING_NS = 20 * TIME_NS_PER_MS;
static const int64_t LINGER_NS = 500 * TIME_NS_PER_MS; /* for the last bytes, after a drain */
static const int64_t UNSENT_BYTES_MAX = INT64_C(1)
                                        << 29; /* also at most a quarter of http_memory */
static const int64_t UNSENT_NS_MAX = 30 * TIME_NS_PER_S;

/* --- replies --- */

void api_reply_json(struct api_http_exchange *x, int status, struct view body)
{
    api_http_reply(x, status, "application/json", body);
}

void api_reply_text(struct api_http_exchange *x, struct str *json)
{
    api_http_reply_text(x, 200, "application/json", json);
}

void api_refuse(struct api_http_exchange *x, const struct api_error *error)
{
    struct str page;
    char text[16];
    int retry_s = api_error_retry_after_s(error);
    str_init(&page);
    struct view path = x->head.path;
    enum api_error_shape shape = view_starts(path, "/v1/messages") ? ERROR_ANTHROPIC
                                 : view_starts(path, "/api/")      ? ERROR_OLLAMA
                                                                   : ERROR_OPENAI;
    api_error_print(error, shape, &page);
    if (retry_s > 0) {
        snprintf(text, sizeof(text), "%d", retry_s);
        api_http_header(x, "Retry-After", text);
    }
    if (api_error_reason(error) != NULL)
        api_http_header(x, "x-shoal-request-dropped-reason", api_error_reason(error));
    if (error->status == 504)
        api_http_header(x, "x-should-retry", "false"); /* OpenAI's clients would retry */
    if (error->status == 401)
        api_http_header(x, "WWW-Authenticate", "Bearer");
    api_reply_json(x, error->status, view_of(page.at, page.n));
    str_free(&page);
}

/* --- access --- */

struct view api_path_of(const struct api_http_head *head)
{
    struct view path = head->path;
    while (path.n > 1 && path.at[path.n - 1] == '/')
        path.n--;
    return path;
}

/* Refuses requests of foreign web pages: a route that is open to all is not open to every page that
 * a user opens in a browser. */
static bool is_no_stray_page(const struct api *api, const struct api_http_head *head,
                             struct api_error *error)
{
    if (!api_origin_is_allowed(head, api->options.cors_origin))
        api_error_set(error, ERROR_ORIGIN, NULL,
                      "without a key no web page of another origin may call (Origin), unless "
                      "cors_origin names it");
    else if (api_http_is_local(api->http) && !api_origin_is_direct(head))
        api_error_set(error, ERROR_ORIGIN, NULL,
                      "without a key a server that listens on this machine alone must be called "
                      "localhost or by its address (Host)");
    return !error->is_set;
}

static bool wants_key(const struct api *api)
{
    return api->options.api_key != NULL || api->tenants.n_keys > 0;
}

bool api_is_operator(const struct api *api, const struct api_http_head *head)
{
    const char *admin = api->options.admin_key;
    return admin != NULL ? api_headers_has_key(head, admin) : !wants_key(api);
}

/* Returns whether this exchange may use the route. */
static bool is_allowed(const struct api *api, const struct api_route *route,
                       const struct api_http_exchange *x, struct api_error *error)
{
    const struct api_http_head *head = &x->head;
    const char *key = api->options.api_key, *admin = api->options.admin_key;
    bool has_admin = admin != NULL && api_headers_has_key(head, admin);
    bool has_key = (key != NULL && api_headers_has_key(head, key)) || x->tenant != 0;
    if (route->access == API_ROUTE_FREE || has_admin || (route->access == API_ROUTE_KEY && has_key))
        return true;
    if (!wants_key(api) && (admin == NULL || route->access == API_ROUTE_KEY))
        return is_no_stray_page(api, head, error);
    if (route->access == API_ROUTE_KEY)
        api_error_set(error, ERROR_KEY, NULL, "a valid API key is needed (Authorization: Bearer)");
    else if (admin == NULL)
        api_error_set(error, ERROR_ADMIN_KEY, NULL,
                      "this is for operators, and the server was started without an admin key");
    else
        api_error_set(error, has_key ? ERROR_ADMIN_KEY : ERROR_KEY, NULL,
                      "this is for operators: the admin key is needed");
    return false;
}

uint64_t api_next_id(struct api *api)
{
    return api->options.door << 48 | (++api->counter & ((UINT64_C(1) << 48) - 1));
}

/* Adds the headers of every reply: the request's id, and permission for browsers when it was
 * granted. */
static void add_headers(struct api *api, struct api_http_exchange *x)
{
    char *id = api->request_id;
    api_headers_request_id(&x->head, id, sizeof(api->request_id));
    if (id[0] == '\0')
        snprintf(id, sizeof(api->request_id), "req-%016llx", (unsigned long long)api_next_id(api));
    api_http_header(x, "X-Request-Id", id);
    if (api->options.cors_origin == NULL)
        return;
    api_http_header(x, "Access-Control-Allow-Origin", api->options.cors_origin);
    api_http_header(x, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
    api_http_header(x, "Vary", "Origin");
}

static void answer_options(struct api *api, struct api_http_exchange *x)
{
    static const char own[] = "Authorization, Content-Type, X-Api-Key, X-Request-Id, "
                              "X-Request-Deadline-Ms, X-Slo-Ttft-Ms, X-Slo-Tpot-Ms, X-Slo-E2e-Ms";
    char asked[2048]; /* clients add headers: OpenAI's a dozen of X-Stainless-* */
    if (api->options.cors_origin != NULL) {
        bool are_fine = api_origin_asked_headers(&x->head, asked, sizeof(asked));
        api_http_header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
        api_http_header(x, "Access-Control-Allow-Headers", are_fine ? asked : own);
        api_http_header(x, "Access-Control-Max-Age", "600");
    }
    api_routes_allow(x);
    api_http_reply(x, 204, NULL, view_of("", 0));
}

/* Returns the route, if the client may use it and the request's body can be read. */
static const struct api_route *enter(const struct api *api, const struct api_http_exchange *x,
                                     struct api_error *error)
{
    const struct api_route *route = api_routes_find(&x->head, error);
    bool may_enter =
        route != NULL && is_allowed(api, route, x, error) && api_headers_is_plain(&x->head, error);
    return may_enter ? route : NULL;
}

static void refuse_entry(struct api_http_exchange *x, const struct api_error *error)
{
    if (error->status == 405)
        api_routes_allow(x);
    if (error->status == 415)
        api_http_header(x, "Accept-Encoding", "identity");
    api_refuse(x, error);
}

/* Returns the party that a request is charged to: its tenant, or the address of its client. */
static struct api_party *party_of(void *self, struct api_http_exchange *x)
{
    struct api *api = self;
    struct api_parties *parties = api_http_parties(api->http);
    struct api_address address;
    x->tenant = api_tenants_of(&api->tenants, &x->head);
    if (x->tenant != 0)
        return api_parties_take_tenant(parties, x->tenant);
    bool is_other = x->party->is_proxy && api_addresses_forwarded(&x->head, api->options.proxies,
                                                                  api->options.n_proxies, &address);
    return is_other ? api_parties_take_address(parties, &address) : NULL;
}

static bool is_vital(void *self, const struct api_http_head *head)
{
    (void)self;
    struct api_error error = { 0 };
    const struct api_route *route = api_routes_find(head, &error);
    return route != NULL && route->is_vital;
}

/* Refuses large bodies without a key, since no route that is open to all reads one. */
static bool on_head(void *self, struct api_http_exchange *x)
{
    struct api_error error = { 0 };
    bool is_options = x->head.method == HTTP_OPTIONS;
    const struct api_route *route = is_options ? NULL : enter(self, x, &error);
    if (route != NULL && route->access != API_ROUTE_FREE)
        return true;
    if (!error.is_set) {
        api_error_set(&error, ERROR_HTTP, NULL,
                      "this path accepts no body of more than %d bytes, and none in chunks",
                      HTTP_PIPELINE_BYTES_MAX);
        error.status = 413;
    }
    add_headers(self, x);
    refuse_entry(x, &error);
    return false;
}

static void on_request(void *self, struct api_http_exchange *x)
{
    struct api *api = self;
    struct api_error error = { 0 };
    add_headers(api, x);
    if (x->head.method == HTTP_OPTIONS) {
        answer_options(api, x);
        return;
    }
    const struct api_route *route = enter(api, x, &error);
    if (route != NULL)
        route->answer(api, x);
    else
        refuse_entry(x, &error);
}

static void on_bad(void *self, struct api_http_exchange *x, int status, const char *why)
{
    struct api_error error = { 0 };
    add_headers(self, x);
    api_error_set(&error, status == 503 ? ERROR_CROWDED : ERROR_HTTP, NULL, "%s", why);
    error.status = status;
    api_refuse(x, &error);
}

/* --- the loop --- */

void api_nudge(struct api *api)
{
    if (!api->is_nudged)
        api_http_wake_at(api->http, 0);
    api->is_nudged = true;
}

static int take_events(struct api *api)
{
    struct service *service = &api->options.service;
    struct service_event event;
    const void *payload;
    int n = 0;
    while (n < EVENTS_PER_PUMP && service->next(service->self, &event, &payload)) {
        api_call_event(api, &event, payload);
        n++;
    }
    const struct control *control = &api->options.control;
    struct service_change change;
    struct control_answer answer;
    bool has_changed = false;
    while (control->next_change != NULL && control->next_change(control->self, &change)) {
        api_mirror_change(api, &change);
        has_changed = true;
    }
    if (has_changed) /* both come from one report */
        (void)api_mirror_refresh(api);
    while (control->next(control->self, &answer))
        api_mirror_take(api, &answer, time_now_ns());
    return n;
}

/* Ends the drain when all requests are answered and read, or its time is over. */
static void sweep_drain(struct api *api, int64_t now_ns)
{
    bool is_over = now_ns >= api->drain_end_ns;
    if (api->n_seats > 0 && is_over && !api->has_told) {
        struct api_error error = { 0 };
        api_error_set(&error, ERROR_STOPPED, NULL, "the server stopped before the answer was done");
        log_line(LOG_WARN, "api", "the drain is over: %d requests are cut off", api->n_seats);
        api_call_fail_all(api, &error);
        api->has_told = true;
    }
    if (api->n_seats > 0 || (!is_over && api_http_unsent_bytes(api->http) > 0))
        return;
    if (api->options.leave != NULL && !api->is_cut &&
        !api->options.leave(api->options.tick_self, now_ns))
        return;
    if (api->linger_end_ns == 0) {
        api_models_end_watches(api);
        api->linger_end_ns = now_ns + LINGER_NS;
    }
    if (api_http_n_connections(api->http) == 0 || now_ns >= api->linger_end_ns)
        api_http_stop(api->http);
}

static void pump(struct api *api)
{
    int64_t now_ns = pace_due(&api->pace, api->due_ns, "came back later than asked by");
    int64_t next_ns = TIME_NEVER;
    api->is_nudged = true; /* no timer here: it is set below */
    api_call_submit(api);
    struct mem_account *before =
        mem_account_use(NULL); /* no client is charged for the loading of a model */
    if (api->options.tick != NULL)
        next_ns = api->options.tick(api->options.tick_self, now_ns);
    (void)mem_account_use(before);
    int64_t at_ns = pace_took(&api->pace, now_ns, "routing took");
    api->is_nudged = false;
    int n = take_events(api);
    (void)pace_took(&api->pace, at_ns, "answering took");
    if (now_ns >= api->sweep_ns) {
        api_mirror_sweep(api, now_ns);
        api_call_sweep(api, now_ns);
        api_models_sweep(api, now_ns);
        api_spend_sweep(api);
        (void)mem_reserve_fill();
        if (api->is_draining)
            sweep_drain(api, now_ns);
        api->sweep_ns = now_ns + (api->is_draining ? SWEEP_DRAINING_NS : SWEEP_NS);
    }
    if (n == EVENTS_PER_PUMP || api->is_nudged || api->n_unsent > 0)
        next_ns = 0;
    api->is_nudged = next_ns == 0;
    api->due_ns = max_i64(now_ns, min_i64(next_ns, api->sweep_ns));
    api_http_wake_at(api->http, min_i64(next_ns, api->sweep_ns));
}

static void on_wake(void *self)
{
    pump(self);
}

static void on_service(void *self)
{
    pump(self);
}

static void on_workers(void *self)
{
    struct api *api = self;
    api_workers_collect(api->workers);
}

static void begin_drain(struct api *api)
{
    log_line(LOG_INFO, "api", "draining: %d requests", api->n_seats);
    (void)notify_manager("STOPPING=1");
    api->is_draining = true;
    api->drain_end_ns = time_now_ns() + max_i64(api->options.drain_ns_max, 0);
    api->sweep_ns = 0;
    api_http_drain(api->http);
    api_nudge(api);
}

/* Called when the drain's time is over. The sweep sends an error to all clients that wait, then
 * ends. */
static void cut_drain(struct api *api)
{
    log_line(LOG_WARN, "api", "stopping: the drain ends now");
    api->is_cut = true;
    api->drain_end_ns = time_now_ns();
    api->sweep_ns = 0;
    api_nudge(api);
}

/* The first signal starts the drain, the second cuts it off with last replies, the third does not
 * wait for these. */
static void on_end_signal(void *self)
{
    struct api *api = self;
    if (!api->is_draining) {
        begin_drain(api);
    } else if (!api->is_cut) {
        cut_drain(api);
    } else {
        log_line(LOG_WARN, "api", "stopping at once");
        api_http_stop(api->http);
    }
}

static void on_reload_signal(void *self)
{
    struct api *api = self;
    log_line(LOG_INFO, "api", "reloading");
    if (api->options.reload != NULL)
        api->options.reload(api->options.reload_self);
}

/* --- open and close --- */

/* Collects the names of services, by number. */
static void names_of(const struct api *api, const char **names)
{
    for (int i = 0; i < api->catalog->n; i++) {
        CHECK(api->catalog->models[i]->service < LIMIT_MODELS);
        names[api->catalog->models[i]->service] = api->catalog->models[i]->name;
    }
}

void api_set_models(struct api *api, const struct api_model *const *models, int n)
{
    struct api_catalog *before = api_catalog_use(api->catalog);
    const char *names[LIMIT_MODELS] = { NULL };
    api_catalog_renew(&api->catalog, models, n);
    names_of(api, names);
    metrics_name(api->metrics, names);
    api_mirror_renew(api, before);
    api_catalog_put(&api->catalog, before);
    api_nudge(api);
}

bool api_uses_model(const struct api *api, const struct api_model *model)
{
    return api_catalog_has(api->catalog, model);
}

static void watch_all(struct api *api)
{
    struct service *service = &api->options.service;
    int fd = service->wait_fd != NULL ? service->wait_fd(service->self) : -1;
    if (fd >= 0)
        api_http_watch(api->http, fd, on_service, api);
    api_http_watch(api->http, api_workers_fd(api->workers), on_workers, api);
    api_http_watch_signal(api->http, SIGTERM, on_end_signal, api);
    api_http_watch_signal(api->http, SIGINT, on_end_signal, api);
    api_http_watch_signal(api->http, SIGHUP, on_reload_signal, api);
}

/* JSON values outlive api_open on both sides (chat templates keep some), so the allocator is set
 * before main. */
__attribute__((constructor)) static void prepare_json(void)
{
    json_object_seed((size_t)rng_system());
    json_set_alloc_funcs(mem_library_take, mem_library_give);
}

enum status api_open(struct api **out, const struct api_options *options, struct fault *fault)
{
    struct api *api = mem_take(sizeof(*api));
    api->options = *options;
    struct api_http_options http = {
        .listen = options->listen,
        .base = options->base,
        .tls = &api->tls,
        .n_connections_max = options->n_connections_max,
        .body_bytes_max = options->body_bytes_max,
        .body_ns_max = options->body_ns_max,
        .unsent_bytes_max = UNSENT_BYTES_MAX,
        .unsent_ns_max = UNSENT_NS_MAX,
        .account = options->account,
        .proxies = options->proxies,
        .n_proxies = options->n_proxies,
        .self = api,
        .party_of = party_of,
        .is_vital = is_vital,
        .on_head = on_head,
        .on_request = on_request,
        .on_bad = on_bad,
        .on_wake = on_wake,
    };
    if (options->account != NULL && options->account->n_bytes_max > 0) {
        int64_t n_quarter = options->account->n_bytes_max / 4;
        http.body_bytes_max = min_i64(http.body_bytes_max, n_quarter);
        http.unsent_bytes_max = min_i64(http.unsent_bytes_max, n_quarter);
    }
    enum status status = api_spend_open(api, fault);
    if (status == STATUS_OK)
        status = api_http_listen_tls(options->tls_cert, options->tls_key, &api->tls, fault);
    if (status == STATUS_OK)
        status = api_responses_store_open(&api->responses, options->responses,
                                          options->responses_bytes_max, fault);
    if (status == STATUS_OK)
        status = api_http_open(&api->http, &http, fault);
    if (status != STATUS_OK) {
        api_responses_store_close(api->responses);
        api_http_listen_tls_free(api->tls);
        api_spend_close(api);
        mem_give(api);
        return status;
    }
    uint32_t n = (uint32_t)max_i32(options->n_requests_max, 1);
    const char *names[LIMIT_MODELS] = { NULL };
    /* Later processes start above the ids of earlier ones, unless an earlier one gave more than 128
     * ids in each millisecond of its life. */
    api->counter = (uint64_t)(time_unix_ns() / TIME_NS_PER_MS) * 128;
    api_catalog_renew(&api->catalog, options->models, options->n_models);
    names_of(api, names);
    api->metrics = metrics_open(LIMIT_MODELS, names);
    api->workers = api_workers_open((int32_t)n);
    api->choices = mem_take(sizeof(*api->choices) * n);
    map_init(&api->ids, n);
    slots_init(&api->slots, n);
    api_mirror_open(api);
    int n_tenants = api_tenants_set(&api->tenants, options->tenants, options->n_tenants);
    if (n_tenants < options->n_tenants)
        log_line(LOG_ERROR, "api", "%d of %d tenants' keys are malformed or too many",
                 options->n_tenants - n_tenants, options->n_tenants);
    watch_all(api);
    *out = api;
    return STATUS_OK;
}

int api_port(const struct api *api)
{
    return api_http_port(api->http);
}

int api_run(struct api *api)
{
    log_line(LOG_INFO, "api", "listening on %s (port %d)", api->options.listen, api_port(api));
    if (!api_http_is_local(api->http) && api->options.admin_key == NULL &&
        api->options.api_key == NULL && api->options.n_tenants == 0)
        log_line(LOG_WARN, "api",
                 "no key is set: any client that reaches this address may use, load and "
                 "unload models");
    (void)notify_manager("READY=1");
    pace_begin(&api->pace, "io");
    api->due_ns = TIME_NEVER;
    api_nudge(api);
    api_http_run(api->http);
    bool has_failed = false; /* an engine reported it: a late report alone is no failure */
    for (int32_t i = 0; i < api->mirror.n_engines; i++)
        has_failed = has_failed || !api->mirror.engines[i].is_healthy;
    return has_failed ? 1 : 0;
}

enum status api_reload(struct api *api, const struct api_keys *keys, struct fault *fault)
{
    struct api_tenants *tenants = mem_take(sizeof(*tenants));
    enum status status = STATUS_OK;
    *tenants = api->tenants;
    if (api_tenants_set(tenants, keys->tenants, keys->n_tenants) < keys->n_tenants)
        status = fault_set(fault, STATUS_TOO_LARGE,
                           "tenants: more than %d names since the server started, which a restart "
                           "forgets",
                           API_TENANTS_MAX);
    if (status == STATUS_OK && api->tls != NULL)
        status = api_http_listen_tls(keys->tls_cert, keys->tls_key, &api->tls, fault);
    if (status == STATUS_OK) {
        api->tenants = *tenants;
        api->options.api_key = keys->api_key;
        api->options.admin_key = keys->admin_key;
        usage_quotas_set(api->quotas, keys->quotas, keys->n_quotas);
    }
    mem_give(tenants);
    return status;
}

void api_close(struct api *api)
{
    if (api == NULL)
        return;
    api_workers_close(api->workers);
    api_http_close(api->http); /* frees the parties: nothing may be charged to them later */
    api_http_listen_tls_free(api->tls);
    CHECK(api->calls == NULL);
    map_free(&api->ids);
    slots_free(&api->slots);
    mem_give(api->choices);
    api_mirror_close(api);
    api_responses_store_close(api->responses);
    metrics_close(api->metrics);
    api_spend_close(api);
    api_catalog_put(&api->catalog, api->catalog);
    mem_give(api);
}
