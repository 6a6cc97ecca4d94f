/* A server's data on one of its models. */
#include "serve/offer.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/time.h"
#include "config/chosen.h"
#include "config/table.h"
#include "run/unit.h"
#include "serve/kv.h"
#include "serve/model.h"
#include "weights/weights.h"
#include <string.h>

static const char *keep(struct serve_offer *offer, const char *text)
{
    return text == NULL ? NULL : pile_text(&offer->pile, text, strlen(text));
}

/* Makes the offer's own copy of the model, with each text, since the original may be freed
 * earlier. */
static void keep_model(struct serve_offer *offer, const struct config_model *model)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    offer->model = *model;
    for (int k = 0; k < n_keys; k++) {
        const char **texts =
            (const char **)(void *)((unsigned char *)&offer->model + keys[k].offset);
        int n = keys[k].type == CONFIG_TEXT;
        if (keys[k].type == CONFIG_TEXTS)
            memcpy(&n, (unsigned char *)&offer->model + keys[k].n_offset, sizeof n);
        for (int i = 0; i < n; i++)
            texts[i] = keep(offer, texts[i]);
    }
}

static struct set engines_of(const struct config *config, const struct config_model *model)
{
    struct set engines = { { 0 } };
    for (int i = 0; i < model->n_devices; i++) {
        for (int e = 0; e < config->n_devices; e++) {
            if (strcmp(model->devices[i], config->devices[e]) == 0)
                set_add(&engines, e);
        }
    }
    return engines;
}

static void describe_service(struct serve_offer *offer, const struct config *config, uint16_t life)
{
    const struct config_model *model = &offer->model;
    const struct model_spec *spec = &offer->card.spec;
    int64_t n_context = model->n_context > 0 ? min_i64(model->n_context, spec->n_positions_max)
                                             : spec->n_positions_max;
    int64_t keep_alive =
        model->keep_alive_ns == CONFIG_UNSET ? config->keep_alive_ns : model->keep_alive_ns;
    offer->service = (struct service_spec){
        .life = life,
        .speculation = (uint8_t)chosen_speculation(config, model),
        .n_context_max = (int32_t)n_context,
        .priority = (int32_t)model->priority,
        .n_vector = model_spec_vector(spec),
        .n_adapters = (uint16_t)model->n_adapters,
        .pools_mean = spec->pooling == POOLING_MEAN,
        .is_encoder = spec->is_encoder,
        .slo = { (model->ttft_ms >= 0 ? model->ttft_ms : config->ttft_ms) * TIME_NS_PER_MS,
                 (model->tpot_ms >= 0 ? model->tpot_ms : config->tpot_ms) * TIME_NS_PER_MS,
                 (model->e2e_ms >= 0 ? model->e2e_ms : config->e2e_ms) * TIME_NS_PER_MS },
        .kv_bytes_min = model->kv_bytes_min,
        .kv_bytes_max = model->kv_bytes_max,
        .keep_alive_ns = model->is_pinned ? -1 : keep_alive,
        .is_loaded_at_start = model->is_preloaded,
        .n_held_max = (int32_t)config->n_held_max,
        .hold_ns_max = config->hold_ns,
        .engines = engines_of(config, model),
    };
    memcpy(offer->service.name, model->name, sizeof offer->service.name);
}

static void describe_api_model(struct serve_offer *offer, int number, const struct config *config)
{
    static const char *const poolings[] = {
        [POOLING_LAST] = "last", [POOLING_MEAN] = "mean", [POOLING_FIRST] = "cls"
    };
    const struct config_model *model = &offer->model;
    const struct model_card *card = &offer->card;
    offer->api = (struct api_model){
        .name = model->name,
        .aliases = model->aliases,
        .n_aliases = model->n_aliases,
        .service = (uint16_t)number,
        .n_context_max = offer->service.n_context_max,
        .n_vocabulary = card->spec.n_vocabulary,
        .n_vector = offer->service.n_vector,
        .n_labels = card->spec.n_labels,
        .is_encoder = card->spec.is_encoder,
        .is_normalized = card->spec.is_normalized,
        .pooling = poolings[card->spec.pooling],
        .tokenizer = card->tokenizer,
        .chat_template = card->chat_template,
        .chat_fault = card->chat_fault.text[0] != '\0' ? card->chat_fault.text : NULL,
        .style = calls_format_style(
            card->chat_template != NULL ? chat_template_text(card->chat_template) : NULL),
        .bos_id = card->bos_id,
        .eos_id = card->eos_id,
        .n_eog = card->n_eog,
        .eog_ids = card->eog_ids,
        .slo = offer->service.slo,
        .priority = offer->service.priority,
        .created_unix_s = time_unix_ns() / TIME_NS_PER_S,
        .path = model->path,
        .format = card->format,
        .engines = offer->service.engines,
        .kv_type = card->spec.is_encoder    ? "f32"
                   : model->kv_type != NULL ? model->kv_type
                                            : config->kv_type,
    };
}

/* Returns a hash of the file, of its adapters, and of the settings that change its tokens. */
static uint64_t identity_of(const struct serve_offer *offer, const struct weights *weights)
{
    const uint64_t all[] = { weights_hash(weights), (uint64_t)offer->kv_dtype,
                             (uint64_t)offer->service.n_context_max };
    return serve_adapters_hash(offer->adapters, hash_fast(all, sizeof all, 0).low);
}

