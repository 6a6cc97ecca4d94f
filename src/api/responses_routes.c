/* Shows and deletes answers that are kept. */
#include "api/responses_routes.h"
#include "api/responses_store.h"
#include "api/work.h"
#include "base/json_out.h"
#include <string.h>

struct wanted {
    char id[RESPONSES_ID_BYTES];
    uint64_t tenant;
    struct str page;
    struct api *api;
    struct api_error error;
};

static bool read_id(const struct api_http_exchange *x, struct wanted *wanted)
{
    struct view path = api_path_of(&x->head);
    size_t n_prefix = strlen("/v1/responses/");
    struct view id = view_of(path.at + n_prefix, path.n - n_prefix);
    if (id.n >= sizeof(wanted->id) || memchr(id.at, '/', id.n) != NULL)
        api_error_set(&wanted->error, ERROR_NO_ROUTE, NULL,
                      "there is nothing at this path: /v1/responses/{id} shows a response");
    else
        memcpy(wanted->id, id.at, id.n);
    if (memmem(x->head.query.at, x->head.query.n, "stream=true", strlen("stream=true")) != NULL)
        api_error_set(&wanted->error, ERROR_INVALID, "stream",
                      "a stored response is not streamed: leave stream out");
    return !wanted->error.is_set;
}

static void show(void *arg)
{
    struct wanted *wanted = arg;
    (void)api_responses_store_show(wanted->api->responses, wanted->id, wanted->tenant,
                                   &wanted->page, &wanted->error);
}

void api_responses_routes_show(struct api *api, struct api_http_exchange *x)
{
    struct wanted wanted = { .api = api, .tenant = api_tenants_hash(&api->tenants, x->tenant) };
    struct api_work work = api_work_for(api, x->party, 0);
    struct api_error error = { 0 };
    if (read_id(x, &wanted) && !api_work_run(&work, show, &wanted, &error)) {
        str_init(&wanted.page);
        wanted.error = error;
    }
    if (wanted.error.is_set)
        api_refuse(x, &wanted.error);
    else
        api_reply_text(x, &wanted.page);
    str_free(&wanted.page);
}

void api_responses_routes_delete(struct api *api, struct api_http_exchange *x)
{
    struct wanted wanted = { .tenant = api_tenants_hash(&api->tenants, x->tenant) };
    struct json_out json;
    if (!read_id(x, &wanted) ||
        !api_responses_store_forget(api->responses, wanted.id, wanted.tenant, &wanted.error)) {
        api_refuse(x, &wanted.error);
        return;
    }
    json_out_init(&json, &wanted.page);
    json_out_open(&json, '{');
    json_out_key_text(&json, "id", wanted.id);
    json_out_key_text(&json, "object", "response");
    json_out_key_bool(&json, "deleted", true);
    json_out_close(&json, '}');
    api_reply_json(x, 200, view_of(wanted.page.at, wanted.page.n));
    str_free(&wanted.page);
}
