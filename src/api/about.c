/* Answers about models: see about.h. */
#include "api/about.h"

#include "api/http_parse.h"
#include "api/work.h"
#include "base/json_out.h"
#include "template/chat.h"
#include "text/tokenizer.h"
#include <string.h>

static void answer(struct api *api, struct api_http_exchange *x,
                   void (*print)(struct api *api, const void *of, struct str *out))
{
    char name[LIMIT_NAME_BYTES];
    struct api_error error = { 0 };
    const struct api_model *model = NULL;
    if (api_http_parse_query(x->head.query, "model", name, sizeof name) == API_HTTP_QUERY_BAD)
        api_error_set(&error, ERROR_NO_MODEL, "model",
                      "the model's name in the query is malformed");
    else
        model = api_catalog_find(api->catalog, name[0] != '\0' ? name : NULL, &error);
    if (model == NULL)
        api_refuse(x, &error);
    else
        api_work_reply(api, x, "application/json", print, model);
}

static void print_token(struct json_out *json, const struct api_model *model, const char *key,
                        int32_t id)
{
    json_out_key(json, key);
    if (id < 0)
        json_out_null(json);
    else
        json_out_view(json, tokenizer_piece(model->tokenizer, id, true));
}

static void print_template(struct json_out *json, const struct api_model *model)
{
    const struct chat_template *template = model->chat_template;
    json_out_key_text(json, "chat_template",
                      template != NULL ? chat_template_text(template) : NULL);
}

static void print_tokenizer(struct api *api, const void *of, struct str *out)
{
    const struct api_model *model = of;
    struct json_out json;
    (void)api;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "tokenizer_class", "Shoal");
    json_out_key_text(&json, "model", model->name);
    json_out_key_i64(&json, "model_max_length", model->n_context_max);
    json_out_key_i64(&json, "vocab_size", model->n_vocabulary);
    print_token(&json, model, "bos_token", model->bos_id);
    print_token(&json, model, "eos_token", model->eos_id);
    json_out_key(&json, "eos_token_ids");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < model->n_eog; i++)
        json_out_i64(&json, model->eog_ids[i]);
    json_out_close(&json, ']');
    print_template(&json, model);
    json_out_close(&json, '}');
}

static void print_settings(struct json_out *json, const struct api_model *model)
{
    json_out_open(json, '{');
    json_out_key_i64(json, "n_ctx", model->n_context_max);
    json_out_key(json, "params");
    json_out_open(json, '{');
    json_out_key_f64(json, "temperature", 1);
    json_out_key_f64(json, "top_p", 1);
    json_out_key_i64(json, "top_k", 0);
    json_out_key_f64(json, "min_p", 0);
    json_out_key_f64(json, "repeat_penalty", 1);
    json_out_key_f64(json, "presence_penalty", 0);
    json_out_key_f64(json, "frequency_penalty", 0);
    json_out_close(json, '}');
    json_out_close(json, '}');
}

/* llama-server's model_path is a path of this machine, so the answer has the model's name there. */
static void print_props(struct api *api, const void *of, struct str *out)
{
    const struct api_model *model = of;
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "default_generation_settings");
    print_settings(&json, model);
    json_out_key_i64(&json, "total_slots", api->options.n_requests_max);
    json_out_key_text(&json, "model_alias", model->name);
    json_out_key_text(&json, "model_path", model->name);
    json_out_key(&json, "modalities");
    json_out_open(&json, '{');
    json_out_key_bool(&json, "vision", false);
    json_out_key_bool(&json, "audio", false);
    json_out_close(&json, '}');
    print_template(&json, model);
    print_token(&json, model, "bos_token", model->bos_id);
    print_token(&json, model, "eos_token", model->eos_id);
    json_out_key_text(&json, "build_info", api->options.version);
    json_out_close(&json, '}');
}

void api_about_tokenizer(struct api *api, struct api_http_exchange *x)
{
    answer(api, x, print_tokenizer);
}

void api_about_props(struct api *api, struct api_http_exchange *x)
{
    answer(api, x, print_props);
}
