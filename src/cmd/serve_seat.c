/* What a server knows of one of its models. */
#include "cmd/serve_seat.h"

#include "base/log.h"
#include "base/time.h"
#include "cmd/chosen.h"
#include "cmd/config_table.h"
#include "cmd/serve_kv.h"
#include "cmd/serve_model.h"
#include "run/unit.h"
#include "weights/weights.h"
#include <string.h>

static const char *keep(struct serve_seat *seat, const char *text)
{
    return text == NULL ? NULL : pile_text(&seat->pile, text, strlen(text));
}

/* The seat's own copy, each text of it: what it was read from may go before it. */
static void keep_model(struct serve_seat *seat, const struct config_model *model)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    seat->model = *model;
    for (int k = 0; k < n_keys; k++) {
        const char **texts =
            (const char **)(void *)((unsigned char *)&seat->model + keys[k].offset);
        int n = keys[k].type == CONFIG_TEXT;
        if (keys[k].type == CONFIG_TEXTS)
            memcpy(&n, (unsigned char *)&seat->model + keys[k].n_offset, sizeof n);
        for (int i = 0; i < n; i++)
            texts[i] = keep(seat, texts[i]);
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

static void describe_service(struct serve_seat *seat, const struct config *config)
{
    const struct config_model *model = &seat->model;
    const struct model_spec *spec = &seat->card.spec;
    uint16_t life = seat->service.life;
    int64_t n_context = model->n_context > 0 ? min_i64(model->n_context, spec->n_positions_max)
                                             : spec->n_positions_max;
    int64_t keep_alive =
        model->keep_alive_ns == CONFIG_UNSET ? config->keep_alive_ns : model->keep_alive_ns;
    seat->service = (struct service_spec){
        .life = life,
        .n_context_max = (int32_t)n_context,
        .priority = (int32_t)model->priority,
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
    memcpy(seat->service.name, model->name, sizeof seat->service.name);
}

static void describe_api_model(struct serve_seat *seat, int number, const struct config *config)
{
    const struct config_model *model = &seat->model;
    const struct model_card *card = &seat->card;
    seat->api = (struct api_model){
        .name = model->name,
        .aliases = model->aliases,
        .n_aliases = model->n_aliases,
        .service = (uint16_t)number,
        .n_context_max = seat->service.n_context_max,
        .n_vocabulary = card->spec.n_vocabulary,
        .tokenizer = card->tokenizer,
        .chat_template = card->chat_template,
        .chat_fault = card->chat_fault.text[0] != '\0' ? card->chat_fault.text : NULL,
        .bos_id = card->bos_id,
        .eos_id = card->eos_id,
        .n_eog = card->n_eog,
        .eog_ids = card->eog_ids,
        .slo = seat->service.slo,
        .priority = seat->service.priority,
        .created_unix_s = time_unix_ns() / TIME_NS_PER_S,
        .path = model->path,
        .format = card->format,
        .engines = seat->service.engines,
        .kv_type = model->kv_type != NULL ? model->kv_type : config->kv_type,
    };
}

enum status serve_seat_open(struct serve_seat *seat, int number, const struct config_model *model,
                            const struct serve_seat_options *options, struct fault *fault)
{
    const struct config *config = options->config;
    struct weights *weights;
    pile_init(&seat->pile);
    keep_model(seat, model);
    seat->is_by_path = options->is_by_path;
    seat->kv_dtype = chosen_kv_dtype(config, &seat->model);
    enum status status =
        serve_model_open(config, &seat->model, &weights, &seat->card, &seat->profile, fault);
    if (status != STATUS_OK) {
        pile_free(&seat->pile);
        return status;
    }
    seat->is_open = true;
    describe_service(seat, config);
    describe_api_model(seat, number, config);
    seat->shape = serve_kv_shape(&seat->card.spec, seat->kv_dtype);
    log_line(LOG_DEBUG, "serve", "%s: %lld bytes of KV a token, %s", model->name,
             (long long)seat->shape.bytes_per_token, dtype_info(seat->kv_dtype)->name);
    if (model->profile != NULL)
        log_line(LOG_INFO, "serve", "%s: profile %016llx", model->name,
                 (unsigned long long)predict_profile_hash(&seat->profile));
    seat->need_bytes = run_model_packed_bytes(weights, options->device) +
                       run_model_peak_bytes(weights, options->device, options->n_rows_max,
                                            (int32_t)config->n_batch_max);
    weights_close(weights);
    return STATUS_OK;
}

void serve_seat_close(struct serve_seat *seat, bool is_over)
{
    uint16_t life = seat->service.life;
    if (seat->is_open) {
        model_card_close(&seat->card);
        predict_profile_free(&seat->profile);
        pile_free(&seat->pile);
    }
    *seat = (struct serve_seat){ .service.life = (uint16_t)(life + is_over) };
}

bool serve_seat_has_name(const struct serve_seat *seat, const char *name)
{
    bool has = strcmp(seat->model.name, name) == 0;
    for (int i = 0; i < seat->model.n_aliases; i++)
        has = has || strcmp(seat->model.aliases[i], name) == 0;
    return has;
}
