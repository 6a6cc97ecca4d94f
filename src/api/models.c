/* Lists of models in the formats of OpenAI, llama-server and Ollama, and streams of their changes.
 */
#include "api/models.h"
#include "api/fields.h"
#include "api/mirror_state.h"
#include "api/prompts.h"
#include "api/wishes.h"
#include "api/work.h"
#include "base/json_out.h"
#include "base/time.h"
#include <string.h>

enum { SEEN_ASLEEP = 1 << 6 };
static const char type_of_json[] = "application/json";

/* Opens an object. The caller closes it. */
static struct json_out begin(struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    return json;
}

/* --- OpenAI --- */

/* Prints the devices that the model may run on, loaded or not. */
static void print_devices(const struct api *api, struct json_out *json,
                          const struct api_model *model)
{
    json_out_key(json, "devices");
    json_out_open(json, '[');
    for (int32_t i = 0; i < api->mirror.n_engines && api->options.devices != NULL; i++)
        if (service_spec_allows(&model->engines, i))
            json_out_text(json, api->options.devices[i]);
    json_out_close(json, ']');
}

static void print_aliases(struct json_out *json, const struct api_model *model)
{
    json_out_key(json, "aliases");
    json_out_open(json, '[');
    for (int i = 0; i < model->n_aliases; i++)
        json_out_text(json, model->aliases[i]);
    json_out_close(json, ']');
}

static void print_card(const struct api *api, struct json_out *json, const struct api_model *model)
{
    json_out_open(json, '{');
    json_out_key_text(json, "id", model->name);
    json_out_key_text(json, "object", "model");
    json_out_key_i64(json, "created", model->created_unix_s);
    json_out_key_text(json, "owned_by", "shoal");
    json_out_key_text(json, "root", model->parent != NULL ? model->path : model->name);
    if (model->parent != NULL)
        json_out_key_text(json, "parent", model->parent);
    json_out_key_i64(json, "max_model_len", model->n_context_max);
    if (model->kv_type != NULL)
        json_out_key_text(json, "kv_type", model->kv_type);
    json_out_key_text(json, "task",
                      model->n_labels > 0 ? "score"
                      : model->is_encoder ? "embed"
                                          : "generate");
    if (model->n_vector > 0 && model->n_labels == 0) {
        json_out_key_i64(json, "embedding_dimensions", model->n_vector);
        json_out_key_text(json, "pooling", model->pooling);
    }
    print_aliases(json, model);
    print_devices(api, json, model);
    json_out_close(json, '}');
}

static void print_list(struct api *api, const void *of, struct str *out)
{
    (void)of;
    struct json_out json = begin(out);
    json_out_key_text(&json, "object", "list");
    json_out_key(&json, "data");
    json_out_open(&json, '[');
    for (int i = 0; i < api->catalog->n; i++)
        print_card(api, &json, api->catalog->models[i]);
    json_out_close(&json, ']');
    json_out_close(&json, '}');
}

void api_models_list(struct api *api, struct api_http_exchange *x)
{
    api_work_reply(api, x, type_of_json, print_list, NULL);
}

static void print_one(struct api *api, const void *of, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    print_card(api, &json, of);
}

void api_models_show(struct api *api, struct api_http_exchange *x)
{
    char name[LIMIT_NAME_BYTES];
    struct api_error error = { 0 };
    struct view path = api_path_of(&x->head);
    size_t n_before = strlen(view_starts(path, "/v1/") ? "/v1/models/" : "/models/");
    path = view_of(path.at + n_before, path.n - n_before);
    const struct api_model *model = NULL;
    if (!api_http_parse_percent(path, name, sizeof(name)))
        api_error_set(&error, ERROR_NO_MODEL, "model", "the model's name in the path is malformed");
    else
        model = api_catalog_find(api->catalog, name, &error);
    if (model == NULL) {
        api_refuse(x, &error);
        return;
    }
    api_work_reply(api, x, type_of_json, print_one, model);
}

/* --- llama-server --- */

