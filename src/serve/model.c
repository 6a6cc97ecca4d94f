/* Opens the files that a configuration names for one model. */
#include "serve/model.h"

#include "base/log.h"
#include "config/chosen.h"
#include "serve/adapters.h"
#include "serve/model_file.h"
#include "weights/weights.h"

/* A profile belongs to one model file, since another's times would mislead every scheduler. */
static enum status read_profile(const struct config_model *model, enum dtype kv_dtype,
                                const struct weights *weights, struct predict_profile *profile,
                                struct fault *fault)
{
    enum status status = predict_profile_read(profile, model->profile, fault);
    if (status != STATUS_OK)
        return status;
    if (profile->weights_hash != weights_hash(weights))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "profile %.80s was measured on another model file than %.80s",
                         model->profile, model->path);
    if (profile->kv_bytes_per_token !=
        model_spec_kv_bytes_per_token(weights_spec(weights), kv_dtype))
        log_line(LOG_WARN, "serve", "%s: its profile was measured with another kv_type than %s",
                 model->name, dtype_info(kv_dtype)->name);
    return STATUS_OK;
}

/* Adapters that `serve` would refuse are refused by `config check` too. */
static enum status check_adapters(const struct config_model *model, const struct weights *weights,
                                  struct fault *fault)
{
    struct serve_adapters *adapters;
    enum status status = serve_adapters_open(&adapters, model, weights, NULL, fault);
    if (status == STATUS_OK)
        serve_adapters_close(adapters);
    return status;
}

/* A larger ctx would silently be cut, or give positions that the model never saw in training. */
static enum status check_context(const struct config_model *model, const struct model_spec *spec,
                                 struct fault *fault)
{
    if (model->n_context <= spec->n_positions_max)
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE,
                     "model %.80s: ctx is %lld, and its file says that it was trained for %d "
                     "tokens (rope scaling counts where the file has it)",
                     model->name, (long long)model->n_context, (int)spec->n_positions_max);
}

enum status serve_model_open(const struct config *config, const struct config_model *model,
                             struct weights **weights, struct model_card *card,
                             struct predict_profile *profile, struct fault *fault)
{
    enum dtype kv_dtype = chosen_kv_dtype(config, model);
    const struct model_template_options template = chosen_template(config, model);
    const struct model_file_options options = { model->name, model->path, kv_dtype, &template };
    *profile = (struct predict_profile){ 0 };
    enum status status = model_file_open(weights, card, &options, fault);
    if (status != STATUS_OK)
        return status;
    status = check_context(model, weights_spec(*weights), fault);
    if (status == STATUS_OK)
        status = check_adapters(model, *weights, fault);
    if (status == STATUS_OK && model->profile != NULL)
        status = read_profile(model, kv_dtype, *weights, profile, fault);
    if (status == STATUS_OK) {
        if (card->chat_fault.text[0] != '\0')
            log_line(LOG_WARN, "serve", "model %s serves no chats, only completions: %s",
                     model->name, card->chat_fault.text);
        return STATUS_OK;
    }
    predict_profile_free(profile);
    model_card_close(card);
    weights_close(*weights);
    *weights = NULL;
    return status;
}
