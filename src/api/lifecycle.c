/* POST /models/load, unload, sleep and wake: for a known model by its name. For another model by
 * its path: loading then adds it, and unloading removes it again. POST /models/pause, unpause, pin
 * and unpin. */
#include "api/lifecycle.h"
#include "api/fields.h"
#include "api/mirror.h"
#include <string.h>

enum { BODY_VALUES_MAX = 4096 };

/* Sets the error that reports a fault of the server to clients. */
static void set_fault(struct api_error *error, enum status status, const struct fault *fault)
{
    static const enum api_error_kind kinds[] = {
        [STATUS_BAD_INPUT] = ERROR_INVALID,   [STATUS_UNSUPPORTED] = ERROR_INVALID,
        [STATUS_NOT_FOUND] = ERROR_INVALID,   [STATUS_IO] = ERROR_INVALID,
        [STATUS_TOO_LARGE] = ERROR_TOO_LARGE, [STATUS_BUSY] = ERROR_BUSY,
        [STATUS_CANCELLED] = ERROR_BUSY,
    };
    bool is_known = (size_t)status < COUNT_OF(kinds) && status != STATUS_OK;
    api_error_set(error, is_known ? kinds[status] : ERROR_HOUSE, NULL, "%s", fault->text);
}

static void on_gone(struct api_http_exchange *x)
{
    struct api *api = x->user;
    api->adding = NULL; /* the command itself goes on */
}

/* Adds a model. It needs an admin key, because it opens files that the server can read. */
static void add(struct api *api, struct api_http_exchange *x, const struct api_add *add_,
                struct api_error *error)
{
    struct fault fault;
    if (api->options.admin_key == NULL)
        api_error_set(error, ERROR_ADMIN_KEY, "path",
                      "path needs an admin key, and this server was started without one");
    else if (api->options.adding.add == NULL)
        api_error_set(error, ERROR_INVALID, "path", "this server cannot add models by path");
    else if (api->is_draining)
        api_error_set(error, ERROR_DRAINING, NULL, "the server is shutting down");
    else if (api->is_adding)
        api_error_set(error, ERROR_BUSY, NULL,
                      "another model is being added: try again when it is there");
    if (error->is_set)
        return;
    enum status status = api->options.adding.add(api->options.adding.self, add_, &fault);
    if (status != STATUS_OK) {
        set_fault(error, status, &fault);
        return;
    }
    api->is_adding = true;
    api->adding = x;
    x->user = api;
    x->on_gone = on_gone;
    api_nudge(api);
}

void api_lifecycle_added(struct api *api, enum status status, const struct fault *fault,
                         uint16_t service)
{
    struct api_http_exchange *x = api->adding;
    struct api_error error = { 0 };
    api->adding = NULL;
    api->is_adding = false;
    if (status == STATUS_OK) {
        api_mirror_ask(api, CONTROL_LOAD, service, x); /* also when its client has left */
        return;
    }
    set_fault(&error, status, fault);
    if (x != NULL)
        api_refuse(x, &error);
}

static const char *name_of(const struct api_fields *fields)
{
    const char *name = api_fields_text(fields, "model");
    return name != NULL ? name : api_fields_text(fields, "name");
}

/* Returns the model that a body names; NULL: the error is set, and the caller's to answer. */
static const struct api_model *model_of(struct api *api, const struct api_fields *fields)
{
    const char *name = name_of(fields);
    const struct api_model *model =
        fields->error->is_set ? NULL : api_catalog_find(api->catalog, name, fields->error);
    if (model == NULL || model->variant == 0)
        return model;
    api_error_set(fields->error, ERROR_INVALID, "model",
                  "%.120s is an adapter, which comes and goes with its model: name %.120s",
                  model->name, model->parent);
    return NULL;
}

