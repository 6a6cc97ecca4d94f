/* The policies of a configuration: its preset's, changed by its own keys. Serving and planning both
 * use this. */
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
/* The configuration must be checked, so that its names are known. */
void chosen_of(const struct config *config, struct chosen *out);
/* Returns the type in which the model's keys and values are cached: its own, or the one for all. */
enum dtype chosen_kv_dtype(const struct config *config, const struct config_model *model);
enum service_speculation chosen_speculation(const struct config *config,
                                            const struct config_model *model);
/* Finds a kind by its name in the configuration. */
bool chosen_speculation_find(const char *name, enum service_speculation *kind);
/* Returns the chat template options in the model's settings. */
struct model_template_options chosen_template(const struct config *config,
                                              const struct config_model *model);
bool chosen_kv_dtype_find(const char *name, enum dtype *dtype);
