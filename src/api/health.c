/* Health: alive while the loop runs, ready while the engines make progress and no drain has
 * begun. */
#include "api/health.h"
#include "api/mirror.h"
#include "api/work.h"
#include "base/time.h"
#include "metrics/self.h"
#include <stdio.h>

void api_health_live(struct api *api, struct api_http_exchange *x)
{
    (void)api;
    api_reply_json(x, 200, view_text("{\"status\":\"ok\"}"));
}

void api_health_ready(struct api *api, struct api_http_exchange *x)
{
    char why[160];
    struct api_error error = { 0 };
    bool is_well = api_mirror_is_well(api, time_now_ns(), why, sizeof(why));
    if (api->is_draining || api->mirror.is_draining)
        api_error_set(&error, ERROR_DRAINING, NULL, "the server is shutting down");
    else if (!is_well)
        api_error_set(&error, ERROR_UNWELL, NULL, "%s", why);
    if (error.is_set)
        api_refuse(x, &error);
    else
        api_reply_json(x, 200, view_text("{\"status\":\"ok\"}"));
}

void api_health_version(struct api *api, struct api_http_exchange *x)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "{\"version\":\"%s\"}",
                     api->options.version != NULL ? api->options.version : "unknown");
    api_reply_json(x, 200, view_of(text, (size_t)n));
}

static void print_own(struct api *api, struct str *out)
{
    char why[160];
    const struct mem_account *account = api->options.account;
    bool is_well = api_mirror_is_well(api, time_now_ns(), why, sizeof(why));
    str_printf(out,
               "# HELP shoal_http_connections Open client connections.\n"
               "# TYPE shoal_http_connections gauge\nshoal_http_connections %d\n"
               "# HELP shoal_http_memory_bytes Bytes held for clients, and their bound.\n"
               "# TYPE shoal_http_memory_bytes gauge\n"
               "shoal_http_memory_bytes{kind=\"held\"} %lld\n"
               "shoal_http_memory_bytes{kind=\"max\"} %lld\n"
               "# HELP shoal_http_unsent_bytes Bytes of answers that wait for their readers.\n"
               "# TYPE shoal_http_unsent_bytes gauge\nshoal_http_unsent_bytes %lld\n",
               api_http_n_connections(api->http),
               account != NULL ? (long long)mem_account_bytes(account) : 0,
               account != NULL ? (long long)account->n_bytes_max : 0,
               (long long)api_http_unsent_bytes(api->http));
    str_printf(out,
               "# HELP shoal_api_requests Requests held by the API, and its bound.\n"
               "# TYPE shoal_api_requests gauge\nshoal_api_requests{kind=\"held\"} %d\n"
               "shoal_api_requests{kind=\"max\"} %d\n",
               api->n_seats, api->options.n_requests_max);
    str_printf(out,
               "# HELP shoal_healthy 1 while the engines make progress.\n"
               "# TYPE shoal_healthy gauge\nshoal_healthy %d\n"
               "# HELP shoal_draining 1 after a drain has begun.\n"
               "# TYPE shoal_draining gauge\nshoal_draining %d\n",
               is_well, api->is_draining);
}

static void print_metrics(struct api *api, const void *of, struct str *out)
{
    const struct str *self = of;
    metrics_print(api->metrics, api->mirror.engines, api->mirror.n_engines, out);
    print_own(api, out);
    str_add(out, self->at, self->n);
    if (api->options.metrics != NULL)
        api->options.metrics(api->options.metrics_self, out);
}

void api_health_metrics(struct api *api, struct api_http_exchange *x)
{
    struct str self; /* first, since writing it opens files */
    str_init(&self);
    metrics_self_print(&self);
    api_work_reply(api, x, "text/plain; version=0.0.4; charset=utf-8", print_metrics, &self);
    str_free(&self);
}