/* Opens the adapters. On a fault it closes what was opened of the model. */
static enum status open_adapters(struct serve_offer *offer, struct weights *weights,
                                 struct compute_device *device, struct fault *fault)
{
    enum status status =
        serve_adapters_open(&offer->adapters, &offer->model, weights, device, fault);
    if (status == STATUS_OK)
        return status;
    weights_close(weights);
    model_card_close(&offer->card);
    predict_profile_free(&offer->profile);
    return status;
}

/* Returns the device of the first engine that the model may run on. */
static struct compute_device *device_of(const struct serve_offer_options *options,
                                        const struct config_model *model)
{
    struct set engines = engines_of(options->config, model);
    int e = 0;
    while (e < LIMIT_DEVICES - 1 && !service_spec_allows(&engines, e))
        e++;
    return options->devices[e];
}

static int64_t need_bytes_of(const struct serve_offer *offer, struct weights *weights,
                             struct compute_device *device,
                             const struct serve_offer_options *options)
{
    struct run_adapters *adapters = offer->adapters != NULL ? offer->adapters->sizes : NULL;
    const struct compute_sizes sizes = { options->n_rows_max,
                                         (int32_t)options->config->n_batch_max };
    return run_model_packed_bytes(weights, device) + run_adapters_bytes(adapters) +
           run_model_adapted_peak_bytes(weights, adapters, device, sizes);
}

enum status serve_offer_open(struct serve_offer *offer, int number,
                             const struct config_model *model,
                             const struct serve_offer_options *options, struct fault *fault)
{
    const struct config *config = options->config;
    struct compute_device *device = device_of(options, model);
    struct weights *weights;
    pile_init(&offer->pile);
    keep_model(offer, model);
    offer->is_by_path = options->is_by_path;
    const char *configured = offer->model.path;
    enum status status = serve_file_open(&offer->file, config, &offer->model, fault);
    if (status == STATUS_OK) {
        offer->model.path = offer->file.path;
        status =
            serve_model_open(config, &offer->model, &weights, &offer->card, &offer->profile, fault);
        if (status == STATUS_OK)
            status = open_adapters(offer, weights, device, fault);
        if (status != STATUS_OK)
            serve_file_close(&offer->file);
    }
    if (status != STATUS_OK) {
        pile_free(&offer->pile);
        return status;
    }
    offer->is_open = true;
    offer->kv_dtype = serve_kv_dtype(config, &offer->model, &offer->card.spec);
    describe_service(offer, config, options->life);
    describe_api_model(offer, number, config);
    offer->api.path = configured;
    serve_adapters_describe(offer->adapters, &offer->model, &offer->api);
    offer->service.identity = identity_of(offer, weights);
    offer->shape = serve_kv_shape(&offer->card.spec, offer->kv_dtype);
    log_line(LOG_DEBUG, "serve", "%s: %lld bytes of KV a token, %s", model->name,
             (long long)offer->shape.bytes_per_token, dtype_info(offer->kv_dtype)->name);
    if (model->profile != NULL)
        log_line(LOG_INFO, "serve", "%s: profile %016llx", model->name,
                 (unsigned long long)predict_profile_hash(&offer->profile));
    if (device != NULL)
        offer->need_bytes = need_bytes_of(offer, weights, device, options);
    weights_close(weights);
    return STATUS_OK;
}

void serve_offer_close(struct serve_offer *offer)
{
    if (offer->is_open) {
        serve_adapters_close(offer->adapters);
        model_card_close(&offer->card);
        predict_profile_free(&offer->profile);
        serve_file_close(&offer->file);
        pile_free(&offer->pile);
    }
    *offer = (struct serve_offer){ 0 };
}

struct service_spec serve_offer_placed(const struct serve_offer *offer,
                                       const struct config_engine *engine, int number)
{
    struct service_spec service = offer->service;
    service.share_percent = engine->share_percent[number];
    service.kv_quota_bytes = engine->kv_bytes[number];
    return service;
}

struct perf serve_offer_perf(const struct serve_offer *offer, const struct device_spec *device)
{
    if (offer->profile.n_groups == 0 || device->n_ranks > 0)
        return (struct perf){ 0 };
    return predict_profile_perf(&offer->profile, device->n_cores);
}

int serve_offer_models(const struct serve_offer *offer, const struct api_model **out)
{
    int n = offer->adapters != NULL ? offer->adapters->files.n : 0;
    out[0] = &offer->api;
    for (int i = 0; i < n; i++)
        out[1 + i] = &offer->adapters->models[i];
    return 1 + n;
}

const struct run_adapter_files *serve_offer_adapters(const struct serve_offer *offer)
{
    return offer->adapters != NULL ? &offer->adapters->files : NULL;
}

bool serve_offer_has_name(const struct serve_offer *offer, const char *name)
{
    bool has = strcmp(offer->model.name, name) == 0;
    for (int i = 0; i < offer->model.n_aliases; i++)
        has = has || strcmp(offer->model.aliases[i], name) == 0;
    for (int i = 0; offer->adapters != NULL && i < offer->adapters->files.n; i++)
        has = has || strcmp(offer->adapters->names[i], name) == 0;
    return has;
}