static void load(struct api *api, struct api_http_exchange *x, const struct api_fields *fields)
{
    static const int64_t contexts[] = { 1, LIMIT_CONTEXT };
    struct api_add add_ = { .path = api_fields_text(fields, "path"), .name = name_of(fields) };
    api_fields_i64(fields, "ctx", contexts, &add_.n_context);
    if (fields->error->is_set)
        return;
    if (add_.path != NULL) {
        add(api, x, &add_, fields->error);
        return;
    }
    if (add_.n_context > 0)
        api_error_set(fields->error, ERROR_INVALID, "ctx",
                      "ctx is only for a model that path adds");
    const struct api_model *model =
        fields->error->is_set ? NULL : api_catalog_find(api->catalog, add_.name, fields->error);
    if (model != NULL)
        api_mirror_ask(api, CONTROL_LOAD, model->service, x);
}

static void remove_model(struct api *api, struct api_http_exchange *x,
                         const struct api_model *model, struct api_error *error)
{
    struct fault fault = { "this server cannot remove models" };
    enum status status = STATUS_UNSUPPORTED;
    if (api->options.adding.remove != NULL)
        status = api->options.adding.remove(api->options.adding.self, model->service, &fault);
    if (status != STATUS_OK)
        set_fault(error, status, &fault);
    else
        api_reply_json(x, 200, view_text("{\"success\":true}"));
}

static void unload(struct api *api, struct api_http_exchange *x, const struct api_fields *fields)
{
    bool is_for_good = false;
    api_fields_bool(fields, "remove", &is_for_good);
    const struct api_model *model = model_of(api, fields);
    if (model != NULL && is_for_good)
        remove_model(api, x, model, fields->error);
    else if (model != NULL)
        api_mirror_ask(api, CONTROL_UNLOAD, model->service, x);
}

static void take(struct api *api, struct api_http_exchange *x,
                 void (*f)(struct api *api, struct api_http_exchange *x,
                           const struct api_fields *fields))
{
    struct api_error error = { 0 };
    json_t *object = api_fields_open(view_of(x->body.at, x->body.n), BODY_VALUES_MAX, &error);
    if (object != NULL) {
        const struct api_fields fields = { object, &error };
        f(api, x, &fields);
        json_decref(object);
    }
    if (error.is_set)
        api_refuse(x, &error);
}

void api_lifecycle_load(struct api *api, struct api_http_exchange *x)
{
    take(api, x, load);
}

void api_lifecycle_unload(struct api *api, struct api_http_exchange *x)
{
    take(api, x, unload);
}

/* --- Sleeping: an unload that keeps the packed weights in host memory. Waking is a load. --- */

static void ask_named(struct api *api, struct api_http_exchange *x, const struct api_fields *fields,
                      enum control_kind kind)
{
    const struct api_model *model = model_of(api, fields);
    if (model != NULL)
        api_mirror_ask(api, kind, model->service, x);
}

static void sleep_one(struct api *api, struct api_http_exchange *x, const struct api_fields *fields)
{
    ask_named(api, x, fields, CONTROL_SLEEP);
}

static void wake_one(struct api *api, struct api_http_exchange *x, const struct api_fields *fields)
{
    ask_named(api, x, fields, CONTROL_LOAD);
}

void api_lifecycle_sleep_one(struct api *api, struct api_http_exchange *x)
{
    take(api, x, sleep_one);
}

void api_lifecycle_wake_one(struct api *api, struct api_http_exchange *x)
{
    take(api, x, wake_one);
}

/* The name stands between /models/ and the last slash, and may have slashes itself. */
void api_lifecycle_named(struct api *api, struct api_http_exchange *x)
{
    char name[LIMIT_NAME_BYTES];
    struct api_error error = { 0 };
    struct view path = api_path_of(&x->head), verb;
    const size_t n_before = strlen("/models/");
    size_t n_name = path.n;
    while (n_name > n_before && path.at[n_name - 1] != '/')
        n_name--;
    verb = view_of(path.at + n_name, path.n - n_name);
    bool is_sleep = view_equal_text(verb, "sleep"), is_wake = view_equal_text(verb, "wake");
    const struct api_model *model = NULL;
    if (n_name <= n_before || (!is_sleep && !is_wake))
        api_error_set(&error, ERROR_INVALID, NULL,
                      "expected POST /models/NAME/sleep or /models/NAME/wake");
    else if (!api_http_parse_percent(view_of(path.at + n_before, n_name - 1 - n_before), name,
                                     sizeof(name)))
        api_error_set(&error, ERROR_NO_MODEL, "model", "the model's name in the path is malformed");
    else
        model = api_catalog_find(api->catalog, name, &error);
    if (model == NULL)
        api_refuse(x, &error);
    else
        api_mirror_ask(api, is_sleep ? CONTROL_SLEEP : CONTROL_LOAD, model->service, x);
}

