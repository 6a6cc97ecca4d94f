/* Answers a manager's HTTP endpoint. */
#include "fleet/endpoint.h"

#include "api/headers.h"
#include "api/http.h"
#include "api/http_listen.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/time.h"
#include "config/config.h"
#include <openssl/ssl.h>

enum { CONNECTIONS_MAX = 64, BODY_BYTES_MAX = 1024 };

struct fleet_endpoint {
    struct fleet_endpoint_options options;
    struct api_http *http;
    struct ssl_ctx_st *tls;
};

static void refuse(void *self, struct api_http_exchange *x, int status, const char *why)
{
    struct str body;
    struct json_out json;
    (void)self;
    str_init(&body);
    json_out_init(&json, &body);
    json_out_open(&json, '{');
    json_out_key(&json, "error");
    json_out_open(&json, '{');
    json_out_key_text(&json, "message", why);
    json_out_close(&json, '}');
    json_out_close(&json, '}');
    api_http_reply(x, status, "application/json", view_of(body.at, body.n));
    str_free(&body);
}

static void answer(struct fleet_endpoint *e, struct api_http_exchange *x,
                   void (*page)(void *self, struct str *out), const char *type)
{
    struct str body;
    str_init(&body);
    page(e->options.self, &body);
    api_http_reply(x, 200, type, view_of(body.at != NULL ? body.at : "", body.n));
    str_free(&body);
}

static void on_request(void *self, struct api_http_exchange *x)
{
    struct fleet_endpoint *e = self;
    const char *key = e->options.config->admin_key;
    const struct view path = x->head.path;
    bool leads = e->options.leads(e->options.self);
    if (x->head.method != HTTP_GET && x->head.method != HTTP_HEAD) {
        refuse(e, x, 405, "a manager answers GET alone");
        return;
    }
    if (view_equal(path, view_text("/health"))) {
        api_http_reply(x, 200, "application/json",
                       view_text(leads ? "{\"status\":\"ok\",\"leads\":true}"
                                       : "{\"status\":\"ok\",\"leads\":false}"));
        return;
    }
    bool is_metrics = view_equal(path, view_text("/metrics"));
    bool is_monitor = view_equal(path, view_text("/monitor"));
    bool is_plan = view_equal(path, view_text("/plan"));
    if (key != NULL && !api_headers_has_key(&x->head, key))
        refuse(e, x, 401, "the admin key is needed (Authorization: Bearer KEY)");
    else if (!is_metrics && !is_monitor && !is_plan)
        refuse(e, x, 404, "there are /health, /metrics, /monitor and /plan");
    else if (!leads && !is_metrics)
        refuse(e, x, 503, "another manager leads: `shoal cluster status` names it");
    else if (is_metrics)
        answer(e, x, e->options.metrics, "text/plain; version=0.0.4");
    else
        answer(e, x, is_plan ? e->options.plan : e->options.monitor, "application/json");
}

static void on_wake(void *self)
{
    (void)self;
}

enum status fleet_endpoint_open(struct fleet_endpoint **out,
                                const struct fleet_endpoint_options *options, struct fault *fault)
{
    const struct config *config = options->config;
    *out = NULL;
    if (config->monitor_listen == NULL)
        return STATUS_OK;
    struct fleet_endpoint *e = mem_take(sizeof *e);
    e->options = *options;
    const struct api_http_options http = {
        .listen = config->monitor_listen,
        .base = options->base,
        .tls = &e->tls,
        .n_connections_max = CONNECTIONS_MAX,
        .body_bytes_max = BODY_BYTES_MAX,
        .body_ns_max = 5 * TIME_NS_PER_S,
        .unsent_bytes_max = INT64_C(64) << 20,
        .unsent_ns_max = 10 * TIME_NS_PER_S,
        .self = e,
        .on_request = on_request,
        .on_bad = refuse,
        .on_wake = on_wake,
    };
    enum status status = api_http_listen_tls(config->tls_cert, config->tls_key, &e->tls, fault);
    if (status == STATUS_OK)
        status = api_http_open(&e->http, &http, fault);
    if (status == STATUS_OK && !api_http_is_local(e->http) && config->admin_key == NULL)
        status =
            fault_set(fault, STATUS_BAD_INPUT,
                      "monitor_listen %.80s can be reached from other machines: set admin_key, "
                      "or listen on 127.0.0.1",
                      config->monitor_listen);
    if (status == STATUS_OK)
        *out = e;
    else
        fleet_endpoint_close(e);
    return status;
}

void fleet_endpoint_close(struct fleet_endpoint *e)
{
    if (e == NULL)
        return;
    api_http_close(e->http);
    api_http_listen_tls_free(e->tls);
    mem_give(e);
}