static const char *word_of(const struct api_model_state *state)
{
    enum service_status status = state->status;
    static const char *const words[] = {
        [SERVICE_UNLOADED] = "unloaded", [SERVICE_LOADING] = "loading",
        [SERVICE_LOADED] = "loaded",     [SERVICE_DRAINING_OUT] = "loaded",
        [SERVICE_BROKEN] = "failed",
    };
    if (status == SERVICE_UNLOADED && state->sleep_bytes > 0)
        return "sleeping";
    return (size_t)status < COUNT_OF(words) ? words[status] : "failed";
}

/* why is the reason that the last load failed. */
static void print_status(struct json_out *json, const struct api_model_state *state,
                         const char *why)
{
    json_out_key(json, "status");
    json_out_open(json, '{');
    json_out_key_text(json, "value", word_of(state));
    if (state->status == SERVICE_LOADING)
        json_out_key_f64(json, "progress", state->percent / 100.0);
    if (state->status == SERVICE_DRAINING_OUT) {
        json_out_key_bool(json, "draining", true);
    }
    if (state->status == SERVICE_BROKEN)
        json_out_key_text(json, "reason", why);
    json_out_close(json, '}');
}

static void print_memory(struct json_out *json, const struct api_model_state *state)
{
    json_out_key(json, "memory");
    json_out_open(json, '{');
    json_out_key_i64(json, "weights_bytes", state->weights_bytes);
    json_out_key_i64(json, "activation_bytes", state->activation_bytes);
    json_out_key_i64(json, "kv_used_bytes", state->kv_used_bytes);
    json_out_key_i64(json, "kv_cached_bytes", state->kv_cached_bytes);
    json_out_key_i64(json, "sleep_bytes", state->sleep_bytes);
    json_out_close(json, '}');
}

/* Writes the key with the engine's number, and its device. */
static void key_engine(const struct api *api, struct json_out *json, int engine)
{
    json_out_key_i64(json, "engine", engine);
    if (api->options.devices != NULL)
        json_out_key_text(json, "device", api->options.devices[engine]);
}

