/* The policies that a configuration stands for: its preset's, with what it says instead. Who serves
 * and who plans ask here alike. */
#pragma once
#include "config/config.h"
#include "config/model_template.h"
#include "core/dtype.h"
#include "kv/kv.h"
#include "predict/length.h"
#include "route/policy.h"
#include "schedule/policy.h"

struct chosen {
    const struct schedule_policy *policy;
    const struct route_policy *router;
    const struct length_predictor *predictor;
    struct schedule_config schedule;
    struct route_config route;
    struct length_config lengths;
    enum kv_kind kv_kind;
};
/* The configuration is checked: its names are known. */
void chosen_of(const struct config *config, struct chosen *out);
/* What the model's keys and values are cached as: its own type, or the one for all. */
enum dtype chosen_kv_dtype(const struct config *config, const struct config_model *model);
/* The chat template that the model's settings ask for. */
struct model_template_options chosen_template(const struct config *config,
                                              const struct config_model *model);
bool chosen_kv_dtype_find(const char *name, enum dtype *dtype);
