/* Shows and deletes answers that are kept, on a worker, since the database may wait for a disk. */
#include "api/responses_routes.h"
#include "api/http_parse.h"
#include "api/responses_store.h"
#include "api/seats.h"
#include "api/work.h"
#include "base/json_out.h"
#include "base/mem.h"
#include <string.h>

struct wanted {
    struct api_job job; /* first */
    struct api *api;
    struct api_http_exchange *x; /* NULL: the client has left */
    struct api_work work;
    bool is_delete, is_round;
    char id[RESPONSES_ID_BYTES];
    uint64_t tenant;
    struct str page;
    struct api_error error;
};

static bool read_id(const struct api_http_exchange *x, struct wanted *wanted)
{
    struct view path = api_path_of(&x->head);
    size_t n_prefix = strlen("/v1/responses/");
    struct view id = view_of(path.at + n_prefix, path.n - n_prefix);
    static const char round[] = "/round";
    size_t n_round = sizeof(round) - 1;
    char streams[8];
    wanted->is_round = id.n > n_round && memcmp(id.at + id.n - n_round, round, n_round) == 0;
    id.n -= wanted->is_round ? n_round : 0;
    if (id.n >= sizeof(wanted->id) || memchr(id.at, '/', id.n) != NULL)
        api_error_set(&wanted->error, ERROR_NO_ROUTE, NULL,
                      "there is nothing at this path: /v1/responses/{id} shows a response");
    else
        memcpy(wanted->id, id.at, id.n);
    if (api_http_parse_query(x->head.query, "stream", streams, sizeof streams) !=
            API_HTTP_QUERY_ABSENT &&
        strcmp(streams, "false") != 0)
        api_error_set(&wanted->error, ERROR_INVALID, "stream",
                      "a stored response is not streamed: leave stream out");
    return !wanted->error.is_set;
}

static void forget(struct wanted *wanted)
{
    struct json_out json;
    if (!api_responses_store_forget(wanted->api->responses, wanted->id, wanted->tenant,
                                    &wanted->error))
        return;
    json_out_init(&json, &wanted->page);
    json_out_open(&json, '{');
    json_out_key_text(&json, "id", wanted->id);
    json_out_key_text(&json, "object", "response");
    json_out_key_bool(&json, "deleted", true);
    json_out_close(&json, '}');
}

static void run(void *arg)
{
    struct wanted *wanted = arg;
    struct api_responses_store *store = wanted->api->responses;
    if (wanted->is_delete)
        forget(wanted);
    else if (wanted->is_round)
        (void)api_responses_store_round(store, wanted->id, wanted->tenant, &wanted->page,
                                        &wanted->error);
    else
        (void)api_responses_store_show(store, wanted->id, wanted->tenant, &wanted->page,
                                       &wanted->error);
}

static void work(struct api_job *base)
{
    struct wanted *wanted = (struct wanted *)base;
    struct api_error error = { 0 };
    if (api_work_run(&wanted->work, run, wanted, &error))
        return;
    str_init(&wanted->page);
    wanted->error = error;
}

static void done(struct api_job *base)
{
    struct wanted *wanted = (struct wanted *)base;
    struct api *api = wanted->api;
    struct api_party *party = wanted->work.party;
    if (base->is_dropped)
        api_error_set(&wanted->error, ERROR_STOPPED, NULL, "the server is stopping");
    if (wanted->x != NULL && wanted->error.is_set)
        api_refuse(wanted->x, &wanted->error);
    else if (wanted->x != NULL)
        api_reply_text(wanted->x, &wanted->page);
    str_free(&wanted->page);
    mem_give(wanted);
    api_seats_put(api, party, 1);
    api_parties_put(api_http_parties(api->http), party);
}

static void on_gone(struct api_http_exchange *x)
{
    struct wanted *wanted = x->user;
    wanted->x = NULL;
}

static void take(struct api *api, struct api_http_exchange *x, bool is_delete)
{
    struct wanted read = { .error = { 0 } };
    bool is_read = read_id(x, &read);
    if (is_read && is_delete && read.is_round)
        api_error_set(&read.error, ERROR_NO_ROUTE, NULL, "only a whole response can be deleted");
    if (read.error.is_set || !api_seats_take(api, x->party, 1, &read.error)) {
        api_refuse(x, &read.error);
        return;
    }
    struct wanted *wanted = mem_take(sizeof *wanted);
    *wanted = read;
    wanted->job = (struct api_job){ .work = work, .done = done, .rank = API_JOB_PATIENT };
    wanted->api = api;
    wanted->x = x;
    wanted->is_delete = is_delete;
    wanted->tenant = api_tenants_hash(&api->tenants, x->tenant);
    wanted->work = api_work_for(api, x->party, 0);
    api_parties_use(x->party);
    x->user = wanted;
    x->on_gone = on_gone;
    if (api_workers_put(api->workers, &wanted->job))
        return;
    api_error_set(&wanted->error, ERROR_CROWDED, NULL,
                  "too many answers are read now, try again later");
    done(&wanted->job);
}

void api_responses_routes_show(struct api *api, struct api_http_exchange *x)
{
    take(api, x, false);
}

void api_responses_routes_delete(struct api *api, struct api_http_exchange *x)
{
    take(api, x, true);
}
