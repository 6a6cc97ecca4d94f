/* Lists of models with their sizes, and what a model can do. */
#include "api/ollama_models.h"
#include "api/fields.h"
#include "api/mirror_state.h"
#include "api/work.h"
#include "base/json_out.h"
#include "base/time.h"
#include "template/chat.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SHOW_VALUES_MAX = 64 };

void api_ollama_models_time(int64_t unix_ns, char out[OLLAMA_TIME_BYTES])
{
    time_t seconds = (time_t)(unix_ns / TIME_NS_PER_S);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t n = strftime(out, OLLAMA_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out + n, OLLAMA_TIME_BYTES - n, ".%09lldZ", (long long)(unix_ns % TIME_NS_PER_S));
}

/* Counts the bytes of the model on all engines, or (is_other) on those with a device other than a
 * CPU. */
static int64_t count_bytes(const struct api *api, const struct api_model *model, bool is_other)
{
    int64_t n_bytes = 0;
    for (int32_t i = 0; i < api->mirror.n_engines; i++) {
        const struct engine_report *engine = &api->mirror.engines[i];
        const char *device = api->options.devices != NULL ? api->options.devices[i] : "cpu";
        if (model->service < engine->n_services &&
            !(is_other && strncmp(device, "cpu", strlen("cpu")) == 0))
            n_bytes += engine->services[model->service].weights_bytes +
                       engine->services[model->service].kv_used_bytes;
    }
    return n_bytes;
}

static void print_details(const struct api_model *model, struct json_out *json)
{
    char time[OLLAMA_TIME_BYTES];
    api_ollama_models_time(model->created_unix_s * TIME_NS_PER_S, time);
    json_out_key_text(json, "modified_at", time);
    json_out_key(json, "details");
    json_out_open(json, '{');
    json_out_key_text(json, "format", model->format != NULL ? model->format : "");
    json_out_close(json, '}');
}

/* size_vram, for loaded models, counts the bytes in the memory of a GPU. */
static void print_ollama(const struct api *api, struct json_out *json,
                         const struct api_model *model, bool is_loaded)
{
    json_out_open(json, '{');
    json_out_key_text(json, "name", model->name);
    json_out_key_text(json, "model", model->name);
    json_out_key_i64(json, "size", count_bytes(api, model, false));
    if (is_loaded)
        json_out_key_i64(json, "size_vram", count_bytes(api, model, true));
    json_out_key_text(json, "digest", "");
    print_details(model, json);
    json_out_close(json, '}');
}

/* of is "ps" for loaded models only. */
static void print_ollama_list(struct api *api, const void *of, struct str *out)
{
    bool only_loaded = strcmp(of, "ps") == 0;
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "models");
    json_out_open(&json, '[');
    for (int i = 0; i < api->catalog->n; i++) {
        const struct api_model *model = api->catalog->models[i];
        struct api_model_state state = api_mirror_state(api, model->service);
        if (!only_loaded || (state.status == SERVICE_LOADED && model->variant == 0))
            print_ollama(api, &json, model, only_loaded);
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
}

void api_ollama_models_tags(struct api *api, struct api_http_exchange *x)
{
    api_work_reply(api, x, "application/json", print_ollama_list, "tags");
}

void api_ollama_models_ps(struct api *api, struct api_http_exchange *x)
{
    api_work_reply(api, x, "application/json", print_ollama_list, "ps");
}

void api_ollama_models_version(struct api *api, struct api_http_exchange *x)
{
    struct str page;
    struct json_out json;
    str_init(&page);
    json_out_init(&json, &page);
    json_out_open(&json, '{');
    json_out_key_text(&json, "version", api->options.version);
    json_out_close(&json, '}');
    api_reply_json(x, 200, view_of(page.at, page.n));
    str_free(&page);
}

struct show {
    struct api *api;
    struct api_http_exchange *x;
    struct str page;
    struct api_error error;
};

static void print_capabilities(const struct api_model *model, struct json_out *json)
{
    bool is_chat = model->chat_template != NULL;
    json_out_key(json, "capabilities");
    json_out_open(json, '[');
    if (!model->is_encoder)
        json_out_text(json, "completion");
    if (model->n_vector > 0 && model->n_labels == 0)
        json_out_text(json, "embedding");
    if (is_chat && model->style.format != NULL)
        json_out_text(json, "tools");
    if (is_chat && model->style.think_open != NULL)
        json_out_text(json, "thinking");
    json_out_close(json, ']');
}

static void print_show(void *arg)
{
    struct show *show = arg;
    struct view body = view_of(show->x->body.at, show->x->body.n);
    json_t *object = api_fields_open(body, SHOW_VALUES_MAX, &show->error);
    const struct api_fields fields = { object, &show->error };
    const struct api_model *model = NULL;
    struct json_out json;
    if (object == NULL)
        return;
    bool has_model = api_fields_find(&fields, "model") != NULL; /* `name` is its older name */
    const char *name = api_fields_text(&fields, has_model ? "model" : "name");
    if (name == NULL)
        api_error_set(&show->error, ERROR_INVALID, "model", "model is missing");
    else
        model = api_catalog_find(show->api->catalog, name, &show->error);
    json_decref(object);
    if (model == NULL)
        return;
    json_out_init(&json, &show->page);
    json_out_open(&json, '{');
    json_out_key_text(&json, "modelfile", "");
    json_out_key_text(&json, "parameters", "");
    json_out_key_text(&json, "template",
                      model->chat_template != NULL ? chat_template_text(model->chat_template) : "");
    print_details(model, &json);
    json_out_key(&json, "model_info");
    json_out_open(&json, '{');
    json_out_key_i64(&json, "general.context_length", model->n_context_max);
    json_out_key_i64(&json, "general.vocab_size", model->n_vocabulary);
    json_out_close(&json, '}');
    print_capabilities(model, &json);
    json_out_close(&json, '}');
}

void api_ollama_models_show(struct api *api, struct api_http_exchange *x)
{
    struct show show = { .api = api, .x = x };
    struct api_work work = api_work_for(api, x->party, x->body.n);
    struct api_error error = { 0 };
    if (!api_work_run(&work, print_show, &show, &error)) {
        str_init(&show.page);
        show.error = error;
    }
    if (show.error.is_set)
        api_refuse(x, &show.error);
    else
        api_reply_text(x, &show.page);
}
