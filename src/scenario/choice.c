/* From the names in a scenario to policies, their thresholds and the rule of what is in time. */
#include "scenario/choice.h"

#include "config/lanes.h"
#include "config/presets.h"
#include "config/registry.h"
#include "metrics/rule.h"
#include <stdio.h>
#include <string.h>

/* Thresholds of the preset, then the scenario's own. */
static enum status set_thresholds(const struct scenario *scenario, const struct preset *preset,
                                  struct scenario_choice *choice, struct fault *fault)
{
    enum status status = STATUS_OK;
    schedule_config_init(&choice->schedule);
    route_config_init(&choice->route);
    for (int i = 0; preset != NULL && preset->thresholds[i] != NULL; i++)
        CHECK(schedule_config_set(&choice->schedule, preset->thresholds[i], NULL) == STATUS_OK);
    for (int i = 0; preset != NULL && preset->router_thresholds[i] != NULL; i++)
        CHECK(route_config_set(&choice->route, preset->router_thresholds[i], NULL) == STATUS_OK);
    choice->schedule.n_seqs_max = (int32_t)scenario->n_seqs_max;
    choice->schedule.n_batch_tokens_max = (int32_t)scenario->n_batch_tokens_max;
    for (int i = 0; i < scenario->thresholds.n && status == STATUS_OK; i++)
        status = schedule_config_set(&choice->schedule, scenario->thresholds.at[i], fault);
    for (int i = 0; i < scenario->router_thresholds.n && status == STATUS_OK; i++)
        status = route_config_set(&choice->route, scenario->router_thresholds.at[i], fault);
    if (scenario->chunk_tokens >= 0)
        choice->schedule.chunk_tokens = (int32_t)scenario->chunk_tokens;
    if (scenario->each_step)
        choice->schedule.n_rounds_max = 1;
    return status;
}

static enum status choose_predictor(const char *name, struct scenario_choice *choice,
                                    struct sim_options *options, struct fault *fault)
{
    char names[CONFIG_REGISTRY_BYTES];
    length_config_init(&choice->lengths);
    options->predictor = length_parse(name, &choice->lengths);
    options->predictor_config = &choice->lengths;
    if (options->predictor != NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_NOT_FOUND, "--predictor is one of %s",
                     config_registry_names(CONFIG_REGISTRY_SIMULATED, names));
}

/* Returns the predictor when none is named. It is the truth, unless the workload has noise. Then it
 * uses the lengths with that noise, because an oracle would see through it. */
static const char *usual_predictor(const struct workload *workload)
{
    bool is_noisy =
        workload != NULL && (workload->output_noise > 0 || workload->prediction_noise > 0);
    return is_noisy ? "file" : "oracle";
}

/* The scenario's own names override a preset's; a label's own predictor overrides both. */
enum status scenario_choice_make(const struct scenario *scenario, const char *whole,
                                 struct scenario_choice *choice, struct sim_options *options,
                                 struct fault *fault)
{
    char label[128];
    const char *at = strchr(whole, '@');
    snprintf(label, sizeof(label), "%.*s", at != NULL ? (int)min_i64(at - whole, 127) : 127, whole);
    const struct preset *preset = presets_find(label);
    const char *slash = strchr(label, '/');
    const char *router = slash != NULL ? slash + 1 : preset != NULL ? preset->router : "least";
    char policy[64];
    snprintf(policy, sizeof(policy), "%.*s", slash != NULL ? (int)(slash - label) : 63,
             preset != NULL ? preset->policy : label);
    if (scenario->compare == NULL && scenario->policy != NULL)
        snprintf(policy, sizeof(policy), "%s", scenario->policy);
    if (scenario->router != NULL && slash == NULL)
        router = scenario->router;
    char names[CONFIG_REGISTRY_BYTES];
    options->policy = schedule_find(policy);
    options->router = route_find(router);
    if (options->policy == NULL)
        return fault_set(fault, STATUS_NOT_FOUND,
                         "there is no preset or policy \"%.60s\"; policies are %s", policy,
                         config_registry_names(CONFIG_REGISTRY_SCHEDULERS, names));
    if (options->router == NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "there is no router \"%.60s\"; there are: %s",
                         router, config_registry_names(CONFIG_REGISTRY_ROUTERS, names));
    int n_usual;
    const char *const *usual =
        config_lanes_usual(options->policy, scenario_has_profile(scenario), &n_usual);
    bool has_own = scenario->lanes.n > 0;
    options->lanes = choice->lanes;
    enum status status = config_lanes_of_shares(has_own ? scenario->lanes.at : usual,
                                                has_own ? scenario->lanes.n : n_usual,
                                                choice->lanes, &options->n_lanes, fault);
    if (status == STATUS_OK)
        status = set_thresholds(scenario, preset, choice, fault);
    options->config = &choice->schedule;
    options->router_config = &choice->route;
    options->kv = preset != NULL ? preset->kv : KV_MERGED;
    if (status == STATUS_OK && scenario->kv != NULL && !kv_kind_find(scenario->kv, &options->kv))
        status = fault_set(fault, STATUS_NOT_FOUND, "there is no KV pool \"%.60s\"; there are: %s",
                           scenario->kv, config_registry_names(CONFIG_REGISTRY_POOLS, names));
    const char *predictor = at != NULL                    ? at + 1
                            : scenario->predictor != NULL ? scenario->predictor
                            : preset != NULL && preset->predictor != NULL
                                ? preset->predictor
                                : usual_predictor(options->workload);
    return status != STATUS_OK ? status : choose_predictor(predictor, choice, options, fault);
}

enum status scenario_choice_rule(const struct scenario *scenario, struct score_rule *rule,
                                 struct fault *fault)
{
    enum status status = metrics_rule_parse(scenario->slo_rule, rule, fault);
    if (status != STATUS_OK)
        return status;
    bool is_read = metrics_score_kind_targets(rule->kind) == NULL ||
                   metrics_score_kind_reads(rule->kind, &scenario->slo);
    for (int i = 0; i < scenario->n_services && !is_read; i++)
        is_read = metrics_score_kind_reads(rule->kind, &scenario->services[i].slo);
    return is_read ? STATUS_OK : metrics_rule_no_target(rule, fault);
}
