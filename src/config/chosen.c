/* Maps the names in a configuration to policies and their thresholds. */
#include "config/chosen.h"

#include "config/presets.h"
#include <string.h>

/* The executor's limits bound every policy, and the batches that routers compose. */
static void bound_batches(const struct config *config, struct chosen *out)
{
    struct schedule_config *schedule = &out->schedule;
    int32_t n_most = (int32_t)config->n_batch_max;
    schedule->n_seqs_max = n_most;
    schedule->static_n_seqs_max = min_i32(schedule->static_n_seqs_max, n_most);
    schedule->ils_n_seqs_max = min_i32(schedule->ils_n_seqs_max, n_most);
    schedule->fastgen_n_seqs_max = min_i32(schedule->fastgen_n_seqs_max, n_most);
    out->route.n_batch = min_i32(out->route.n_batch, n_most);
    out->route.n_odbs_batch = min_i32(out->route.n_odbs_batch, n_most);
    schedule->n_batch_tokens_max = (int32_t)config->n_batch_tokens_max;
    schedule->chunk_tokens = (int32_t)min_i64(config->chunk_tokens, config->n_batch_tokens_max);
}

void chosen_of(const struct config *config, struct chosen *out)
{
    const struct preset *preset = presets_find(config->preset);
    CHECK(preset); /* config_check has seen to the names */
    out->policy = schedule_find(config->policy ? config->policy : preset->policy);
    out->router = route_find(config->router ? config->router : preset->router);
    out->kv_kind = preset->kv;
    CHECK(!config->kv || kv_kind_find(config->kv, &out->kv_kind));
    const char *usual = preset->predictor ? preset->predictor : "conditional";
    length_config_init(&out->lengths);
    out->predictor = length_parse(config->predictor ? config->predictor : usual, &out->lengths);
    CHECK(out->policy && out->router && out->predictor);
    route_config_init(&out->route);
    for (int i = 0; preset->router_thresholds[i] != NULL; i++)
        CHECK(route_config_set(&out->route, preset->router_thresholds[i], NULL) == STATUS_OK);
    for (int i = 0; i < config->n_router_thresholds; i++)
        CHECK(route_config_set(&out->route, config->router_thresholds[i], NULL) == STATUS_OK);
    schedule_config_init(&out->schedule);
    for (int i = 0; preset->thresholds[i] != NULL; i++)
        CHECK(schedule_config_set(&out->schedule, preset->thresholds[i], NULL) == STATUS_OK);
    out->schedule.n_rounds_max = 1; /* usually clients see each token as soon as it is drawn */
    for (int i = 0; i < config->n_thresholds; i++)
        CHECK(schedule_config_set(&out->schedule, config->thresholds[i], NULL) == STATUS_OK);
    bound_batches(config, out);
}

bool chosen_kv_dtype_find(const char *name, enum dtype *dtype)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = { { "f16", DTYPE_F16 }, { "f32", DTYPE_F32 }, { "q8_0", DTYPE_Q8_0 } };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(name, types[i].name) == 0) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

enum dtype chosen_kv_dtype(const struct config *config, const struct config_model *model)
{
    enum dtype dtype = DTYPE_F16;
    CHECK(chosen_kv_dtype_find(model->kv_type != NULL ? model->kv_type : config->kv_type, &dtype));
    return dtype;
}

bool chosen_speculation_find(const char *name, enum service_speculation *kind)
{
    static const char *const names[SPECULATION_KINDS] = {
        [SPECULATION_OFF] = "off", [SPECULATION_LOOKUP] = "lookup"
    };
    for (int i = 0; i < SPECULATION_KINDS; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum service_speculation)i;
            return true;
        }
    return false;
}

enum service_speculation chosen_speculation(const struct config *config,
                                            const struct config_model *model)
{
    enum service_speculation kind = SPECULATION_OFF;
    CHECK(chosen_speculation_find(
        model->speculation != NULL ? model->speculation : config->speculation, &kind));
    return kind;
}

struct model_template_options chosen_template(const struct config *config,
                                              const struct config_model *model)
{
    return (struct model_template_options){ .wanted = model->chat_template,
                                            .fallback = config->default_chat_template,
                                            .time = config->template_time };
}