/* --- wishes --- */

/* Returns the model that a body names, if this server obeys wishes on it. */
static const struct api_model *wish_for(struct api *api, const struct api_fields *fields)
{
    if (api->options.wishes.pause == NULL)
        api_error_set(fields->error, ERROR_INVALID, NULL, "this server cannot pause or pin models");
    return model_of(api, fields);
}

static void answer_wish(struct api *api, struct api_http_exchange *x, enum status status,
                        const struct fault *fault, struct api_error *error)
{
    if (status != STATUS_OK)
        set_fault(error, status, fault);
    else
        api_reply_json(x, 200, view_text("{\"success\":true}"));
    api_nudge(api);
}

static void set_paused(struct api *api, struct api_http_exchange *x,
                       const struct api_fields *fields, bool is_paused)
{
    struct fault fault;
    const struct api_wishes *wishes = &api->options.wishes;
    const struct api_model *model = wish_for(api, fields);
    if (model != NULL)
        answer_wish(api, x, wishes->pause(wishes->self, model->service, is_paused, &fault), &fault,
                    fields->error);
}

static void pause_model(struct api *api, struct api_http_exchange *x,
                        const struct api_fields *fields)
{
    set_paused(api, x, fields, true);
}

static void unpause_model(struct api *api, struct api_http_exchange *x,
                          const struct api_fields *fields)
{
    set_paused(api, x, fields, false);
}

static void set_pin(struct api *api, struct api_http_exchange *x, const struct api_fields *fields,
                    int64_t engine)
{
    struct fault fault;
    const struct api_wishes *wishes = &api->options.wishes;
    const struct api_model *model = wish_for(api, fields);
    if (model != NULL)
        answer_wish(api, x, wishes->pin(wishes->self, model->service, (int)engine, &fault), &fault,
                    fields->error);
}

static void pin_model(struct api *api, struct api_http_exchange *x, const struct api_fields *fields)
{
    static const int64_t engines[] = { 0, LIMIT_ENGINES - 1 };
    int64_t engine = -1;
    api_fields_i64(fields, "engine", engines, &engine);
    if (engine < 0)
        api_error_set(fields->error, ERROR_INVALID, "engine",
                      "engine is missing: GET /models lists the engines with their numbers");
    set_pin(api, x, fields, engine);
}

static void unpin_model(struct api *api, struct api_http_exchange *x,
                        const struct api_fields *fields)
{
    set_pin(api, x, fields, -1);
}

void api_lifecycle_pause(struct api *api, struct api_http_exchange *x)
{
    take(api, x, pause_model);
}

void api_lifecycle_unpause(struct api *api, struct api_http_exchange *x)
{
    take(api, x, unpause_model);
}

void api_lifecycle_pin(struct api *api, struct api_http_exchange *x)
{
    take(api, x, pin_model);
}

void api_lifecycle_unpin(struct api *api, struct api_http_exchange *x)
{
    take(api, x, unpin_model);
}

/* --- vLLM: all models at once. At level 2, and where host memory has no room, they unload. --- */

void api_lifecycle_sleep(struct api *api, struct api_http_exchange *x)
{
    struct api_error error = { 0 };
    char level[8];
    enum api_http_query found = api_http_parse_query(x->head.query, "level", level, sizeof level);
    bool is_deep = strcmp(level, "2") == 0;
    if (found != API_HTTP_QUERY_ABSENT && !is_deep && strcmp(level, "1") != 0) {
        api_error_set(&error, ERROR_INVALID, "level",
                      "expected level=1 (weights stay in host memory) or level=2 (they do not)");
        api_refuse(x, &error);
        return;
    }
    api_mirror_ask_all(api, is_deep ? CONTROL_UNLOAD : CONTROL_SLEEP, x);
}

void api_lifecycle_wake(struct api *api, struct api_http_exchange *x)
{
    api_mirror_ask_all(api, CONTROL_LOAD, x);
}