static void print_engines(const struct api *api, struct json_out *json)
{
    json_out_key(json, "engines");
    json_out_open(json, '[');
    for (int32_t i = 0; i < api->mirror.n_engines; i++) {
        const struct engine_report *engine = &api->mirror.engines[i];
        json_out_open(json, '{');
        key_engine(api, json, engine->engine);
        if (api->options.describe_engine != NULL)
            api->options.describe_engine(api->options.describe_self, i, json);
        json_out_key_bool(json, "healthy", engine->is_healthy);
        json_out_key_text(json, "state", engine->is_down ? "restarting" : "running");
        json_out_key_i64(json, "restarts", engine->n_restarts);
        json_out_key_i64(json, "steps", engine->n_steps);
        json_out_key_i64(json, "requests", engine->n_requests);
        json_out_key_i64(json, "memory_bytes", engine->memory_bytes);
        json_out_key_i64(json, "kv_pool_bytes", engine->kv_pool_bytes);
        json_out_key_i64(json, "kv_free_bytes", engine->kv_free_bytes);
        json_out_key_i64(json, "kv_table_bytes", engine->kv_table_bytes);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

/* Prints the model's part of each engine that has it, or will have it soon. */
static void print_places(const struct api *api, struct json_out *json,
                         const struct api_model *model)
{
    json_out_key(json, "engines");
    json_out_open(json, '[');
    for (int32_t i = 0; i < api->mirror.n_engines; i++) {
        const struct engine_report *engine = &api->mirror.engines[i];
        const struct service_report *report = &engine->services[model->service];
        if (model->service >= engine->n_services ||
            (report->status == SERVICE_UNLOADED && report->sleep_bytes == 0))
            continue;
        const struct api_model_state part = { .status = report->status,
                                              .percent = report->progress_percent,
                                              .weights_bytes = report->weights_bytes,
                                              .activation_bytes = report->activation_bytes,
                                              .kv_used_bytes = report->kv_used_bytes,
                                              .kv_cached_bytes = report->kv_cached_bytes,
                                              .sleep_bytes = report->sleep_bytes };
        json_out_open(json, '{');
        key_engine(api, json, engine->engine);
        print_status(json, &part, api->mirror.faults[model->service].text);
        print_memory(json, &part);
        json_out_key_f64(json, "load_ms", (double)report->load_ns * 1e-6);
        json_out_key_f64(json, "load_copy_share", report->copy_permille * 1e-3);
        json_out_key_i64(json, "wakes", report->n_wakes);
        json_out_key_i64(json, "kv_held_bytes", report->kv_held_bytes);
        json_out_key_i64(json, "kv_quota_bytes", report->kv_quota_bytes);
        json_out_key_f64(json, "kv_share", report->kv_share);
        json_out_key_f64(json, "kv_r", report->kv_r);
        json_out_key_i64(json, "requests_waiting", report->n_waiting);
        json_out_key_i64(json, "requests_running", report->n_running);
        json_out_key_i64(json, "preempted", report->n_preempted);
        json_out_key_i64(json, "swapped", report->n_swapped);
        json_out_key_i64(json, "exceeded", report->n_exceeded);
        json_out_key_i64(json, "forced", report->n_forced);
        json_out_key_i64(json, "pad_tokens", report->n_pad_tokens);
        json_out_key_i64(json, "invalid_tokens", report->n_invalid_tokens);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void print_state(struct api *api, struct json_out *json, const struct api_model *model)
{
    struct api_model_state state = api_mirror_state(api, model->service);
    struct metrics_summary summary;
    char place[API_PIN_BYTES];
    metrics_summary(api->metrics, model->service, &summary);
    json_out_open(json, '{');
    json_out_key_text(json, "id", model->name);
    json_out_key_text(json, "object", "model");
    json_out_key_text(json, "path", model->path);
    json_out_key_text(json, "format", model->format);
    print_aliases(json, model);
    print_devices(api, json, model);
    print_status(json, &state, api->mirror.faults[model->service].text);
    print_memory(json, &state);
    print_places(api, json, model);
    json_out_key_bool(json, "paused", api_wishes_is_paused(api, model));
    if (api_wishes_pinned(api, model, place))
        json_out_key_text(json, "pinned", place);
    json_out_key_i64(json, "requests_waiting", state.n_waiting);
    json_out_key_i64(json, "requests_running", state.n_running);
    json_out_key_i64(json, "requests_total", (int64_t)summary.n_requests);
    json_out_key_i64(json, "tokens_total", (int64_t)summary.n_tokens);
    json_out_key_f64(json, "ttft_ms_p50", summary.ttft_ms_p50);
    json_out_key_f64(json, "tpot_ms_p50", summary.tpot_ms_p50);
    json_out_close(json, '}');
}

static void print_states(struct api *api, const void *of, struct str *out)
{
    (void)of;
    struct json_out json = begin(out);
    json_out_key_text(&json, "object", "list");
    json_out_key(&json, "data");
    json_out_open(&json, '[');
    for (int i = 0; i < api->catalog->n; i++) /* an adapter comes and goes with its model */
        if (api->catalog->models[i]->variant == 0)
            print_state(api, &json, api->catalog->models[i]);
    json_out_close(&json, ']');
    print_engines(api, &json);
    json_out_close(&json, '}');
}

void api_models_print_states(struct api *api, struct api_http_exchange *x)
{
    api_work_reply(api, x, type_of_json, print_states, NULL);
}

static void add_change(struct api *api, const struct api_model *model, struct str *out)
{
    struct api_model_state state = api_mirror_state(api, model->service);
    struct json_out json;
    str_add_text(out, "event: status\ndata: ");
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", model->name);
    print_status(&json, &state, api->mirror.faults[model->service].text);
    print_memory(&json, &state);
    json_out_close(&json, '}');
    str_add_text(out, "\n\n");
}

static void tell_watchers(struct api *api, const struct str *out)
{
    for (int i = 0; i < API_WATCHERS_MAX && out->n > 0; i++)
        if (api->mirror.watchers[i] != NULL)
            api_http_chunk(api->mirror.watchers[i], view_of(out->at, out->n));
}

void api_models_gone(struct api *api, const struct api_model *model)
{
    struct json_out json;
    struct str out;
    str_init(&out);
    str_add_text(&out, "event: status\ndata: ");
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", model->name);
    json_out_key(&json, "status");
    json_out_open(&json, '{');
    json_out_key_text(&json, "value", "removed");
    json_out_close(&json, '}');
    json_out_close(&json, '}');
    str_add_text(&out, "\n\n");
    tell_watchers(api, &out);
    str_free(&out);
}

void api_models_changed(struct api *api)
{
    struct api_mirror *mirror = &api->mirror;
    struct str out;
    str_init(&out);
    for (int i = 0; i < api->catalog->n; i++) {
        const struct api_model *model = api->catalog->models[i];
        if (model->variant > 0)
            continue; /* streams tell of models alone, as GET /models does */
        struct api_model_state state = api_mirror_state(api, model->service);
        uint8_t *seen = mirror->seen[model->service % LIMIT_SERVICES];
        uint8_t status = (uint8_t)(state.status | (state.sleep_bytes > 0 ? SEEN_ASLEEP : 0));
        if (seen[0] == status && seen[1] == state.percent)
            continue;
        seen[0] = status;
        seen[1] = (uint8_t)state.percent;
        add_change(api, model, &out);
    }
    tell_watchers(api, &out);
    str_free(&out);
}

/* Pings quiet streams, so that a proxy in between does not take them for dead. */
void api_models_sweep(struct api *api, int64_t now_ns)
{
    struct api_mirror *mirror = &api->mirror;
    if (now_ns - mirror->pinged_ns < API_PING_S * TIME_NS_PER_S)
        return;
    mirror->pinged_ns = now_ns;
    for (int i = 0; i < API_WATCHERS_MAX; i++)
        if (mirror->watchers[i] != NULL)
            api_http_chunk(mirror->watchers[i], view_text(": ping\n\n"));
}

static void on_gone(struct api_http_exchange *x)
{
    struct api_http_exchange **place = x->user;
    *place = NULL;
}

void api_models_watch(struct api *api, struct api_http_exchange *x)
{
    struct api_http_exchange **place = NULL;
    if (x->head.method == HTTP_HEAD) { /* no events follow the head */
        api_http_reply(x, 200, "text/event-stream; charset=utf-8", view_of("", 0));
        return;
    }
    for (int i = 0; i < API_WATCHERS_MAX && place == NULL; i++)
        if (api->mirror.watchers[i] == NULL)
            place = &api->mirror.watchers[i];
    if (place == NULL) {
        struct api_error error = { 0 };
        api_error_set(&error, ERROR_BUSY, NULL, "at most %d watchers", API_WATCHERS_MAX);
        api_refuse(x, &error);
        return;
    }
    *place = x;
    x->user = place;
    x->on_gone = on_gone;
    struct str out;
    str_init(&out);
    for (int i = 0; i < api->catalog->n; i++)
        if (api->catalog->models[i]->variant == 0)
            add_change(api, api->catalog->models[i], &out);
    str_add_text(&out, ": all models follow, then only changes\n\n");
    api_http_header(x, "Cache-Control", "no-cache");
    api_http_begin(x, 200, "text/event-stream; charset=utf-8");
    api_http_chunk(x, view_of(out.at, out.n));
    str_free(&out);
}

void api_models_end_watches(struct api *api)
{
    for (int i = 0; i < API_WATCHERS_MAX; i++) {
        if (api->mirror.watchers[i] != NULL)
            api_http_end(api->mirror.watchers[i]);
        api->mirror.watchers[i] = NULL;
    }
}

/* --- vLLM: a server sleeps while no model is in the memory of a device --- */

void api_models_is_asleep(struct api *api, struct api_http_exchange *x)
{
    bool is_asleep = true;
    for (int i = 0; i < api->catalog->n; i++) {
        struct api_model_state state = api_mirror_state(api, api->catalog->models[i]->service);
        is_asleep = is_asleep && (state.status == SERVICE_UNLOADED ||
                                  state.status == SERVICE_BROKEN); /* not there either */
    }
    api_reply_json(x, 200,
                   view_text(is_asleep ? "{\"is_sleeping\":true}" : "{\"is_sleeping\":false}"));
}
